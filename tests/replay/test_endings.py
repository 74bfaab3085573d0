#!/usr/bin/env python3
"""test_endings.py: a replay that ends early says why, and leaves no file, folder or process behind."""
import copy
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.dont_write_bytecode = True

from harness import BUILD, IOSEER, CommandLineTest, main  # noqa: E402

PATIENCE_SECONDS = 60
LAUNCHERS = {
    'mpich': ['mpiexec.mpich'],
    'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe'],
}


def processes(*words):
    """Processes with all the words in their command lines."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                line = file.read().decode(errors='replace')
        except OSError:
            continue
        if all(word in line for word in words):
            found.append(int(pid))
    return found


def wait_until(condition):
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


class Endings(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.target, self.work = self.path('target'), self.path('work')
        os.mkdir(self.target)
        os.mkdir(self.work)
        random.seed(5)

    def log(self, mpi=None):
        if not mpi:  # its replay takes some seconds
            return self.record_python("""import os, time
fd = os.open('x', os.O_RDWR | os.O_CREAT)
for _ in range(40):
    os.write(fd, bytes(10000))
    time.sleep(0.05)
""")
        program = os.path.join(BUILD, 'examples', f'madbench-{mpi}')
        if not os.path.exists(program) or not shutil.which(LAUNCHERS[mpi][0]):
            self.skipTest(f'no {mpi}')
        return self.record(*LAUNCHERS[mpi], '-n', '2', program, '--bins', '4', '--size', '4096', cwd=self.folder)

    def start(self, log, repeat=1000):
        return subprocess.Popen([IOSEER, 'replay', log, '--on', self.target, '--repeat', str(repeat)], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, 'TMPDIR': self.work})

    def check_nothing_left(self):
        self.assertTrue(wait_until(lambda: not os.listdir(self.target)), os.listdir(self.target))
        self.assertTrue(wait_until(lambda: not os.listdir(self.work)), os.listdir(self.work))
        for folder in self.target, self.work:
            self.assertTrue(wait_until(lambda: not processes(folder)), processes(folder))

    def kill_one(self, number, words):
        for pid in processes(self.work, *words)[:1]:  # runs are short: it may have ended
            try:
                os.kill(pid, number)
                return True
            except ProcessLookupError:
                pass
        return False

    def end(self, log, number, *words):
        """Sends the signal to the replay, or to a process with these words; returns its status and what it said."""
        replay = self.start(log)
        wait_until(lambda: processes('ioseer-replay-', self.work, *words) or replay.poll() is not None)
        time.sleep(random.random() / 2)
        if words:
            wait_until(lambda: self.kill_one(number, words) or replay.poll() is not None)
        else:
            replay.send_signal(number)
        _, errors = replay.communicate(timeout=PATIENCE_SECONDS)
        self.check_nothing_left()
        return replay.returncode, errors

    def test_interrupted(self):
        log = self.log()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.assertEqual(self.end(log, number)[0], 128 + number)

    def test_interrupted_between_runs(self):
        """Where runs are short, most of the time passes between them."""
        log = self.record_python("open('x', 'w').write('x')")
        for _ in range(12):
            self.assertEqual(self.end(log, signal.SIGINT)[0], 128 + signal.SIGINT)

    def test_killed(self):
        log = self.log()
        for _ in range(4):
            self.assertEqual(self.end(log, signal.SIGKILL)[0], -signal.SIGKILL)

    def test_guard_killed(self):
        """A replay whose guard is gone ends as any other."""
        log = self.log()
        with self.start(log, repeat=1) as replay:
            guards = lambda: [pid for pid in processes(IOSEER, 'replay', self.target) if os.getsid(pid) == pid]
            self.assertTrue(wait_until(guards))
            os.kill(guards()[0], signal.SIGKILL)
            self.assertTrue(wait_until(lambda: not guards()))
            _, errors = replay.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual((replay.returncode, errors), (0, ''))
        self.check_nothing_left()

    def test_runner_killed(self):
        status, errors = self.end(self.log(), signal.SIGKILL, 'ioseer-replay-serial')
        self.assertEqual(status, 1, errors)
        self.assertRegex(errors, '^ioseer replay: .*(signal 9|failed)')

    def check_mpi(self, mpi):
        log = self.log(mpi)
        self.assertEqual(self.end(log, signal.SIGKILL)[0], -signal.SIGKILL)
        self.assertEqual(self.end(log, signal.SIGINT)[0], 128 + signal.SIGINT)
        for words in ([f'ioseer-replay-{mpi}', 'mpiexec'], [f'src/replay/ioseer-replay-{mpi}\0']):
            status, errors = self.end(log, signal.SIGKILL, *words)
            self.assertEqual(status, 1, errors)
            self.assertRegex(errors, '^ioseer replay: the runner failed: .')

    def test_mpich(self):
        self.check_mpi('mpich')

    def test_open_mpi(self):
        self.check_mpi('openmpi')

    def stalled(self, *words):
        """Runs ioseer, which must notice in time that nothing goes on; gives what it said."""
        done = subprocess.run([IOSEER, *words, '--stall', '3s'], capture_output=True, text=True, timeout=PATIENCE_SECONDS,
                              env={**os.environ, 'TMPDIR': self.work})
        self.assertEqual((done.returncode, done.stdout), (1, ''), done.stderr)
        self.check_nothing_left()
        return done.stderr

    def check_deadlock(self, mpi):
        """A model in which rank 3 closes the file while the others write to it together."""
        program = os.path.join(BUILD, 'examples', f'ior-{mpi}')
        if not os.path.exists(program) or not shutil.which(LAUNCHERS[mpi][0]):
            self.skipTest(f'no {mpi}')
        model = self.json('model', self.record(*LAUNCHERS[mpi], '-n', '4', program, '--block', '8192', '--transfer', '4096',
                                               '--collective', cwd=self.folder))
        del model['observed']
        family = model['structure']['families'][0]
        family['parts'][0]['ranks'] = '0-2'
        family['weight'] = family['weight'] // 4 * 3
        family['others'].append(copy.deepcopy(family['others'][0]))
        family['others'][0]['ranks'], family['others'][1]['ranks'] = '0-2', '3'
        del family['others'][1]['items'][-1]['after']
        with open(self.path('model'), 'w', encoding='utf-8') as out:
            json.dump(model, out)
        what = r'\(file ior.dat, communicator world\)'
        where = r'stalled: no operation ended for \d+ s: ranks 0-2 wait in MPI_File_write_at_all ' \
                f'{what}, rank 3 waits in MPI_File_close {what}\n$'
        words = (self.path('model'), '--on', self.target, '--launcher', ' '.join(LAUNCHERS[mpi]) + ' -n {np}')
        self.assertRegex(self.stalled('replay', *words), f'^ioseer replay: {where}')
        self.assertRegex(self.stalled('predict', *words), f'^ioseer predict: {self.target}: {where}')

    def test_deadlock_mpich(self):
        self.check_deadlock('mpich')

    def test_deadlock_open_mpi(self):
        self.check_deadlock('openmpi')

    def test_processes_that_do_not_start(self):
        if not shutil.which('mpiexec.mpich'):
            self.skipTest('no mpich')
        found = self.stalled('replay', self.log('mpich'), '--on', self.target, '--launcher', 'tail -f')
        self.assertRegex(found, r'^ioseer replay: stalled: no process has started for \d+ s\n$')

    def test_stopped(self):
        """Without MPI: a process that does not go on. Pauses longer than --stall are not a stall."""
        log = self.record_python("""import os, time
