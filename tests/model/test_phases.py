#!/usr/bin/env python3
"""test_phases.py [CLASS...]: the phases of recorded programs are those that a reader would name."""
import os
import tempfile

import tables
from harness import BUILD, main
from tables import TableTest, evaluate, structure

DOUBLE = 8


def brief(table):
    """[[(operation, rep), ...], ...]: what each phase does."""
    return [[(row['op'], row['rep']) for row in phase['ops']] for phase in table['phases']]


class Examples(TableTest):
    def assert_offsets(self, phase, number, ranks, expected, key='offset_expr'):
        """An expression gives what the function `expected` of the rank says, for each rank."""
        row = phase['ops'][number]
        self.assertIsNotNone(row[key], f'{key} of {row}')
        found = [evaluate(row[key], rank, ranks, phase['ph'], row['size']) for rank in range(ranks)]
        self.assertEqual(found, [expected(rank) for rank in range(ranks)], row[key])


class Madbench(Examples):
    """Table VIII of the paper on phases, its fourth expression corrected."""

    def check(self, ranks, mpi, options='', bins=8, size=4096, unique=False):
        table = self.run_example('madbench', f'--bins {bins} --size {size} {options}', ranks, mpi)
        rest = bins - 2
        self.assertEqual(brief(table), [[('write', bins)], [('read', 2)], [('write', rest), ('read', rest)],
                                        [('write', 2)], [('read', bins)]])
        phases = table['phases']
        own = bins * size

        def first(rank):
            return 0 if unique else rank * own

        self.assert_offsets(phases[0], 0, ranks, first)
        self.assert_offsets(phases[1], 0, ranks, first)
        self.assert_offsets(phases[2], 0, ranks, first)
        self.assert_offsets(phases[2], 1, ranks, lambda rank: first(rank) + 2 * size)
        self.assert_offsets(phases[3], 0, ranks, lambda rank: first(rank) + own - 2 * size)
        self.assert_offsets(phases[4], 0, ranks, first)
        for phase in phases:
            self.assertEqual((phase['np'], phase['ranks']), (ranks, list(range(ranks))))
            self.assertEqual({(row['size'], row['disp']) for row in phase['ops']}, {(size, size)})
            self.assertIsNone(phase['family'])
            self.assertEqual(phase['files'], ranks if unique else 1)
        weights = [phase['weight'] for phase in phases]
        self.assertEqual(weights, [ranks * size * reps for reps in (bins, 2, 2 * rest, 2, bins)])
        return table

    def test_16_ranks_mpich(self):
        self.check(16, 'mpich', size=512)

    def test_16_ranks_openmpi(self):
        self.check(16, 'openmpi', size=512)

    def test_9_ranks_mpich(self):
        self.check(9, 'mpich')

    def test_9_ranks_openmpi(self):
        self.check(9, 'openmpi')

    def test_4_ranks_mpich(self):
        table = self.check(4, 'mpich')
        self.assertEqual({row['pointer'] for phase in table['phases'] for row in phase['ops']}, {'individual'})

    def test_4_ranks_openmpi(self):
        self.check(4, 'openmpi')

    def test_1_rank(self):
        self.check(1, 'mpich')

    def test_posix(self):
        self.check(4, 'mpich', '--api posix')
        self.check(2, 'openmpi', '--api posix')

    def test_asynchronous(self):
        for mpi in 'mpich', 'openmpi':
            table = self.check(4, mpi, '--api async')
            self.assertEqual({row['blocking'] for phase in table['phases'] for row in phase['ops']}, {False})

    def test_stdio(self):
        self.check(4, 'mpich', '--api stdio')

    def test_a_file_for_each_process(self):
        for options in '--unique', '--unique --api posix', '--unique --api stdio':
            table = self.check(4, 'mpich', options, unique=True)
            self.assertEqual({phase['access'] for phase in table['phases']}, {'unique'})
            self.assertTrue(table['phases'][0]['file'].endswith('/madbench.*.dat'))

    def test_16_bins(self):
        self.check(4, 'openmpi', bins=16)


