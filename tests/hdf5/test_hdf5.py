#!/usr/bin/env python3
"""HDF5: the same results with and without recording, and what the log must hold. Speaks TAP.

    test_hdf5.py [CLASS]
"""
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
from harness import BUILD, CommandLineTest, main, run  # noqa: E402

PROGRAMS = os.path.join(BUILD, 'tests', 'hdf5')
PYTHON = '/usr/bin/python3'  # Debian's, which has Debian's modules
ROWS, COLUMNS, DOUBLE = 4, 256, 8
SLAB = ROWS * COLUMNS * DOUBLE
TIME_OF_DAY = re.compile(rb'\d\d:\d\d:\d\d 20\d\d')  # in HDF5's messages
TICK = 2e-9  # times are rounded to nanoseconds
OPEN_MPI = {**os.environ, 'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}


def merged(ranges):
    """The same bytes as ranges in order that do not touch."""
    found = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
    return found


class Hdf5Test(CommandLineTest):
    def need(self, *programs):
        for program in programs:
            if not shutil.which(program):
                self.skipTest(f'no {os.path.basename(program)}')

    def compare(self, one, other, has_times):
        if has_times:  # of day, in the headers of objects
            for name, data in (('one', one), ('other', other)):
                with open(self.path(name), 'wb') as file:
                    file.write(data)
            self.assertEqual(len(one), len(other))
            self.assertEqual(run('h5diff', self.path('one'), self.path('other')).returncode, 0)
        else:
            self.assertEqual(one, other)

    def same(self, *command, output=None, has_times=False, **options):
        """Runs a command bare and recorded: status, both outputs and the file must be the same. Gives the events."""
        found = []
        for recorded in (False, True):
            log = self.path('log.ioseer')
            before = (shutil.which('ioseer', path=BUILD), 'record', '-q', '--force', '-o', log, '--') if recorded else ()
            done = run(*before, *command, cwd=self.folder, **options)
            data = None
            if output:
                with open(self.path(output), 'rb') as file:
                    data = file.read()
                os.remove(self.path(output))
            found.append((done.returncode, done.stdout, TIME_OF_DAY.sub(b'', done.stderr), data))
        self.assertEqual(found[0][:3], found[1][:3])
        self.compare(found[0][3], found[1][3], has_times)
        self.assertEqual(found[1][0], 0, found[1][2])
        self.printed = found[1][1].decode()
        self.check_tree(self.json('dump', '--json', self.path('log.ioseer')))
        return self.json('dump', '--json', '--layer', 'hdf5', self.path('log.ioseer'))

    def check_tree(self, events):
        """A child lies within its parent, in the same process; asynchronous ones may end later."""
        by_id = {event['id']: event for event in events}
        for event in events:
            if event['parent'] is None or 'call_time' in event:
                continue
            parent = by_id[event['parent']]
            self.assertEqual(event['pid'], parent['pid'])
            self.assertGreaterEqual(event['start'], parent['start'] - TICK, (event, parent))
            self.assertLessEqual(event['start'] + event['duration'], parent['start'] + parent['duration'] + TICK,
                                 (event, parent))
        return by_id

    def check_bytes(self, name):
        """Every byte of a write to an object is moved by the POSIX calls below it, and no other byte but those of headers.
        The program has printed where its objects are in the file. Gives the bytes of headers, by the call that wrote them.
        A collective write is moved by some of the ranks, so the writes of all ranks are looked at together."""
        events = self.json('dump', '--json', self.path('log.ioseer'))
        by_id = self.check_tree(events)
        begin = {line.split()[0]: int(line.split()[1]) for line in self.printed.splitlines()}
        first = min(begin.values())
        rounds, turns, headers = {}, {}, {}
        for event in (e for e in events if e['object'] in begin and e['class'] == 'write'):
            rank, key = event['rank'], (event['object'], event['rank'])
            turns[key] = turns.get(key, 0) + 1
            number = event['object'], turns[key], None if event['collective'] else rank
            at = begin[event['object']] + event['offset']
            rounds.setdefault(number, ([], []))[0].append((at, at + event['result']))
            event['round'] = rounds[number]
        for event in (e for e in events if e['layer'] == 'posix' and e['class'] == 'write' and e['file'].endswith(name)):
            around = event
            while around['parent'] is not None:
                around = by_id[around['parent']]
            moved = event['offset'], event['offset'] + event['result']
            self.assertNotEqual(around['layer'], 'posix', event)
            if moved[1] <= first or 'round' not in around:
                headers.setdefault(around['op'], []).append(moved)
            else:
                around['round'][1].append(moved)
        asked = merged(one for wanted, _ in rounds.values() for one in wanted)
        for op, ranges in headers.items():
            for start, end in ranges:
                self.assertFalse([one for one in asked if start < one[1] and end > one[0]], (op, start, end))
        for number, (wanted, moved) in rounds.items():
            self.assertEqual(merged(wanted), merged(moved), number)
            self.assertEqual(sum(e - s for s, e in wanted), sum(e - s for s, e in moved), number)
        self.assertEqual(sum(e - s for s, e in asked), sum(e - s for wanted, _ in rounds.values() for s, e in wanted))
        return {op: sum(end - start for start, end in ranges) for op, ranges in headers.items()}

    def check_slabs(self, ranks, slabs, parallel):
        log = self.path('log.ioseer')
        events = self.json('dump', '--json', log)
        by_id = {event['id']: event for event in events}
        for rank in range(ranks) if parallel else [None]:
            for name, together in (('/alone', False), ('/together', parallel)):
                own = [e for e in events if e['rank'] == rank and e['object'] == name]
                writes = [e for e in own if e['op'] == 'H5Dwrite']
                first = (rank or 0) * slabs
                self.assertEqual([e['offset'] for e in writes], [(first + i) * SLAB for i in range(slabs)])
                self.assertEqual([e['selection']['start'] for e in writes],
                                 [[(first + i) * ROWS, 0] for i in range(slabs)])
                for event in writes:
                    self.assertEqual((event['size'], event['result'], event['collective'], event['parent']),
                                     (SLAB, SLAB, together, None))
                    self.assertEqual(event['selection']['count'], [ROWS, COLUMNS])
                    self.assertEqual(event['selection']['dims'], [ROWS * slabs * ranks, COLUMNS])
                made = [e['dataset'] for e in own if e['op'] == 'H5Dcreate']
                self.assertEqual([(d['layout'], d['type'], d['mpiio'], d['alignment']) for d in made],
                                 [('contiguous', 'float', parallel, 65536)])
        moving = [e for e in events if e['class'] == 'write' and e['layer'] == 'posix' and e['file'].endswith('.h5')]
        layers = {by_id[e['parent']]['layer'] if e['parent'] else None for e in moving}
        self.assertEqual(layers, {'mpiio'} if parallel else {'hdf5'})
        info = self.json('info', '--json', log)
        self.assertIn('hdf5', info['layers'])
        files = [file for file in info['files'] if file['name'].endswith('.h5')]
        self.assertEqual(len(files), 1)
        self.assertEqual(files[0]['bytes_written'], sum(e['result'] for e in moving))
        self.check_phases(ranks, slabs, parallel)
        self.check_libraries(log)

    def check_libraries(self, log, layer='hdf5'):
        """What the library asked for and what reached the files, computed from the events alone."""
        events = self.json('dump', '--json', log)
        by_id = {event['id']: event for event in events}
        part_of = {'read': 'transfers', 'write': 'transfers', 'open': 'opens', 'close': 'closes', 'sync': 'closes'}

        def above(event):
            """The outermost call of the layer around an event, with itself."""
            found = None
            while event:
                found = event if event['layer'] == layer else found
                event = by_id.get(event['parent'])
            return found

        has_ranks = any(event['rank'] is not None for event in events)
        zero = dict.fromkeys(('calls', 'time', 'bytes_read', 'bytes_written', 'file_bytes_read', 'file_bytes_written',
                              'file_reads', 'file_writes', 'below'), 0)
        expected, path_sums, objects = {}, {}, {}
        for event in events:
            top, moves = above(event), event['class'] in ('read', 'write') and not event['errno']
            if event['rank'] is None and has_ranks:
                continue  # of the launcher
            suffix = {'read': 'read', 'write': 'written'}.get(event['class'])
            names, at = [], event
            while at:
                names.append(at['op'])
                at = by_id.get(at['parent'])
            path = path_sums.setdefault(tuple(reversed(names)), [0, 0, 0])
            path[0] += 1
            path[1] += event['result'] if moves else 0
            path[2] += event['duration']
            if not top:
                continue
            sums = expected.setdefault(part_of.get(top['class'], 'others'), dict(zero))
            if top is event:
                sums['calls'] += 1
                sums['time'] += event['duration']
                if moves:
                    sums['bytes_' + suffix] += event['result']
            if event['parent'] == top['id']:
                sums['below'] += event['duration']
            if moves and event['layer'] in ('posix', 'stdio'):
                sums['file_bytes_' + suffix] += event['result']
                sums[{'read': 'file_reads', 'write': 'file_writes'}[event['class']]] += 1
                if top['class'] in ('read', 'write'):
                    key = top['object'], suffix
                    objects[key] = objects.get(key, 0) + event['result']
        info = self.json('info', '--json', log)
        library = next(row for row in info['libraries'] if row['layer'] == layer)
        self.assertEqual({row['part'] for row in library['parts']}, set(expected))
        for row in library['parts']:
            for key, value in expected[row['part']].items():
                self.assertAlmostEqual(row[key], value, places=8, msg=(row['part'], key))
                self.assertAlmostEqual(library[key], sum(part[key] for part in expected.values()), places=8)
        for row in info['objects']:
            for key in ('read', 'written'):
                self.assertEqual(row['file_bytes_' + key], objects.get((row['object'], key), 0), row['object'])
        self.check_call_tree(log, path_sums, library['name'])
        text = self.expect(0, 'info', log).stdout.decode()
        self.assertRegex(text, rf'(?m)^  {layer} +all +{library["calls"]:,} ')
        said = text[text.index(f'\n  {library["name"]} wrote '):text.index('\nLayers ')]
        self.assertLessEqual(max(map(len, said.split('\n'))), 100)
        return library

    def check_call_tree(self, log, path_sums, library):
        """The call tree of the report has each call under the calls around it, with the sums of all processes."""
        self.expect(0, 'report', '-q', '--json', '-o', self.path('report.json'), log)
        with open(self.path('report.json'), encoding='utf-8') as file:
            page = json.load(file)
        tree = page['layers']
        took, = (text for text in page['summary']['sentences'] if text.startswith(f'The calls of {library} took'))
        self.assertEqual(took.endswith('with its communication.'), page['job']['job']['mpi'] is not None)
        self.assertEqual({lane['pid'] for lane in page['timeline']['lanes']}, {row['pid'] for row in tree['ranks']})
        self.assertEqual(tree['call_tree_cut'], 0)
        path_of, found = {None: ()}, {}
        for node in tree['call_tree']:
            path_of[node['id']] = path_of[node['parent']] + (node['op'],)
            found[path_of[node['id']]] = [node['calls'], node['bytes_read'] + node['bytes_written'], node['time']]
        self.assertEqual(set(found), set(path_sums))
        for path, sums in path_sums.items():
            self.assertEqual(found[path][:2], sums[:2], path)
            self.assertAlmostEqual(found[path][2], sums[2], places=8)

    def check_phases(self, ranks, slabs, parallel):
        """Each dataset is written in one phase and read in another, at places that follow from the rank."""
        log = self.path('log.ioseer')
        made = self.json('phases', '--json', '--layer', 'hdf5', log)
        rows = ROWS * slabs
        first = 'idP*%d' % rows if ranks > 1 else '0'
        last = 'idP*%d + %d' % (rows, rows - ROWS) if ranks > 1 else str(rows - ROWS)
        expected = [(op, name, [start, '0'], rep, together, ranks * rep * SLAB)
                    for name, together in (('/alone', False), ('/together', parallel))
                    for op, start, rep in (('write', first, slabs), ('read', last, 1))]
        found = [(op['op'], op['object'], op['selection']['start_expr'], op['rep'], op['collective'], op['bytes'])
                 for phase in made['phases'] for op in phase['ops']]
        self.assertEqual(found, expected)
        self.assertEqual((made['bytes'], made['unphased_bytes']), (sum(row[-1] for row in expected), 0))
        events = self.json('dump', '--json', '--layer', 'hdf5', log)
        for phase, (op, name, *_) in zip(made['phases'], expected):
            self.assertEqual((phase['object'], phase['objects'], phase['files'], phase['np']), (name, 1, 1, ranks))
            self.assertEqual(phase['ops'][0].get('selection')['count'], [ROWS, COLUMNS])
            if op == 'write':
                self.assertEqual(phase['ops'][0]['selection']['step'], [ROWS, 0])
            times = {}
            for event in events:
                if event['object'] == name and event['class'] == op:
                    times[event['rank']] = times.get(event['rank'], 0) + event['duration']
            self.assertAlmostEqual(phase['duration'], max(times.values()), places=8)
        self.assertIn(b'4x256 of ', self.expect(0, 'phases', '--layer', 'hdf5', log).stdout)
        for verb in (('model',), ('diff', log)):
            self.assertEqual(self.expect(2, *verb, '--layer', 'hdf5', log).stderr.count(b'must be mpiio, posix or stdio'), 1)

    def check_counters(self, ranks, slabs, parallel):
        records = self.json('stats', '--json', self.path('log.ioseer'))['records']
        files = [r['counters'] for r in records if r['layer'] == 'hdf5' and 'object' not in r]
        self.assertEqual([(c['H5F_OPENS'], c['H5F_USE_MPIIO']) for c in files], [(ranks, int(parallel))])
        for name, together in (('/alone', 0), ('/together', int(parallel))):
            found = [r for r in records if r.get('object') == name]
            self.assertEqual([r['rank'] for r in found], [-1 if ranks > 1 else 0 if parallel else None])
            counters = found[0]['counters']
            expected = {'OPENS': ranks, 'READS': ranks, 'WRITES': ranks * slabs, 'BYTES_READ': ranks * SLAB,
                        'BYTES_WRITTEN': ranks * slabs * SLAB, 'RW_SWITCHES': ranks,
                        'REGULAR_HYPERSLAB_SELECTS': ranks * (slabs + 1), 'IRREGULAR_HYPERSLAB_SELECTS': 0,
                        'SIZE_WRITE_AGG_1K_10K': ranks * slabs, 'ACCESS1_ACCESS': SLAB,
                        'ACCESS1_COUNT': ranks * (slabs + 1), 'ACCESS1_LENGTH_D5': ROWS, 'ACCESS1_LENGTH_D4': COLUMNS,
                        'ACCESS1_LENGTH_D3': 0, 'ACCESS1_STRIDE_D5': 1, 'DATASPACE_NDIMS': 2, 'DATATYPE_SIZE': DOUBLE,
                        'DATASPACE_NPOINTS': ROWS * slabs * ranks * COLUMNS, 'CHUNK_SIZE_D1': 0,
                        'USE_MPIIO_COLLECTIVE': together, 'USE_DEPRECATED': 0}
            self.assertEqual({key: counters[f'H5D_{key}'] for key in expected}, expected)
            self.assertEqual(len(counters), 94 + 17)
        text = self.expect(0, 'stats', '--darshan', self.path('log.ioseer')).stdout.decode()
        self.assertRegex(text, r'(?m)^H5D\t-?\d+\t\d+\tH5D_OPENS\t\d+\t\S+\.h5:/alone\t')
        self.assertRegex(text, r'(?m)^H5F\t-?\d+\t\d+\tH5F_OPENS\t\d+\t\S+\.h5\t')


class Serial(Hdf5Test):
    def program(self, name, *others):
        """With the serial library, or with one of the others."""
        paths = [os.path.join(PROGRAMS, f'{name}-{build}') for build in ('serial', *others)]
        path = next((path for path in paths if os.path.exists(path)), paths[0])
        self.need(path)
        return path

    def test_slabs(self):
        self.same(self.program('slabs'), 'slabs.h5', '6', output='slabs.h5')
        self.check_slabs(1, 6, False)
        self.check_counters(1, 6, False)

    def test_sieving(self):
        """Without MPI, HDF5 gathers small writes: what one asks for may be moved by a later call. No byte is moved twice."""
        self.same(self.program('slabs'), 'slabs.h5', '20', output='slabs.h5')
        events = self.json('dump', '--json', self.path('log.ioseer'))
        by_id = self.check_tree(events)
        moved = [e for e in events if e['layer'] == 'posix' and e['class'] == 'write' and e['file'].endswith('.h5')]
        for line in self.printed.splitlines():
            name, begin = line.split()[0], int(line.split()[1])
            asked = [e for e in events if e['object'] == name and e['op'] == 'H5Dwrite']
            data = [e for e in moved if begin <= e['offset'] < begin + 20 * SLAB]
            self.assertEqual(merged((e['offset'], e['offset'] + e['result']) for e in data), [[begin, begin + 20 * SLAB]])
            self.assertEqual(sum(e['result'] for e in data), sum(e['result'] for e in asked))
            self.assertLess(len(data), len(asked))
            self.assertLessEqual({by_id[e['parent']]['op'] for e in data}, {'H5Dwrite', 'H5Dread', 'H5Dclose'})

    def test_errors(self):
        self.same(self.program('errors', 'openmpi', 'mpich'), 'errors.h5', output='errors.h5', has_times=True)

    def test_killed(self):
        """What a call contains stays in the log if the process dies in it, and counts."""
        log = self.record(self.program('killed', 'openmpi', 'mpich'), self.path('data.h5'), status=128 + 9)
        events = self.json('dump', '--json', log)
        ids = {event['id'] for event in events}
        orphans = [e for e in events if e['parent'] is not None and e['parent'] not in ids]
        self.assertIn(1024 // 2 * 8, [e['result'] for e in orphans])  # a chunk
        moved = sum(e['result'] for e in events if e['layer'] == 'posix' and e['class'] == 'read')
        files = [f for f in self.json('info', '--json', log)['files'] if f['name'].endswith('.h5')]
        self.assertEqual([f['bytes_read'] for f in files], [moved])
        for verb in ('phases', 'stats'):
            self.expect(0, verb, log)

    def test_untraced(self):
        """After the trace cap, the counters go on."""
        log = self.record(self.program('slabs'), self.path('cap.h5'), '6', options=('--no-trace',))
        records = [r for r in self.json('stats', '--json', log)['records'] if r.get('object') == '/alone']
        self.assertEqual([(r['counters']['H5D_WRITES'], r['counters']['H5D_BYTES_WRITTEN']) for r in records],
                         [(6, 6 * SLAB)])
        phases = self.json('phases', '--json', '--layer', 'hdf5', log)
        self.assertEqual((phases['bytes'], phases['unphased_bytes']), (0, 2 * 7 * SLAB))

    def interface(self, name, row):
        """A program that writes a dataset of 384 bytes, `row` bytes at a time, and reads all of it."""
        program = os.path.join(PROGRAMS, name)
        self.need(program)
        events = self.same(program, 'data.h5', output='data.h5', has_times=True)
        moved = [(e['op'], e['offset'], e['result']) for e in events if e['object'] == '/data' and e['class'] in ('read', 'write')]
        self.assertEqual(moved, [('H5Dwrite', at, row) for at in range(0, 384, row)] + [('H5Dread', 0, 384)])

    def test_cpp(self):
        self.interface('rows-cc', 64)

    def test_fortran(self):
        self.interface('rows-fortran', 64)

    def test_high_level(self):
        self.interface('high-level', 384)

    def test_tools(self):
        """Programs that use HDF5 in their own ways: links, references, filters, the high-level library."""
        self.need('h5import', 'h5repack', 'h5copy', 'h5dump')
        with open(self.path('text'), 'w', encoding='ascii') as file:
            file.write('\n'.join(str(number) for number in range(4000)))
        with open(self.path('config'), 'w', encoding='ascii') as file:
            file.write('PATH group/data\nINPUT-CLASS TEXTIN\nRANK 2\nDIMENSION-SIZES 100 40\nOUTPUT-SIZE 32\n')
        self.same('h5import', 'text', '-c', 'config', '-o', 'data.h5', output='data.h5', has_times=True)
        run('h5import', 'text', '-c', 'config', '-o', 'data.h5', cwd=self.folder)
        events = self.same('h5repack', '-f', 'GZIP=6', '-l', 'CHUNK=20x20', 'data.h5', 'packed.h5', output='packed.h5',
                           has_times=True)
        made = [e['dataset'] for e in events if e['op'] == 'H5Dcreate']
        self.assertEqual([(d['chunk'], [f['name'] for f in d['filters']]) for d in made], [([20, 20], ['deflate'])])
        events = self.same('h5copy', '-i', 'data.h5', '-o', 'copy.h5', '-s', '/group', '-d', '/other', output='copy.h5',
                           has_times=True)
        copies = {e['id']: e['object'] for e in events if e['op'] == 'H5Ocopy'}
        self.assertEqual(list(copies.values()), ['/other'])
        inside = [e for e in self.json('dump', '--json', self.path('log.ioseer')) if e['parent'] in copies]
        for way in ('read', 'write'):
            self.assertGreaterEqual(sum(e['result'] for e in inside if e['class'] == way), 4000 * 4)
        self.same('h5dump', 'data.h5')
        self.same('h5diff', '-v', 'data.h5', 'data.h5')

    def test_netcdf(self):
        self.need('ncgen', 'nccopy')
        with open(self.path('data.cdl'), 'w', encoding='ascii') as file:
            file.write('netcdf data { dimensions: x = 8; t = unlimited; variables: float v(t, x);\n'
                       'v:units = "m"; data: v = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16; }')
        self.same('ncgen', '-4', '-o', 'data.nc', 'data.cdl', output='data.nc', has_times=True)
        run('ncgen', '-4', '-o', 'data.nc', 'data.cdl', cwd=self.folder)
        events = self.same('nccopy', '-d1', 'data.nc', 'copy.nc', output='copy.nc', has_times=True)
        reads = [e for e in events if e['op'] == 'H5Dread' and e['object'] == '/v']
        self.assertEqual(sum(e['result'] for e in reads), 16 * 4)
        self.assertIsNone(reads[0]['selection']['dims'][0])


TWO_LIBRARIES = '''
import numpy, netCDF4
{imports}
first = netCDF4.Dataset('first.nc', 'w')
first.createDimension('x', 10)
values = first.createVariable('v', 'f8', ('x',))
second = h5py.File('second.h5', 'w')
data = second.create_dataset('group/data', data=numpy.arange(100).reshape(10, 10), chunks=(5, 5), compression='gzip')
values[:] = numpy.arange(10)
data[2:4] = 7
data.attrs['a'] = 3
first.close()
print(second['group/data'][0:3, 1].sum())
second.close()
print(netCDF4.Dataset('first.nc')['v'][:].sum())
with open('/proc/self/maps') as maps:
    print(len({{line.split('/')[-1] for line in maps if 'libhdf5' in line and '_hl' not in line}}))
'''


# HDF5 reads the fill value of strings from the file when the recorder asks for the dataset's properties.
STRINGS = '''
import h5py
with h5py.File('strings.h5', 'w') as file:
    file.create_dataset('s', (4,), dtype=h5py.string_dtype(), chunks=(2,), fillvalue=b'none')[:] = ['one'] * 4
with h5py.File('strings.h5') as file:
    print(file['s'].chunks, file['s'][:])
'''


class Python(Hdf5Test):
    def test_strings(self):
        if run(PYTHON, '-c', 'import h5py').returncode:
            self.skipTest('no h5py')
        events = self.same(PYTHON, '-c', STRINGS, output='strings.h5')
        opened = [e for e in events if e['op'] == 'H5Oopen' and e['object'] == '/s']
        self.assertEqual([e['dataset']['chunk'] for e in opened], [[2]] * 2)

    def python(self, imports):
        program = TWO_LIBRARIES.format(imports=imports)
        if run(PYTHON, '-c', program, cwd=self.folder, env=OPEN_MPI).returncode:
            self.skipTest('no netCDF4 and h5py')
        events = self.same(PYTHON, '-c', program, output='second.h5', has_times=True, env=OPEN_MPI)
        moved = [(e['op'], e['object'], e['result']) for e in events if e['class'] in ('read', 'write') and '@' not in e['object']]
        self.assertEqual(moved, [('H5Dwrite', '/group/data', 800), ('H5Dwrite', '/v', 80), ('H5Dwrite', '/group/data', 160),
                                 ('H5Dread', '/group/data', 24), ('H5Dread', '/v', 80)])

    def test_one_library(self):
        self.python('import h5py')

    def test_irregular(self):
        """Datasets whose names differ in numbers are one pattern; lists of rows have no rule."""
        program = '''
import h5py, numpy
file = h5py.File('irregular.h5', 'w')
for step in range(3):
    data = file.create_dataset(f'step{step}/x', (100, 100), 'f8', chunks=(10, 10))
    for i in range(10):
        data[i * 10:(i + 1) * 10] = numpy.ones((10, 100))
for rows in [1, 3, 4, 9, 70], [2, 5, 8, 11, 40], [0, 7, 22, 41, 93]:
    file['step1/x'][rows]
file.close()
'''
        if run(PYTHON, '-c', program, cwd=self.folder).returncode:
            self.skipTest('no h5py')
        self.same(PYTHON, '-c', program, output='irregular.h5', has_times=True)
        phases = self.json('phases', '--json', '--layer', 'hdf5', self.path('log.ioseer'))['phases']
        found = [(p['object'], p['objects'], [(o['op'], o['rep'], o['selection']['kind']) for o in p['ops']]) for p in phases]
        self.assertEqual(found, [('/step*/x', 3, [('write', 30, 'hyperslab')]), ('/step*/x', 1, [('read', 3, 'irregular')])])
        self.assertEqual(phases[0]['ops'][0]['selection']['start_expr'], ['0', '0'])
        self.assertEqual(phases[1]['ops'][0]['selection']['points'], 500)
        library = self.check_libraries(self.path('log.ioseer'))
        self.assertEqual((library['bytes_written'], library['bytes_read']), (3 * 80000, 3 * 4000))

    def test_two_libraries(self):
        """Each module must keep its own library."""
        self.python('from mpi4py import MPI\nimport h5py._debian_h5py_mpi as h5py')


PARALLEL = '''
import numpy
from mpi4py import MPI
import h5py._debian_h5py_mpi as h5py
rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
with h5py.File('python.h5', 'w', driver='mpio', comm=MPI.COMM_WORLD) as file:
    data = file.create_dataset('data', (size * 4, 16), 'f8')
    values = numpy.full((2, 16), rank)
    data[rank * 4:rank * 4 + 2] = values
    with data.collective:
        data[rank * 4 + 2:rank * 4 + 4] = values
'''


class Parallel(Hdf5Test):
    mpi = None
    ranks, slabs = 4, 3

    def test_slabs(self):
        program, launcher = os.path.join(PROGRAMS, f'slabs-{self.mpi}'), f'mpiexec.{self.mpi}'
        self.need(program, launcher)
        more = ('--oversubscribe',) if self.mpi == 'openmpi' else ()
        self.same(launcher, *more, '-n', str(self.ranks), program, 'slabs.h5', str(self.slabs), output='slabs.h5',
                  env=OPEN_MPI)
        self.check_slabs(self.ranks, self.slabs, True)
        self.check_counters(self.ranks, self.slabs, True)


    def test_bytes(self):
        program, launcher = os.path.join(PROGRAMS, f'slabs-{self.mpi}'), f'mpiexec.{self.mpi}'
        self.need(program, launcher)
        more = ('--oversubscribe',) if self.mpi == 'openmpi' else ()
        for ranks in (4, 16):
            with self.subTest(ranks=ranks):
                self.same(launcher, *more, '-n', str(ranks), program, 'slabs.h5', '2', output='slabs.h5', env=OPEN_MPI)
                headers = self.check_bytes('.h5')
                print(f'# {ranks} ranks: bytes of headers {headers}')
                self.assertLess(sum(headers.values()), 8192)


class Mpich(Parallel):
    mpi = 'mpich'


class OpenMpi(Parallel):
    mpi = 'openmpi'

    def test_python(self):
        """h5py for MPI, which Debian builds with Open MPI."""
        self.need('mpiexec.openmpi')
        command = ('mpiexec.openmpi', '--oversubscribe', '-n', '4', PYTHON, '-c', PARALLEL)
        if run(*command, cwd=self.folder, env=OPEN_MPI).returncode:
            self.skipTest('no h5py for MPI')
        events = self.same(*command, output='python.h5', has_times=True, env=OPEN_MPI)
        for rank in range(4):
            writes = [(e['offset'], e['result'], e['collective']) for e in events if e['op'] == 'H5Dwrite' and e['rank'] == rank]
            self.assertEqual(writes, [(rank * 512, 256, False), (rank * 512 + 256, 256, True)])


class Cost(Hdf5Test):
    """A call of HDF5 costs at most 800 instructions more."""
    FEW, MANY, MOST = 500, 2500, 800
    CALLS = {'all': 1, 'select': 1, 'slab': 2, 'attribute': 1}  # of a pattern

    def count(self, program, pattern, calls, recorded):
        command = ['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', program, pattern, str(calls),
                   self.folder]
        if recorded:
            command = [shutil.which('ioseer', path=BUILD), 'record', '-q', '--force', '-o', self.path('log'), '--'] + command
        done = run(*command, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(re.search(rb'Collected : (\d+)', done.stderr)[1])

    def test_instructions(self):
        program = next((path for path in (os.path.join(PROGRAMS, f'repeat-{build}')
                                          for build in ('serial', 'openmpi', 'mpich')) if os.path.exists(path)), '')
        self.need('valgrind', program)
        for pattern, calls in self.CALLS.items():
            with self.subTest(pattern):
                added = [self.count(program, pattern, self.MANY, recorded) - self.count(program, pattern, self.FEW, recorded)
                         for recorded in (True, False)]
                cost = (added[0] - added[1]) / (self.MANY - self.FEW) / calls
                print(f'# {pattern}: {cost:.0f} instructions per call')
                self.assertLess(cost, self.MOST)


if __name__ == '__main__':
    del Hdf5Test, Parallel
    main()
