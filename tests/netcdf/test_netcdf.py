#!/usr/bin/env python3
"""PnetCDF and NetCDF: the same results with and without recording, and what the log must hold. Speaks TAP.

    test_netcdf.py [CLASS]
"""
import os
import re
import shutil
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(FOLDER, '..', 'cli'), os.path.join(FOLDER, '..', 'hdf5')]
from harness import BUILD, main, run  # noqa: E402
from test_hdf5 import OPEN_MPI, PYTHON, Hdf5Test  # noqa: E402

PROGRAMS = os.path.join(BUILD, 'tests', 'netcdf')
ROWS, COLUMNS, RANKS, SLABS = 4, 256, 4, 3
SLAB = ROWS * COLUMNS  # elements
LAUNCH = ('mpiexec.openmpi', '--oversubscribe', '-n', str(RANKS))


class Slabs(Hdf5Test):
    """The same program as for HDF5, with a variable that grows."""

    def check_writes(self, own, name, size, dims, starts, together):
        writes = [e for e in own if e['object'] == name and e['class'] == 'write']
        self.assertEqual([e['op'] for e in writes], ['ncmpi_put_vara_all' if together else 'ncmpi_put_vara'] * SLABS)
        self.assertEqual([(e['size'], e['result'], e['collective'], e['parent']) for e in writes],
                         [(size, size, together, None)] * SLABS)
        self.assertEqual([e['selection']['start'] for e in writes], starts)
        self.assertEqual([e['selection']['dims'] for e in writes], [dims] * SLABS)
        return writes

    def check_rank(self, own, rank):
        files = [e['op'] for e in own if not e['object']]
        self.assertEqual(files, ['ncmpi_create', 'ncmpi_enddef'] + ['ncmpi_begin_indep_data', 'ncmpi_end_indep_data'] * SLABS
                         + ['ncmpi_close'])
        made = [(e['object'], e['dataset']['type'], e['dataset']['element_size'], e['dataset']['max_dims'])
                for e in own if e['op'] == 'ncmpi_def_var']
        all_rows = ROWS * SLABS * RANKS
        self.assertEqual(made, [('alone', 'float', 8, [all_rows, COLUMNS]), ('together', 'float', 4, [all_rows, COLUMNS]),
                                ('grows', 'integer', 4, [None, COLUMNS * RANKS])])
        rows = [[(rank * SLABS + i) * ROWS, 0] for i in range(SLABS)]
        self.check_writes(own, 'alone', SLAB * 8, [all_rows, COLUMNS], rows, False)
        writes = self.check_writes(own, 'together', SLAB * 4, [all_rows, COLUMNS], rows, True)
        self.assertEqual([e['offset'] for e in writes], [start[0] * COLUMNS * 4 for start in rows])
        self.check_writes(own, 'grows', COLUMNS * 4, [None, COLUMNS * RANKS],
                          [[i, rank * COLUMNS] for i in range(SLABS)], True)
        reads = [(e['op'], e['object'], e['size'], e['selection']['stride'], e['selection']['count'])
                 for e in own if e['class'] == 'read']
        self.assertEqual(reads, [('ncmpi_get_vars_all', 'together', 2 * COLUMNS, [2, 4], [2, COLUMNS // 4])])

    def check_counters(self):
        records = [r for r in self.json('stats', '--json', self.path('log.ioseer'))['records'] if r['layer'] == 'pnetcdf']
        by_name = {r.get('object'): r['counters'] for r in records}
        writes = RANKS * SLABS
        expected = {None: {'FILE_CREATES': RANKS, 'FILE_OPENS': 0, 'FILE_REDEFS': 0, 'FILE_COLL_WAITS': 0,
                           'FILE_BYTES_READ': RANKS * 2 * COLUMNS, 'FILE_BYTES_WRITTEN': writes * (SLAB * 12 + COLUMNS * 4)},
                    'alone': {'VAR_INDEP_WRITES': writes, 'VAR_COLL_WRITES': 0, 'VAR_PUT_VARA': writes, 'VAR_IS_RECORD_VAR': 0},
                    'together': {'VAR_COLL_WRITES': writes, 'VAR_COLL_READS': RANKS, 'VAR_GET_VARS': RANKS, 'VAR_NDIMS': 2,
                                 'VAR_OPENS': RANKS, 'VAR_DATATYPE_SIZE': 4, 'VAR_ACCESS1_LENGTH_D5': ROWS},
                    'grows': {'VAR_PUT_VARA': writes, 'VAR_IS_RECORD_VAR': 1, 'VAR_BYTES_WRITTEN': writes * COLUMNS * 4}}
        for name, values in expected.items():
            self.assertEqual({key: by_name[name][f'PNETCDF_{key}'] for key in values}, values)
        text = self.expect(0, 'stats', '--darshan', self.path('log.ioseer')).stdout.decode()
        self.assertRegex(text, r'(?m)^PNETCDF_VAR\t-1\t\d+\tPNETCDF_VAR_OPENS\t\d+\t\S+\.nc:alone\t')
        self.assertRegex(text, r'(?m)^PNETCDF_FILE\t-1\t\d+\tPNETCDF_FILE_CREATES\t\d+\t\S+\.nc\t')

    def check_phases(self):
        """Their bytes are those of the variables' elements, and each row says which variable it is about."""
        made = self.json('phases', '--json', '--layer', 'pnetcdf', self.path('log.ioseer'))
        moved = {}
        for op in (op for phase in made['phases'] for op in phase['ops']):
            key = op['op'], op['object'], op['collective'], tuple(op['selection']['count'])
            moved[key] = moved.get(key, 0) + op['bytes']
        writes = RANKS * SLABS
        self.assertEqual(moved, {('write', 'alone', False, (ROWS, COLUMNS)): writes * SLAB * 8,
                                 ('write', 'together', True, (ROWS, COLUMNS)): writes * SLAB * 4,
                                 ('write', 'grows', True, (1, COLUMNS)): writes * COLUMNS * 4,
                                 ('read', 'together', True, (2, COLUMNS // 4)): RANKS * 2 * COLUMNS})
        self.assertEqual(made['unphased_bytes'], 0)

    def test_slabs(self):
        program = os.path.join(PROGRAMS, 'slabs')
        self.need(program, LAUNCH[0])
        self.same(*LAUNCH, program, 'slabs.nc', str(SLABS), output='slabs.nc', env=OPEN_MPI)
        log = self.path('log.ioseer')
        for rank in range(RANKS):
            self.check_rank(self.json('dump', '--json', '--layer', 'pnetcdf', '--rank', str(rank), log), rank)
        events = self.json('dump', '--json', log)
        by_id = {event['id']: event for event in events}
        inside = [e for e in events if e['layer'] == 'mpiio' and e['class'] in ('read', 'write')]
        self.assertEqual({by_id[e['parent']]['layer'] if e['parent'] else None for e in inside}, {'pnetcdf'})
        info = self.json('info', '--json', log)
        self.assertIn('pnetcdf', info['layers'])
        moving = [e for e in events if e['class'] == 'write' and e['layer'] == 'posix' and e['file'].endswith('.nc')]
        self.check_counters()
        self.check_phases()
        self.check_libraries(log, 'pnetcdf')
        files = [file for file in info['files'] if file['name'].endswith('.nc')]
        self.assertEqual([file['bytes_written'] for file in files], [sum(e['result'] for e in moving)])


    def test_bytes(self):
        program = os.path.join(PROGRAMS, 'slabs')
        self.need(program, LAUNCH[0])
        for ranks in (4, 16):
            with self.subTest(ranks=ranks):
                self.same(*LAUNCH[:-1], str(ranks), program, 'slabs.nc', '2', output='slabs.nc', env=OPEN_MPI)
                headers = self.check_bytes('.nc')
                print(f'# {ranks} ranks: bytes of headers {headers}')
                self.assertLess(sum(headers.values()), 8192)


class Cost(Hdf5Test):
    """What a call costs less what PnetCDF needs for it: at most 600 instructions. MPI-IO inside has its own cost."""
    FEW, MANY, MOST = 500, 2500, 600
    program, function, library = 'repeat', 'ncmpi_put_vara_double', 'libpnetcdf'

    def count(self, calls):
        """Instructions inside the recorder's function, outside the library's of the same name."""
        out = self.path('callgrind')
        done = run(shutil.which('ioseer', path=BUILD), 'record', '-q', '--force', '-o', self.path('log'), '--', 'valgrind',
                   '--tool=callgrind', f'--callgrind-out-file={out}', os.path.join(PROGRAMS, self.program), str(calls),
                   self.folder, timeout=300, env=OPEN_MPI)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = run('callgrind_annotate', '--inclusive=yes', '--threshold=100', out, timeout=100).stdout.decode()
        found = {match[2]: int(match[1].replace(',', ''))
                 for match in re.finditer(rf'(?m)^ *([\d,]+) .*:{self.function} \[.*/(lib\w+)', text)}
        return found['libioseer'] - found[self.library]

    def test_instructions(self):
        self.need('valgrind', os.path.join(PROGRAMS, self.program))
        cost = (self.count(self.MANY) - self.count(self.FEW)) / (self.MANY - self.FEW)
        print(f'# {cost:.0f} instructions')
        self.assertLess(cost, self.MOST)


class NetCdfCost(Cost):
    program, function, library = 'repeat_rows', 'nc_put_vara_double', 'libnetcdf'


CDL = """netcdf data { dimensions: x = 8; t = unlimited; variables: float v(t, x); double w(x);
v:units = "m"; data: v = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16; w = 1, 2, 3, 4, 5, 6, 7, 8; }"""

WRITE_AND_READ = """
import numpy, netCDF4
with netCDF4.Dataset('python.nc', 'w', format='{format}') as file:
    file.createDimension('x', 10)
    file.createDimension('t', None)
    values = file.createVariable('v', 'f8', ('t', 'x'))
    for i in range(3):
        values[i] = numpy.arange(10) + i
with netCDF4.Dataset('python.nc') as file:
    print(file['v'][1:3, 4].sum())
"""


class NetCdf(Hdf5Test):
    """The C interface of NetCDF, also from Fortran, Python and the programs of NetCDF and NCO."""
    ROWS, COLUMNS = 6, 512

    def below(self, events, layer):
        """The events with, for each call of NetCDF, those of a layer below it."""
        by_id = self.check_tree(events)
        found = {event['id']: [] for event in events if event['layer'] == 'netcdf'}
        for event in (e for e in events if e['layer'] == layer):
            around = by_id.get(event['parent'])
            while around and around['layer'] != 'netcdf':
                around = by_id.get(around['parent'])
            if around:
                found[around['id']].append(event)
        return found

    def moved(self, events):
        return [(e['op'], e['object'], e['offset'], e['result']) for e in events
                if e['layer'] == 'netcdf' and e['class'] in ('read', 'write')]

    def rows(self, form):
        program = os.path.join(PROGRAMS, 'rows')
        self.need(program)
        self.same(program, form, 'rows.nc', str(self.ROWS), output='rows.nc')
        events = self.json('dump', '--json', self.path('log.ioseer'))
        size = self.COLUMNS * 8
        writes = [('nc_put_vara', name, i * self.COLUMNS * bytes, self.COLUMNS * bytes)
                  for i in range(self.ROWS) for name, bytes in (('fixed', 8), ('grows', 4))]
        self.assertEqual(self.moved(events), writes + [('nc_get_vars', 'fixed', 0, self.ROWS // 2 * size)])
        own = [e for e in events if e['layer'] == 'netcdf']
        self.assertEqual([e['op'] for e in own if not e['object']],
                         ['nc_create', 'nc_enddef', 'nc_close', 'nc_open', 'nc_close'])
        self.assertEqual({e['parent'] for e in own}, {None})
        self.assertEqual([e['dataset']['max_dims'] for e in own if e['op'] == 'nc_def_var'],
                         [[self.ROWS, self.COLUMNS], [None, self.COLUMNS]])
        read = own[-2]
        self.assertEqual((read['selection']['stride'], read['selection']['count'], read['dataset']['dims']),
                         ([2, 1], [self.ROWS // 2, self.COLUMNS], [self.ROWS, self.COLUMNS]))
        return events, own

    def test_netcdf4(self):
        """Each transfer of NetCDF is one of HDF5, of the same bytes."""
        events, own = self.rows('netcdf4')
        below = self.below(events, 'hdf5')
        for event in (e for e in own if e['class'] in ('read', 'write')):
            inside = [(e['object'], e['offset'], e['result']) for e in below[event['id']]
                      if e['class'] == event['class'] and '@' not in e['object']]
            self.assertEqual(inside, [('/' + event['object'], event['offset'], event['result'])])

    def test_classic(self):
        """All bytes of the file are written by calls of NetCDF."""
        events, _ = self.rows('classic')
        inside = [e for found in self.below(events, 'posix').values() for e in found if e['class'] == 'write']
        values = self.ROWS * self.COLUMNS * (8 + 4)
        covered = set()
        for event in inside:
            covered.update(range(event['offset'], event['offset'] + event['result']))
        self.assertEqual(len(covered), max(covered) + 1)
        self.assertGreater(len(covered), values)  # and the header
        self.assertLess(len(covered), values + 1024)
        self.assertFalse([e for e in events if e['layer'] in ('posix', 'stdio') and e['class'] == 'write'
                          and (e['file'] or '').endswith('.nc') and e['parent'] is None])

    def test_names(self):
        """A colon in a name is part of it."""
        program, name = os.path.join(PROGRAMS, 'rows'), 'rows_12:00:00'
        self.need(program)
        self.same(program, 'classic', name, '2', output=name)
        events = self.json('dump', '--json', self.path('log.ioseer'))
        self.assertEqual({e['file'] for e in events if e['layer'] == 'netcdf'}, {self.path(name)})

    def test_fortran(self):
        program = os.path.join(PROGRAMS, 'rows-fortran')
        self.need(program)
        self.same(program, 'fortran.nc', output='fortran.nc')
        size = self.COLUMNS * 8
        self.assertEqual(self.moved(self.json('dump', '--json', self.path('log.ioseer'))),
                         [('nc_put_vara', 'fixed', i * size, size) for i in range(6)] + [('nc_get_vara', 'fixed', 0, 6 * size)])

    def test_python(self):
        for form in ('NETCDF4', 'NETCDF3_CLASSIC'):
            program = WRITE_AND_READ.format(format=form)
            if run(PYTHON, '-c', program, cwd=self.folder).returncode:
                self.skipTest('no netCDF4')
            self.same(PYTHON, '-c', program, output='python.nc')
            moved = self.moved(self.json('dump', '--json', self.path('log.ioseer')))
            self.assertEqual([one[1:] for one in moved],
                             [('v', 0, 80), ('v', 80, 80), ('v', 160, 80), ('v', 112, 16)])

    def tool(self, *command, output=None):
        """Gives the bytes that NetCDF read and wrote, by variable."""
        self.need(command[0])
        self.same(*command, output=output, has_times=bool(output))
        events = self.json('dump', '--json', self.path('log.ioseer'))
        self.check_tree(events)
        sums = {}
        for op, name, _, result in self.moved(events):
            key = (name, 'read' if 'get' in op else 'written')
            sums[key] = sums.get(key, 0) + result
        return sums

    def test_tools(self):
        self.need('ncgen')
        with open(self.path('data.cdl'), 'w', encoding='ascii') as file:
            file.write(CDL)
        for form in ('-4', '-3'):
            run('ncgen', form, '-o', 'data.nc', 'data.cdl', cwd=self.folder)
            copied = {('v', 'read'): 64, ('v', 'written'): 64, ('w', 'read'): 64, ('w', 'written'): 64}
            self.assertEqual(self.tool('nccopy', '-4', 'data.nc', 'copy.nc', output='copy.nc'), copied)
            self.assertEqual(self.tool('ncdump', 'data.nc'), {('v', 'read'): 64, ('w', 'read'): 64})
            options = ('-O', '-h', '-4', '--no_tmp_fl')  # no line about the time in the file
            self.assertEqual(self.tool('ncks', *options, '-d', 'x,2,3', 'data.nc', 'part.nc', output='part.nc'),
                             {('v', 'read'): 16, ('v', 'written'): 16, ('w', 'read'): 16, ('w', 'written'): 16})
            self.assertEqual(self.tool('ncap2', *options, '-s', 'v=v+1', 'data.nc', 'sum.nc', output='sum.nc'), copied)


class NetCdfParallel(Hdf5Test):
    def test_slabs(self):
        program = os.path.join(PROGRAMS, 'parallel')
        self.need(program, LAUNCH[0])
        self.same(*LAUNCH, program, 'parallel.nc', str(SLABS), output='parallel.nc', env=OPEN_MPI)
        events = self.json('dump', '--json', self.path('log.ioseer'))
        by_id = self.check_tree(events)
        for rank in range(RANKS):
            for name, together in (('alone', False), ('together', True)):
                writes = [e for e in events if e['layer'] == 'netcdf' and e['rank'] == rank and e['object'] == name
                          and e['class'] == 'write']
                self.assertEqual([(e['offset'], e['result'], e['collective']) for e in writes],
                                 [((rank * SLABS + i) * SLAB * 4, SLAB * 4, together) for i in range(SLABS)])
                made = [e['dataset'] for e in events if e['op'] == 'nc_def_var' and e['rank'] == rank and e['object'] == name]
                self.assertEqual([(d['mpiio'], d['dims']) for d in made], [(True, [ROWS * SLABS * RANKS, COLUMNS])])
        inside = [e for e in events if e['op'] == 'H5Dwrite']
        self.assertEqual({by_id[e['parent']]['op'] for e in inside}, {'nc_put_vara'})
        self.assertEqual([e['collective'] for e in inside], [by_id[e['parent']]['collective'] for e in inside])
        self.check_objects()

    def check_objects(self):
        """The variable of NetCDF and its dataset of HDF5 are two objects, with the same requests to the file."""
        objects = {(o['layer'], o['object'].lstrip('/')): o for o in self.json('info', '--json', self.path('log.ioseer'))['objects']}
        for name in ('alone', 'together'):
            sums = [[objects[layer, name][key] for key in ('writes', 'bytes_written', 'file_bytes_written', 'file_writes')]
                    for layer in ('netcdf', 'hdf5')]
            self.assertEqual(sums[0], sums[1])
            self.assertEqual(sums[0][:2], [RANKS * SLABS, RANKS * SLABS * SLAB * 4])
            self.assertGreaterEqual(sums[0][2], sums[0][1])


if __name__ == '__main__':
    del Hdf5Test
    main()
