"""Who sees what: a catalogue without names, and users who see their own jobs."""
import os
import re
import shutil
import sqlite3
import stat
import sys

from catalogue_case import CatalogueCase, Server, harness, json, server_programs, unittest

SECRET = 'quartzmole'
PROGRAM = f'''
import os, sys
os.makedirs('{SECRET}/deep/down/run.7', exist_ok=True)
for rank in range(3):
    with open('{SECRET}/deep/down/run.7/{SECRET}-%04d.h5' % rank, 'wb', buffering=0) as out:
        for i in range(int(sys.argv[1])): out.write(b'x' * 1000)
with open('{SECRET}/<b>\\udcff{SECRET}.txt', 'w') as out: out.write('{SECRET}')
'''
BYS = ('user', 'program', 'month', 'day', 'fs', 'file', 'finding', 'layer', 'size')
# Texts, and moments, which are those of the day.
OTHER = {'log', 'user', 'program', 'host', 'job', 'command', 'start', 'since', 'fs', 'file'}


def numbers(value, key=None):
    """A value of JSON without names, and lists in an order that does not depend on them."""
    if isinstance(value, dict):
        return sorted((k, numbers(v, k)) for k, v in value.items())
    if isinstance(value, list):
        return sorted((numbers(v, key) for v in value), key=repr)
    return None if value is None else 'other' if key in OTHER else value


