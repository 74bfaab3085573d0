#!/usr/bin/env python3
"""Ranks of jobs without `record` add up their counters at MPI_Finalize: one log, with the counters that `record` has,
whatever becomes of a rank. Speaks TAP."""
import itertools
import os
import random
import shlex
import shutil
import signal
import subprocess
import time
import unittest

from site_case import LAUNCHERS, SiteCase, harness

# Sums over the ranks; the rest is the same in all of them, or says which rank was what.
SUMMED = ('OPENS', 'READS', 'WRITES', 'SEEKS', 'STATS', 'BYTES_READ', 'BYTES_WRITTEN', 'SIZE_', 'RENAME', 'FSYNCS')


def program(mpi):
    return os.path.join(harness.BUILD, 'tests', 'site', f'shares-{mpi}')


class ReduceCase(SiteCase):
    mpis = [mpi for mpi in LAUNCHERS if shutil.which(LAUNCHERS[mpi][0]) and os.path.exists(program(mpi))]

    def setUp(self):
        super().setUp()
        if not self.mpis:
            self.skipTest('no MPI')
        self.work = self.path('work')

    def command(self, mpi, ranks, *words):
        shutil.rmtree(self.work, ignore_errors=True)
        os.mkdir(self.work)
        return [*LAUNCHERS[mpi], '-n', str(ranks), program(mpi), *words]

    def run_job(self, mpi, ranks, *words, status=0, **more):
        return self.run_on(*self.command(mpi, ranks, *words), status=status, cwd=self.work,
                           environment=self.environment(**more))

    def record(self, mpi, ranks, *words):
        return self.record_command(*self.command(mpi, ranks, *words))

    def record_command(self, *words, options=()):
        log = self.path('recorded.ioseer')
        done = harness.ioseer('record', '-q', '--force', *options, '-o', log, '--', *words, cwd=self.work, env=self.plain)
        self.assertEqual(done.returncode, 0, done.stderr)
        return log

    def records(self, log):
        """{(layer, file): [records]} of the program's files; of objects {(layer, file, object): …}."""
        found = {}
        for record in self.json('stats', '--json', log)['records']:
            if os.path.dirname(record['file']) == self.work:
                key = (record['layer'], os.path.basename(record['file']), record.get('object'))
                found.setdefault(key if key[2] else key[:2], []).append(record)
        return found

    @staticmethod
    def sums(records):
        total = {}
        for record in records:
            for name, value in record['counters'].items():
                if any(part in name for part in SUMMED) and 'TIME' not in name:
                    total[name] = total.get(name, 0) + value
        return total

    @staticmethod
    def plain_counters(record):
        return {name: value for name, value in record['counters'].items()
                if '_F_' not in name and 'TIME' not in name and 'FASTEST' not in name and 'SLOWEST' not in name}

    def one_and_remove(self):
        log = self.one_log()
        self.assertEqual(self.spills(), [])
        kept = self.path('kept.ioseer')
        os.replace(log, kept)
        return kept

    def make_log(self):
        """The log of a job whose last process may have been killed before it could make it; another one may be at it."""
        def is_made():
            if not self.found():
                self.settle()
                self.pack_left()
            return self.found() and not self.spills()
        self.wait_for(is_made)
        return self.one_and_remove()


