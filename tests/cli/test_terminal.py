"""What a terminal gets: colour, tables that fit, a pager. With real pseudo-terminals."""
import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import time
import unicodedata

import harness

SECONDS = 60
NAME = 'a folder/with-a-name-that-is-rather-long/日本語/größe/' + 'of-files/' * 6 + 'number-{:03}.data'
PROGRAM = """
import os, sys
for i in range(60):
    name = sys.argv[1].format(i)
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, 'wb') as file:
        file.write(b'x' * (1000 + i))
"""


class Terminal:
    def __init__(self, words, program=harness.IOSEER, columns=80, lines=24, stderr=None, **variables):
        self.main, self.side = pty.openpty()
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack('HHHH', lines, columns, 0, 0))
        self.before = termios.tcgetattr(self.side)
        without = {name: value for name, value in os.environ.items()
                   if name not in ('NO_COLOR', 'PAGER', 'IOSEER_PAGER', 'LESS', 'COLUMNS', 'LINES')}
        self.process = subprocess.Popen(
            [program, *words], stdin=self.side, stdout=self.side, stderr=stderr or self.side, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**without, 'TERM': 'xterm', 'LC_ALL': 'C.UTF-8', 'IOSEER_PAGER': '', **variables})
        self.text = b''

    def read(self, seconds):
        while select.select([self.main], [], [], seconds)[0]:
            self.text += os.read(self.main, 65536)

    def type(self, keys):
        os.write(self.main, keys)

    def wait_for(self, pattern):
        """Reads until the pattern appears after what was read before."""
        end, start = time.monotonic() + SECONDS, len(self.text)
        while not re.search(pattern, self.text[start:]):
            assert time.monotonic() < end, self.text[-500:]
            self.read(0.05)

    def end(self):
        """The exit status and all text."""
        end = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.02)
        self.read(0.05)
        if self.process.poll() is None:
            self.process.kill()
        self.is_as_before = termios.tcgetattr(self.side) == self.before
        os.close(self.main)
        os.close(self.side)
        return self.process.wait(), self.text.decode().replace('\r\n', '\n')


def plain(text):
    return re.sub(r'\x1b\[[0-9;]*m', '', text)


def columns_of(line):
    """An independent implementation of base/utf8.c."""
    wide = sum(unicodedata.east_asian_width(letter) in 'WF' for letter in line)
    return len(line) + wide - sum(unicodedata.combining(letter) > 0 for letter in line)


class TerminalTest(harness.CommandLineTest):
    @classmethod
    def setUpClass(cls):
        case = harness.CommandLineTest()
        case.setUp()
        cls.addClassCleanup(case.doCleanups)
        cls.log = case.record_python(PROGRAM, os.path.join(case.folder, NAME))
        cls.last_name = os.path.join(case.folder, NAME.format(59))

    def show(self, *words, status=0, **more):
        """What the terminal shows."""
        found, text = Terminal(words, **more).end()
        self.assertEqual(found, status, text[-1000:])
        return text


class Widths(TerminalTest):
    def test_tables_fit(self):
        query = ('query', self.log, '--sql', 'SELECT op, file, start FROM events')
        for verb, widths in ((('info', self.log), (60, 80, 200)), (query, (60, 80, 200)), (('stats', self.log), (100, 200))):
            for columns in widths:
                with self.subTest(verb=verb[0], columns=columns):
                    lines = plain(self.show(*verb, columns=columns)).split('\n')
                    named = [line for line in lines if '.data' in line and '{:03}' not in line]
                    self.assertTrue(named)
                    self.assertLessEqual(max(map(columns_of, named)), columns, max(named, key=columns_of))
                    if columns == 60:
                        self.assertTrue(all('…' in line for line in named), named[0])

    def test_the_middle_is_missing(self):
        line = [line for line in plain(self.show('info', self.log)).split('\n') if 'number-059.data' in line][-1]
        begin, end = line.split('  ')[-1].split('…')
        self.assertTrue(self.last_name.startswith(begin) and self.last_name.endswith(end), line)
        self.assertEqual(columns_of(line), 80)

    def test_nothing_is_cut_elsewhere(self):
        self.show('info', self.log, '-o', self.path('file'))
        with open(self.path('file'), encoding='utf-8') as made:
            whole = made.read()
        self.assertEqual(whole, self.expect(0, 'info', self.log).stdout.decode())
        self.assertIn(self.last_name + '\n', whole)
        self.assertNotIn('…', whole)

    def test_help_fits(self):
        for columns in (60, 200):
            text = self.show('help', 'record', columns=columns)
            lines = text[text.index('\nOptions:'):].split('\n')
            self.assertLessEqual(max(map(columns_of, lines)), min(columns, 100))

    def test_dump_has_columns_that_fit(self):
        lines = plain(self.show('dump', self.log, '--class', 'write', columns=110)).split('\n')
        self.assertRegex(lines[0], r'^ *START  +DURATION  .*FILE$')
        self.assertLessEqual(max(map(columns_of, lines)), 110)
        self.assertGreater(len(self.expect(0, 'dump', self.log).stdout.split(b'\n')[0]), 110)


