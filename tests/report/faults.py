"""Programs with a fault, and programs that look alike but have none. Each finding has a row: a run where it must fire, and
two in which it must not. A run is (program, storage) or, with MPI, (program, storage, ranks).

Storage of a known speed is emulated: each request takes at least its latency, even on a busy machine."""
import ctypes
import errno
import os
import re
import struct

from place import harness

LATENCY = ('--latency', '2ms', '--write-bw', '1G', '--read-bw', '1G')
SLOW = ('--latency', '5ms', '--write-bw', '1G', '--read-bw', '1G')
SEEK = ('--latency', '50us', '--seek-latency', '8ms')
CACHED = ('--latency', '2ms', '--cache', 'kernel')
SLOW_NAMES = ('--meta-latency', '2ms')
HERE_ONLY = None  # no emulated storage: the test's own folder
HERE_AND_SLOW, MEMORY = 'here and slow', 'memory'
CPUS = len(os.sched_getaffinity(0))
PAIR = min(2, CPUS)

START = """import os, sys
folder = sys.argv[1]
name = lambda what: os.path.join(folder, what)
new = lambda what: os.open(name(what), os.O_CREAT | os.O_RDWR, 0o600)
"""
SHUFFLED = "state = 1\nblocks = list(range(128, 2048))\nfor i in range(len(blocks) - 1, 0, -1):\n" \
           "    state = state * 1103515245 + 12345 & 0x7fffffff\n    k = (state >> 8) % (i + 1)\n" \
           "    blocks[i], blocks[k] = blocks[k], blocks[i]\n"
DATA_BYTES = 8 << 20

INTERRUPTED_BYTES = 4097  # of a write that a signal interrupts
# Python itself repeats calls that were interrupted.
INTERRUPTED = ('import ctypes\nwrite, fd, data = ctypes.CDLL(None).write, {}, bytes(%d)\n'
               'for i in range({}): assert write(fd, data, len(data)) == -1' % INTERRUPTED_BYTES)

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
    'interrupted writes': INTERRUPTED.format('new("interrupted")', 50000),
    'a few interrupted writes': INTERRUPTED.format('new("interrupted")', 10),
    'interrupted writes to a pipe': INTERRUPTED.format('os.pipe()[1]', 50000),
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

# What must be first.
FAULTS = [
    ('small-requests', ('tiny writes', HERE_ONLY), ('large writes', HERE_ONLY), ('small files', HERE_ONLY)),
    ('small-requests', ('small writes', LATENCY), ('large writes', LATENCY), ('small files', SLOW_NAMES)),
    ('random', ('random reads', SEEK), ('sequential reads', SEEK), ('large reads', SEEK)),
    ('random', ('random and sequential reads', SEEK), ('random and sequential reads', LATENCY), ('random reads', HERE_ONLY)),
    ('syncs', ('syncs', CACHED), ('one sync', CACHED), ('one sync of each file', CACHED)),
    ('opens', ('opens in a loop', HERE_ONLY), ('opens of many files', HERE_ONLY), ('opens past the cap', HERE_ONLY)),
    ('stats', ('stats of one file', HERE_ONLY), ('stats of many files', HERE_ONLY), ('opens in a loop', HERE_ONLY)),
    ('unaligned', ('unaligned writes', CACHED), ('tiny writes', HERE_ONLY), ('small files', CACHED)),
    ('metadata', ('small files', SLOW_NAMES), ('small writes', SLOW_NAMES), ('large writes', HERE_ONLY)),
    ('read-modify-write', ('read-modify-write', LATENCY), ('read, then write', LATENCY), ('copy', LATENCY)),
    ('read-again', ('read again', LATENCY), ('large reads', LATENCY), ('reads past the cap', LATENCY)),
    ('written-again', ('written again', LATENCY), ('written, read, written', LATENCY), ('large writes', LATENCY)),
    ('read-write-switching', ('reads and writes take turns', SEEK), ('read, then write', SEEK), ('copy', SEEK)),
    ('failed', ('failed writes', HERE_ONLY), ('failed lookups', HERE_ONLY), ('large writes', HERE_ONLY)),
    ('failed', ('interrupted writes', HERE_ONLY), ('a few interrupted writes', HERE_ONLY),
     ('interrupted writes to a pipe', HERE_ONLY)),
]

# Of ranks.c; the words after the program are its arguments. What must be first, except for LATER.
RANK_FAULTS = [
    ('one-rank', ('one', SLOW, 4), ('slow', SLOW, 4), ('uneven', SLOW, 4)),
    ('slow-rank', ('slow', HERE_AND_SLOW, 4), ('slow', SLOW, 4), ('uneven', SLOW, 4)),
    ('waiting', ('uneven', SLOW, 4), ('even', SLOW, 4), ('before', SLOW, 2)),
    ('contention', ('together', SEEK, 2), ('apart', SEEK, 2), ('together', SLOW, 2)),
    ('data-sieving', ('sieve', SLOW, 2), ('large', HERE_ONLY, 2), ('one', HERE_ONLY, 2)),
    ('independent', ('rows', SLOW, 4), ('rows', MEMORY, 4), ('rows-together', SLOW, 4)),
    ('collective', ('pieces', MEMORY, PAIR), ('large', HERE_ONLY, PAIR), ('rows', SLOW, PAIR)),
    ('collective-wait', ('late', MEMORY, PAIR), ('even', SLOW, PAIR), ('rows-together', SLOW, PAIR)),
    ('processors', ('late', MEMORY, 2 * PAIR), ('late', MEMORY, PAIR), ('large', HERE_ONLY, PAIR)),
]
LATER = {'collective-wait', 'data-sieving'}
# Of tests/hdf5/planted.c: its first argument. Those with ranks need MPI.
LIBRARY_FAULTS = [
    ('fill-values', 'fill', 'fill-never', 'fill-default', 'fill-columns'),
    ('filters', 'filters', 'filters-cached', 'filters-whole'),
    ('chunks', 'chunks', 'chunks-cached', 'chunks-whole'),
    ('library-metadata', 'objects', 'objects-few', 'objects-kept', 'objects-multi', 'objects-copied'),
]
LIBRARY_RANK_FAULTS = [
    ('shared-metadata', 'shared', 'shared-together', 'shared-alone'),
    ('independent', 'columns', 'columns-together', 'columns-rows'),
]
OTHERS = {'slow-file',  # test_findings.py: it needs two storages
          'overloaded-server'}  # tests/stack/test_latency.py: it needs several servers


def ids_in_the_code():
    """All that ioseer can find."""
    with open(os.path.join(harness.SOURCE, 'src', 'findings', 'findings.c'), encoding='utf-8') as code:
        return re.findall(r'^    \{"([a-z-]+)", find_', code.read(), re.M)


SYS_WRITE, SYS_PREAD = 1, 17
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2


def interrupt(call=SYS_WRITE, error=errno.EINTR):
    """A signal, or a device that fails, in time is a matter of luck. This filter of the kernel makes calls of one size fail:
    of this process and all that it starts."""
    filter_steps = [(0x20, 0, 0, 0), (0x15, 0, 3, call), (0x20, 0, 0, 32), (0x15, 0, 1, INTERRUPTED_BYTES),
                    (0x06, 0, 0, 0x50000 | error), (0x06, 0, 0, 0x7fff0000)]
    steps = b''.join(struct.pack('HBBI', *step) for step in filter_steps)
    memory = ctypes.create_string_buffer(steps)
    program = struct.pack('HxxxxxxP', len(filter_steps), ctypes.addressof(memory))
    prctl = ctypes.CDLL(None).prctl
    if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program):
        raise OSError('no filter')
