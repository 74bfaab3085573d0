"""`record` and `pack` under bad conditions: the command comes first, the log second."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

import harness


class FileLimit(harness.CommandLineTest):
    def limited(self, limit_bytes):
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    def test_the_command_runs_where_nothing_can_be_written(self):
        done = self.expect(0, 'record', '-o', self.path('log'), '--', 'sh', '-c', 'echo ok',
                           preexec_fn=self.limited(0))
        self.assertEqual(done.stdout, b'ok\n')
        self.assertRegex(done.stderr, rb'^ioseer record: .*: File too large; the command runs unrecorded\n$')

    def test_a_log_that_does_not_fit_leaves_the_spill_files(self):
        limits_record = 'import os, resource; resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (10, 10))'
        done = self.expect(0, 'record', '-o', self.path('log'), '--', sys.executable, '-I', '-S', '-c', limits_record)
        self.assertRegex(done.stderr, rb"log: File too large; 'ioseer pack .* -o LOG' makes the log elsewhere\n$")

    def test_the_command_finds_the_signal_as_it_was(self):
        for number, handler in enumerate((signal.SIG_DFL, signal.SIG_IGN)):
            with self.subTest(handler=handler):
                done = self.expect(0, 'record', '-q', '-o', self.path(f'log{number}'), '--',
                                   'grep', 'SigIgn', '/proc/self/status', restore_signals=False,
                                   preexec_fn=lambda how=handler: signal.signal(signal.SIGXFSZ, how))
                ignored = int(done.stdout.split()[1], 16)
                self.assertEqual(ignored >> (signal.SIGXFSZ - 1) & 1, number)

    def test_output_past_the_limit_is_an_error(self):
        self.expect_error(1, 'doctor', '--calls', '-o', self.path('calls'), preexec_fn=self.limited(100))


class LastLine(harness.CommandLineTest):
    """What `record` says at its end must not hide that little or nothing was recorded."""

    def test_processes_without_a_spill_file(self):
        done = self.expect(0, 'record', '-o', self.path('log'), '--', 'sh', '-c', '/bin/true; :',
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        self.assertRegex(done.stderr, rb': 0 events, 0 processes, .*, 2 processes could not be recorded\n$')

    def test_a_program_that_loads_no_libraries(self):
        with open(self.path('static.c'), 'w', encoding='utf-8') as out:
            out.write('int main(void) { return 0; }\n')
        program = self.path('static')
        if harness.run('cc', '-static', '-o', program, self.path('static.c')).returncode:
            self.skipTest('no static libc')
        done = self.expect(0, 'record', '--no-ptrace', '-o', self.path('log'), '--', program)
        self.assertRegex(done.stderr, rb': 0 events, 0 processes, .* unseen \(1 program not followed: --no-ptrace\)\n$')
        done = self.expect(0, 'record', '--force', '-o', self.path('log'), '--', 'sh', '-c', f'{program}; :')
        self.assertRegex(done.stderr, rb', 2 processes, .*written\n$')

    def test_what_was_missed(self):
        done = self.expect(0, 'record', '--wait', '0.1s', '-o', self.path('log'), '--', 'sh', '-c', 'sleep 5 & : >x', cwd=self.folder)
        self.assertRegex(done.stderr, rb', 1 process still running \(--wait DURATION waits longer\)\n$')
        done = self.expect(0, 'record', '--no-trace', '-o', self.path('log2'), '--', 'sh', '-c', ': >x', cwd=self.folder)
        self.assertNotIn(b'trace', done.stderr)
        random = 'import os, random\nfd = os.open("x", os.O_RDWR)\nfor i in range(99999): os.pwrite(fd, b"x", random.randrange(1 << 40))'
        done = self.expect(0, 'record', '--trace-cap', '64k', '-o', self.path('cut'), '--', sys.executable, '-ISc', random,
                           cwd=self.folder)
        self.assertRegex(done.stderr, rb', the trace of 1 process ended at its cap \(--trace-cap\)\n$')
        many = 'import os\nfor i in range(9): open(str(i), "w")'
        done = self.expect(0, 'record', '--file-cap', '3', '-o', self.path('log3'), '--', sys.executable, '-ISc', many,
                           cwd=self.folder)
        self.assertRegex(done.stderr, rb', files past the cap are counted by pattern of name or directory \(--file-cap\)\n$')
        raw = ('import ctypes, os\nfd = os.open("big", os.O_RDWR | os.O_CREAT)\nos.ftruncate(fd, 4 << 20)\n'
               'memory = ctypes.create_string_buffer(4 << 20)\n'
               'code = bytes.fromhex("4889f84889f74889d64889ca0f05c3")  # syscall(number, fd, memory, bytes)\n'
               'import mmap\nplace = mmap.mmap(-1, 4096, prot=7)\nplace.write(code)\n'
               'call = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_long)'
               '(ctypes.addressof(ctypes.c_char.from_buffer(place)))\n'
               'assert call(0, fd, ctypes.addressof(memory), 4 << 20) == 4 << 20')
        # As `info` tells it, whatever the events: many, of stdio, or past the end of the trace.
        for more, cap in (('', '1G'), ('for i in range(600000): os.lseek(fd, i, 0)', '1G'), (random, '64k'),
                          ('libc = ctypes.CDLL(None)\nlibc.fopen.restype = ctypes.c_void_p\nfile = ctypes.c_void_p(libc.fopen(b"big", b"r+"))\n'
                           'libc.fread(memory, 1, 100, file)\nlibc.fputs(b"text", file)', '1G')):
            done = self.expect(0, 'record', '--force', '--trace-cap', cap, '-o', self.path('log4'), '--', sys.executable, '-ISc',
                               f'{raw}\n{more}', cwd=self.folder)
            unseen = re.search(rb', (4\.\d+ MiB) read unseen \(system calls .* --ptrace follows them\)\n$', done.stderr)
            self.assertTrue(unseen, done.stderr)
            text = ' '.join(self.expect(0, 'info', self.path('log4')).stdout.decode().split())
            self.assertIn(f' unseen {unseen[1].decode()} read ', text)
        done = self.expect(0, 'record', '--ptrace', '-o', self.path('log5'), '--', sys.executable, '-ISc', raw, cwd=self.folder)
        self.assertRegex(done.stderr, rb', 4\.\d+ MiB read, [^,]* written\n$')
        self.expect(2, 'record', '--ptrace', '--no-ptrace', '--', 'true')


class StubbornCommand(harness.CommandLineTest):
    def test_the_wait_for_it_is_explained(self):
        ready = self.path('ready')
        script = f'trap "" TERM; : >{ready}; while :; do sleep 0.1; done'
        with subprocess.Popen([harness.IOSEER, 'record', '-o', self.path('log'), '--', 'sh', '-c', script],
                              stderr=subprocess.PIPE) as record:
            while not os.path.exists(ready):
                time.sleep(0.01)
            record.send_signal(signal.SIGTERM)
            line = record.stderr.readline().decode()
            self.assertRegex(line, r"^ioseer record: sh: still runs after SIGTERM; 'kill -KILL \d+' ends it")
            os.kill(int(line.split("kill -KILL ")[1].split("'")[0]), signal.SIGKILL)
            self.assertRegex(record.stderr.read(), rb'^ioseer: .*/log: ')
        self.assertEqual(record.returncode, 128 + signal.SIGKILL)


class Ranks(harness.CommandLineTest):
    """Ranks that have a `record` each, as a launcher starts them."""

    def start(self, rank, command, *before, wait='60'):
        environment = {**os.environ, 'PMIX_NAMESPACE': 'launch', 'OMPI_COMM_WORLD_RANK': str(rank),
                       'OMPI_COMM_WORLD_SIZE': '2'}
        return subprocess.Popen([*before, harness.IOSEER, 'record', '-q', '--wait', wait, '-o',
                                 self.path('test.ioseer'), '--', 'sh', '-c', command], cwd=self.folder, env=environment)

    def await_path(self, name):
        deadline = time.monotonic() + harness.TIMEOUT_SECONDS
        while not os.path.lexists(self.path(name)) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(os.path.lexists(self.path(name)), name)

    @unittest.skipUnless(shutil.which('strace'), 'strace is not installed')
    def test_packer_killed_as_it_becomes_it(self):
        """No other rank packs then, and none is told of the kill: the guard must notice it."""
        hold = ('strace', '-o', self.path('trace'), '-e', 'trace=symlink,symlinkat',
                '-e', 'inject=symlink,symlinkat:delay_exit=60000000')
        with self.start(1, 'until [ -e rank0-is-done ]; do sleep 0.02; done; echo 1 > rank1', *hold) as last:
            with self.start(0, 'echo 0 > rank0') as first:
                self.assertEqual(first.wait(), 0)
            with open(self.path('rank0-is-done'), 'x', encoding='ascii'):
                pass
            self.await_path('test.ioseer.spill-launch/packer')
            with open(f'/proc/{last.pid}/task/{last.pid}/children', encoding='ascii') as children:
                os.kill(int(children.read()), signal.SIGKILL)
        self.await_path('test.ioseer')
        files = {event['file'] for event in self.json('dump', '--json', self.path('test.ioseer'))}
        self.assertLessEqual({self.path('rank0'), self.path('rank1')}, files)


    @unittest.skipUnless(shutil.which('strace'), 'strace is not installed')
    def test_killed_before_its_command_runs(self):
        """The command must not run without the `record` it belongs to."""
        hold = ('strace', '-f', '-o', self.path('trace'), '-e', 'trace=prctl',
                '-e', 'inject=prctl:delay_enter=2000000')
        with self.start(0, 'echo > ran', *hold, wait='1') as strace:
            def children(pid):
                try:
                    with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
                        return file.read().split()
                except FileNotFoundError:  # strace first tries out on a child what the kernel can do
                    return []
            deadline = time.monotonic() + harness.TIMEOUT_SECONDS
            while not (records := children(strace.pid)) or not (commands := children(records[0])):
                self.assertLess(time.monotonic(), deadline)
            with open(f'/proc/{commands[0]}/status', encoding='ascii') as file:
                self.assertIn('ioseer', file.read())
            os.kill(int(records[0]), signal.SIGKILL)
        self.assertFalse(os.path.exists(self.path('ran')))


class ClosedStreams(harness.CommandLineTest):
    """ioseer without standard input, output or error: what it opens does not take their numbers."""

    def test_the_command_finds_them_closed(self):
        program = """import os, sys
