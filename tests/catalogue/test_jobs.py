"""`ioseer jobs`: filters, orders, groups and statistics are what the list of all jobs says; what got slower; formats."""
import csv
import datetime
import io
import subprocess

from catalogue_case import BENCH, CatalogueCase, harness

JOBS = 3000


def fill(db, jobs=JOBS):
    """Jobs that nobody ran, in two years."""
    subprocess.run([BENCH, db, str(jobs)], check=True, timeout=harness.TIMEOUT_SECONDS)


class Questions(CatalogueCase):
    """Each answer against sums over the list, also of parts of months, whose sums are made from jobs."""
    database = None

    def setUp(self):
        super().setUp()
        if not Questions.database:
            Questions.database = self.make_database()
        self.db = Questions.database
        self.all = self.jobs()
        self.assertEqual(len(self.all), JOBS)

    def make_database(self):
        folder = harness.tempfile.TemporaryDirectory(prefix='ioseer-test-')
        Questions.folder_of_database = folder  # until the test ends
        path = f'{folder.name}/catalogue.db'
        fill(path)
        return path

    def periods(self):
        """Options, and the jobs that they choose: whole months, parts, and neither."""
        for since, until in ((None, None), ('2024-03-01', '2024-06-01'), ('2024-03-05', '2024-08-17'), ('2024-03-05', '2024-03-20'),
                             ('2024-11-20 10:30', None), (None, '2024-02-02T03:04:05'), ('2024-03-31', '2024-04-02'),
                             ('2024-04-01', '2024-04-30'), ('2026-05-01', '2026-06-01'), ('2025-01-02', '2024-01-01')):
            options, chosen = [], self.all
            if since:
                options += ['--since', since]
                moment = datetime.datetime.fromisoformat(since).timestamp()
                chosen = [job for job in chosen if job['start'] >= moment]
            if until:
                options += ['--until', until]
                moment = datetime.datetime.fromisoformat(until).timestamp()
                chosen = [job for job in chosen if job['start'] < moment]
            yield options, chosen

    def test_filters(self):
        user, program = self.all[0]['user'], self.all[5]['program']
        finding = next(job['findings'][0]['id'] for job in self.all if job['findings'])
        fs = self.ask('--by', 'fs')['groups'][0]['fs']
        for period, chosen in self.periods():
            for more, test in (((), lambda job: True),
                               (('--user', user), lambda job: job['user'] == user),
                               (('--user', 'user1*'), lambda job: job['user'].startswith('user1')),
                               (('--program', program, '--user', 'user[0-4]*'),
                                lambda job: job['program'] == program and job['user'][4] in '01234'),
                               (('--finding', finding), lambda job: finding in [f['id'] for f in job['findings']]),
                               (('--user', 'nobody'), lambda job: False)):
                self.assertEqual([job['id'] for job in self.jobs(*period, *more)], [job['id'] for job in chosen if test(job)],
                                 (period, more))
        on_fs = self.jobs('--fs', fs)
        self.assertEqual(self.jobs('--fs', fs.split(' ')[0]), on_fs)
        self.assertEqual(len(on_fs), self.ask('--by', 'fs')['groups'][0]['jobs'])

    def test_orders(self):
        keys = {'start': lambda job: job['start'], 'time': lambda job: job['run_time'], 'io': lambda job: job['io_seconds'],
                'bytes': lambda job: job['bytes_read'] + job['bytes_written'], 'share': lambda job: job['io_share'],
                'files': lambda job: job['files'], 'findings': lambda job: sum(f['seconds'] for f in job['findings'])}
        some = [job for job in self.all if job['user'] == self.all[0]['user']]
        for sort, key in keys.items():
            for options, jobs in (((), self.all), (('--user', self.all[0]['user']), some)):
                found = self.jobs('--sort', sort, '--top', '50', *options)
                wanted = sorted((round(key(job), 6) for job in jobs), reverse=True)[:50]
                self.assertEqual([round(key(job), 6) for job in found], wanted, (sort, options))
        for sort in ('user', 'program'):
            names = [job[sort] for job in self.jobs('--sort', sort)]
            self.assertEqual(names, sorted(job[sort] for job in self.all))
        self.assertEqual(len(self.jobs('--top', '7')), 7)

    def test_pages(self):
        """Pages, one after the other, are the list."""
        finding = next(job['findings'][0]['id'] for job in self.all if job['findings'])
        for sort in ('start', 'time', 'bytes', 'io', 'share', 'files', 'findings'):
            for options in ((), ('--user', 'user1*'), ('--finding', finding), ('--since', '2024-03-05', '--until', '2024-08-17')):
                wanted = [job['id'] for job in self.jobs('--sort', sort, *options)]
                found, after = [], ()
                while page := [job['id'] for job in self.jobs('--sort', sort, '--top', '400', *after, *options)]:
                    found += page
                    after = ('--after', str(page[-1]))
                self.assertEqual(found, wanted, (sort, options))
        self.expect_error(1, 'jobs', '--db', self.db, '--after', '99999')
        self.expect_error(2, 'jobs', '--db', self.db, '--sort', 'user', '--after', '5')
        self.assertEqual(self.jobs('--id', '7'), [job for job in self.all if job['id'] == 7])

    def test_sums_of_some(self):
        """Days, and sums of jobs with a finding or on a file system."""
        finding = next(job['findings'][0]['id'] for job in self.all if job['findings'])
        fs = self.ask('--by', 'fs')['groups'][0]['fs']
        for period, _ in self.periods():
            for options in ((), ('--finding', finding), ('--fs', fs), ('--finding', finding, '--user', 'user1*'),
                            ('--finding', finding, '--fs', fs), ('--finding', finding, '--fs', fs, '--user', 'user1*'),
                            ('--fs', '/fs[12]*'), ('--fs', '/*', '--finding', '*'), ('--finding', 'finding-[34]', '--fs', '/fs[23]*'),
                            ('--finding', 'none'), ('--fs', 'none')):
                chosen = self.jobs(*period, *options)
                found = self.ask('--statistics', *period, *options)['statistics']
                self.assertEqual((found['jobs'] or 0, found['bytes_written'] or 0), (len(chosen), sum(job['bytes_written'] for job in chosen)))
                layers = {group['layer']: group['jobs'] for group in found['layers']}
                self.assertEqual(layers.get('mpiio', 0), sum('mpiio' in job['layers'] for job in chosen))
                days = {group['day']: group['jobs'] for group in self.ask('--by', 'day', *period, *options)['groups']}
                wanted = {}
                for job in chosen:
                    day = datetime.datetime.fromtimestamp(job['start'], datetime.timezone.utc).strftime('%Y-%m-%d')
                    wanted[day] = wanted.get(day, 0) + 1
                self.assertEqual(days, wanted, (period, options))
                for by in ('user', 'program', 'month', 'file', 'finding', 'fs', 'layer', 'size'):
                    groups = self.ask('--by', by, *period, *options)['groups']
                    if by in ('user', 'program', 'month'):
                        self.assertEqual(sum(group['jobs'] for group in groups), len(chosen))
                    if '--user' not in options: # these are added up from the jobs
                        self.assert_near(groups, self.ask('--by', by, *period, *options, '--user', '*')['groups'])

    def assert_near(self, groups, others):
        self.assertEqual(len(groups), len(others))
        key = next(iter(groups[0]), None) if groups else None
        for group, other in zip(sorted(groups, key=lambda row: row[key]), sorted(others, key=lambda row: row[key])):
            for name, value in group.items():
                if isinstance(value, float):
                    self.assertAlmostEqual(value, other[name], delta=abs(value) * 1e-9)
                else:
                    self.assertEqual(value, other[name])

    def test_groups(self):
        sums = ('run_time', 'io_seconds', 'bytes_read', 'bytes_written', 'files', 'calls', 'stake_seconds')
        for options, chosen in self.periods():
            for by in ('user', 'program', 'month'):
                groups = {group[by]: group for group in self.ask('--by', by, *options)['groups']}
                wanted = {}
                for job in chosen:
                    start = datetime.datetime.fromtimestamp(job['start'], datetime.timezone.utc)
                    wanted.setdefault({'month': start.strftime('%Y-%m')}.get(by) or job[by], []).append(job)
                self.assertEqual(set(groups), set(wanted), (by, options))
                for name, jobs in wanted.items():
                    self.assertEqual(groups[name]['jobs'], len(jobs))
                    self.assertEqual(groups[name]['findings'], sum(len(job['findings']) for job in jobs))
                    for key in sums:
                        wanted_sum = sum(job[key] for job in jobs)
                        self.assertAlmostEqual(groups[name][key], wanted_sum, delta=wanted_sum * 1e-9, msg=(by, name, key))
                    self.assertAlmostEqual(groups[name]['io_share'], sum(job['io_seconds'] for job in jobs) / sum(job['run_time'] for job in jobs))
            findings = {group['finding']: group for group in self.ask('--by', 'finding', *options)['groups']}
            for name, group in findings.items():
                stakes = [f['seconds'] for job in chosen for f in job['findings'] if f['id'] == name]
                self.assertEqual(group['jobs'], len(stakes))
                self.assertAlmostEqual(group['stake_seconds'] / (sum(stakes) or 1), 1, places=9)
        user = self.all[0]['user']
        group, = self.ask('--by', 'program', '--user', user, '--program', self.all[0]['program'])['groups']
        self.assertEqual(group['jobs'], len([j for j in self.all if (j['user'], j['program']) == (user, self.all[0]['program'])]))

    def test_parts_add_up(self):
        for options, chosen in self.periods():
            moved = sum(job['bytes_written'] for job in chosen)
            for by in ('file', 'fs'):
                found = sum(group['bytes_written'] for group in self.ask('--by', by, *options)['groups'])
                self.assertLess(abs(found - moved), 8 * len(chosen) + 1, (by, options))
            layers = {group['layer']: group['jobs'] for group in self.ask('--by', 'layer', *options)['groups']}
            for layer in ('posix', 'mpiio', 'hdf5'):
                self.assertEqual(layers.get(layer, 0), sum(layer in job['layers'] for job in chosen))

    def test_sorts_of_groups(self):
        for by, sorts in {'user': 'jobs time bytes io share files findings name', 'month': 'jobs bytes name', 'fs': 'bytes time files jobs',
                          'file': 'time bytes files jobs name', 'finding': 'findings jobs', 'layer': 'jobs bytes', 'size': 'jobs name'}.items():
            for sort in sorts.split():
                self.assertTrue(self.ask('--by', by, '--sort', sort, '--top', '5')['groups'])
        self.expect_error(2, 'jobs', '--db', self.db, '--by', 'finding', '--sort', 'bytes')
        self.expect_error(2, 'jobs', '--db', self.db, '--sort', 'name')
        self.expect_error(2, 'jobs', '--db', self.db, '--by', 'user', '--after', '5')
        self.expect_error(2, 'jobs', '--db', self.db, '--by', 'user', '--slower')
        self.expect_error(2, 'jobs', '--db', self.db, '--since', 'yesterday')
        self.expect_error(2, 'jobs', '--db', self.db, 'word')
        times = [group['file_seconds'] for group in self.ask('--by', 'file', '--top', '30')['groups']]
        self.assertEqual(times, sorted(times, reverse=True))

    def test_statistics(self):
        for options, chosen in self.periods():
            said = self.ask('--statistics', *options)['statistics']
            self.assertEqual(said['jobs'] or 0, len(chosen))
            if not chosen:
                continue
            self.assertEqual(said['mpi_jobs'], sum(job['mpi'] for job in chosen))
            self.assertEqual(said['collective_jobs'], sum(job['collective'] for job in chosen))
            self.assertEqual(said['mostly_written_jobs'], sum(job['bytes_written'] > job['bytes_read'] for job in chosen))
            bounds = (('share_below_1', 0, .01), ('share_below_5', .01, .05), ('share_below_10', .05, .1), ('share_below_25', .1, .25),
                      ('share_below_50', .25, .5), ('share_above_50', .5, 2))
            for key, low, high in bounds:
                self.assertEqual(said[key], sum(low <= job['io_share'] < high for job in chosen), (key, options))
            self.assertEqual(sum(month['jobs'] for month in said['months']), len(chosen))
            self.assertLessEqual(len(said['worst_files']), 10)
        self.assertIn(b'with collective reads or writes', self.expect(0, 'jobs', '--db', self.db, '--statistics').stdout)

    def test_formats(self):
        for options in ((), ('--by', 'user'), ('--by', 'month'), ('--by', 'file'), ('--slower',)):
            key = 'groups' if '--by' in options else 'slower' if options else 'jobs'
            rows = self.ask('--top', '40', *options)[key]
            text = self.expect(0, 'jobs', '--db', self.db, '--top', '40', '--csv', *options).stdout.decode()
            lines = list(csv.DictReader(io.StringIO(text, newline='')))
            self.assertEqual(len(lines), len(rows))
            for line, row in zip(lines, rows):
                self.assertEqual(set(line), set(row))
                for name, value in row.items():
                    if isinstance(value, float):
                        self.assertAlmostEqual(float(line[name]), value, delta=abs(value) * 1e-12)
                    elif isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
                        self.assertEqual(line[name], str(value))
            self.assertTrue(self.expect(0, 'jobs', '--db', self.db, *options).stdout)
        self.assertIn(b'These are the first 20', self.expect(0, 'jobs', '--db', self.db).stdout)
        self.assertNotIn(b'These are', self.expect(0, 'jobs', '-q', '--db', self.db).stdout)


