#!/usr/bin/env python3
"""test_sweep.py: sweeps over real limits of memory, and what they leave behind.

No test looks at how long something took: programs here have one time or another at every point.
"""
import glob
import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))

from harness import BUILD, IOSEER, CommandLineTest, ioseer, main  # noqa: E402

MIB = 1 << 20
PATIENCE_SECONDS = 60
ANY = ('--precision', '99%')  # three runs, whatever they take
MPICH = ['mpiexec.mpich', '-n', '{np}', os.path.join(BUILD, 'examples', 'ior-mpich'), '--directory', '{dir}']
POINT_KEYS = {'target', 'cache', 'np', 'interface', 'time', 'low', 'high', 'wall', 'runs', 'precise', 'killed', 'failed',
              'cached', 'working_set', 'io_seconds', 'wall_seconds'}
WRITE = 'import sys; open(sys.argv[1], "wb").write(bytes(1 << 20))'
HOLD = 'import sys; held = b"x" * (200 << 20); open(sys.argv[1], "wb").write(bytes(1 << 20))'
# Appends the limit that holds for this process to a file.
TELL = '''
import re, sys
from pathlib import Path
mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().split("\\n") if "cgroup" in line]
for line in Path("/proc/self/cgroup").read_text().split("\\n"):
    number, names, place = (line + "::").split(":")[:3]
    for words in mounts:
        first = "memory" in names and "memory" in words[-1].split(",") and "cgroup " in " ".join(words)
        for base in [words[4] + place]:
            for name in ("memory.max",) if number == "0" else ("memory.limit_in_bytes",) if first else ():
                file = Path(base, name)
                if file.exists():
                    with open(sys.argv[1], "a") as out:
                        out.write(file.read_text())
Path(sys.argv[2]).write_bytes(bytes(4096))
'''


def python(program, *words):
    return [sys.executable, '-I', '-S', '-c', program, *words]


def dd(count, where='{dir}/x'):
    """Writes so many MiB, and touches no other file, as Python does."""
    return ['dd', 'if=/dev/zero', f'of={where}', 'bs=1M', f'count={count}', 'status=none']


def groups():
    """Those of sweeps that have ended: another may run on this machine."""
    return [path for mount in ('/sys/fs/cgroup/memory', '/sys/fs/cgroup')
            for path in glob.glob(f'{mount}/**/ioseer-sweep-*', recursive=True)
            if not os.path.exists(f'/proc/{path.rpartition("-")[2]}')]


