"""The probes in a GlusterFS: every call of a program is found at every layer, below the call that caused it."""
import errno
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

import gluster
from gluster import harness

ABOVE = {'net': 'client', 'server': 'net', 'disk': 'server'}
NAMES = {number: name for name, number in gluster.LAYERS.items()}

# What GlusterFS does after the answer: locks are given back, and the server looks for a file that it has forgotten.
OWN_WORK = ('inodelk', 'entrylk', 'setattr', 'statfs', 'lookup')
# Shard removes the blocks of removed files later; disperse keeps its locks for a second after the last call.
OF_SHARD = OWN_WORK + ('readdirp', 'unlink', 'getxattr', 'stat')
OF_DISPERSE = OWN_WORK + ('fxattrop', 'xattrop')

# Files of all kinds, in the folder in which it is started; prints what it found.
PROGRAM = r'''
set -e
mkdir tree tree/inner
dd if=/dev/zero of=data bs=128k count=80 oflag=direct status=none
dd if=data bs=100k iflag=direct status=none | cksum
for i in 1 2 3 4 5 6 7 8; do echo "line $i" >tree/inner/$i; done
cp -r tree copy
tar cf tree.tar tree
mv tree moved
ln data hard
ln -s data soft
readlink soft
truncate -s 5000000 data
cksum <data
sync data
ls -R
cat copy/inner/*
tar tf tree.tar | sort
rm -r moved copy
stat -c '%n %s %h' data hard tree.tar
cat missing 2>&1 || true
rm hard soft
'''


