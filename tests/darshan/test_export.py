"""`export --format darshan`: what an independent decoder reads from it is what `stats` and `dump` say about the log."""
import collections
import json
import math
import os
import resource
import signal
import sys

import decode
from darshan_logs import EXAMPLES, PYTHON, RANKS, Logs, harness

MODULES = {('posix', False): 'POSIX', ('stdio', False): 'STDIO', ('mpiio', False): 'MPI-IO', ('hdf5', False): 'H5F',
           ('hdf5', True): 'H5D', ('pnetcdf', False): 'PNETCDF_FILE', ('pnetcdf', True): 'PNETCDF_VAR'}
TRACES = {'posix': 'DXT_POSIX', 'mpiio': 'DXT_MPIIO'}
HEAT = {'posix': 'heatmap:POSIX', 'mpiio': 'heatmap:MPIIO', 'stdio': 'heatmap:STDIO'}
# Not among the counters of `stats --json`.
DERIVED = ('H5D_FILE_REC_ID', 'PNETCDF_VAR_FILE_REC_ID')
MOST_BINS, LEAST_WIDTH = 200, 0.1
# Writes and reads that go around three files.
WRITES = '''
import os, sys
files = [os.open(f'data.{i}', os.O_RDWR | os.O_CREAT) for i in range(3)]
for i in range(int(sys.argv[1])):
    os.pwrite(files[i % 3], b'x' * (i % 7), i * 8)
    if i % 5 == 0: os.pread(files[(i + 1) % 3], 10, i)
'''
MANY = 150000
LAYOUT = [[1 << 20, 1, 'mdt', 0, 1 << 20, 'N/A'], [4 << 20, 4, 'raid0', 1 << 20, 1 << 30, 'flash'],
          [4 << 20, 0, 'raid0,overstriped', 1 << 30, -1, 'N/A']]
ON_LUSTRE = os.path.join(harness.BUILD, 'tests', 'darshan', 'on-lustre')


def modules_of(darshan):
    return {record.module for record in darshan.records}


def counter(darshan, module, name, key):
    """Of the records of a file, by rank."""
    return {record.rank: dict(record.counters)[key] for record in darshan.records
            if record.module == module and darshan.names[record.id].endswith(name)}


def counters_of(darshan):
    return [(record.module, record.id, record.rank, record.file_id, record.counters) for record in darshan.records
            if record.counters]


def segments_of(darshan):
    """To the nanosecond; which thread it was, is not kept by an import."""
    return sorted((record.module, record.id, record.rank, record.host, kind, offset, length, round(start * 1e9), round(end * 1e9))
                  for record in darshan.records for kind, segments in record.segments.items()
                  for offset, length, start, end, _ in segments)


