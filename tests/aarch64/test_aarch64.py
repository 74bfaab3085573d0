#!/usr/bin/env python3
"""ioseer for 64-bit ARM: built here, run under QEMU. Programs are recorded on both processors, and both must give the same
events. Speaks TAP.

In a user namespace of its own the kernel starts programs for ARM by QEMU (binfmt_misc, Linux 6.7): the machine is as
before. Without that, a program for ARM cannot start another one: what needs exec is skipped.
"""
import collections
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'cli'))
sys.dont_write_bytecode = True

import harness  # noqa: E402

ARM_BUILD = os.path.join(harness.BUILD, 'aarch64')
RUN = os.path.join(ARM_BUILD, 'run')
PROGRAMS = ('calls', 'streams', 'threads', 'processes')
CALL_PROGRAMS = ('aio', 'each', 'positions', 'names', 'copies', 'streams', 'messages', 'processes', 'lookups', 'own')
# What QEMU's kernel lacks: RWF_APPEND, execveat, seccomp; a program that is open for this process only has no name for QEMU.
NOT_IN_QEMU = ('RWF_APPEND: the true offset', 'RWF_APPEND at the position', 'execveat', 'prctl', 'fexecve')
TARGETS = ('ioseer', 'src/rec/libioseer.so', 'src/rec/ioseer-follow', 'tests/call/libcall-late.so',
           *(f'tests/call/call-{name}' for name in CALL_PROGRAMS), *(f'tests/oracle/oracle-{name}' for name in PROGRAMS),
           'tests/oracle/oracle-streams-linked', 'tests/oracle/oracle-processes-linked')
ASSEMBLER = ('/rec/cpu.c', '/rec/dlsym.c', '/rec/mpi/stubs.c', '/rec/stdio/error_messages.c')
# An ELF file of 64 bits for the machine 183, a program or a shared object; the mask leaves out what may differ.
MAGIC = r'\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
MASK = r'\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
KERNEL = '/proc/sys/fs/binfmt_misc'
NO_EXEC = 'programs for ARM cannot be started here: no private binfmt_misc (Linux 6.7)'
LARGE_PAGE = 65536
RANDOM_NAME = re.compile(r'(/temporary|/tmp/#)\w+$')

Machine = collections.namedtuple('Machine', 'name build before')
ARM = Machine('aarch64', ARM_BUILD, [RUN])
HERE_TOO = Machine('x86-64', harness.BUILD, [])


def build():
    """Gives why there is no build for ARM, or None. It is kept; later runs build what has changed."""
    made = subprocess.run([os.path.join(harness.SOURCE, 'tools', 'configure-aarch64'), ARM_BUILD], capture_output=True, text=True)
    if made.returncode == 77:
        return made.stderr.strip().split('\n')[-1]
    if made.returncode == 0:
        made = subprocess.run(['ninja', '-C', ARM_BUILD, *TARGETS], capture_output=True, text=True)
    if made.returncode:
        print('\n'.join(f'# {line}' for line in (made.stdout + made.stderr).strip().split('\n')[-40:]))
        print('1..1\nnot ok 1 - build for ARM')
        sys.exit(1)
    return None


def enter_namespace():
    """Begins again in a namespace in which the kernel runs programs for ARM, if it can have one."""
    register = f'mount -t binfmt_misc binfmt_misc {KERNEL} && printf %s "$1" >{KERNEL}/register && shift && exec "$@"'
    words = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', register, 'sh', f':arm:M::{MAGIC}:{MASK}:{RUN}:']
    program = os.path.join(ARM_BUILD, 'ioseer')
    if shutil.which('unshare') and harness.run(*words, program, '--version').returncode == 0:
        os.execvp(words[0], [*words, sys.executable, os.path.abspath(__file__), '--inside', *sys.argv[1:]])


def can_exec():
    return os.path.exists(os.path.join(KERNEL, 'arm'))


