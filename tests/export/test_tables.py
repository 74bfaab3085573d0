"""Tables as CSV and as SQLite files: the same rows as in the log, whole files or none, whatever happens."""
import csv
import os
import resource
import signal
import sqlite3
import subprocess
import time

import exports
from exports import BIG_EVENTS, Logs, harness

SPACE_BYTES = 1 << 20  # less than an export of the big log


def cell(value):
    """A value of JSON as CSV has it."""
    return '' if value is None else repr(value) if isinstance(value, float) else str(value)


class Tables(exports.ExportTest):
    def descriptions(self):
        return {table['name']: table['columns'] for table in self.json('query', '--tables', '--json')['tables']}

    def rows(self, log, table):
        answer = self.json('query', log, '--json', '--sql', f'SELECT * FROM {table}')
        return answer['rows']

    @staticmethod
    def read_csv(path):
        with open(path, encoding='utf-8', errors='surrogateescape', newline='') as file:
            return list(csv.reader(file))

    def test_csv_has_the_events(self):
        for log in self.each_log():
            header, *rows = self.read_csv(self.export(log, 'csv', 'events.csv', '--force'))
            events = self.events(log)
            self.assertGreater(len(events), 10)
            self.assertEqual(header, [column['name'] for column in self.descriptions()['events']])
            for name in ('id', 'parent', 'rank', 'pid', 'op', 'file', 'offset', 'size', 'result', 'errno'):
                place = header.index(name)
                self.assertEqual([row[place] for row in rows], [cell(event[name]) for event in events])

    def test_csv_of_each_table(self):
        for log in self.each_log():
            folder = self.export(log, 'csv', f'all-{os.path.basename(log)}', '--all')
            self.assertEqual(sorted(os.listdir(folder)), sorted(f'{table}.csv' for table in self.descriptions()))
            for table in self.descriptions():
                header, *rows = self.read_csv(os.path.join(folder, table + '.csv'))
                self.assertEqual(len(rows), len(self.rows(log, table)), table)
                alone = self.expect(0, 'export', log, '--format', 'csv', '--table', table, '-o', '-').stdout
                with open(os.path.join(folder, table + '.csv'), 'rb') as file:
                    self.assertEqual(file.read(), alone)

    def test_sqlite_has_every_table(self):
        for log in self.each_log():
            database = sqlite3.connect(self.export(log, 'sqlite', 'log.db', '--force'))
            self.assertEqual(database.execute('PRAGMA integrity_check').fetchall(), [('ok',)])
            for table, columns in self.descriptions().items():
                about = database.execute(f'PRAGMA table_info({table})').fetchall()
                self.assertEqual([row[1:3] for row in about], [(column['name'], column['type']) for column in columns])
                self.assertEqual(database.execute('SELECT name, type, meaning FROM columns WHERE "table" = ?', [table])
                                 .fetchall(), [tuple(column.values()) for column in columns])
                count, = database.execute(f'SELECT count(*) FROM {table}').fetchone()
                self.assertEqual(count, len(self.rows(log, table)), table)
            database.close()

    def test_sqlite_has_the_events(self):
        for log in self.each_log():
            database = sqlite3.connect(self.export(log, 'sqlite', 'log.db', '--force'))
            events = self.events(log)
            names = ('id', 'parent', 'rank', 'pid', 'layer', 'op', 'offset', 'size', 'result', 'errno', 'start', 'duration')
            self.assertEqual(database.execute(f'SELECT {", ".join(names)} FROM events').fetchall(),
                             [tuple(event[name] for name in names) for event in events])
            files = [name for name, in database.execute('SELECT file FROM events')]
            escaped = [event['file'] and event['file'].encode('utf-8', 'surrogateescape').decode('utf-8', 'backslashreplace')
                       for event in events]
            self.assertEqual(files, escaped)
            plan = database.execute('EXPLAIN QUERY PLAN SELECT * FROM events WHERE parent = 7').fetchall()
            self.assertIn('USING INDEX events_parent', plan[0][3])
            database.close()

    def test_spill_directory(self):
        log = self.record('sh', '-c', 'echo text >made', options=('--keep-spill',), cwd=self.folder)
        spills, = [name for name in os.listdir(self.folder) if os.path.isdir(self.path(name))]
        header, *rows = self.read_csv(self.export(self.path(spills), 'csv', 'spills.csv'))
        self.assertEqual(len(rows), len(self.events(log)))

    def test_damaged_log(self):
        log = self.damaged(Logs.find('big'))
        done = self.expect(0, 'export', log, '--format', 'sqlite', '-o', self.path('log.db'))
        self.assertIn(b'not all of it could be read', done.stderr)
        count, = sqlite3.connect(self.path('log.db')).execute('SELECT count(*) FROM events').fetchone()
        self.assertEqual(count, len(self.events(log)))
        self.assertTrue(0 < count < BIG_EVENTS, count)


