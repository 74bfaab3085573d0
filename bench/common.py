"""What the benchmarks share: where the programs are, a scratch directory in memory, running, tables."""
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile

SHARED_MEMORY = '/dev/shm'  # calls on real disks would measure these


class Place:
    """The programs of a build directory, and somewhere to work."""

    def __init__(self, build):
        build = os.path.abspath(build)
        self.ioseer = os.path.join(build, 'ioseer')
        self.library = os.path.join(build, 'src', 'rec', 'libioseer.so')
        self.calls = os.path.join(build, 'bench', 'bench-calls')
        self.iterate = os.path.join(build, 'bench', 'bench-iterate')
        self.synthetic = os.path.join(build, 'bench', 'bench-synthetic')
        self.starts = os.path.join(build, 'bench', 'bench-starts')
        self.measure_program = os.path.join(build, 'bench', 'bench-measure')
        in_memory = os.access(SHARED_MEMORY, os.W_OK)
        self.scratch = tempfile.TemporaryDirectory(prefix='ioseer-bench-', dir=SHARED_MEMORY if in_memory else None)
        self.folder = self.scratch.name
        self.log = os.path.join(self.folder, 'bench.ioseer')

    def recorded(self, command, *options):
        return [self.ioseer, 'record', '-q', '--force', '-o', self.log, *options, '--', *command]

    def run(self, command):
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def measure(self, command, *variables):
        """Wall time and processor time in seconds, peak memory in KiB."""
        wall, processor, peak = self.run([self.measure_program, *variables, *command]).split()
        return float(wall), float(processor), int(peak)

    def calls_command(self, pattern, count, threads):
        return [self.calls, pattern, str(count), str(threads), self.folder]


def quartiles(values):
    return statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3


def table(title, header, rows):
    """Prints a table that is also valid Markdown."""
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    print(f'\n{title}\n')
    for number, row in enumerate(cells):
        padded = [cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        print('| ' + ' | '.join(padded) + ' |')
        if number == 0:
            print('|' + '|'.join('-' * (width + 2) if i == 0 else '-' * (width + 1) + ':'
                                 for i, width in enumerate(widths)) + '|')
    sys.stdout.flush()


def machine():
    """One line about the machine and its load: other work on it makes the results spread."""
    with open('/proc/cpuinfo', encoding='utf-8', errors='replace') as file:
        found = re.search(r'^model name\s*:\s*(.*)', file.read(), re.MULTILINE)
    processor = found[1] if found else platform.machine()
    return (f'{processor}, {os.cpu_count()} cores, Linux {platform.release()}, {" ".join(platform.libc_ver())}, '
            f'load average {os.getloadavg()[0]:.1f}')