class Btio(Examples):
    """Table XI: a write phase for each dump, one read phase."""

    def check(self, program, ranks, mpi, grid=12, dumps=4, options=''):
        table = self.run_example(program, f'--grid {grid} --steps {2 * dumps} --interval 2 {options}', ranks, mpi)
        side = round(ranks ** 0.5)
        size = grid ** 3 * 5 * DOUBLE // ranks
        alone = 'exchanges 0' in options
        writes = [[('write', dumps)]] if alone else [[('write', 1)]] * dumps
        self.assertEqual(brief(table), [*writes, [('read', dumps)]])

        def first(rank):
            row, column = divmod(rank, side)
            return (row * grid + column) * grid // side * 5 * DOUBLE

        for phase in table['phases']:
            row, dump = phase['ops'][0], phase['ph'] - 1
            self.assertEqual((row['size'], row['collective'], phase['np']), (size, True, ranks))
            self.assert_offsets(phase, 0, ranks, lambda rank: dump * grid ** 3 * 5 * DOUBLE + first(rank))
            self.assert_offsets(phase, 0, ranks, lambda rank: dump * size, 'view_expr')
            self.assert_offsets(phase, 0, ranks, lambda rank: size * (rank + dump + (ranks - 1) * dump), 'logical_expr')
        if not alone:
            self.assertEqual([phase['ph'] for phase in table['phases']], [*range(1, dumps + 1), 1])
            self.assertEqual(len({phase['family'] for phase in table['phases'][:dumps]}), 1)
            self.assertEqual([family['count'] for family in table['families']], [dumps])
            self.assertEqual({phase['separator'] for phase in table['phases'][:dumps]}, {'communication'})

    def test_4_ranks(self):
        for mpi in 'mpich', 'openmpi':
            self.check('btio', 4, mpi)

    def test_9_ranks(self):
        self.check('btio', 9, 'mpich')
        self.check('btio', 9, 'openmpi')

    def test_16_ranks(self):
        self.check('btio', 16, 'openmpi', dumps=3)

    def test_fortran(self):
        for interface, mpi in ('f90', 'mpich'), ('f08', 'openmpi'), ('mpif', 'mpich'), ('f90', 'openmpi'):
            self.check(f'btio-{interface}', 4, mpi)

    def test_without_communication_the_writes_are_one_phase(self):
        self.check('btio', 4, 'mpich', options='--exchanges 0')
        self.check('btio-f08', 4, 'mpich', options='--exchanges 0')
        self.check('btio', 9, 'openmpi', options='--exchanges 0')

    def test_unequal_cells(self):
        table = self.run_example('btio', '--grid 10 --steps 6 --interval 2', 9)
        phases = table['phases']
        self.assertEqual([phase['np'] for phase in phases], [9] * 4)
        self.assertEqual([phase['weight'] for phase in phases], [40000, 40000, 40000, 120000])
        self.assertEqual({phase['family'] for phase in phases[:3]}, {1})


