"""Statements that are typed at the prompt, in a real terminal, and those that come through a pipe."""
import json
import os
import select
import subprocess
import time

import logs
from logs import Logs, harness

PATIENCE_SECONDS = 30
ENDLESS = 'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;'


class Terminal:
    """`ioseer query` in a terminal of its own."""

    def __init__(self, *words, **variables):
        environment = {**os.environ, 'TERM': 'dumb', **variables}
        self.primary, secondary = os.openpty()
        self.seen = ''
        self.program = subprocess.Popen([harness.IOSEER, 'query', *words], stdin=secondary, stdout=secondary, stderr=secondary,
                                        env=environment, start_new_session=True, preexec_fn=lambda: self.own(secondary))
        os.close(secondary)

    @staticmethod
    def own(terminal):
        """Makes it the terminal whose Ctrl-C reaches the program."""
        import fcntl
        import termios
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    def type(self, text):
        os.write(self.primary, text.encode())

    def read_until(self, text, again=None):
        """What appears up to the text; it must appear. `again` is typed every second: a key that is pressed between two
        lines, when nobody reads, may have no effect."""
        end = time.monotonic() + PATIENCE_SECONDS
        while text not in self.seen:
            ready, _, _ = select.select([self.primary], [], [], 1 if again else max(0, end - time.monotonic()))
            if again and not ready and time.monotonic() < end:
                self.type(again)
                continue
            part = b''
            if ready:
                try:
                    part = os.read(self.primary, 65536)
                except OSError:
                    pass
            if not part:
                raise AssertionError(f'{text!r} did not appear: {self.seen!r}')
            self.seen += part.decode('utf-8', 'replace').replace('\r', '')
        before, _, self.seen = self.seen.partition(text)
        return before

    def end(self):
        """Ctrl-D at the next prompt; the exit status."""
        self.read_until('ioseer> ')
        self.type('\x04')
        end = time.monotonic() + PATIENCE_SECONDS
        while self.program.poll() is None and time.monotonic() < end:
            time.sleep(1)
            if self.program.poll() is None:
                self.type('\x04')
        status = self.program.wait(PATIENCE_SECONDS)
        os.close(self.primary)
        return status


class Prompt(logs.QueryTest):
    def setUp(self):
        super().setUp()
        self.log = Logs.find('plain')

    def open(self, *words, **variables):
        terminal = Terminal(self.log, *words, **{'XDG_STATE_HOME': self.path('state'), **variables})
        self.addCleanup(lambda: terminal.program.poll() is None and terminal.program.kill())
        terminal.read_until('ioseer> ')
        return terminal

    def test_statements_and_errors(self):
        terminal = self.open()
        terminal.type("SELECT 40 + 2 AS answer;\n")
        terminal.read_until('answer\n    42')
        terminal.read_until('ioseer> ')
        terminal.type('SELECT nothing_of_the_kind;\n')
        terminal.read_until('no such column: nothing_of_the_kind')
        terminal.read_until('ioseer> ')
        terminal.type('SELECT\n')
        terminal.read_until('...> ')
        terminal.type('7 * 6 AS later;\n')
        terminal.read_until('later\n   42')
        self.assertEqual(terminal.end(), 0)

    def test_commands(self):
        terminal = self.open()
        terminal.type('.tables\n')
        self.assertIn('processes', terminal.read_until('devices'))
        terminal.type('.schema files\n')
        self.assertIn('"bytes_read" INTEGER, -- bytes', terminal.read_until(');'))
        terminal.type('.help\n')
        terminal.read_until('.schema [TABLE]')
        terminal.type('.nothing\n')
        terminal.read_until('no such command')
        terminal.type('.schema nothing\n')
        terminal.read_until('no such table')
        terminal.type('.quit\n')
        self.assertEqual(terminal.program.wait(PATIENCE_SECONDS), 0)

    def test_interrupting_ends_the_statement_only(self):
        terminal = self.open()
        terminal.type(ENDLESS + '\n')
        time.sleep(0.5)
        terminal.type('\x03')
        terminal.read_until('interrupted')
        terminal.read_until('ioseer> ')
        terminal.type('SELECT half_typed\n')
        terminal.read_until('...> ')
        terminal.type('\x03')
        terminal.read_until('ioseer> ', again='\x03')
        terminal.type("SELECT 'still ' || 'here';\n")
        terminal.read_until('\nstill here')
        self.assertEqual(terminal.end(), 0)

    def test_a_second_interrupt_ends_the_program(self):
        """Nothing can end a statement while it is inside of a function."""
        terminal = self.open()
        terminal.type("SELECT instr(zeroblob(16000000), zeroblob(8000000) || x'01');\n")
        end = time.monotonic() + PATIENCE_SECONDS
        while terminal.program.poll() is None and time.monotonic() < end:
            time.sleep(0.5)
            terminal.type('\x03')
        self.assertEqual(terminal.program.poll(), -2)

    def test_history_lasts(self):
        terminal = self.open()
        terminal.type("SELECT 'remem' || 'bered';\n")
        terminal.read_until('\nremembered')
        self.assertEqual(terminal.end(), 0)
        path = self.path('state/ioseer/query_history')
        if not os.path.exists(path):
            self.skipTest('built without libedit')
        self.assertEqual(os.stat(path).st_mode & 0o77, 0)
        terminal = self.open()
        terminal.type('\x10\n')  # Ctrl-P: the line before
        terminal.read_until('\nremembered')
        self.assertEqual(terminal.end(), 0)

    def test_a_home_that_cannot_be_written(self):
        terminal = self.open(XDG_STATE_HOME='/proc/nowhere', HOME='/proc/nowhere')
        terminal.type('SELECT 6 * 7;\n')
        terminal.read_until('\n   42')
        self.assertEqual(terminal.end(), 0)

    def test_a_pipe(self):
        done = self.expect(0, 'query', self.log, input=b'SELECT 1 AS a; SELECT 2\n AS b;\n-- nothing\n;;/* nor\nhere */;\nSELECT 3 AS c', stdin=None)
        self.assertEqual(done.stdout, b'a\n1\n\nb\n2\n\nc\n3\n')
        done = self.expect(0, 'query', self.log, '--json', input=b'SELECT 1 AS a; SELECT 2 AS b;', stdin=None)
        decoder, text, found = json.JSONDecoder(), done.stdout.decode(), []
        while text.strip():
            value, end = decoder.raw_decode(text.lstrip())
            found.append(value)
            text = text.lstrip()[end:]
        self.assertEqual(found, [{'columns': ['a'], 'rows': [[1]]}, {'columns': ['b'], 'rows': [[2]]}])
        self.assertEqual(self.expect(0, 'query', self.log).stdout, b'')

    def test_a_pipe_ends_at_the_first_error(self):
        done = self.expect(2, 'query', self.log, input=b"SELECT 1 AS a; SELECT x; SELECT 3 AS c;", stdin=None)
        self.assertEqual(done.stdout.strip(), b'a\n1')
        self.assertEqual(done.stderr.count(b'\n'), 1)

    def test_semicolons_in_texts(self):
        done = self.expect(0, 'query', self.log, input=b"SELECT ';' AS a, \"b;\" FROM (SELECT 2 AS \"b;\"); SELECT 3 AS c /* ; */;", stdin=None)
        self.assertEqual(done.stdout, b'a  b;\n;   2\n\nc\n3\n')


harness.main()