class Colours(TerminalTest):
    def test_only_where_it_is_wanted(self):
        for variables, has_color in (({}, True), ({'NO_COLOR': ''}, True), ({'NO_COLOR': '1'}, False), ({'TERM': 'dumb'}, False)):
            for words in (('info', self.log), ('report', self.log), ('dump', self.log)):
                with self.subTest(variables=variables, words=words):
                    self.assertEqual('\x1b[1m' in self.show(*words, **variables), has_color)

    def test_only_for_people(self):
        for words in (('info', self.log, '--json'), ('query', self.log, '--csv', '--sql', 'SELECT op FROM events'),
                      ('help', '--json'), ('stats', self.log, '--darshan')):
            self.assertNotIn('\x1b', self.show(*words))
        self.show('report', self.log, '-o', self.path('report.txt'))
        with open(self.path('report.txt'), encoding='utf-8') as made:
            self.assertNotIn('\x1b', made.read())
        self.assertNotIn(b'\x1b', self.expect(0, 'info', self.log, env={**os.environ, 'TERM': 'xterm'}).stdout)

    def test_errors(self):
        self.assertEqual(self.show('info', '/no', status=1),
                         '\x1b[1;31mioseer info:\x1b[0m /no: No such file or directory\n')
        self.assertEqual(self.show('frob', status=2, NO_COLOR='x').count('\x1b'), 0)
        with open(self.path('errors'), 'wb') as errors:
            self.show('info', '/no', status=1, stderr=errors)
        with open(self.path('errors'), 'rb') as errors:
            self.assertEqual(errors.read(), b'ioseer info: /no: No such file or directory\n')