class Others(Examples):
    """The other examples."""

    def check_ior(self, options, ranks=4, mpi='mpich', shift=0):
        block, transfer, segments = 32768, 4096, 2
        table = self.run_example('ior', f'--block {block} --transfer {transfer} {options}', ranks, mpi)
        reps = segments * block // transfer
        self.assertEqual(brief(table), [[('write', reps)], [('read', reps)]])
        for phase, by in zip(table['phases'], (0, shift)):
            row = phase['ops'][0]
            self.assertEqual((phase['np'], phase['weight'], row['size']), (ranks, ranks * reps * transfer, transfer))
            self.assertEqual(row['collective'], 'collective' in options)
            self.assertEqual(phase['files'], ranks if 'unique' in options else 1)
            self.assertEqual(phase['access'], 'unique' if 'unique' in options or ranks == 1 else 'shared')
            if 'random' in options:
                self.assertEqual((row['mode'], row['offset_expr']), ('random', None))
                continue
            self.assertEqual(row['disp'], transfer)
            unique = 'unique' in options
            self.assert_offsets(phase, 0, ranks, lambda rank: 0 if unique else (rank + by) % ranks * block)
        return table

    def test_ior(self):
        self.check_ior('')
        self.check_ior('', mpi='openmpi')
        self.check_ior('', ranks=1)
        self.check_ior('--collective')
        self.check_ior('--collective --unique', mpi='openmpi')
        self.check_ior('--unique')
        self.check_ior('--shift 1', shift=1)
        self.check_ior('--shift 2 --collective', mpi='openmpi', shift=2)
        self.check_ior('--unique --shift 1')

    def test_ior_through_posix(self):
        for options in '', '--unique', '--shift 1':
            table = self.check_ior(f'--api posix {options}', shift=1 if 'shift' in options else 0)
            self.assertEqual([phase['ops'][0]['call'] for phase in table['phases']], ['pwrite', 'pread'])

    def test_ior_at_random(self):
        for seed, options in enumerate(('', '--unique', '--api posix', '--shift 1', '--collective')):
            self.check_ior(f'--random --seed {seed} {options}', mpi=('mpich', 'openmpi')[seed % 2])

    def test_s3d(self):
        edge, points, checkpoints = 4, 64, 2
        for mode, mpi in ('collective', 'mpich'), ('independent', 'openmpi'), ('sieving', 'mpich'):
            options = f'--edge {edge} --checkpoints {checkpoints} --mode {mode}'
            table = self.run_example('s3d', options, 4, mpi)
            sizes = [(11 * points * DOUBLE, checkpoints), (3 * points * DOUBLE, checkpoints),
                     (points * DOUBLE, 2 * checkpoints)]
            self.assertEqual([[(row['op'], row['size'], row['rep']) for row in phase['ops']]
                              for phase in table['phases']],
                             [[(op, *size) for size in sizes] for op in ('write', 'read')])
            self.assertEqual([(phase['np'], phase['files']) for phase in table['phases']], [(4, checkpoints)] * 2)

    def test_small(self):
        table = self.run_example('small', '--files 12 --first 7400 --second 4200 --third 2400', 4)
        self.assertEqual([[(row['op'], row['size'], row['rep']) for row in phase['ops']] for phase in table['phases']],
                         [[('write', 7400, 3), ('write', 4200, 3), ('write', 2400, 3)],
                          [('read', 2400, 3), ('read', 4200, 3), ('read', 7400, 3)]])
        self.assertEqual([(phase['np'], phase['files']) for phase in table['phases']], [(4, 12)] * 2)

    def test_small_dealt_out_unevenly(self):
        table = self.run_example('small', '--files 10 --first 7400 --second 4200 --third 2400', 4)
        self.assertEqual([(phase['np'], phase['files'], phase['weight']) for phase in table['phases']],
                         [(4, 10, 140000)] * 2)

    def test_metadata(self):
        for mpi, ranks, options in (('mpich', 4, ''), ('openmpi', 4, '--shared'), ('mpich', 9, '--shared'),
                                    ('openmpi', 9, '')):
            with self.subTest(mpi=mpi, ranks=ranks, options=options):
                table = self.run_example('metadata', f'--files 20 {options}', ranks, mpi, f'{mpi}-{ranks}')
                rows = [row for phase in table['phases'] for row in phase['ops']]
                self.assertEqual([row['op'] for row in rows], ['create', 'stat', 'open', 'rename', 'stat', 'remove'])
                for phase, row in zip(table['phases'], rows):
                    self.assertEqual((phase['np'], phase['files'], phase['weight'], phase['bandwidth'], row['rep'],
                                      row['count'], row['size'], row['member_expr']),
                                     (ranks, 20 * ranks, 0, None, 20, 20 * ranks, None, 'idP*20'))
                    self.assertAlmostEqual(phase['rate'], row['count'] / phase['duration'], delta=1e-6 * phase['rate'])
                    self.assertLessEqual(phase['duration'], phase['span'])
                self.assertEqual(table['phases'][0]['others'].get('close'), 20 * ranks)
                self.assertRegex(table['phases'][0]['file'], r'/metadata\.[*0]/new\.\*\.\*$')

    def test_metadata_beside_data(self):
        """The opens and closes around writes make no phases; what comes after the writes does."""
        table = self.run_example('metadata', '--files 20 --size 30', 4)
        phase, *more = table['phases']
        self.assertEqual([(row['op'], row['rep'], row['size']) for row in phase['ops']], [('write', 20, 30)])
        self.assertEqual((phase['files'], phase['others']['open'], phase['others']['close']), (80, 80, 80))
        self.assertEqual([row['op'] for phase in more for row in phase['ops']],
                         ['stat', 'open', 'rename', 'stat', 'remove'])

    def metadata_rows(self, *command, folder):
        """Of the phases of a program that the shell starts in a folder."""
        table = self.run_program(*command, name=os.path.basename(command[0]), folder=folder)
        return [[(row['op'], row['count']) for row in phase['ops']] for phase in table['phases'] if phase['ops']]

    def test_programs_with_names_only(self):
        """Programs that go from folder to folder have one phase, whatever the names and their order."""
        tree, names = self.path('tree'), ('ash', 'birch', 'elm', 'fir', 'oak', 'pine', 'yew')
        for folder in names:
            os.makedirs(f'{tree}/{folder}')
            for name in names:
                open(f'{tree}/{folder}/{name}', 'w').close()
        found, = self.metadata_rows('find', tree, '-size', '+0', folder=self.path('.'))
        self.assertEqual(dict(found)['list'], 16)  # openat and fdopendir
        self.assertGreaterEqual(dict(found)['stat'], 49)
        rows = self.metadata_rows('tar', 'cf', 'tree.tar', 'tree', folder=self.path('.'))
        self.assertIn('stat', {op for phase in rows for op, _ in phase})
        rows = self.metadata_rows('tar', 'xf', 'tree.tar', '--one-top-level=again', folder=self.path('.'))
        created = sum(count for phase in rows for op, count in phase if op == 'create')
        self.assertGreaterEqual(created, 40)
        self.assertIn('read', {op for phase in rows for op, _ in phase})
        found, = self.metadata_rows('rm', '-r', tree, folder=self.path('.'))
        self.assertEqual(sum(count for op, count in found if op in ('remove', 'rmdir')), 57)

    def test_questions_about_one_file(self):
        """Asking about one file again and again makes no phase, making and removing it does."""
        script = 'import os\nfor i in range(40): os.stat("one")\nopen("data", "w").write("x")\n'
        with open(self.path('one'), 'w'):
            pass
        table = self.table(self.record('/usr/bin/python3', '-c', script, cwd=self.path('.')))
        self.assertEqual([row['op'] for phase in table['phases'] for row in phase['ops']], ['write'])
        script = 'import os\nfor i in range(40):\n    os.mkdir("two")\n    os.rmdir("two")\n'
        table = self.table(self.record('/usr/bin/python3', '-c', script, cwd=self.path('.'), name='again'))
        self.assertEqual([(row['op'], row['count']) for phase in table['phases'] for row in phase['ops']],
                         [('mkdir', 40), ('rmdir', 40)])

    def test_little_metadata(self):
        table = self.run_example('metadata', '--files 2', 4)
        phase, = table['phases']
        self.assertEqual((phase['weight'], phase['ops'], phase['np']), (0, [], 4))
        self.assertEqual((phase['others']['open'], phase['others']['close']), (16, 16))

    def test_checkpoint(self):
        table = self.run_program(os.path.join(BUILD, 'examples', 'checkpoint'), '-s', '5', '-n', '8', '-b', '4096')
        large = [phase for phase in table['phases'] if phase['weight'] > 4096]
        self.assertEqual([[(row['op'], row['rep'], row['thread'], row['offset_expr']) for row in phase['ops']]
                          for phase in large],
                         [[(op, 40, 0, '0'), (op, 40, 1, '8*rs')] for op in ('write', 'read')])


