#!/usr/bin/env python3
"""Jobs without `record`, however they end: each has one log, nothing else stays, and no program notices. Speaks TAP."""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from site_case import LIBRARY, SiteCase, harness

WRITE = 'echo x > {}; '


def compile_c(path, text, *options):
    done = subprocess.run(['cc', '-x', 'c', '-', '-o', path, *options], input=text.encode(), capture_output=True, check=False)
    return done.returncode == 0


class EndTest(SiteCase):
    def files_of(self, log):
        return {os.path.basename(file['name']) for file in self.json('info', '--json', log)['files']}

    def exit_of(self, log):
        return self.json('info', '--json', log)['job']['exit_status']

    def run_python(self, text, status=0, **more):
        return self.run_on(sys.executable, '-I', '-S', '-c', text, status=status, **more)

    def test_ways_to_end(self):
        ways = {'pass': 0, 'raise SystemExit(3)': 3, 'os._exit(4)': 4, 'os.abort()': -signal.SIGABRT}
        for text, status in ways.items():
            with self.subTest(text):
                self.run_python(f'import os; open("file", "w").write("x"); {text}', status)
                log = self.one_log()
                self.assertIn('file', self.files_of(log))
                self.assertEqual(self.exit_of(log), status if status >= 0 else 128 - status)
                self.assertEqual(self.spills(), [])
                os.remove(log)

    @unittest.skipUnless(shutil.which('cc'), 'no compiler')
    def test_exit_in_a_thread(self):
        program = self.path('threads')
        self.assertTrue(compile_c(program, '''
            #include <fcntl.h>
            #include <pthread.h>
            #include <stdlib.h>
            #include <unistd.h>
            static void *end(void *how) { if (how) exit(5); return NULL; }
            int main(int argc, char **argv) {
                pthread_t thread;
                (void)argv;
                close(open("file", O_CREAT | O_WRONLY, 0600));
                pthread_create(&thread, NULL, end, argc > 1 ? &thread : NULL);
                pthread_exit(NULL);
            }''', '-pthread'))
        for words, status in (([program, 'exit'], 5), ([program], 0)):
            self.run_on(*words, status=status)
            log = self.one_log()
            self.assertEqual(self.exit_of(log), status)
            os.remove(log)
        self.assertEqual(self.spills(), [])

    def test_signals_of_children(self):
        """A handler, or SIG_IGN, sees nothing of the process that makes the log, and wait() finds no such child."""
        text = '''
import os, signal, sys
signal.signal(signal.SIGCHLD, {})
open("file", "w").write("x")
'''
        handler = 'lambda *_: os.write(1, b"noticed")'
        for how in (handler, 'signal.SIG_IGN'):
            self.assertEqual(self.run_python(text.format(how)).stdout, b'')
            os.remove(self.one_log())

    def test_closed_descriptors(self):
        self.run_python('import os; open("file", "w").write("x"); os.closerange(0, 1000)')
        self.assertIn('file', self.files_of(self.one_log()))

    def test_descriptors_are_the_programs(self):
        """The process that makes the log holds no pipe open that others wait for."""
        started = time.monotonic()
        done = self.run_on('sh', '-c', '(sleep 0.1; echo late) | cat')
        self.assertEqual(done.stdout, b'late\n')
        self.assertLess(time.monotonic() - started, 60)

    def test_killed_then_next_job(self):
        self.run_on('sh', '-c', WRITE.format('file') + 'kill -9 $$', status=-signal.SIGKILL)
        self.assertEqual((self.found(), len(self.spills())), ([], 1))
        self.run_on('true')
        self.assertEqual(len(self.spills()), 1)  # it may be about to end
        os.remove(self.one_log())
        self.settle()
        self.run_on('true')
        self.assertEqual(self.spills(), [])
        self.assertEqual([os.path.basename(log).split('-')[0] for log in self.found()], ['sh', 'true'])

    def test_killed_then_pack_left(self):
        self.run_on('sh', '-c', WRITE.format('file') + 'kill -9 $$', status=-signal.SIGKILL)
        self.assertEqual(self.pack_left(), [0, 1, 0, 0])
        self.settle()
        self.assertEqual(self.pack_left(), [1, 0, 0, 0])
        self.assertEqual(self.pack_left(), [0, 0, 0, 0])
        log = self.one_log()
        self.assertIn('file', self.files_of(log))
        self.assertEqual(self.spills(), [])

    def test_left_lets_running_jobs_alone(self):
        process = self.start_on('sh', '-c', 'echo x > file; read line; echo y > after')
        self.wait_for(lambda: os.path.exists(self.path('file')))
        self.settle()
        self.assertEqual(self.pack_left(), [0, 1, 0, 0])
        process.communicate(b'\n', timeout=30)
        self.assertLessEqual({'file', 'after'}, self.files_of(self.one_log()))

    def test_left_waits_for_a_program_that_is_not_recorded(self):
        """The process that began the job becomes a static one."""
        program = self.path('static')
        if not compile_c(program, '#include <unistd.h>\nint main(void) { char c; return (int)read(0, &c, 1); }', '-static'):
            self.skipTest('no static libc')
        process = self.start_on('sh', '-c', f'echo x > file; exec {program}')
        self.wait_for(lambda: os.path.exists(self.path('file')))
        self.settle()
        self.assertEqual(self.pack_left(), [0, 1, 0, 0])
        process.communicate(timeout=30)
        self.settle()
        self.assertEqual(self.pack_left(), [1, 0, 0, 0])

    def test_children_that_outlive(self):
        process = self.start_on('sh', '-c', 'exec 3<&0; (echo x > one; cat <&3 > /dev/null; echo y > two) & '
                                'while [ ! -e one ]; do :; done; echo z > three')
        process.wait(timeout=30)
        self.assertEqual(self.found(), [])
        process.stdin.close()
        self.wait_for(self.found)
        self.wait_for(lambda: not self.spills())
        self.assertLessEqual({'one', 'two', 'three'}, self.files_of(self.one_log()))

    def test_forked_child_that_begins_late(self):
        """It has made no call when its parent's log is made."""
        self.run_python('''
import os, time
if os.fork() == 0:
    time.sleep(3)
    open('later', 'w').write('x')
''', stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for(lambda: any('later' in self.files_of(log) for log in self.found()))
        self.wait_for(lambda: not self.spills())

    def test_daemon(self):
        """What outlives the log of its job, and becomes another program, has a log of its own."""
        self.run_python('''
import os, time
if os.fork() == 0:
    os.setsid()
    while not os.path.isdir('gone'): time.sleep(0.02)
    os.execlp('sh', 'sh', '-c', 'echo x > later')
''', stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.mkdir(self.path('gone'))
        self.wait_for(lambda: os.path.exists(self.path('later')))
        self.wait_for(lambda: any('later' in self.files_of(log) for log in self.found()))

    def test_vfork_and_failed_exec(self):
        self.run_python('''
import os, subprocess
for i in range(20):
    try: subprocess.run(['/no/such/program'])
    except FileNotFoundError: pass
open("file", "w").write("x")
''')
        self.assertIn('file', self.files_of(self.one_log()))
        self.assertEqual(self.spills(), [])

    def test_empty_environment(self):
        """Children without any variable belong to the job, with settings from ioseer.conf only as well."""
        conf_only = {'LD_PRELOAD': LIBRARY, 'IOSEER_CONF': self.path('ioseer.conf'), 'PATH': os.environ['PATH']}
        self.write_conf(f'log_dir = {self.logs}', f'program = {harness.IOSEER}')
        for environment in (self.environment(), conf_only):
            self.run_on('sh', '-c', 'echo x > file; env -i sh -c "echo y > other; cat other" > /dev/null',
                        environment=environment)
            log = self.one_log()
            self.assertLessEqual({'file', 'other'}, self.files_of(log))
            os.remove(log)

    @unittest.skipUnless(shutil.which('cc'), 'no compiler')
    def test_static_program(self):
        program = self.path('static')
        if not compile_c(program, 'int main(void) { return 3; }', '-static'):
            self.skipTest('no static libc')
        self.run_on(program, status=3)
        self.run_on('sh', '-c', f'echo x > file; {program}', status=3)
        self.assertIn('file', self.files_of(self.one_log()))

    def test_huge_environment(self):
        self.run_on('sh', '-c', 'echo x > file', environment=self.environment(**{f'V{i}': 'x' * 20000 for i in range(80)},
                                                                           **{f'ROMIO_{i}': 'x' for i in range(2000)}))
        self.assertIn('file', self.files_of(self.one_log()))

    def test_without_home_and_user(self):
        environment = self.environment()
        for name in ('HOME', 'USER', 'LOGNAME', 'PATH'):
            environment.pop(name, None)
        self.run_on('/bin/sh', '-c', 'echo x > file', environment=environment)
        self.assertIn('file', self.files_of(self.one_log()))

    def test_record_inside(self):
        """`record` makes its own log; the job around it has what is outside of it."""
        inner = self.path('inner.ioseer')
        for shell in ('sh', 'bash'):  # bash becomes its last command
            self.run_on(shell, '-c', f'echo x > out; {harness.IOSEER} record -q --force -o {inner} -- sh -c "echo y > in"')
            self.assertIn('in', self.files_of(inner))
            self.assertNotIn('out', self.files_of(inner))
            log = self.one_log()
            self.assertIn('out', self.files_of(log))
            self.assertNotIn('in', self.files_of(log))
            os.remove(log)


class ManyTest(SiteCase):
    def test_two_at_once(self):
        environment = self.environment(IOSEER_LOG_NAME='same.ioseer')
        jobs = [self.start_on('sh', '-c', f'echo x > file{i}; read line', environment=environment) for i in range(4)]
        for i in range(4):
            self.wait_for(lambda name=f'file{i}': os.path.exists(self.path(name)))
        for job in jobs:
            job.stdin.write(b'\n')
            job.stdin.flush()
        for job in jobs:
            self.assertEqual(job.wait(timeout=60), 0)
        self.assertEqual([os.path.basename(log) for log in self.found()],
                         ['same-2.ioseer', 'same-3.ioseer', 'same-4.ioseer', 'same.ioseer'])
        self.assertEqual(self.spills(), [])

    def test_200_short_jobs(self):
        script = 'for i in $(seq 200); do /bin/true; done'
        harness.run('sh', '-c', f'export LD_PRELOAD="$1"; {script}', 'sh', LIBRARY,
                    env={**self.environment(), 'LD_PRELOAD': ''}, cwd=self.folder)
        logs = self.found()
        self.assertEqual(len(logs), 201 if any('seq-' in log for log in logs) else 200)
        for log in logs[::20]:
            self.json('info', '--json', log)
        everything = [name for _, _, names in os.walk(self.logs) for name in names]
        self.assertEqual(len(everything), len(logs))
        self.assertEqual(self.spills(), [])

    def test_2000_forks(self):
        self.run_on(sys.executable, '-I', '-S', '-c', '''
import os
for i in range(2000):
    pid = os.fork()
    if not pid:
        open('file', 'a').write('x')
        os._exit(0)
    os.waitpid(pid, 0)
''')
        log = self.one_log()
        self.assertEqual(self.json('info', '--json', log)['job']['nprocs'], 2001)
        written = self.counters(log)['posix', None, self.path('file')]['POSIX_BYTES_WRITTEN']
        self.assertEqual(written, 2000)
        self.wait_for(lambda: not self.spills())  # the job waits for its log only as long as `patience` says


class TroubleTest(SiteCase):
    """A log folder that is of no use: the program prints and returns the same, and in time."""

    def unharmed(self, environment):
        text = 'echo out; echo err >&2; echo x > file; cat file; (exit 9); exit 6'
        started = time.monotonic()
        done = harness.run('sh', '-c', text, env=environment, cwd=self.folder)
        self.assertEqual((done.stdout, done.stderr, done.returncode), (b'out\nx\n', b'err\n', 6))
        self.assertLess(time.monotonic() - started, 60)

    def test_no_folder(self):
        environment = self.environment()
        shutil.rmtree(self.logs)
        self.unharmed(environment)

    def test_folder_vanishes(self):
        done = self.run_on('sh', '-c', f'echo x > file; rm -r {self.logs}; cat file; exit 4', status=4)
        self.assertEqual(done.stdout, b'x\n')

    def test_no_packer(self):
        self.unharmed(self.environment(IOSEER_PROGRAM='/no/such/ioseer'))
        self.assertEqual(len(self.spills()), 1)

    def test_packer_that_hangs(self):
        slow = self.path('slow')
        with open(slow, 'w', encoding='ascii') as script:
            script.write('#!/bin/sh\nexec sleep 30\n')
        os.chmod(slow, 0o755)
        started = time.monotonic()
        self.unharmed(self.environment(IOSEER_PROGRAM=slow, IOSEER_PATIENCE='1'))
        self.assertLess(time.monotonic() - started, 20)

    @unittest.skipIf(os.geteuid(), 'mounting needs root')
    def test_full_and_read_only(self):
        environment = self.environment()
        if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', self.logs], check=False).returncode:
            self.skipTest('no mount')
        self.addCleanup(subprocess.run, ['umount', '-l', self.logs], check=False)
        self.unharmed(environment)
        with open(os.path.join(self.logs, 'fill'), 'wb', buffering=0) as fill:
            try:
                while True:
                    fill.write(b'x' * 4096)
            except OSError:
                pass
        self.unharmed(environment)
        subprocess.run(['mount', '-o', 'remount,ro', self.logs], check=True)
        self.unharmed(environment)
        self.assertEqual(self.found(), [])

    def test_over_quota(self):
        """btrfs needs space for each page that is changed after it was written: the recorder's stores fail in mid-run."""
        tools = os.environ['PATH'] + ':/usr/sbin:/sbin'
        mkfs, btrfs, image = shutil.which('mkfs.btrfs', path=tools), shutil.which('btrfs', path=tools), self.path('image')
        if os.geteuid() or not mkfs or not btrfs or not os.access('/dev/loop-control', os.W_OK):
            self.skipTest('needs root, btrfs-progs and loop devices')
        environment = self.environment(IOSEER_TRACE_CAP=str(16 << 20))
        with open(image, 'wb') as empty:
            empty.truncate(256 << 20)
        subprocess.run([mkfs, '-q', image], check=True, stdout=subprocess.DEVNULL)
        if subprocess.run(['mount', '-o', 'loop', image, self.logs], check=False).returncode:
            self.skipTest('this kernel has no btrfs')
        self.addCleanup(subprocess.run, ['umount', '-l', self.logs], check=False)
        for words in (['quota', 'enable', self.logs], ['qgroup', 'limit', '1M', self.logs]):
            subprocess.run([btrfs, *words], check=True, stdout=subprocess.DEVNULL)
        program = f'''
import errno, os, threading
def work(count):
    for i in range(count):
        with open(f'file{{i % 50}}', 'wb', buffering=0) as out: out.write(b'x' * i)
work(100)
try:
    with open({os.path.join(self.logs, 'fill')!r}, 'wb', buffering=0) as fill:
        while True: fill.write(b'x' * 4096)
except OSError as error:
    print(error.errno == errno.EDQUOT)
for i in range(5):
    os.sync()
    threads = [threading.Thread(target=work, args=(300,)) for i in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print('done')
'''
        done = self.run_on(sys.executable, '-I', '-S', '-c', program, environment=environment)
        self.assertEqual(done.stdout, b'True\ndone\n')
        self.unharmed(environment)
        os.unlink(os.path.join(self.logs, 'fill'))
        self.unharmed(environment)
        self.settle()
        self.expect(0, 'pack', '-q', '--left', env=environment)
        self.assertEqual(self.spills(), [])
        self.assertGreaterEqual(len(self.found()), 2)
        for log in self.found():
            self.expect(0, 'info', log)

    def test_relative_and_strange_folders(self):
        for folder in ('relative', '/dev/null', '/proc/self', self.path('ioseer.conf')):
            self.unharmed(self.environment(IOSEER_LOG_DIR=folder))


class SettingTest(SiteCase):
    def test_opt_out(self):
        self.run_on('sh', '-c', 'echo x > file', environment=self.environment(IOSEER_RECORD='none'))
        self.assertEqual((self.found(), self.spills()), ([], []))
        os.makedirs(os.path.join(self.home, '.config/ioseer'))
        self.write_conf('record = none', path=os.path.join(self.home, '.config/ioseer/ioseer.conf'))
        self.run_on('sh', '-c', 'echo x > file')
        self.assertEqual((self.found(), self.spills()), ([], []))

    def test_opt_out_of_a_part(self):
        self.run_on('sh', '-c', 'echo x > file; IOSEER_RECORD=none sh -c "echo y > secret"')
        names = {file['name'] for file in self.json('info', '--json', self.one_log())['files']}
        self.assertIn(self.path('file'), names)
        self.assertNotIn(self.path('secret'), names)

    def test_batch_only(self):
        environment = self.environment(IOSEER_RECORD='batch')
        self.run_on('true', environment=environment)
        self.assertEqual(self.found(), [])
        ids = (('SLURM_JOB_ID=41', '41'), ('PBS_JOBID=42[3].server', '42-3-.server'), ('LSB_JOBID=43 LSB_JOBINDEX=0', '43'),
               ('LSB_JOBID=43 LSB_JOBINDEX=7', '43-7-'), ('FLUX_JOB_ID=f44', 'f44'), ('FLUX_JOB_ID=ƒ2oFG', 'f2oFG'),
               ('FLUX_ENCLOSING_ID=ƒ9Abc FLUX_JOB_ID=ƒ2oFG', 'f9Abc.f2oFG'), ('FLUX_ENCLOSING_ID=ƒ9Abc', 'f9Abc'))
        for variables, key in ids:
            self.run_on('true', environment={**environment, **dict(word.split('=') for word in variables.split())})
            log = self.one_log()
            self.assertTrue(log.endswith(f'-{key}.ioseer'), log)
            info = self.json('info', '--json', log)
            self.assertEqual(info['job']['id'], key)
            os.remove(log)

    def test_tasks_of_flux(self):
        """Each task begins the job, and the last one makes the log."""
        environment = self.environment(FLUX_JOB_ID='ƒ2oFG', FLUX_JOB_SIZE='3')
        tasks = [self.start_on('sh', '-c', f'sleep 0.{rank}; echo x > out.{rank}', environment={**environment, 'FLUX_TASK_RANK': str(rank)})
                 for rank in range(3)]
        self.assertEqual([task.wait(timeout=60) for task in tasks], [0, 0, 0])
        log = self.one_log()
        self.assertTrue(log.endswith('-f2oFG.ioseer'), log)
        names = {os.path.basename(file['name']) for file in self.json('info', '--json', log)['files']}
        self.assertLessEqual({'out.0', 'out.1', 'out.2'}, names)
        self.assertEqual(self.spills(), [])

    @unittest.skipIf(os.geteuid() or not shutil.which('unshare'), 'needs root and mount namespaces')
    def test_ld_so_preload(self):
        """The library is in every program of the node; only the job is recorded, with all its processes."""
        self.write_conf(f'log_dir = {self.logs}', f'program = {harness.IOSEER}', 'record = batch')
        layer = self.path('layer')
        os.mkdir(layer)
        script = f'''mount -t tmpfs tmpfs {layer} && mkdir {layer}/upper {layer}/work &&
mount -t overlay overlay -o lowerdir=/etc,upperdir={layer}/upper,workdir={layer}/work /etc || exit 77
echo {LIBRARY} > /etc/ld.so.preload
sh -c 'echo x > outside'
SLURM_JOB_ID=5 sh -c 'echo y > inside; env -i cat inside'
'''
        done = harness.run('unshare', '-m', 'sh', '-c', script, env=self.plain, cwd=self.folder)
        if done.returncode == 77:
            self.skipTest('no overlay can be mounted here')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b'y\n', b''))
        log = self.one_log()
        self.assertTrue(log.endswith('-5.ioseer'))
        self.assertEqual(self.json('info', '--json', log)['job']['nprocs'], 2)
        self.assertEqual(self.spills(), [])

    def test_excluded(self):
        for setting, value in (('IOSEER_EXCLUDE_PROGRAM', '*/true\n*/false'), ('IOSEER_EXCLUDE_USER', str(os.geteuid()))):
            self.run_on('true', environment=self.environment(**{setting: value}))
            self.assertEqual((self.found(), self.spills()), ([], []), setting)
        self.run_on('sh', '-c', 'echo x > file; true', environment=self.environment(IOSEER_EXCLUDE_PROGRAM='*/true'))
        self.assertEqual(self.json('info', '--json', self.one_log())['job']['nprocs'], 1)

    def test_sample(self):
        """A job is recorded whole or not at all."""
        environment = self.environment(IOSEER_SAMPLE='2')
        for _ in range(30):
            self.run_on('sh', '-c', 'cat /dev/null; cat /dev/null; env -i cat /dev/null', environment=environment)
        logs = self.found()
        self.assertTrue(0 < len(logs) < 30, len(logs))  # by chance all or none: 1 in 500 million
        self.assertTrue(all(os.path.basename(log).startswith('sh-') for log in logs), logs)

    def test_trace_and_caps(self):
        self.write_conf('trace_cap = 1M', 'file_cap = 3', 'exclude = */left', 'exclude = */out')
        self.run_on('sh', '-c', 'for i in left out a b c d e f; do echo x > $i; done')
        info = self.json('info', '--json', self.one_log())
        names = {os.path.basename(file['name']) for file in info['files']}
        self.assertGreater(info['events'], 0)
        self.assertFalse(names & {'left', 'out'})
        self.assertNotIn('f', names)

    def test_bad_lines(self):
        bad = {'nonsense': 'not KEY = VALUE', 'colour = red': 'there is no setting colour', 'sample = x': 'sample: x is not a number',
               'log_dir = here': 'log_dir: here is not an absolute path', 'log_mode = 999': 'log_mode: 999 is not an octal',
               'record = some': 'record: some is not all, batch or none', 'trace_cap = 1.5M': 'trace_cap: 1.5M is not',
               'trace_slower = fast': 'trace_slower: fast is not a duration, such as 10ms',
               'trace_rank = 1-': 'trace_rank: 1- is not a list of ranks, such as 0,4-7',
               'counter_cap = 2 MiB': 'counter_cap: 2 MiB is not a number of bytes, such as 64M'}
        for line, why in bad.items():
            self.write_conf('# a comment', '', f'log_dir = {self.logs}', line)
            for verb in (['doctor', '--settings'], ['env']):
                error = self.expect_error(2, *verb, env=self.plain)
                self.assertIn(f'{self.path("ioseer.conf")}: line 4: {why}', error)
            if not line.startswith('record'):  # recorded all the same
                self.run_on('true', environment=self.environment_of_bad_conf())
                os.remove(self.one_log())

    def environment_of_bad_conf(self):
        return {**self.plain, 'LD_PRELOAD': LIBRARY, 'IOSEER_LOG_DIR': self.logs, 'IOSEER_PROGRAM': harness.IOSEER}

    def test_bad_variable(self):
        self.assertIn('IOSEER_SAMPLE: x is not a number',
                      self.expect_error(2, 'doctor', '--settings', env={**self.plain, 'IOSEER_SAMPLE': 'x'}))

    def test_settings_and_their_origin(self):
        self.write_conf(f'log_dir = {self.logs}', 'sample = 3', 'exclude = a')
        os.makedirs(os.path.join(self.home, '.config/ioseer'))
        user = os.path.join(self.home, '.config/ioseer/ioseer.conf')
        self.write_conf('sample = 4', 'exclude = b', path=user)
        printed = self.expect(0, 'doctor', '--settings', '--json', env={**self.plain, 'IOSEER_LOG_MODE': '0640'}).stdout
        rows = {row['name']: (row['value'], row['source']) for row in harness.json.loads(printed)['settings']}
        self.assertEqual(rows['log_dir'], (self.logs, self.path('ioseer.conf')))
        self.assertEqual(rows['sample'], ('4', user))
        self.assertEqual(rows['exclude'], ('a\nb', user))
        self.assertEqual(rows['log_mode'], ('0640', 'environment'))
        self.assertEqual(rows['keep_days'], ('0', 'default'))

    def test_keep_days(self):
        self.run_on('true')
        old = self.one_log()
        self.run_on('sh', '-c', ':')
        new = next(log for log in self.found() if log != old)
        other = os.path.join(os.path.dirname(old), 'notes.txt')
        outside = self.path('outside')
        os.mkdir(outside)
        kept = os.path.join(outside, 'kept.ioseer')
        for path in (other, kept):
            with open(path, 'w', encoding='ascii'):
                pass
        os.symlink(outside, os.path.join(self.logs, 'link'))
        for path in (old, other, kept):
            os.utime(path, (time.time() - 10 * 86400,) * 2)
        self.assertEqual(self.pack_left(IOSEER_KEEP_DAYS='11')[3], 0)
        self.assertEqual(self.pack_left(IOSEER_KEEP_DAYS='9')[3], 1)
        self.assertEqual([os.path.exists(path) for path in (old, new, other, kept)], [False, True, True, True])


if __name__ == '__main__':
    harness.main()
