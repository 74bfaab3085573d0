#!/usr/bin/env python3
"""shutdown.py BUILD [simulate | RANKS...]: what the end of an MPI job costs that is recorded without `record`. First one rank of many that do
not exist (bench/shutdown.c), beside what Darshan's paper reports; then real ranks, MPI_Finalize without and with ioseer."""
import json
import os
import shutil
import subprocess
import sys
import time

from common import Place, machine, table

RUNS = 3
LAUNCHERS = {'mpich': ['mpiexec.mpich'],
             'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe', '--mca', 'btl', 'self,vader',
                         '--mca', 'btl_vader_segment_size', '1048576']}  # 256 ranks need the memory
# Ranks, shared files, own files, and what Darshan's paper reports: figure 4, the whole end below 7 s, and table II.
CASES = [*((ranks, shared, own, '< 7 s') for ranks in (4096, 16384) for shared, own in ((1, 0), (1024, 0), (0, 1), (0, 1024))),
         (65536, 1, 0, '< 7 s'), (65536, 1024, 0, '< 7 s, 220 ms of it to reduce'), (65536, 0, 1, '< 7 s'),
         (65536, 0, 1024, '< 7 s, 161 ms of it to compress'), (32768, 1, 0, '203 bytes'), (32768, 0, 8, '13.3 MB')]


def simulate(build):
    rows = []
    program = os.path.join(build, 'bench', 'bench-shutdown')
    for ranks, shared, own, paper in CASES:
        printed = subprocess.run([program, str(ranks), str(shared), str(own)], check=True, stdout=subprocess.PIPE, text=True)
        words = printed.stdout.split()
        work, transfer = (float(word) * 1e3 for word in words[3:5])
        messages, sent, received, memory, log, each = (int(word) for word in words[5:11])
        files = shared + own * ranks
        rows.append([f'{ranks:,}', f'{shared:,}', f'{own:,}', f'{work:.1f}', f'{transfer:.1f}', messages,
                     f'{(sent + received) / 1e3:,.1f}', f'{memory / 1e3:,.1f}', f'{log:,}', f'{log / files:,.0f}', f'{each:,}',
                     paper])
    table('One rank of many', ['ranks', 'shared files', 'own', 'work, ms', 'transfer, ms', 'messages', 'kB moved', 'kB in memory',
                               'bytes of the log', 'per file', 'with a record of each rank', "Darshan's paper"], rows)


class Runs:
    def __init__(self, place, build, mpi):
        self.place, self.mpi = place, mpi
        self.program = os.path.join(build, 'tests', 'site', f'shares-{mpi}')
        self.logs = os.path.join(place.folder, 'logs')
        self.work = os.path.join(place.folder, 'work')
        self.plain = {name: value for name, value in os.environ.items() if not name.startswith(('IOSEER_', 'LD_PRELOAD'))}

    def environment(self, **more):
        printed = subprocess.run([self.place.ioseer, 'env', '--log-dir', self.logs, '--json'], env=self.plain, check=True,
                                 stdout=subprocess.PIPE)
        return {**self.plain, **json.loads(printed.stdout)['variables'], **more}

    def once(self, ranks, files, environment):
        """Seconds of MPI_Finalize in rank 0, seconds of the job."""
        for folder in (self.logs, self.work):
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
        started = time.monotonic()
        done = subprocess.run([*LAUNCHERS[self.mpi], '-n', str(ranks), self.program, f'files={files}', 'posix-only'],
                              env=environment(), cwd=self.work, check=True, stdout=subprocess.PIPE, text=True)
        return float(done.stdout), time.monotonic() - started

    def median(self, *case):
        runs = sorted(self.once(*case) for _ in range(RUNS))
        return runs[RUNS // 2][0], sorted(run[1] for run in runs)[RUNS // 2]

    def row(self, ranks, files):
        without = self.median(ranks, files, lambda: self.plain)
        recorded = self.median(ranks, files, self.environment)
        logs = [os.path.join(folder, name) for folder, _, names in os.walk(self.logs) for name in names]
        assert len(logs) == 1, logs
        return [self.mpi, ranks, files, *(f'{1e3 * case[0]:,.0f}' for case in (without, recorded)),
                *(f'{case[1]:.2f}' for case in (without, recorded)), f'{os.path.getsize(logs[0]):,}']


def main():
    build = os.path.abspath(sys.argv[1])
    place = Place(build)
    print(machine())
    simulate(build)
    if sys.argv[2:] == ['simulate']:
        return
    ranks = [int(word) for word in sys.argv[2:]] or [16, 64, 128, 256]
    rows = [Runs(place, build, mpi).row(count, files) for mpi in LAUNCHERS if shutil.which(LAUNCHERS[mpi][0])
            for files in (0, 16) for count in ranks]
    table(f'MPI_Finalize in rank 0, ms, and the whole job, s (median of {RUNS}): two files that ranks share, and own ones',
          ['MPI', 'ranks', 'own files', 'without', 'recorded', 'job without', 'recorded', 'bytes of the log'], rows)


main()
