"""Darshan's logs are logs: what verbs say of them, against logs that were made here. Speaks TAP."""
import json
import os
import random
import struct
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'cli'), os.path.join(HERE, '..', 'golden')]

import decode as log_format  # noqa: E402
import encode  # noqa: E402
from encode import Log, Record  # noqa: E402
from samples import DATASET, FILE, HEAT, LONELY, MOUNTS, NAMELESS, NAMES, OLD, some_record, some_records  # noqa: E402
from harness import CommandLineTest, main  # noqa: E402

class ImportTest(CommandLineTest):
    def save(self, log, name='app.darshan'):
        with open(self.path(name), 'wb') as file:
            file.write(log if isinstance(log, bytes) else log.bytes())
        return self.path(name)

    def parsed(self, path):
        """The lines of counters that `stats --darshan` prints."""
        text = self.expect(0, 'stats', '--darshan', path).stdout.decode('utf-8', 'surrogateescape')
        return [line for line in text.split('\n') if line and not line.startswith('#')]

    def imported(self, path, name='app.ioseer'):
        self.expect(0, 'import', '-q', path, '-o', self.path(name), '--force')
        return self.path(name)

    def assert_parsed(self, log):
        path, lines = self.save(log), [line.replace('\udcff', '\\xff') for line in log.lines()]
        self.assertTrue(lines)
        self.assertEqual([line.replace('\udcff', '\\xff') for line in self.parsed(path)], lines)
        self.assertEqual([line.replace('\udcff', '\\xff') for line in self.parsed(self.imported(path))], lines)
        return path


class Counters(ImportTest):
    """`stats --darshan` prints what darshan-parser prints, of the log and of its import."""

    def test_every_version_in_both_byte_orders(self):
        chance = random.Random(1)
        for version in OLD:
            for order in '<>':
                with self.subTest(version=version, order=order):
                    self.assert_parsed(Log(some_records(version, chance), version, order, names=NAMES, mounts=MOUNTS))

    def test_every_version_of_a_module(self):
        chance = random.Random(2)
        for module, newest in encode.VERSIONS.items():
            for version in range(1, newest + 1):
                if module.startswith('DXT'):
                    continue
                for order in '<>':
                    with self.subTest(module=module, version=version, order=order):
                        record = some_record(module, version, FILE, 2, chance)
                        self.assert_parsed(Log([record], '3.41', order, names=NAMES, mounts=MOUNTS))

    def test_compression_and_pieces(self):
        records = some_records('3.41', random.Random(3))
        for codec in encode.CODECS:
            for pieces in (1, 2, 3):
                with self.subTest(codec=codec, pieces=pieces):
                    self.assert_parsed(Log(records, codec=codec, pieces=pieces, names=NAMES, mounts=MOUNTS))

    def test_many_records(self):
        chance = random.Random(4)
        records = [some_record('POSIX', 4, identity, identity % 64, chance) for identity in range(3000)]
        names = {identity: b'/scratch/run/%d' % identity for identity in range(3000)}
        self.assert_parsed(Log(records, names=names, mounts=MOUNTS, processes=64, pieces=7))

    def test_bins_that_differ_by_one(self):
        """Some releases of Darshan left ranks with one bin more or less; the first record decides."""
        bins = {'writes': [1, 2, 3], 'reads': [4, 5, 6]}
        records = [Record('HEATMAP', HEAT, 0, [], [0.1], **bins),
                   Record('HEATMAP', HEAT, 1, [], [0.1], writes=[1, 2, 3, 4], reads=[5, 6, 7, 8],
                          printed_writes=[1, 2, 3], printed_reads=[5, 6, 7]),
                   Record('HEATMAP', HEAT, 2, [], [0.1], writes=[1, 2], reads=[3, 4], printed_writes=[1, 2, 0],
                          printed_reads=[3, 4, 0]),
                   Record('HEATMAP', HEAT, 3, [], [0.2], writes=[1, 2], reads=[3, 4])]
        self.assert_parsed(Log(records, names=NAMES))

    def test_records_with_stdio_are_left_out(self):
        """Version 1 of POSIX mixed both."""
        chance = random.Random(5)
        records = [some_record('POSIX', 1, FILE, rank, chance) for rank in range(3)]
        records[1].more['stdio'] = [1, 2, 3, 4]
        path = self.assert_parsed(Log(records, '3.00', names=NAMES))
        self.assertEqual(self.json('info', '--json', path)['import']['modules'][0]['left_out'], 1)

    def test_json_has_the_same_numbers(self):
        """Every bit of them, and null for what the version does not have; also those that darshan-parser misreads."""
        for version in range(1, 5):
            for order in '<>':
                record = some_record('POSIX', version, FILE, 1, random.Random(version))
                path = self.save(Log([record], order=order, names=NAMES))
                for log in (path, self.imported(path)):
                    (found,) = self.json('stats', '--json', log)['records']
                    self.assertEqual((found['layer'], found['rank'], found['file']), ('posix', 1, '/scratch/data.bin'))
                    wanted = {name: None if value is None or name == 'X' else value for name, value in record.known()}
                    for name, value in wanted.items():
                        if isinstance(value, float) and value:
                            self.assertAlmostEqual(found['counters'][name] / value, 1, 9, name)
                        else:
                            self.assertEqual(found['counters'][name], value, name)

    def test_objects(self):
        record = some_record('H5D', 2, FILE, -1, random.Random(6))
        (found,) = self.json('stats', '--json', self.save(Log([record], names=NAMES)))['records']
        self.assertEqual((found['layer'], found['rank'], found['file'], found['object'], found['ranks']),
                         ('hdf5', -1, '/scratch/data.bin', '/group/set', 4))

    def test_a_log_without_records(self):
        path = self.save(Log([]))
        self.assertEqual(self.parsed(path), [])
        self.assertEqual(self.json('stats', '--json', path)['records'], [])


