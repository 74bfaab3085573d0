"""export --anonymous: nothing of the names is in the log, and every number of it is the same."""
import glob
import json
import os
import re
import shutil
import sqlite3
import stat
import sys
import unittest

import exports
from exports import Logs, harness

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'golden'))
import decode  # noqa: E402

MPIS = ('mpich', 'openmpi')
EXAMPLES = ('madbench', 'btio', 'flash', 'hdf5', 'variables')
# Parts of names that stay, or are too short to look for.
KEPT = re.compile(r'mpiexec|mpirun|hydra|orted?|prted?|prun|glusterfs|[0-9.]*|\(other files\)|\..*')
# Numbers that are others on purpose, and the moment of the start.
OTHER = {'uid', 'device', 'inode', 'start', 'end', 'created', 'log', 'path', 'bytes', 'number', 'record_id', 'id', 'record', 'POSIX_RENAMED_FROM'}
SECRET = 'quartzmole'

PROGRAM = f'''
import os, sys
os.makedirs('{SECRET}/deep/run.7', exist_ok=True)
for rank in range(6):
    with open('{SECRET}/deep/run.7/{SECRET}-%04d.h5' % rank, 'wb', buffering=0) as out:
        for i in range(3): out.write(b'x' * 1000)
os.rename('{SECRET}/deep/run.7/{SECRET}-0005.h5', '{SECRET}/moved.{SECRET}')
for name in (b'line\\nbreak', b'caf\\xc3\\xa9', b'\\xff\\xfe', b'a[b]*?', b'....', b'x' * 200):
    with open(name, 'wb', buffering=0) as out: out.write(name)
'''


def payloads(path):
    """All bytes of a log that are not checksums or lengths."""
    with open(path, 'rb') as file:
        log = file.read()
    return log[:64] + b''.join(block.payload() for block in decode.find_blocks(log, []))


def strings(path):
    """All strings of the records of a log."""
    with open(path, 'rb') as file:
        log = file.read()
    for block in decode.find_blocks(log, []):
        if block.type == decode.BLOCK_RECORDS:
            for kind, fields in decode.records(block.payload(), []):
                for key, texts in fields.strings.items():
                    yield from ((kind, key, text) for text in texts)


def words_of(path):
    """What must not be in the log without names: parts of names, arguments, hosts, sources of mounts."""
    words = set()
    named = {(1, 1), (1, 4), (1, 5), (1, 12), (2, 4), (2, 5), (2, 6), (2, 7), (3, 2), (3, 7), (3, 10), (7, 4), (13, 2),
             (18, 2), (18, 4), (29, 2), (29, 4), (29, 7), (31, 1), (31, 5)}
    for kind, key, text in strings(path):
        if (kind, key) in named:
            words.update(word for part in re.split(rb'[/@=,:\0]', text) for word in (part, part.rpartition(b'.')[0]))
    return {word for word in words if len(word) > 4 and not KEPT.fullmatch(word.decode('latin-1'))}