class Export(harness.CommandLineTest):
    def export(self, log, *options):
        path = self.path('exported.darshan')
        self.expect(0, 'export', '--force', '--format', 'darshan', *options, '-o', path, log)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith('exported')], ['exported.darshan'])
        return decode.read_log(path)

    def events(self, log):
        return json.loads(self.expect(0, 'dump', '--json', '-q', log).stdout.decode('utf-8', 'surrogateescape'))

    # --- what each log must hold

    def check_names(self, darshan):
        for number, name in darshan.names.items():
            self.assertEqual(number, decode.record_id(os.fsencode(name)), name)
        for record in darshan.records:
            self.assertIn(record.id, darshan.names)
            if record.module in decode.OBJECTS:
                self.assertTrue(darshan.names[record.id].startswith(darshan.names[record.file_id] + ':'))

    def check_columns(self, log, darshan):
        """The columns of darshan-parser are those of `stats --darshan`. What is mounted where a file was, is not always
        known."""
        text = self.expect(0, 'stats', '--darshan', log).stdout.decode('utf-8', 'surrogateescape')
        wanted = sorted(line.split('\t') for line in text.split('\n') if line and line[0] != '#')
        found = sorted(line.split('\t') for line in darshan.counter_lines()
                       if not line.startswith(('HEATMAP\t', 'LUSTRE\t')))
        self.assertEqual([line[:5] for line in found], [line[:5] for line in wanted])
        for want, have in zip(wanted, found):
            if len(have) == len(want) and '\\' not in want[5]:
                self.assertEqual(have[5:], [*want[5:6], *(have[6:] if want[6] == 'UNKNOWN' else want[6:])])

    def check_counters(self, log, darshan):
        """To the nanosecond, which columns do not show."""
        found = collections.defaultdict(list)
        for record in darshan.records:
            if record.counters and record.module not in ('HEATMAP', 'LUSTRE'):
                counters = {name: value for name, value in record.counters if name not in DERIVED}
                found[record.module, record.rank, darshan.names[record.id]].append(counters)
        has_ranks = any(process['rank'] is not None for process in self.json('info', '--json', log)['processes'])
        records = json.loads(self.expect(0, 'stats', '--json', log).stdout.decode('utf-8', 'surrogateescape'))['records']
        for record in records:
            module = MODULES.get((record['layer'], 'object' in record))
            if not module or (has_ranks and record['rank'] is None):
                continue
            name = record['file'] + (f':{record["object"]}' if 'object' in record else '')
            name = os.fsencode(name).decode('utf-8', 'surrogateescape')
            counters = found[module, record['rank'] or 0, name].pop(0)
            self.assertEqual(counters.keys(), record['counters'].keys())
            for counter, value in record['counters'].items():
                if isinstance(counters[counter], float):
                    self.assertTrue(math.isclose(counters[counter], value, rel_tol=1e-9, abs_tol=1e-9), counter)
                else:
                    self.assertEqual(counters[counter], value, counter)
        self.assertEqual([key for key, left in found.items() if left], [])

    def transfers(self, log):
        """Events that moved bytes at the layers that Darshan traces, and their ranks as Darshan has them."""
        events = [event for event in self.events(log) if event['layer'] in HEAT and event['class'] in ('read', 'write') and
                  event['errno'] == 0 and (event['result'] or 0) >= 0 and event['file'] is not None]
        if any(process['rank'] is not None for process in self.json('info', '--json', log)['processes']):
            return [event for event in events if event['rank'] is not None]
        return [{**event, 'rank': 0} for event in events]

    def check_segments(self, log, darshan):
        wanted = collections.defaultdict(list)
        for event in self.transfers(log):
            if event['layer'] in TRACES:
                name = os.fsencode(event['file']).decode('utf-8', 'surrogateescape')
                start = round(event['start'] * 1e9)
                wanted[TRACES[event['layer']], event['rank'], name, event['class']].append(
                    (start, start + round(event['duration'] * 1e9), -1 if event['offset'] is None else event['offset'],
                     event['result'], event['tid'], event['host']))
        found = collections.defaultdict(list)
        for record in darshan.records:
            for kind, segments in record.segments.items():
                starts = [segment[2] for segment in segments]
                self.assertEqual(starts, sorted(starts))
                if segments:
                    found[record.module, record.rank, darshan.names[record.id], kind] += [
                        (round(start * 1e9), round(end * 1e9), offset, length, thread, record.host)
                        for offset, length, start, end, thread in segments]
        self.assertEqual({key: sorted(rows) for key, rows in found.items()},
                         {key: sorted(rows) for key, rows in wanted.items()})

    def check_heat(self, log, darshan):
        wanted = collections.Counter()
        for event in self.transfers(log):
            wanted[HEAT[event['layer']], event['rank'], event['class'].upper()] += event['result']
        run = darshan.job['end'] - darshan.job['start'] + (darshan.job['end_ns'] - darshan.job['start_ns']) / 1e9
        found = collections.Counter()
        for record in darshan.records:
            if record.module != 'HEATMAP':
                continue
            width, bins = record.counters[0][1], len(record.counters) // 2
            self.assertLessEqual(bins, MOST_BINS)
            self.assertGreaterEqual(bins * width, run - 1e-6)
            self.assertTrue(width == LEAST_WIDTH or run / (width / 2) >= MOST_BINS - 1e-6, (width, run))
            for name, value in record.counters[1:]:
                found[darshan.names[record.id], record.rank, name.split('_')[1]] += value
        self.assertEqual(+found, +wanted)

    def check_job(self, log, darshan):
        info = self.json('info', '--json', log)
        job, ranks = info['job'], {process['rank'] for process in info['processes']} - {None}
        self.assertEqual(darshan.version, '3.41')
        self.assertEqual(darshan.job['uid'], os.getuid())
        self.assertEqual(darshan.job['nprocs'], len(ranks) or 1)
        self.assertAlmostEqual(darshan.job['start'] + darshan.job['start_ns'] / 1e9, job['start'], 5)
        self.assertAlmostEqual(darshan.job['end'] + darshan.job['end_ns'] / 1e9, job['end'], 5)
        self.assertEqual(darshan.metadata['lib_ver'], '3.5.0')
        self.assertRegex(darshan.metadata['exported_by'], r'^ioseer \d')

    def check_records(self, log):
        darshan = self.export(log)
        self.check_names(darshan)
        self.check_columns(log, darshan)
        self.check_counters(log, darshan)
        self.check_segments(log, darshan)
        self.check_job(log, darshan)
        return darshan

    def check(self, log):
        darshan = self.check_records(log)
        self.assertEqual((darshan.partial, darshan.unknown), (set(), []))
        self.check_heat(log, darshan)
        return modules_of(darshan)