class ProbeTest(harness.CommandLineTest):
    @classmethod
    def setUpClass(cls):
        reason = gluster.why_not()
        if reason:
            raise unittest.SkipTest(reason)

    def start(self, name, *words, **options):
        stack = gluster.Gluster(self.path(name), *words, **options)
        os.makedirs(stack.folder, exist_ok=True)
        self.addCleanup(stack.stop)
        stack.start()
        return stack

    def run_on(self, stack, program=PROGRAM, status=0):
        done = harness.run('sh', '-c', program, cwd=stack.mount, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def recorded(self, stack, program=PROGRAM, status=0):
        """Output and records of a program. GlusterFS ends some of its own work after the program's."""
        stack.record(1)
        output = self.run_on(stack, program, status)
        stack.record(0)
        time.sleep(0.2)
        return output, stack.records()

    def check_tree(self, records, may_be_alone=OWN_WORK):
        """Each call has its parent one layer above, on the same server, and begins and ends inside it."""
        for record in records.values():
            layer = NAMES[record.layer]
            about = f'{layer} {record}'
            if layer == 'client':
                self.assertEqual(record.parent, 0, about)
                self.assertGreaterEqual(record.end, record.start, about)
                continue
            if record.parent == 0 and record.operation in may_be_alone:
                continue
            parent = records.get(record.parent)
            self.assertIsNotNone(parent, about)
            self.assertEqual(NAMES[parent.layer], ABOVE[layer], about)
            self.assertGreaterEqual(record.start, parent.start, about)
            self.assertLessEqual(record.end, parent.end, about)
            if layer != 'net':
                self.assertEqual(record.server, parent.server, about)

    def sums(self, records, operation):
        """Bytes per layer."""
        sums = dict.fromkeys(gluster.LAYERS, 0)
        for record in records.values():
            if record.operation == operation and record.result > 0:
                sums[NAMES[record.layer]] += record.result
        return sums

    def check_layout(self, servers, layout, may_be_alone=OWN_WORK):
        plain = self.run_on(self.start('plain', servers, layout, layers=()))
        stack = self.start('probed', servers, layout)
        output, records = self.recorded(stack)
        self.assertEqual(output, plain)
        self.check_tree(records, may_be_alone)
        self.assertEqual(stack.lost(), 0)
        return records

    def check_same_bytes(self, records):
        for operation in ('readv', 'writev'):
            sums = self.sums(records, operation)
            self.assertGreater(sums['client'], 10 << 20)
            self.assertEqual(set(sums.values()), {sums['client']}, sums)

    def test_one_server(self):
        self.check_same_bytes(self.check_layout(1, 'distribute'))

    def test_distribute(self):
        records = self.check_layout(4, 'distribute')
        self.check_same_bytes(records)
        self.assertEqual({record.server for record in records.values()}, {0, 1, 2, 3, 0xffff})

    def test_shard(self):
        self.check_same_bytes(self.check_layout(4, 'shard', OF_SHARD))

    def test_disperse(self):
        sums = self.sums(self.check_layout(3, 'disperse', OF_DISPERSE), 'writev')
        self.assertGreaterEqual(sums['net'] * 2, sums['client'] * 3)  # one of three servers has the parity
        self.assertEqual(sums['net'], sums['disk'])

    def test_some_layers(self):
        """A probe's parent is the next one above that is there. A server without probes gets ids that nobody takes."""
        for layers in (('client', 'net'), ('client', 'disk'), ('net', 'server')):
            with self.subTest(layers=layers):
                stack = self.start('-'.join(layers), 3, 'disperse', layers=layers)
                _, records = self.recorded(stack)
                below = [record for record in records.values() if NAMES[record.layer] == layers[1]]
                alone = [record for record in below if not record.parent and record.operation not in OF_DISPERSE]
                self.assertGreater(len(below), 100)
                self.assertLess(len(alone), len(below) // 2 if layers == ('client', 'disk') else 1, alone[:3])
                for record in below:
                    if record.parent:
                        self.assertEqual(NAMES[records[record.parent].layer], layers[0])

    def test_what_a_record_says(self):
        stack = self.start('stack')
        path = os.path.join(stack.mount, 'file')
        program = f"""
import os, threading
descriptor = os.open({path!r}, os.O_RDWR | os.O_CREAT | os.O_EXCL)
os.pwrite(descriptor, bytes(5000), 300)
os.pread(descriptor, 7000, 4096)
os.ftruncate(descriptor, 123)
thread = threading.Thread(target=lambda: (os.pwrite(descriptor, b'x', 77), print(threading.get_native_id())))
thread.start()
thread.join()
print(os.fstat(descriptor).st_ino, os.getpid())
try:
    os.mkdir({path!r})
except FileExistsError:
    pass
try:
    os.rmdir({path!r} + 's')
except FileNotFoundError:
    pass
"""
        stack.record(1)
        words = harness.run(sys.executable, '-c', program).stdout.split()
        stack.record(0)
        thread, inode, process = map(int, words)
        records = [record for record in stack.records().values() if NAMES[record.layer] == 'client']
        found = {(record.operation, record.offset, record.size, record.result, record.tid) for record in records
                 if record.inode == inode}
        for wanted in (('writev', 300, 5000, 5000, process), ('readv', 4096, 7000, 1204, process),
                       ('ftruncate', 123, 0, 0, process), ('writev', 77, 1, 1, thread)):
            self.assertIn(wanted, found)
        create = next(record for record in records if record.operation == 'create')
        self.assertEqual((create.inode, create.flags & os.O_EXCL), (inode, os.O_EXCL))
        failed = [record for record in records if record.result < 0]
        self.assertTrue(failed)
        self.assertEqual({record.error for record in failed}, {errno.ENOENT})

    def test_many_threads(self):
        """A translator that copies the call stack finds each call among those that are under way."""
        program = f"""
import os, threading
def work(number):
    with open(f'file{{number}}', 'wb+', buffering=0) as file:
        for i in range(100):
            file.write(bytes(10000))
            file.seek(i * 3000)
            file.read(5000)
threads = [threading.Thread(target=work, args=(i,)) for i in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
        stack = self.start('stack', 3, 'disperse')
        _, records = self.recorded(stack, f'{sys.executable} -c "{program}"')
        self.check_tree(records, OF_DISPERSE)

    def test_recordings_that_come_and_go(self):
        """Calls that are under way then are whole for their program."""
        stack = self.start('stack', 3, 'disperse')
        running = subprocess.Popen(['sh', '-c', PROGRAM], cwd=stack.mount, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        number = 0
        while running.poll() is None:
            number += 1
            stack.record(number % 2)
            time.sleep(0.001)
        self.assertEqual((running.returncode, running.stderr.read()), (0, b''))
        running.stderr.close()

    def test_not_recording(self):
        stack = self.start('stack')
        self.run_on(stack)
        self.assertEqual(stack.records(), {})
        for name in os.listdir(stack.path('records')):
            self.assertEqual(os.path.getsize(stack.path('records/' + name)), gluster.HEADER_BYTES)

    def test_many_segments(self):
        """Those whose calls are over are not mapped any more."""
        stack = self.start('stack')
        _, records = self.recorded(stack, f'{sys.executable} -c "import os; [os.stat(\'.\') for _ in range(40000)]"')
        self.assertGreater(len(records), 4 * 40000)
        self.check_tree(records)
        with open(f'/proc/{stack.processes["client"].pid}/maps', encoding='utf-8') as maps:
            mapped = [line for line in maps if '.probe' in line and ' 00000000 ' not in line]
        self.assertEqual(len(mapped), 2, mapped)  # one for each probe

    def test_full_disk(self):
        """The program gets its answers; the records that do not fit are counted. When there is room, they go on."""
        stack = gluster.Gluster(self.path('stack'))
        records = stack.path('records')
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=2200k', 'records', records], check=True)
        self.addCleanup(subprocess.run, ['umount', '-l', records])
        self.addCleanup(stack.stop)
        stack.start()
        stack.record(1)
        self.run_on(stack)
        lost = stack.lost()
        self.assertGreater(lost, 100)
        self.assertTrue(stack.records())
        room = os.statvfs(records)
        self.assertGreaterEqual(room.f_bavail, room.f_blocks // 4)  # for others
        subprocess.run(['mount', '-o', 'remount,size=64m', records], check=True)
        time.sleep(0.2)
        self.run_on(stack, 'rm -r *; sleep 0.2')
        lost = stack.lost()
        before = len(stack.records())
        self.run_on(stack, 'touch new')
        self.assertEqual(stack.lost(), lost)
        self.assertGreaterEqual(len(stack.records()), before + 4)

    def test_server_is_killed(self):
        """The program's error is its own, what was recorded stays, and the client's probe says when it was."""
        stack = self.start('stack', 2)
        stack.record(1)
        self.run_on(stack, 'for i in 1 2 3 4 5 6 7 8; do echo text >file$i; done; sleep 0.2')
        before = stack.records()
        killed_ns = time.monotonic_ns()
        stack.kill_server(1)
        output = self.run_on(stack, 'cat file1 file2 file3 file4 file5 file6 file7 file8', status=1)
        self.assertIn(b'text', output)  # of the other server
        records = stack.records()
        gone = [record for record in records.values() if record.operation == gluster.DISCONNECTED]
        self.assertEqual([record.server for record in gone], [1])
        self.assertTrue(killed_ns <= gone[0].start == gone[0].end <= time.monotonic_ns())
        self.assertLessEqual(before.keys(), records.keys())
        self.check_tree(before)
        stack.start_server(1)
        stack.wait_for(lambda: any(record.operation == gluster.CONNECTED for record in stack.records().values()),
                       'the connection')
        count = len([record for record in stack.records().values() if (record.server, record.layer) == (1, 9)])
        self.run_on(stack, 'cat file*')
        after = stack.records()
        self.assertLessEqual(records.keys(), after.keys())
        self.assertGreater(len([record for record in after.values() if (record.server, record.layer) == (1, 9)]), count)

    def test_server_is_killed_under_load(self):
        """Threads on the other server go on, and the calls that were under way have an end or are of the dead server."""
        program = """
import os, threading, time
errors = {}
def work(number):
    try:
        descriptor = os.open(f'file{number}', os.O_RDWR | os.O_CREAT)
        while True:
            os.pwrite(descriptor, bytes(65536), 0)
    except OSError as error:
        errors[number] = error.errno
for number in range(8):
    threading.Thread(target=work, args=(number,), daemon=True).start()
input()
time.sleep(1)
print(len(errors), *set(errors.values()))
os._exit(0)
"""
        stack = self.start('stack', 2)
        stack.record(1)
        with subprocess.Popen([sys.executable, '-c', program], cwd=stack.mount, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as running:
            time.sleep(1)
            killed_ns = time.monotonic_ns()
            stack.kill_server(1)
            output, _ = running.communicate(b'\n', timeout=gluster.PATIENCE_SECONDS)
        stack.record(0)
        time.sleep(0.2)
        count, *codes = map(int, output.split())
        self.assertTrue(0 < count < 8, count)
        self.assertEqual(codes, [errno.ENOTCONN])
        self.assertTrue(all(process.poll() is None for process in stack.processes.values()))
        records = stack.records()
        self.assertIn((gluster.DISCONNECTED, 1), {(record.operation, record.server) for record in records.values()})
        calls = {number: record for number, record in records.items() if record.operation in gluster.OPERATIONS}
        self.check_tree(calls)
        for record in calls.values():
            self.assertTrue(record.end or (record.server == 1 and NAMES[record.layer] in ('server', 'disk')), record)
        self.assertTrue([record for record in calls.values() if record.server == 0 and record.start > killed_ns])

    def test_does_not_start(self):
        """One clear line in the log of GlusterFS."""
        stack = gluster.Gluster(self.path('stack'))
        for option, value, reason in (('file', '/missing/file', 'record file /missing/file: No such file or directory'),
                                      ('control', '/dev/null', 'control page /dev/null: Invalid argument'),
                                      ('number', '0', '')):
            with self.subTest(option=option):
                with open(stack.server_files[0], encoding='utf-8') as volumes:
                    text = re.sub(rf'option {option} .*', f'option {option} {value}', volumes.read())
                with open(stack.path('wrong.vol'), 'w', encoding='utf-8') as volumes:
                    volumes.write(text)
                log = stack.path(f'{option}.log')
                done = harness.run(shutil.which('glusterfsd', path=os.environ['PATH'] + ':/usr/sbin'), '-N', '-l', log,
                                   '-f', stack.path('wrong.vol'))
                self.assertNotEqual(done.returncode, 0)
                with open(log, encoding='utf-8') as lines:
                    self.assertIn(f'ioseer\'s probe cannot start: {reason}' if reason else 'number', lines.read())


if __name__ == '__main__':
    harness.main()
