#!/usr/bin/env python3
"""bench/debian.py BUILD [--ranks LIST] [--programs LIST]: are programs of Debian recorded, modelled and replayed?

Each program that is installed runs bare and is recorded, twice each. The files that it left are compared: those that are
equal in both bare runs must be the same when it is recorded. What is inside a call must begin and end in it. The model is
replayed, the two logs are compared. The packages: lammps quantum-espresso nwchem-openmpi nwchem-mpich python3-h5py-mpi
python3-mpi4py python3-netcdf4 hdf5-tools netcdf-bin nco sqlite3 rocksdb-tools rsync git make postgresql (not as root). The
inputs are in bench/debian. A program without its package or module is left out or fails.
"""
import argparse
import hashlib
import json
import os
import shutil
import subprocess

import common

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'debian')
LAUNCHERS = {'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe'], 'mpich': ['mpiexec.mpich']}
TICK = 2e-9  # times are rounded to nanoseconds
PYTHON = '/usr/bin/python3'  # Debian's: it has Debian's modules
SQL = ('create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 3000) '
       'insert into t select x, x * x from c; create index i on t(b); vacuum;')
ROCKSDB = ['db_bench', '--db=./db', '--num=20000', '--compression_type=none']
# name: MPI or None, words of the command; those that are inputs get their folder
PROGRAMS = {
    'LAMMPS': ('openmpi', ['lmp', '-in', 'lammps.in']),
    'Quantum ESPRESSO': ('openmpi', ['pw.x', '-in', 'silicon.in']),
    'NWChem': ('openmpi', ['nwchem.openmpi', 'water.nw']),
    'NWChem, MPICH': ('mpich', ['nwchem.mpich', 'water.nw']),
    'h5py': ('openmpi', [PYTHON, 'h5py_steps.py']),
    'mpi4py': ('openmpi', [PYTHON, 'mpi4py_views.py']),
    'netCDF4': (None, [PYTHON, 'netcdf4_records.py']),
    'HDF5 tools': (None, ['sh', 'hdf5_tools.sh']),
    'NetCDF tools': (None, ['sh', 'netcdf_tools.sh']),
    'NCO': (None, ['sh', 'nco.sh']),
    'sqlite3': (None, ['sqlite3', 'db', SQL]),
    'RocksDB': (None, [*ROCKSDB, '--benchmarks=fillseq,readrandom']),
    'RocksDB, 4 threads': (None, [*ROCKSDB, '--benchmarks=fillrandom,compact', '--threads=4', '--write_buffer_size=500000']),
    'rsync': (None, ['rsync', '-a', 'tree/', 'copy']),
    'git clone': (None, ['git', 'clone', '--no-local', 'tree', 'copy']),
    'git gc': (None, ['git', '-C', 'tree', 'gc']),
    'make -j4': (None, ['make', '-j4']),
    'xargs -P4': (None, ['sh', '-c', 'find tree -type f | xargs -P4 -n10 gzip']),
    'PostgreSQL': (None, ['sh', 'postgresql.sh']),
}
# What a shell makes before the program runs.
TREE = 'mkdir tree; for i in $(seq 300); do seq $((i * 20)) > tree/$i; done; '
GIT = f'{TREE} cd tree; git init -q; git add .; git -c user.name=a -c user.email=a commit -qm all'
SOURCES = r"""for i in $(seq 40); do printf '#include <stdio.h>\nvoid f%s(void) { puts("");}\n' $i > $i.c; done
echo 'int main(void) {}' > main.c; printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\n\tcc -o $@ $^\n' > Makefile"""
BEFORE = {'rsync': TREE, 'git clone': GIT, 'git gc': GIT, 'make -j4': SOURCES, 'xargs -P4': TREE}


def words_of(name, ranks):
    mpi, words = PROGRAMS[name]
    path = [os.path.join(INPUTS, word) if os.path.exists(os.path.join(INPUTS, word)) else word for word in words]
    return [*LAUNCHERS[mpi], '-n', ranks, *path] if mpi else path


def digests(where):
    """By name: what is in a file."""
    found = {}
    for folder, _, names in os.walk(where):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, 'rb') as file:
                    found[os.path.relpath(path, where)] = hashlib.sha256(file.read()).hexdigest()
    return found


def run(place, command, before):
    """What the program left. It has a folder of its own, which always has the same name."""
    where = os.path.join(place.folder, 'program')
    os.mkdir(where)
    try:
        subprocess.run(before, check=True, cwd=where, shell=True)
        subprocess.run(command, check=True, cwd=where, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       stdin=subprocess.DEVNULL, env={**os.environ, 'OMP_NUM_THREADS': '1'})
        return digests(where)
    finally:
        shutil.rmtree(where)


def ask(place, *words):
    return json.loads(place.run([place.ioseer, *words, '--json']))


def outside(events):
    """How many calls begin before the call that they are inside of, or end after it. Asynchronous ones may."""
    by_id = {event['id']: event for event in events}
    inside = [(event, by_id[event['parent']]) for event in events if event['parent'] and 'call_time' not in event]
    return sum(e['start'] < p['start'] - TICK or e['start'] + e['duration'] > p['start'] + p['duration'] + TICK
               for e, p in inside)


def try_out(place, command, before):
    """The cells of a row: files left and those that recording changed, events, lost ones, those outside the call around
    them, coverage, phases, similarity of the replay, whether two logs are equal."""
    bare = [run(place, command, before) for _ in range(2)]
    recorded = [run(place, place.recorded(command), before)]
    first = place.log + '.first'
    os.replace(place.log, first)
    recorded.append(run(place, place.recorded(command), before))
    steady = {name for name in bare[0] if bare[0][name] == bare[1].get(name)}
    changed = [name for name in steady if any(files.get(name) != bare[0][name] for files in recorded)]
    info = ask(place, 'info', first)
    try:
        replay = ask(place, 'replay', '-q', first, '--on', place.folder)
        similarity = f'{100 * replay["similarity"]:.2f} %'
    except subprocess.CalledProcessError:
        similarity = 'failed'
    equal = ask(place, 'diff', '--gap', '10s', first, place.log)['equal']  # a busy machine adds pauses of its own
    covered = [f'{100 * info["coverage"][way]:.1f} %' for way in ('read', 'write')]
    return [f'{len(steady)} of {len(bare[0])}', len(changed), info['events'], info['lost_events'],
            outside(ask(place, 'dump', first)), *covered, len(ask(place, 'phases', first)['phases']), similarity,
            'equal' if equal else 'different']


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--ranks', default='4,9')
    parser.add_argument('--programs', default=';'.join(PROGRAMS), help='names, separated by semicolons')
    words = parser.parse_args()
    place = common.Place(words.build)
    rows = []
    for name in words.programs.split(';'):
        mpi, command = PROGRAMS[name]
        if not shutil.which(command[0]) or (name == 'PostgreSQL' and not os.geteuid()):
            continue
        for ranks in words.ranks.split(',') if mpi else ['']:
            try:
                cells = try_out(place, words_of(name, ranks), BEFORE.get(name, ''))
            except subprocess.CalledProcessError:
                cells = [''] * 8 + ['the program failed', '']
            rows.append([name, ranks, *cells])
    common.table('Programs of Debian', ['program', 'ranks', 'steady files', 'changed', 'events', 'lost', 'outside',
                                        'read', 'written', 'phases', 'similarity', 'two runs'], rows)


if __name__ == '__main__':
    main()
