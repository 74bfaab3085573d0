#!/usr/bin/env python3
"""test_processes.py: processes without MPI that use each other's names and bytes. A replay without pauses does the same as
the program, each time, because a process waits for what another one makes, removes or writes.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.dont_write_bytecode = True

from harness import IOSEER, CommandLineTest, main  # noqa: E402

PATIENCE_SECONDS = 60
# The processes act in turns. A model does not have the bytes in the pipes that tell whose turn it is.
RING = """import os, sys
def ring(count, rounds, act):
    pipes = [os.pipe() for _ in range(count)]
    for number in range(count):
        if os.fork() == 0:
            for turn in range(rounds):
                os.read(pipes[number][0], 1)
                act(number, turn)
                os.write(pipes[(number + 1) % count][1], b'x')
            os._exit(0)
    os.write(pipes[0][1], b'x')
    for _ in range(count): os.wait()
def attempt(call, *arguments):
    try: return call(*arguments)
    except OSError: pass
def make(name, bytes=b'', flags=os.O_CREAT):
    fd = os.open(name, os.O_RDWR | flags)
    if bytes: os.write(fd, bytes)
    os.close(fd)
"""
NAMES = """
def act(number, turn):
    if number == 0:
        os.mkdir('folder')
        make('folder/old')
    if number == 1:
        os.rename('folder/old', 'folder/new')
        make('folder/other', flags=os.O_CREAT | os.O_EXCL)
    if number == 2:
        attempt(os.stat, 'folder/old')
        attempt(os.mkdir, 'folder')
        make('folder/new', flags=0)
        os.unlink('folder/new')
    if number == 3:
        os.unlink('folder/other')
        os.rmdir('folder')
    attempt(os.stat, 'folder')
ring(4, 20, act)
"""
LOCK = """
def act(number, turn):
    for i in range(3): # the lock goes from one process to the next
        if attempt(make, 'lock', b'', os.O_CREAT | os.O_EXCL) is None and turn % 2: os.unlink('lock')
    if os.access('lock', os.F_OK): os.rename('lock', 'unlocked')
    attempt(os.unlink, 'unlocked')
ring(3, 10, act)
"""
SIZES = """
def act(number, turn):
    if number == 0: os.pwrite(fd, bytes(1000), 1000 * (turn % 5))
    if number == 1: os.lseek(own, 0, os.SEEK_END)
    if number == 2: os.pread(own, 10000, 500)
    if number == 3 and turn % 5 == 4: os.ftruncate(own, 0)
    if number == 3 and turn % 5 != 4: os.pread(own, 10, 1000 * (turn % 5))