class Format(ImportTest):
    """An imported log, by the decoder that follows doc/format.md."""

    def test_records_have_all_bits(self):
        chance = random.Random(20)
        records = some_records('3.41', chance)
        log = Log(records, names=NAMES, mounts=MOUNTS, partial=('BG/Q',))
        with open(self.imported(self.save(log)), 'rb') as file:
            data = file.read()
        origin, rows = log_format.decode_imported(data)
        self.assertEqual((origin.text(1), origin.text(2), origin.text(13)), ('Darshan', '3.41', '/bin/app -x 1'))
        self.assertEqual([mount.split(b'\0')[::-1] for mount in origin.strings[14]],
                         [list(mount) for mount in sorted(MOUNTS, key=lambda mount: -len(mount[1]))])
        for module, (number, *_) in encode.MODULES.items():
            wanted = [record for record in records if record.module == module]
            found = [row for row in rows if row['module'] == number]
            self.assertEqual([(row['rank'], row['record'], row['version']) for row in found],
                             [(record.rank, record.id, record.version) for record in wanted])
            for row, record in zip(found, wanted):
                self.assertEqual(list(row['reals']), record.reals)
                self.assertEqual(row['of_file'], record.more.get('file', 0))
                if module != 'LUSTRE':
                    self.assertEqual(row['numbers'], record.numbers)
                if module == 'HEATMAP':
                    self.assertEqual((row['name'], row['more']), (b'heatmap:POSIX', record.more['writes'] + record.more['reads']))
                if module == 'MDHIM':
                    self.assertEqual(row['more'], record.more['servers'])
                if module in ('DFS', 'DAOS'):
                    self.assertEqual(struct.pack('<4q', *row['more'][:4]), record.more['pool'] + record.more['container'])

    def test_events(self):
        trace = [Record('DXT_POSIX', FILE, 1, host=b'h', writes=[(0, 10, 0.5, 0.6, 0)], reads=[(3, 4, 0.1, 0.2, 0)], version=1)]
        path = self.imported(self.save(Log(trace, names=NAMES)))
        with open(path, 'rb') as file:
            events, problems = log_format.decode(file.read())[:2]
        self.assertEqual(problems, [])
        for event, shown in zip(events, self.json('dump', '--json', path), strict=True):
            for key in shown:
                if key in ('start', 'duration'):
                    self.assertAlmostEqual(event[key], shown[key], 8)
                else:
                    self.assertEqual(event[key], shown[key], key)