class Pauses(Examples):
    """Programs without MPI: pauses separate phases."""

    def check(self, dumps, writes, seconds):
        program = (f'import os, time\nfd = os.open("dump", os.O_WRONLY | os.O_CREAT)\n'
                   f'for dump in range({dumps}):\n    if dump: time.sleep({seconds})\n'
                   f'    for write in range({writes}): os.write(fd, b"x" * 4096)\n')
        table = self.table(self.record_python(program))
        phases = [phase for phase in table['phases'] if phase['file'].endswith('/dump')]
        self.assertEqual([[(row['op'], row['rep'], row['size']) for row in phase['ops']] for phase in phases],
                         [[('write', writes, 4096)]] * dumps)
        self.assertEqual([phase['ph'] for phase in phases], list(range(1, dumps + 1)))
        expressions = {phase['ops'][0]['offset_expr'] for phase in phases}
        self.assertEqual(len(expressions), 1)
        self.assertEqual([evaluate(*expressions, 0, 1, ph, 4096) for ph in range(1, dumps + 1)],
                         [dump * writes * 4096 for dump in range(dumps)])
        family, = [family for family in table['families'] if family['family'] == phases[0]['family']]
        self.assertEqual(family['count'], dumps)
        self.assertGreater(family['period'], seconds)
        self.assertLess(family['period'], seconds + 0.4)  # other work on the machine
        self.assertEqual({phase['separator'] for phase in phases}, {'pause'})

    def test_dumps(self):
        self.check(dumps=4, writes=10, seconds=0.5)

    def test_dumps_of_one_write(self):
        self.check(dumps=4, writes=1, seconds=0.5)

    def test_dumps_of_two_writes(self):
        self.check(dumps=3, writes=2, seconds=0.3)

    def test_the_gap_can_be_chosen(self):
        log = self.record_python('import os, time\nfd = os.open("dump", os.O_WRONLY | os.O_CREAT)\n'
                                 'for dump in range(3):\n    time.sleep(0.05)\n'
                                 '    for write in range(10): os.write(fd, b"x" * 4096)\n')
        for gap, count in ('20ms', 3), ('10s', 1):
            table = self.json('phases', '--json', '--gap', gap, log)
            self.assertEqual(sum(phase['file'].endswith('/dump') for phase in table['phases']), count)