class Slower(CatalogueCase):
    def test_slower(self):
        """A program that gets slower is found, at the latest when it has been so for some runs; others are not."""
        fill(self.db, 20000)
        slower = self.ask('--slower')['slower']
        self.assertTrue(slower)
        for row in slower:
            self.assertGreater(row['factor'], 1.2)
            self.assertGreater(row['after'], row['before'])
            self.assertLess(row['chance'], 0.001)
            self.assertIn(row['measure'], ('run_time', 'io_seconds'))
            self.assertEqual(self.jobs('--user', row['user'], '--program', row['program'])[0]['log'], row['log'])
        some = slower[0]
        self.assertEqual({(row['user'], row['program']) for row in self.ask('--slower', '--user', some['user'])['slower']},
                         {(row['user'], row['program']) for row in slower if row['user'] == some['user']})
        self.assertEqual(self.ask('--slower', '--until', '2024-01-01')['slower'], [])

    def test_real_runs(self):
        for number in range(20):
            program = f'import time; open("out", "wb").write(bytes(100000)); time.sleep({2 if number >= 12 else 0})'
            self.expect(0, 'record', '-q', '-o', f'{self.tree}/{number}.ioseer', '--', harness.sys.executable, '-I', '-S', '-c', program,
                        cwd=self.folder)
        self.index()
        slower, = [row for row in self.ask('--slower')['slower'] if row['measure'] == 'run_time']
        self.assertGreater(slower['after'], slower['before'])
        self.assertGreaterEqual(slower['recent'], 5)
        for number in range(12, 20):
            harness.os.unlink(f'{self.tree}/{number}.ioseer')
        self.index()
        self.assertEqual([row for row in self.ask('--slower')['slower'] if row['factor'] > 3], [])


if __name__ == '__main__':
    harness.main()
