#!/usr/bin/env python3
"""A log tree that everybody may write into: nobody's log or spill is another user's. Needs root. Speaks TAP."""
import os
import shutil
import stat
import subprocess
import unittest

from site_case import SiteCase, harness

ALICE, BOB, STAFF = 61001, 61002, 61003  # nobody's numbers


@unittest.skipIf(os.geteuid(), 'becoming other users needs root')
@unittest.skipUnless(shutil.which('setpriv'), 'no setpriv')
class TreeTest(SiteCase):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.logs)
        subprocess.run(['install', '-d', '-m', '3777', '-g', str(STAFF), self.logs], check=True)
        self.work = self.path('work')
        os.mkdir(self.work)
        os.chmod(self.work, 0o1777)
        if self.as_user(ALICE, harness.IOSEER, '--version', environment=self.plain).returncode:
            self.skipTest('other users cannot run this build')

    def as_user(self, user, *words, environment=None, **options):
        return harness.run('setpriv', f'--reuid={user}', f'--regid={user}', '--clear-groups', *words,
                           env=environment or self.environment(), cwd=self.work, **options)

    def job(self, user, text='echo x > $$', environment=None):
        done = self.as_user(user, 'sh', '-c', text, environment=environment)
        self.assertEqual((done.returncode, done.stderr), (0, b''))

    def mode(self, path):
        return stat.S_IMODE(os.lstat(path).st_mode)

    def test_each_has_a_folder(self):
        for user in (ALICE, BOB):
            self.job(user)
            folder = os.path.join(self.logs, str(user))
            log, = self.found(folder)
            self.assertEqual(os.stat(log).st_uid, user)
            self.assertEqual((self.mode(log), self.mode(folder) & 0o777), (0o600, 0o700))
        self.assertNotEqual(self.as_user(BOB, 'cat', *self.found(os.path.join(self.logs, str(ALICE)))).returncode, 0)
        self.assertNotEqual(self.as_user(BOB, 'ls', os.path.join(self.logs, f'.ioseer-{ALICE}')).returncode, 0)

    def test_support_staff_may_read(self):
        self.write_conf('log_mode = 0640')
        self.job(ALICE, 'umask 077; echo x > $$')
        log, = self.found()
        self.assertEqual((self.mode(log), os.stat(log).st_gid), (0o640, STAFF))
        self.assertEqual(self.mode(os.path.dirname(log)) & 0o777, 0o750)
        staff = harness.run('setpriv', f'--reuid={BOB}', f'--regid={BOB}', f'--groups={STAFF}', 'cat', log)
        self.assertEqual(staff.returncode, 0)
        self.assertNotEqual(self.as_user(BOB, 'cat', log).returncode, 0)

    def test_names_made_beforehand(self):
        """Another user's folder, link or file under the user's name: nothing is written there, and nothing fails."""
        trap = self.path('trap')
        os.mkdir(trap)
        os.chmod(trap, 0o777)
        for name in (str(ALICE), f'.ioseer-{ALICE}'):
            path = os.path.join(self.logs, name)
            for text in (f'mkdir -m 777 {path}', f'ln -s {trap} {path}', f'mkfifo -m 666 {path}', f'touch {path}'):
                self.assertEqual(self.as_user(BOB, 'sh', '-c', text, environment=self.plain).returncode, 0)
                self.job(ALICE)
                self.assertEqual(os.listdir(trap), [], text)
                self.assertEqual(self.found(), [], text)
                self.as_user(BOB, 'rm', '-rf', path, environment=self.plain)
                shutil.rmtree(os.path.join(self.logs, f'.ioseer-{ALICE}'), ignore_errors=True)

    def test_a_folder_that_others_can_write_into(self):
        os.chmod(self.logs, 0o777)
        self.job(ALICE)
        self.assertEqual(os.listdir(self.logs), [])

    def test_spills_of_others(self):
        self.as_user(ALICE, 'sh', '-c', 'echo x > file; kill -9 $$')
        self.settle(ALICE)
        self.job(BOB)
        done = self.as_user(BOB, harness.IOSEER, 'pack', '--left')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.spills(ALICE)), 1)
        spill = os.path.join(self.logs, f'.ioseer-{ALICE}', self.spills(ALICE)[0])
        self.assertNotEqual(self.as_user(BOB, harness.IOSEER, 'pack', '--finish', spill).returncode, 0)
        self.assertEqual(len(self.spills(ALICE)), 1)
        self.assertEqual(self.pack_left()[0:3:2], [1, 0])  # root's, with Alice's rights
        self.assertEqual(self.spills(ALICE), [])
        log, = self.found(os.path.join(self.logs, str(ALICE)))
        self.assertEqual(os.stat(log).st_uid, ALICE)

    def test_root_becomes_a_user(self):
        """What another user's process starts is that user's job, with a log of its own."""
        self.run_on('sh', '-c', f'echo x > root; setpriv --reuid={ALICE} --regid={ALICE} --clear-groups '
                    f'sh -c "echo y > {self.work}/alice"')
        log, = self.found(os.path.join(self.logs, str(ALICE)))
        self.assertEqual(os.stat(log).st_uid, ALICE)
        self.assertIn(os.path.join(self.work, 'alice'),
                      [file['name'] for file in self.json('info', '--json', log)['files']])

    def test_old_logs_of_others(self):
        self.job(ALICE)
        log, = self.found()
        os.utime(log, (1, 1))
        left = self.as_user(BOB, harness.IOSEER, 'pack', '--left', environment=self.environment(IOSEER_KEEP_DAYS='1'))
        self.assertEqual(left.returncode, 0, left.stderr)
        self.assertTrue(os.path.exists(log))
        self.assertEqual(self.pack_left(IOSEER_KEEP_DAYS='1')[3], 1)
        self.assertFalse(os.path.exists(log))

    @unittest.skipUnless(shutil.which('cc'), 'no compiler')
    def test_set_user_id_program(self):
        """One that gains rights does nothing that its user's variables say, even if it has the recorder inside."""
        program = self.path('program')
        source = self.path('program.c')
        with open(source, 'w', encoding='ascii') as file:
            file.write('#include <fcntl.h>\n#include <unistd.h>\n'
                       'int main(void) { close(open("made", O_CREAT | O_WRONLY, 0600)); return 0; }\n')
        library = os.path.join(harness.BUILD, 'src', 'rec', 'libioseer.so')
        subprocess.run(['cc', source, '-o', program, '-Wl,--no-as-needed', library,
                        f'-Wl,-rpath,{os.path.dirname(library)}'], check=True)
        self.as_user(ALICE, program)
        self.assertEqual(len(self.found()), 1)  # the recorder works when it is loaded in this way
        os.remove(self.found()[0])
        os.remove(os.path.join(self.work, 'made'))
        os.chmod(program, 0o4755)
        evil, before = os.path.join(self.work, 'evil'), self.spills()  # of setpriv itself
        with open(evil, 'w', encoding='ascii') as file:
            file.write(f'#!/bin/sh\ntouch {self.path("evil-ran")}\n')
        os.chmod(evil, 0o755)
        done = self.as_user(ALICE, program, environment=self.environment(IOSEER_PROGRAM=evil, LD_PRELOAD=''))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(os.stat(os.path.join(self.work, 'made')).st_uid, 0)  # it had the rights
        self.assertFalse(os.path.exists(self.path('evil-ran')))
        self.assertEqual((self.found(), self.spills()), ([], before))


if __name__ == '__main__':
    harness.main()