class Private(CatalogueCase):
    def make_secret(self):
        for name, writes in ((f'{SECRET}/1.ioseer', '5'), (f'{SECRET}/2.ioseer', '9')):
            path = os.path.join(self.tree, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self.expect(0, 'record', '-q', '-o', path, '--', sys.executable, '-I', '-S', '-c', PROGRAM, writes, f'--{SECRET}',
                        cwd=self.folder)
        self.make_log('plain.ioseer')
        with open(os.path.join(self.tree, f'{SECRET}.ioseer'), 'w', encoding='ascii') as file:
            file.write('no log')

    def anonymous(self, db, *options, name='given.db'):
        self.expect(0, 'export', '--anonymous', '--db', db, '-o', self.path(name), *options)
        return self.path(name)

    def check_given(self, db):
        made = self.anonymous(db)
        with open(made, 'rb') as file:
            data = file.read()
        job = self.jobs(db=db)[0]
        for word in (SECRET, 'ioseer-test', '<b>', os.path.basename(self.folder), *[job['host']][:len(job['host']) > 4]):
            self.assertNotIn(word.encode(), data)
        for options in ([], ['--statistics'], ['--slower'], *(['--by', by] for by in BYS)):
            self.assertEqual(numbers(self.ask(*options, db=made)), numbers(self.ask(*options, db=db)), options)
        self.assert_whole(db=made)
        files = {group['file'] for group in self.ask('--by', 'file', db=made)['groups']}
        self.assertTrue(any(re.search(r'/[a-z]{12}-\*/[a-z]{12}-\*\.h\*$', name) for name in files), files)
        self.assertTrue(all(job['start'] % 86400 == 0 and job['log'].endswith('.ioseer') for job in self.jobs(db=made)))
        self.assertEqual(stat.S_IMODE(os.stat(made).st_mode), 0o600)
        user, = {job['user'] for job in self.jobs(db=made)}
        self.assertEqual(len(self.jobs('--user', user, db=made)), 3)
        with sqlite3.connect(made) as database:
            self.assertEqual(database.execute('PRAGMA integrity_check').fetchall(), [('ok',)])
            self.assertEqual(database.execute('SELECT * FROM names WHERE name = ?', (job['user'],)).fetchall(), [])
        os.remove(made)

    def test_without_names(self):
        self.make_secret()
        self.index()
        self.check_given(self.db)

    @unittest.skipUnless(server_programs(), 'no PostgreSQL is installed')
    def test_without_names_postgres(self):
        self.make_secret()
        db = Server().database('private')
        if b'without PostgreSQL' in harness.ioseer('index', '--db', db, self.tree).stderr:
            self.skipTest('ioseer was built without PostgreSQL')
        self.check_given(db)

    def test_key(self):
        """Two catalogues that are given away with one key fit together."""
        self.make_secret()
        self.index()
        key = self.path('key')
        users = [self.ask('--by', 'file', db=self.anonymous(self.db, '--key', key, name=name)) for name in ('1.db', '2.db')]
        self.assertEqual(users[0], users[1])
        self.assertNotEqual(self.ask('--by', 'file', db=self.anonymous(self.db, name='3.db')), users[0])

    def test_usage(self):
        self.index()
        words = ('export', '--db', self.db)
        self.expect_error(2, *words, '-o', self.path('x.db'))
        self.expect_error(2, *words, '--anonymous')
        self.expect_error(2, *words, '--anonymous', '--format', 'csv', '-o', self.path('x.db'))
        self.expect_error(2, *words, '--anonymous', 'LOG', '-o', self.path('x.db'))
        self.expect_error(1, 'export', '--db', self.path('none.db'), '--anonymous', '-o', self.path('x.db'))
        self.expect_error(1, *words, '--anonymous', '--force', '-o', os.path.join(self.folder, 'no', 'x.db'))
        self.assertFalse(os.path.exists(self.path('x.db')))
        made = self.anonymous(self.db, name='x.db')
        self.expect_error(1, *words, '--anonymous', '-o', made)
        self.expect(0, *words, '--anonymous', '--force', '-o', made)
        self.expect_error(2, *words, '--anonymous', '--force', '-o', self.db)

    @unittest.skipIf(os.geteuid(), 'becoming another user needs root')
    @unittest.skipUnless(shutil.which('setpriv'), 'no setpriv')
    def test_own_jobs(self):
        """Of another's catalogue, users see their own jobs; the support group, and who made the catalogue, see all."""
        for i in range(3):
            self.make_log(f'{i}.ioseer', writes=i + 1)
        self.index()
        user, group = 65534, 'nogroup'
        with sqlite3.connect(self.db) as database:  # one of three is nobody's
            database.execute("INSERT INTO names VALUES (1000, 1, 'nobody')")
            database.execute('UPDATE jobs SET user_id = 1000 WHERE id = 2')
            database.execute('INSERT INTO sums SELECT month, 1000, program_id, ' + ', '.join(
                row[1] for row in database.execute('PRAGMA table_info(sums)').fetchall()[3:]) + ' FROM sums')
        os.chmod(self.folder, 0o755)
        os.chmod(self.db, 0o644)
        conf = self.path('site.conf')

        def seen(*options, verb='jobs', group=None):
            with open(conf, 'w', encoding='ascii') as file:
                file.write(f'support_group = {group}\n' if group else '')
            done = harness.run('setpriv', f'--reuid={user}', '--regid=65534', '--clear-groups', harness.IOSEER, verb, '--db', self.db,
                               *options, env=dict(os.environ, IOSEER_CONF=conf, HOME='/nonexistent'))
            if done.returncode in (126, 127):
                self.skipTest('other users cannot run this build')
            return done

        def rows(done, key):
            self.assertEqual(done.returncode, 0, done)
            return [row[key] for row in json.loads(done.stdout)['jobs']]
        self.assertEqual(rows(seen('--json'), 'id'), [2])
        self.assertEqual(rows(seen('--json', '--user', '*'), 'id'), [2])
        self.assertEqual(rows(seen('--json', '--id', '1'), 'id'), [])
        self.assertEqual(sorted(rows(seen('--json', group=group), 'id')), [1, 2, 3])
        self.assertIn(b'Only jobs of nobody are shown', seen().stdout)
        self.assertEqual([group['jobs'] for group in json.loads(seen('--json', '--by', 'user').stdout)['groups']], [3])
        self.assertEqual(seen(group='no-such-group').returncode, 2)
        os.mkdir(self.path('given'))
        os.chmod(self.path('given'), 0o777)
        give = ('--anonymous', '-o', self.path('given/x.db'))
        self.assertIn(b'it has jobs of other users', seen(*give, verb='export').stderr)
        self.assertEqual(os.listdir(self.path('given')), [])
        self.assertEqual(seen(*give, verb='export', group=group).returncode, 0)
        os.chown(self.db, user, -1)
        self.assertEqual(sorted(rows(seen('--json'), 'id')), [1, 2, 3])


if __name__ == '__main__':
    harness.main()
