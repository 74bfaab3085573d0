"""`record --stack`: every call and byte on a stack's mount is tied from the program's call down to the disks."""
import collections
import os
import signal
import shutil
import subprocess
import sys
import time
import unittest

import gluster
from gluster import PATIENCE_SECONDS, harness

BUILD = gluster.BUILD
BELOW = ('client', 'net', 'server', 'disk')
ABOVE = {'net': 'client', 'server': 'net', 'disk': 'server'}
SLACK = 2e-9  # times are printed in nanoseconds
MPI = {'mpich': ('mpiexec.mpich', '-n'), 'openmpi': ('mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe', '-n')}
QUIET = {**os.environ, 'OMPI_MCA_rmaps_base_oversubscribe': '1', 'OMPI_MCA_btl_vader_single_copy_mechanism': 'none'}


class Log:
    """The events of a log on files below a directory, and everything below them."""

    def __init__(self, test, log, mount):
        self.test, self.log, self.mount = test, log, mount
        self.events = test.json('dump', '--json', log)
        self.info = test.json('info', '--json', log)
        self.by_id = {event['id']: event for event in self.events}
        self.below = [event for event in self.events if event['layer'] in BELOW]

    def check_tree(self):
        """Each call below lies inside its parent, which is one layer above it, in the same process, thread and file."""
        for event in self.below:
            parent = self.by_id.get(event['parent'])
            self.test.assertIsNotNone(parent, event)
            about = f'{event} in {parent}'
            self.test.assertGreaterEqual(event['start'], parent['start'] - SLACK, about)
            self.test.assertLessEqual(event['start'] + event['duration'], parent['start'] + parent['duration'] + SLACK, about)
            for key in ('pid', 'tid', 'rank', 'file'):
                self.test.assertEqual(event[key], parent[key], about)
            if event['layer'] in ABOVE:
                self.test.assertEqual(parent['layer'], ABOVE[event['layer']], about)
            else:
                self.test.assertNotIn(parent['layer'], BELOW, about)
            self.test.assertEqual(event['via'], 'probe')
            self.test.assertEqual('server' in event, event['layer'] != 'client', about)
            if event['layer'] in ('server', 'disk'):
                self.test.assertEqual(event['server'], parent['server'], about)

    def sums(self):
        """Bytes (read, written) per layer; those of the program count at the layer that made the client's calls."""
        sums = collections.defaultdict(lambda: [0, 0])
        for event in self.events:
            if event['class'] not in ('read', 'write') or (event['result'] or 0) <= 0:
                continue
            layer = event['layer']
            if layer in ('posix', 'stdio') and (event['file'] or '').startswith(self.mount + '/'):
                parent = self.by_id.get(event['parent'])
                if not parent or parent['layer'] not in ('posix', 'stdio') or parent['class'] not in ('read', 'write'):
                    sums['program'][event['class'] == 'write'] += event['result']
            elif layer in BELOW and event['op'].endswith(('_readv', '_writev')):
                sums[layer][event['class'] == 'write'] += event['result']
        return {layer: tuple(both) for layer, both in sums.items()}

    def untied(self, layer=None):
        return {(row['layer'], row['reason']): (row['calls'], row['bytes_read'], row['bytes_written'])
                for row in self.info['untied'] if layer in (None, row['layer'])}

    def check_bytes(self, least_written=1, least_read=0):
        """The same bytes at every layer, and none that is not tied."""
        sums = self.sums()
        untied = {key: row for key, row in self.untied().items() if row[1] or row[2]}
        self.test.assertEqual(untied, {}, sums)
        self.test.assertEqual(self.info['stack']['differences'], [], sums)
        self.test.assertEqual({layer: sums.get(layer, (0, 0)) for layer in BELOW},
                              dict.fromkeys(BELOW, sums.get('program', (0, 0))))
        self.test.assertGreaterEqual(sums['program'][0], least_read)
        self.test.assertGreaterEqual(sums['program'][1], least_written)

    def check_sums(self):
        """What `info` says of tied calls agrees with the events."""
        rows = {row['layer']: row for row in self.info['stack']['tied']}
        for layer in BELOW:
            own = [event for event in self.below if event['layer'] == layer]
            self.test.assertEqual(rows.get(layer, {'calls': 0})['calls'], len(own))
        self.test.assertEqual(self.info['events'], len(self.events) - len(self.below))


