#!/usr/bin/env python3
"""Programs that are linked with ioseer record themselves: by themselves without a dynamic loader, together with the
preload library with one. Speaks TAP. The suite `oracle` compares static ones with strace, call by call."""
import collections
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'cli'))
sys.dont_write_bytecode = True

import harness  # noqa: E402

CONFIG = os.path.join(harness.BUILD, 'ioseer-config')
BYTES = 5000
RANKS, BLOCKS, BLOCK_BYTES = 2, 5, 4096


def flags(*options):
    return subprocess.check_output([CONFIG, *options, '--ldflags'], text=True).split()


class LinkTest(harness.CommandLineTest):
    def build(self, source, *options, compiler='cc', name='program'):
        """Compiles and links a program. The linker must have nothing to say about the recorder."""
        program = self.path(name)
        done = harness.run(compiler, '-o', program, *options[:options.index('--')], os.path.join(HERE, source),
                           *options[options.index('--') + 1:])
        self.assertEqual(done.returncode, 0, done.stderr.decode()[-2000:])
        warnings = [line for line in done.stderr.decode().split('\n') if 'ioseer' in line]
        self.assertEqual(warnings, [])
        return program

    def written(self, log, names=('data', 'stream')):
        events = self.json('dump', '--json', log)
        return sum(event['result'] for event in events
                   if event['class'] == 'write' and os.path.basename(event['file'] or '') in names)

    def check(self, program, via, *arguments, status=0, processes=1):
        """Records the program: each byte is in the log once."""
        log = self.record(program, *arguments, cwd=self.folder, status=status, options=('--force',))
        info = self.json('info', '--json', log)
        self.assertEqual(self.written(log), BYTES * processes)
        self.assertEqual({(row['via']) for row in info['processes']}, via)
        self.assertEqual((info['coverage']['unseen'], info['coverage']['write'], info['lost_events']), ([], 1, 0))
        self.assertLessEqual(info['coverage']['read'], 1)
        for name in ('data', 'stream'):
            os.unlink(self.path(name))
        return info['processes']


