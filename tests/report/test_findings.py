#!/usr/bin/env python3
"""Findings of recorded programs: a planted fault is named first, a good program has none that is medium or high, and each
finding fires where its fault is and is silent in two programs that look alike.

Storage of a known speed is emulated: each request takes at least its latency, even on a busy machine.
"""
import os

import rules
from rules import harness

LATENCY = ('--latency', '2ms', '--write-bw', '1G', '--read-bw', '1G')
SEEK = ('--latency', '50us', '--seek-latency', '8ms')
CACHED = ('--latency', '2ms', '--cache', 'kernel')
SLOW_NAMES = ('--meta-latency', '2ms')
HERE_ONLY = None  # no emulated storage: the test's own folder

START = """import os, sys
folder = sys.argv[1]
name = lambda what: os.path.join(folder, what)
new = lambda what: os.open(name(what), os.O_CREAT | os.O_RDWR, 0o600)
"""
SHUFFLED = "state = 1\nblocks = list(range(128, 2048))\nfor i in range(len(blocks) - 1, 0, -1):\n" \
           "    state = state * 1103515245 + 12345 & 0x7fffffff\n    k = (state >> 8) % (i + 1)\n" \
           "    blocks[i], blocks[k] = blocks[k], blocks[i]\n"
DATA_BYTES = 8 << 20

# Programs in Python, by what they do. `data` is a file of 8 MiB that exists before.
PROGRAMS = {
    'tiny writes': 'fd = new("tiny")\nfor i in range(100000): os.write(fd, b"x" * 16)',
    'small writes': 'fd = new("small")\nfor i in range(200): os.write(fd, b"x" * 4096)',
    'large writes': 'fd = new("large")\nfor i in range(32): os.write(fd, bytes(1 << 20))',
    'large reads': 'fd = new("data")\nfor i in range(8): os.pread(fd, 1 << 20, i << 20)',
    'random reads': SHUFFLED + 'fd = new("data")\nfor i in blocks[:150]: os.pread(fd, 4096, i * 4096)',
    'random and sequential reads': SHUFFLED + 'fd = new("data")\nfor i in range(60): os.pread(fd, 4096, i * 4096)\n'
                                   'for i in blocks[:120]: os.pread(fd, 4096, i * 4096)',
    'sequential reads': 'fd = new("data")\nfor i in range(150): os.pread(fd, 4096, i * 4096)',
    'syncs': 'fd = new("synced")\nfor i in range(60):\n    os.write(fd, b"x" * 4096)\n    os.fsync(fd)',
    'one sync': 'fd = new("synced")\nfor i in range(60): os.write(fd, b"x" * 4096)\nos.fsync(fd)',
    'one sync of each file': 'for i in range(60):\n    fd = new(f"synced{i}")\n    os.write(fd, b"x" * 4096)\n    os.fsync(fd)',
    'opens in a loop': 'for i in range(20000):\n    fd = new("opened")\n    os.close(fd)',
    'opens of many files': 'for i in range(2000): os.close(new(f"opened{i}"))',
    'opens past the cap': 'for i in range(2000): os.close(new(f"opened{i}"))',
    'stats of one file': 'new("x")\nfor i in range(20000): os.stat(name("x"))',
    'stats of many files': 'for i in range(2000):\n    try: os.stat(name(f"x{i}"))\n    except OSError: pass',
    'unaligned writes': 'fd = new("data")\nfor i in range(40): os.pwrite(fd, b"x" * 4096, i * 4 * 4096)\n'
                        'for i in range(40): os.pwrite(fd, b"x" * 4096, (1024 + i * 4) * 4096 + 100)',
    'small files': 'for i in range(100):\n    fd = new(f"file{i}")\n    os.write(fd, b"x" * 100)\n    os.close(fd)',
    'read-modify-write': 'fd = new("data")\nfor i in range(60): os.pwrite(fd, os.pread(fd, 4096, i * 4096), i * 4096)',
    'read, then write': 'fd = new("data")\nfor i in range(60): os.pread(fd, 4096, i * 4096)\n'
                        'for i in range(60): os.pwrite(fd, b"x" * 4096, i * 4096)',
    'copy': 'fd, to = new("data"), new("copy")\nfor i in range(60): os.pwrite(to, os.pread(fd, 4096, i * 4096), i * 4096)',
    'read again': 'fd = new("data")\nfor i in range(40): os.pread(fd, 1 << 20, 0)',
    'written again': 'fd = new("over")\nfor i in range(40): os.pwrite(fd, bytes(1 << 20), 0)',
    'written, read, written': 'fd = new("over")\nfor i in range(20):\n    os.pwrite(fd, bytes(1 << 20), 0)\n    os.pread(fd, 1 << 20, 0)',
    'failed writes': 'import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n'
                     'resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\nfd = new("full")\n'
                     'for i in range(30):\n    try: os.write(fd, bytes(100000))\n    except OSError: pass',
    'failed lookups': 'for i in range(500):\n    try: os.open(name(f"none{i}"), os.O_RDONLY)\n    except OSError: pass',
    'one slow file': 'files = [os.open(os.path.join(sys.argv[2] if i == 3 else folder, f"file{i}"), os.O_CREAT | os.O_RDWR)\n'
                     '         for i in range(6)]\nfor i in range(40):\n    for fd in files: os.pwrite(fd, bytes(100000), i * 100000)',
    'reads past the cap': 'for i in range(200): os.close(new(f"opened{i}"))\nfd = new("data")\n'
                          'for k in range(3):\n    for i in range(200): os.pread(fd, 100, i * 100)',
    'reads and writes take turns': 'fd = new("data")\nfor i in range(40): os.pread(fd, 4096, i * 4096)\n'
                                   'for i in range(40): os.pwrite(fd, b"x" * 4096, (1000 + i) * 4096)\n'
                                   'for i in range(40, 80):\n    os.pread(fd, 4096, i * 4096)\n'
                                   '    os.pwrite(fd, b"x" * 4096, (1000 + i) * 4096)',
}

