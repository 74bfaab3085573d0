#!/usr/bin/env python3
"""`ioseer env`: what a shell starts is recorded, and the log is the one that `record` makes. Speaks TAP."""
import os
import shutil
import sys
import unittest

from site_case import LAUNCHERS, LIBRARY, SiteCase, harness

# The words that evaluate the output of `ioseer env` and then run a command.
SHELLS = {
    'sh': ('sh', '-c', 'eval "$("$0" env --log-dir "$1" --shell sh)"; {}'),
    'bash': ('bash', '-c', 'eval "$("$0" env --log-dir "$1" --shell bash)"; {}'),
    'zsh': ('zsh', '-f', '-c', 'eval "$("$0" env --log-dir "$1" --shell zsh)"; {}'),
    'csh': ('csh', '-f', '-c', 'eval `"$P" env --log-dir "$D:q" --shell csh`; {}'),
    'tcsh': ('tcsh', '-f', '-c', 'eval `"$P" env --log-dir "$D:q" --shell tcsh`; {}'),
    'fish': ('fish', '--no-config', '-c', '$P env --log-dir $D --shell fish | source; {}'),
}


class EnvTest(SiteCase):
    def in_shell(self, name, command, log_dir=None, **more):
        log_dir = log_dir or self.logs
        *words, text = SHELLS[name]
        environment = {**self.plain, 'P': harness.IOSEER, 'D': log_dir, **more}
        done = harness.run(*words, text.format(command), harness.IOSEER, log_dir, env=environment, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, b''), name)
        return done.stdout

    def test_each_shell_records(self):
        for name in filter(shutil.which, SHELLS):
            self.in_shell(name, 'dd if=/dev/zero of=file bs=4k count=3 status=none')
            log = self.one_log()  # of this shell
            self.assertRegex(os.path.basename(log), r'^dd-\d{8}-\d{6}-\d+\.ioseer$')
            self.assertEqual(self.counters(log)['posix', None, self.path('file')]['POSIX_BYTES_WRITTEN'], 12288)
            os.remove(log)

    def test_strange_names(self):
        for name in filter(shutil.which, SHELLS):
            for strange in ('with space', "it's", 'a "b" c', 'dollar$HOME', 'back\\slash', 'star*', 'semi;colon', 'bang!x'):
                folder = os.path.join(self.logs, strange)
                os.makedirs(folder, exist_ok=True)
                if name in ('csh', 'tcsh') and strange not in ('with space', 'star*', 'semi;colon'):
                    continue  # not for csh to give to a program in backquotes
                self.in_shell(name, '/bin/true', folder)
                logs = self.found(folder)
                self.assertEqual(len(logs), 1, (name, strange))
                os.remove(logs[0])

    def test_off(self):
        ends = {'sh': 'eval "$("$0" env --off --shell sh)"', 'bash': 'eval "$("$0" env --off --shell sh)"',
                'zsh': 'eval "$("$0" env --off --shell sh)"', 'csh': 'eval `$P env --off --shell csh`',
                'tcsh': 'eval `$P env --off --shell csh`', 'fish': '$P env --off --shell fish | source'}
        for name in filter(shutil.which, SHELLS):
            printed = self.in_shell(name, ends[name] + '; env').decode()
            self.assertNotIn('IOSEER_L', printed, name)
            self.assertNotIn('LD_PRELOAD', printed)
            self.assertEqual(self.found(), [])

    def test_other_preloads_stay(self):
        other = self.path('other.so')
        shutil.copy(LIBRARY, other)  # any library
        self.plain['LD_PRELOAD'] = other
        variables = self.environment()
        self.assertEqual(variables['LD_PRELOAD'], f'{other}:{LIBRARY}')
        off = harness.ioseer('env', '--off', '--shell', 'sh', env=variables).stdout.decode()
        self.assertIn(f"export LD_PRELOAD='{other}';", off)

    def test_slurm_lines(self):
        lines = harness.ioseer('env', '--log-dir', self.logs, '--shell', 'slurm', env=self.plain).stdout.decode()
        self.assertIn(f'export IOSEER_LOG_DIR={self.logs}\n', lines)
        self.assertIn(f'export LD_PRELOAD={LIBRARY}\n', lines)

    def test_wrong_use(self):
        self.expect_error(2, 'env', env=self.plain)
        self.expect_error(2, 'env', '--log-dir', self.logs, '--shell', 'cmd', env=self.plain)
        self.expect_error(1, 'env', '--log-dir', self.path('none'), env=self.plain)
        self.write_conf('# fine', 'log_dir = ' + self.logs, 'log_mode = rw')
        self.assertIn('ioseer.conf: line 3: log_mode: rw is not', self.expect_error(2, 'env', env=self.plain))

    def test_conf_has_the_folder(self):
        self.write_conf('log_dir = ' + self.logs)
        printed = self.expect(0, 'env', '--shell', 'sh', env=self.plain).stdout.decode()
        self.assertIn(f"export IOSEER_LOG_DIR='{self.logs}';", printed)