closed = []
for fd in range(3):
    try:
        os.fstat(fd)
    except OSError:
        closed.append(fd)
with open('closed', 'w') as out:
    print(*closed, file=out)
    sys.exit(out.fileno() < 3 and not closed)
"""
        for closed in ([0], [1], [2], [0, 1, 2]):
            with self.subTest(closed=closed):
                log = self.record_python(program, options=['--force'],
                                         preexec_fn=lambda fds=closed: [os.close(fd) for fd in fds])
                with open(self.path('closed'), encoding='ascii') as file:
                    self.assertEqual([int(fd) for fd in file.read().split()], closed)
                self.json('info', '--json', log)

    def test_output_to_a_closed_stream_is_an_error(self):
        log = self.record_python('open("x", "w").close()')
        self.expect_error(1, 'dump', log, preexec_fn=lambda: os.close(1))
        self.expect(0, 'dump', '-o', self.path('out'), log, preexec_fn=lambda: [os.close(fd) for fd in range(3)])
        with open(self.path('out'), 'rb') as file:
            self.assertIn(b'open', file.read())


# A program that needs neither a library nor a loader, and can be one.
MARK = """static long call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
void _start(void) {
    call(2, (long)"it-ran", 0101, 0600);
    call(60, 0, 0, 0);
}
"""


class Blame(harness.CommandLineTest):
    """A message says what is wrong before anything runs."""

    def test_names_that_no_log_can_have(self):
        for name in ('', self.path('newdir/')):
            with self.subTest(name=name):
                self.expect_error(2, 'record', '-o', name, '--', 'touch', self.path('ran'))
                self.assertEqual(os.listdir(self.folder), [])

    def test_pack_names_the_log_after_the_directory(self):
        self.record('true', options=('--keep-spill',))
        spills, = (name for name in os.listdir(self.folder) if '.spill-' in name)
        self.assertIn('/test.ioseer: is there already', self.expect_error(1, 'pack', self.path(spills)))
        os.unlink(self.path('test.ioseer'))
        self.expect(0, 'pack', '-q', self.path(spills) + '/')
        self.expect(0, 'info', self.path('test.ioseer'))
        os.rename(self.path(spills), self.path('spills'))
        self.assertIn('-o LOG', self.expect_error(2, 'pack', self.path('spills')))

    def test_pack_of_a_file(self):
        with open(self.path('file'), 'wb'):
            pass
        self.assertEqual(self.expect_error(1, 'pack', self.path('file'), '-o', self.path('log')),
                         f'ioseer pack: {self.path("file")}: Not a directory')

    def test_no_room_for_a_packed_directory(self):
        os.mkdir(self.path('spills'))
        line = self.expect_error(1, 'info', self.path('spills'), env={**os.environ, 'TMPDIR': '/nonexistent'})
        self.assertEqual(line, 'ioseer info: /nonexistent: No such file or directory')

    def test_output_over_the_log_itself(self):
        log = self.record('true')
        os.link(log, self.path('link'))
        os.symlink(log, self.path('symlink'))
        with open(log, 'rb') as whole:
            before = whole.read()
        for verb in ('info', 'dump', 'stats'):
            for name in (log, self.path('link'), self.path('symlink')):
                with self.subTest(verb=verb, name=name):
                    self.expect_error(2, verb, '-o', name, log)
        with open(log, 'rb') as whole:
            self.assertEqual(whole.read(), before)

    def test_what_is_no_log(self):
        os.mkfifo(self.path('fifo'))
        for name, data in (('empty', b''), ('short', b'hello\n'), ('long', b'hello\n' * 100), ('fifo', None)):
            with self.subTest(name=name):
                if data is not None:
                    with open(self.path(name), 'wb') as out:
                        out.write(data)
                self.assertEqual(self.expect_error(1, 'info', self.path(name)),
                                 f'ioseer info: {self.path(name)}: not an ioseer log')

    def test_doctor_on_a_script_without_its_interpreter(self):
        with open(self.path('script'), 'w', encoding='utf-8') as out:
            out.write('#!/no/such/interpreter\n')
        os.chmod(self.path('script'), 0o755)
        checks = json.loads(harness.ioseer('doctor', '--json', self.path('script')).stdout)['checks']
        check = [c for c in checks if c['name'] == 'program'][0]
        self.assertEqual(check['detail'], '/no/such/interpreter: No such file or directory')
        self.assertEqual(check['fix'], "install it, or correct the script's first line")

    def test_doctor_does_not_run_the_program(self):
        """Nor what a program names instead of a loader."""
        if not shutil.which('gcc'):
            self.skipTest('no gcc')
        with open(self.path('x.c'), 'w', encoding='ascii') as out:
            out.write(MARK)
        for name, options in (('static', ['-static-pie']), ('dynamic', ['-pie']),
                              ('odd', ['-pie', f'-Wl,--dynamic-linker={self.path("static")}'])):
            program = self.path(name)
            harness.run('gcc', '-nostartfiles', '-nostdlib', '-fPIE', *options, '-o', program, self.path('x.c'))
            done = harness.ioseer('doctor', '--json', program, cwd=self.folder)
            detail = [c['detail'] for c in json.loads(done.stdout)['checks'] if c['name'] == 'program'][0]
            self.assertIn('statically' if name == 'static' else 'dynamically', detail)
            self.assertFalse(os.path.exists(self.path('it-ran')), name)
        harness.run(self.path('odd'), cwd=self.folder)  # it would run
        self.assertTrue(os.path.exists(self.path('it-ran')))


class Only(harness.CommandLineTest):
    """--layers and --classes: what is left out, what stays, and that no byte is forgotten."""

    PROGRAM = """if True:
        import os
        fd = os.open('data', os.O_RDWR | os.O_CREAT)
        for i in range(100):
            os.pwrite(fd, b'x' * 1000, i * 1000)
        os.fsync(fd)
        for i in range(50):
            os.pread(fd, 1000, i * 2000)
        os.close(fd)
        os.copy_file_range(os.open('data', os.O_RDONLY), os.open('copy', os.O_WRONLY | os.O_CREAT), 4096)
    """

    def recorded(self, *options):
        log = self.record_python(self.PROGRAM, name=f'{len(os.listdir(self.folder))}.ioseer', options=options)
        events = [one for one in self.json('dump', '--json', log) if (one['file'] or '').endswith(('/data', '/copy'))]
        return log, events

    def test_classes(self):
        _, whole = self.recorded()
        log, some = self.recorded('--classes', 'read,open')
        wanted = [one for one in whole if one['class'] in ('read', 'open')]
        self.assertEqual([(one['op'], one['offset'], one['result']) for one in some if one['class'] in ('read', 'open')],
                         [(one['op'], one['offset'], one['result']) for one in wanted])
        parents = {one['parent'] for one in some}
        self.assertTrue(all(one['id'] in parents for one in some if one['class'] not in ('read', 'open')), some)
        info = self.json('info', '--json', log)
        self.assertEqual(info['job']['only'], 'classes read,open')
        left = sum(part['bytes'] for part in info['coverage']['left_out']
                   if part['direction'] == 'write' and part['reason'] == 'calls that were not to be recorded')
        self.assertEqual(left, 100 * 1000 + 4096)
        self.assertIn(b'Only       classes read,open', self.expect(0, 'info', log).stdout)

    def test_layers(self):
        log, some = self.recorded('--layers', 'stdio')
        self.assertEqual(some, [])
        coverage = self.json('info', '--json', log)['coverage']
        self.assertGreater(coverage['read'], 0.9)
        self.assertGreater(coverage['write'], 0.9)
        self.assertFalse(any(record['file'].endswith('/data') for record in self.json('stats', '--json', log)['records']))

    def test_counters_only(self):
        _, whole = self.recorded()
        log, _ = self.recorded('--no-trace', '--classes', 'write')
        [counters] = [record['counters'] for record in self.json('stats', '--json', log)['records']
                      if record['file'].endswith('/data')]
        self.assertEqual((counters['POSIX_WRITES'], counters['POSIX_READS']), (100, 0))
        self.assertEqual(sum(one['class'] == 'write' and one['file'].endswith('/data') for one in whole), 100)

    def test_wrong_names(self):
        self.expect_error(2, 'record', '--layers', 'disk', '--', 'true')
        self.expect_error(2, 'record', '--classes', 'reading', '--', 'true')


if __name__ == '__main__':
    harness.main()