class Trace(ImportTest):
    """Segments of DXT are events."""

    def log(self, **more):
        mpi = [Record('DXT_MPIIO', FILE, rank, host=b'node%d' % (rank % 2), writes=[(rank << 20, 1 << 20, 0.1, 0.4, 77)],
                      reads=[(0, 4096, 0.5, 0.6, 0)], shared=True, version=more.get('mpi_version')) for rank in range(4)]
        posix = [Record('DXT_POSIX', FILE, rank, host=b'node%d' % (rank % 2),
                        writes=[(rank << 20, 1 << 20, 0.2, 0.3, 77), (5, 100, 0.7, 0.8, 78)], reads=[(0, 10, 0.65, 0.66, 78)],
                        version=more.get('posix_version')) for rank in range(4)]
        return Log(mpi + posix, names=NAMES, mounts=MOUNTS, order=more.get('order', '<'))

    def test_events(self):
        for order in '<>':
            for posix_version, mpi_version in ((1, 1), (1, 2), (2, 3)):
                self.check_events(self.log(order=order, posix_version=posix_version, mpi_version=mpi_version), mpi_version)

    def check_events(self, log, mpi_version):
        has_offsets = mpi_version > 1
        path = self.save(log)
        events = self.json('dump', '--json', path)
        self.assertEqual(len(events), 4 * 5)
        self.assertEqual([event['start'] for event in events], sorted(event['start'] for event in events))
        for rank in range(4):
            own = [event for event in events if event['rank'] == rank]
            ops = ['MPI_File_write_at', 'write', 'MPI_File_read_at', 'read', 'write']
            self.assertEqual([event['op'] for event in own], ops if has_offsets else [op.replace('_at', '') for op in ops])
            self.assertEqual([event['offset'] for event in own],
                             [rank << 20 if has_offsets else None, rank << 20, 0 if has_offsets else None, 0, 5])
            self.assertEqual([event['size'] for event in own], [1 << 20, 1 << 20, 4096, 10, 100])
            self.assertEqual([(event['start'], event['duration']) for event in own],
                             [(0.1, 0.3), (0.2, 0.1), (0.5, 0.1), (0.65, 0.01), (0.7, 0.1)])
            self.assertEqual([event['parent'] for event in own], [None, own[0]['id'], None, None, None])
            self.assertEqual([event['collective'] for event in own], [None, False, None, False, False])
            for event in own:
                self.assertEqual((event['pid'], event['tid'], event['tick'], event['line']), (None,) * 4)
                self.assertEqual((event['via'], event['host'], event['file']),
                                 ('import', f'node{rank % 2}', '/scratch/data.bin'))
        self.assertEqual(self.json('dump', '--json', self.imported(path)), events)

    def test_phases_model_and_report(self):
        path = self.save(self.log())
        phases = self.json('phases', '--json', path)['phases']
        self.assertEqual(sum(phase['weight'] for phase in phases), 4 * ((1 << 20) + 4096 + 100 + 10))
        self.expect(0, 'model', path, '-o', self.path('app.model'))
        self.assertIn('no ticks, no opens and other metadata calls', self.expect(0, 'phases', path).stderr.decode())
        self.assertEqual(self.expect(0, 'phases', '--quiet', path).stderr, b'')
        self.expect(0, 'report', path, '-o', self.path('app.html'))
        said = self.json('report', '--json', path)['summary']['not_captured']
        self.assertIn('no communication', ' '.join(said))

    def test_replay(self):
        """Of POSIX: no MPI is needed."""
        posix = [Record('DXT_POSIX', FILE, 0, host=b'here', writes=[(i * 4096, 4096, i / 1000, i / 1000 + .0001, 0) for i in range(3)],
                        reads=[(0, 4096, .003, .0031, 0)], version=1)]
        path = self.save(Log(posix, names=NAMES, processes=1))
        os.mkdir(self.path('target'))
        replayed = self.json('replay', '--json', path, '--on', self.path('target'))
        self.assertGreater(replayed['total'], 0)
        predicted = self.json('predict', '--json', path, '--on', self.path('target'))
        self.assertEqual(len(predicted['targets']), 1)

    def test_without_a_trace(self):
        path = self.save(Log(some_records('3.41', random.Random(7)), names=NAMES))
        for verb, *more in (('phases',), ('model', '-o', self.path('model')), ('replay', '--on', self.folder),
                            ('predict', '--on', self.folder)):
            self.assertIn('no trace in a Darshan log without DXT', self.expect_error(1, verb, path, *more))
        self.assertEqual(self.json('dump', '--json', path), [])
        said = self.json('report', '--json', path)['summary']['not_captured']
        self.assertIn('without a trace (DXT)', said[0])


