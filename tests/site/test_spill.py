#!/usr/bin/env python3
"""Jobs without `record` whose host keeps the records in a folder of its own while they run: one log, and nothing stays
behind, whatever becomes of processes, folders and disks. Speaks TAP."""
import os
import shutil
import signal
import subprocess
import time
import unittest

from site_case import SiteCase, harness

SHORT_JOBS = 40
AWAY = 'host whose records have not arrived'


class SpillCase(SiteCase):
    def setUp(self):
        super().setUp()
        self.spill = self.path('spill')
        os.mkdir(self.spill)
        os.chmod(self.spill, 0o1777)
        self.data = self.path('data')
        with open(self.data, 'wb') as data:
            data.write(bytes(5000))

    def environment(self, **more):
        return super().environment(**{'IOSEER_SPILL': self.spill, **more})

    def host_folders(self):
        folder = os.path.join(self.spill, f'.ioseer-{os.geteuid()}')
        return [os.path.join(folder, name) for name in os.listdir(folder)] if os.path.isdir(folder) else []

    def job_folders(self):
        return [os.path.join(self.logs, f'.ioseer-{os.geteuid()}', name) for name in self.spills()]

    def nothing_left(self):
        self.assertEqual((self.spills(), self.host_folders()), ([], []))

    def settle_all(self):
        """Makes what was left so old that `pack --left` takes it."""
        for path in self.job_folders() + self.host_folders():
            os.utime(path, (time.time() - 100,) * 2)

    def read_bytes(self, log):
        return sum(file['bytes_read'] for file in self.json('info', '--json', log)['files'] if file['name'] == self.data)