class Pagers(TerminalTest):
    def tee(self):
        return f'tee {self.path("paged")}'

    def paged(self):
        """What the pager has got; None if none was started."""
        if not os.path.exists(self.path('paged')):
            return None
        with open(self.path('paged'), encoding='utf-8') as made:
            text = made.read()
        os.unlink(self.path('paged'))
        return text

    def test_long_text_is_paged(self):
        for words in (('info', self.log), ('dump', self.log), ('stats', self.log), ('report', self.log), ('doctor', '--calls'),
                      ('help', 'record'), ('query', self.log, '--sql', 'SELECT * FROM events'), ('info', '--json', self.log)):
            with self.subTest(words=words):
                direct = self.show(*words)
                self.assertIsNone(self.paged())
                self.assertEqual(self.show(*words, IOSEER_PAGER=self.tee()), direct)
                self.assertEqual(self.paged(), direct)

    def test_short_text_is_not(self):
        for words in (('phases', self.log), ('--version',), ('query', self.log, 'Call')):
            direct = self.show(*words, lines=500)
            self.assertEqual(self.show(*words, lines=500, IOSEER_PAGER=self.tee()), direct)
            self.assertIsNone(self.paged())
        rows = self.show('help').count('\n')
        for lines in (rows, rows + 1):
            self.show('help', columns=200, lines=lines, IOSEER_PAGER=self.tee())
            self.assertEqual(self.paged() is None, lines > rows)

    def test_which_pager(self):
        self.show('help', lines=5, IOSEER_PAGER='cat', PAGER=self.tee())
        self.assertIsNone(self.paged())
        for variables, is_paged in (({'PAGER': self.tee()}, True), ({'PAGER': ''}, False), ({'PAGER': f'X=1 {self.tee()}'}, True)):
            with self.subTest(variables=variables):
                self.in_shell(f'unset IOSEER_PAGER; exec {harness.IOSEER} help', **variables)
                self.assertEqual(self.paged() is not None, is_paged)

    def in_shell(self, script, **variables):
        return Terminal(('-c', script), program='/bin/sh', lines=5, **variables).end()

    def test_never(self):
        pager = self.tee()
        self.show('--no-pager', 'help', lines=5, IOSEER_PAGER=pager)
        self.show('help', lines=5, IOSEER_PAGER=pager, TERM='dumb')
        self.show('info', self.log, '-o', self.path('made'), lines=5, IOSEER_PAGER=pager)
        self.show('record', '-o', self.path('log'), '--', 'seq', '100', lines=5, IOSEER_PAGER=pager)
        self.expect(0, 'help', env={**os.environ, 'IOSEER_PAGER': pager})
        prompt = Terminal(('query', self.log), lines=5, IOSEER_PAGER=pager)
        prompt.wait_for(b'ioseer> ')
        prompt.type(b'SELECT op FROM events;\n')
        prompt.wait_for(b'ioseer> ')
        prompt.type(b'.quit\n')
        self.assertEqual(prompt.end()[0], 0)
        self.assertIsNone(self.paged())
        self.in_shell(f'set -m; {harness.IOSEER} help & wait', IOSEER_PAGER=f'touch {self.path("background")}; cat')
        self.assertFalse(os.path.exists(self.path('background')))

    def test_a_pager_that_is_missing(self):
        for pager in ('no-such-pager', '/no/such/pager -R', ''):
            with self.subTest(pager=pager):
                self.assertEqual(self.show('help', lines=5, IOSEER_PAGER=pager), self.show('help', lines=5))

    def test_leaving_early_is_no_failure(self):
        for words in (('dump', self.log), ('dump', '--json', self.log), ('info', self.log), ('stats', self.log), ('doctor', '--calls'),
                      ('query', self.log, '--sql', 'SELECT * FROM events a, events b'), ('model', '--expand', self.log)):
            with self.subTest(words=words):
                text = self.show(*words, IOSEER_PAGER='head -2')
                self.assertEqual(text.count('\n'), 2, text)
                self.assertNotIn('ioseer', plain(text).split('\n')[-1])
        self.show('dump', self.log, IOSEER_PAGER='true')

    def test_the_status_is_the_verbs(self):
        other = self.record('true', name='other.ioseer')
        words = ('diff', '--fail-if', 'structure', self.log, other)
        self.assertIn('the structures are different', self.show(*words, lines=3, status=1, IOSEER_PAGER='cat'))
        self.show(*words, lines=3, status=1, IOSEER_PAGER='false')

    @harness.unittest.skipUnless(shutil.which('less'), 'there is no less')
    def test_less(self):
        terminal = Terminal(('dump', self.log), IOSEER_PAGER='less')
        terminal.wait_for(rb'(?m):\x1b|:$')
        terminal.type(b'\x03')
        terminal.read(0.5)
        self.assertIsNone(terminal.process.poll())
        terminal.type(b'G')
        terminal.wait_for(b'END')
        terminal.type(b'q')
        status, text = terminal.end()
        self.assertEqual(status, 0)
        self.assertTrue(terminal.is_as_before)
        self.assertIn('\x1b[1m', text)
        self.assertNotIn('ESC[', text)
        terminal = Terminal(('dump', self.log), IOSEER_PAGER='less', LESS='-i')  # it would show the bytes of colours
        terminal.wait_for(rb'(?m):\x1b|:$')
        terminal.type(b'q')
        self.assertNotIn('ESC', terminal.end()[1])

    def test_ctrl_c_ends_what_has_no_pager(self):
        """And what still works after its pager has ended."""
        for pager in ('', 'head -2'):
            with self.subTest(pager=pager):
                rows = "SELECT * FROM (SELECT 'ten letters' AS x FROM events a, events b LIMIT 1000)"  # printed at once
                count = 'SELECT count(*) FROM events a, events b, events c, events d, events e'
                terminal = Terminal(('query', self.log, '--sql', f'{rows} UNION ALL {count}'), IOSEER_PAGER=pager)
                terminal.read(1)
                terminal.type(b'\x03')
                status, text = terminal.end()
                self.assertEqual((status, text.count('ten')), (-2, 1 if pager else 1000))


if __name__ == '__main__':
    harness.main()