class Info(ImportTest):
    def test_job(self):
        info = self.json('info', '--json', self.save(Log(some_records('3.41', random.Random(8)), names=NAMES)))
        job = info['job']
        self.assertEqual((job['command'], job['start'], job['end'], job['nprocs'], job['id'], job['exit_status'], job['mpi'],
                          job['host'], job['complete']),
                         (['/bin/app', '-x', '1'], 1500000000.25, 1500000012.75, 4, '4711', None, None, None, True))
        self.assertEqual((info['import']['program'], info['import']['version'], info['import']['trace']),
                         ('Darshan', '3.41', False))
        self.assertEqual((info['coverage']['read'], info['coverage']['write']), (None, None))
        for process in info['processes']:
            # A record of rank -1 does not say what each rank did.
            for key in ('pid', 'exit', 'io_time', 'bytes_read', 'bytes_written', 'calls'):
                self.assertIsNone(process[key], key)
            self.assertEqual(process['via'], 'import')
        for rank in info['ranks']:
            self.assertEqual((rank['io'], rank['communication'], rank['rest'], rank['run']), (None, None, None, 12.5))

    def test_old_logs_have_whole_seconds(self):
        path = self.save(Log([], '3.21'))
        job = self.json('info', '--json', path)['job']
        self.assertEqual((job['start'], job['end']), (1500000000.0, 1500000013.0))
        self.expect(0, 'export', '--format', 'darshan', path, '-o', self.path('new'))
        text = self.expect(0, 'stats', '--darshan', self.path('new')).stdout
        self.assertIn(b'# end_time: 1500000012\n', text)
        self.assertIn(b'# run time: 13.0000\n', text)

    def test_ranks_with_records_of_their_own(self):
        """Without shared records, what each rank did is known."""
        record = Record('POSIX', FILE, 2, [0] * 69, [0] * 17)
        for name, value in (('READS', 10), ('BYTES_READ', 1000)):
            record.numbers[encode.MODULES['POSIX'][2].index(name)] = value
        record.reals[encode.TIMES.index('READ_TIME')] = 1.5
        info = self.json('info', '--json', self.save(Log([record], names=NAMES, mounts=MOUNTS)))
        process = [process for process in info['processes'] if process['rank'] == 2][0]
        self.assertEqual((process['io_time'], process['bytes_read'], process['calls']), (1.5, 1000, 10))
        (file,) = info['files']
        self.assertEqual((file['name'], file['bytes_read'], file['ranks']), ('/scratch/data.bin', 1000, 1))

    def test_time_is_that_of_the_calls_of_the_program(self):
        """What MPI-IO does in POSIX is inside its own calls; a file that the program uses by POSIX counts, too."""
        def record(module, identity, **values):
            _, _, names, reals = encode.MODULES[module]
            return Record(module, identity, 1, [values.get(name, 0) for name in names],
                          [values.get(name, 0.0) for name in reals])
        records = [record('POSIX', FILE, READS=4, READ_TIME=0.5), record('POSIX', LONELY, READS=1, READ_TIME=0.25),
                   record('MPI-IO', FILE, INDEP_OPENS=1, COLL_OPENS=2, COLL_READS=3, NB_READS=5, SPLIT_WRITES=7, READ_TIME=2.0)]
        path = self.save(Log(records, names=NAMES, mounts=MOUNTS))
        (process,) = [process for process in self.json('info', '--json', path)['processes'] if process['rank'] == 1]
        self.assertEqual(process['io_time'], 2.25)
        self.expect(0, 'index', self.folder, '--db', self.path('db'))
        (layer,) = [layer for layer in self.json('jobs', '--json', '--db', self.path('db'), '--by', 'layer')['groups']
                    if layer['layer'] == 'mpiio']
        self.assertEqual((layer['opens'], layer['reads'], layer['writes']), (3, 8, 7))

    def test_a_job_that_did_not_end(self):
        record = some_record('POSIX', 4, FILE, 0, random.Random(9))
        record.reals = [0.0] * 17
        record.reals[encode.TIMES.index('CLOSE_END_TIMESTAMP')] = 7.5
        info = self.json('info', '--json', self.save(Log([record], names=NAMES, codec='none', end=0, end_ns=0)))
        self.assertEqual((info['job']['end'] - info['job']['start'], info['job']['complete']), (7.5, False))

    def test_stripes(self):
        chance = random.Random(10)
        records = [some_record(module, 2 if module == 'LUSTRE' else 4, FILE, 0, chance) for module in ('POSIX', 'LUSTRE')]
        (file,) = self.json('info', '--json', self.save(Log(records, names=NAMES, mounts=MOUNTS)))['files']
        self.assertEqual((file['stripe']['count'], file['stripe']['size'], file['stripe']['pool']), (1, 4 << 20, 'fast'))

    def test_modules(self):
        """Incomplete, unknown and of a later version: each is named."""
        records = [some_record('POSIX', 4, FILE, 0, random.Random(11)), Record('APMPI', 1, 0, raw=b'x' * 100),
                   Record('FUTURE', 1, 0, raw=b'y' * 100), Record('STDIO', FILE, 0, [1] * 14, [1.0] * 15, 9)]
        records[-1].version = 9
        for version, order in (('3.41', '<'), ('3.41', '>'), ('3.21', '<'), ('3.21', '>')):
            path = self.save(Log(records, version, order, names=NAMES, partial=('POSIX', 'MPI-IO')))
            modules = {module['name']: module for module in self.json('info', '--json', path)['import']['modules']}
            unknown = 'module 40' if version == '3.41' else 'DFS'  # the last place that an old log has
            states = {name: (module['state'], module['partial'], module['records']) for name, module in modules.items()}
            self.assertEqual(states['POSIX'], ('read', True, 1))
            self.assertEqual(states['MPI-IO'], ('read', True, 0))
            self.assertEqual(states['APMPI'], ('unknown', False, None))
            self.assertEqual(states['STDIO'], ('unknown', False, None))
            if version == '3.41':
                self.assertEqual(states[unknown], ('unknown', False, None))
            text = self.expect(0, 'info', path).stdout.decode()
            self.assertRegex(text, r'POSIX +4 +1  incomplete')
            self.assertRegex(text, r'APMPI +1 +-  skipped')