# What must be first, where, and two programs in which the same finding must not occur.
FAULTS = [
    ('small-requests', 'tiny writes', HERE_ONLY, ('large writes', HERE_ONLY), ('small files', HERE_ONLY)),
    ('small-requests', 'small writes', LATENCY, ('large writes', LATENCY), ('small files', SLOW_NAMES)),
    ('random', 'random reads', SEEK, ('sequential reads', SEEK), ('large reads', SEEK)),
    ('random', 'random and sequential reads', SEEK, ('random and sequential reads', LATENCY), ('random reads', HERE_ONLY)),
    ('syncs', 'syncs', CACHED, ('one sync', CACHED), ('one sync of each file', CACHED)),
    ('opens', 'opens in a loop', HERE_ONLY, ('opens of many files', HERE_ONLY), ('opens past the cap', HERE_ONLY)),
    ('stats', 'stats of one file', HERE_ONLY, ('stats of many files', HERE_ONLY), ('opens in a loop', HERE_ONLY)),
    ('unaligned', 'unaligned writes', CACHED, ('tiny writes', HERE_ONLY), ('small files', CACHED)),
    ('metadata', 'small files', SLOW_NAMES, ('small writes', SLOW_NAMES), ('large writes', HERE_ONLY)),
    ('read-modify-write', 'read-modify-write', LATENCY, ('read, then write', LATENCY), ('copy', LATENCY)),
    ('read-again', 'read again', LATENCY, ('large reads', LATENCY), ('reads past the cap', LATENCY)),
    ('written-again', 'written again', LATENCY, ('written, read, written', LATENCY), ('large writes', LATENCY)),
    ('read-write-switching', 'reads and writes take turns', SEEK, ('read, then write', SEEK), ('copy', SEEK)),
    ('failed', 'failed writes', HERE_ONLY, ('failed lookups', HERE_ONLY), ('large writes', HERE_ONLY)),
]


class FindingsTest(rules.FindingsTest):
    def storage(self, options):
        """A folder on storage with these options. It holds `data`."""
        folder = self.below if options else self.folder
        with open(os.path.join(folder, 'data'), 'wb') as out:
            out.write(os.urandom(DATA_BYTES))
        if not options:
            return self.folder
        self.emulate(*options)
        return self.above

    def record_program(self, program, folder, *more):
        cap = ('--file-cap', '100') if 'past the cap' in program else ()
        return self.record_python(START + PROGRAMS[program], folder, *more, options=(*cap, '--force'))

    def test_planted_faults(self):
        for wanted, program, options, *_ in FAULTS:
            with self.subTest(fault=program, storage=options):
                self.assert_first(wanted, self.record_program(program, self.storage(options)))
            self.unmount()

    def test_programs_that_look_alike(self):
        for unwanted, _, _, *others in FAULTS:
            for program, options in others:
                with self.subTest(finding=unwanted, program=program, storage=options):
                    self.assert_absent(unwanted, self.record_program(program, self.storage(options)))
                self.unmount()

    def test_titles_and_advice_are_about_these_calls(self):
        first = self.assert_first('small-requests', self.record_program('tiny writes', self.folder))
        self.assertRegex(first['title'], r'^100,\d{3} small writes of 16 B')
        self.assertIn(first['severity'], ('medium', 'high'))
        self.assertIn('1 ns per byte', first['basis'])  # an assumption is told
        first = self.assert_first('failed', self.record_program('failed writes', self.folder))
        self.assertIn('EFBIG', str(first['evidence']))
        first = self.assert_first('opens', self.record_program('opens in a loop', self.folder))
        self.assertIn('20,000 times', str(first['evidence']))
        first = self.assert_first('metadata', self.record_program('opens of many files', self.folder))
        self.assertNotIn('server', first['reason'])
        self.assertEqual(first['severity'], 'low')  # served from memory

    def test_slow_file(self):
        fast = self.path('fast')
        os.mkdir(fast)
        slow = self.storage(LATENCY)
        first = self.assert_first('slow-file', self.record_program('one slow file', fast, slow))
        self.assertEqual(os.path.basename(first['evidence'][0]['file']), 'file3')
        for folder in (fast, slow):
            self.assert_absent('slow-file', self.record_program('one slow file', folder, folder))


harness.main()