class Recorded(harness.CommandLineTest):
    def setUp(self):
        super().setUp()
        self.work = self.path('work')
        self.maxDiff = 4000

    def ioseer(self, machine, *words):
        done = harness.run(*machine.before, os.path.join(machine.build, 'ioseer'), *words)
        self.assertEqual((done.returncode, done.stderr), (0, b''), (machine.name, words))
        return done.stdout

    def run_program(self, machine, program, *arguments, **environment):
        """Runs a program in an empty folder with the recorder, which gets its variables as `record` sets them. Gives the
        folder of the spill files and the outcome."""
        job = self.path(f'{machine.name}.job')
        for folder in (self.work, job):
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
        variables = {'IOSEER_JOB': job, **environment}
        if not program.endswith('-linked'):
            variables['LD_PRELOAD'] = os.path.join(machine.build, 'src', 'rec', 'libioseer.so')
        return job, harness.run(*machine.before, os.path.join(machine.build, 'tests', 'oracle', f'oracle-{program}'), *arguments,
                                cwd=self.work, env={**os.environ, **variables})

    def pack(self, machine, job, name):
        self.ioseer(machine, 'pack', '-q', '--force', job, '-o', self.path(name))
        return self.path(name)

    def record(self, machine, program, *arguments, **environment):
        """Gives the log and the outcome."""
        job, done = self.run_program(machine, program, *arguments, **environment)
        return self.pack(machine, job, f'{machine.name}.ioseer'), done

    def record_below(self, machine, program, *arguments):
        """The same with `ioseer record`."""
        shutil.rmtree(self.work, ignore_errors=True)
        os.mkdir(self.work)
        log = self.path(f'{machine.name}.ioseer')
        done = harness.run(*machine.before, os.path.join(machine.build, 'ioseer'), 'record', '-q', '--force', '-o', log, '--',
                           os.path.join(machine.build, 'tests', 'oracle', f'oracle-{program}'), *arguments, cwd=self.work)
        return log, done

    def dump(self, machine, log):
        return json.loads(self.ioseer(machine, 'dump', '--json', log))

    def info(self, machine, log):
        return json.loads(self.ioseer(machine, 'info', '--json', log))

    def threads(self, events):
        """Each thread's events as they would be on any machine: numbers of descriptors, which depend on the order of
        threads, and addresses are left out."""
        found = collections.defaultdict(list)
        for event in events:
            file = RANDOM_NAME.sub(r'\1', event['file'] or '')
            result = event['result']
            if event['op'] == 'mmap' or (event['class'] == 'open' and result >= 0):
                result = 'made'
            found[event['pid'], event['tid']].append((event['layer'], event['op'], event['class'], file, event['offset'],
                                                      event['size'], result, event['errno']))
        return sorted(found.values())

    def assert_same(self, here, there):
        """Both machines recorded the same."""
        (here_log, here_done), (there_log, there_done) = here, there
        self.assertEqual((there_done.returncode, there_done.stdout), (here_done.returncode, here_done.stdout), there_done.stderr)
        expected, found = (self.threads(self.dump(*pair)) for pair in ((HERE_TOO, here_log), (ARM, there_log)))
        self.assertGreater(sum(map(len, expected)), 0)
        self.assertEqual([len(events) for events in found], [len(events) for events in expected])
        for a, b in zip(expected, found):
            self.assertEqual(b, a)
        self.assertEqual([self.totals(HERE_TOO, here_log)], [self.totals(ARM, there_log)])

    def totals(self, machine, log):
        info = self.info(machine, log)
        files = {RANDOM_NAME.sub(r'\1', row['name']): (row['bytes_read'], row['bytes_written'], row['opens'])
                 for row in info['files'] if row['name'].startswith(self.work)}
        return info['events'], info['lost_events'], files, sorted(row['exit'] for row in info['processes'])

    def compare(self, program, *arguments):
        self.assert_same(self.record(HERE_TOO, program, *arguments), self.record(ARM, program, *arguments))

    def compare_below(self, program, *arguments):
        if not can_exec():
            self.skipTest(NO_EXEC)
        self.assert_same(self.record_below(HERE_TOO, program, *arguments), self.record_below(ARM, program, *arguments))