class Unknown(ImportTest):
    """What a log without a trace does not tell is not shown as nothing."""

    def text_and_page(self, log):
        path = self.save(log)
        text = self.expect(0, 'report', path).stdout.decode()
        self.assertIn('Not known: findings come from a trace', text)
        return text, self.json('report', '--json', path)['timeline']

    def test_heat_maps(self):
        records = [Record('HEATMAP', HEAT, rank, [], [5.0], writes=[0, 0, 3 << 20], reads=[1 << 20, 0, 0]) for rank in range(4)]
        records.append(Record('HEATMAP', NAMELESS, 0, [], [5.0], writes=[9, 9, 9], reads=[9, 9, 9]))
        text, timeline = self.text_and_page(Log(records, names={**NAMES, NAMELESS: b'heatmap:MPIIO'}))
        bins = timeline['bins']
        self.assertEqual((timeline['source'], bins['count'], 'other_calls' in bins), ('heat map', 800, False))
        for key, wanted, begin, end in (('read_bytes', 4 << 20, 0, 5), ('write_bytes', 12 << 20, 10, 12.5)):
            self.assertAlmostEqual(sum(bins[key]) / wanted, 1, 3)
            outside = [moved for i, moved in enumerate(bins[key]) if not begin <= (i + 0.5) * bins['seconds'] <= end]
            self.assertEqual(sum(outside), 0)
        self.assertIn('Bytes over time', text)
        self.assertNotIn('calls/s', text)

    def test_counters_only(self):
        text, timeline = self.text_and_page(Log([some_record('POSIX', 4, FILE, -1, random.Random(18))], names=NAMES))
        self.assertEqual((timeline['source'], timeline['bins']['count']), (None, 0))
        self.assertNotIn('over time', text)

    def test_jobs(self):
        records = {'shared': Record('POSIX', FILE, -1, [1] * 69, [0.1] * 17), 'one': Record('POSIX', FILE, 0, [1] * 69, [0.1] * 17),
                   'mpi': Record('MPI-IO', FILE, 0, [1] * 51, [0.1] * 17)}
        for name, record in records.items():
            self.save(Log([record], names=NAMES, processes=4 if name == 'shared' else 1), name + '.darshan')
        self.expect(0, 'index', self.folder, '--db', self.path('db'))
        jobs = self.json('jobs', '--json', '--db', self.path('db'))['jobs']
        told = {os.path.basename(job['log']).split('.')[0]: (job['mpi'], job['io_seconds_max'] is None) for job in jobs}
        self.assertEqual(told, {'shared': (True, True), 'one': (False, False), 'mpi': (True, False)})