class Programs(Export):
    def check_examples(self, mpi):
        for program, words in EXAMPLES:
            with self.subTest(program=program, words=words):
                self.check(Logs.example(program, mpi, words))

    def test_mpich(self):
        self.check_examples('mpich')

    def test_openmpi(self):
        self.check_examples('openmpi')

    def test_hdf5(self):
        self.assertLessEqual({'H5F', 'H5D', 'MPI-IO', 'POSIX'}, self.check(Logs.example('hdf5', 'mpich')))

    def test_pnetcdf(self):
        self.assertLessEqual({'PNETCDF_FILE', 'PNETCDF_VAR'}, self.check(Logs.example('s3d-pnetcdf', 'pnetcdf')))

    def test_h5py(self):
        self.assertLessEqual({'H5F', 'H5D', 'DXT_POSIX', 'HEATMAP'}, self.check(Logs.h5py()))

    def test_python(self):
        self.check(Logs.plain())

    def test_tar(self):
        self.check(Logs.tar())

    def test_checkpoint(self):
        self.check(Logs.checkpoint())


class Jobs(Export):
    def test_without_record(self):
        """Ranks have added up their counters."""
        program = os.path.join(harness.BUILD, 'examples', 'hdf5-mpich')
        if not os.path.exists(program):
            self.skipTest('hdf5 for mpich is not here')
        os.mkdir(self.path('logs'))
        script = 'eval "$("$0" env --log-dir "$1" --shell sh)"; shift; exec "$@"'
        done = harness.run('sh', '-c', script, harness.IOSEER, self.path('logs'), 'mpiexec.mpich', '-n', RANKS, program,
                           cwd=self.folder)
        self.assertEqual(done.returncode, 0, done)
        log, = (os.path.join(folder, name) for folder, _, names in os.walk(self.path('logs')) for name in names
                if name.endswith('.ioseer'))
        self.assertLessEqual({'POSIX', 'MPI-IO', 'H5F', 'H5D'}, modules_of(self.check_records(log)))

    def test_two_mpi_jobs(self):
        """With MPI, processes without a rank have no records."""
        command = ' '.join(f'mpiexec.mpich -n {ranks} {harness.BUILD}/examples/small-mpich --files 3;' for ranks in (3, 2))
        Logs.example('small', 'mpich', '--files 10') # or the test is skipped
        darshan = self.check_records(Logs.record('two', 'sh', '-c', command + ' cat /etc/hostname > copy'))
        self.assertEqual(darshan.job['nprocs'], 3)

    def test_many_files(self):
        log = Logs.example('small', 'mpich', '--files 30', ['--file-cap', '3'])
        self.check(log)
        self.assertIn('*', ' '.join(self.export(log).names.values()))