class Programs(LinkTest):
    def test_static(self):
        program = self.build('program.c', '-static', '--', *flags())
        self.assertEqual([row['exit'] for row in self.check(program, {'link'})], ['clean'])
        self.check(program, {'link'}, 'thread')
        self.assertEqual(sorted(row['exit'] for row in self.check(program, {'link'}, 'fork')), ['_exit', 'clean'])
        killed = self.check(program, {'link'}, 'kill', status=128 + 9)
        self.assertEqual([row['exit'] for row in killed], ['signal 9'])

    def test_static_position_independent(self):
        program = self.build('program.c', '-static-pie', '-fPIE', '--', *flags())
        self.check(program, {'link'})

    def test_flags_before_the_objects(self):
        self.check(self.build('program.c', '-static', *flags(), '--'), {'link'})

    def test_dynamic(self):
        """The preload library sees more, and the linked recorder leaves all to it."""
        self.check(self.build('program.c', '--', *flags()), {'preload'})
        self.check(self.build('program.c', '-no-pie', '--', *flags()), {'preload'})

    def test_dynamic_without_preload(self):
        program = self.build('program.c', '--', *flags())
        os.mkdir(self.path('job'))
        harness.run(program, cwd=self.folder, env={**os.environ, 'IOSEER_JOB': self.path('job')})
        self.expect(0, 'pack', '-q', self.path('job'), '-o', self.path('log'))
        self.assertEqual(self.written(self.path('log')), BYTES)
        self.assertEqual({event['via'] for event in self.json('dump', '--json', self.path('log'))}, {'link'})

    def test_unrecorded(self):
        program = self.build('program.c', '-static', '--', *flags())
        before = set(os.listdir(self.folder))
        self.assertEqual(harness.run(program, cwd=self.folder, env={}).returncode, 0)
        self.assertEqual(set(os.listdir(self.folder)) - before, {'data', 'stream'})

    def test_exec_of_other_kinds(self):
        """A linked program is followed neither when `record` starts it nor when another one does."""
        linked = self.build('program.c', '-static', '--', *flags(), name='linked')
        static = self.build('program.c', '-static', '--', name='static')
        dynamic = self.build('program.c', '--', name='dynamic')
        self.check(linked, {'link', 'preload'}, '', dynamic, processes=2)
        self.check(linked, {'link', 'ptrace'}, '', static, processes=2)
        self.check(static, {'link', 'ptrace'}, '', linked, processes=2)
        self.check(dynamic, {'link', 'preload'}, '', linked, processes=2)
        moved = self.build('program.c', '-static-pie', '-fPIE', '--', *flags(), name='moved')
        self.check(static, {'link', 'ptrace'}, '', moved, processes=2)
        self.check(linked, {'link'}, '', linked, processes=2)

    def test_followed_if_the_user_wants(self):
        program = self.build('program.c', '-static', '--', *flags())
        log = self.record(program, cwd=self.folder, options=('--ptrace',))
        self.assertEqual(self.written(log), BYTES)
        self.assertEqual({event['via'] for event in self.json('dump', '--json', log)}, {'ptrace'})

    def test_clashing_names(self):
        """Names of the recorder's own functions are free for the program."""
        with open(self.path('names.c'), 'w', encoding='utf-8') as out:
            out.write('int emit(void), recorder(void), real(void), spill_create(void);\n'
                      'int emit(void) { return 1; } int recorder(void) { return 2; } int real(void) { return 3; }\n'
                      'int spill_create(void) { return 4; }\n')
        program = self.build('program.c', '-static', self.path('names.c'), '--', *flags())
        self.check(program, {'link'})

    def test_other_version(self):
        """A recorder whose files this ioseer cannot read is off, and its program is followed, whoever starts it."""
        linked = self.build('program.c', '-static', '--', *flags(), name='linked')
        with open(linked, 'rb') as file:
            data = file.read()
        note = b'\x07\0\0\0\0\0\0\0%sioseer\0'
        self.assertEqual(data.count(note % b'\1\0\0\0'), 1)
        with open(linked, 'wb') as file:
            file.write(data.replace(note % b'\1\0\0\0', note % b'\x63\0\0\0'))
        static = self.build('program.c', '-static', '--', name='static')
        dynamic = self.build('program.c', '--', name='dynamic')
        self.check(linked, {'ptrace'})
        self.check(static, {'ptrace'}, '', linked, processes=2)
        self.check(dynamic, {'preload', 'ptrace'}, '', linked, processes=2)
        self.check(linked, {'preload', 'ptrace'}, '', dynamic, processes=2)
        done = self.expect(0, 'record', '-o', self.path('log'), linked, cwd=self.folder)
        self.assertIn(b'link it again', done.stderr)
        checks = json.loads(self.expect(1, 'doctor', '--json', linked).stdout)['checks']
        self.assertEqual([check['fix'] for check in checks if not check['ok']], ['link it again'])

    def test_doctor(self):
        program = self.build('program.c', '-static', '--', *flags())
        checks = self.json('doctor', '--json', program)['checks']
        self.assertTrue(any('it records itself' in check['detail'] and check['ok'] for check in checks), checks)