class Damage(ImportTest):
    def test_cut_and_changed_logs(self):
        """Whatever the bytes are, it is one line or a log."""
        chance = random.Random(12)
        records = some_records('3.41', chance) + [
            Record('DXT_POSIX', FILE, 1, host=b'h', writes=[(0, 1, 0.1, 0.2, 0)] * 5, reads=[])]
        for codec in encode.CODECS:
            whole = Log(records, codec=codec, names=NAMES, mounts=MOUNTS).bytes()
            for _ in range(25):
                data = bytearray(whole)
                for _ in range(chance.randrange(3)):
                    data[chance.randrange(16, len(data))] = chance.randrange(256)
                path = self.save(bytes(data[:chance.choice([len(data), chance.randrange(16, len(data))])]))
                done = self.expect_any('stats', '--darshan', path)
                if done.returncode:
                    self.assertEqual(done.stderr.count(b'\n'), 1)
                    self.assertRegex(done.stderr, b'^ioseer stats: .*Darshan log')

    def expect_any(self, *words):
        from harness import ioseer
        done = ioseer(*words)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done

    def test_a_damaged_module_is_said(self):
        log = Log(some_records('3.41', random.Random(13)), names=NAMES)
        log_bytes = log.bytes()
        at, length = struct.unpack_from('<QQ', log_bytes, 48 + 16 * 1)
        path = self.save(log_bytes[:at] + log_bytes[at:at + 20] + bytes(length - 20) + log_bytes[at + length:])
        info = self.json('info', '--json', path)
        self.assertEqual(info['import']['modules'][0]['state'], 'damaged')
        self.assertIn('POSIX of the Darshan log: damaged, not complete', [loss['text'] for loss in info['losses']])
        self.assertTrue(info['damage']['import_damaged'])
        for words in (('stats', path), ('import', path, '-o', self.path('kept'))):
            said = self.expect(0, *words).stderr.decode()
            self.assertIn('not all of it could be read: POSIX of the Darshan log', said)
        self.expect(0, 'index', self.folder, '--db', self.path('db'))
        jobs = self.json('jobs', '--json', '--db', self.path('db'))['jobs']
        self.assertEqual([job['damaged'] for job in jobs], [True])
        self.assertEqual(self.parsed(path), [line for line in log.lines() if not line.startswith('POSIX')])

    def test_the_end_is_missing(self):
        """What lies behind the end of the file is not taken for empty."""
        for codec in encode.CODECS:
            for order in '<>':
                whole = Log(some_records('3.41', random.Random(17)), order=order, codec=codec, names=NAMES).bytes()
                places = [struct.unpack_from(order + 'QQ', whole, 48 + 16 * slot) for slot in range(64)]
                ends = sorted(at + length for at, length in places if length)
                for size in [*ends[:-1], *(end - 1 for end in ends)]:
                    info = self.json('info', '--json', self.save(whole[:size]))
                    states = {module['name']: module['state'] for module in info['import']['modules']}
                    cut = {name for name, (slot, *_) in encode.MODULES.items() if places[slot][1] and sum(places[slot]) > size}
                    self.assertEqual({name for name, state in states.items() if state == 'damaged'}, cut, (codec, size))
                    self.assertTrue(info['damage']['import_damaged'])

    def test_numbers_out_of_range(self):
        numbers = [-(1 << 63), (1 << 63) - 1] * 34 + [-7]
        reals = [float('inf'), float('-inf'), float('nan'), 1e300, -1e300] * 4
        path = self.save(Log([Record('POSIX', FILE, rank, numbers, reals[:17]) for rank in (-1, 0, -5, 1 << 60)],
                             names=NAMES, processes=1 << 60, start=-1, end=1 << 62, user=-1))
        self.assertEqual(len(self.parsed(path)), 4 * 86)
        for verb in ('info', 'stats', 'report'):
            json.loads(self.expect(0, verb, '--json', path).stdout)

    def test_versions_that_are_not_read(self):
        data = Log([]).bytes()
        for version in (b'2.06', b'3.99', b'4.00'):
            path = self.save(version + data[4:])
            self.assertIn('ioseer reads 3.00 to 3.41', self.expect_error(1, 'info', path))