class Programs(Recorded):
    def test_posix(self):
        self.compare('calls')

    def test_stdio(self):
        self.compare('streams')

    def test_fork(self):
        for verb in ('fork', 'many'):
            with self.subTest(verb):
                self.compare('processes', verb)

    def test_ends(self):
        for verb in ('_exit', 'abort', 'chdir', 'close-all', 'file-limit'):
            with self.subTest(verb):
                self.compare('processes', verb)

    def test_recorder_in_a_static_program(self):
        self.compare('streams-linked')
        self.compare('processes-linked', 'fork')

    def test_threads(self):
        """Offsets of appended bytes depend on the order of the threads."""
        (here, _), (there, done) = (self.record(machine, 'threads', '8') for machine in (HERE_TOO, ARM))
        self.assertEqual((done.returncode, done.stdout), (0, b'640 of 640\n'))
        expected, found = ([[event if not event[3].endswith('/appended') else event[:4] + event[5:] for event in thread]
                            for thread in self.threads(self.dump(*pair))] for pair in ((HERE_TOO, here), (ARM, there)))
        self.assertEqual(sorted(found), sorted(expected))
        appended = sorted(event['offset'] for event in self.dump(ARM, there)
                          if event['op'] == 'write' and event['file'].endswith('/appended'))
        self.assertEqual(appended, list(range(0, 8 * 20 * 512, 512)))

    def test_kill(self):
        """Each call that had returned is in the log, and at most one more."""
        log, done = self.record(ARM, 'processes', 'kill')
        self.assertIn(done.returncode, (-9, 137))
        with open(os.path.join(self.work, 'progress'), 'rb') as file:
            completed = int.from_bytes(file.read(8), 'little')
        writes = [event for event in self.dump(ARM, log) if event['op'] == 'pwrite']
        self.assertIn(len(writes) - completed, (0, 1))
        self.assertEqual([event['offset'] for event in writes], [i % 64 * 4096 for i in range(len(writes))])
        self.assertEqual(self.info(ARM, log)['lost_events'], 0)

    def test_times(self):
        """The counter of the processor and the clock agree: the program ran as long as we waited, at most."""
        log, _ = self.record(ARM, 'calls')
        info, events = self.info(ARM, log), self.dump(ARM, log)
        run_time = info['processes'][0]['run_time']
        self.assertLess(info['job']['start'], info['job']['end'])
        self.assertTrue(all(0 <= event['start'] <= run_time and 0 <= event['duration'] <= run_time for event in events))
        self.assertGreater(len({event['start'] for event in events}), len(events) // 2)


class Logs(Recorded):
    def test_either_machine_reads_the_other_log(self):
        for machine in (HERE_TOO, ARM):
            log, _ = self.record(machine, 'calls')
            for words in (('dump', '--json'), ('info', '--json'), ('stats', '--json'), ('phases', '--json')):
                with self.subTest(words[0], log=machine.name):
                    self.assertEqual(json.loads(self.ioseer(HERE_TOO, *words, log)), json.loads(self.ioseer(ARM, *words, log)))

    def test_either_machine_packs_the_other_spill_files(self):
        for machine, other in ((HERE_TOO, ARM), (ARM, HERE_TOO)):
            with self.subTest(machine.name):
                job, _ = self.run_program(machine, 'processes', 'fork')
                copy = shutil.copytree(job, self.path(f'{machine.name}.copy'), symlinks=True)
                logs = self.pack(machine, job, 'own.ioseer'), self.pack(other, copy, 'other.ioseer')
                own, others = (self.dump(HERE_TOO, log) for log in logs)
                self.assertEqual(own, others)


class Compilers(harness.CommandLineTest):
    def test_clang(self):
        """It takes what is written for the assembler, too."""
        if not shutil.which('clang'):
            self.skipTest('no clang here')
        with open(os.path.join(ARM_BUILD, 'compile_commands.json'), encoding='utf-8') as file:
            rows = [row for row in json.load(file) if row['output'].startswith(('src/rec/libioseer.so.p', 'src/rec/librec-lookups'))]
        rows = [row for row in rows if row['file'].endswith(ASSEMBLER)]
        self.assertEqual(len(rows), len(ASSEMBLER))
        for row in rows:
            words = shlex.split(row['command'].split(' -MD ')[0])
            words = words[next(i for i, word in enumerate(words) if word.endswith('gcc')) + 1:]
            done = harness.run('clang', '--target=aarch64-linux-gnu', '-isystem', '/usr/aarch64-linux-gnu/include', '-Werror',
                               *words, '-o', self.path('object'), '-c', row['file'], cwd=row['directory'])
            self.assertEqual((done.returncode, done.stderr), (0, b''), row['file'])


class Pages(Recorded):
    def test_large_pages(self):
        """What the recorder asks of the kernel begins at whole pages, where these are of 64 KiB, too."""
        log, done = self.record(ARM, 'processes', 'memory-limit', QEMU_PAGESIZE=str(LARGE_PAGE), QEMU_STRACE='1')
        calls = re.findall(r'(madvise|munmap|mprotect)\((0x[0-9a-f]+),', done.stderr.decode())
        wrong = [call for call in calls if int(call[1], 16) % LARGE_PAGE]
        self.assertEqual({name for name, _ in calls} & {'madvise', 'munmap'}, {'madvise', 'munmap'})
        self.assertEqual(wrong, [])
        self.assertEqual(self.info(ARM, log)['lost_events'], 0)


class Commands(Recorded):
    """What needs exec."""

    def test_record(self):
        self.compare_below('calls')

    def test_children(self):
        for words in (('vfork',), ('spawn',), ('chain', '3'), ('fork',)):
            with self.subTest(words[0]):
                self.compare_below('processes', *words)

    def test_kill(self):
        if not can_exec():
            self.skipTest(NO_EXEC)
        log, done = self.record_below(ARM, 'processes', 'kill')
        self.assertEqual(done.returncode, 128 + 9)
        self.assertEqual([row['exit'] for row in self.info(ARM, log)['processes']], ['signal 9'])

    def test_every_call(self):
        """The programs of the suite `call`: each function of the table, bare and recorded. Of a call that failed the recorder
        copies names and vectors by process_vm_readv, which QEMU lacks. Its counter moves once in a microsecond. Linux for ARM
        has no system calls that others have replaced."""
        if not can_exec():
            self.skipTest(NO_EXEC)
        programs = [os.path.join(ARM_BUILD, 'tests', 'call', f'call-{name}') for name in CALL_PROGRAMS]
        without = [f'--without={name}' for name in ('libaio', 'liburing', 'HDF5', 'PnetCDF', 'NetCDF')]
        done = harness.run(sys.executable, os.path.join(harness.SOURCE, 'tests', 'call', 'run.py'), *without, *programs,
                           env={**os.environ, 'IOSEER_BUILD': ARM_BUILD}, timeout=600)
        cases = re.findall(r'^(not ok|ok) \d+ - (.*)\n((?:#.*\n)*)', done.stdout.decode(), re.MULTILINE)
        self.assertGreater(len(cases), 700, done.stderr)
        expected = re.compile(r'.*(result=-1|call_time 0\.0,|no case: syscall\()')
        wrong = [case for case in cases if case[0] == 'not ok' and case[1] not in NOT_IN_QEMU and
                 not (case[2] and all(map(expected.match, case[2].splitlines())))]
        self.assertEqual(wrong, [])

    def test_doctor(self):
        if not can_exec():
            self.skipTest(NO_EXEC)
        done = harness.run(*ARM.before, os.path.join(ARM.build, 'ioseer'), 'doctor', '--json')
        checks = {row['name']: row for row in json.loads(done.stdout)['checks']}
        self.assertEqual([checks[name]['ok'] for name in ('library', 'recording')], [True, True], checks)
        self.assertIn('constant rate', checks['clock']['detail'])


if '--inside' in sys.argv:
    sys.argv.remove('--inside')
else:
    reason = build()
    if reason:
        print(f'1..0 # SKIP {reason}')
        sys.exit(0)
    enter_namespace()
harness.main()
