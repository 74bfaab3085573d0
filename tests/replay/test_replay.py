#!/usr/bin/env python3
"""test_replay.py: a replay does what its program did, operation by operation, with the same and with other numbers
of processes. It reads what it wrote, leaves nothing behind, and says what is wrong.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.dont_write_bytecode = True

from harness import BUILD, CommandLineTest, main  # noqa: E402

LAUNCHERS = {
    'mpich': ['mpiexec.mpich'],
    'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe'],
}

# program, options, ranks recorded, another number of ranks, MPI
EXAMPLES = [
    ('madbench', '--bins 8 --size 4096', 4, 6, 'mpich'),
    ('madbench', '--bins 4 --size 4096 --api async', 4, 2, 'openmpi'),
    ('madbench', '--bins 4 --size 4096 --api posix --unique', 2, 3, 'mpich'),
    ('madbench', '--bins 4 --size 4096 --api stdio', 2, 3, 'openmpi'),
    ('btio', '--grid 10 --steps 6 --interval 2', 4, 6, 'mpich'),
    ('btio', '--grid 10 --steps 6 --interval 2', 4, 2, 'openmpi'),
    ('s3d', '--edge 4 --checkpoints 2', 4, 2, 'mpich'),
    ('ior', '--block 32768 --transfer 4096 --random', 4, 6, 'openmpi'),
    ('ior', '--block 32768 --transfer 4096 --collective', 4, 3, 'mpich'),
    ('small', '--files 12 --first 740 --second 420 --third 240', 2, 4, 'mpich'),
    ('metadata', '--files 10 --size 100', 2, 4, 'mpich'),
]


class Replays(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.target = self.path('target')
        os.mkdir(self.target)

    def replay(self, log, *options):
        result = self.json('replay', log, '--on', self.target, '--json', *options)
        self.assertEqual(os.listdir(self.target), [], 'left behind')
        return result

    def save(self, model, name):
        with open(self.path(name), 'w', encoding='utf-8') as out:
            json.dump(model, out)
        return self.path(name)

    def check(self, log, *options):
        result = self.replay(log, '--verify', '--no-think', *options)
        self.assertEqual((result['similarity'], result['difference'], result['wrong_bytes']), (1, None, 0), options)
        return result

    def test_examples(self):
        for number, (program, options, ranks, others, mpi) in enumerate(EXAMPLES):
            path = os.path.join(BUILD, 'examples', f'{program}-{mpi}')
            if not os.path.exists(path) or not shutil.which(LAUNCHERS[mpi][0]):
                continue
            with self.subTest(program=program, options=options, mpi=mpi):
                where = self.path(f'run{number}')
                os.mkdir(where)
                log = self.record(*LAUNCHERS[mpi], '-n', str(ranks), path, *options.split(), name=f'{number}.ioseer',
                                  cwd=where)
                phases = self.json('phases', '--json', log)['phases']
                self.assertEqual([phase['id'] for phase in self.check(log)['phases']],
                                 [phase['id'] for phase in phases])
                self.assertEqual(self.check(log, '--np', str(others))['np'], others)

    def views(self, log):
        """File name, element and constructor of each view of rank 1 that the log has whole."""
        views = [(os.path.basename(event['file']), event['view']) for event in self.json('dump', '--json', log)
                 if event['rank'] == 1 and 'view' in event]
        return [(name, view['etype']['name'], view['filetype']['combiner']) for name, view in views
                if view['filetype']['complete']]

    def test_datatypes(self):
        """Views come back as programs make them, not as structs of pieces: MPIs are several times slower with those."""
        again_by = {'named': 'named', 'dup': 'contiguous', 'contiguous': 'contiguous', 'hvector': 'hvector',
                    'indexed': 'hindexed', 'struct': 'hindexed', 'indexed_block': 'hindexed_block',
                    'hindexed_block': 'hindexed_block', 'resized': 'resized'}
        for mpi, launcher in LAUNCHERS.items():
            program = os.path.join(BUILD, 'tests', 'mpi', f'views-{mpi}')
            if not os.path.exists(program) or not shutil.which(launcher[0]):
                continue
            with self.subTest(mpi=mpi):
                log = self.record(*launcher, '-n', '2', program, cwd=self.folder, name=f'{mpi}.ioseer')
                again = self.path(f'{mpi}-again.ioseer')
                self.assertEqual(self.replay(log, '--verify', '--no-think', '--log', again)['wrong_bytes'], 0)
                before, after = self.views(log), self.views(again)
                self.assertEqual([etype for _, etype, _ in after], [etype for _, etype, _ in before])
                found = {(name, was): now for (name, _, was), (_, _, now) in zip(before, after) if was in again_by}
                found.pop(('regular.1.dat', 'indexed_block'))  # at equal distances: a vector
                self.assertEqual(found, {key: again_by[key[1]] for key in found})
                self.assertLess(7, len(found))

    def barriers(self, model):
        """How many each rank has."""
        count = {}
        for op in self.json('model', '--expand', '--json', model):
            if op['op'] == 'barrier':
                count[op['rank']] = count.get(op['rank'], 0) + op['times']
        return count

    @unittest.skipUnless(shutil.which('mpiexec.mpich'), 'MPICH is not installed')
    def test_barriers_of_ranks_that_have_ended(self):
        """One rank removes the folder after a barrier, when all have removed their files; the others do nothing then.
        If ranks have different numbers of barriers, the replay does those that all have."""
        log = self.record('mpiexec.mpich', '-n', '2', os.path.join(BUILD, 'examples', 'metadata-mpich'), '--files', '30',
                          '--shared', cwd=self.folder)
        self.assertEqual(self.barriers(log), {0: 7, 1: 7})
        self.check(log)
        model = self.json('model', log)
        del model['observed']
        parts = model['structure']['families'][-1]['others']
        both, = (part for part in parts if part['ranks'] == '0-1')
        self.assertEqual(both['items'][0]['loop'], 2)  # before and after the files are removed
        both['items'] = [{'op': 'barrier', 'times': 1}]
        parts.append({'ranks': '1', 'items': [{'op': 'barrier', 'times': 1, 'after': 30}]})
        self.save(model, 'shorter')
        self.replay(self.path('shorter'), '--log', self.path('again.ioseer'))

    def write(self, *options):
        """A log of a program that writes a file and, with conv=fsync, makes it durable."""
        return self.record('dd', 'if=/dev/zero', 'of=x', 'bs=1000', 'count=50', 'status=none', *options, cwd=self.folder)

    def test_without_mpi(self):
        self.check(self.write('conv=fsync'))

    def test_threads(self):
        self.check(self.record(os.path.join(BUILD, 'examples', 'checkpoint'), cwd=self.folder))

    def waits(self, log, writes):
        """In the example, the thread that syncs waits for each step of both others, and these wait for its note."""
        ops = [op for op in self.json('model', '--expand', '--json', log) if op['program'] == 0]
        lanes = {}
        for op in ops:
            lanes.setdefault(op['thread'], []).append(op['op'])
        syncs = next(thread for thread, calls in lanes.items() if 'fsync' in calls)
        places = [place for place, call in enumerate(lanes[syncs], 1) if call == 'fsync']
        done = [writes * (step + 1) for step in range(len(places))]
        writers = [thread for thread in sorted(lanes) if thread != syncs]
        found = [{'thread': thread, 'behind': syncs, 'ops': [count + 1 for count in done], 'done': places}
                 for thread in writers]
        found += [{'thread': syncs, 'behind': thread, 'ops': places, 'done': done} for thread in writers]
        return [{'program': 0, 'rank': 0, 'count': len(places), 'after_ns': [0] * len(places), **wait} for wait in found]

    def test_threads_that_wait(self):
        """Without pauses, only the waits in the model keep the order of the threads."""
        log = self.record(os.path.join(BUILD, 'examples', 'checkpoint'), '-s', '3', '-n', '8', cwd=self.folder)
        model = self.json('model', log)
        model['observed']['waits'] = self.waits(log, 8)
        self.save(model, 'waiting')
        self.replay(self.path('waiting'), '--no-think', '--log', self.path('again.ioseer'))
        events = self.json('dump', '--json', '--layer', 'posix', self.path('again.ioseer'))
        syncs = [event for event in events if event['op'] == 'fsync' and event['file'].startswith(self.target)]
        writes = [event for event in events if event['op'] == 'pwrite' and event['file'].startswith(self.target)]
        self.assertEqual((len(syncs), len(writes)), (3, 48))
        for step, sync in enumerate(syncs):
            before, after = writes[:16 * (step + 1)], writes[16 * (step + 1):]
            self.assertTrue(all(event['start'] + event['duration'] <= sync['start'] for event in before))
            self.assertTrue(all(event['start'] >= sync['start'] + sync['duration'] for event in after))

    def turns(self, count, waits):
        """A model of two threads that write bytes of a file in turns, as a file."""
        model = {'ioseer_model': 1, 'structure': {
            'programs': [{'mpi': False, 'np': 1, 'order': [1]}], 'files': [{'file': 'data'}],
            'kinds': [{'kind': 'open', 'layer': 'posix', 'class': 'open', 'file': 'data', 'flags': 'O_RDWR|O_CREAT'},
                      {'kind': 'pwrite', 'layer': 'posix', 'class': 'write', 'file': 'data', 'has_offset': True,
                       'pointer': 'explicit'}],
            'families': [{'family': 1, 'program': 0, 'phases': 1, 'separator': 'start', 'weight': 2 * count, 'parts': [
                {'ranks': '0', 'thread': thread, 'items': [{'loop': count, 'body': [
                    {'op': 'pwrite', 'offset': thread, 'size': 1, 'steps': [{'offset': 2}]}]}]} for thread in (0, 1)],
                'others': [{'ranks': '0', 'items': [{'op': 'open'}]}]}]},
            'observed': {'waits': [{'program': 0, 'rank': 0, 'count': len(wait['ops']), 'after_ns': [0] * len(wait['ops']),
                                    **wait} for wait in waits]}}
        return self.save(model, 'turns')

    def written(self, log):
        return [event['offset'] for event in self.json('dump', '--json', '--layer', 'posix', log)
                if event['op'] == 'pwrite']

    def test_threads_in_turns(self):
        """Each thread continues as soon as the other has done one more operation, a thousand times."""
        numbers = list(range(1, 1001))
        model = self.turns(1000, [
            {'thread': 0, 'behind': 1, 'ops': [n + 2 for n in numbers[:-1]], 'done': numbers[:-1]},
            {'thread': 1, 'behind': 0, 'ops': numbers, 'done': [n + 1 for n in numbers]}])
        self.replay(model, '--no-think', '--log', self.path('again.ioseer'))
        self.assertEqual(self.written(self.path('again.ioseer')), list(range(2000)))

    def test_threads_that_wait_for_each_other(self):
        """No program does that, but a model may contain it: the replay must end."""
        model = self.turns(10, [{'thread': one, 'behind': 1 - one, 'ops': [2, 3], 'done': [2, 4]}
                                for one in (0, 1)])
        self.replay(model, '--log', self.path('again.ioseer'))
        self.assertEqual(sorted(self.written(self.path('again.ioseer'))), list(range(20)))

    def test_threads_wait_for_phases_that_are_left_out(self):
        log = self.record(os.path.join(BUILD, 'examples', 'checkpoint'), '-s', '2', '-n', '8', cwd=self.folder)
        model = self.json('model', log)
        model['observed']['waits'] = self.waits(log, 8)
        self.save(model, 'waiting')
        for phase in self.json('phases', '--json', log)['phases']:  # the last phase has only the third thread
            found = self.replay(self.path('waiting'), '--phases', str(phase['id']), '--verify')
            self.assertEqual((found['similarity'], found['difference']), (1, None))

    def test_threads_that_use_what_another_opens_and_closes(self):
        """One thread opens and closes streams that others use: they stay open as long as they are used."""
        with open(self.path('data'), 'wb') as out:
            out.write(bytes(2000000))
        log = self.record_python("""import ctypes, threading, time
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
block = ctypes.create_string_buffer(100000)
def copy(source, target):
    for i in range(20):
        libc.fread(block, 1, 100000, source)
        libc.fwrite(block, 1, 100000, target)
