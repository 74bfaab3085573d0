#!/usr/bin/env python3
"""What the probes cost: the same program on a stack with probes that record, with probes that do not, and without probes,
one after the other, in turns (the paper's Table 3). usage: cost.py BUILD FOLDER"""
import json
import statistics
import subprocess

from study import Stack, Study

RUNS = 9
study = Study('cost')
PROGRAMS = {
    'FLASH-like, HDF5, 4 ranks': lambda d: study.program('mpich', 4, 'flash-mpich', '--directory', d, '--blocks', '80', '--no-read'),
    'S3D-like, PnetCDF, 4 ranks': lambda d: study.program('openmpi', 4, 's3d-pnetcdf', '--directory', d, '--edge', '50', '--no-read'),
    'dd, 64 MiB in 128 KiB': lambda d: ['dd', 'if=/dev/zero', f'of={d}/dd', 'bs=128k', 'count=512', 'status=none'],
    'dd, 4,000 of 4 KiB': lambda d: ['dd', 'if=/dev/zero', f'of={d}/dd', 'bs=4k', 'count=4000', 'status=none'],
}


def run_time(stack, command, *options):
    log = study.log('cost')
    subprocess.run([study.ioseer, 'record', '-q', '--force', *options, '-o', log, '--', *command], check=True,
                   stdout=subprocess.DEVNULL)
    job = json.loads(subprocess.run([study.ioseer, 'info', '--json', log], check=True, stdout=subprocess.PIPE).stdout)['job']
    return job['end'] - job['start']


rows = []
shape = ('--servers', '4', '--layout', 'shard', '--shard-size', '4M')
with Stack(study.ioseer, 'study-plain', *shape, '--plain') as plain, Stack(study.ioseer, 'study-probed', *shape) as probed:
    for name, program in PROGRAMS.items():
        times = {'plain': [], 'silent': [], 'recording': []}
        for _ in range(RUNS):
            times['plain'].append(run_time(plain, program(plain.folder('cost'))))
            times['silent'].append(run_time(probed, program(probed.folder('cost'))))
            times['recording'].append(run_time(probed, program(probed.folder('cost')), '--stack', probed.name))
        ratios = {key: [a / b - 1 for a, b in zip(times[key], times['plain'])] for key in ('silent', 'recording')}
        cells = [name, f"{statistics.median(times['plain']):.3f} s"]
        for key in ratios:
            low, middle, high = statistics.quantiles(ratios[key], n=4)
            cells += [f'{middle:+.1%}', f'{low:+.1%} to {high:+.1%}']
        rows.append(cells)
study.table(['program', 'plain', 'silent probes', 'quartiles', 'recording', 'quartiles'], rows)
