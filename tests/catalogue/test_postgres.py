"""A catalogue in PostgreSQL: the same answers as in SQLite, by several at once, killed, and of a newer version."""
import os
import shutil
import subprocess
import time

from catalogue_case import CatalogueCase, Server, harness, server_programs

QUESTIONS = [(), ('--sort', 'findings'), ('--sort', 'user'), ('--sort', 'share', '--top', '3'), ('--by', 'user'), ('--by', 'program'),
             ('--by', 'month'), ('--by', 'fs'), ('--by', 'file'), ('--by', 'finding'), ('--by', 'layer'), ('--by', 'size'),
             ('--statistics',), ('--slower',), ('--since', '1d', '--by', 'file'), ('--since', '2d', '--until', '1s', '--statistics'),
             ('--user', '*', '--fs', '/*'), ('--by', 'day'), ('--statistics', '--fs', '/*'),
             ('--by', 'user', '--fs', '/*', '--user', '*', '--since', '1d', '--until', '1s'), ('--by', 'day', '--fs', '/*', '--finding', '*')]


class Postgres(CatalogueCase):
    server = None

    def setUp(self):
        super().setUp()
        if not server_programs():
            self.skipTest('there is no PostgreSQL (postgresql)')
        if not Postgres.server:
            Postgres.server = Server()
        self.place = self.server.database(self.id().split('.')[-1])
        if b'built without' in harness.ioseer('index', '--db', self.place, self.tree).stderr:
            self.skipTest('ioseer was built without PostgreSQL (libpq-dev)')

    def fill(self):
        for name, writes in (('a/one.ioseer', 10), ('a/two.ioseer', 30), ('b/three.ioseer', 500)):
            self.make_log(name, writes)
        with open(os.path.join(self.tree, 'bad.ioseer'), 'wb') as file:
            file.write(b'\0' * 100)

    def without_ids(self, answer):
        for row in answer.get('jobs', []) + answer.get('slower', []):
            del row['id']
        for rows in answer.values():
            if isinstance(rows, list):
                rows.sort(key=repr)
        return answer

    def test_same_answers(self):
        self.fill()
        time.sleep(1.1)  # no job begins within the last second, whenever that is asked
        self.assertEqual(self.index(db=self.place), self.index())
        for question in QUESTIONS:
            self.assertEqual(self.without_ids(self.ask(*question, db=self.place)), self.without_ids(self.ask(*question)), question)
        self.make_log('a/one.ioseer', 77)
        shutil.rmtree(os.path.join(self.tree, 'b'))
        self.assertEqual(self.index(db=self.place), self.index())
        time.sleep(1.1)
        for question in QUESTIONS:
            self.assertEqual(self.without_ids(self.ask(*question, db=self.place)), self.without_ids(self.ask(*question)), question)
        self.assert_whole(db=self.place)

    def test_pages(self):
        self.fill()
        self.index(db=self.place)
        for sort in ('start', 'time', 'bytes', 'io', 'share', 'files', 'findings'):
            for options in ((), ('--user', '*'), ('--fs', '/*')):
                wanted = [job['id'] for job in self.jobs('--sort', sort, *options, db=self.place)]
                found, after = [], ()
                while page := self.jobs('--sort', sort, '--top', '2', *after, *options, db=self.place):
                    found += [job['id'] for job in page]
                    after = ('--after', str(found[-1]))
                self.assertEqual(found, wanted, (sort, options))

    def copies(self, count):
        log = self.make_log('0.ioseer')
        for number in range(1, count):
            shutil.copy(log, os.path.join(self.tree, f'{number}.ioseer'))

    def start(self):
        return subprocess.Popen([harness.IOSEER, 'index', '--json', '--db', self.place, self.tree], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def test_several_at_once(self):
        self.copies(100)
        processes = [self.start() for _ in range(3)]
        said = [process.communicate(timeout=harness.TIMEOUT_SECONDS) for process in processes]
        self.assertEqual([process.returncode for process in processes], [0, 0, 0], said)
        self.assertEqual(sum(harness.json.loads(out)['added'] for out, _ in said), 100)
        self.assertEqual(len(self.assert_whole(db=self.place)), 100)

    def test_killed(self):
        self.copies(600)
        for attempt in range(8):
            process = self.start()
            time.sleep(0.05 + 0.1 * attempt)
            process.kill()
            process.communicate(timeout=harness.TIMEOUT_SECONDS)
            self.assert_whole(db=self.place)
        self.index(db=self.place)
        self.assertEqual(len(self.assert_whole(db=self.place)), 600)

    def test_newer_version(self):
        self.fill()
        self.index(db=self.place)
        name = self.id().split('.')[-1]
        self.server.psql(name, 'UPDATE catalogue SET version = version + 1')
        for verb in (('index', '--db', self.place, self.tree), ('jobs', '--db', self.place)):
            self.assertIn('too old', self.expect_error(1, *verb))
        self.assertEqual(self.server.psql(name, 'SELECT count(*) FROM jobs'), '3')

    def test_trouble(self):
        self.expect_error(1, 'jobs', '--db', f'postgresql://ioseer@/nowhere?host={self.server.folder}')
        said = self.expect_error(1, 'jobs', '--db', f'postgresql://ioseer:secret@/x?host={self.folder}')
        self.assertNotIn('secret', said)
        self.expect_error(1, 'index', '--db', 'postgresql://localhost:1/x', self.tree)
        name = self.id().split('.')[-1]
        self.server.psql(name, 'CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader')
        reader = self.place.replace('ioseer@', 'reader@')
        self.make_log('one.ioseer')
        self.index(db=self.place)
        self.assertEqual(len(self.jobs(db=reader)), 1)
        self.expect(0, 'jobs', '--db', reader, '--statistics')
        os.unlink(os.path.join(self.tree, 'one.ioseer'))
        self.expect_error(1, 'index', '--db', reader, self.tree)
        self.assertEqual(len(self.jobs(db=self.place)), 1)


if __name__ == '__main__':
    harness.main()