for step in range(4):
    source = ctypes.c_void_p(libc.fopen(b'data', b'r'))
    target = ctypes.c_void_p(libc.fopen(b'copy', b'w'))
    thread = threading.Thread(target=copy, args=(source, target))
    thread.start()
    thread.join()
    libc.fclose(target)
    libc.fclose(source)
""")
        for _ in range(3):
            self.check(log)

    def test_threads_with_names_of_others(self):
        """Names that one thread makes, renames and removes, and others look up. Writes at a position that all share."""
        log = self.record_python("""import fcntl, os, threading
def run(call, *arguments):
    thread = threading.Thread(target=call, args=arguments)
    thread.start()
    thread.join()
def write(name):
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT))
def look(name):
    try: os.stat(name)
    except OSError: pass
    fd = os.open(name.replace('old', 'new'), os.O_RDONLY)
    try: fcntl.fcntl(fd, 12345)
    except OSError: pass
    os.close(fd)
for step in range(5):
    os.mkdir('folder')
    run(write, 'folder/old')
    os.rename('folder/old', 'folder/new')
    run(look, 'folder/old')
    os.unlink('folder/new')
    os.rmdir('folder')
fd = os.open('shared', os.O_WRONLY | os.O_CREAT)
def turn(number):
    for i in range(50):
        turns[number].acquire()
        os.write(fd, bytes(100 + number))
        turns[1 - number].release()