class Mpi(LinkTest):
    def check_mpi(self, program, via):
        log = self.record('mpiexec.mpich', '-n', str(RANKS), program, cwd=self.folder, options=('--force',))
        os.unlink(self.path('shared'))
        events = self.json('dump', '--json', log, '--file', self.path('shared'))
        self.assertEqual({event['via'] for event in events}, {via})
        moved = collections.Counter()
        for event in events:
            if event['class'] == 'write':
                moved[event['layer'], event['rank']] += event['result']
        self.assertEqual(moved, {(layer, rank): BLOCKS * BLOCK_BYTES for layer in ('mpiio', 'posix') for rank in range(RANKS)})
        parents = {event['id'] for event in events if event['layer'] == 'mpiio'}
        self.assertTrue({event['parent'] for event in events if event['layer'] == 'posix'} <= parents)

    def need(self, *tools):
        for tool in (*tools, 'mpiexec.mpich'):
            if not shutil.which(tool):
                self.skipTest(f'{tool} is not here')
        if harness.run(CONFIG, '--mpi', 'mpich', '--ldflags').returncode:
            self.skipTest('ioseer was built without MPICH')

    def libraries(self):
        """Of MPICH and all that it needs, static."""
        ucx = harness.run('pkg-config', '--static', '--libs', 'ucx').stdout.decode().split()
        return [os.path.join(HERE, 'udev.c'), '-lmpich', '-lhwloc', *ucx, *ucx]

    def test_static(self):
        self.need('mpicc.mpich')
        options = ('-static', '--', *flags('--mpi', 'mpich'), *self.libraries())
        self.check_mpi(self.build('mpi.c', *options, compiler='mpicc.mpich'), 'link')

    def test_static_fortran(self):
        self.need('mpif90.mpich', 'mpicc.mpich')
        object_file = self.path('udev.o')
        harness.run('cc', '-c', '-o', object_file, os.path.join(HERE, 'udev.c'))
        options = ('-static', '--', *flags('--mpi=mpich'), object_file, '-lmpichfort', *self.libraries()[1:])
        self.check_mpi(self.build('mpi.f90', *options, compiler='mpif90.mpich'), 'link')

    def test_static_mpi_in_a_dynamic_program(self):
        self.need('mpicc.mpich')
        options = ('--', *flags('--mpi', 'mpich'), '-Wl,-Bstatic', '-lmpich', '-Wl,-Bdynamic',
                   '-lhwloc', '-lucp', '-lucs')
        self.check_mpi(self.build('mpi.c', *options, compiler='mpicc.mpich'), 'preload')

    def test_dynamic(self):
        self.need('mpicc.mpich')
        self.check_mpi(self.build('mpi.c', '--', *flags('--mpi', 'mpich'), compiler='mpicc.mpich'), 'preload')


class Config(LinkTest):
    def test_options(self):
        self.assertEqual(flags(), subprocess.check_output([CONFIG, '--libs'], text=True).split())
        self.assertEqual(harness.run(CONFIG, '--cflags').stdout.strip(), b'')
        version = harness.run(CONFIG, '--version').stdout
        self.assertIn(version.strip(), self.expect(0, '--version').stdout)
        self.assertIn(b'--ldflags', harness.run(CONFIG, '--help').stdout)

    def test_errors(self):
        for words in ((), ('--no-such-option',), ('--mpi', 'lam', '--ldflags'), ('--mpi',), ('--mpi', 'mpich')):
            done = harness.run(CONFIG, *words)
            self.assertEqual((done.returncode, done.stdout), (2, b''), words)
            self.assertRegex(done.stderr.decode().split('\n', maxsplit=1)[0], '^ioseer-config: .+: .+')

    def test_order_of_options(self):
        first, last = (harness.run(CONFIG, *words)
                       for words in (('--mpi', 'mpich', '--ldflags'), ('--ldflags', '--mpi', 'mpich')))
        self.assertEqual((first.returncode, first.stdout), (last.returncode, last.stdout))

    def test_folders_that_no_option_can_name(self):
        for name in ('a folder', 'a,folder'):
            copy = os.path.join(self.path(name), 'ioseer-config')
            os.mkdir(self.path(name))
            shutil.copy(CONFIG, copy)
            done = harness.run(copy, '--ldflags')
            self.assertEqual((done.returncode, done.stdout), (1, b''))
            self.assertIn(b'a space or a comma', done.stderr)


harness.main()
