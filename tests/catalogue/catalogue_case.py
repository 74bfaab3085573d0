"""What the tests of the catalogue share: recorded logs, a catalogue, a PostgreSQL server of their own."""
import atexit
import contextlib
import glob
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import harness  # noqa: E402
from harness import unittest  # noqa: E402

BENCH = os.path.join(harness.BUILD, 'bench', 'bench-catalogue')
PROGRAM = r'''
import os, sys
for i in range(4):
    with open(f'out.{i}', 'wb', buffering=0) as out:
        for _ in range(int(sys.argv[1])): out.write(bytes(5000))
with open('out.0', 'rb', buffering=0) as data:
    while data.read(1000): pass
if os.fork() == 0:
    open('out.1', 'rb').read()
    os._exit(0)
os.wait()
'''


class CatalogueCase(harness.CommandLineTest):
    def setUp(self):
        super().setUp()
        self.tree = self.path('tree')
        self.db = self.path('catalogue.db')
        os.mkdir(self.tree)
        if b'without SQLite' in harness.ioseer('index', '--db', self.path('try.db'), self.tree).stderr:
            self.skipTest('ioseer was built without SQLite (libsqlite3-dev)')

    def make_log(self, name, writes=20, options=()):
        """A log of a small program, below the tree."""
        path = os.path.join(self.tree, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        done = harness.ioseer('record', '-q', '--force', '-o', path, *options, '--', sys.executable, '-I', '-S', '-c', PROGRAM, str(writes),
                              cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def index(self, *more, db=None):
        """What `index` says, with the bad logs by name."""
        said = self.json('index', '--db', db or self.db, '--json', *(more or (self.tree,)))
        bad = {row['log']: row['reason'] for row in said.pop('bad')}
        return said, bad

    def ask(self, *options, db=None):
        return self.json('jobs', '--db', db or self.db, '--json', *options)

    def jobs(self, *options, db=None):
        return self.ask(*options, db=db)['jobs']

    def assert_changes(self, said, added=0, updated=0, removed=0, same=0):
        self.assertEqual(said, {'added': added, 'updated': updated, 'removed': removed, 'same': same})

    def assert_whole(self, db=None):
        """The sums are those of the jobs."""
        jobs = self.jobs(db=db)
        for by in ('user', 'program', 'month'):
            groups = self.ask('--by', by, db=db)['groups']
            for key in ('bytes_read', 'bytes_written', 'files', 'calls'):
                self.assertEqual(sum(group[key] for group in groups), sum(job[key] for job in jobs), (by, key))
            self.assertEqual(sum(group['jobs'] for group in groups), len(jobs))
        for by, part in (('finding', 'stake_seconds'), ('month', 'stake_seconds')):
            found = sum(group[part] for group in self.ask('--by', by, db=db)['groups'])
            self.assertAlmostEqual(found, sum(f['seconds'] for job in jobs for f in job['findings']), places=6)
        for key in ('bytes_read', 'bytes_written'):
            self.assertEqual(sum(g[key] for g in self.ask('--by', 'file', db=db)['groups']),
                             sum(g[key] for g in self.ask('--by', 'fs', db=db)['groups']))
        for by, option in (('fs', '--fs'), ('finding', '--finding')):
            for group in self.ask('--by', by, db=db)['groups']:
                self.assertEqual(self.ask('--statistics', option, group[by], db=db)['statistics']['jobs'], group['jobs'])
        self.assertEqual(sum(group['jobs'] for group in self.ask('--by', 'day', db=db)['groups']), len(jobs))
        return jobs


# --- PostgreSQL

def server_programs():
    """The folder with those of the newest version, or None."""
    found = sorted(glob.glob('/usr/lib/postgresql/*/bin'), key=lambda path: int(path.split('/')[-2].split('.')[0]))
    return found[-1] if found else None


class Server:
    """A PostgreSQL of the test's own, on a Unix socket in a temporary folder. Root may not run one: then it is `nobody`."""

    def __init__(self, place=None):
        self.folder = tempfile.mkdtemp(prefix='ioseer-pg-', dir=place)
        if place and os.geteuid() == 0:
            os.chmod(place, 0o755)
        self.user = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam('nobody')
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            os.chmod(self.folder, 0o755)
            self.user = {'user': nobody.pw_uid, 'group': nobody.pw_gid, 'extra_groups': []}
        atexit.register(self.stop)
        self.process = None
        data = os.path.join(self.folder, 'data')
        self.run('initdb', '-D', data, '-A', 'trust', '-U', 'ioseer', '-E', 'UTF8', '--no-sync')
        self.process = subprocess.Popen([os.path.join(server_programs(), 'postgres'), '-D', data, '-k', self.folder, '-h', '',
                                         '-c', 'fsync=off', '-c', 'log_min_messages=fatal'], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd=self.folder, **self.user)
        deadline = time.monotonic() + 60
        while not os.path.exists(os.path.join(self.folder, '.s.PGSQL.5432')) or self.psql('postgres', 'SELECT 1') != '1':
            assert time.monotonic() < deadline and self.process.poll() is None, 'the server does not start'
            time.sleep(0.1)

    def run(self, program, *words):
        done = subprocess.run([os.path.join(server_programs(), program), *words], capture_output=True, text=True, check=False,
                              cwd=self.folder, timeout=120, **self.user)
        return done.stdout.strip()

    def psql(self, database, statement):
        return self.run('psql', '-h', self.folder, '-U', 'ioseer', '-d', database, '-At', '-c', statement)

    def database(self, name):
        """The address of a new database."""
        self.psql('postgres', f'CREATE DATABASE {name}')
        return f'postgresql://ioseer@/{name}?host={self.folder}'

    def stop(self):
        if self.process:
            self.process.send_signal(2)  # SIGINT: ends sessions, too
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=60)
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


__all__ = ['BENCH', 'CatalogueCase', 'Server', 'harness', 'json', 'server_programs', 'unittest']