class Again(Export):
    """ioseer reads what it writes, and what was imported is exported with all its bits."""

    def check_again(self, log):
        first = self.export(log)
        os.rename(self.path('exported.darshan'), self.path('first.darshan'))
        for source in (self.path('first.darshan'), self.path('imported.ioseer')):
            if source.endswith('.ioseer'):
                self.expect(0, 'import', self.path('first.darshan'), '-o', source)
            again = self.export(source)
            for of in ('version', 'job', 'metadata', 'command', 'mounts', 'names', 'partial', 'versions'):
                self.assertEqual(getattr(again, of), getattr(first, of), of)
            self.assertEqual(counters_of(again), counters_of(first))
            self.assertEqual(segments_of(again), segments_of(first))
        return first

    def check_columns_again(self, log):
        """Without the columns for the mount, which is not known of each file."""
        wanted, found = (sorted(line.split('\t')[:6] for line in self.expect(0, 'stats', '--darshan', path).stdout.decode(
            'utf-8', 'surrogateescape').split('\n') if line and line[0] != '#') for path in (log, self.path('first.darshan')))
        self.assertEqual([line for line in found if line[0] not in ('HEATMAP', 'LUSTRE')], wanted)

    def test_programs(self):
        for log in (Logs.plain(), Logs.plain('--trace-file', '*own.2'), Logs.example('madbench', 'mpich', '--bins 3 --size 10000'),
                    Logs.example('hdf5', 'openmpi'), Logs.example('s3d-pnetcdf', 'pnetcdf')):
            self.check_again(log)
            self.check_columns_again(log)
            os.remove(self.path('imported.ioseer'))

    def test_lustre(self):
        log = self.path('lustre.ioseer')
        self.assertEqual(harness.run(ON_LUSTRE, log).returncode, 0)
        self.assertIn('LUSTRE', modules_of(self.check_again(log)))