fd = os.open('x', os.O_RDWR | os.O_CREAT)
for _ in range(3):
    os.write(fd, bytes(10000))
    time.sleep(5)
""")
        self.expect(0, 'replay', log, '--on', self.target, '--stall', '2s', '--no-similarity')
        replay = subprocess.Popen([IOSEER, 'replay', log, '--on', self.target, '--stall', '2s', '--no-think', '--repeat',
                                   '1000'], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env={**os.environ, 'TMPDIR': self.work})
        self.assertTrue(wait_until(lambda: self.kill_one(signal.SIGSTOP, ['ioseer-replay-serial'])))
        _, errors = replay.communicate(timeout=PATIENCE_SECONDS)
        self.assertRegex(errors, r'^ioseer replay: stalled: no (operation ended|process has started) for \d+ s')
        self.assertEqual(replay.returncode, 1)
        self.check_nothing_left()

    def on_tmpfs(self, options, *replay):
        """Replays on a private file system in memory; returns status, errors and what is left there."""
        if os.geteuid() or not shutil.which('unshare'):
            self.skipTest('needs root')
        script = 'mount -t tmpfs -o "$1" none "$2" && shift 2 && "$@"; status=$?; ls -A "$0"; exit $status'
        done = subprocess.run(['unshare', '-m', 'sh', '-c', script, self.target, options, self.target, IOSEER, 'replay',
                               *replay, '--on', self.target, '-o', '/dev/null'], capture_output=True, text=True,
                              timeout=PATIENCE_SECONDS, env={**os.environ, 'TMPDIR': self.work})
        self.assertEqual(os.listdir(self.work), [])
        return done.returncode, done.stderr, done.stdout

    def test_too_little_space(self):
        status, errors, left = self.on_tmpfs('size=64k', self.log())
        self.assertEqual((status, left), (1, ''), errors)
        self.assertRegex(errors, r'^ioseer replay: \S+: needs .* are free\n$')

    def test_full(self):
        # There is room for bytes, but not for names: the target fills up while the replay runs.
        status, errors, left = self.on_tmpfs('size=8M,nr_inodes=4', self.log())
        self.assertEqual((status, left), (1, ''), errors)
        self.assertRegex(errors, r'^ioseer replay: .*No space left on device\n$')

    def test_read_only(self):
        status, errors, left = self.on_tmpfs('ro', self.log())
        self.assertEqual((status, left), (1, ''), errors)
        self.assertRegex(errors, r'^ioseer replay: \S+: Read-only file system\n$')

    def test_kept_files_stay(self):
        log = self.log()
        self.expect(0, 'replay', log, '--on', self.target, '--keep', '-q')
        kept = os.listdir(self.target)
        self.assertEqual(len(kept), 1)
        self.expect(0, 'replay', log, '--on', self.target)
        self.assertEqual(os.listdir(self.target), kept)


if __name__ == '__main__':
    main()