class EndTest(SpillCase):
    def test_one_process(self):
        self.run_on('cat', self.data, stdout=subprocess.DEVNULL)
        self.assertEqual(self.read_bytes(self.one_log()), 5000)
        self.nothing_left()

    def test_many_processes(self):
        """A pipeline, forks, exec, and processes in the background."""
        self.run_on('bash', '-c', 'cat "$0" | cat > copy; (cat "$0"; exec cat "$0") | wc -c; for i in 1 2 3; do cat "$0" > /dev/null & done; wait',
                    self.data)
        self.assertEqual(self.read_bytes(self.one_log()), 6 * 5000)
        self.nothing_left()

    def test_records_are_in_the_folder(self):
        process = self.start_on('bash', '-c', 'cat "$0" > /dev/null; echo; read line; exit 0', self.data)
        process.stdout.readline()
        folder, = self.host_folders()
        self.assertNotEqual([name for name in os.listdir(folder) if name.endswith('.spill')], [])
        job, = self.job_folders()
        self.assertEqual([name for name in os.listdir(job) if name.endswith('.spill')], [])
        process.stdin.close()
        self.assertEqual(process.wait(), 0)
        self.one_log()
        self.nothing_left()

    def test_outliving(self):
        """A process that goes on when the job's first one has ended: the last one delivers and has the log made."""
        os.mkfifo(self.path('fifo'))
        process = self.start_on('bash', '-c', '(echo; read line < fifo; exec cat "$0") > /dev/null & exit 0', self.data)
        self.assertEqual(process.wait(), 0)
        self.assertEqual(self.found(), [])
        with open(self.path('fifo'), 'wb'):
            pass
        self.wait_for(self.found)
        self.wait_for(lambda: not self.spills())
        self.assertEqual(self.read_bytes(self.one_log()), 5000)
        self.nothing_left()

    def test_killed(self):
        """`pack --left`, or the end of the next job, delivers what a kill has left."""
        for by_next_job in (False, True):
            with self.subTest(by_next_job=by_next_job):
                self.run_on('bash', '-c', 'cat "$0" > /dev/null; kill -9 $$', self.data, status=-signal.SIGKILL)
                self.assertEqual((self.found(), len(self.host_folders()), len(self.job_folders())), ([], 1, 1))
                self.assertEqual(self.pack_left(), [0, 1, 0, 0])  # it may just be ending
                self.settle_all()
                if by_next_job:
                    self.run_on('true')
                else:
                    self.assertEqual(self.pack_left(), [1, 0, 0, 0])
                logs = self.found()
                self.assertEqual(sum(self.read_bytes(log) for log in logs), 5000)
                self.nothing_left()
                for log in logs:
                    os.unlink(log)

    def test_a_killed_child(self):
        self.run_on('bash', '-c', 'bash -c \'cat "$0" > /dev/null; kill -9 $$\' "$0" 2> /dev/null; true', self.data, stderr=subprocess.DEVNULL)
        info = self.json('info', '--json', self.one_log())
        self.assertIn('signal 9', [process['exit'] for process in info['processes']])
        self.assertEqual(self.read_bytes(self.one_log()), 5000)
        self.nothing_left()

    def test_short_jobs(self):
        for _ in range(SHORT_JOBS // 4):
            jobs = [self.start_on('cat', self.data) for _ in range(4)]
            for job in jobs:
                job.communicate()
                self.assertEqual(job.returncode, 0)
        self.assertEqual([self.read_bytes(log) for log in self.found()], [5000] * SHORT_JOBS)
        self.nothing_left()

    def test_trace(self):
        self.run_on('bash', '-c', 'cat "$0" > /dev/null', self.data, environment=self.environment(IOSEER_TRACE_CAP='16M'))
        events = self.json('dump', '--json', '--op', 'read', '--file', self.data, self.one_log())
        self.assertEqual([event['result'] for event in events], [5000, 0])
        self.nothing_left()

    def test_by_hand(self):
        """`pack DIR` of a killed job fetches what the host has."""
        self.run_on('bash', '-c', 'cat "$0" > /dev/null; kill -9 $$', self.data, status=-signal.SIGKILL)
        job, = self.job_folders()
        log = self.path('by-hand.ioseer')
        self.expect(0, 'pack', '-q', '-o', log, '--remove', job)
        self.assertEqual(self.read_bytes(log), 5000)
        self.nothing_left()


@unittest.skipIf(harness.run('unshare', '--uts', 'true').returncode, 'another name of the host needs root')
class OtherHostTest(SpillCase):
    """A process with another name of the host stands for a host."""

    def test_host_that_comes_and_goes(self):
        """Its folder is delivered again and again, while processes begin there."""
        processes, rounds = 3, 12
        script = f'one() {{ for i in $(seq {rounds}); do unshare --uts sh -c \'hostname other; cat "$0" > /dev/null; cat "$0"\' "$0" > /dev/null; done; }}; ' \
            + 'one "$0" & ' * processes + 'wait'
        self.run_on('bash', '-c', script, self.data)
        self.assertEqual(self.read_bytes(self.one_log()), processes * rounds * 2 * 5000)
        self.assertEqual(self.json('info', '--json', self.one_log())['job']['host_count'], 2)
        self.nothing_left()

    def test_host_that_is_late(self):
        """There is a log when the job's command has ended, and a better one when the other host has."""
        os.mkfifo(self.path('fifo'))
        script = 'unshare --uts sh -c \'hostname other; exec sh -c "read line < fifo; exec cat \\"\\$0\\"" "$0"\' "$0" > /dev/null 2>&1 & sleep 0.5; exec true'
        self.run_on('bash', '-c', script, self.data, environment=self.environment(IOSEER_PATIENCE='2'))
        self.wait_for(self.found)
        log = self.one_log()
        self.assertEqual(self.read_bytes(log), 0)
        self.assertEqual([loss['text'] for loss in self.json('info', '--json', log)['losses']], ['other'])
        with open(self.path('fifo'), 'wb'):
            pass
        self.wait_for(lambda: not self.spills())
        self.assertEqual(self.found(), [log])
        info = self.json('info', '--json', log)
        self.assertEqual((self.read_bytes(log), info['losses']), (5000, []))
        self.nothing_left()


class FolderTest(SpillCase):
    def uses_the_log_folder(self, **more):
        self.run_on('cat', self.data, environment=self.environment(**more), stdout=subprocess.DEVNULL)
        log = self.one_log()
        self.assertEqual(self.read_bytes(log), 5000)
        self.assertEqual(self.spills(), [])
        os.unlink(log)

    def test_unusable_folders(self):
        """No folder, one that others could change, a name that is there already, the folder of the logs itself."""
        unsafe = self.path('unsafe')
        os.mkdir(unsafe)
        os.chmod(unsafe, 0o777)
        for spill in (self.path('missing'), unsafe, self.data, 'relative', self.logs):
            with self.subTest(spill):
                self.uses_the_log_folder(IOSEER_SPILL=spill)
        os.symlink(self.path('elsewhere'), os.path.join(self.spill, f'.ioseer-{os.geteuid()}'))
        self.uses_the_log_folder()
        self.assertFalse(os.path.exists(self.path('elsewhere')))

    def on_a_small_disk(self, where, used, *words):
        """The folder is a file system of one megabyte, of which some is used before the job begins."""
        alone = ['unshare', '--mount', '--propagation', 'private']
        if harness.run(*alone, 'mount', '-t', 'tmpfs', 'disk', where).returncode:
            self.skipTest('mounts need root')
        variables = [f'{name}={value}' for name, value in self.environment().items() if self.plain.get(name) != value]
        script = f'mount -t tmpfs -o size=1m disk {where} && head -c {used} /dev/zero > {where}/zeros && exec "$@"'
        done = harness.run(*alone, 'sh', '-c', script, 'sh', 'env', *variables, *words, env=self.plain, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def test_full_disk_of_the_host(self):
        self.on_a_small_disk(self.spill, '1048576', 'cat', self.data)
        self.assertEqual(self.read_bytes(self.one_log()), 5000)
        self.assertEqual(self.spills(), [])

    def test_full_disk_of_the_logs(self):
        """What cannot be delivered stays where it is, and nobody waits."""
        fill = f'cat "$0" > /dev/null; head -c 2000000 /dev/zero > {self.logs}/zeros; exec 2> /dev/null'
        check = f'ls {self.logs}/.ioseer-0/*/*.bundle* 2> /dev/null; rm {self.logs}/zeros; touch -d "-100 sec" {self.logs}/.ioseer-0/* {self.spill}/.ioseer-0/*'
        again = f'{harness.IOSEER} pack --left && find {self.logs} -name "*.ioseer" -exec cp {{}} {self.path("copy")} ";"'
        script = f'bash -c \'{fill}\' {self.data} 2> /dev/null; LD_PRELOAD=; {check}; {again}'
        printed = self.on_a_small_disk(self.logs, '0', 'env', 'IOSEER_RECORD=all', 'sh', '-c', script)
        self.assertIn('log', printed)

    def test_hosts_folder_of_another_user(self):
        """Nobody delivers what is not his own."""
        if os.geteuid() or not shutil.which('setpriv'):
            self.skipTest('needs root')
        self.run_on('bash', '-c', 'cat "$0" > /dev/null; kill -9 $$', self.data, status=-signal.SIGKILL)
        folder, = self.host_folders()
        os.chown(folder, 65534, 65534)
        done = harness.ioseer('pack', '--finish', folder, env=self.environment())
        self.assertEqual(done.returncode, 1)
        self.assertTrue(os.path.isdir(folder))


class AwayTest(SpillCase):
    """A mark stands for a host that is not there."""

    def run_without_a_host(self):
        script = 'cat "$0" > /dev/null; env sh -c \'ln -s /nowhere "$IOSEER_JOB/absent.away"\''  # children know the job
        self.run_on('bash', '-c', script, self.data, environment=self.environment(IOSEER_PATIENCE='1'))
        return self.one_log()

    def away(self, log):
        return [loss['text'] for loss in self.json('info', '--json', log)['losses'] if 'arrived' in loss['reason']]

    def test_the_log_is_made_again(self):
        log = self.run_without_a_host()
        self.assertEqual((self.away(log), self.read_bytes(log), self.host_folders()), (['absent'], 5000, []))
        self.assertIn(f'1 {AWAY}', harness.ioseer('info', log).stdout.decode())
        self.settle_all()
        self.assertEqual(self.pack_left(), [0, 1, 0, 0])
        self.assertEqual(self.found(), [log])
        job, = self.job_folders()
        os.unlink(os.path.join(job, 'absent.away'))
        bundle, = (name for name in os.listdir(job) if name.endswith('.bundle'))  # as if the host had sent this
        shutil.copy(os.path.join(job, bundle), os.path.join(job, 'absent.1.1.bundle'))
        inode = os.stat(log).st_ino
        os.utime(os.path.join(job, 'log'), (time.time() - 1000,) * 2, follow_symlinks=False)
        self.settle_all()
        self.assertEqual(self.pack_left(), [1, 0, 0, 0])
        self.assertEqual(self.found(), [log])
        self.assertNotEqual(os.stat(log).st_ino, inode)
        self.assertEqual((self.away(log), self.read_bytes(log)), ([], 5000))  # what came twice counts once
        self.nothing_left()

    def test_the_log_is_gone(self):
        """A user may have moved it. What arrives later makes another one."""
        log = self.run_without_a_host()
        os.rename(log, self.path('moved'))
        job, = self.job_folders()
        os.unlink(os.path.join(job, 'absent.away'))
        self.assertEqual(harness.ioseer('pack', '--finish', job, env=self.environment()).returncode, 0)
        self.assertEqual(self.read_bytes(self.one_log()), 5000)
        self.nothing_left()

    def test_not_for_ever(self):
        for days, left in ((5, 1), (35, 0)):
            with self.subTest(days=days):
                log = self.found() or [self.run_without_a_host()]
                job, = self.job_folders()
                for path in (job, os.path.join(job, 'log')):
                    os.utime(path, (time.time() - days * 24 * 3600,) * 2, follow_symlinks=False)
                self.pack_left()
                self.assertEqual((self.found(), len(self.spills())), (log, left))
                self.assertEqual(self.away(log[0]), ['absent'])

    def test_the_job_is_gone(self):
        """What a host has of a job whose directory is not there any more becomes a log of its own."""
        self.run_on('bash', '-c', 'cat "$0" > /dev/null; kill -9 $$', self.data, status=-signal.SIGKILL)
        job, = self.job_folders()
        shutil.rmtree(job)
        self.settle_all()
        self.assertEqual(self.pack_left(), [1, 0, 0, 0])
        self.assertEqual(self.read_bytes(self.one_log()), 5000)
        self.nothing_left()

    def test_killed_while_delivering(self):
        """A bundle that was sent, while its folder stayed: the records count once."""
        self.run_on('bash', '-c', 'cat "$0" > /dev/null; kill -9 $$', self.data, status=-signal.SIGKILL)
        folder, = self.host_folders()
        copy = self.path('copy')
        shutil.copytree(folder, copy, symlinks=True)
        self.assertEqual(harness.ioseer('pack', '--finish', folder, env=self.environment()).returncode, 0)
        self.assertEqual((self.host_folders(), self.found()), ([], []))
        shutil.copytree(copy, folder, symlinks=True)
        self.settle_all()
        self.assertEqual(self.pack_left(), [1, 0, 0, 0])
        self.assertEqual(self.read_bytes(self.one_log()), 5000)
        self.nothing_left()


if __name__ == '__main__':
    harness.main()
