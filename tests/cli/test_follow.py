#!/usr/bin/env python3
"""Programs that no library can be preloaded into are followed, and do not notice. Speaks TAP."""
import json
import os
import shutil
import signal
import subprocess
import time

import harness

PROGRAM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void nothing(int number) { (void)number; }

// A read that a signal interrupts, once for the program and once only for the kernel.
static int signals(void) {
    int ends[2];
    char text[8];
    struct sigaction action = {.sa_handler = nothing};
    sigaction(SIGALRM, &action, NULL);
    if (pipe(ends)) return 1;
    ualarm(100000, 0);
    if (read(ends[0], text, 8) != -1 || errno != EINTR) return 2;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    ualarm(100000, 0);
    if (fork() == 0) {
        usleep(300000);
        _exit(write(ends[1], "text", 4) != 4);
    }
    if (read(ends[0], text, 8) != 4) return 3;
    return wait(NULL) < 0;
}

static int slow(void) {
    int fd = open("slow", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int i = 0; i < 30; i++) {
        if (write(fd, "x", 1) != 1) return 1;
        usleep(50000);
    }
    return 0;
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    int fd = open("file", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (write(fd, "some text", 9) != 9) return 1;
    close(fd);
    if (!strcmp(what, "signals")) return signals();
    if (!strcmp(what, "slow")) return slow();
    if (!strcmp(what, "daemon")) return daemon(1, 0) || slow();
    if (!strcmp(what, "stop")) raise(SIGSTOP);
    if (!strcmp(what, "kill")) raise(SIGKILL);
    if (!strcmp(what, "children") && system("cat file > copy; exit 5") != 5 << 8) return 1;
    return 7;
}
"""

# starter HOW PROGRAM: starts the program, or fails to with 9.
STARTER = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words) {
    static char much[1 << 20];
    extern char **environ;
    char *how = words[1], *program = words[count - 1], *arguments[] = {program, NULL}, *too_much[] = {program, much, NULL};
    memset(much, 'x', sizeof much - 1);
    if (!strcmp(how, "fexecve")) fexecve(open(program, O_RDONLY), arguments, environ);
    if (!strcmp(how, "fexecve-and-close")) fexecve(open(program, O_RDONLY | O_CLOEXEC), arguments, environ);
    if (!strcmp(how, "execveat")) {
        const char *name = basename(strdup(program));
        execveat(open(dirname(program), O_RDONLY | O_DIRECTORY), name, arguments, environ, 0);
    }
    if (!strcmp(how, "too-much")) execv(program, too_much);
    if (!strcmp(how, "spawn-too-much")) errno = posix_spawn(&(pid_t){0}, program, NULL, NULL, too_much, environ);
    return errno == E2BIG ? 9 : 1;
}
"""


class Followed(harness.CommandLineTest):
    def setUp(self):
        super().setUp()
        with open(self.path('program.c'), 'w', encoding='utf-8') as out:
            out.write(PROGRAM)
        self.program, self.log = self.path('program'), self.path('log')
        if harness.run('cc', '-static', '-o', self.program, self.path('program.c')).returncode:
            self.skipTest('no static libc')

    def record(self, status, *words, options=()):
        return self.expect(status, 'record', *options, '-o', self.log, '--', *words, cwd=self.folder)

    def events(self):
        return json.loads(self.expect(0, 'dump', '--json', self.log).stdout)

    def written(self, name, via='ptrace'):
        return sum(e['result'] for e in self.events()
                   if e['class'] == 'write' and e['file'] == self.path(name) and e['via'] == via)

    def test_its_environment_is_private(self):
        """Everybody may read the words of a process, and its environment only its user."""
        secret = b'not-for-everybody'
        running = subprocess.Popen([harness.IOSEER, 'record', '-q', '-o', self.log, '--', self.program, 'slow'],
                                   cwd=self.folder, env={**os.environ, 'PRIVATE': secret.decode()})
        until = time.monotonic() + 60
        while not os.path.exists(self.path('slow')) and time.monotonic() < until:
            time.sleep(0.01)
        seen = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/cmdline', 'rb') as file:
                    seen += [pid] * (secret in file.read())
            except OSError:
                pass
        self.assertEqual((running.wait(), seen), (0, []))

    def test_limited_processor_time(self):
        """The tracer would be killed in the program's stead; the program runs, and the log says that it was not seen."""
        done = self.expect(7, 'record', '-o', self.log, '--', 'sh', '-c', f'ulimit -t 100; exec {self.program}',
                           cwd=self.folder)
        self.assertEqual(os.path.getsize(self.path('file')), 9, done.stderr)
        self.assertEqual(self.json('info', '--json', self.log)['processes'][-1]['via'], 'preload')

    def test_its_end_is_its_own(self):
        for words, status in ((('signals',), 0), (('kill',), 128 + 9), ((), 7)):
            self.record(status, self.program, *words, options=('--force',))
            self.assertEqual(self.written('file'), 9)

    def test_dynamic_children_have_the_library(self):
        self.record(7, self.program, 'children')
        self.assertEqual((self.written('file'), self.written('copy', 'preload')), (9, 9))
        self.assertEqual(self.written('copy'), 0)

    def every_byte_is_seen(self, name, *options):
        program = os.path.join(harness.BUILD, 'tests', 'oracle', 'oracle-' + name)
        if not os.path.exists(program):
            self.skipTest('no Go')
        self.record(0, program, options=('--force', *options))
        coverage = self.json('info', '--json', self.log)['coverage']
        self.assertEqual((coverage['read'], coverage['write'], coverage['unseen']), (1, 1, []))
        self.assertEqual({e['via'] for e in self.events()}, {'ptrace'})

    def test_go(self):
        self.every_byte_is_seen('goroutines')

    def test_calls_past_libc(self):
        """Nothing tells beforehand that a dynamic program makes them: then the log says how many bytes are unseen."""
        self.every_byte_is_seen('direct-static')
        self.every_byte_is_seen('direct', '--ptrace')
        self.record(0, os.path.join(harness.BUILD, 'tests', 'oracle', 'oracle-direct'), options=('--force',))
        unseen = self.json('info', '--json', self.log)['coverage']['unseen']
        self.assertEqual([part['bytes'] for part in unseen if part['direction'] == 'write'],
                         [20 * 1000 + 19 * 20 // 2 + 8192 + 400])

    def starter(self):
        with open(self.path('starter.c'), 'w', encoding='utf-8') as out:
            out.write(STARTER)
        self.assertEqual(harness.run('cc', '-o', self.path('starter'), self.path('starter.c')).returncode, 0)
        return self.path('starter')

    def test_started_by_a_descriptor(self):
        starter, script = self.starter(), self.path('script')
        with open(script, 'w', encoding='utf-8') as out:
            out.write(f'#!{self.program}\n')
        os.chmod(script, 0o700)
        for how, program in (('fexecve', self.program), ('fexecve', script), ('execveat', self.program),
                             ('execveat', script)):
            done = self.record(7, starter, how, program, options=('--force',))
            self.assertEqual(self.written('file'), 9, (how, program))
            self.assertNotIn(b'not followed', done.stderr)
        done = self.record(7, starter, 'fexecve-and-close', self.program, options=('--force',))
        self.assertIn(b'1 program not followed: started by a descriptor', done.stderr)

    def test_a_start_that_fails_leaves_no_mark(self):
        starter = self.starter()
        for how in ('too-much', 'spawn-too-much'):
            for options in ((), ('--no-ptrace',)):
                done = self.record(9, starter, how, self.program, options=('--force', *options))
                self.assertNotIn(b'not followed', done.stderr, (how, options))

    def test_stop_and_continue(self):
        command = subprocess.Popen([harness.IOSEER, 'record', '-q', '-o', self.log, '--', self.program, 'stop'],
                                   cwd=self.folder)
        deadline = time.monotonic() + 20
        stopped = []
        while not stopped and time.monotonic() < deadline:
            time.sleep(0.05)
            children = subprocess.run(['pgrep', '-P', str(command.pid), '-x', 'program'], capture_output=True, check=False)
            stopped = [pid for pid in map(int, children.stdout.split())
                       if os.path.exists(self.path('file')) and self.state(pid) in 'tT']
        time.sleep(0.2)
        self.assertIsNone(command.poll())
        os.kill(stopped[0], signal.SIGCONT)
        self.assertEqual(command.wait(20), 7)

    @staticmethod
    def state(pid):
        with open(f'/proc/{pid}/stat', encoding='utf-8') as text:
            return text.read().rsplit(')', 1)[1].split()[0]

    def test_a_program_that_outlives_the_job(self):
        done = self.record(0, self.program, 'daemon', options=('--wait', '0.2s'))
        self.assertIn(b'1 process still running', done.stderr)
        deadline = time.monotonic() + 30
        while os.path.getsize(self.path('slow')) < 30 and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(os.path.getsize(self.path('slow')), 30)

    def test_a_follower_that_does_not_start(self):
        """The command runs, and the log says that it ran unseen."""
        for name in ('bin', 'lib', 'lib/ioseer'):
            os.mkdir(self.path(name))
        shutil.copy2(harness.IOSEER, self.path('bin/ioseer'))
        shutil.copy2(os.path.join(harness.BUILD, 'src/rec/libioseer.so'), self.path('lib/ioseer'))
        with open(self.path('lib/ioseer/ioseer-follow'), 'wb') as out:
            os.chmod(out.fileno(), 0o755)
        done = harness.run(self.path('bin/ioseer'), 'record', '-o', self.log, '--', self.program, cwd=self.folder)
        self.assertEqual(done.returncode, 7, done.stderr)
        losses = self.json('info', '--json', self.log)['losses']
        self.assertEqual([loss['text'] for loss in losses], ['ioseer-follow could not be started'])

    def test_under_a_debugger(self):
        if not shutil.which('strace'):
            self.skipTest('no strace')
        self.record(7, 'strace', '-o', self.path('trace'), self.program)
        with open(self.path('trace'), encoding='utf-8') as text:
            lines = text.read().splitlines()
        self.assertEqual([line for line in lines if line.startswith('execve')], lines[:1])
        self.assertIn(self.program, lines[0])

    def test_a_user_without_rights(self):
        if os.geteuid() or not shutil.which('setpriv'):
            self.skipTest('needs root to become another user')
        os.chmod(self.folder, 0o777)
        done = harness.run('setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', harness.IOSEER, 'record',
                           '-o', self.log, '--', self.program, 'children', cwd=self.folder)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual((self.written('file'), self.written('copy', 'preload')), (9, 9))

    def test_rings_without_a_library(self):
        if not shutil.which('fio'):
            self.skipTest('no fio')
        fio = ['fio', '--name=job', f'--directory={self.folder}', '--size=256k', '--bs=4k', '--rw=randwrite', '--thread',
               '--ioengine=io_uring', '--iodepth=8', '--output=/dev/null']
        if harness.run(*fio).returncode:
            self.skipTest('no io_uring')
        self.record(0, *fio, options=('--ptrace',))
        ring = [e for e in self.events() if e['op'] == 'io_uring_write']
        self.assertEqual(sorted(e['offset'] for e in ring), [i * 4096 for i in range(64)])
        self.assertEqual({(e['result'], e['file']) for e in ring}, {(4096, self.path('job.0.0'))})


if __name__ == '__main__':
    harness.main()
