"""What the tests of the command line share: finding ioseer, running it, recording small programs, speaking TAP.

IOSEER names the program to test; without it, it is $IOSEER_BUILD/ioseer, or build/ioseer in the tree.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))
BUILD = os.environ.get('IOSEER_BUILD', os.path.join(SOURCE, 'build'))
IOSEER = os.environ.get('IOSEER', os.path.join(BUILD, 'ioseer'))
TIMEOUT_SECONDS = 120


def run(*words, **options):
    """Runs a program; gives its status, stdout and stderr as bytes."""
    options.setdefault('stdout', subprocess.PIPE)
    options.setdefault('stderr', subprocess.PIPE)
    options.setdefault('stdin', subprocess.DEVNULL)
    options.setdefault('timeout', TIMEOUT_SECONDS)
    return subprocess.run(words, check=False, **options)


def ioseer(*words, **options):
    return run(IOSEER, *words, **options)


class CommandLineTest(unittest.TestCase):
    """A test with a scratch directory of its own in self.folder (a real path)."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix='ioseer-test-')
        self.addCleanup(scratch.cleanup)
        self.folder = os.path.realpath(scratch.name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def expect(self, status, *words, **options):
        """Runs ioseer, checks its exit status, and returns its output."""
        done = ioseer(*words, **options)
        self.assertEqual(done.returncode, status,
                         f'ioseer {words}: stdout {(done.stdout or b"")[-2000:]!r}, stderr {done.stderr!r}')
        return done

    def json(self, *words):
        """Runs ioseer, which must succeed, and gives what it printed as JSON."""
        return json.loads(self.expect(0, *words).stdout)

    def expect_error(self, status, verb, *words, **options):
        """A failure is one line, `ioseer VERB: what: why`, and no output."""
        done = self.expect(status, verb, *words, **options)
        lines = done.stderr.decode('utf-8', 'surrogateescape').split('\n')
        self.assertEqual(len(lines), 2, f'not one line: {done.stderr!r}')
        self.assertRegex(lines[0], rf'^ioseer {verb}: .+: .+')
        self.assertEqual(done.stdout or b'', b'')
        return lines[0]

    def record(self, *command, name='test.ioseer', options=(), status=0, **more):
        """Records a command; gives the log's path."""
        log = self.path(name)
        self.expect(status, 'record', '-q', '-o', log, *options, '--', *command, **more)
        return log

    def record_python(self, program, *arguments, **more):
        """Records a Python program given as text; its I/O is on self.folder only."""
        return self.record(sys.executable, '-I', '-S', '-c', program, *arguments, cwd=self.folder, **more)


class _TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.number = 0

    def line(self, test, passed, directive='', details=''):
        self.number += 1
        print(f'{"ok" if passed else "not ok"} {self.number} - {test.id().removeprefix("__main__.")}{directive}')
        for detail in details.rstrip().split('\n') if details else []:
            print(f'# {detail}')
        sys.stdout.flush()

    def addSuccess(self, test):
        self.line(test, True)

    def addSkip(self, test, reason):
        self.line(test, True, f' # SKIP {reason}')

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.line(test, False, details=self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.line(test, False, details=self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.line(subtest, False, details=self._exc_info_to_string(err, test))


def main():
    """Runs the calling file's tests, or those named on the command line, and prints TAP."""
    loader = unittest.TestLoader()
    module = sys.modules['__main__']
    suite = loader.loadTestsFromNames(sys.argv[1:], module) if sys.argv[1:] else loader.loadTestsFromModule(module)
    result = _TapResult()
    sys.stdout.reconfigure(errors='backslashreplace')
    suite.run(result)
    print(f'1..{result.number}')
    sys.exit(0 if result.wasSuccessful() else 1)