class JoinTest(harness.CommandLineTest):
    LAYOUTS = {'distribute': ('--servers', '3'), 'shard': ('--servers', '4', '--layout', 'shard')}
    OTHERS = {'disperse': ('--servers', '3', '--layout', 'disperse')}
    names = {}

    @classmethod
    def setUpClass(cls):
        reason = gluster.why_not()
        if reason:
            raise unittest.SkipTest(reason)

    @classmethod
    def tearDownClass(cls):
        for name in cls.names.values():
            harness.ioseer('stack', 'down', '--force', name)
        cls.names.clear()

    def stack(self, layout='distribute', fresh=False, options=()):
        """Name and mount of a stack; the tests of this file share one per layout."""
        name = f'join-{os.getpid()}-{layout}'
        if fresh:
            name += f'-{time.monotonic_ns()}'
            self.addCleanup(harness.ioseer, 'stack', 'down', '--force', name)
        if fresh or layout not in self.names:
            self.expect(0, 'stack', 'up', name, '-q', *(self.LAYOUTS | self.OTHERS).get(layout, ()), *options)
            if not fresh:
                self.names[layout] = name
        status = self.json('stack', 'status', name, '--json')
        folder = os.path.join(status['mount'], self.id().rpartition('.')[2])
        os.makedirs(folder, exist_ok=True)
        return name, folder

    def joined(self, name, folder, *command, options=(), **more):
        more.setdefault('env', QUIET)
        log = self.record(*command, options=('--stack', name, *options), cwd=folder, **more)
        joined = Log(self, log, folder)
        joined.check_tree()
        joined.check_sums()
        return joined

    def program(self, name):
        path = os.path.join(BUILD, 'examples', name)
        if not os.path.exists(path):
            self.skipTest(f'{name} is not built')
        return path

    # --- programs

    def test_dd(self):
        for layout in self.LAYOUTS:
            with self.subTest(layout):
                name, folder = self.stack(layout)
                joined = self.joined(name, folder, 'dd', 'if=/dev/zero', 'of=data', 'bs=1M', 'count=12', 'status=none',
                                     options=('--force',))
                joined.check_bytes(12 << 20)
                joined = self.joined(name, folder, 'dd', 'if=data', 'of=/dev/null', 'bs=300k', 'status=none', options=('--force',))
                joined.check_bytes(0, 12 << 20)

    def test_shell_and_tar(self):
        """Processes that fork and exec, many small files, metadata."""
        name, folder = self.stack()
        program = '''
            mkdir tree; for i in 1 2 3 4 5 6 7 8 9 10; do head -c ${i}0000 /dev/zero >tree/$i; done
            tar cf tree.tar tree; mkdir out; tar xf tree.tar -C out; cat out/tree/* >all; cp all copy; cp all again; mv copy moved
            ln moved hard; rm hard; ls -l out/tree >list; rm -r out'''
        joined = self.joined(name, folder, 'sh', '-ec', program)
        joined.check_bytes(1 << 20, 1 << 20)
        calls = {event['op'] for event in joined.below}
        self.assertLessEqual({'client_mkdir', 'client_mknod', 'client_open', 'client_unlink', 'client_rename', 'client_link', 'disk_rename'}, calls)

    def test_sqlite(self):
        name, folder = self.stack()
        program = ('CREATE TABLE t(a,b); WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<2000) '
                   'INSERT INTO t SELECT x, hex(randomblob(100)) FROM c; SELECT count(*) FROM t;')
        joined = self.joined(name, folder, 'sqlite3', 'data.db', program)
        joined.check_bytes(100000)
        self.assertIn('disk_fsync', {event['op'] for event in joined.below})

    def test_stdio_and_threads(self):
        """Each thread's calls are its own, also if all write at once."""
        name, folder = self.stack('shard')
        program = '''
import os, threading
def work(number):
    with open(f'file{number}', 'wb', buffering=0) as out:
        for i in range(40): out.write(bytes([number]) * 30000)
    with open(f'file{number}', 'rb') as back: assert len(back.read()) == 1200000
    fd = os.open('shared', os.O_CREAT | os.O_RDWR)
    for i in range(40): os.pwrite(fd, bytes(50000), (number * 40 + i) * 50000)
    os.close(fd)
threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
pid = os.fork()
work(7 if pid else 8)
if pid: os.waitpid(pid, 0)
'''
        joined = self.joined(name, folder, sys.executable, '-I', '-S', '-c', program)
        joined.check_bytes(16 << 20, 7 << 20)
        self.assertGreaterEqual(len({event['tid'] for event in joined.below}), 8)

    def test_page_cache(self):
        """Not even a file that is open since its creation uses it. Copies in the kernel do, within an open: that is not silent."""
        name, folder = self.stack()
        program = '''
import os, sys
kept = os.open('data', os.O_CREAT | os.O_RDWR)
os.pwrite(kept, bytes(1 << 20), 0)
again = os.open('data', os.O_RDONLY)
for i in range(3): assert len(os.pread(again, 1 << 20, 0)) == 1 << 20
if sys.argv[1:]:
    null = os.open('/dev/null', os.O_WRONLY)
    for i in range(3): assert os.sendfile(null, again, 0, 1 << 20) == 1 << 20
'''
        self.joined(name, folder, sys.executable, '-I', '-S', '-c', program).check_bytes(1 << 20, 3 << 20)
        joined = self.joined(name, folder, sys.executable, '-I', '-S', '-c', program, 'copy', options=('--force',))
        sums = joined.sums()
        self.assertEqual(sums['program'], (6 << 20, 1 << 20))
        self.assertEqual(sums['client'], (4 << 20, 1 << 20))
        self.assertEqual(joined.info['stack']['differences'], [
            {'layer': 'client', 'above': 'program', 'more': False, 'bytes_read': 2 << 20, 'bytes_written': 0, 'files': 1,
             'reason': 'cached', 'why': "in the kernel's page cache or a buffer of libc, or not tied"}])
        self.assertRegex(self.expect(0, 'info', joined.log).stdout.decode(), r'fewer at client +2.0 MiB +0 B +1 +in the kernel')

    def test_recorder_asks_nothing(self):
        """The recorder itself asks the file system nothing: no call is outside of those of the program."""
        name, folder = self.stack()
        joined = self.joined(name, folder, sys.executable, '-I', '-S', '-c', 'for i in range(5): open(f"file{i}", "w").close()')
        self.assertEqual(joined.untied('client'), {})

    def test_disperse(self):
        """Each server has half of the data, and one of three has none that the others do not have."""
        name, folder = self.stack('disperse')
        joined = self.joined(name, folder, 'dd', 'if=/dev/zero', 'of=data', 'bs=128k', 'count=8', 'status=none')
        sums = joined.sums()
        self.assertEqual([sums[layer] for layer in ('program', 'client')], [(0, 1 << 20)] * 2)
        self.assertEqual([sums[layer] for layer in ('net', 'server', 'disk')], [(0, 3 << 19)] * 3)
        self.assertEqual([(row['layer'], row['more'], row['bytes_written'], row['reason'])
                          for row in joined.info['stack']['differences']], [('net', True, 1 << 19, 'coded')])
        text = self.expect(0, 'info', joined.log).stdout.decode()
        self.assertIn('disperse over 3 servers, 1 of them redundant: 1.5 bytes written for each', text)
        joined = self.joined(name, folder, 'dd', 'if=data', 'of=/dev/null', 'bs=100k', 'status=none', options=('--force',))
        sums = joined.sums()
        self.assertEqual([sums[layer] for layer in ('program', 'client')], [(1 << 20, 0)] * 2)
        self.assertGreaterEqual(sums['disk'][0], 1 << 20)
        self.assertEqual(len({sums[layer] for layer in ('net', 'server', 'disk')}), 1)

    def test_without_disks(self):
        """Where no probe is, nothing is said about it."""
        name, folder = self.stack('client-net', fresh=True, options=('--layers', 'client,net'))
        joined = self.joined(name, folder, 'dd', 'if=/dev/zero', 'of=data', 'bs=1M', 'count=2', 'status=none')
        self.assertEqual(joined.info['stack']['differences'], [])
        self.assertIsNone(joined.info['stack']['energy'])
        self.assertIsNone(joined.info['stack']['calls']['disk_accesses']['mean'])
        text = self.expect(0, 'info', joined.log).stdout.decode()
        self.assertNotRegex(text, 'disk accesses|Energy of the disks| J\\b')

    def test_slowest(self):
        """The longest calls are the program's; those below it are asked for by layer, server or name."""
        name, folder = self.stack()
        joined = self.joined(name, folder, 'dd', 'if=/dev/zero', 'of=data', 'bs=128k', 'count=10', 'status=none')
        for option, layers in (((), {'posix'}), (('--layer', 'disk'), {'disk'}), (('--op', 'net_*'), {'net'}),
                               (('--op', '*write*'), {'posix'}), (('--server', '1'), {'net', 'server', 'disk'})):
            found = self.json('dump', '--json', '--slowest', '8', *option, joined.log)
            self.assertLessEqual({event['layer'] for event in found}, layers, option)
            self.assertTrue(found, option)
        self.assertEqual({event['tick'] for event in joined.below}, {None})
        self.assertIn(b'no such server', harness.ioseer('dump', '--server', '3', joined.log).stderr)

    def test_c_stdio(self):
        """libc reads and writes whole buffers; over a file they are the program's bytes."""
        source, program = self.path('program.c'), self.path('program')
        with open(source, 'w', encoding='ascii') as text:
            text.write('''
#include <stdio.h>
int main(void) {
    char line[100] = "text";
    FILE *out = fopen("data", "w");
    for (int i = 0; i < 5000; i++) fwrite(line, 1, sizeof line, out);
    fclose(out);
    FILE *in = fopen("data", "r");
    while (fread(line, 1, sizeof line, in) == sizeof line) continue;
    return fclose(in);
}''')
        subprocess.run(['cc', '-o', program, source], check=True)
        name, folder = self.stack()
        joined = self.joined(name, folder, program)
        joined.check_bytes(500000, 500000)
        self.assertEqual(joined.sums()['program'], (500000, 500000))
        self.assertIn('stdio', {joined.by_id[event['parent']]['layer'] for event in joined.below if event['layer'] == 'client'})

    # --- asynchronous transfers

    def fio(self, engine, *options):
        if not shutil.which('fio'):
            self.skipTest('no fio')
        name, folder = self.stack()
        return self.joined(name, folder, 'fio', '--name=test', f'--ioengine={engine}', '--iodepth=8', '--rw=randwrite',
                           '--bs=64k', '--size=4m', '--direct=1', '--thread', '--fallocate=none', '--filename=data',
                           '--create_on_open=1', options=options)

    def check_async(self, engine, *options):
        joined = self.fio(engine, *options)
        joined.check_bytes(4 << 20)
        writes = [event for event in joined.below if event['op'] == 'client_writev']
        for event in writes:
            self.assertEqual(joined.by_id[event['parent']]['class'], 'write', joined.by_id[event['parent']])

    def test_posix_aio(self):
        self.check_async('posixaio')

    def test_bind_mount(self):
        """Files are known by their device: helper threads' calls are tied also where the stack has another name."""
        if not shutil.which('fio'):
            self.skipTest('no fio')
        name, folder = self.stack()
        bind = self.path('bind')
        os.mkdir(bind)
        if harness.run('mount', '--bind', folder, bind).returncode:
            self.skipTest('no bind mounts')
        self.addCleanup(harness.run, 'umount', '-l', bind)
        log = self.record('fio', '--name=test', '--ioengine=posixaio', '--iodepth=8', '--rw=randwrite', '--bs=64k', '--size=2m',
                          '--direct=1', '--thread', '--fallocate=none', '--filename=data', '--create_on_open=1',
                          options=('--stack', name), cwd=bind, env=QUIET)
        joined = Log(self, log, bind)
        joined.check_tree()
        joined.check_bytes(2 << 20)

    def test_libaio(self):
        self.check_async('libaio')

    def test_io_uring(self):
        """fio has system calls of its own for it."""
        self.check_async('io_uring', '--ptrace')

    # --- MPI

    def mpi(self, kind, program, *words, ranks=4, layout='distribute', least=1 << 16):
        if not shutil.which(MPI[kind][0]):
            self.skipTest(f'no {MPI[kind][0]}')
        name, folder = self.stack(layout)
        joined = self.joined(name, folder, *MPI[kind], str(ranks), self.program(program), *words, options=('--force',))
        joined.check_bytes(least)
        return joined

    def check_top(self, joined, layer):
        """Calls at the disk lie in calls of this layer."""
        tops = set()
        for event in joined.below:
            if event['op'] != 'disk_writev':
                continue
            while event['parent'] is not None:
                event = joined.by_id[event['parent']]
            tops.add(event['layer'])
        self.assertIn(layer, tops)

    def for_each_mpi(self, program, *words, top='mpiio', **more):
        for kind in MPI:
            for layout in self.LAYOUTS:
                with self.subTest(f'{kind} {layout}'):
                    self.check_top(self.mpi(kind, f'{program}-{kind}', *words, layout=layout, **more), top)

    def test_independent(self):
        self.for_each_mpi('ior', least=1 << 20)

    def test_collective(self):
        self.for_each_mpi('ior', '--collective', least=1 << 20)

    def test_nonblocking(self):
        """MPI-IO's nonblocking calls go through helper threads of POSIX AIO."""
        self.for_each_mpi('madbench', '--api', 'async', '--size', '300k', '--bins', '4')

    def test_hdf5(self):
        self.for_each_mpi('flash', top='hdf5')

    def test_pnetcdf(self):
        joined = self.mpi('openmpi', 's3d-pnetcdf')
        self.check_top(joined, 'pnetcdf')

    def test_fortran(self):
        self.for_each_mpi('btio-f08')

    def test_container(self):
        """Thread ids of another PID namespace mean other threads: nothing is tied by them, and that is said."""
        name, folder = self.stack()
        if harness.run('unshare', '-fp', '--mount-proc', 'true').returncode:
            self.skipTest('no PID namespaces')
        program = 'dd if=/dev/zero of=data bs=1M count=2 status=none; unshare -fp --mount-proc sh -c "dd if=/dev/zero of=inside bs=1M count=3 status=none; true"'
        joined = self.joined(name, folder, 'sh', '-c', program)
        self.assertEqual(joined.sums()['program'], (0, 5 << 20))
        for layer in BELOW:
            self.assertEqual(joined.sums()[layer], (0, 2 << 20))
            self.assertEqual(joined.untied()[layer, 'namespace'][1:], (0, 3 << 20))
        self.assertIn('PID namespace', self.expect(0, 'info', joined.log).stdout.decode())

    # --- what breaks

    def test_unknown_stack(self):
        """It is known before the command runs."""
        line = self.expect_error(1, 'record', '-o', self.path('log'), '--stack', 'no-such-stack', '--', 'touch', self.path('ran'))
        self.assertIn('no-such-stack', line)
        self.assertFalse(os.path.exists(self.path('ran')))

    def test_failing_command(self):
        """Nothing is left of the recording."""
        name, folder = self.stack()
        self.expect(127, 'record', '-q', '-o', self.path('log'), '--stack', name, '--', 'no-such-command')
        self.assertEqual(self.json('stack', 'status', name, '--json')['recordings'], 0)
        self.assertEqual(os.listdir(self.folder), [])

    def kill_record(self, name, folder, program):
        """`record` is killed once the program has made the file "ready". Returns the spill directory."""
        record = subprocess.Popen([harness.IOSEER, 'record', '-q', '-o', self.path('test.ioseer'), '--stack', name, '--',
                                   'sh', '-c', program], cwd=folder, start_new_session=True)
        self.await_file(self.path('ready'))
        record.kill()
        record.wait()
        self.addCleanup(self.kill_group, record.pid)
        return self.path(next(entry for entry in os.listdir(self.folder) if '.spill-' in entry))

    @staticmethod
    def await_file(path):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not os.path.exists(path) and time.monotonic() < deadline:
            time.sleep(0.05)

    @staticmethod
    def kill_group(pid):
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def packed(self, spill, folder):
        log = self.path('test.ioseer')
        self.expect(0, 'pack', '-q', spill, '-o', log)
        joined = Log(self, log, folder)
        joined.check_tree()
        return joined

    def test_record_killed(self):
        """`pack` gets the rest from the stack."""
        name, folder = self.stack()
        program = f'for i in 1 2 3 4; do dd if=/dev/zero of=data$i bs=1M count=2 status=none; done; touch {self.path("ready")}; sleep 100'
        self.packed(self.kill_record(name, folder, program), folder).check_bytes(8 << 20)
        self.assertEqual(self.json('stack', 'status', name, '--json')['recordings'], 0)

    def test_record_killed_while_program_writes(self):
        """The program goes on, and what it does until it is packed is in the log."""
        name, folder = self.stack()
        program = f"""
            dd if=/dev/zero of=before bs=1M count=2 status=none; touch {self.path("ready")}
            while test ! -e {self.path("killed")}; do sleep 0.05; done
            dd if=/dev/zero of=after bs=1M count=3 status=none; touch {self.path("done")}"""
        spill = self.kill_record(name, folder, program)
        open(self.path('killed'), 'w', encoding='ascii').close()
        self.await_file(self.path('done'))
        self.assertEqual(os.path.getsize(os.path.join(folder, 'after')), 3 << 20)
        self.packed(spill, folder).check_bytes(5 << 20)

    def test_truncated_probe(self):
        """The records of a server are cut off: the rest is tied, and what is missing is said."""
        name, folder = self.stack()
        program = f'dd if=/dev/zero of=data bs=128k count=40 status=none; touch {self.path("ready")}; sleep 100'
        spill = self.kill_record(name, folder, program)
        self.expect(0, 'pack', '-q', spill, '-o', self.path('whole'))
        whole = Log(self, self.path('whole'), folder)
        whole.check_bytes(40 << 17)
        disk = max((entry for entry in os.listdir(spill) if entry.endswith('.probe')),
                   key=lambda entry: (os.path.getsize(os.path.join(spill, entry)), self.layer_of(os.path.join(spill, entry))))
        size = os.path.getsize(os.path.join(spill, disk))
        os.truncate(os.path.join(spill, disk), size - 10 * 64 - 5)
        joined = self.packed(spill, folder)
        self.assertEqual(len(whole.below) - len(joined.below), 11)
        self.assertEqual([row['bytes'] for row in joined.info['losses'] if 'probes' in row['reason']], [11 * 64])
        self.assertEqual({row['layer'] for row in joined.info['stack']['differences']}, {'disk'})

    @staticmethod
    def layer_of(path):
        with open(path, 'rb') as probe:
            return int.from_bytes(probe.read(20)[16:], 'little')

    def test_two_programs_at_once(self):
        """Each log has its own program's calls, and all of them."""
        if not shutil.which('fio'):
            self.skipTest('no fio')
        name, folder = self.stack()
        words = ['fio', '--name=test', '--ioengine=posixaio', '--iodepth=8', '--rw=randwrite', '--bs=64k', '--direct=1', '--thread',
                 '--numjobs=3', '--fallocate=none', '--create_on_open=1', '--group_reporting']
        runs = []
        for number, size in ((1, 2), (2, 3)):
            log = self.path(f'log{number}')
            os.makedirs(os.path.join(folder, str(number)))
            runs.append((log, size, subprocess.Popen(
                [harness.IOSEER, 'record', '-q', '-o', log, '--stack', name, '--', *words, f'--size={size}m',
                 '--filename_format=data$jobnum'], cwd=os.path.join(folder, str(number)), stdout=subprocess.DEVNULL)))
        for log, size, run in runs:
            self.assertEqual(run.wait(PATIENCE_SECONDS), 0)
            joined = Log(self, log, os.path.join(folder, log[-1]))
            joined.check_tree()
            joined.check_sums()
            joined.check_bytes(3 * size << 20)
            self.assertEqual(joined.sums()['disk'], (0, 3 * size << 20))

    def test_server_killed(self):
        """The program's error is its own, and the log says which server went, and when."""
        name, folder = self.stack(fresh=True)
        pid = self.json('stack', 'status', name, '--json')['servers'][1]['pid']
        program = f'''
for i in 0 1 2 3 4 5 6 7 8 9; do head -c 100000 /dev/zero >before$i; done; kill -9 {pid}; sleep 1
for i in 0 1 2 3 4 5 6 7 8 9; do head -c 100000 /dev/zero >after$i; done; true'''
        log = self.record('sh', '-c', program, options=('--stack', name), cwd=folder, stderr=subprocess.DEVNULL)
        joined = Log(self, log, folder)
        joined.check_tree()
        servers = {server['id']: server for server in joined.info['stack']['servers']}
        self.assertEqual([len(servers[i]['down']) for i in range(3)], [0, 1, 0])
        self.assertGreater(max(event['start'] for event in joined.below), servers[1]['down'][0])
        self.assertLess(max(event['start'] for event in joined.below if event.get('server') == 1 and event['layer'] == 'disk'),
                        servers[1]['down'][0])
        self.assertIn('Server 1 was lost', self.expect(0, 'info', log).stdout.decode())

    def test_stack_down(self):
        """In mid-run: what was recorded until then is in the log, which says when the stack went."""
        name, folder = self.stack(fresh=True)
        program = f"dd if=/dev/zero of=data bs=1M count=2 status=none; cd /; {harness.IOSEER} stack down --force {name}; sleep 0.2"
        log = self.record('sh', '-c', program, options=('--stack', name), cwd=folder)
        joined = Log(self, log, folder)
        joined.check_tree()
        self.assertIsNotNone(joined.info['stack']['gone'])
        self.assertGreaterEqual(joined.sums()['disk'][1], 2 << 20)

    def test_stack_down_after_record(self):
        """The stack ends, or is killed, when `record` is dead already: what `pack` makes later has all, and says so."""
        for how in ('down', 'killed'):
            with self.subTest(how):
                name, folder = self.stack(fresh=True)
                ready, log = self.path('ready'), self.path('test.ioseer')
                spill = self.kill_record(name, folder, f'dd if=/dev/zero of=data bs=1M count=2 status=none; cd /; touch {ready}; sleep 100')
                if how == 'down':
                    self.expect(0, 'stack', 'down', '--force', name)
                else:
                    harness.run('pkill', '-9', '-f', f'^{harness.IOSEER} stack up {name} ')
                    self.expect(0, 'stack', 'list')
                joined = self.packed(spill, folder)
                joined.check_bytes(2 << 20)
                self.assertIsNotNone(joined.info['stack']['gone'])
                for path in (ready, log):
                    os.unlink(path)
                shutil.rmtree(spill, ignore_errors=True)

    def test_all_killed_at_once(self):
        """Nobody noted when the stack went: it was when its last call was over, and not when the program ended."""
        name, folder = self.stack(fresh=True)
        program = f'dd if=/dev/zero of=data bs=1M count=2 status=none; cd /; kill -9 $(pgrep -f "^{harness.IOSEER} stack up {name} "); sleep 3'
        joined = Log(self, self.record('sh', '-c', program, options=('--stack', name), cwd=folder), folder)
        joined.check_tree()
        joined.check_bytes(2 << 20)
        self.assertLess(joined.info['stack']['gone'], joined.info['job']['end'] - joined.info['job']['start'] - 2)

    def test_ranks_with_records(self):
        """Sixteen ranks, each with a `record`: one recording and one log."""
        if not shutil.which(MPI['mpich'][0]):
            self.skipTest('no MPICH')
        name, folder = self.stack()
        log = self.path('test.ioseer')
        done = harness.run(*MPI['mpich'], '16', harness.IOSEER, 'record', '-q', '-o', log, '--stack', name, '--',
                           self.program('ior-mpich'), '--directory', folder, env=QUIET)
        self.assertEqual(done.returncode, 0, done)
        joined = Log(self, log, folder)
        joined.check_tree()
        joined.check_bytes(1 << 20)
        self.assertEqual({event['rank'] for event in joined.below if event['op'] == 'disk_writev'}, set(range(16)))

    def test_same_without_layers(self):
        """What is known of the program itself does not depend on the stack."""
        name, folder = self.stack()
        joined = self.joined(name, folder, 'dd', 'if=/dev/zero', 'of=data', 'bs=1M', 'count=3', 'status=none')
        stats = self.json('stats', '--json', joined.log)
        self.assertNotIn('client', {record['layer'] for record in stats['records']})
        self.assertEqual(joined.info['coverage']['captured_write'], 3 << 20)
        os.environ.setdefault('IOSEER_BUILD', BUILD)
        golden = os.path.join(gluster.SOURCE, 'tests', 'golden')
        sys.path.insert(0, golden)
        import test_golden
        with open(joined.log, 'rb') as data:
            self.assertEqual(test_golden.compare(data.read(), self.folder), len(joined.events))


if __name__ == '__main__':
    harness.main()