def processes(word):
    found = []
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{name}/cmdline', 'rb') as words, open(f'/proc/{name}/stat', encoding='ascii') as about:
                if os.fsencode(word) in words.read() and about.read().rpartition(')')[2].split()[0] not in 'ZX':
                    found.append(int(name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


class SweepTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.target = self.path('target')
        os.mkdir(self.target)

    def sweep(self, *words, **options):
        return json.loads(self.expect(0, 'sweep', '--json', '--on', self.target, *ANY, *words, **options).stdout)

    def saved(self, name='sweep.json'):
        with open(self.path(name), encoding='utf-8') as file:
            return json.load(file)

    def left(self):
        return os.listdir(self.target)


class Grid(SweepTest):
    def check(self, found):
        for point in found['points']:
            self.assertEqual(point.keys(), POINT_KEYS)
            self.assertEqual(len(point['io_seconds']), point['runs'])
            if point['time'] is not None:
                self.assertTrue(3 <= point['runs'] <= 15, point)
                self.assertTrue(0 < point['low'] <= point['time'] <= point['high'], point)
        self.assertEqual(self.left(), [])

    def test_command(self):
        other = self.path('other')
        os.mkdir(other)
        found = self.sweep('--on', other, '--np', '1,3', '--', *dd('{np}'))
        self.check(found)
        self.assertEqual([(point['target'], point['np']) for point in found['points']],
                         [(self.target, 1), (self.target, 3), (other, 1), (other, 3)])
        for point in found['points']:
            self.assertEqual(point['working_set'], point['np'] * MIB)
            self.assertGreaterEqual(point['wall'], point['time'])
        self.assertEqual(found['working_set'], 3 * MIB)
        self.assertIn(found['ended'], ('precise', 'most runs'))

    def test_working_set_counts_each_byte_once(self):
        program = ('import os, sys; fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n'
                   'for at in 0, 4096, 2048, 1 << 30: os.pwrite(fd, bytes(4096), at)\n'
                   'for _ in range(5): os.pread(fd, 8192, 0)\n')
        own = self.sweep('--', *python('import os', '{dir}'))['working_set']
        found = self.sweep('--', *python(program, '{dir}/x'))
        self.assertEqual(found['working_set'] - own, 3 * 4096)
        self.assertGreaterEqual(sum(phase['working_set'] for phase in found['phases']), 3 * 4096)

    def test_model(self):
        log = self.record(*dd(1, self.path('x')))
        found = self.sweep(log)
        self.check(found)
        self.assertEqual((found['model'], found['command'], found['working_set']), (log, None, MIB))

    def test_processes_and_views(self):
        if not os.path.exists(MPICH[3]) or not shutil.which(MPICH[0]):
            self.skipTest('no MPICH')
        found = self.sweep('--np', '1,2', '--', *MPICH, '--block', '64k', '--transfer', '16k', '--collective')
        self.check(found)
        self.assertEqual([point['working_set'] for point in found['points']], [2 * 65536, 4 * 65536])
        log = self.record('mpiexec.mpich', '-n', '4', os.path.join(BUILD, 'examples', 'btio-mpich'), '--grid', '12', '--steps',
                          '5', '--interval', '5', '--directory', self.folder)
        size = os.path.getsize(self.path('btio.dat'))
        found = self.sweep('--np', '4', log)
        self.check(found)
        self.assertEqual(found['working_set'], size)

    def test_interfaces(self):
        if not os.path.exists(MPICH[3]) or not shutil.which(MPICH[0]):
            self.skipTest('no MPICH')
        log = self.record('mpiexec.mpich', '-n', '2', MPICH[3], '--block', '64k', '--transfer', '16k', '--directory', self.folder)
        ways = ['as-recorded', 'collective', 'independent', 'posix']
        found = self.sweep('--interface', ','.join(ways), log)
        self.check(found)
        self.assertEqual([point['interface'] for point in found['points']], ways)
        self.assertEqual({point['working_set'] for point in found['points']}, {4 * 65536})
        self.assertEqual({point['failed'] for point in found['points']}, {None})
        found = self.sweep('--interface', 'as-recorded,collective', self.record(*dd(1, self.path('x')), name='dd.ioseer'))
        self.assertEqual([point['failed'] is None for point in found['points']], [True, False])

    def test_direct_io_is_told(self):
        below, above = self.path('below'), self.path('above')
        os.mkdir(below)
        os.mkdir(above)
        done = ioseer('emulate', '-q', below, above)
        if done.returncode:
            self.skipTest(done.stderr.decode().strip())
        try:
            found = self.sweep('--on', above, '--', *python(WRITE, '{dir}/x'))
        finally:
            self.expect(0, 'emulate', '--stop', above)
        self.assertEqual([point['cached'] for point in found['points']], [True, False])

    def test_chart(self):
        page = self.path('sweep.html')
        done = ioseer('sweep', '--on', self.target, *ANY, '--chart', page, '--', *python(WRITE, '{dir}/x'))
        if b'built without the page' in done.stderr:
            self.skipTest('built without the page')
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(page, encoding='utf-8') as file:
            self.assertIn('"ioseer_sweep":1', file.read())


class Errors(SweepTest):
    def test_wrong_command_lines(self):
        command = python(WRITE, '{dir}/x')
        for words, said in ((('--', 'true', 'x'), '{dir}'), (('--np', '2', '--', *command), '{np}'),
                            (('--', *command, '{np}'), '--np'), (('--np', '2,x', '--', *command), '2,x'),
                            (('--page-cache', '1G,1G', '--', *command), 'twice'), (('--page-cache', '0', '--', *command), '0'),
                            (('--interface', 'posix', '--', *command), '{interface}'),
                            (('--interface', 'fast', '--', *command), 'fast'), (('--precision', '0', '--', *command), '0'),
                            (('--launcher', 'x', '--', *command), 'MODEL'), ((), 'MODEL')):
            self.assertIn(said, self.expect_error(2, 'sweep', '--on', self.target, *words))
        self.assertIn('--on', self.expect_error(2, 'sweep', '--', *command))
        self.assertIn('No such file', self.expect_error(1, 'sweep', '--on', self.path('no'), '--', *command))
        self.assertIn('No such file', self.expect_error(1, 'sweep', '--on', self.target, self.path('no.ioseer')))

    def test_failures_are_told(self):
        command = ['sh', '-c', 'echo alas >&2; exit $0', '{np}', '{dir}']
        self.assertIn('exit status 3: alas',
                      self.expect_error(1, 'sweep', '--on', self.target, '--np', '3', '--', *command))
        found = self.sweep('--np', '4,1', '--', 'sh', '-c', 'test $0 = 1 && echo > $1/x', '{np}', '{dir}')
        self.assertEqual([point['failed'] for point in found['points']], ['exit status 1', None])
        self.assertEqual([point['time'] is None for point in found['points']], [True, False])
        self.assertIn('no-such-program',
                      self.expect_error(1, 'sweep', '--on', self.target, '--', 'no-such-program', '{dir}'))
        self.assertEqual(self.left(), [])


class Continuing(SweepTest):
    def test_continues_where_it_ended(self):
        path = self.path('sweep.json')
        count = self.path('count')
        command = python('import sys; open(sys.argv[2], "a").write("x"); open(sys.argv[1], "wb").write(bytes(4096))',
                         '{dir}/x', count)
        words = ('-o', path, '--np', '1,2', '--', *command, '{np}')
        found = self.sweep(*words)
        runs = os.path.getsize(count)
        self.assertEqual(runs, sum(point['runs'] for point in found['points']))
        self.assertEqual(self.saved()['points'], found['points'])
        self.assertEqual(self.sweep(*words)['points'], found['points'])
        self.assertEqual(os.path.getsize(count), runs, 'ran again')
        before = self.saved()
        self.assertIn('other numbers of processes',
                      self.expect_error(1, 'sweep', '--on', self.target, '-o', path, '--np', '1', '--', *command, '{np}'))
        self.assertIn('other programs',
                      self.expect_error(1, 'sweep', '--on', self.target, '-o', path, '--np', '1,2', '--', *command, 'x{np}'))
        self.assertIn('other directories',
                      self.expect_error(1, 'sweep', '--on', self.folder, '-o', path, '--np', '1,2', '--', *command, '{np}'))
        self.assertEqual(self.saved(), before)
        self.sweep('--force', *words)
        self.assertGreater(os.path.getsize(count), runs)

    def test_takes_no_other_file(self):
        path = self.path('sweep.json')
        for text in ('', 'x', '{}', '{"ioseer_sweep": 2}', '[1, 2]'):
            with open(path, 'w', encoding='utf-8') as out:
                out.write(text)
            self.expect_error(1, 'sweep', '--on', self.target, '-o', path, '--', *python(WRITE, '{dir}/x'))
            with open(path, encoding='utf-8') as file:
                self.assertEqual(file.read(), text)

    def test_time(self):
        found = self.sweep('--time', '1s', '-o', self.path('sweep.json'), '--', 'sh', '-c', 'sleep 1000', '{dir}')
        self.assertEqual((found['ended'], found['points'][0]['runs'], found['points'][0]['time']), ('time', 0, None))
        self.assertEqual(self.left(), [])

    def test_signal(self):
        process = subprocess.Popen([IOSEER, 'sweep', '--on', self.target, '--', 'sh', '-c', 'echo > $0/x; sleep 1000', '{dir}'],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.await_run()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=PATIENCE_SECONDS)[1], b'')
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertEqual(self.left(), [])

    def await_run(self):
        end = time.monotonic() + PATIENCE_SECONDS
        while not glob.glob(os.path.join(self.target, '*', 'x')):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_kill_in_mid_sweep(self):
        """Nothing stays behind, and what is known does."""
        limited = ['--page-cache', '256M'] if Memory.why_not() is None else []
        mark = f'{self.folder}-sleeps'
        path = self.path('sweep.json')
        once = self.path('once')
        command = ['sh', '-c', 'echo > $0/x; test -e $1 && exec sleep 1000; : > $1', '{dir}', once, mark]
        command[2] = command[2].replace('exec sleep', 'sleep')
        devices = self.device_limits()
        process = subprocess.Popen([IOSEER, 'sweep', '--on', self.target, '-o', path, *limited, '--', *command],
                                   stdout=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE_SECONDS
        while not os.path.exists(path) or not processes('sleep\0' + '1000') or not self.left():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertTrue(processes(mark))
        process.kill()
        process.wait()
        while self.left() or processes(mark) or (limited and groups()):
            self.assertLess(time.monotonic(), end, (self.left(), processes(mark), groups()))
            time.sleep(0.05)
        while self.device_limits() != devices:
            self.assertLess(time.monotonic(), end, (self.device_limits(), devices))
            time.sleep(0.05)
        self.assertEqual(self.saved()['points'][0]['runs'], 1)

    @staticmethod
    def device_limits():
        found = {}
        for path in glob.glob('/sys/class/bdi/*/strict_limit'):
            try:
                with open(path, encoding='ascii') as file:
                    found[path] = file.read()
            except OSError:
                continue
        return found


class Memory(SweepTest):
    @staticmethod
    def why_not():
        done = ioseer('sweep', '--on', '/tmp', '--time', '1ms', '--page-cache', '1G', '--', 'true', '{dir}')
        return None if b'--page-cache' not in done.stderr else done.stderr.decode().strip()

    def setUp(self):
        reason = self.why_not()
        if reason:
            self.skipTest(reason)
        super().setUp()

    def test_limit_holds_in_the_run_only(self):
        told = self.path('told')
        found = self.sweep('--page-cache', '96M,none', '--', *python(TELL, told, '{dir}/x'))
        self.assertEqual([point['cache'] for point in found['points']], [96 * MIB, None])
        with open(told, encoding='ascii') as file:
            limits = file.read().split()
        self.assertEqual(limits.count(str(96 * MIB)), found['points'][0]['runs'], limits)
        self.assertEqual(groups(), [])

    def test_limit_holds_for_all_ranks(self):
        if not shutil.which('mpiexec.mpich'):
            self.skipTest('no MPICH')
        told = self.path('told')
        found = self.sweep('--page-cache', '256M', '--np', '3', '--', 'mpiexec.mpich', '-n', '{np}',
                           *python(TELL, told, '{dir}/x'))
        with open(told, encoding='ascii') as file:
            limits = file.read().split()
        self.assertEqual(limits, [str(256 * MIB)] * 3 * found['points'][0]['runs'])

    def test_killed(self):
        found = self.sweep('--page-cache', '64M,none', '--', *python(HOLD, '{dir}/x'))
        small, large = found['points']
        self.assertEqual((small['killed'], small['time'], small['failed']), (True, None, None))
        self.assertFalse(large['killed'])
        self.assertGreater(large['time'], 0)
        done = self.expect(0, 'sweep', '--on', self.target, *ANY, '--page-cache', '64M,none', '--', *python(HOLD, '{dir}/x'))
        self.assertIn(b'killed: it needs more memory', done.stdout)
        self.assertIn(b'1 of 2 points were killed for memory', done.stdout)
        self.assertEqual((groups(), self.left()), ([], []))

    def test_killed_stays_killed(self):
        words = ('-o', self.path('sweep.json'), '--page-cache', '64M', '--', *python(HOLD, '{dir}/x'))
        self.sweep(*words)
        found = self.sweep(*words)
        self.assertEqual((found['points'][0]['killed'], found['points'][0]['runs']), (True, 0))

    def test_replay_in_too_little_memory(self):
        log = self.record('dd', 'if=/dev/zero', 'of=' + self.path('x'), 'bs=100M', 'count=1', 'status=none')
        found = self.sweep('--page-cache', '32M,none', log)
        self.assertEqual([point['killed'] for point in found['points']], [True, False])
        self.assertEqual(found['working_set'], 100 * MIB)
        self.assertEqual((groups(), self.left()), ([], []))

    def test_more_than_memory_is_written(self):
        """Unwritten pages are bounded, so the writer of a file larger than its memory is not ended."""
        found = self.sweep('--page-cache', '48M', '--', *dd(200))
        self.assertFalse(found['points'][0]['killed'])
        self.assertEqual(found['working_set'], 200 * MIB)


class OrdinaryUser(SweepTest):
    """Without root's rights, and with a group that root gave away."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or not shutil.which('setpriv'):
            self.skipTest('needs root, to become an ordinary user')
        self.user = pwd.getpwnam('nobody')
        os.chmod(self.folder, 0o755)
        os.chown(self.target, self.user.pw_uid, self.user.pw_gid)
        tree = os.path.dirname(os.path.realpath(IOSEER))
        while tree != '/':
            if not os.stat(tree).st_mode & stat.S_IXOTH:
                self.skipTest(f'others cannot use {tree}')
            tree = os.path.dirname(tree)

    def as_user(self, *words, before=''):
        user = ['setpriv', '--reuid', str(self.user.pw_uid), '--regid', str(self.user.pw_gid), '--clear-groups']
        command = [*user, 'env', 'TMPDIR=/tmp', 'HOME=/tmp', IOSEER, 'sweep', '--json', '--on', self.target, *ANY, *words, '--', *dd(1)]
        return subprocess.run(['sh', '-c', f'{before} exec "$@"', 'sh', *command], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE_SECONDS * 2, cwd='/')

    def test_without_limits(self):
        done = self.as_user()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)['points'][0]['working_set'], MIB)
        self.assertEqual(self.left(), [])

    def test_limits_need_rights(self):
        done = self.as_user('--page-cache', '64M')
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), '^ioseer sweep: --page-cache: .*(needs root|no cgroups)')
        self.assertEqual((done.stdout, self.left()), (b'', []))

    def test_a_group_of_the_user(self):
        if not os.path.exists('/sys/fs/cgroup/memory/cgroup.procs'):
            self.skipTest('no memory groups of version 1 to give away')
        group = f'/sys/fs/cgroup/memory/ioseer-test-{os.getpid()}'
        os.mkdir(group)
        try:
            for name in ('', 'cgroup.procs', 'tasks'):
                os.chown(os.path.join(group, name), self.user.pw_uid, self.user.pw_gid)
            done = self.as_user('--page-cache', '64M', before=f'echo $$ > {group}/cgroup.procs;')
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)['points'][0]['cache'], 64 * MIB)
        finally:
            end = time.monotonic() + PATIENCE_SECONDS
            while os.path.exists(group) and time.monotonic() < end:
                try:
                    os.rmdir(group)
                except OSError:
                    time.sleep(0.1)
        self.assertFalse(os.path.exists(group))


main()
