"""Runs doc/tutorial.md as a reader would: pastes every command into a shell, and compares what it prints.

Numbers and units differ from run to run; everything else that the tutorial shows must be printed, line for line.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'cli'))
import harness  # noqa: E402

PLACE = '/tmp/ioseer-tutorial'  # where the tutorial works; the test has a place of its own
TUTORIAL = os.path.join(harness.SOURCE, 'doc', 'tutorial.md')
FENCE = re.compile(r'^```(\w*)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
QUANTITY = re.compile(r'[-+]?\d[\d.,]*( (ns|us|ms|s|B|KiB|MiB|GiB|%))?(/s)?')
SECONDS = 600
MARK = '--- end of step'


def shape(line):
    """A line with its numbers, units and column widths taken out."""
    return ' '.join(QUANTITY.sub('#', line).split())


def steps():
    """(commands, lines shown below them) of each shell block; … stands for lines that are not shown."""
    with open(TUTORIAL, encoding='utf-8') as text:
        blocks = FENCE.findall(text.read())
    for i, (language, commands) in enumerate(blocks):
        if language == 'sh':
            shown = blocks[i + 1][1] if i + 1 < len(blocks) and not blocks[i + 1][0] else ''
            yield commands, [line for line in shown.split('\n') if line.strip() not in ('', '…')]


def missing(shown, printed):
    """Lines of the tutorial that no printed line begins with: a noisy machine may add a remark, and has no error bounds."""
    if 'not predictable' in printed:
        shown = [re.sub(r'4\.2 ± 0\.4 times faster than on old\.', 'faster than on old, by how much is not predictable',
                        line) for line in shown]
    shapes = [shape(line) for line in printed.split('\n')]
    return [line for line in shown if not any(text.startswith(shape(line)) for text in shapes)]


class Tutorial(harness.CommandLineTest):
    def setUp(self):
        super().setUp()
        for tool in ('mpiexec.mpich', 'fusermount3'):
            if not shutil.which(tool):
                self.skipTest(f'no {tool}')
        if not os.path.exists('/dev/fuse'):
            self.skipTest('no /dev/fuse')

    def source_tree(self):
        """A folder that looks like the source tree to the commands: it has build/."""
        os.symlink(harness.BUILD, self.path('build'))
        return self.folder

    def test_every_command(self):
        place = tempfile.mkdtemp(prefix='ioseer-tutorial-')
        self.addCleanup(shutil.rmtree, place, True)
        all_steps = list(steps())
        self.assertGreater(len(all_steps), 5)
        script = ''.join(f'{commands}\necho "{MARK}"\n' for commands, _ in all_steps)
        script = script.replace(PLACE, place)
        self.addCleanup(self.unmount, place)
        done = subprocess.run(['bash', '-e', '-o', 'pipefail', '-c', script], cwd=self.source_tree(),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS)
        printed = done.stdout.replace(place, PLACE).split(MARK + '\n')
        self.assertEqual(done.returncode, 0, f'step {len(printed)} failed: {printed[-1][-2000:]}')
        for number, ((_, shown), text) in enumerate(zip(all_steps, printed), 1):
            self.assertEqual(missing(shown, text), [], f'step {number} does not print this any more; it printed\n{text}')
        self.assertTrue(os.path.exists(os.path.join(place, 'run.html')))

    @staticmethod
    def unmount(place):
        for name in ('old', 'new'):
            subprocess.run([harness.IOSEER, 'emulate', '--stop', os.path.join(place, name)], capture_output=True)


if __name__ == '__main__':
    harness.main()
