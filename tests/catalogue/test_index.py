"""`ioseer index`: the numbers are those of info and report, changes are found, bad logs stop nothing, versions."""
import os
import shutil
import sqlite3
import subprocess

from catalogue_case import CatalogueCase, harness, unittest


class Index(CatalogueCase):
    def test_without_a_trace_findings_are_unknown(self):
        with_trace = self.make_log('with.ioseer')
        without = self.make_log('without.ioseer', options=('--trace-file', '/none'))
        self.index()
        stake = {job['log']: job['stake_seconds'] for job in self.jobs('--sort', 'findings')}
        self.assertIsNone(stake.pop(without))
        self.assertGreaterEqual(stake.pop(with_trace), 0)
        self.assertGreaterEqual(self.ask('--statistics')['statistics']['stake_seconds'], 0)

    def check_numbers(self, log):
        """A job in the catalogue and what other verbs say of its log."""
        job, = [job for job in self.jobs() if job['log'] == log]
        info, report, = self.json('info', '--json', log), self.json('report', '--json', log)
        summary = report['summary']
        self.assertEqual({key: job[key] for key in ('nprocs', 'host', 'start')},
                         {key: info['job'][key] for key in ('nprocs', 'host', 'start')})
        self.assertEqual({key: job[key] for key in ('io_seconds', 'io_seconds_max', 'io_share', 'bytes_read', 'bytes_written', 'calls')},
                         {key: summary[key] for key in ('io_seconds', 'io_seconds_max', 'io_share', 'bytes_read', 'bytes_written', 'calls')})
        self.assertEqual(job['run_time'], summary['run_seconds'])
        self.assertEqual(job['files'], len(info['files']))
        self.assertEqual(job['layers'], info['layers'])
        self.assertEqual(job['lost_events'], info['lost_events'])
        self.assertEqual(sorted((f['id'], f['seconds'], f['share']) for f in job['findings']),
                         sorted((f['id'], f['seconds'], f['share']) for f in report['findings']))
        told = {f['id']: f for f in report['findings']}
        for finding in job['findings']:
            by_gain = told[finding['id']]['gains'] and told[finding['id']]['severity'] == 'low'  # which the catalogue does not know
            self.assertTrue(by_gain or finding['severity'] == told[finding['id']]['severity'], finding)
        return job

    def test_numbers(self):
        log = self.make_log('one.ioseer')
        said, bad = self.index()
        self.assert_changes(said, added=1)
        self.assertEqual(bad, {})
        job = self.check_numbers(log)
        self.assertGreaterEqual(job['bytes_written'], 4 * 20 * 5000)
        written = self.ask('--by', 'file')['groups']
        group, = [group for group in written if group['file'].endswith('/out.*')]
        self.assertEqual((group['files'], group['bytes_written'], group['writes']), (4, 400000, 80))
        self.assertEqual(group['opens'], 6)
        self.assert_whole()

    def test_numbers_of_mpi(self):
        for mpi, launcher in (('mpich', ['mpiexec.mpich']), ('openmpi', ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe'])):
            for name in ('madbench', 's3d'):
                program = os.path.join(harness.BUILD, 'examples', f'{name}-{mpi}')
                if not shutil.which(launcher[0]) or not os.path.exists(program):
                    continue
                log = os.path.join(self.tree, f'{name}-{mpi}.ioseer')
                self.expect(0, 'record', '-q', '-o', log, '--', *launcher, '-n', '4', program, cwd=self.folder)
        logs = [os.path.join(self.tree, name) for name in os.listdir(self.tree)]
        if not logs:
            self.skipTest('no MPI example is here')
        self.assert_changes(self.index()[0], added=len(logs))
        for log in logs:
            job = self.check_numbers(log)
            self.assertTrue(job['mpi'])
            self.assertEqual(job['program'], os.path.basename(log).removesuffix('.ioseer'))
        self.assert_whole()

    def test_sizes_are_those_of_stats(self):
        log = self.make_log('one.ioseer')
        self.index()
        wanted = [0, 0]
        for record in self.json('stats', '--json', log)['records']:
            if record['layer'] == 'posix':
                wanted[0] += sum(n for key, n in record['counters'].items() if key.startswith('POSIX_SIZE_READ_'))
                wanted[1] += sum(n for key, n in record['counters'].items() if key.startswith('POSIX_SIZE_WRITE_'))
        sizes = self.ask('--by', 'size')['groups']
        self.assertEqual([sum(row['reads'] for row in sizes), sum(row['writes'] for row in sizes)], wanted)
        layer, = [row for row in self.ask('--by', 'layer')['groups'] if row['layer'] == 'posix']
        self.assertEqual([layer['reads'], layer['writes']], wanted)

    def test_changes(self):
        first = self.make_log('user/one.ioseer')
        self.make_log('user/2026/two.ioseer')
        self.assert_changes(self.index()[0], added=2)
        self.assert_changes(self.index()[0], same=2)
        self.make_log('user/one.ioseer', writes=40)
        shutil.copy(first, os.path.join(self.tree, 'three.ioseer'))
        self.assert_changes(self.index()[0], added=1, updated=1, same=1)
        self.assertEqual(len(self.assert_whole()), 3)
        shutil.rmtree(os.path.join(self.tree, 'user', '2026'))
        os.unlink(os.path.join(self.tree, 'three.ioseer'))
        self.assert_changes(self.index()[0], removed=2, same=1)
        jobs = self.assert_whole()
        self.assertEqual([job['log'] for job in jobs], [first])
        self.check_numbers(first)
        shutil.rmtree(os.path.join(self.tree, 'user'))
        self.assert_changes(self.index()[0], removed=1)
        self.assertEqual(self.jobs(), [])
        self.assertEqual(self.ask('--by', 'user')['groups'], [])

    def test_parts_of_a_tree(self):
        """What is not below the folders of this call stays."""
        for name in ('a/one.ioseer', 'ab/two.ioseer', 'a/b/three.ioseer'):
            self.make_log(name)
        self.assert_changes(self.index()[0], added=3)
        shutil.rmtree(os.path.join(self.tree, 'ab'))
        os.unlink(os.path.join(self.tree, 'a', 'b', 'three.ioseer'))
        self.assert_changes(self.index(os.path.join(self.tree, 'a'))[0], removed=1, same=1)
        self.assertEqual(len(self.jobs()), 2)
        self.assert_changes(self.index()[0], removed=1, same=1)
        log = os.path.join(self.tree, 'a', 'one.ioseer')
        shutil.copy(log, os.path.join(self.tree, 'a', 'other'))  # no log by its name, but one that is named
        self.assert_changes(self.index()[0], same=1)
        self.assert_changes(self.index(os.path.join(self.tree, 'a', 'other'), log)[0], added=1, same=1)

    def test_bad_logs(self):
        log = self.make_log('good.ioseer')
        with open(log, 'rb') as file:
            content = file.read()
        bad = {'empty.ioseer': b'', 'garbage.ioseer': os.urandom(3000), 'text.darshan': b'no log', 'cut.ioseer': content[:len(content) // 2],
               'damaged.ioseer': content[:200] + bytes(len(content) - 300) + content[-100:]}
        for name, data in bad.items():
            with open(os.path.join(self.tree, name), 'wb') as file:
                file.write(data)
        os.mkfifo(os.path.join(self.tree, 'fifo.ioseer'))
        os.symlink('/dev/zero', os.path.join(self.tree, 'zero.ioseer'))
        os.symlink(self.tree, os.path.join(self.tree, 'loop'))
        os.mkdir(os.path.join(self.tree, 'folder.ioseer'))
        said, reasons = self.index()
        self.assertEqual({os.path.basename(log) for log in reasons} - {'cut.ioseer', 'damaged.ioseer'},
                         {'empty.ioseer', 'garbage.ioseer', 'text.darshan'})
        self.assertTrue(all(reasons.values()))
        self.assertEqual(said['added'], 1 + len(bad) - len(reasons))
        again, reasons_again = self.index()
        self.assert_changes(again, same=said['added'])
        self.assertEqual(reasons_again, reasons)
        shutil.copy(log, os.path.join(self.tree, 'empty.ioseer'))
        mended, reasons = self.index()
        self.assert_changes(mended, added=1, same=said['added'])
        self.assertNotIn(os.path.join(self.tree, 'empty.ioseer'), reasons)
        self.assert_whole()
        text = self.expect(0, 'index', '--db', self.db, self.tree).stdout.decode()
        self.assertIn('garbage.ioseer: not an ioseer log', text)

    def test_folders_that_cannot_be_read(self):
        """Their logs stay, for they may be there."""
        if os.geteuid() == 0:
            prefix = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']
            os.chmod(self.folder, 0o777)
        else:
            prefix = []
        log = self.make_log('closed/one.ioseer')
        os.chmod(log, 0o644)
        command = [*prefix, harness.IOSEER, 'index', '--json', '--db', self.db, self.tree]
        if harness.run(*prefix, harness.IOSEER, '--version').returncode:
            self.skipTest('others cannot run ioseer here')
        self.assertEqual(harness.json.loads(harness.run(*command).stdout)['added'], 1)
        os.chmod(os.path.join(self.tree, 'closed'), 0)
        said = harness.json.loads(harness.run(*command).stdout)
        os.chmod(os.path.join(self.tree, 'closed'), 0o755)
        self.assertEqual(said['removed'], 0)
        self.assertEqual([row['log'] for row in said['bad']], [os.path.join(self.tree, 'closed')])
        self.assertEqual(len(self.jobs()), 1)

    def test_own_catalogue(self):
        """Without --db: in the user's folder, and only for his eyes."""
        environment = {**os.environ, 'HOME': self.folder}
        environment.pop('XDG_DATA_HOME', None)
        self.make_log('one.ioseer')
        self.expect_error(1, 'jobs', env=environment)
        self.expect(0, 'index', self.tree, env=environment)
        path = self.path('.local/share/ioseer/catalogue.db')
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertIn(b'one.ioseer', self.expect(0, 'jobs', env=environment).stdout)
        environment['XDG_DATA_HOME'] = self.path('data')
        self.expect(0, 'index', self.tree, env=environment)
        self.assertTrue(os.path.exists(self.path('data/ioseer/catalogue.db')))

    def test_newer_version(self):
        self.make_log('one.ioseer')
        self.index()
        with sqlite3.connect(self.db) as db:
            db.execute('UPDATE catalogue SET version = version + 1')
        db.close()
        with open(self.db, 'rb') as file:
            before = file.read()
        for verb in (('index', '--db', self.db, self.tree), ('jobs', '--db', self.db)):
            self.assertIn('too old', self.expect_error(1, *verb))
        with open(self.db, 'rb') as file:
            self.assertEqual(file.read(), before)

    def test_older_version(self):
        """Sums that it lacks are made from its jobs; who only asks is told."""
        for i in range(3):
            self.make_log(f'{i}.ioseer', writes=100 * i + 1)
        self.index()
        with sqlite3.connect(self.db) as db:
            for table, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                if table.startswith('cell_') or table in ('day_sums', 'job_sets', 'system_sets'):
                    db.execute(f'DROP TABLE {table}')
            db.execute('UPDATE catalogue SET version = 1')
        db.close()
        self.assertIn('run `ioseer index` once', self.expect_error(1, 'jobs', '--db', self.db))
        self.assert_changes(self.index()[0], same=3)
        self.assertEqual(len(self.assert_whole()), 3)

    def test_two_at_once(self):
        log = self.make_log('first.ioseer')
        for number in range(30):
            os.mkdir(os.path.join(self.tree, str(number)))
            for copy in range(4):
                shutil.copy(log, os.path.join(self.tree, str(number), f'{copy}.ioseer'))
        both = [subprocess.Popen([harness.IOSEER, 'index', '--json', '--db', self.db, self.tree], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) for _ in range(3)]
        said = []
        for process in both:
            out, err = process.communicate(timeout=harness.TIMEOUT_SECONDS)
            self.assertEqual(process.returncode, 0, err)
            said.append(harness.json.loads(out))
        self.assertEqual(sum(one['added'] for one in said), 121)
        self.assertEqual(len(self.assert_whole()), 121)
        self.assert_changes(self.index()[0], same=121)

    def test_documented(self):
        """doc/catalogue.md names each table and each of its columns."""
        self.make_log('one.ioseer')
        self.index()
        with open(os.path.join(harness.SOURCE, 'doc', 'catalogue.md'), encoding='utf-8') as file:
            text = file.read()
        with sqlite3.connect(self.db) as db:
            tables = [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                self.assertIn(f'`{table}`', text)
                for row in db.execute(f'PRAGMA table_info({table})'):
                    self.assertIn(f'`{row[1]}`', text, table)
        db.close()

    def test_usage(self):
        self.expect_error(2, 'index', '--db', self.db)
        self.assertIn('nowhere', self.expect_error(1, 'index', '--db', self.db, self.path('nowhere')))
        self.expect_error(1, 'index', '--db', self.path('no/folder/x.db'), self.tree)
        with open(self.path('text'), 'w', encoding='utf-8') as file:
            file.write('this is not a database at all, but a text of some length\n' * 100)
        self.expect_error(1, 'index', '--db', self.path('text'), self.tree)
        self.make_log('one.ioseer')
        self.index()
        self.expect_error(1, 'index', '--db', self.db, self.path('nowhere'))
        self.assertEqual(len(self.jobs()), 1)  # nothing is removed by a mistake


if __name__ == '__main__':
    assert unittest
    harness.main()