class Import(ImportTest):
    def test_output(self):
        path = self.save(Log([some_record('POSIX', 4, FILE, 0, random.Random(14))], names=NAMES))
        done = self.expect(0, 'import', path, '-o', self.path('log'))
        self.assertRegex(done.stderr, rb'^ioseer: .*/log: 1 record, no trace, .*\n$')
        self.assertIn('--force', self.expect_error(1, 'import', path, '-o', self.path('log')))
        self.expect(0, 'import', '-q', path, '-o', self.path('log'), '--force')
        self.expect_error(2, 'import', path)
        self.expect_error(2, 'import', path, '-o', path)
        self.expect_error(1, 'import', self.path('log'), '-o', self.path('other'))
        self.expect_error(1, 'import', self.path('nothing'), '-o', self.path('other'))
        self.assertEqual(sorted(os.listdir(self.folder)), ['app.darshan', 'log'])

    def test_the_name_does_not_matter(self):
        log = Log([some_record('POSIX', 4, FILE, 0, random.Random(15))], names=NAMES)
        self.assertEqual(self.parsed(self.save(log, 'anything.ioseer')), log.lines())

    def test_nothing_stays_in_the_temporary_folder(self):
        path = self.save(Log([some_record('POSIX', 4, FILE, 0, random.Random(16))], names=NAMES))
        os.mkdir(self.path('tmp'))
        self.expect(0, 'info', path, env=dict(os.environ, TMPDIR=self.path('tmp')))
        self.assertEqual(os.listdir(self.path('tmp')), [])


main()
