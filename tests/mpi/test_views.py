#!/usr/bin/env python3
"""File views, datatypes of transfers and hints as the log has them, against what the programs and MPI itself say."""
import itertools
import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, '..', 'cli'), os.path.join(HERE, '..', 'golden')]
import decode  # noqa: E402
import harness  # noqa: E402

OPENMPI = ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe']
LAUNCHERS = {'mpich': ['mpiexec.mpich'], 'openmpi': OPENMPI, 'openmpi-romio': [*OPENMPI, '--mca', 'io', 'romio321']}
RANKS, INT, DISPLACEMENT = 2, 4, 24
REGULAR, IRREGULAR = 1000, 6000


def pieces_of(items, origin=0):
    """(offset, length) of a flattened type as dump prints it."""
    for item in items:
        if 'length' in item:
            yield origin + item['offset'], item['length']
        else:
            for turn in range(item['count']):
                yield from pieces_of(item['pieces'], origin + item['offset'] + turn * item['stride'])


def bytes_of(datatype):
    return [offset + i for offset, length in pieces_of(datatype['pieces']) for i in range(length)]


def place_of(datatype, flat, position):
    """Where a byte of a view lies in the file."""
    return DISPLACEMENT + position // len(flat) * datatype['extent'] + flat[position % len(flat)]


def elements(*indices):
    """The bytes of the elements with these numbers in an array of integers."""
    return [index * INT + i for index in indices for i in range(INT)]


def irregular_places(rank):
    place, places = 0, []
    for i in range(IRREGULAR):
        places += range(place, place + 1 + i % 3)
        place += 1 + i % 3 + 1 + (i * i + rank) % 7
    return places


def truth(rank):
    """The bytes of one instance of each type in views.c, and its extent."""
    block = [(z * 6 + y) * 8 + x for z in (1, 2) for y in (2, 3, 4) for x in range(4 - 2 * rank, 8 - 2 * rank)]
    fortran = [x + 4 * (y + 6 * z) for z in range(3, 7) for y in range(6) for x in (rank, rank + 1)]
    nested = [(512 + 4 * rank) // INT * row + 8 * part + i for row in range(3) for part in range(4) for i in range(2)]
    cyclic = [(z * 7 + y) * 6 + x for z in range(10) if z // 3 % 2 == rank for y in range(7) for x in range(6)]
    columns = [x + 9 * y for y in (range(5) if rank == 0 else range(5, 8)) for x in range(9)]
    pair = [0, 3]
    strided = [4 + (4 + rank) * i for i in range(3)]
    return {
        'plain': (elements(0), INT),
        'contiguous': (elements(*range(6 + rank)), INT * (6 + rank)),
        'block': (elements(*block), 4 * 6 * 8 * INT),
        'fortran_block': (elements(*fortran), 4 * 6 * 8 * INT),
        'nested': (elements(*nested), 2 * (512 + 4 * rank) + 26 * INT),
        'darray': (elements(*cyclic), 10 * 7 * 6 * INT),
        'fortran_darray': (elements(*columns), 9 * 8 * INT),
        'indexed': (elements(1, 2, 5, 6, 7, 8 + rank, 20, 21, 22, 23), 23 * INT),
        'hindexed': (elements(*(1 + i for i in pair), *(16 + 2 * rank + 4 * n + i for n in (0, 1) for i in pair)),
                     64 + 8 * rank + 8 * INT - 4),
        'indexed_block': (elements(0, 1, 4, 5, 9, 10, 11 + rank, 12 + rank), (13 + rank) * INT),
        'hindexed_block': (elements(0, 1, 2, 10, 11, 12, *range(22 + rank, 25 + rank)), (25 + rank) * INT),
        'struct': (elements(0, 1, *strided, 30, 31, 32), 33 * INT),
        'resized': (elements(0, 1, 3, 4), 48 + 16 * rank),
        'regular': (elements(*(i * (3 + rank) for i in range(REGULAR))), ((REGULAR - 1) * (3 + rank) + 1) * INT),
        'irregular': (elements(*irregular_places(rank)), (irregular_places(rank)[-1] + 1) * INT),
        'pairs': ([8 * (2 + rank) * i + at for i in range(3) for at in (0, 1, 4, 5, 6, 7)], (2 * (2 + rank) + 1) * 8),
    }


def contents(folder):
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), 'rb') as file:
            found[name] = file.read()
    return found