class Places(exports.ExportTest):
    def make(self, name):
        with open(self.path(name), 'w', encoding='utf-8') as file:
            file.write('precious')

    def assert_untouched(self, name):
        self.assertEqual(os.listdir(self.folder), [name])
        with open(self.path(name), encoding='utf-8') as file:
            self.assertEqual(file.read(), 'precious')

    def test_files_are_not_overwritten(self):
        self.make('there')
        for form in ('csv', 'sqlite'):
            self.assertIn('--force', self.expect_error(1, 'export', Logs.find('plain'), '--format', form, '-o',
                                                       self.path('there')))
            self.assert_untouched('there')
        self.expect_error(2, 'export', Logs.find('plain'), '--format', 'csv', '--all', '--force', '-o', self.path('there'))
        self.assert_untouched('there')
        self.export(Logs.find('plain'), 'sqlite', 'there', '--force')
        self.assertEqual(sqlite3.connect(self.path('there')).execute('PRAGMA integrity_check').fetchall(), [('ok',)])

    def test_folders_are_never_overwritten(self):
        for form in (['csv'], ['sqlite'], ['csv', '--all']):
            self.expect_error(2, 'export', Logs.find('plain'), '--force', '-o', self.folder, '--format', *form)
        self.assertEqual(os.listdir(self.folder), [])

    def test_no_room(self):
        for form in (['csv'], ['sqlite'], ['csv', '--all']):
            self.expect_error(1, 'export', Logs.find('big'), '-o', self.path('x'), '--format', *form, preexec_fn=lambda:
                              resource.setrlimit(resource.RLIMIT_FSIZE, (SPACE_BYTES, SPACE_BYTES)))
            self.assertEqual(os.listdir(self.folder), [])
        self.assertIn('No space', self.expect_error(1, 'export', Logs.find('big'), '--format', 'csv', '-o', '/dev/full'))

    def test_full_disk(self):
        mounted = harness.run('mount', '-t', 'tmpfs', '-o', f'size={SPACE_BYTES}', 'none', self.folder)
        if mounted.returncode:
            self.skipTest('only root can mount a small file system')
        try:
            for form in (['csv'], ['sqlite'], ['csv', '--all']):
                line = self.expect_error(1, 'export', Logs.find('big'), '-o', self.path('x'), '--format', *form)
                self.assertIn('No space', line)
                self.assertEqual(os.listdir(self.folder), [])
        finally:
            harness.run('umount', self.folder)

    def test_interrupted(self):
        for form in (['csv'], ['sqlite'], ['csv', '--all']):
            with self.subTest(form=form):
                export = subprocess.Popen([harness.IOSEER, 'export', Logs.find('big'), '-o', self.path('x'), '--format', *form])
                until = time.monotonic() + 60
                while not os.listdir(self.folder) and time.monotonic() < until:
                    time.sleep(0.001)
                export.send_signal(signal.SIGINT)
                self.assertEqual(export.wait(60), 128 + signal.SIGINT)
                self.assertEqual(os.listdir(self.folder), [])

    def test_reader_that_goes_away(self):
        done = harness.run('sh', '-c', f'"{harness.IOSEER}" export "{Logs.find("big")}" --format csv | head -n 2')
        self.assertEqual(done.stdout.count(b'\n'), 2)
        self.assertEqual(done.stderr, b'')

    def test_usage(self):
        log = Logs.find('plain')
        for words in ([log], [log, '--format', 'xls'], ['--format', 'csv'], [log, log, '--format', 'csv'],
                      [log, '--format', 'sqlite'], [log, '--format', 'sqlite', '-o', '-'], [log, '--format', 'csv', '--all'],
                      [log, '--format', 'sqlite', '--all', '-o', self.path('x')],
                      [log, '--format', 'sqlite', '--table', 'files', '-o', self.path('x')],
                      [log, '--format', 'csv', '--table', 'nothing'], [log, '--format', 'csv', '-o', log, '--force'],
                      [log, '--format', 'sqlite', '-o', log, '--force'], [log, '--format', 'sqlite', '-o', '/dev/null'],
                      [log, '--format', 'csv', '--table', 'files', '--all', '-o', self.path('x')]):
            with self.subTest(words=words):
                self.expect_error(2, 'export', *words)
        self.expect_error(1, 'export', self.path('missing'), '--format', 'csv')
        self.expect_error(1, 'export', log, '--format', 'sqlite', '-o', self.path('no/folder'))
        self.assertEqual(os.listdir(self.folder), [])


harness.main()