PYTHON = """
import os, subprocess
with open('data', 'wb') as out:
    for _ in range(50): out.write(b'x' * 1000)
fd = os.open('data', os.O_RDWR)
for i in range(20): os.pwrite(fd, b'y' * 100, i * 512)
os.close(fd)
subprocess.run(['cp', 'data', 'copy'], check=True)
"""
MAKEFILE = 'all: a.o b.o c.o\n\tcat a.o b.o c.o > all.out\n%.o: %.src\n\tcp $< $@\n'


class SameLogTest(SiteCase):
    """The same command with `record` and without it."""

    def compare(self, *command, status=0):
        def clear():
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(self.path('sources'), work)
        work = self.path('work')
        os.makedirs(self.path('sources'), exist_ok=True)
        clear()
        plain = self.path('record.ioseer')
        done = harness.run(harness.IOSEER, 'record', '-q', '--trace-cap', '0', '-o', plain, '--', *command, cwd=work,
                           env=self.plain)
        self.assertEqual(done.returncode, status, done.stderr)
        clear()
        again = self.run_on(*command, cwd=work, status=status)
        self.assertEqual(again.stdout, done.stdout)
        log = self.one_log()
        self.assertEqual(self.spills(), [])
        self.assertTrue(self.counters(log, work))
        self.assertEqual(self.counters(log, work), self.counters(plain, work))
        self.compare_info(log, plain)

    def compare_info(self, log, plain):
        one, other = self.json('info', '--json', log), self.json('info', '--json', plain)
        for key in ('command', 'nprocs', 'mpi', 'host_count', 'exit_status', 'uid', 'cwd', 'version', 'complete'):
            self.assertEqual(one['job'].get(key), other['job'].get(key), key)
        for key in ('exit', 'rank', 'program'):
            self.assertEqual(sorted(str(process.get(key)) for process in one['processes']),
                             sorted(str(process.get(key)) for process in other['processes']), key)
        self.assertEqual(one['lost_events'], 0)

    def test_python(self):
        self.compare(sys.executable, '-I', '-S', '-c', PYTHON)

    def test_exit_status(self):
        self.compare('sh', '-c', 'echo x > file; exit 7', status=7)

    def test_exec(self):
        self.compare('sh', '-c', 'echo x > file; exec cat file')

    def test_tar(self):
        os.makedirs(self.path('sources/tree'))
        for i in range(20):
            with open(self.path(f'sources/tree/{i}'), 'w', encoding='ascii') as file:
                file.write('text ' * i * 100)
        self.compare('tar', 'cf', 'tree.tar', 'tree')

    @unittest.skipUnless(shutil.which('sqlite3'), 'no sqlite3')
    def test_sqlite(self):
        self.compare('sqlite3', 'base.db', 'create table t (x); insert into t values (1), (2), (3); select sum(x) from t;')

    @unittest.skipUnless(shutil.which('make'), 'no make')
    def test_make(self):
        os.makedirs(self.path('sources'))
        for name, text in {'Makefile': MAKEFILE, 'a.src': 'a\n', 'b.src': 'b\n' * 1000, 'c.src': ''}.items():
            with open(self.path(f'sources/{name}'), 'w', encoding='ascii') as file:
                file.write(text)
        self.compare('make', '-s', '-j2')

    def compare_mpi(self, mpi):
        program = os.path.join(harness.BUILD, 'examples', f'madbench-{mpi}')
        if not shutil.which(LAUNCHERS[mpi][0]) or not os.path.exists(program):
            self.skipTest(f'no {mpi}')
        self.plain['OMPI_MCA_rmaps_base_oversubscribe'] = '1'
        work = self.path('work')
        logs = []
        for is_recorded in (True, False):
            shutil.rmtree(work, ignore_errors=True)
            os.mkdir(work)
            words = [*LAUNCHERS[mpi], '-n', '4', program]
            if is_recorded:
                logs.append(self.record(*words, options=('--trace-cap', '0'), cwd=work, env=self.plain))
            else:
                self.run_on(*words, cwd=work, status=0)
        logs.append(self.one_log())
        one, other = (self.counters(log, work) for log in logs)
        self.assertTrue(one)
        self.assertEqual(one, other)
        one, other = (self.json('info', '--json', log) for log in logs)
        for key in ('nprocs', 'mpi'):
            self.assertEqual(one['job'][key], other['job'][key])
        self.assertEqual(sorted(str(process['rank']) for process in one['processes']),
                         sorted(str(process['rank']) for process in other['processes']))

    def test_mpich(self):
        self.compare_mpi('mpich')

    def test_openmpi(self):
        self.compare_mpi('openmpi')


if __name__ == '__main__':
    harness.main()