fd = os.open('data', os.O_RDWR | os.O_CREAT)
own = os.open('data', os.O_RDWR)
ring(4, 20, act)
"""
APPENDED = """
def act(number, turn): make('log', bytes(10 * number + turn + 1), os.O_CREAT | os.O_APPEND)
ring(3, 20, act)
"""
# A process that begins with a file that another one had open, and another program in the same process.
EXEC = """
fd = os.open('made', os.O_RDWR | os.O_CREAT)
os.set_inheritable(fd, True)
os.write(fd, bytes(5000))
if os.fork() == 0:
    os.execv(sys.executable, [sys.executable, '-S', '-E', '-c', '''import os
os.pread(%d, 5000, 0)
os.rename('made', 'ready')
''' % fd])
os.wait()
os.stat('ready')
os.unlink('ready')
"""


class Processes(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.target = self.path('target')
        os.mkdir(self.target)

    def replay(self, log, *options):
        return self.json('replay', log, '--on', self.target, '--json', '--no-think', *options)

    def alike(self, log, *options):
        for _ in range(3):
            found = self.replay(log, *options)
            self.assertEqual((found['similarity'], found['difference']), (1, None), options)

    def record_ring(self, program):
        return self.record_python(RING + program)

    def test_names(self):
        self.alike(self.record_ring(NAMES))

    def test_lock(self):
        self.alike(self.record_ring(LOCK))

    def test_sizes(self):
        self.alike(self.record_ring(SIZES), '--verify')

    def test_appended(self):
        self.alike(self.record_ring(APPENDED))

    def test_exec(self):
        self.alike(self.record_ring(EXEC))

    def test_chosen_phases(self):
        """Operations of phases that are left out count as done."""
        log = self.record_ring(SIZES)
        for phase in self.json('phases', '--json', log)['phases']:
            self.replay(log, '--phases', str(phase['id']))

    def test_other_numbers_of_processes(self):
        log = self.record_ring(APPENDED)
        self.assertEqual(self.replay(log, '--np', '7')['np'], 7)

    def test_structure_has_no_waits(self):
        log = self.record_ring(NAMES)
        model = self.json('model', log)
        self.assertTrue(any(wait.get('behind_rank') != wait['rank'] for wait in model['observed'].pop('waits')))
        with open(self.path('without'), 'w', encoding='utf-8') as out:
            json.dump(model, out)
        self.assertTrue(self.json('diff', '--json', log, self.path('without'))['equal'])

    def test_stalled(self):
        """Who waits for whom, if a process does not go on."""
        log = self.record_ring(NAMES)
        replay = subprocess.Popen([IOSEER, 'replay', log, '--on', self.target, '--no-similarity', '--no-think', '--stall',
                                   '2s', '--null', '100000000'], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        end = time.monotonic() + PATIENCE_SECONDS
        while len(self.grandchildren(replay.pid)) < 4 and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(1)  # it takes half a minute
        os.kill(int(self.grandchildren(replay.pid)[1]), signal.SIGSTOP)
        errors = replay.communicate(timeout=PATIENCE_SECONDS)[1]
        self.assertEqual(replay.returncode, 1)
        self.assertRegex(errors, r'stalled: no operation ended for .*rank \d waits in \w+ \(file \w+\) for rank 2')

    def children(self, pid):
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
            return file.read().split()

    def grandchildren(self, pid):
        try:
            return [found for child in self.children(pid) for found in self.children(child)]
        except FileNotFoundError:  # the child that prepared the files
            return []

    @unittest.skipUnless(shutil.which('rsync'), 'rsync is not installed')
    def test_rsync(self):
        for number in range(50):
            os.makedirs(self.path(f'tree/{number % 7}'), exist_ok=True)
            with open(self.path(f'tree/{number % 7}/{number}'), 'wb') as out:
                out.write(bytes(number * 1000))
        self.alike(self.record('rsync', '-a', 'tree/', 'copy', cwd=self.folder))

    @unittest.skipUnless(shutil.which('git'), 'git is not installed')
    def test_git(self):
        def git(*words):
            return ['git', '-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'protocol.file.allow=always', *words]
        subprocess.run(git('init', '-q', 'tree'), check=True, cwd=self.folder)
        for number in range(30):
            with open(self.path(f'tree/{number}'), 'w', encoding='ascii') as out:
                out.write(str(number) * 1000)
            subprocess.run(git('add', str(number)), check=True, cwd=self.path('tree'))
        subprocess.run(git('commit', '-q', '-m', 'all'), check=True, cwd=self.path('tree'))
        self.alike(self.record(*git('clone', '-q', '--no-local', 'tree', 'copy'), cwd=self.folder))
        self.alike(self.record(*git('gc', '-q'), cwd=self.path('tree'), name='gc.ioseer'))

    def test_other_programs(self):
        """A replay runs one program of the job. What others made, removed or wrote before is as it was then; what others
        made in a folder of the program comes when the program needs it."""
        script = '''echo 12345 > made; mkdir -p in/sub; echo 1 > in/sub/file; rm gone; echo more >> grown
python3 -S -E -c "$1"; rm made'''
        for name in 'gone', 'grown':
            with open(self.path(name), 'w', encoding='ascii') as out:
                out.write('before\n')
        self.alike(self.record('sh', '-c', script, 'sh', '''import os, subprocess
def attempt(call, *arguments):
    try: return call(*arguments)
    except OSError: pass
for name in 'made', 'in/sub/file', 'grown', 'later', 'new/by others': attempt(os.stat, name)
for name in 'made', 'grown', 'in/sub/file':
    fd = os.open(name, os.O_RDONLY)
    os.lseek(fd, 0, os.SEEK_END)
    os.pread(fd, 1000, 0)
attempt(os.open, 'gone', os.O_RDONLY)
os.mkdir('new')
subprocess.run(['sh', '-c', 'echo 123 > new/byothers; mkdir new/folder; echo 45 > new/folder/file; echo 6789 > later'])
for name in 'new/byothers', 'new/folder/file', 'later':
    fd = os.open(name, os.O_RDONLY)
    os.read(fd, 100)
    os.unlink(name)
data = os.open('data', os.O_WRONLY | os.O_CREAT)
for i in range(100): os.write(data, bytes(10000))
''', cwd=self.folder))

    def test_socket(self):
        """No call of the log makes the name."""
        self.alike(self.record_python('''import os, socket
try: os.unlink('socket')
except OSError: pass
socket.socket(socket.AF_UNIX).bind('socket')
os.chmod('socket', 0o700)
os.unlink('socket')
fd = os.open('data', os.O_WRONLY | os.O_CREAT)
os.write(fd, bytes(1000))
'''))

    def test_calls_without_a_file(self):
        """Among many metadata calls: a model of them could not be made."""
        self.alike(self.record_python('''import ctypes, os, random
random.seed(3)
libc = ctypes.CDLL(None)
fd = os.open('data', os.O_RDWR | os.O_CREAT)
calls = [lambda i: os.mkdir('d%d' % i), lambda i: os.stat('data'), lambda i: os.chmod('data', 0o600),
         lambda i: os.access('data', 0), lambda i: os.link('data', 'l%d' % i), lambda i: libc.fflush(None)]
for k in range(3):
    for i in range(4): os.write(fd, bytes(1000))
    for i in range(60):
        libc.fflush(None)
        random.choice(calls)(100 * k + i)
for i in range(4): os.write(fd, bytes(1000))
'''))

    def test_mapped_twice(self):
        self.alike(self.record_python('''import mmap, os
fd = os.open('data', os.O_RDWR | os.O_CREAT)
os.write(fd, bytes(10000))
maps = [mmap.mmap(fd, 10000) for _ in range(3)]
'''))


if __name__ == '__main__':
    main()