class Missing(Export):
    """What is not in the log is not in Darshan's, or is marked."""

    def test_no_trace(self):
        for log in (Logs.plain('--no-trace'), Logs.example('madbench', 'mpich', '--bins 2 --size 10000', ['--no-trace'])):
            darshan = self.check_records(log)
            self.assertEqual(darshan.partial, set())
            self.assertFalse(modules_of(darshan) & {'DXT_POSIX', 'DXT_MPIIO', 'HEATMAP'})
            self.assertIn('POSIX', modules_of(darshan))

    def test_end_of_the_trace(self):
        log = Logs.record('cap', PYTHON, '-I', '-S', '-c', WRITES, '20000', options=('--trace-cap', '64k'))
        darshan = self.check_records(log)
        self.assertEqual(darshan.partial, {10})
        self.assertNotIn('HEATMAP', modules_of(darshan))
        written = sum(counter(darshan, 'POSIX', '/data.0', 'POSIX_WRITES').values())
        traced = sum(len(record.segments['write']) for record in darshan.records
                     if record.segments and darshan.names[record.id].endswith('/data.0'))
        self.assertTrue(0 < traced < written == 20000 // 3 + 1, (traced, written))

    def test_triggers(self):
        darshan = self.check_records(Logs.plain('--trace-file', '*own.2'))
        self.assertEqual(darshan.partial, {10})
        self.assertNotIn('HEATMAP', modules_of(darshan))

    def test_damage(self):
        log = Logs.record('many', PYTHON, '-I', '-S', '-c', WRITES, str(MANY))
        with open(log, 'rb') as whole, open(self.path('damaged.ioseer'), 'wb') as part:
            data = whole.read()
            part.write(data[:len(data) * 2 // 3])
        darshan = self.export(self.path('damaged.ioseer'))
        self.assertEqual(darshan.partial, set(darshan.regions))
        self.assertNotIn('HEATMAP', modules_of(darshan))
        self.check_columns(self.path('damaged.ioseer'), darshan)
        self.check_segments(self.path('damaged.ioseer'), darshan)


class Sizes(Export):
    def test_many_segments(self):
        """Several times what waits in memory, of files that take turns."""
        self.check(Logs.record('many', PYTHON, '-I', '-S', '-c', WRITES, str(MANY)))

    def test_long_command(self):
        words = ['first line\nsecond', *(f'argument-{i}' for i in range(1000))]
        log = Logs.record('words', PYTHON, '-I', '-S', '-c', 'open("data", "w").write("x")', *words)
        darshan = self.check_records(log)
        self.assertTrue(darshan.command.startswith(f'{PYTHON} -I -S -c open("data", "w").write("x") first line second argument-0 '))
        self.assertTrue(darshan.command.endswith('<TRUNCATED>'))
        self.assertTrue(darshan.mounts)

    def test_no_room(self):
        log = Logs.record('many', PYTHON, '-I', '-S', '-c', WRITES, str(MANY))

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
        self.expect_error(1, 'export', log, '--format', 'darshan', '-o', self.path('x.darshan'), preexec_fn=limit)
        self.assertEqual(os.listdir(self.folder), [])

    def test_empty_log(self):
        log = Logs.record('nothing', 'true')
        darshan = self.export(log)
        self.assertEqual((darshan.records, darshan.names, darshan.regions), ([], {}, {}))
        self.check_job(log, darshan)

    def test_needs_a_name(self):
        self.expect_error(2, 'export', Logs.record('nothing', 'true'), '--format', 'darshan')


class Lustre(Export):
    def test_layouts(self):
        log = self.path('lustre.ioseer')
        self.assertEqual(harness.run(ON_LUSTRE, log).returncode, 0)
        darshan = self.export(log)
        found = {(darshan.names[record.id], record.rank): dict(record.counters) for record in darshan.records
                 if record.module == 'LUSTRE'}
        self.assertEqual(found.keys(), {('/lustre/shared', -1), ('/lustre/own', 1)})
        shared = found['/lustre/shared', -1]
        self.assertEqual({key: shared[f'LUSTRE_NUM_{key}'] for key in ('COMPONENTS', 'STRIPES')}, {'COMPONENTS': 3, 'STRIPES': 5})
        for number, part in enumerate(LAYOUT, 1):
            self.assertEqual([shared[f'LUSTRE_COMP{number}_{key}'] for key in
                              ('STRIPE_SIZE', 'STRIPE_COUNT', 'STRIPE_PATTERN', 'EXT_START', 'EXT_END', 'POOL_NAME')], part)
        self.assertEqual([shared['LUSTRE_COMP1_OST_ID_0'], *(shared[f'LUSTRE_COMP2_OST_ID_{i}'] for i in range(4))],
                         [0, 7, -1, -1, -1])
        self.assertEqual(found['/lustre/own', 1]['LUSTRE_COMP1_STRIPE_SIZE'], 4 << 20)
        self.assertEqual(counter(darshan, 'POSIX', '/lustre/shared', 'POSIX_WRITES'), {-1: 2})
        # Network mounts come last, and there is room for 64.
        self.assertEqual(darshan.mounts, [('/lustre', 'lustre'), *((f'/mnt/{i}', 'ext4') for i in range(14, 74)),
                                          *((f'/mnt/{i}', 'nfs4') for i in range(4, 7))])
        self.assertEqual((darshan.job['id'], darshan.metadata['job']), (4711, '4711.cluster'))
        self.assertEqual((darshan.job['start'], darshan.job['start_ns'], darshan.job['nprocs']), (1700000000, 123456789, 2))


harness.main()