class CountersTest(ReduceCase):
    def same(self, mpi, ranks, *words, **more):
        self.run_job(mpi, ranks, *words, **more)
        log = self.one_and_remove()
        reduced, recorded = self.records(log), self.records(self.record(mpi, ranks, *words))
        self.assertEqual(set(reduced), set(recorded))
        for key, records in reduced.items():
            self.assertEqual(self.sums(records), self.sums(recorded[key]), (mpi, ranks, key))
            if len(recorded[key]) == len(records) == 1 and 'late' not in words:
                self.assertEqual(self.plain_counters(records[0]), self.plain_counters(recorded[key][0]), (mpi, ranks, key))
                self.assertEqual(records[0]['rank'], recorded[key][0]['rank'])
        self.assertEqual((reduced['posix', 'all'][0]['rank'], reduced['posix', 'all'][0]['ranks']), (-1, ranks))
        if ranks > 3:  # by some of the ranks
            self.assertEqual([record['ranks'] for record in reduced['posix', 'odd']], [ranks // 2])
        return log

    def test_as_record_counts(self):
        for mpi in self.mpis:
            for ranks in (2, 3, 4, 7, 16):
                with self.subTest((mpi, ranks)):
                    self.same(mpi, ranks)

    def test_64_ranks(self):
        for mpi in self.mpis:
            with self.subTest(mpi):
                log = self.same(mpi, 64)
                info = self.json('info', '--json', log)
                self.assertEqual(sorted(process['rank'] for process in info['processes'] if process['rank'] is not None),
                                 list(range(64)))

    def test_one_record_for_many_ranks(self):
        """Beyond rank_cap the ranks have one record: what each one did is not known, what all did is."""
        for mpi in self.mpis:
            with self.subTest(mpi):
                log = self.same(mpi, 64, 'posix-only', IOSEER_RANK_CAP='32')
                info, recorded = (self.json('info', '--json', path) for path in (log, self.path('recorded.ioseer')))
                rows = [process for process in info['processes'] if process['world'] is not None]
                ranks = [process for process in recorded['processes'] if process['rank'] is not None]
                self.assertEqual([process['group']['ranks'] for process in rows], [[{'first': 0, 'last': 63}]])
                self.assertEqual((rows[0]['rank'], rows[0]['pid'], rows[0]['ppid']), (None, None, None))
                for name in ('bytes_read', 'bytes_written'):
                    self.assertEqual(rows[0][name], sum(process[name] for process in ranks))
                run, io = rows[0]['group']['run'], rows[0]['group']['io']
                self.assertTrue(0 < run['least'] <= run['mean'] <= run['most'] < info['job']['end'] - info['job']['start'])
                self.assertTrue(0 <= io['rank_most'] < 64 and 0 < io['least'] <= io['mean'] <= io['most'])
                self.assertEqual([(world['size'], world['ranks']) for world in info['worlds']], [(64, 64)])
                self.assertEqual(info['job']['nprocs'], 64)
                self.assertEqual([(rank['rank'], rank['members']) for rank in info['ranks']], [(None, 64)])
                processes = sum(process['group']['members'] if process['group'] else 1 for process in info['busiest'])
                self.assertEqual(sum(host['processes'] for host in info['hosts']), processes)
                self.read_by_all(log)

    def read_by_all(self, log):
        for verb in (['dump'], ['dump', '--comm'], ['dump', '--rank', '5'], ['phases'], ['stats', '--darshan'],
                     ['stats', '--per-rank'], ['info', '--all'], ['report', '-o', self.path('page.html')]):
            self.assertNotIn(b'no such', self.expect(0, *verb, log).stderr)
        self.assertIn(b'as 64 ranks', self.expect(0, 'report', log).stdout)
        for kind in ('perfetto', 'sqlite', 'darshan', 'ioseer'):
            done = harness.ioseer('export', '--format', kind, '--anonymous', '--force', '-o', self.path('exported'), log)
            self.assertEqual(done.returncode, 0, done.stderr)
        anonymous, info = (self.json('info', '--json', path) for path in (self.path('exported'), log))
        self.assertEqual(anonymous['hosts'][0]['processes'], info['hosts'][0]['processes'])
        self.assertNotEqual(anonymous['hosts'][0]['name'], info['hosts'][0]['name'])
        self.assertEqual([rank['io'] for rank in anonymous['ranks']], [rank['io'] for rank in info['ranks']])
        rows = harness.json.loads(self.expect(0, 'query', log, '--json', '--sql', 'SELECT rank, ranks, members, slowest_rank '
                                              'FROM processes WHERE world IS NOT NULL').stdout)['rows']
        self.assertEqual(rows, [[None, '0-63', 64, info['ranks'][0]['slowest_rank']]])

    def test_after_finalize(self):
        for mpi in self.mpis:
            with self.subTest(mpi):
                log = self.same(mpi, 5, 'late')
                names = [file['name'] for file in self.json('info', '--json', log)['files']]
                self.assertEqual(len(names), len(set(names)))

    def test_what_info_says(self):
        """Bytes of each process and of each file, as without the reduction."""
        for mpi in self.mpis:
            with self.subTest(mpi):
                self.run_job(mpi, 4, 'posix-only')
                reduced = self.json('info', '--json', self.one_and_remove())
                recorded = self.json('info', '--json', self.record(mpi, 4, 'posix-only'))
                for key, by, names in (('files', 'name', ('bytes_read', 'bytes_written', 'opens', 'ranks')),
                                       ('processes', 'rank', ('bytes_read', 'bytes_written', 'exit'))):
                    def rows(info):
                        return {row[by]: [row[name] for name in names] for row in info[key]
                                if row[by] is not None and (by == 'rank' or row[by].startswith(self.work + '/'))}
                    self.assertEqual(rows(reduced), rows(recorded))

    def test_report_and_sql(self):
        self.run_job(self.mpis[0], 4)
        log = self.one_and_remove()
        self.expect(0, 'report', log, '-o', self.path('page.html'))
        rows = harness.json.loads(self.expect(0, 'query', log, '--json', '--sql', 'SELECT value FROM counters WHERE '
                                              "counter = 'POSIX_BYTES_WRITTEN' AND file LIKE '%/all'").stdout)['rows']
        self.assertEqual(len(rows), 1)
        for verb in (['dump'], ['phases'], ['stats', '--darshan'], ['stats', '--per-rank'], ['info', '--all']):
            self.expect(0, *verb, log)

    def test_trace_is_packed_as_before(self):
        self.run_job(self.mpis[0], 4, IOSEER_TRACE_CAP='1M')
        log = self.one_and_remove()
        self.assertGreater(self.json('info', '--json', log)['events'], 0)
        self.assertEqual(len(self.records(log)['posix', 'odd']), 2)

    def test_triggers(self):
        """What they choose is in the trace; the counters are added up as without them."""
        for mpi in self.mpis:
            for setting, ranks in ({'IOSEER_TRACE_RANK': '1'}, {1}), ({'IOSEER_TRACE_FILE': '*/odd'}, {1, 3}), \
                    ({'IOSEER_TRACE_SMALLER': '100'}, {0, 1, 2, 3}):
                with self.subTest((mpi, setting)):
                    self.run_job(mpi, 4, **setting)
                    log = self.one_and_remove()
                    events = [event for event in self.json('dump', '--json', log) if (event['file'] or '').startswith(self.work)]
                    self.assertEqual({event['rank'] for event in events}, ranks)
                    self.assertNotIn(None, [event['file'] for event in events])
                    reduced, recorded = self.records(log), self.records(self.record(mpi, 4))
                    self.assertEqual(set(reduced), set(recorded))
                    for key, records in reduced.items():
                        self.assertEqual(self.sums(records), self.sums(recorded[key]), (mpi, setting, key))
                    self.assertEqual([record['ranks'] for record in reduced['posix', 'odd']], [2])  # added up
                    info = [self.json('info', '--json', log), self.json('info', '--json', self.path('recorded.ioseer'))]
                    written = [{file['name']: file['bytes_written'] for file in one['files'] if file['name'].startswith(self.work)}
                               for one in info]
                    self.assertEqual(*written)

    def script(self, *lines):
        """As `record` has it: a file that several programs have used has a record for each of them."""
        shutil.rmtree(self.work, ignore_errors=True)
        os.mkdir(self.work)
        self.run_on('sh', '-ec', '\n'.join(lines), cwd=self.work)
        log = self.one_and_remove()
        shutil.rmtree(self.work)
        os.mkdir(self.work)
        found = [self.records(log), self.records(self.record_command('sh', '-ec', '\n'.join(lines), options=['--no-trace']))]
        self.assertEqual(set(found[0]), set(found[1]))
        for key in found[0]:
            reduced, recorded = ([(record['rank'], self.plain_counters(record)) for record in records[key]] for records in found)
            self.assertEqual(self.sums(found[0][key]), self.sums(found[1][key]), key)
            if len(reduced) == len(recorded):
                self.assertEqual(sorted(reduced, key=repr), sorted(recorded, key=repr), key)
        names = [file['name'] for file in self.json('info', '--json', log)['files']]
        self.assertEqual(len(names), len(set(names)))
        return log, found[0]

    def test_programs_in_turn(self):
        for mpi in self.mpis:
            with self.subTest(mpi):
                def line(ranks, *words, mpi=mpi):
                    return shlex.join([*LAUNCHERS[mpi], '-n', str(ranks), program(mpi), *words])
                _, records = self.script(line(3), 'cat all > copy', line(4, 'files=3'), line(3, 'files=1'), line(2, 'posix-only'),
                                         'cat copy all > copies')
                self.assertEqual(len(records['posix', 'all']), 5)  # of four programs, and of those without ranks
                self.assertEqual([record['ranks'] for record in records['mpiio', 'mpi']], [3, 4, 3])

    def test_programs_at_once(self):
        for mpi in self.mpis:
            with self.subTest(mpi):
                command = shlex.join([*LAUNCHERS[mpi], '-n', '3', program(mpi), 'files=0', 'posix-only'])
                _, records = self.script(f'{command} &', f'{command} &', command, 'wait')
                self.assertEqual([record['ranks'] for record in records['posix', 'all']], [3, 3, 3])

    def test_many_programs(self):
        mpi = self.mpis[0]
        command = shlex.join([*LAUNCHERS[mpi], '-n', '2', program(mpi), 'files=0', 'posix-only'])
        _, records = self.script(f'for i in $(seq 12); do {command}; done')
        self.assertEqual(len(records['posix', 'all']), 12)

    def test_two_jobs_of_one_name(self):
        mpi = self.mpis[0]
        environment = self.environment(IOSEER_LOG_NAME='same.ioseer')
        command = self.command(mpi, 3, 'files=0', 'posix-only')
        jobs = [subprocess.Popen(command, env=environment, cwd=self.work, stdout=subprocess.DEVNULL) for _ in range(2)]
        self.assertEqual([job.wait(timeout=120) for job in jobs], [0, 0])
        self.assertEqual([os.path.basename(log) for log in self.found()], ['same-2.ioseer', 'same.ioseer'])
        for log in self.found():
            self.assertEqual(self.sums(self.records(log)['posix', 'all'])['POSIX_WRITES'], 4 + 5 + 6)
        self.assertEqual(self.spills(), [])


class LibrariesTest(ReduceCase):
    """HDF5, PnetCDF and NetCDF: the counters of files, and of what is in them, in all layers."""
    PROGRAMS = [('tests/hdf5/slabs-{}', 'slabs.h5', '3'), ('examples/hdf5-{}',), ('examples/flash-{}',), ('examples/variables-{}',),
                ('examples/s3d-{}',), ('examples/s3d-pnetcdf',), ('tests/netcdf/slabs', 'slabs.nc', '3'),
                ('tests/netcdf/parallel', 'parallel.nc', '3')]

    def programs(self, mpi):
        for name, *words in self.PROGRAMS:
            path = os.path.join(harness.BUILD, name.format(mpi))
            if os.path.exists(path) and (mpi == 'openmpi' or '{}' in name):  # Debian builds PnetCDF with Open MPI
                yield path, *words

    def in_new_folder(self):
        shutil.rmtree(self.work, ignore_errors=True)
        os.mkdir(self.work)

    def same(self, *command):
        self.in_new_folder()
        self.run_on(*command, cwd=self.work)
        reduced = self.records(self.one_and_remove())
        self.in_new_folder()
        recorded = self.records(self.record_command(*command, options=['--no-trace']))
        self.assertEqual(set(reduced), set(recorded))
        for key, records in reduced.items():
            # A file of some ranks is one record after the reduction, and one for each rank otherwise.
            self.assertEqual(self.sums(records), self.sums(recorded[key]), (command, key))
            if len(records) == len(recorded[key]) == 1:
                self.assertEqual(self.plain_counters(records[0]), self.plain_counters(recorded[key][0]), (command, key))
                self.assertEqual(records[0]['rank'], recorded[key][0]['rank'])
        return {key[0] for key in reduced}

    def test_all_layers(self):
        for mpi in self.mpis:
            programs, layers = list(self.programs(mpi)), set()
            if not programs:
                self.skipTest('no HDF5, PnetCDF or NetCDF')
            for ranks, words in itertools.product((4, 9), programs):
                with self.subTest((mpi, ranks, words)):
                    layers |= self.same(*LAUNCHERS[mpi], '-n', str(ranks), *words)
            for layer in ('hdf5', 'pnetcdf'):
                if any(layer in words[0] for words in programs):
                    self.assertIn(layer, layers)


class TroubleTest(ReduceCase):
    # What lets ranks live when one has died.
    LENIENT = {'mpich': [['-disable-auto-cleanup']],
               'openmpi': [['--enable-recovery'], ['--mca', 'orte_abort_on_non_zero_status', '0']]}

    def marks(self):
        """That ranks have given up waiting for the others, or have added up their counters."""
        return [name for _, _, names in os.walk(self.logs) for name in names if name.endswith(('.not', '.index'))]

    def kill_left(self):
        """All that still runs of a job: each of its processes has the test's folder in a variable."""
        wanted = self.path('ioseer.conf').encode()
        for pid in (name for name in os.listdir('/proc') if name.isdigit() and int(name) != os.getpid()):
            try:
                with open(f'/proc/{pid}/environ', 'rb') as environ:
                    if b'IOSEER_CONF=' + wanted in environ.read().split(b'\0'):
                        os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass

    def has_each_rank(self, log):
        """False if the ranks have added up their counters."""
        records = self.json('stats', '--json', '--per-rank', log)['records']
        return len([record for record in records if record['file'] == os.path.join(self.work, 'all')]) > 1

    def assert_whole(self, ranks):
        """Each rank's calls before MPI_Finalize are there once, whether they were added up or not."""
        try:
            log = self.make_log()
        finally:
            shutil.rmtree(self.logs)
            os.mkdir(self.logs)
        wrote = self.sums(self.records(log)['posix', 'all'])['POSIX_WRITES']
        self.assertEqual(wrote, sum(4 + rank % 8 for rank in range(ranks)))

    def test_killed(self):
        for mpi in self.mpis:
            for how in ('kill=0', 'kill=2', 'abort=1', 'killed-after=0', 'killed-after=3'):
                with self.subTest((mpi, how)):
                    started = time.monotonic()
                    self.run_job(mpi, 4, 'posix-only', how, status=None, IOSEER_PATIENCE='5')
                    self.assertLess(time.monotonic() - started, 60)
                    self.assert_whole(4)

    def test_killed_at_random_moments(self):
        random.seed(os.environ.get('IOSEER_SEED', 1))
        for i in range(20):
            mpi, rank, delay = random.choice(self.mpis), random.randrange(4), random.randrange(60000)
            with self.subTest((i, mpi, rank, delay)):
                started = time.monotonic()
                self.run_job(mpi, 4, 'posix-only', f'killed-in={rank}', f'delay={delay}', status=None, IOSEER_PATIENCE='5')
                self.assertLess(time.monotonic() - started, 60)
                self.assert_whole(4)

    def test_lenient_launchers(self):
        """A rank is gone, and the launcher does not end the others: they wait for it in MPI_Finalize only if that waits itself."""
        for mpi in self.mpis:
            launcher, *words = self.command(mpi, 4, 'posix-only')
            for options, how in itertools.product(self.LENIENT[mpi], ('kill=2', 'killed-in=2', 'killed-after=2')):
                with self.subTest((mpi, options, how)):
                    self.command(mpi, 4)  # makes the folder anew
                    job = subprocess.Popen([launcher, *options, *words, how, 'delay=200000', 'nap=1', 'seconds=1'], cwd=self.work,
                                           env=self.environment(IOSEER_PATIENCE='5'), stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    self.addCleanup(self.kill_left)
                    self.wait_for(lambda: self.found() or self.marks(), 60)
                    time.sleep(1)
                    self.kill_left()  # some launchers do not end, as without ioseer
                    job.wait(60)
                    self.assert_whole(4)

    def test_ranks_that_do_not_take_part(self):
        """One is not recorded, or has a trace: nobody waits for it, and the counters of the others are there."""
        for mpi in self.mpis:
            for setting, missing in (('IOSEER_RECORD=none', 4), ('IOSEER_TRACE_CAP=1M', 0)):
                with self.subTest((mpi, setting)):
                    *launcher, count, ranks, executable, word = self.command(mpi, 3, 'posix-only')
                    self.run_on(*launcher, count, '1', 'env', setting, executable, word, ':', count, ranks, executable, word,
                                cwd=self.work)
                    log = self.one_and_remove()
                    wrote = self.sums(self.records(log)['posix', 'all'])['POSIX_WRITES']
                    self.assertEqual(wrote, 4 + 5 + 6 + 7 - missing)

    def test_rank_that_is_late(self):
        """The others wait for it, as without ioseer, and longer than for one that is stuck."""
        for mpi in self.mpis:
            with self.subTest(mpi):
                self.run_job(mpi, 4, 'posix-only', 'nap=1', 'seconds=4', IOSEER_PATIENCE='1')
                log = self.one_and_remove()
                self.assertFalse(self.has_each_rank(log))

    def test_rank_that_sleeps_for_ever(self):
        """Nobody gets out of MPI_Finalize, as without ioseer; when the job is killed, its log has everything."""
        for mpi in self.mpis:
            with self.subTest(mpi):
                process = subprocess.Popen(self.command(mpi, 4, 'posix-only', 'sleep=2'), cwd=self.work,
                                           env=self.environment(IOSEER_PATIENCE='1'), stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
                self.addCleanup(process.kill)
                self.wait_for(lambda: os.path.exists(os.path.join(self.work, 'text')))
                time.sleep(2)
                process.send_signal(signal.SIGTERM)
                self.wait_for(lambda child=process: child.poll() is not None)
                self.assert_whole(4)

    @unittest.skipIf(os.geteuid(), 'mounting needs root')
    def test_full_and_read_only(self):
        mpi = self.mpis[0]
        environment = self.environment(IOSEER_PATIENCE='5')
        if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', self.logs], check=False).returncode:
            self.skipTest('no mount')
        self.addCleanup(subprocess.run, ['umount', '-l', self.logs], check=False)
        for state in ('small', 'full', 'read-only'):
            if state == 'read-only':
                subprocess.run(['mount', '-o', 'remount,ro', self.logs], check=True)
            if state == 'full':
                self.fill()
            started = time.monotonic()
            self.run_on(*self.command(mpi, 4, 'files=40'), cwd=self.work, environment=environment)
            self.assertLess(time.monotonic() - started, 60)

    def fill(self):
        with open(os.path.join(self.logs, 'fill'), 'wb', buffering=0) as fill:
            try:
                while True:
                    fill.write(b'x' * 4096)
            except OSError:
                pass


if __name__ == '__main__':
    harness.main()
