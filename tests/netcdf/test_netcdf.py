#!/usr/bin/env python3
"""PnetCDF: the same results with and without recording, and what the log must hold. Speaks TAP.

    test_netcdf.py [CLASS]
"""
import os
import re
import shutil
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(FOLDER, '..', 'cli'), os.path.join(FOLDER, '..', 'hdf5')]
from harness import BUILD, main, run  # noqa: E402
from test_hdf5 import OPEN_MPI, Hdf5Test  # noqa: E402

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
        files = [file for file in info['files'] if file['name'].endswith('.nc')]
        self.assertEqual([file['bytes_written'] for file in files], [sum(e['result'] for e in moving)])


class Cost(Hdf5Test):
    """What a call costs less what PnetCDF needs for it: at most 600 instructions. MPI-IO inside has its own cost."""
    FEW, MANY, MOST = 500, 2500, 600

    def count(self, calls):
        """Instructions inside the recorder's function, outside PnetCDF's of the same name."""
        out = self.path('callgrind')
        done = run(shutil.which('ioseer', path=BUILD), 'record', '-q', '--force', '-o', self.path('log'), '--', 'valgrind',
                   '--tool=callgrind', f'--callgrind-out-file={out}', os.path.join(PROGRAMS, 'repeat'), str(calls),
                   self.folder, timeout=300, env=OPEN_MPI)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = run('callgrind_annotate', '--inclusive=yes', '--threshold=100', out, timeout=100).stdout.decode()
        found = {match[2]: int(match[1].replace(',', ''))
                 for match in re.finditer(r'(?m)^ *([\d,]+) .*:ncmpi_put_vara_double \[.*/(lib\w+)', text)}
        return found['libioseer'] - found['libpnetcdf']

    def test_instructions(self):
        self.need('valgrind', os.path.join(PROGRAMS, 'repeat'))
        cost = (self.count(self.MANY) - self.count(self.FEW)) / (self.MANY - self.FEW)
        print(f'# {cost:.0f} instructions')
        self.assertLess(cost, self.MOST)


if __name__ == '__main__':
    del Hdf5Test
    main()