class Recording:
    """A program, run bare and recorded; and what dump says of it."""

    def __init__(self, command):
        self.scratch = tempfile.TemporaryDirectory(prefix='ioseer-views-')
        folder = os.path.realpath(self.scratch.name)
        self.log, self.folder, bare_folder = (os.path.join(folder, name) for name in ('log', 'recorded', 'bare'))
        os.mkdir(self.folder)
        os.mkdir(bare_folder)
        self.bare = harness.run(*command, cwd=bare_folder)
        self.recorded = harness.ioseer('record', '-q', '-o', self.log, '--', *command, cwd=self.folder)
        self.bare_files, self.files = contents(bare_folder), contents(self.folder)
        self.events = json.loads(harness.ioseer('dump', '--json', '--layer', 'mpiio', self.log).stdout)


class ViewsTest(harness.CommandLineTest):
    """Holds what each MPI must do; the classes at the end name one."""
    mpi = None
    recordings = {}  # by program and MPI: each is made once

    def setUp(self):
        super().setUp()
        self.run_folder = None
        if not os.path.exists(self.program('views')) or not shutil.which(LAUNCHERS[self.mpi][0]):
            self.skipTest(f'{self.mpi} is not here')

    def program(self, name):
        return os.path.join(harness.BUILD, 'tests', 'mpi', f'{name}-{self.mpi.split("-")[0]}')

    def recording(self, name='views'):
        """Status, output and files are the same bare and recorded, except for gaps in files."""
        command = [*LAUNCHERS[self.mpi], '-n', str(RANKS), self.program(name)]
        if name == 'views' and self.mpi == 'openmpi':
            command.append('--pairs')
        key = self.mpi, name
        if key not in self.recordings:
            self.recordings[key] = Recording(command)
        made = self.recordings[key]
        bare, recorded = made.bare, made.recorded
        self.assertEqual((bare.returncode, bare.stdout), (0, recorded.stdout), bare.stderr)
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        self.assertEqual({file: len(data) for file, data in made.bare_files.items()},
                         {file: len(data) for file, data in made.files.items()})
        for file, data in made.files.items():
            if file.endswith('.txt'):
                self.assertEqual(made.bare_files[file], data)
        self.run_folder = made.folder
        return made

    def of_file(self, events, name, op=None):
        path = os.path.join(self.run_folder, name)
        return [event for event in events if event['file'] == path and op in (None, event['op'])]

    def check_view(self, event, flat, extent, complete):
        view = event['view']
        self.assertEqual((view['displacement'], event['offset'], event['errno']), (DISPLACEMENT, DISPLACEMENT, 0))
        filetype = view['filetype']
        self.assertEqual((filetype['bytes'], filetype['extent']), (len(flat), extent))
        self.assertEqual(filetype['lower_bound'], 0 if filetype['combiner'] in ('subarray', 'darray') else flat[0])
        self.assertEqual((event['filetype_bytes'], event['filetype_extent']), (len(flat), extent))
        self.assertEqual(filetype['complete'], complete, filetype)
        known = bytes_of(filetype)
        self.assertEqual(known, flat[:len(known)])
        if complete:
            self.assertEqual(len(known), len(flat))

    def check_file(self, files, name, rank, filetype, flat, element_bytes):
        """The log agrees with the offsets that MPI reports, and with the files that it wrote."""
        places = [int(line) for line in files[f'{name}.{rank}.txt'].split()]
        told = [place_of(filetype, flat, i * element_bytes) for i in range(len(places))]
        self.assertEqual(places, told)
        count = len(places) * element_bytes
        found = [files[f'{name}.{rank}.dat'][place_of(filetype, flat, i)] for i in range(count)]
        self.assertEqual(found, [i % 251 + 1 for i in range(count)])

    def test_views(self):
        recording = self.recording()
        events = recording.events
        for rank, name in itertools.product(range(RANKS), truth(0)):
            flat, extent = truth(rank)[name]
            with self.subTest(name=name, rank=rank):
                found = self.of_file(events, f'{name}.{rank}.dat', 'MPI_File_set_view')
                if not found and name == 'pairs':
                    continue  # only OMPIO can
                event, = found
                opened, = self.of_file(events, f'{name}.{rank}.dat', 'MPI_File_open')
                self.assertEqual((opened['amode'], opened['comm_size']), ('MPI_MODE_CREATE|MPI_MODE_RDWR', 1))
                etype = event['view']['etype']
                element_bytes = 6 if name == 'pairs' else INT
                self.assertEqual(etype['text'], 'MPI_SHORT_INT' if name == 'pairs' else 'MPI_INT')
                self.assertEqual((etype['bytes'], event['etype_bytes']), (element_bytes, element_bytes))
                self.check_view(event, flat, extent, name != 'irregular')
                self.check_file(recording.files, name, rank, event['view']['filetype'], flat, element_bytes)
                write, = self.of_file(events, f'{name}.{rank}.dat', 'MPI_File_write_at')
                self.assertNotIn('datatype', write)
                self.assertEqual(write['offset'], place_of(event['view']['filetype'], flat, 0))

    def test_words(self):
        recording = self.recording()
        events = recording.events
        for name, words in (('block', 'subarray 2 x (3 x 16 bytes every 32) every 192 at 272, extent 768'),
                            ('nested', 'hvector 3 x (4 x 8 bytes every 32) every 512, extent 1128'),
                            ('struct', 'struct 8 bytes + 3 x 4 bytes every 16 at 16 + 12 bytes at 120, extent 132'),
                            ('regular', 'indexed_block 1000 x 4 bytes every 12, extent 11992'),
                            ('contiguous', 'contiguous 24 bytes, extent 24'),
                            ('plain', 'dup 4 bytes, extent 4')):
            event, = self.of_file(events, f'{name}.0.dat', 'MPI_File_set_view')
            self.assertEqual(event['view']['filetype']['text'], words)
        text = self.expect(0, 'dump', '--layer', 'mpiio', recording.log).stdout.decode()
        self.assertIn('nested.0.dat  view of MPI_INT: hvector 3 x (4 x 8 bytes every 32) every 512', text)
        self.assertIn('memory: vector 5 x 4 bytes every 12', text)

    def test_irregular_types_are_cut(self):
        """The log has only the first pieces and says so; these are right. Equal types of both ranks are one."""
        if not shutil.which('zstd'):
            self.skipTest('the zstd command is not installed')
        with open(self.recording().log, 'rb') as file:
            problems = []
            tables = decode.Tables(decode.find_blocks(file.read(), problems), problems)
        self.assertEqual(problems, [])
        cut = [datatype for datatype in tables.datatypes.values() if datatype.cut]
        self.assertEqual(len(cut), RANKS)
        for rank, datatype in enumerate(sorted(cut, key=lambda found: found.extent)):
            flat = sorted((truth(rank)['irregular'] for rank in range(RANKS)), key=lambda found: found[1])[rank][0]
            known = bytes_of({'pieces': [item.described() for item in datatype.items]})
            self.assertGreater(len(datatype.items), 4000)
            self.assertEqual(known, flat[:len(known)])
            self.assertEqual(datatype.bytes, len(flat))
        self.assertEqual(sum(datatype.name == 'MPI_INT' for datatype in tables.datatypes.values()), 1)

    def test_memory(self):
        events = self.recording().events
        for rank in range(RANKS):
            writes = [event for event in self.of_file(events, f'memory.{rank}.dat') if event['class'] == 'write']
            writes.sort(key=lambda event: event['tick'])
            told = [(event['op'], event['size'], list(pieces_of(event['datatype']['pieces'])))
                    if 'datatype' in event else (event['op'], event['size']) for event in writes]
            thirds = [(12 * i, 4) for i in range(5)]
            self.assertEqual(told, [
                ('MPI_File_write', 20, thirds), ('MPI_File_write', 16), ('MPI_File_write_at_all', 40, thirds),
                ('MPI_File_iwrite_at', 20, thirds), ('MPI_File_write_at_all_begin', 20, thirds),
                *(('MPI_File_write_at', 4 * gap, [(4 * gap * i, 4) for i in range(gap)]) for gap in range(2, 6)),
                ('MPI_File_write_at', 40)])

    def test_large_counts(self):
        events = self.recording().events
        for rank in range(RANKS):
            writes = self.of_file(events, f'large.{rank}.dat', 'MPI_File_write_at')
            if not writes:
                self.skipTest('no MPI 4')
            told = [bytes_of(event['datatype']) for event in writes]
            strided = [4 + (4 + rank) * i for i in range(3)]
            listed = [30 + 4 * n + i for n in range(3) for i in (0, 1, 3)]
            known = truth(rank)
            self.assertEqual(told, [known['nested'][0], known['block'][0], known['fortran_darray'][0],
                                    elements(0, 1, *strided, *listed)])

    def test_hints(self):
        recording = self.recording()
        log, events = recording.log, recording.events
        asked = {'cb_nodes': '1', 'romio_ds_write': 'disable', 'of no MPI': 'a "value"'}
        opens, sets, views = (self.of_file(events, 'hints.dat', f'MPI_File_{op}') for op in ('open', 'set_info', 'set_view'))
        self.assertEqual([len(found) for found in (opens, sets, views)], [RANKS] * 3)
        for event in opens:
            self.assertEqual((event['amode'], event['comm_size']), ('MPI_MODE_CREATE|MPI_MODE_WRONLY', RANKS))
            self.assertEqual(event['hints']['asked'], asked)
            if self.mpi == 'mpich':
                self.assertEqual(event['hints']['in_force']['cb_nodes'], '1')
                self.assertEqual(event['hints']['in_force']['romio_ds_write'], 'disable')
                self.assertNotIn('of no MPI', event['hints']['in_force'])
            else:
                self.assertGreaterEqual(set(asked), set(event['hints']['in_force']))
        for event in sets:
            self.assertEqual(event['hints']['asked'], {'cb_buffer_size': '65536'})
        for event in views:
            self.assertEqual(event['hints']['asked'], {'cb_buffer_size': '131072'})
            self.assertEqual(event['view']['filetype']['text'], 'MPI_BYTE')
        plain, = self.of_file(events, 'plain.0.dat', 'MPI_File_open')
        self.assertIsNone(plain.get('hints', {'asked': None})['asked'])
        self.check_info(log, asked)

    def check_info(self, log, asked):
        files = {os.path.basename(file['name']): file['mpi'] for file in self.json('info', '--json', log)['files']}
        hints = files['hints.dat']
        self.assertEqual(hints['access'], [{'amode': 'MPI_MODE_CREATE|MPI_MODE_WRONLY', 'comm_size': RANKS,
                                            'count': RANKS}])
        self.assertEqual([row['hints']['asked'] for row in hints['hints']],
                         [asked, {'cb_buffer_size': '65536'}, {'cb_buffer_size': '131072'}])
        self.assertEqual([(row['view']['displacement'], row['count']) for row in hints['views']], [(0, RANKS)])
        self.assertIsNone(files['plain.0.txt'])
        nested, = files['nested.0.dat']['views']
        self.assertEqual(nested['view']['filetype']['text'],
                         'hvector 3 x (4 x 8 bytes every 32) every 512, extent 1128')
        text = self.expect(0, 'info', '--all', log).stdout.decode()
        self.assertIn('opened    MPI_MODE_CREATE|MPI_MODE_WRONLY by 2 processes together, 2 calls\n', text)
        self.assertIn('cb_nodes=1, romio_ds_write=disable', text)
        self.assertIn('view      from 24 of MPI_INT: hvector 3 x (4 x 8 bytes every 32) every 512, extent 1128', text)

    def test_mistakes(self):
        events = self.recording().events
        for rank in range(RANKS):
            write, view = (self.of_file(events, f'mistakes.{rank}.dat', f'MPI_File_{op}')[0]
                           for op in ('write_at', 'set_view'))
            self.assertNotEqual(write['errno'], 0)
            self.assertNotEqual(view['errno'], 0)
            self.assertNotIn('view', view)
            self.assertNotIn('datatype', write)

    def test_without_trace(self):
        """No event could refer to datatypes, so the log has none."""
        log = self.record(*LAUNCHERS[self.mpi], '-n', str(RANKS), self.program('views'), options=['--no-trace'],
                          cwd=self.folder)
        self.assertEqual(self.json('info', '--json', log)['losses'], [])
        self.assertEqual(self.json('dump', '--json', log), [])

    def test_fortran(self):
        if not os.path.exists(self.program('views-f08')):
            self.skipTest('no Fortran')
        events = self.recording('views-f08').events
        for rank in range(RANKS):
            view, = (event for event in self.of_file(events, 'fortran.dat', 'MPI_File_set_view')
                     if event['rank'] == rank)
            write, = (event for event in self.of_file(events, 'fortran.dat', 'MPI_File_write_all')
                      if event['rank'] == rank)
            opened, = (event for event in self.of_file(events, 'fortran.dat', 'MPI_File_open')
                       if event['rank'] == rank)
            # Columns of a matrix of 6 x 8 numbers, 3 x 4 of them from row 2 and the rank's column on.
            flat = [8 * (2 + x + 6 * (4 * rank + y)) + i for y in range(4) for x in range(3) for i in range(8)]
            self.assertEqual(bytes_of(view['view']['filetype']), flat)
            self.assertEqual(view['view']['filetype']['extent'], 6 * 8 * 8)
            self.assertIn(view['view']['etype']['text'], ('MPI_DOUBLE_PRECISION', 'MPI_REAL8'))
            self.assertEqual(list(pieces_of(write['datatype']['pieces'])), [(16 * i, 8) for i in range(12)])
            self.assertEqual(opened['hints']['asked'], {'cb_nodes': '1'})


class Mpich(ViewsTest):
    mpi = 'mpich'


class OpenMpi(ViewsTest):
    mpi = 'openmpi'


class Romio(ViewsTest):
    mpi = 'openmpi-romio'


if __name__ == '__main__':
    del ViewsTest
    harness.main()
