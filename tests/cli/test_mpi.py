"""stats, info and dump on recordings of an MPI program, under each MPI that is there."""
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import darshan
import harness

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'mpi_program.c')
DECODER = os.path.join(os.path.dirname(SOURCE), '..', 'golden', 'decode.py')
ROOT = ['--allow-run-as-root'] if os.geteuid() == 0 else []
MPIS = {'mpich': ['mpiexec.mpich'], 'openmpi': ['mpiexec.openmpi', *ROOT, '--oversubscribe']}
NS = 1.5e-9


class Program:
    """The program, compiled once for each MPI."""
    folder = tempfile.TemporaryDirectory(prefix='ioseer-test-mpi-')

    @classmethod
    def find(cls, mpi):
        made = os.path.join(cls.folder.name, mpi)
        if not os.path.exists(made):
            subprocess.run([f'mpicc.{mpi}', '-o', made, SOURCE], check=True)
        return made


class MpiTest(harness.CommandLineTest):
    """Holds what each MPI must do; the two classes at the end name one."""
    mpi = None

    def setUp(self):
        if self.mpi is None:
            self.skipTest('for one MPI or the other')
        if not shutil.which(f'mpicc.{self.mpi}') or not shutil.which(MPIS[self.mpi][0]):
            self.skipTest(f'{self.mpi} is not installed')
        super().setUp()

    def launch(self, ranks, folder=None, *words):
        return [*MPIS[self.mpi], '-n', str(ranks), Program.find(self.mpi), folder or self.folder, *words]

    def record_mpi(self, ranks, **more):
        return self.record(*self.launch(ranks), name=f'{ranks}.ioseer', **more)

    def compare(self, log, ranks):
        """Every counter of every record equals the arithmetic on the dump; none is missing, none is extra."""
        parts = darshan.records(self.json('dump', '--json', log))
        told = self.json('stats', '--json', '--per-rank', log)['records']
        self.assertEqual(sorted((str(r['rank']), r['pid'], r['layer'], r['file']) for r in told),
                         sorted((str(key[0]), *key[1:]) for key in parts))
        for record in told:
            key = record['rank'], record['pid'], record['layer'], record['file']
            self.check(record, darshan.listed(parts[key], self.alignment(record)))
        reduced = [r for r in self.json('stats', '--json', log)['records'] if r['rank'] is not None]
        by_file = {}
        for (rank, _, layer, name), part in parts.items():
            if rank is not None:
                by_file.setdefault((layer, name), {})[rank] = part
        expected = [(-1, *key) if len(files) == ranks else (rank, *key) for key, files in by_file.items()
                    for rank in (files if len(files) < ranks else [-1])]
        self.assertEqual(sorted((r['rank'], r['layer'], r['file']) for r in reduced), sorted(expected))
        for record in reduced:
            files = by_file[record['layer'], record['file']]
            if record['rank'] == -1:
                whole = darshan.merged([files[rank] for rank in sorted(files)])
                self.check(record, darshan.listed(whole, self.alignment(record), files))
            else:
                self.check(record, darshan.listed(files[record['rank']], self.alignment(record)))
        return reduced

    @staticmethod
    def alignment(record):
        return record['counters'].get('POSIX_FILE_ALIGNMENT', 0)

    def check(self, record, expected):
        found = list(darshan.differences(record['counters'], expected, darshan.PREFIX[record['layer']]))
        self.assertEqual(found, [], (record['rank'], record['layer'], record['file']))

    def test_counters(self):
        for ranks in (2, 4):
            with self.subTest(ranks=ranks):
                reduced = self.compare(self.record_mpi(ranks), ranks)
                shared = {r['layer']: r for r in reduced if r['file'] == self.path('shared0')}
                self.assertEqual(shared['mpiio']['rank'], -1)
                counters = shared['mpiio']['counters']
                extra = sum(range(ranks))
                for name, value in (('COLL_OPENS', ranks), ('INDEP_OPENS', 0), ('INDEP_WRITES', 3 * ranks + extra),
                                    ('COLL_WRITES', 2 * ranks), ('NB_READS', ranks), ('SPLIT_READS', ranks),
                                    ('SYNCS', ranks), ('VIEWS', ranks), ('BYTES_READ', 600 * ranks),
                                    ('BYTES_WRITTEN', 12600 * ranks + 4000 * extra), ('RW_SWITCHES', ranks),
                                    ('ACCESS1_ACCESS', 4000), ('ACCESS1_COUNT', 3 * ranks + extra),
                                    ('ACCESS2_ACCESS', 400), ('ACCESS2_COUNT', 2 * ranks),
                                    ('ACCESS3_ACCESS', 200), ('ACCESS3_COUNT', 2 * ranks),
                                    ('SIZE_WRITE_AGG_1K_10K', 3 * ranks + extra)):
                    self.assertEqual(counters[f'MPIIO_{name}'], value, name)
                own = [r for r in reduced if r['file'] == self.path('own1') and r['layer'] == 'mpiio']
                self.assertEqual([(r['rank'], r['counters']['MPIIO_INDEP_OPENS']) for r in own], [(1, 1)])
                self.assertEqual({r['rank'] for r in reduced if r['file'] == self.path('zero0')}, {0})

    def test_counters_past_the_cap(self):
        """Without a trace the counts and bytes are the same; sums of times may treat overlaps differently."""
        with_trace = self.json('stats', '--json', self.record_mpi(2))['records']
        without = self.json('stats', '--json', self.record(*self.launch(2), options=['--no-trace']))['records']
        names = {self.path('shared0'), self.path('own0'), self.path('own1')}
        for layer in ('mpiio',):
            first, second = ({(r['rank'], r['file']): r['counters'] for r in records
                              if r['layer'] == layer and r['file'] in names} for records in (with_trace, without))
            self.assertEqual(set(first), set(second))
            for key, counters in first.items():
                for name, value in counters.items():
                    if not isinstance(value, float) and '_RANK' not in name and 'TIME_SIZE' not in name:
                        self.assertEqual(second[key][name], value, (key, name))

    def totals(self, log, folder):
        """Numbers of the program's files that must not depend on the trace, per layer."""
        totals = {}
        for record in self.json('stats', '--json', '--per-rank', log)['records']:
            if record['rank'] is None or not record['file'].startswith(folder):
                continue
            for name, value in record['counters'].items():
                if name.split('_', 1)[1] in ('OPENS', 'READS', 'WRITES', 'BYTES_READ', 'BYTES_WRITTEN', 'INDEP_WRITES',
                                             'COLL_WRITES', 'NB_READS', 'SPLIT_READS', 'SYNCS', 'VIEWS', 'INDEP_OPENS',
                                             'COLL_OPENS', 'SEEKS', 'FSYNCS'):
                    totals[name] = totals.get(name, 0) + value
        return totals

    def communication(self, log):
        """Calls and bytes of the ranks by kind; times as info has them."""
        calls = {}
        for row in self.json('dump', '--comm', '--json', log):
            key = row['rank'], row['kind']
            self.assertGreaterEqual(row['time'], 0)
            calls[key] = tuple(a + b for a, b in zip(calls.get(key, (0, 0)), (row['count'], row['bytes'])))
        for rank in self.json('info', '--json', log)['ranks']:
            said = sum(row['time'] for row in self.json('dump', '--comm', '--json', '--rank', str(rank['rank']), log))
            self.assertAlmostEqual(rank['communication'], said, delta=20000 * NS)
            self.assertGreater(rank['communication'], 0)
            self.assertGreater(rank['io'], 0)
            self.assertAlmostEqual(rank['io'] + rank['communication'] + rank['rest'], rank['run'], delta=3 * NS)
        return calls

    def test_nothing_is_lost_past_the_trace(self):
        """A complete trace, a trace that ends early and no trace give the same totals."""
        found = {}
        for name, options in (('whole', []), ('part', ['--trace-cap', '48k']), ('none', ['--no-trace'])):
            folder, log = tempfile.mkdtemp(dir=self.folder), self.path(f'{name}.ioseer')
            done = self.expect(0, 'record', '-o', log, *options, '--', *self.launch(2, folder, 'rounds'))
            bytes_said = re.search(r', (\S+ \S+) read, (\S+ \S+) written', done.stderr.decode())
            found[name] = self.totals(log, folder), self.communication(log), bytes_said.groups()
        events = {name: self.json('info', '--json', self.path(f'{name}.ioseer'))['events'] for name in found}
        self.assertTrue(events['whole'] > events['part'] > events['none'] == 0, events)
        self.assertEqual(found['part'], found['whole'])
        self.assertEqual(found['none'], found['whole'])
        self.assertEqual(found['none'][1][1, 'synchronising'], (3 + 1 + 5 + 4000, 0))

    def test_communication_of_a_killed_process(self):
        """Communication after the last I/O is known, too."""
        log = self.record(Program.find(self.mpi), self.folder, 'killed', status=137)
        rows = self.json('dump', '--comm', '--json', log)
        self.assertEqual(sum(row['count'] for row in rows if row['kind'] == 'synchronising'), 3 + 5 + 100)
        self.assertEqual([(r['tid'], r['tick'], r['before'], r['count']) for r in rows][-1], (None, None, None, 105))

    def test_darshan_text(self):
        log = self.record_mpi(2)
        lines = self.expect(0, 'stats', '--darshan', log).stdout.decode().split('\n')
        self.assertIn('# nprocs: 2', lines)
        self.assertEqual(sum(line.startswith('# MPI-IO module data') for line in lines), 1)
        rows = [line.split('\t') for line in lines if line.startswith('MPI-IO\t') and self.path('shared0') in line]
        self.assertEqual({row[1] for row in rows}, {'-1'})
        values = {row[3]: row[4] for row in rows}
        self.assertEqual((values['MPIIO_COLL_OPENS'], values['MPIIO_VIEWS']), ('2', '2'))
        self.assertRegex(values['MPIIO_F_VARIANCE_RANK_BYTES'], r'^\d+\.\d{6}$')

    def test_two_jobs_are_not_mixed(self):
        for how in ('&', ';'):
            with self.subTest(how=how):
                folders = [tempfile.mkdtemp(dir=self.folder) for _ in range(2)]
                jobs = f' {how} '.join(' '.join(self.launch(2, folder)) for folder in folders)
                log = self.record('/bin/sh', '-c', f'{jobs}; wait', options=['--force'])
                info = self.json('info', '--json', log)
                self.assertEqual(info['job']['nprocs'], 2)
                self.assertEqual([(w['size'], w['ranks']) for w in info['worlds']], [(2, 2), (2, 2)])
                self.assertEqual([(r['world'], r['rank']) for r in info['ranks']], [(0, 0), (0, 1), (1, 0), (1, 1)])
                records = self.json('stats', '--json', log)['records']
                shared = [r for r in records if r['layer'] == 'mpiio' and r['file'].endswith('/shared0')]
                self.assertEqual([r['rank'] for r in shared], [-1, -1])
                self.assertEqual({r['world'] for r in shared}, {0, 1})
                self.assertEqual({r['counters']['MPIIO_COLL_OPENS'] for r in shared}, {2})

    def test_info(self):
        log = self.record_mpi(4)
        info = self.json('info', '--json', log)
        self.assertEqual(info['job']['nprocs'], 4)
        self.assertIn('MPI', info['job']['mpi'].upper())
        self.assertEqual([p['rank'] for p in info['processes']][:5], [0, 1, 2, 3, None])
        self.assertEqual([r['rank'] for r in info['ranks']], [0, 1, 2, 3])
        comm = self.json('dump', '--comm', '--json', log)
        events = self.json('dump', '--json', log)
        for rank in info['ranks']:
            said = sum(row['time'] for row in comm if row['rank'] == rank['rank'])
            self.assertAlmostEqual(rank['communication'], said, delta=len(comm) * NS)
            self.assertAlmostEqual(rank['io'], self.time_in_io(events, rank['rank']), delta=len(events) * NS)
            self.assertAlmostEqual(rank['io'] + rank['communication'] + rank['rest'], rank['run'], delta=3 * NS)
        shared = [f for f in info['files'] if f['name'] == self.path('shared0')]
        self.assertEqual([f['ranks'] for f in shared], [4])
        text = self.expect(0, 'info', log).stdout.decode()
        self.assertIn('COMMUNICATION', text)
        self.assertEqual([f['name'] for f in info['files'] if '/ompi.' in f['name'] or '/dev/shm/' in f['name']], [])
        self.assertIn('of the launcher', text)
        # Files that MPI uses when it starts and ends are not the program's.
        outside = {e['file'] for e in events if e['rank'] is not None and not (e['file'] or '').startswith(self.folder)}
        self.assertEqual(outside, set())

    @staticmethod
    def time_in_io(events, rank):
        total = busy = 0
        for event in events:
            if event['rank'] != rank or event['parent'] is not None:
                continue
            end = event['start'] + event['duration']
            if 'call_time' in event:
                total += event['call_time']
            elif end > busy:
                total += end - max(event['start'], busy)
                busy = end
        return total

    def test_communication(self):
        log = self.record_mpi(2)
        comm = self.json('dump', '--comm', '--json', log)
        events = {event['id']: event for event in self.json('dump', '--json', log)}
        for rank in (0, 1):
            rows = [row for row in comm if row['rank'] == rank]
            self.assertEqual(sum(row['count'] for row in rows if row['kind'] == 'synchronising'), 3 + rank + 5)
            self.assertEqual([(row['count'], row['bytes']) for row in rows if row['kind'] == 'moving'], [(1, 4)])
            self.assertEqual(sum(row['count'] for row in rows if row['kind'] == 'completing'), 1)
            for row in rows:
                self.assertGreaterEqual(row['time'], 0)
                if row['before'] is not None:
                    self.assertEqual((events[row['before']]['pid'], events[row['before']]['rank']), (row['pid'], rank))
            first = [row for row in rows if row['kind'] == 'synchronising'][0]
            self.assertEqual(events[first['before']]['op'], 'MPI_File_write_at')
            self.assertEqual(events[first['before']]['tick'], first['tick'])
            self.assertEqual([row for row in self.json('dump', '--comm', '--json', '--rank', str(rank), log)], rows)
        lines = self.expect(0, 'dump', '--comm', log).stdout.decode().split('\n')
        self.assertEqual(len(lines), len(comm) + 2)
        partners = [partner for row in comm for partner in row['partners'] if partner['role'] == 'all']
        self.assertEqual({(p['origin'], p['members']) for p in partners if p['comm'] == 1}, {('world', '0-1')})
        self.assertTrue(any(line.rstrip().endswith('all of 0-1') for line in lines))


    def test_errors_have_the_names_of_mpi(self):
        log = self.record(*self.launch(2, None, 'missing'))
        failed = [e for e in self.json('dump', '--json', log) if e['op'] == 'MPI_File_open' and e['errno']]
        self.assertEqual(sorted((e['error'], e['errno']) for e in failed),
                         [('MPI_ERR_FILE_EXISTS', errno.EEXIST)] * 2 + [('MPI_ERR_NO_SUCH_FILE', errno.ENOENT)] * 2)
        text = self.expect(0, 'dump', '--op', 'MPI_File_open', log).stdout.decode()
        self.assertEqual(text.count(' MPI_ERR_NO_SUCH_FILE '), 2)
        if shutil.which('zstd'):
            self.compare_decoders(log)

    def test_second_decoder(self):
        """The decoder that was written from doc/format.md sees the same."""
        if not shutil.which('zstd'):
            self.skipTest('the zstd command is not installed')
        for more in ([], ['--no-trace']):
            self.compare_decoders(self.record_mpi(2, options=['--force', *more]))

    def test_plugin_of_another_build(self):
        """A plugin that is missing or does not fit is not used; the program runs, and the log says so."""
        recorder, name = self.path('src/rec'), f'libioseer-{self.mpi}.so'
        os.makedirs(recorder)
        shutil.copy(harness.IOSEER, self.folder)
        shutil.copy(os.path.join(harness.BUILD, 'src', 'rec', 'libioseer.so'), recorder)
        with open(os.path.join(harness.BUILD, 'src', 'rec', name), 'rb') as file:
            plugin = file.read()
        version = harness.ioseer('--version').stdout.split()[1]
        self.assertEqual(plugin.count(version.ljust(32, b'\0')), 1)
        other = plugin.replace(version.ljust(32, b'\0'), b'other'.ljust(32, b'\0'))
        for content, is_refused in ((plugin, False), (other, True), (None, True)):
            path, log = os.path.join(recorder, name), self.path('log')
            if content is None:
                os.unlink(path)
            else:
                with open(path, 'wb') as file:
                    file.write(content)
            done = harness.run(self.path('ioseer'), 'record', '--force', '-q', '-o', log, '--', *self.launch(2))
            self.assertEqual(done.returncode, 0, done.stderr)
            text = self.expect(0, 'info', log).stdout
            self.assertEqual(b'2 processes without a plugin of this build' in text, is_refused)
            self.assertEqual(b'mpiio' in text, not is_refused)

    def compare_decoders(self, log):
        for decoder_options, options in (([], []), (['--comm'], ['--comm'])):
            decoded = subprocess.run([sys.executable, DECODER, *decoder_options, log], check=True, capture_output=True)
            self.assertEqual(decoded.stderr, b'')
            expected, told = json.loads(decoded.stdout), self.json('dump', '--json', *options, log)
            self.assertEqual(len(told), len(expected))
            for ours, theirs in zip(told, expected):
                ours.pop('inside', None)  # follows from the events of all ranks: tests/mpi/test_collectives.py
                self.assertEqual(set(ours), set(theirs))
                for key, value in ours.items():
                    if isinstance(value, float) or isinstance(theirs[key], float):
                        self.assertAlmostEqual(value, theirs[key], delta=NS, msg=(key, ours))
                    else:
                        self.assertEqual(value, theirs[key], (key, ours))


class Mpich(MpiTest):
    mpi = 'mpich'


class OpenMpi(MpiTest):
    mpi = 'openmpi'


if __name__ == '__main__':
    del MpiTest
    harness.main()
