#!/usr/bin/env python3
"""S3D-like I/O on 8 servers beside a program on one of them: what the paper's Figure 20 and Tables 4 to 6 show, and whether
the cure that ioseer names works. usage: interference.py BUILD FOLDER"""
import json
import statistics
import subprocess
import sys

from study import Stack, Study

SERVERS, RUNS = 8, 7
study = Study('interference')
options = ['--servers', str(SERVERS), '--layout', 'shard', '--shard-size', '4M', '--emulate', 'nvme', '--write-bw', '16M',
           '--pin', 'one=0']


def programs(stack):
    return {'s3d': study.program('openmpi', 4, 's3d-pnetcdf', '--directory', stack.folder('s3d'), '--edge', '44', '--no-read',
                                 launcher=('--mca', 'io_ompio_num_aggregators', '4')),
            'pinned': ['sh', '-c', f"cd {stack.folder('one')} && for i in 0 1 2 3 4 5 6 7; do "
                       'dd if=/dev/zero of=$i bs=1M count=20 status=none & done; wait']}


def info(log):
    return json.loads(subprocess.run([study.ioseer, 'info', '--json', log], check=True, stdout=subprocess.PIPE).stdout)


def alone(stack, name, run):
    return stack.record(study.log(f'{name}-alone-{run}'), programs(stack)[name])


def together(stack, run, word):
    logs = {name: study.log(f'{name}-{word}-{run}') for name in programs(stack)}
    started = [stack.start(logs[name], command) for name, command in programs(stack).items()]
    if any([process.wait() for process in started]):
        sys.exit('a program failed')
    return logs


def measured(log):
    """Run time, and what its calls did at each server."""
    about = info(log)
    return about['job']['end'] - about['job']['start'], about['stack']['servers']


NAMES, WORDS = ('s3d', 'pinned'), ('alone', 'together', 'cured')
runs, found = [], []
for run in range(RUNS):
    logs = {}
    with Stack(study.ioseer, 'study-interference', *options) as stack:
        logs['alone'] = {name: alone(stack, name, run) for name in NAMES}
        logs['together'] = together(stack, run, 'together')
    with Stack(study.ioseer, 'study-interference', *options, '--avoid', 's3d=0') as stack:
        logs['cured'] = together(stack, run, 'cured')
    runs.append({word: {name: measured(logs[word][name]) for name in NAMES} for word in WORDS})
    found.append(json.loads(subprocess.run([study.ioseer, 'interference', '--json', *logs['together'].values(), '--alone',
                                            *logs['alone'].values()], check=True, stdout=subprocess.PIPE).stdout))


def median(word, name, number):
    return statistics.median(number(*run[word][name]) for run in runs)


def run_time(time, _servers):
    return time


def busiest(_time, servers):
    return max(server['busy'] for server in servers)


times = {name: {word: median(word, name, run_time) for word in WORDS} for name in NAMES}
study.table(['program', 'alone', 'together', 'longer by', 'cured', 'longer than alone by'],
            [[name, f"{of['alone']:.2f} s", f"{of['together']:.2f} s", f"{of['together'] / of['alone'] - 1:+.0%}", f"{of['cured']:.2f} s",
              f"{of['cured'] / of['alone'] - 1:+.0%}"] for name, of in times.items()])
study.chart('20-times', f'Figure 20: run time, and time at the busiest server; medians of {RUNS} runs', 'runs', WORDS,
            {f'{name}: {what}': [median(word, name, number) for word in WORDS] for name in NAMES
             for what, number in (('run time', run_time), ('busiest server', busiest))}, 's', 'beside')
named = [one for one in found if one['overloaded'] == 0]
study.say(f'Server 0 is named as overloaded in {len(named)} of {RUNS} runs.')
if named:
    low, high = (statistics.median(one['jobs'][0][key] for one in named) for key in ('gain_low', 'gain_high'))
    study.say(f"{named[0]['advice']} Expected gain of s3d: {low:.2f} to {high:.2f} s; measured: "
              f"{times['s3d']['together'] - times['s3d']['cured']:.2f} s.")
for table, word in zip((4, 5, 6), WORDS):
    study.table([f'Table {table}: {word}', *(f'server {i}' for i in range(SERVERS))],
                [[f'{name}: {what}', *(show(server) for server in runs[0][word][name][1])] for name in NAMES
                 for what, show in (('busy', lambda server: f"{server['busy']:.2f} s"),
                                    ('written', lambda server: f"{server['bytes_written'] / 2**20:.0f} MiB"))])
