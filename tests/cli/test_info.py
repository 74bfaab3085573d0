"""What `info` must show: damage, settings, layers, processes. It must not hide or invent anything."""
import glob
import os
import socket
import subprocess
import sys
import tempfile

import harness

WRITER = ('import os\n'
          'fd = os.open("data", os.O_WRONLY | os.O_CREAT)\n'
          'for i in range(1000): os.pwrite(fd, b"x" * 100, i * 100 * (i % 7))\n')
CHUNK_EVENTS = 1


def break_events(spill):
    """Makes the stream of the fullest chunk of events senseless from its middle on; gives whether there was one."""
    with open(spill, 'r+b') as file:
        data = file.read()
        chunks = [at for at in range(4096, len(data), 4096)
                  if data[at:at + 4] == b'CHNK' and int.from_bytes(data[at + 4:at + 8], 'little') == CHUNK_EVENTS]
        used, at = max(((int.from_bytes(data[at + 12:at + 16], 'little'), at) for at in chunks), default=(0, 0))
        if used > 1000:
            file.seek(at + 256 + used // 2)
            file.write(b'\xff' * (used - used // 2))
        return used > 1000


class DamagedSpill(harness.CommandLineTest):
    def test_is_told_everywhere(self):
        self.record_python(WRITER, options=('--keep-spill',))
        spills = glob.glob(self.path('test.ioseer.spill-*'))[0]
        self.assertTrue(any([break_events(spill) for spill in glob.glob(os.path.join(spills, '*.spill'))]))
        self.expect(0, 'pack', '-q', '-o', self.path('damaged'), spills)
        for log in (self.path('damaged'), spills):
            info = self.json('info', '--json', log)
            self.assertGreater(info['damage']['spill_bytes_damaged'], 100)
            self.assertFalse(info['damage']['truncated'])
            unseen = [part['reason'] for part in info['coverage']['unseen'] if part['direction'] == 'write']
            self.assertRegex(unseen[0], 'damaged parts .*libraries loaded later')
            text = self.expect(0, 'info', log).stdout.decode()
            self.assertNotIn('none lost', text)
            self.assertNotIn('no damage', text)
            self.assertRegex(text, r'(?m)^Events .* and an unknown number lost')
            self.assertRegex(text, r'(?m)^Damage .* of its spill files could not be read$')


class Processes(harness.CommandLineTest):
    def test_waits_for_a_processor(self):
        """Two busy processes on one processor wait for it; the shell that waits for them sleeps."""
        busy = 'import time\nend = time.monotonic() + 0.5\nwhile time.monotonic() < end: pass'
        log = self.record('taskset', '-c', str(min(os.sched_getaffinity(0))), 'sh', '-c',
                          f'{sys.executable} -I -S -c "$0" & {sys.executable} -I -S -c "$0"; wait', busy)
        processes = self.json('info', '--json', log)['processes']
        pythons = [process for process in processes if 'python' in process['exe']]
        self.assertEqual({process['cpus'] for process in pythons}, {1})
        self.assertGreater(sum(process['cpu_wait'] for process in pythons), 0.4)
        shell, = (process for process in processes if process['command'][0] == 'sh' and process['exit'] != 'exec')
        self.assertLess(shell['cpu_wait'], sum(process['cpu_wait'] for process in pythons) / 2)
        for process in processes:
            if process['cpu_wait'] is not None:
                self.assertLessEqual(process['cpu_wait'], process['end'] - process['start'] + 0.01)

    def test_programs_of_one_process_are_told_apart(self):
        log = self.path('log')
        done = self.expect(0, 'record', '-o', log, '--', 'sh', '-c', 'exec sh -c "exec true"')
        self.assertIn(b'1 process', done.stderr)
        self.assertRegex(self.expect(0, 'info', log).stdout, rb'(?m)^Processes  1 \(3 program images\)$')
        info = self.json('info', '--json', log)
        self.assertEqual((info['job']['nprocs'], len(info['processes'])), (1, 3))


MAPPER = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
fd = os.open("data", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 4096)
pages = [libc.mmap(None, 4096, 1, 1, fd, 0) for i in range(4100)]
for page in pages: libc.munmap(page, 4096)
"""
# A ring has room here; a request is 64 bytes: operation (22 is a read) at 0, descriptor at 4, address at 16, length at 24.
RINGS = """
import ctypes, os, struct, sys
try:
    uring = ctypes.CDLL("liburing.so.2")
except OSError:
    sys.exit(3)
uring.io_uring_get_sqe.restype = ctypes.c_void_p
recorder = ctypes.CDLL(None) # whose functions come first in a program that is linked to liburing
fd = os.open("data", os.O_RDWR | os.O_CREAT)
os.write(fd, b"x" * 4096)
room = ctypes.create_string_buffer(100)
rings = [ctypes.create_string_buffer(1024) for i in range(70)]
for ring in rings:
    if uring.io_uring_queue_init(2, ring, 0) < 0: sys.exit(3)
    request = uring.io_uring_get_sqe(ring)
    ctypes.memset(request, 0, 64)
    about = struct.pack("<BBHiQQI", 22, 0, 0, fd, 0, ctypes.addressof(room), 100)
    ctypes.memmove(request, about, len(about))
    recorder.io_uring_submit_and_wait(ring, 1)
for ring in rings: recorder.io_uring_queue_exit(ring)
"""
ASKER = """
import os, resource
resource.prlimit(0, resource.RLIMIT_AS)
fd = os.open("data", os.O_WRONLY | os.O_CREAT)
for i in range(300000): os.pwrite(fd, b"x" * (i % 7), i * 7919 % 100000)
"""


# Reads 4,096 bytes with a buffer that reads ahead, and gives 5 of them; writes 3.
BUFFERED = """
import ctypes
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
libc.fclose.argtypes = [ctypes.c_void_p]
libc.fread.argtypes = libc.fwrite.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
with open("data", "wb", buffering=0) as out: out.write(b"x" * 4096)
stream = libc.fopen(b"data", b"r")
libc.fread(ctypes.create_string_buffer(8), 1, 5, stream)
libc.fclose(stream)
stream = libc.fopen(b"other", b"w")
libc.fwrite(b"abc", 1, 3, stream)
libc.fclose(stream)
"""

# A seek behind the buffer reads a block, even if that ends where the buffer ended; one inside the buffer reads nothing.
SEEKS = """
import ctypes
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
open("small", "wb").write(bytes(1000))
stream = ctypes.c_void_p(libc.fopen(b"small", b"r+"))
libc.fread(ctypes.create_string_buffer(8), 1, 5, stream)
libc.fseek(stream, ctypes.c_long(900), 0)
libc.fseek(stream, ctypes.c_long(500), 0)
for _ in range(3):
    libc.fseek(stream, ctypes.c_long(0), 2)
    libc.fwrite(b"abc", 1, 3, stream)
    libc.fseek(stream, ctypes.c_long(900), 0)
libc.fclose(stream)
"""

# The first process ends before the second one does anything.
DAEMON = """
import os
first = os.getpid()
if os.fork() == 0:
    while os.getppid() == first: pass
    os.write(os.open("data", os.O_WRONLY | os.O_CREAT), bytes(200000))
"""


class Coverage(harness.CommandLineTest):
    def info(self, log):
        """Checks that the bytes of all files equal those of the coverage; returns the coverage."""
        info = self.json('info', '--json', log)
        coverage = info['coverage']
        for way, key in (('read', 'bytes_read'), ('write', 'bytes_written')):
            self.assertEqual(sum(file[key] for file in info['files']),
                             coverage['captured_' + way] + coverage['uncounted_' + way] + coverage['stdio_asked_' + way] -
                             coverage['stdio_kernel_' + way], coverage)
        return coverage

    def test_of_buffers(self):
        log = self.record_python(BUFFERED)
        coverage = self.info(log)
        self.assertEqual((coverage['stdio_asked_read'], coverage['stdio_kernel_read']), (5, 4096))
        self.assertEqual((coverage['stdio_asked_write'], coverage['stdio_kernel_write']), (3, 3))
        text = self.expect(0, 'info', log).stdout.decode()
        self.assertRegex(text, r'(?m)^  recorded +4\.0 KiB +read +in this log, by stdio; the program asked for 5 B$')
        self.assertRegex(text, r'(?m)^  recorded +4\.0 KiB +written +in this log$')
        self.assertNotIn('asynchronous', text)

    def test_of_seeks(self):
        coverage = self.info(self.record_python(SEEKS))
        read = 2 * 1000 + sum(1000 + 3 * i + 1003 + 3 * i for i in range(3))  # before the first seek libc knows no range
        self.assertEqual((coverage['stdio_kernel_read'], coverage['stdio_kernel_write']), (read, 9))

    def test_of_what_the_kernel_does_not_count(self):
        log = self.path('test.ioseer')
        done = harness.ioseer('record', '-q', '-o', log, '--', sys.executable, '-I', '-S', '-c', RINGS.replace('(70)', '(3)'),
                              cwd=self.folder)
        if done.returncode == 3:
            self.skipTest('no io_uring here')
        self.assertEqual(done.returncode, 0, done.stderr)
        coverage = self.info(log)
        self.assertEqual((coverage['uncounted_read'], coverage['uncounted_write']), (300, 0))
        text = self.expect(0, 'info', log).stdout.decode()
        self.assertRegex(text, r'(?m)^Coverage .*, without asynchronous I/O$')
        self.assertRegex(text, r'(?m)^  recorded +300 B +read +in this log, asynchronously: the kernel does not count these')

    def test_of_a_daemon(self):
        """Nobody in the log reaps it, so its bytes are in no other process's count."""
        self.record_python(DAEMON, options=('--keep-spill',))
        spills, = glob.glob(self.path('test.ioseer.spill-*'))
        self.expect(0, 'pack', '-q', '-o', self.path('packed'), spills)
        for log in (self.path('test.ioseer'), self.path('packed')):
            self.assertEqual(self.info(log)['write'], 1, log)

    def test_of_a_killed_process_of_a_user(self):
        """The kernel shows the counts of a process that has ended to root only."""
        os.chmod(self.folder, 0o777)
        options = {'user': 65534} if os.getuid() == 0 else {}
        log = self.record('sh', '-c', 'echo text > data; kill -KILL $$', status=137, cwd=self.folder, **options)
        self.assertEqual(self.info(log)['write'], 1)


class Losses(harness.CommandLineTest):
    def losses(self, log):
        return {loss['reason']: loss['events'] for loss in self.json('info', '--json', log)['losses']}

    def test_mappings_past_the_table(self):
        log = self.record_python(MAPPER)
        (reason, count), = self.losses(log).items()
        self.assertEqual(count, 4)
        self.assertRegex(reason, 'syncs and unmaps')
        self.assertEqual(self.json('info', '--json', log)['lost_events'], 0)
        self.assertIn(f'4 mappings {reason}', self.expect(0, 'info', log).stdout.decode())
        self.assertEqual(len(self.json('dump', '--json', '--file', '*/data', '--class', 'meta', log)), 4100 + 4096 + 1)

    def test_rings_past_the_table(self):
        log = self.path('test.ioseer')
        done = harness.ioseer('record', '-q', '-o', log, '--', sys.executable, '-I', '-S', '-c', RINGS, cwd=self.folder)
        if done.returncode == 3:
            self.skipTest('no liburing, or no io_uring')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(self.losses(log).values()), [6])
        reads = [event for event in self.json('dump', '--json', log) if event['op'] == 'io_uring_read']
        self.assertEqual([event['result'] for event in reads], [100] * 64)

    def test_asking_for_a_limit_costs_nothing(self):
        log = self.record_python(ASKER)
        self.assertEqual(self.losses(log), {})
        self.assertGreater(self.json('info', '--json', log)['events'], 300000)


SYNCED_WRITER = ('import os, sys\n'
                 'fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\n'
                 'os.write(fd, os.urandom(1 << 20))\n'
                 'os.fsync(fd)\n')


def device_under(folder):
    """The number of the block device on which the folder lies; None if the kernel has none."""
    device = os.stat(folder).st_dev
    number = [str(os.major(device)), str(os.minor(device))]
    try:
        with open('/proc/diskstats', encoding='ascii') as lines:
            return ':'.join(number) if any(line.split()[:2] == number for line in lines) else None
    except OSError:
        return None


class Devices(harness.CommandLineTest):
    def check_device(self, log):
        devices = self.json('info', '--json', log)['devices']
        own = [device for device in devices if device['number'] == device_under(self.folder)]
        self.assertEqual(len(own), 1, devices)
        self.assertGreaterEqual(own[0]['bytes_written'], 1 << 20)
        self.assertLessEqual(own[0]['utilisation'], 1)
        self.assertGreaterEqual(own[0]['start'], 0)
        samples = [sample for sample in self.json('dump', '--devices', '--json', log)
                   if (sample['device'], sample['host']) == (own[0]['name'], own[0]['host'])]
        self.assertEqual(len(samples), own[0]['samples'])
        for key in ('reads', 'writes', 'bytes_read', 'bytes_written'):
            self.assertEqual(sum(sample[key] for sample in samples), own[0][key])
        self.assertAlmostEqual(sum(sample['duration'] for sample in samples), own[0]['span'], places=6)
        for before, after in zip(samples, samples[1:]):
            self.assertAlmostEqual(before['start'] + before['duration'], after['start'], places=6)
        return own[0]

    def test_are_watched(self):
        if not device_under(self.folder):
            self.skipTest('no block device under the folder of temporary files')
        log = self.record_python(SYNCED_WRITER, 'data')
        device = self.check_device(log)
        self.assertRegex(self.expect(0, 'info', log).stdout.decode(), f'(?m)^Devices .*\\n.*\\n.* {device["name"]} on ')
        lines = self.expect(0, 'dump', '--devices', log).stdout.decode().splitlines()
        self.assertGreater(len(lines), device['samples'])
        late = self.json('dump', '--devices', '--json', '--from', '100s', log)
        self.assertEqual(late, [])

    def test_of_several_records_on_a_host_one_watches(self):
        if not device_under(self.folder):
            self.skipTest('no block device under the folder of temporary files')
        log = self.path('log')
        runs = [subprocess.Popen([harness.IOSEER, 'record', '-q', '-o', log, '--', sys.executable, '-I', '-S', '-c',
                                  SYNCED_WRITER, self.path(f'data{rank}')],
                                 env={**os.environ, 'PMI_RANK': str(rank), 'PMI_SIZE': '3'}) for rank in range(3)]
        self.assertEqual([run.wait(harness.TIMEOUT_SECONDS) for run in runs], [0, 0, 0])
        self.check_device(log)

    def test_nothing_is_watched_where_nobody_wants_it(self):
        log = self.record_python(SYNCED_WRITER, 'data', options=('--no-devices',))
        self.assertEqual(self.json('info', '--json', log)['devices'], [])
        self.assertEqual(self.json('dump', '--devices', '--json', log), [])
        self.assertNotIn(b'Devices', self.expect(0, 'info', log).stdout)

    def test_memory_has_none(self):
        with tempfile.TemporaryDirectory(dir='/dev/shm') as folder:
            name = os.path.join(folder, 'data')
            log = self.record('dd', 'if=/dev/zero', f'of={name}', 'bs=1M', 'count=1', 'conv=fsync', 'status=none')
        info = self.json('info', '--json', log)
        self.assertEqual([file['name'] for file in info['files']], [name])
        self.assertEqual(info['devices'], [])


class Texts(harness.CommandLineTest):
    def test_control_characters_are_not_sent_to_the_terminal(self):
        self.record('true', options=('--keep-spill',))
        spills = glob.glob(self.path('test.ioseer.spill-*'))[0]
        host = socket.gethostname().encode()
        with open(os.path.join(spills, 'job'), 'r+b') as job:
            about = job.read()
            self.assertIn(host, about)
            job.seek(0)
            job.write(about.replace(host, b'\x1b' * len(host), 1))
        text = self.expect(0, 'info', spills).stdout
        self.assertNotIn(b'\x1b', text)
        self.assertIn(b' on \\x1b', text)

    def test_nor_is_the_number_of_the_job(self):
        log = self.record('true', env={**os.environ, 'SLURM_JOB_ID': '7\n\x1b[2J'})
        self.assertIn(b'\n# jobid: 7\\n\\x1b[2J\n', self.expect(0, 'stats', '--darshan', log).stdout)


class Settings(harness.CommandLineTest):
    def test_values_only_where_asked(self):
        environment = {**os.environ, 'ROMIO_HINTS': '/private/hints', 'HDF5_PLUGIN_PATH': 'a\tb', 'SECRET': 'secret'}
        log = self.record('true', options=('--env', 'HDF5_PLUGIN_PATH', '--env', 'NOT_SET'), env=environment)
        settings = {s['name']: s['value'] for s in self.json('info', '--json', log)['settings']}
        self.assertEqual(settings['HDF5_PLUGIN_PATH'], 'a\tb')
        self.assertIsNone(settings['ROMIO_HINTS'])
        self.assertNotIn('SECRET', settings)
        self.assertNotIn('NOT_SET', settings)
        text = self.expect(0, 'info', log).stdout.decode()
        self.assertIn(' HDF5_PLUGIN_PATH=a\\tb\n', text)
        self.assertIn(' ROMIO_HINTS is set\n', text)
        self.assertNotIn('/private/hints', text)


class Layers(harness.CommandLineTest):
    def test_without_a_trace(self):
        info = self.json('info', '--json', self.record_python(WRITER, options=('--no-trace',)))
        self.assertIn('posix', info['layers'])
        self.assertEqual(info['events'], 0)

    def test_only_those_that_were_used(self):
        log = self.record_python(WRITER)
        used = {event['layer'] for event in self.json('dump', '--json', log)}
        self.assertEqual(set(self.json('info', '--json', log)['layers']), used)

    def test_of_a_log_that_was_cut_off(self):
        program = ('import os\n'
                   'fd = os.open("data", os.O_WRONLY | os.O_CREAT)\n'
                   'for i in range(100000): os.pwrite(fd, b"x", hash((i, i)) % 1000000000)\n')
        with open(self.record_python(program), 'rb') as whole:
            data = whole.read()
        with open(self.path('cut'), 'wb') as cut:
            cut.write(data[:len(data) * 3 // 4])
        info = self.json('info', '--json', self.path('cut'))
        self.assertTrue(info['damage']['truncated'])
        self.assertIn('posix', info['layers'])


if __name__ == '__main__':
    harness.main()