class Programs(Examples):
    """Programs that are not about I/O phases at all."""

    def test_last_command_of_a_shell(self):
        """It has the shell's process id, which is smaller than those of the commands before. It still comes last, alone."""
        with open(self.path('a'), 'w', encoding='ascii') as out:
            out.write('text')
        table = self.run_program('sh', '-c', 'cp a b; cp b c; exec cp c d', folder=self.folder)
        copies = [phase for phase in table['phases'] if phase['weight']]
        self.assertEqual([os.path.basename(phase['file']) for phase in copies], ['a', 'b', 'c'])
        self.assertEqual([(phase['program'], phase['ranks']) for phase in copies],
                         [(copies[0]['program'] + i, [0]) for i in range(3)])

    def phases_of(self, table, suffix):
        return [phase for phase in table['phases'] if phase['file'] and phase['file'].endswith(suffix)]

    def fio(self, *words):
        return self.run_program('fio', '--name=a', '--ioengine=psync', *words)

    def test_fio_in_order(self):
        phase, = self.phases_of(self.fio('--rw=write', '--bs=64k', '--size=1m'), '/a.0.0')
        row, = phase['ops']
        self.assertEqual((row['op'], row['rep'], row['size'], row['mode'], row['offset_expr']),
                         ('write', 16, 65536, 'sequential', '0'))

    def test_fio_at_random(self):
        *_, phase = self.phases_of(self.fio('--rw=randread', '--bs=4k', '--size=1m'), '/a.0.0')  # it is made first
        row, = phase['ops']
        self.assertEqual((row['op'], row['rep'], row['size'], row['mode']), ('read', 256, 4096, 'random'))

    def test_fio_mixed(self):
        *_, phase = self.phases_of(self.fio('--rw=randrw', '--bs=4k', '--size=1m'), '/a.0.0')
        self.assertEqual(sorted(row['op'] for row in phase['ops']), ['read', 'write'])
        self.assertEqual(sum(row['rep'] for row in phase['ops']), 256)

    def test_fio_with_several_jobs(self):
        for pattern, mode in ('write', 'sequential'), ('randread', 'random'):
            table = self.fio(f'--rw={pattern}', '--bs=16k', '--size=256k', '--numjobs=4')
            *_, phase = self.phases_of(table, '/a.*.0')
            row, = phase['ops']
            self.assertEqual((row['rep'], row['count'], row['mode'], phase['files'], phase['access']),
                             (16, 64, mode, 4, 'unique'))

    def test_dd(self):
        with open(self.path('in'), 'wb') as file:
            file.write(os.urandom(1000000))
        table = self.run_program('dd', f'if={self.path("in")}', 'of=out', 'bs=64k', stderr=-3)
        phase, = [phase for phase in table['phases'] if phase['weight'] > 1000]
        self.assertEqual(phase['weight'], 2000000)
        self.assertEqual([(row['op'], row['rep'], row['size']) for row in phase['ops']],
                         [('read', 17, 65536), ('write', 15, 65536), ('write', 1, 1000000 % 65536)])

    def test_requests_for_all_that_there_could_be(self):
        program = ('import os\nout = os.open("out", os.O_WRONLY | os.O_CREAT)\nfor i in range(4):\n'
                   '    into = os.open("in", os.O_RDONLY)\n    os.copy_file_range(into, out, 1 << 62)\n    os.close(into)\n')
        with open(self.path('in'), 'wb') as file:
            file.write(os.urandom(3 << 10))
        log = self.record_python(program)
        rows = [row for phase in self.json('phases', '--json', log)['phases'] for row in phase['ops']]
        rows = [row for row in rows if row['call'].startswith('copy_file_range')]
        self.assertEqual({(row['size'], row['bytes'] // row['count']) for row in rows}, {(1 << 62, 3 << 10)})
        for verb in ('phases', 'report'):
            text = self.expect(0, verb, log).stdout.decode()
            self.assertNotIn('EiB', text)
            if verb == 'phases':
                self.assertIn('Without MPI: pattern changes and pauses of at least 200 ms separate phases', text)
            self.assertIn(' 3.0 KiB ', text)

    def test_tar(self):
        os.makedirs(self.path('tree'))
        for number in range(40):
            with open(self.path(f'tree/{number}'), 'wb') as file:
                file.write(os.urandom(number * 1777 % 30000))
        table = self.run_program('tar', 'cf', 'all.tar', '-C', self.folder, 'tree')
        weight = sum(phase['weight'] for phase in table['phases'])
        self.assertGreater(weight, 2 * sum(number * 1777 % 30000 for number in range(40)))
        self.assertLess(len(table['phases']), 4)
        self.assertLess(max(len(phase['ops']) for phase in table['phases']), 10)

    def test_sqlite3(self):
        sql = ('create table a(x, y); with recursive c(i) as (select 1 union all select i + 1 from c where i < 9999) '
               'insert into a select i, i * i from c; create index b on a(y); select count(*) from a;')
        table = self.run_program('sqlite3', 'test.db', sql)
        self.assertLess(len(table['phases']), 20)
        runs = [row for phase in self.phases_of(table, '/test.db') for row in phase['ops']
                if row['op'] == 'write' and row['size'] == 4096 and row['disp'] == 4096]
        self.assertGreater(max(row['rep'] for row in runs), 20)  # pages in order

    def test_python(self):
        table = self.table(self.record_python('with open("out", "wb", 0) as file:\n'
                                              '    for i in range(20): file.write(b"x" * 4096)'))
        phase, = self.phases_of(table, '/out')
        self.assertEqual([(row['op'], row['rep'], row['size'], row['offset_expr']) for row in phase['ops']],
                         [('write', 20, 4096, '0')])

    def test_hdf5(self):
        """Small requests among large ones do not separate phases."""
        with open(self.path('text'), 'w', encoding='ascii') as file:
            file.write('\n'.join(str(number) for number in range(40000)))
        with open(self.path('config'), 'w', encoding='ascii') as file:
            file.write('PATH data\nINPUT-CLASS TEXTIN\nRANK 2\nDIMENSION-SIZES 200 200\nOUTPUT-SIZE 32\n')
        made = self.run_program('h5import', self.path('text'), '-c', self.path('config'), '-o', self.path('data.h5'))
        self.assertLess(len(self.phases_of(made, '/data.h5')), 4)
        table = self.run_program('h5repack', '-l', 'CHUNK=20x20', self.path('data.h5'), 'out.h5', name='repack')
        reading, writing = self.phases_of(table, '/data.h5'), self.phases_of(table, '/out.h5')
        self.assertLess(len(reading) + len(writing), 8)
        chunks = [row for phase in writing for row in phase['ops'] if row['op'] == 'write' and row['size'] == 1600]
        self.assertEqual(sum(row['rep'] for row in chunks), 100)


class Again(Examples):
    """A program that runs again, even in another place, has the same phases."""

    def assert_same(self, run, but=()):
        places = [self.folder, '/dev/shm' if os.access('/dev/shm', os.W_OK) else self.folder]
        found = []
        for number, place in enumerate(places):
            with tempfile.TemporaryDirectory(prefix='ioseer-test-', dir=place) as folder:
                folder = os.path.realpath(folder)
                phases, families = structure(run(folder=folder, name=f'log{number}'), folder)
                kept = [{key: value for key, value in phase.items() if key not in but} for phase in phases]
                found.append((kept, families))
        self.assertEqual(*found)

    def test_examples(self):
        for program, options, mpi in (('madbench', '--bins 6 --size 4096', 'openmpi'),
                                      ('ior', '--block 16384 --transfer 1024 --random --seed 3', 'mpich'),
                                      ('small', '--files 10 --first 740 --second 420 --third 240', 'mpich'),
                                      ('btio', '--grid 8 --steps 6 --interval 2', 'openmpi')):
            with self.subTest(program):
                self.assert_same(lambda **more: self.run_example(program, options, 4, mpi, **more))

    def test_programs(self):
        fio = ('fio', '--name=a', '--ioengine=psync', '--rw=randwrite', '--bs=4k', '--size=256k', '--numjobs=3',
               '--randseed=5')
        checkpoint = (os.path.join(BUILD, 'examples', 'checkpoint'), '-s', '4', '-n', '8', '-b', '4096')
        for command, but in (fio, ('others',)), (checkpoint, ()):  # fio looks up its files repeatedly
            with self.subTest(os.path.basename(command[0])):
                self.assert_same(lambda **more: self.run_program(*command, **more), but)


class Untraced(Examples):
    """Bytes that only the counters know, after the trace, are in no phase, but they are counted."""

    def check(self, options, api, layer=None):
        command = [*tables.LAUNCHERS['mpich'], '-n', '2', self.example('madbench', 'mpich'), '--bins', '1000', '--size',
                   '256', '--api', api]
        log = self.record(*command, cwd=self.folder, stdout=-3, options=['--force', *options])
        table = self.json('phases', '--json', log, *([f'--layer={layer}'] if layer else []))
        weights = sum(phase['weight'] for phase in table['phases'])
        self.assertEqual(weights + table['unphased']['untraced'], 2 * 1000 * 256 * 4)
        self.assertEqual(table['unphased_bytes'], sum(table['unphased'].values()))
        self.assertEqual(weights > 0, '--no-trace' not in options)
        self.assertGreater(table['unphased']['untraced'], 0)
        self.assertIn(b'not in the trace', self.expect(0, 'phases', log).stdout)

    def test_past_the_cap(self):
        for api in 'mpiio', 'posix', 'stdio', 'async':
            self.check(['--trace-cap', '64k'], api)

    def test_without_a_trace(self):
        for api in 'mpiio', 'stdio':
            self.check(['--no-trace'], api)

    def test_of_a_layer(self):
        self.check(['--trace-cap', '64k'], 'mpiio', 'posix')
        self.check(['--trace-cap', '64k'], 'mpiio', 'mpiio')


if __name__ == '__main__':
    main()
