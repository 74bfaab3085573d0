"""Statements that try to do more than read the log, and names that try to do more than name a file."""
import csv
import io
import os
import subprocess
import time

import logs
from logs import Logs, harness

FORBIDDEN = [
    "CREATE TABLE t(x)", "CREATE VIEW v AS SELECT 1", "CREATE TEMP TABLE t AS SELECT 1", "CREATE VIRTUAL TABLE t USING fts5(x)",
    "INSERT INTO events(id) VALUES (1)", "UPDATE events SET id = 1", "DELETE FROM events", "DROP TABLE events",
    "ATTACH '{folder}/made' AS a", "DETACH main", "VACUUM INTO '{folder}/made'", "PRAGMA writable_schema = 1",
    "PRAGMA database_list", "SELECT * FROM pragma_database_list", "SELECT * FROM pragma_function_list", "SELECT load_extension('{folder}/x.so')",
    "SELECT * FROM sqlite_master", "SELECT * FROM sqlite_schema", "INSERT INTO sqlite_master VALUES (1, 2, 3, 4, 5)",
    "SELECT readfile('/etc/passwd')", "SELECT writefile('{folder}/made', 'x')", "SELECT edit('x')", "SELECT fts3_tokenizer('simple')",
    "SELECT * FROM fsdir('/')", "SELECT * FROM dbstat", "SELECT * FROM sqlite_dbpage", "SELECT * FROM bytecode('SELECT 1')",
    "BEGIN", "COMMIT", "SAVEPOINT s", "ANALYZE", "REINDEX", "EXPLAIN INSERT INTO events(id) VALUES (1)",
    "SELECT 1; SELECT 2", "SELECT 1; DROP TABLE events", "SELECT 1; garbage",
]

ENDLESS = [
    'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n',
    'SELECT count(*) FROM events a, events b, events c, events d',
    "SELECT count(*) FROM events a, events b, events c WHERE a.op || b.op LIKE '%x%y%z%' || c.op",
    'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT * FROM events WHERE start < (SELECT count(*) FROM n)',
]

HUGE = [
    'SELECT zeroblob(1000000000)', 'SELECT randomblob(2000000000)', "SELECT hex(zeroblob(10000000))",
    "SELECT replace(hex(zeroblob(8000000)), '0', 'xxxxxxxxxxxxxxxx')",
    "WITH RECURSIVE n(t) AS (VALUES ('x') UNION ALL SELECT t || t FROM n) SELECT length(t) FROM n",
    'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 10000000) SELECT group_concat(i) FROM n',
    'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT json_group_array(hex(zeroblob(500000))) FROM n',
]