turns = threading.Semaphore(1), threading.Semaphore(0)
threads = [threading.Thread(target=turn, args=(i,)) for i in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")
        for _ in range(3):
            self.alike(log)

    def test_text(self):
        self.check(self.record_python("""import ctypes
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fopen(b'text', b'w+'))
for i in range(20):
    libc.fprintf(stream, b'line %d%c', i, 10)
    libc.fputs(b'some text', stream)
    libc.fputc(65, stream)
libc.rewind(stream)
for i in range(10): libc.fgetc(stream)
libc.fclose(stream)
"""))

    def test_formatted_text(self):
        """Calls that look for numbers or ends of lines are made again, or one of the same cost."""
        log = self.record_python("""import ctypes
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fopen(b'text', b'w+'))
for i in range(20): libc.fprintf(stream, b'%d lines%c', i, 10)
libc.fflush(None)
libc.rewind(stream)
number, room = ctypes.c_int(), ctypes.c_size_t()
word, line = ctypes.create_string_buffer(20), ctypes.c_char_p()
for i in range(10): libc.fscanf(stream, b'%d %19s', ctypes.byref(number), word)
for i in range(5): libc.getline(ctypes.byref(line), ctypes.byref(room), stream)
while libc.fgets(word, 20, stream): pass
libc.fscanf(stream, b'%d', ctypes.byref(number))
libc.fclose(stream)
""")
        self.check(log, '--log', self.path('again.ioseer'))
        calls = [event['op'] for event in self.json('dump', '--json', '--layer', 'stdio', self.path('again.ioseer'))
                 if not event['file'] or event['file'].startswith(self.target)]
        self.assertEqual([calls.count(call) for call in ('fprintf', 'fflush', 'fscanf', 'fgets', 'fread')],
                         [20, 1, 11, 5 + 7, 0])  # the last one finds nothing

    def test_names(self):
        """Folders, links and names that are only looked up; some of them existed before."""
        for name in ('old/deep', 'empty'):
            os.makedirs(self.path(name))
        for name, size in (('old/one', 100), ('old/two', 200000), ('old/deep/three', 0), ('seen', 7)):
            with open(self.path(name), 'wb') as out:
                out.write(bytes(size))
        log = self.record_python("""import os
os.mkdir('new')
os.mkdir('new/inner')
os.stat('seen')
os.access('old/one', os.R_OK)
for name in ('old/one', 'old/two'):
    fd = os.open(name, os.O_RDONLY)
    while os.read(fd, 65536): pass
    os.close(fd)
for i in range(5):
    fd = os.open(f'new/inner/file{i}', os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(fd, bytes(1000))
    os.close(fd)
    os.rename(f'new/inner/file{i}', f'new/file{i}')
    os.link(f'new/file{i}', f'new/link{i}')
    os.chmod(f'new/file{i}', 0o600)
    os.utime(f'new/file{i}')
os.symlink('file0', 'new/symbolic')
os.readlink('new/symbolic')
os.truncate('new/file1', 10)
for i in range(5):
    os.unlink(f'new/file{i}')
    os.unlink(f'new/link{i}')
os.unlink('new/symbolic')
try: os.stat('missing')
except OSError: pass
os.rmdir('new/inner')
os.rmdir('new')
os.rmdir('empty')
""")
        result = self.replay(log, '--verify', '--no-think')
        self.assertEqual((result['similarity'], result['difference']), (1, None))

    def test_asynchronous(self):
        program = os.path.join(BUILD, 'tests', 'replay', 'queue')
        log = self.record(program, 'x', '8', '64', '4096', cwd=self.folder)
        self.check(log)
        self.check_depth(log, ('aio_write', 'aio_read'), 128)

    @unittest.skipUnless(shutil.which('fio'), 'fio is not installed')
    def test_asynchronous_at_random(self):
        """fio's own process makes the file; a forked one then reads and writes it at random offsets."""
        log = self.record('fio', '--name=x', '--size=1m', '--bs=8k', '--rw=randrw', '--ioengine=libaio', '--iodepth=8',
                          cwd=self.folder, stdout=subprocess.DEVNULL)
        self.check_depth(log, ('aio_write', 'aio_read', 'io_submit_write', 'io_submit_read'), 128)

    def check_depth(self, log, calls, count):
        """The replay is the same, with the same queue depth."""
        again = self.path('again.ioseer')
        result = self.replay(log, '--log', again)
        self.assertEqual((result['similarity'], result['difference']), (1, None))
        for name in (log, again):
            events = [event for event in self.json('dump', '--json', name) if event['op'] in calls]
            self.assertEqual(len(events), count)
            depth = sorted(sum(other['start'] < event['start'] + event['duration'] for other in events[i + 1:])
                           for i, event in enumerate(events))[count // 2]
            self.assertGreaterEqual(depth, 5, name)

    def test_processes_that_begin_later(self):
        """A process uses files that another one makes; files that were missing did not exist at the start."""
        log = self.record_python("""import os, time
try: os.stat('made')
except OSError: pass
fd = os.open('made', os.O_WRONLY | os.O_CREAT)
for i in range(10): os.write(fd, bytes(1000))
os.close(fd)
time.sleep(0.5)
if os.fork() == 0:
    fd = os.open('made', os.O_RDONLY)
    while os.read(fd, 1000): pass
    os.close(fd)
    os._exit(0)
os.wait()
""")
        model = self.json('model', log)
        self.assertEqual([file['existed'] for file in model['observed']['files'] if file['file'] == 'made'], [0])
        result = self.replay(log)
        self.assertEqual((result['similarity'], result['difference']), (1, None))

    def alike(self, log):
        result = self.replay(log, '--no-think')
        self.assertEqual((result['similarity'], result['difference']), (1, None))

    def test_descriptors_under_other_numbers(self):
        """Duplicates that outlive the original; files that were never opened; files that are left open."""
        self.alike(self.record_python("""import mmap, os
for name in ('a', 'b'):
    fd = os.open(name, os.O_RDWR | os.O_CREAT)
    os.write(fd, bytes(10))
    copy = os.dup(fd)
    os.close(fd)
    os.write(copy, bytes(20))
    os.lseek(copy, 5, 0)
    os.read(copy, 7)
    if name == 'a': os.close(copy)
fds = []
for number, name in enumerate(('c', 'd')):
    fd = os.open(name, os.O_RDWR | os.O_CREAT)
    fds.append(os.dup2(fd, 50 + number))
    os.close(fd)
for i in range(4): os.write(fds[i % 2], bytes(100 + i))
try: os.close(99)
except OSError: pass
for i in range(10):
    writes, reads = os.open('e', os.O_WRONLY | os.O_CREAT), os.open('e', os.O_RDONLY)
    for k in range(3):
        os.write(writes, bytes(100))
        os.read(reads, 60)
    os.close(writes)
    os.close(reads)
both, reads = os.open('f', os.O_RDWR | os.O_CREAT), os.open('f', os.O_RDONLY)
for i in range(3):
    os.lseek(both, 0, 0)
    os.write(both, bytes(100 + i))
    os.lseek(both, 20, 0)
    os.read(both, 10)
    os.stat(reads)
try: mmap.mmap(both, 50, flags=0)
except OSError: pass
for i in range(2):
    nameless = os.open('.', os.O_RDWR | os.O_TMPFILE)
    os.write(nameless, bytes(100))
    os.pread(nameless, 50, 10)
    os.close(nameless)
os.mkdir('folder')
os.fchdir(os.open('folder', os.O_RDONLY))
for call in (os.stat, os.unlink, open):
    try: call('')
    except OSError: pass
"""))

    def test_inherited_descriptors(self):
        log = self.record_python("""import os
fd = os.open('a', os.O_WRONLY | os.O_CREAT)
os.write(fd, bytes(10))
if os.fork() == 0:
    os.write(fd, bytes(1000))
    os._exit(0)
os.wait()
os.write(fd, bytes(10))
os.close(fd)
""")
        model = self.json('model', log)
        self.assertEqual([program['np'] for program in model['structure']['programs']], [2])
        self.alike(log)

    @unittest.skipUnless(shutil.which('bash'), 'bash is not installed')
    def test_shell(self):
        for number, script in enumerate((
                'seq 1 10000 > n; sort -n n > m',
                'seq 1 1000 > n; sort -n -o m n',
                'for i in 1 2 3 4 5; do echo $i; done > f; while read l; do echo $l >> g; done < f; cat < f > h')):
            with self.subTest(script=script):
                self.alike(self.record('bash', '--norc', '-c', script, cwd=self.folder, name=f'{number}.ioseer'))

    @unittest.skipUnless(shutil.which('bash'), 'bash is not installed')
    def test_more_files_than_may_be_open(self):
        """The shell closes one file by opening the next in its place."""
        few = 300
        if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 4 * few:
            self.skipTest('no more files may be open')
        log = self.record('bash', '--norc', '-c', f'for i in {{1..{few}}}; do echo $i > f$i; done', cwd=self.folder)
        result = json.loads(self.expect(0, 'replay', log, '--on', self.target, '--json', '--no-think', preexec_fn=lambda:
                                        resource.setrlimit(resource.RLIMIT_NOFILE, (few, 4 * few))).stdout)
        self.assertEqual((result['similarity'], result['difference']), (1, None))

    def test_copies(self):
        """Copies inside the kernel, at given offsets and at positions; with --verify by reading and writing."""
        with open(self.path('from'), 'wb') as out:
            out.write(bytes(100000))
        log = self.record_python("""import os
source = os.open('from', os.O_RDONLY)
to = os.open('to', os.O_RDWR | os.O_CREAT)
os.sendfile(to, source, 0, 1000)
os.sendfile(to, source, 3000, 200000)
os.copy_file_range(source, to, 1 << 40)
os.copy_file_range(source, to, 500, 50, 10)
os.write(to, bytes(100))
""")
        self.alike(log)
        self.assertEqual(self.replay(log, '--verify')['wrong_bytes'], 0)

    def test_streams(self):
        """Streams with their own buffers, streams left open, two streams on one file, and bytes that are put back."""
        self.alike(self.record_python("""import ctypes
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fopen(b'text', b'w'))
libc.setvbuf(stream, None, 0, ctypes.c_size_t(100000))
for i in range(5): libc.fputs(b'some text', stream)
libc.printf(b'ignored')
writes, reads = (ctypes.c_void_p(libc.fopen(b'both', mode)) for mode in (b'w', b'r'))
data = ctypes.create_string_buffer(100)
for i in range(5):
    libc.fwrite(data, 1, 50, writes)
    libc.fflush(writes)
    libc.fread(data, 1, 30, reads)
libc.fclose(reads)
libc.fclose(writes)
again = ctypes.c_void_p(libc.fopen(b'both', b'r'))
for i in range(3):
    libc.fread(data, 1, 20, again)
    libc.ungetc(libc.getc(again), again)
    libc.ungetc(255, again)
fd = libc.creat(b'descriptor', 0o600)
for i in range(5): libc.dprintf(fd, b'some text')
libc.close(fd)
""", stdout=subprocess.DEVNULL))

    def test_cache(self):
        with open(self.path('input'), 'wb') as out:
            out.write(bytes(1 << 20))
        log = self.record('dd', 'if=input', 'of=/dev/null', 'bs=64k', 'status=none', cwd=self.folder)
        for state in ('cold', 'warm', 'as-recorded'):
            self.check(log, '--cache', state)

    def test_file_that_was_there(self):
        with open(self.path('input'), 'wb') as out:
            out.write(b'i' * 300000)
        log = self.record('dd', 'if=input', 'of=/dev/null', 'bs=64k', 'status=none', cwd=self.folder)
        result = self.check(log, '--cache', 'cold')
        self.assertGreater(result['total'], 0)

    def test_damaged_log(self):
        """The rest is replayed and predicted, and a message says that there was more."""
        log = self.write()
        with open(log, 'r+b') as file:
            file.truncate(os.path.getsize(log) - 40)
        for verb in ('replay', 'predict'):
            done = self.expect(0, verb, log, '--on', self.target, '--repeat', '1')
            self.assertRegex(done.stderr.decode(), f'^ioseer {verb}: .*: not all of it could be read: ')
            self.assertEqual(self.expect(0, verb, '-q', log, '--on', self.target, '--repeat', '1').stderr, b'')

    def test_model_and_log_alike(self):
        log = self.write()
        model = self.path('x.model')
        self.expect(0, 'model', log, '-o', model)
        self.check(model)

    def test_null_back_end_takes_its_time(self):
        log = self.write()
        total = self.replay(log, '--null', '1000000,1000000', '--no-think')['total']
        self.assertGreaterEqual(total, 50 * (0.001 + 0.001))

    def test_other_files_stay(self):
        with open(os.path.join(self.target, 'mine'), 'w', encoding='utf-8') as out:
            out.write('mine')
        log = self.write()
        self.expect(0, 'replay', log, '--on', self.target, '--json')
        self.assertEqual(os.listdir(self.target), ['mine'])

    def test_what_a_killed_replay_left_is_removed(self):
        left = os.path.join(self.target, 'ioseer-replay.abcdef')
        others = os.path.join(self.target, 'ioseer-replay.mine')
        os.mkdir(left)
        os.mkdir(others)
        for folder in (left, others):
            with open(os.path.join(folder, 'ioseer-replay-in-use'), 'w', encoding='utf-8') as out:
                out.write("A replay's folder; the next one removes it if this one could not.\n" if folder == left else '')
        with open(os.path.join(left, 'file-a'), 'wb'):
            pass
        log = self.write()
        self.expect(0, 'replay', log, '--on', self.target)
        self.assertEqual(os.listdir(self.target), ['ioseer-replay.mine'])

    def test_repeated(self):
        log = self.write()
        result = self.replay(log, '--repeat', '3')
        self.assertEqual(result['runs'], 3)
        self.assertLessEqual(result['low'], result['total'])
        self.assertLessEqual(result['total'], result['high'])

    def test_times_of_the_recorded_run_are_its_logs(self):
        log, kept = self.write(), self.path('kept.ioseer')
        times = [phase['time'] for phase in self.replay(log, '--log', kept)['phases']]
        self.assertEqual(times, [phase['duration'] for phase in self.json('phases', '--json', kept)['phases']])

    def test_times_of_copies(self):
        """A copy is a read and a write, and takes its time once."""
        with open(self.path('from'), 'wb') as out:
            out.write(bytes(1 << 20))
        log = self.record_python("""import os
source = os.open('from', os.O_RDONLY)
to = os.open('to', os.O_RDWR | os.O_CREAT)
for i in range(50): os.copy_file_range(source, to, 1 << 20, 0, 0)
""")
        kept = self.path('kept.ioseer')
        times = [phase['time'] for phase in self.replay(log, '--log', kept)['phases']]
        self.assertEqual(times, [phase['duration'] for phase in self.json('phases', '--json', kept)['phases']])
        calls = [event for event in self.json('dump', '--json', log) if event['parent'] is None]
        self.assertEqual(sum(event['op'] == 'copy_file_range' for event in calls), 50)
        phase = max(self.json('phases', '--json', log)['phases'], key=lambda phase: phase['weight'])
        self.assertLessEqual(phase['duration'] + phase['other'], 1.01 * sum(event['duration'] for event in calls))

    def test_its_log_can_be_kept(self):
        log, kept = self.write(), self.path('kept.ioseer')
        self.replay(log, '--repeat', '2', '--log', kept)
        files = self.json('info', '--json', kept)['files']
        self.assertEqual([file['bytes_written'] for file in files], [50000])
        self.expect_error(1, 'replay', log, '--on', self.target, '--log', kept)
        self.expect_error(2, 'replay', log, '--on', self.target, '--log', self.path('other'), '--no-similarity')

    def test_chosen_phases(self):
        """Phases that use their own file: the replay does not need the other phases."""
        log = self.record_python("""import os
for name in 'first', 'second', 'third':
    fd = os.open(name, os.O_WRONLY | os.O_CREAT)
    for i in range(5): os.write(fd, bytes(1000))
    os.close(fd)
""")
        last = self.json('phases', '--json', log)['phases'][-1]['id']
        for chosen, phases in ((f'{last - 1}', [last - 1]), (f'{last - 2},{last}', [last - 2, last]),
                               (f'{last - 1}-{last}', [last - 1, last])):
            found = self.replay(log, '--no-think', '--phases', chosen)
            self.assertEqual(([phase['id'] for phase in found['phases']], found['similarity'], found['difference']),
                             (phases, 1, None))
        for wrong, reason in (('99', 'no phase 99'), (f'{last},99', 'no phase 99'), (f'{last}-99', 'no phase 99'),
                              ('x', 'not a list'), ('3-1', 'not a list'), (f'{last},', 'not a list'),
                              ('', 'not a list'), ('0', 'not a list')):
            self.assertIn(reason, self.expect_error(2, 'replay', log, '--on', self.target, '--phases=' + wrong))

    def test_chosen_phases_find_what_others_made(self):
        """One phase opens and writes a file, the next ones read it again, through the same descriptor or another."""
        log = self.record_python("""import os
fd = os.open('data', os.O_RDWR | os.O_CREAT)
for i in range(20): os.write(fd, bytes(1000))
for i in range(20): os.pread(fd, 1000, 1000 * i)
os.close(fd)
fd = os.open('data', os.O_RDONLY)
for i in range(10): os.read(fd, 2000)
""")
        last = self.json('phases', '--json', log)['phases'][-1]['id']
        for phase in last - 1, last:
            found = self.replay(log, '--verify', '--phases', str(phase), '--log', self.path(f'{phase}.ioseer'))
            self.assertEqual((found['similarity'], found['wrong_bytes']), (1, 0))
            files = self.json('info', '--json', self.path(f'{phase}.ioseer'))['files']
            self.assertEqual([(file['bytes_read'], file['bytes_written']) for file in files
                              if file['name'].startswith(self.target)], [(20000, 0)])

    @unittest.skipUnless(shutil.which('mpiexec.mpich'), 'MPICH is not installed')
    def test_chosen_phases_of_mpi(self):
        """A chosen phase must open the files of MPI-IO."""
        log = self.record('mpiexec.mpich', '-n', '2', os.path.join(BUILD, 'examples', 'madbench-mpich'), '--bins', '4',
                          '--size', '4096', cwd=self.folder)
        count = len(self.json('phases', '--json', log)['phases'])
        self.assertIn('which an earlier phase opens', self.expect_error(
            2, 'replay', log, '--on', self.target, '--phases', f'2-{count}'))
        self.assertEqual(self.replay(log, '--phases', '1')['similarity'], 1)

    def test_of_several_programs(self):
        log = self.record('sh', '-c', 'dd if=/dev/zero of=x bs=1k count=9 status=none; mkdir new', cwd=self.folder)
        text = self.expect(0, 'replay', log, '--on', self.target).stdout.decode()
        self.assertRegex(text, r'^Of \d programs in the log, dd \(phase \d\) moved the most bytes and is replayed\.\n')
        found = self.replay(log)
        self.assertEqual(os.path.basename(found['executable']), 'dd')
        self.assertGreater(found['programs'], 1)

    def test_files_that_were_open_before(self):
        """Where standard input and output lead is the shell's matter; their files are replayed if asked for."""
        with open(self.path('in'), 'wb') as out:
            out.write(bytes(300000))
        for command in ['cat'], ['sort']:
            with open(self.path('in'), 'rb') as source, open(self.path('out'), 'wb') as to:
                log = self.record(*command, name=f'{command[0]}.ioseer', stdin=source, stdout=to)
            self.assertIn('--standard-streams', self.expect_error(1, 'replay', log, '--on', self.target))
            self.assertIn('--standard-streams', self.expect_error(1, 'predict', log, '--on', self.target))
            kept = self.path(f'{command[0]}.kept')
            self.replay(log, '--standard-streams', '--log', kept)
            files = self.json('info', '--json', kept)['files']
            self.assertIn(300000, [file['bytes_read'] for file in files], command)

    def test_calls_without_a_file(self):
        log = self.record_python("""import os
for i in range(20):
    os.sync()
    os.mkdir(f'd{i}')
for i in range(20): os.stat(f'd{i}')
""")
        phases = self.json('phases', '--json', log)['phases']
        self.assertIn('mkdir', [op['op'] for phase in phases for op in phase['ops']])
        self.alike(log)

    def test_files_without_a_name(self):
        """ext4 gives them the same made-up name again and again."""
        log = self.record_python("""import os
for i in range(20):
    fd = os.open('.', os.O_TMPFILE | os.O_RDWR | os.O_EXCL)
    os.write(fd, bytes(100))
    os.close(fd)
""")
        self.alike(log)

    def test_nothing_to_replay(self):
        log = self.record('true')
        self.assertIn('it has no I/O to replay', self.expect_error(1, 'replay', log, '--on', self.target))
        log = self.record('dd', 'if=/dev/zero', 'of=' + self.path('out'), 'count=5', options=('--force', '--trace-file', '/none'))
        self.assertIn('in counters only', self.expect_error(1, 'replay', log, '--on', self.target))

    def test_errors(self):
        log = self.write()
        for option, value in (('--null', 'x'), ('--null', '5x,y'), ('--null', '5,'), ('--null', '5,0'), ('--np', '0'),
                              ('--repeat', '0')):
            self.assertIn(value, self.expect_error(2, 'replay', log, '--on', self.target, option, value))
        for option in '--log', '--output':
            self.assertIn('no/where', self.expect_error(1, 'replay', log, '--on', self.target, option,
                                                        self.path('no/where')))
        self.expect_error(2, 'replay', log)
        self.expect_error(2, 'replay', log, '--on', self.target, '--cache', 'lukewarm')
        self.expect_error(1, 'replay', log, '--on', self.path('missing'))
        self.expect_error(1, 'replay', self.path('missing'), '--on', self.target)
        with open(self.path('text'), 'w', encoding='utf-8') as out:
            json.dump({'ioseer_model': 1}, out)
        self.expect_error(1, 'replay', self.path('text'), '--on', self.target)


if __name__ == '__main__':
    main()