def shape(value, key=None):
    """A value of JSON with texts and other numbers left out, and lists in an order that does not depend on them."""
    if isinstance(value, dict):
        return {k: shape(v, k) for k, v in value.items() if k != 'port'}
    if isinstance(value, list):
        return sorted((shape(v, key) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
    return 'text' if isinstance(value, str) else 'other' if value is not None and key in OTHER else value


def difference(one, other, where=''):
    """The first place where two shapes differ, or None."""
    if type(one) is type(other) and isinstance(one, dict) and one.keys() == other.keys():
        return next(filter(None, (difference(one[key], other[key], f'{where}.{key}') for key in one)), None)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return next(filter(None, (difference(*pair, f'{where}[]') for pair in zip(one, other))), None)
    return None if one == other else f'{where}: {str(one)[:200]} and {str(other)[:200]}'


class MoreLogs(Logs):
    @classmethod
    def secret(cls):
        return cls.record('secret', sys.executable, '-I', '-S', '-c', PROGRAM, SECRET, '--password', SECRET + '5')

    @classmethod
    def sites(cls):
        return cls.record('sites', sys.executable, '-I', '-S', '-c', PROGRAM, options=('--callsites',))

    @classmethod
    def counted(cls):
        return cls.record('counted', sys.executable, '-I', '-S', '-c', PROGRAM, options=('--no-trace', '--file-cap', '3'))

    @classmethod
    def tar(cls):
        return cls.record('tar', 'tar', 'cf', 'all.tar', os.path.dirname(os.path.abspath(__file__)))

    @classmethod
    def database(cls):
        return cls.record('database', sys.executable, '-I', '-c', 'import sqlite3\nd = sqlite3.connect("people.db")\n'
                          'd.execute("create table t (a)")\n'
                          'for i in range(50): d.execute("insert into t values (?)", (i,)); d.commit()\n')

    @classmethod
    def reduced(cls):
        """Of an MPI job without `record`: its ranks add up their counters."""
        program, folder = os.path.join(harness.BUILD, 'examples', 'madbench-mpich'), os.path.join(cls.folder, 'site')
        if not shutil.which('mpiexec.mpich') or not os.path.exists(program):
            raise unittest.SkipTest('mpich is not here')
        os.mkdir(folder)
        shell = harness.ioseer('env', '--log-dir', folder).stdout.decode()
        done = harness.run('sh', '-c', shell + f'\nexec mpiexec.mpich -n 4 {program}', cwd=folder)
        assert done.returncode == 0, done
        logs = glob.glob(os.path.join(folder, '**', '*.ioseer'), recursive=True)
        return max(logs, key=os.path.getsize)


class AnonymousTest(exports.ExportTest):
    def anonymous(self, log, *options, form='ioseer', name='anonymous.ioseer'):
        return self.export(log, form, name, '--anonymous', *options)

    def check_names(self, log, made):
        data = payloads(made)
        for word in words_of(log):
            at = data.find(word)
            self.assertEqual(at, -1, f'{log}: {word!r} is in {data[max(at - 60, 0):at + 60]!r}')

    def check_numbers(self, log, made, has_ties=False):
        """Of processes that fit together in several ways, the order of names decides; then phases may differ."""
        verbs = [('info',), ('stats',), ('stats', '--per-rank'), ('dump',)]
        for words in verbs if has_ties else [*verbs, ('phases',)]:
            said, again = (self.json(*words, '--json', path) for path in (log, made))
            different = difference(shape(said), shape(again))
            self.assertIsNone(different, f'{words}: {different}')

    def check(self, name, make):
        try:
            log = make()
        except unittest.SkipTest as reason:
            self.skipTest(str(reason))
        with self.subTest(name):
            made = self.anonymous(log, '--force')
            self.check_names(log, made)
            self.check_numbers(log, made, has_ties=name == 'plain')
            self.json('report', '--json', made)
            os.remove(made)

    def test_programs(self):
        for name in ('secret', 'sites', 'counted', 'tar', 'database', 'plain', 'hdf5', 'overlapping'):
            self.check(name, lambda name=name: MoreLogs.find(name))

    def test_examples(self):
        for example in EXAMPLES:
            for mpi in MPIS:
                if os.path.exists(os.path.join(harness.BUILD, 'examples', f'{example}-{mpi}')):
                    self.check(f'{example}-{mpi}', lambda e=example, m=mpi: MoreLogs.example(e, m))

    def test_reduced(self):
        self.check('reduced', MoreLogs.reduced)

    def test_stack(self):
        self.check('stack', lambda: MoreLogs.on_stack('plain', 'python', sys.executable, '-c', exports.logs.ON_STACK))

    def test_darshan(self):
        """What Darshan's tools print has no names, either."""
        log = MoreLogs.find('secret')
        made = self.anonymous(log, form='darshan', name='made.darshan')
        printed = self.expect(0, 'stats', '--darshan', made).stdout
        self.assertIn(b'POSIX_BYTES_WRITTEN', printed)
        for word in (SECRET, 'ioseer-test', 'password', os.path.basename(log)):
            self.assertNotIn(word.encode(), printed)
        again = self.anonymous(made, form='darshan', name='again.darshan')
        self.assertEqual(len(self.expect(0, 'stats', '--darshan', again).stdout.split(b'\n')), len(printed.split(b'\n')))

    def test_other_formats(self):
        log = MoreLogs.find('secret')
        for form in ('csv', 'perfetto', 'sqlite', 'otf2'):
            with self.subTest(form):
                options = ('--all',) if form == 'csv' else ()
                made = self.anonymous(log, *options, form=form, name='made.' + form)
                files = [made] if os.path.isfile(made) else glob.glob(os.path.join(made, '**'), recursive=True)
                data = b''.join(open(path, 'rb').read() for path in files if os.path.isfile(path))
                host = self.json('info', '--json', log)['job']['host']
                for word in (SECRET, *[host][:len(host) > 4], 'ioseer-test', 'password', os.path.basename(log)):
                    at = data.find(word.encode())
                    self.assertEqual(at, -1, f'{word} is in {data[max(at - 60, 0):at + 60]!r}')
        with sqlite3.connect(self.path('made.sqlite')) as database:
            whole = self.export(log, 'sqlite', 'whole.sqlite')
            for table, column in (('files', 'bytes_written'), ('events', 'size')):
                with sqlite3.connect(whole) as other:
                    ask = f'SELECT sum({column}), count(*) FROM {table}'
                    self.assertEqual(database.execute(ask).fetchall(), other.execute(ask).fetchall())

    def test_structure(self):
        log = MoreLogs.find('secret')
        made = self.anonymous(log)
        names, old = ({r['file'] for r in self.json('stats', '--json', path)['records']} for path in (made, log))
        self.assertEqual(sorted(n.count('/') for n in names), sorted(n.count('/') for n in old))
        numbered = sorted(n for n in names if re.search(r'/[a-z]{12}-7/[a-z]{12}-\d{4}\.h5$', n))
        self.assertEqual([n[-7:] for n in numbered], [f'000{i}.h5'[-7:] for i in range(len(numbered))])
        self.assertGreaterEqual(len(numbered), 5)
        self.assertEqual(len({n[:-7] for n in numbered}), 1)
        of, again = (self.json('model', path)['structure'] for path in (log, made))
        self.assertEqual(shape(of).keys(), shape(again).keys())

    def test_key(self):
        log, key = MoreLogs.find('secret'), self.path('key')
        first = payloads(self.anonymous(log, '--key', key, name='1.ioseer'))
        self.assertEqual(stat.S_IMODE(os.stat(key).st_mode), 0o600)
        self.assertEqual(payloads(self.anonymous(log, '--key', key, name='2.ioseer')), first)
        self.assertNotEqual(payloads(self.anonymous(log, name='3.ioseer')), first)
        files = [{r['file'] for r in self.json('stats', '--json', self.anonymous(MoreLogs.find(name), '--key', key, '--force'))
                  ['records']} for name in ('secret', 'sites')]
        parts = [{name.split('/')[-1] for name in names if re.search(r'-\d{4}\.h5$', name)} for names in files]
        self.assertGreater(len(parts[0]), 4)
        self.assertEqual(parts[0], parts[1])
        self.assertNotEqual(files[0], files[1])
        os.chmod(key, 0o644)
        line = self.expect_error(1, 'export', log, '--format', 'ioseer', '--anonymous', '--key', key, '-o', self.path('4'))
        self.assertIn('chmod 600', line)
        with open(self.path('bad'), 'w', encoding='utf-8', opener=lambda p, f: os.open(p, f, 0o600)) as out:
            out.write('no key\n')
        self.expect_error(1, 'export', log, '--format', 'ioseer', '--anonymous', '--key', self.path('bad'), '-o', self.path('4'))
        self.assertFalse(os.path.exists(self.path('4')))

    def test_moments(self):
        log = MoreLogs.find('secret')
        made = self.json('info', '--json', self.anonymous(log))['job']
        of = self.json('info', '--json', log)['job']
        self.assertEqual(made['start'] % 86400, 0)
        self.assertEqual(made['start'] // 86400, of['start'] // 86400)
        self.assertAlmostEqual(made['end'] - made['start'], of['end'] - of['start'], 6)

    def test_again(self):
        """A log without names has nothing more to lose."""
        made = self.anonymous(MoreLogs.find('secret'), name='1.ioseer')
        self.check_numbers(made, self.anonymous(made, name='2.ioseer'))

    def test_damaged(self):
        log = MoreLogs.find('secret')
        with open(log, 'rb') as file:
            data = file.read()
        for size in (len(data) * 2 // 3, len(data) - 40, 64):
            with open(self.path('damaged.ioseer'), 'wb') as out:
                out.write(data[:size])
            made = self.anonymous(self.path('damaged.ioseer'), '-q', '--force')
            self.check_names(log, made)
            self.assertEqual(self.json('dump', '--json', '-q', made) != [], self.json('dump', '--json', '-q', self.path('damaged.ioseer')) != [])

    def test_usage(self):
        log = MoreLogs.find('secret')
        self.expect_error(2, 'export', log, '--format', 'ioseer', '-o', self.path('x'))
        self.expect_error(2, 'export', log, '--format', 'csv', '--key', 'k')
        self.expect_error(2, 'export', log, '--format', 'ioseer', '--anonymous')
        made = self.anonymous(log)
        self.expect_error(1, 'export', log, '--format', 'ioseer', '--anonymous', '-o', made)
        self.expect(0, 'export', log, '--format', 'ioseer', '--anonymous', '--force', '-o', made)
        self.assertEqual(os.listdir(self.folder), ['anonymous.ioseer'])


if __name__ == '__main__':
    harness.main()