class Statements(logs.QueryTest):
    def test_nothing_but_reading(self):
        for statement in FORBIDDEN:
            with self.subTest(statement=statement):
                self.expect_error(2, 'query', Logs.find('plain'), '--sql', statement.format(folder=self.folder), cwd=self.folder)
        self.assertEqual(os.listdir(self.folder), [])

    def test_endless_statements_end_in_time(self):
        for statement in ENDLESS:
            with self.subTest(statement=statement):
                begun = time.monotonic()
                line = self.expect_error(1, 'query', Logs.find('plain'), '--limit', '500ms', '--sql', statement)
                self.assertIn('longer than 0.5 s', line)
                self.assertLess(time.monotonic() - begun, 30)

    def test_statements_of_long_steps_end_in_time(self):
        """Each row takes a tenth of a second: after many rows, the limit would have passed long ago."""
        begun = os.times()
        self.expect_error(1, 'query', Logs.find('plain'), '--limit', '500ms', '--sql',
                          'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT sum(length(randomblob(15000000))) FROM n')
        self.assertLess(os.times().children_user - begun.children_user, 20)

    def test_a_pass_over_the_events_ends_too(self):
        for table in ('files', 'phases', 'servers', 'events'):
            line = self.expect_error(1, 'query', Logs.find('plain'), '--limit', '1us', '--sql', f'SELECT count(*) FROM {table}')
            self.assertIn('longer than 1e-06 s', line)

    def test_huge_values_are_refused(self):
        for statement in HUGE:
            with self.subTest(statement=statement):
                # Address space, so that a statement that takes all memory fails here, and not the machine.
                done = harness.run('sh', '-c', 'ulimit -v 2000000; exec "$@"', 'sh', harness.IOSEER, 'query', Logs.find('plain'),
                                   '--limit', '60s', '--sql', statement)
                self.assertEqual(done.returncode, 1, done)
                self.assertRegex(done.stderr, rb'too big|more memory')

    def test_deep_and_long_statements(self):
        log = Logs.find('plain')
        for statement in ('SELECT ' + '(' * 5000 + '1' + ')' * 5000, 'SELECT ' + '-' * 3 + '+'.join(['1'] * 5000),
                          ' UNION ALL '.join(['SELECT 1'] * 5000), 'SELECT ' + ','.join(['1'] * 5000),
                          'SELECT max(' + ','.join(['1'] * 500) + ')'):
            self.expect_error(2, 'query', log, '--sql', statement)

    def test_interrupted_by_a_signal(self):
        program = subprocess.Popen([harness.IOSEER, 'query', Logs.find('plain'), '--sql', ENDLESS[0]],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        program.send_signal(2)
        self.assertEqual(program.wait(30), -2)

    def test_statements_that_are_no_utf8_or_have_control_characters(self):
        log = Logs.find('plain')
        for statement in (b'SELECT \xff', b'SELECT \x1b[31m', b'SELECT "\x1b[31m"', b"SELECT 'a\nb\x1b' FROM nowhere\x07"):
            done = harness.ioseer('query', log, '--sql', statement)
            self.assertEqual(done.returncode, 2)
            self.assertNotIn(b'\x1b', done.stderr)
            self.assertNotIn(b'\x07', done.stderr)
            self.assertEqual(done.stderr.count(b'\n'), 1)


class Names(logs.QueryTest):
    """The log of logs.PROGRAM has names with line breaks, quotes, escapes, commas and formulas."""
    STATEMENT = "SELECT DISTINCT file FROM events WHERE class = 'write' ORDER BY file"

    def names(self):
        return sorted({event['file'] for event in self.json('dump', '--json', Logs.find('plain')) if event['class'] == 'write'},
                      key=lambda name: name.encode('utf-8', 'surrogateescape'))

    def test_text_has_no_control_characters(self):
        done = self.expect(0, 'query', Logs.find('plain'), '--sql', self.STATEMENT).stdout
        self.assertNotIn(b'\x1b', done)
        self.assertIn(b'line\\nbreak', done)
        self.assertEqual(done.count(b'\n'), len(self.names()) + 1)
        header = self.expect(0, 'query', Logs.find('plain'), '--sql', 'SELECT 1 AS "a\n\x1b[31m"').stdout
        self.assertEqual(header.count(b'\n'), 2)
        self.assertNotIn(b'\x1b', header)

    def test_csv_and_json_keep_every_byte(self):
        made = self.expect(0, 'query', Logs.find('plain'), '--csv', '--sql', self.STATEMENT).stdout
        rows = list(csv.reader(io.StringIO(made.decode('utf-8', 'surrogateescape'), newline='')))
        self.assertEqual([row[0] for row in rows[1:]], self.names())
        self.assertTrue(all(len(row) == 1 for row in rows))
        self.assertEqual([row[0] for row in self.sql(Logs.find('plain'), self.STATEMENT)], self.names())

    def test_csv_has_no_formulas(self):
        """Spreadsheets compute a cell that begins like one, also if it is in quotes."""
        made = self.expect(0, 'query', Logs.find('plain'), '--csv', '--sql',
                           "SELECT '=cmd()', '+1', '-1', '@a', char(9) || '=b', char(13) || '=c', -1, '', NULL, 'a' AS \"=x\"").stdout
        self.assertTrue(made.endswith(b'\r\n"\'=cmd()","\'+1","\'-1","\'@a","\'\t=b","\'\r=c",-1,"",,a\r\n'), made)
        self.assertIn(b',"\'=x"\r\n', made)

    def on_terminal(self, statement):
        primary, terminal = os.openpty()
        self.expect(0, 'query', Logs.find('plain'), '--csv', '--sql', statement, stdout=terminal)
        os.close(terminal)
        seen = b''
        try:
            while part := os.read(primary, 65536):
                seen += part
        except OSError:
            pass
        os.close(primary)
        return seen

    def test_a_terminal_gets_escapes_in_csv_too(self):
        seen = self.on_terminal(self.STATEMENT)
        self.assertNotIn(b'\x1b', seen)
        self.assertIn(b'\\x1b[31mred', seen)
        # U+009B is an escape, too; the same byte inside of other characters is not.
        seen = self.on_terminal("SELECT 'Ü ä 日本' AS a, char(155) || 'x' AS b")
        self.assertIn('Ü ä 日本,\\xc2\\x9bx'.encode(), seen)


harness.main()
