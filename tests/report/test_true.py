#!/usr/bin/env python3
"""What findings say is true of the program: each of these programs once had a finding with a wrong reason, figure or word."""
import errno
import os
import shutil
import subprocess
import tempfile

import faults
import rules
from rules import harness

LATENCY = ('--latency', '2ms', '--write-bw', '1G', '--read-bw', '1G')
SEEK = ('--latency', '50us', '--seek-latency', '8ms')
MPIEXEC, MPICC = 'mpiexec.mpich', 'mpicc.mpich'
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'ranks.c')

START = """import os, random, sys, threading
random.seed(1)
folder = sys.argv[1]
new = lambda what: os.open(os.path.join(folder, what), os.O_CREAT | os.O_RDWR, 0o600)
def in_threads(work, count=4):
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""
SMALL = 'fd = new("small")\nfor i in range(100): os.write(fd, b"x" * 4096)'


class TrueTest(rules.FindingsTest):
    def data(self, *names):
        for name in names:
            with open(os.path.join(self.below, name), 'wb') as out:
                out.write(os.urandom(8 << 20))

    def told(self, program, *storage, **more):
        """The findings of a program, by id."""
        if storage:
            self.emulate(*storage)
        log = self.record_python(START + program, self.above if storage else self.folder, options=('--force',), **more)
        return {finding['id']: finding for finding in self.findings(log)}

    def test_a_copy_moves_what_there_is(self):
        """Programs of the system are not recorded, and neither are pipes: then a copy is recorded as a write only."""
        told = self.told('source = os.open("/bin/sh", os.O_RDONLY)\nto = new("copy")\n'
                         'while os.copy_file_range(source, to, (1 << 63) - 1 >> 30 << 30): pass\n'
                         'again = new("again")\nos.copy_file_range(to, again, 1 << 40, 0)\n'
                         'ends = os.pipe()\nto = new("spliced")\nfor i in range(50):\n'
                         '    os.write(ends[1], bytes(60000))\n    os.splice(ends[0], to, 1 << 20)')
        self.assertNotIn('failed', told)

    def test_requests_of_both_directions(self):
        self.data('data')
        told = self.told('fd = new("data")\nfor i in range(60): os.pread(fd, 4096, i * 4096)\n'
                         'for i in range(60): os.pwrite(fd, b"x" * 4096, (60 + i) * 4096)\n'
                         'blocks = random.sample(range(200, 2000), 120)\n'
                         'for i in blocks[:60]: os.pread(fd, 4096, i * 4096)\n'
                         'for i in blocks[60:]: os.pwrite(fd, b"x" * 4096, i * 4096)', *SEEK)
        self.assertRegex(told['random']['title'], r'^\d+ requests at random offsets')
        self.assertRegex(told['random']['evidence'][0]['text'], r'^\d+ out of 240 requests of this file')

    def test_small_requests_of_both_directions(self):
        self.data('data')
        told = self.told('fd = new("data")\nfor i in range(100): os.pread(fd, 4096, i * 4096)\nfor name in "ab":\n'
                         '    fd = new(name)\n    for i in range(60): os.write(fd, b"x" * 4096)', *LATENCY)
        self.assertIn('220 small requests of 4.0 KiB', told['small-requests']['title'])
        self.assertIn('100 reads of 4.0 KiB', told['small-requests']['evidence'][0]['text'])

    def test_a_file_read_at_random_is_not_slow(self):
        self.data(*'abcde')
        told = self.told('for name in "abcd":\n    fd = new(name)\n    for i in range(40): os.pread(fd, 4096, i * 4096)\n'
                         'fd = new("e")\nfor i in random.sample(range(2000), 60): os.pread(fd, 4096, i * 4096)', *SEEK)
        self.assertNotIn('slow-file', told)
        self.assertIn('random', told)

    def test_threads_read_parts_of_their_own(self):
        self.data('data')
        program = 'fd = new("data")\ndef work(me):\n    for i in range(40): os.pread(fd, 4096, (me * 500 + {}) * 4096)\nin_threads(work)'
        self.assertNotIn('random', self.told(program.format('i'), *SEEK))
        self.unmount()
        self.assertIn('random', self.told(program.format('i * 7919 % 499'), *SEEK))

    def test_threads_take_the_next_part(self):
        self.data('data')
        self.assertNotIn('random', self.told('fd = new("data")\ndef work(me):\n    while os.read(fd, 1 << 16): pass\n'
                                             'in_threads(work)', *LATENCY))

    def test_a_thread_that_reads_and_one_that_writes(self):
        """They use the same parts of the file, one after the other, but neither changes direction."""
        self.data('data')
        told = self.told('fd = new("data")\nturns = [threading.Semaphore(1), threading.Semaphore(0)]\ndef work(me):\n'
                         '    for i in range(60):\n        turns[me].acquire()\n'
                         '        os.pwrite(fd, b"x" * 4096, i * 4096) if me else os.pread(fd, 4096, i * 4096)\n'
                         '        turns[1 - me].release()\nin_threads(work, 2)', *LATENCY)
        self.assertFalse({'read-modify-write', 'read-write-switching'} & set(told), told)


    def test_a_read_that_fails(self):
        """It loses nothing that was written."""
        told = self.told(f'fd = new("data")\nos.write(fd, bytes(1 << 20))\ntry: os.pread(fd, {faults.INTERRUPTED_BYTES}, 0)\n'
                         'except OSError: pass', preexec_fn=lambda: faults.interrupt(faults.SYS_PREAD, errno.EIO))
        self.assertEqual(told['failed']['title'], '1 call failed')
        self.assertIn('EIO', told['failed']['evidence'][0]['text'])
        self.assertNotRegex(told['failed']['reason'] + told['failed']['advice'], 'wr[io]te|free space')

    def test_syncs_that_wait_for_a_processor(self):
        """Each sync sleeps, and its process is the last that gets the processor when it wakes up. There are so many that the
        start of Python, which has to wait on a busy machine, is a small part of the run."""
        told = self.told('os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\nothers = []\nfor i in range(4):\n'
                         '    others.append(os.fork())\n    while not others[-1]: pass\nos.nice(19)\nfd = new("synced")\n'
                         'for i in range(150):\n    os.write(fd, b"x" * 4096)\n    os.fsync(fd)\n'
                         'for child in others: os.kill(child, 9)', *LATENCY)
        self.assertEqual(told['syncs']['severity'], 'low')
        self.assertIn('ranked low: in doubt', told['syncs']['evidence'][-1]['text'])

    def test_syncs_of_stdio(self):
        """What a sync is for is not known."""
        told = self.told('import ctypes\nc = ctypes.CDLL(None)\nc.fopen.restype = ctypes.c_void_p\n'
                         'file = ctypes.c_void_p(c.fopen(os.path.join(folder, "x").encode(), b"w"))\nfor i in range(40):\n'
                         '    c.fputs(b"a line", file)\n    c.fflush(file)\n    os.fsync(c.fileno(file))', *LATENCY)
        self.assertEqual(told['syncs']['evidence'][0]['text'], '39 syncs of this file')

    def test_stats_of_one_file(self):
        told = self.told('new("x")\nfor i in range(20000): os.stat(os.path.join(folder, "x"))')
        self.assertEqual(told['stats']['evidence'][0]['text'], "one process asked for this file's attributes 20,000 times")

    def test_small_files_whose_time_is_not_in_opens(self):
        program = ('for i in range(100):\n    fd = new(f"file{{i}}")\n    os.write(fd, b"x" * 100)\n    os.close(fd)\n'
                   '    for k in range({}): os.utime(os.path.join(folder, f"file{{i}}"))')
        title = self.told(program.format(0), '--meta-latency', '2ms')['metadata']['title']
        self.assertRegex(title, r'^1\d\d small files of [^:]+ on average: most time goes into opening and closing them$')
        self.unmount()
        title = self.told(program.format(5), '--meta-latency', '2ms')['metadata']['title']
        self.assertRegex(title, r'^1\d\d small files of [^:]+ on average$')


class TrueRanksTest(rules.FindingsTest):
    def setUp(self):
        super().setUp()
        if not shutil.which(MPIEXEC) or not shutil.which(MPICC):
            self.skipTest('no MPICH')
        self.program = self.path('ranks')
        subprocess.run([MPICC, '-O1', '-o', self.program, SOURCE], check=True)

    def test_processes_before_the_ranks(self):
        """What a script does before it starts ranks is at stake however little the ranks do."""
        prepare = f'{harness.sys.executable} -I -S -c "$0" "$1"'
        self.emulate(*LATENCY)
        log = self.record('sh', '-c', f'{prepare} && {MPIEXEC} -n 2 "$2" slow "$3"', START + SMALL, self.above,
                          self.program, self.folder)
        told = {finding['id']: finding for finding in self.findings(log)}
        self.assertGreater(told['small-requests']['seconds'], 0.9 * 0.002 * 100)

    def test_ranks_with_files_of_their_own_do_not_wait(self):
        with tempfile.TemporaryDirectory(prefix='ioseer-test-', dir='/dev/shm') as memory:
            log = self.record(MPIEXEC, '-n', '2', self.program, 'alone', memory)
        self.assertNotIn('collective-wait', [finding['id'] for finding in self.findings(log)])

    def test_a_few_pauses_are_not_slow_storage(self):
        """Collective calls would not help: the requests are as fast as memory."""
        with tempfile.TemporaryDirectory(prefix='ioseer-test-', dir='/dev/shm') as memory:
            log = self.record(MPIEXEC, '-n', '2', self.program, 'rows-paused', memory)
        self.assertNotIn('independent', [finding['id'] for finding in self.findings(log)])


harness.main()
