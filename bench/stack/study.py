"""What the studies share: a stack of their own, programs recorded on it, tables in Markdown."""
import json
import os
import subprocess
import sys
import tempfile

import svg
from trees import Tree

MPIEXEC = {'mpich': ['mpiexec.mpich', '-n'], 'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe', '-n']}


class Stack:
    """A stack that is up inside `with`."""

    def __init__(self, ioseer, name, *options):
        self.ioseer, self.name, self.options = ioseer, name, options

    def __enter__(self):
        text = subprocess.run([self.ioseer, 'stack', 'up', self.name, '--json', '--while', str(os.getpid()),
                               *self.options], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        self.mount = json.loads(text)['mount']
        return self

    def __exit__(self, *_):
        subprocess.run([self.ioseer, 'stack', 'down', self.name, '--force'], check=True, stdout=subprocess.DEVNULL)

    def folder(self, name):
        path = os.path.join(self.mount, name)
        os.makedirs(path, exist_ok=True)
        return path

    def start(self, log, command):
        """Begins to record a command."""
        return subprocess.Popen([self.ioseer, 'record', '-q', '--force', '--stack', self.name, '-o', log, '--', *command],
                                stdout=subprocess.DEVNULL)

    def record(self, log, command):
        if self.start(log, command).wait():
            sys.exit(f'failed: {" ".join(command)}')
        return log


class Study:
    """Arguments of a study: BUILD, and the folder that gets charts and text. If a log is given, too, nothing is measured."""

    def __init__(self, name, may_have_log=False):
        if not 3 <= len(sys.argv) <= 3 + may_have_log:
            sys.exit(f'usage: {sys.argv[0]} BUILD FOLDER' + ' [LOG]' * may_have_log)
        self.name = name
        self.build, self.out = map(os.path.abspath, sys.argv[1:3])
        self.given = sys.argv[3:]
        self.ioseer = os.path.join(self.build, 'ioseer')
        self.scratch = tempfile.TemporaryDirectory(prefix='ioseer-study-')
        os.makedirs(self.out, exist_ok=True)
        self.text = open(os.path.join(self.out, f'{name}.md'), 'w', encoding='utf-8')

    def log(self, name):
        return os.path.join(self.scratch.name, f'{name}.ioseer')

    def program(self, mpi, ranks, name, *options, launcher=()):
        return [*MPIEXEC[mpi], str(ranks), *launcher, os.path.join(self.build, 'examples', name), *options]

    def tree(self, servers, program):
        """The calls of a program on a stack of emulated disks; `program` gets a folder for its files."""
        if self.given:
            return Tree(self.ioseer, *self.given)
        with Stack(self.ioseer, f'study-{self.name}', '--servers', str(servers), '--layout', 'shard', '--shard-size', '4M',
                   '--emulate', 'hdd') as stack:
            return Tree(self.ioseer, stack.record(self.log(self.name), program(stack.folder(self.name))))

    def chart(self, name, title, *what, **how):
        """Draws a chart and shows it in the text."""
        file = f'{self.name}-{name}.svg'
        self.say(f'![{title}]({os.path.basename(self.out)}/{file})')
        svg.bars(os.path.join(self.out, file), title, *what, **how)

    def say(self, line):
        print(line, file=self.text, flush=True)
        print(line, flush=True)

    def table(self, header, rows):
        self.say('')
        self.say('| ' + ' | '.join(header) + ' |')
        self.say('|---' * len(header) + '|')
        for row in rows:
            self.say('| ' + ' | '.join(str(cell) for cell in row) + ' |')
        self.say('')
