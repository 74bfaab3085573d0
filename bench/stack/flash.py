#!/usr/bin/env python3
"""FLASH-like I/O with HDF5 on 4 servers: what the paper's Figures 11 to 15 show. usage: flash.py BUILD FOLDER [LOG]"""
from study import Study
from trees import LAYERS

RANKS, SERVERS, CHECKPOINT = 8, 4, 24
study = Study('flash', may_have_log=True)
tree = study.tree(SERVERS, lambda folder: study.program('mpich', RANKS, 'flash-mpich', '--directory', folder, '--blocks', '80',
                                                        '--no-read'))
ranks = tree.ranks()
calls = {rank: tree.calls(rank) for rank in ranks}
total = {rank: tree.totals(calls[rank]) for rank in ranks}
slowest = max(total, key=lambda rank: total[rank]['server'])
own = calls[slowest]

study.chart('11-calls', f'Figure 11: requests to each server, by call of process {slowest}', f'call of process {slowest}', range(len(own)),
            {f'server {s}': [sum(e['server'] == s for e in tree.below(call, 'server') if e['class'] == 'write') for call in own]
             for s in range(SERVERS)}, 'requests', 'stacked')
study.chart('12-inclusive', 'Figure 12: inclusive latency by process', 'process', ranks,
            {layer: [total[rank][layer] for rank in ranks] for layer in LAYERS}, 's', 'nested')
study.table(['process', *LAYERS], [[rank, *(f'{total[rank][layer]:.3f}' for layer in LAYERS)] for rank in ranks])
extremes = {word: {rank: [tree.extreme(call, choose) for call in calls[rank]] for rank in ranks}
            for word, choose in (('longest', max), ('shortest', min))}
for part, word in zip('ab', extremes):
    study.chart(f'13-{word}', f'Figure 13{part}: of each call the request that is {word} at its server, summed by process', 'process', ranks,
                {layer: [sum(x.get(layer, 0) for x in extremes[word][rank]) for rank in ranks] for layer in LAYERS[1:]}, 's',
                'nested')
for part, word in zip('ab', extremes):
    last = list(enumerate(extremes[word][slowest]))[CHECKPOINT - 6:CHECKPOINT]
    study.chart(f'14-{word}', f'Figure 14{part}: the request that is {word} at its server, calls {last[0][0]} to {last[-1][0]} of process {slowest}',
                f'call of process {slowest}', [i for i, _ in last], {layer: [x.get(layer, 0) for _, x in last] for layer in LAYERS[1:]},
                's', 'nested', notes=[f"server {x['at']}" for _, x in last])
speed = [tree.disk_throughput(call) for call in own[:CHECKPOINT]]
study.chart('15-throughput', f'Figure 15: disk throughput of each call of the checkpoint, process {slowest}', f'call of process {slowest}',
            range(len(speed)), {f'server {s}': [x.get(s, 0) / 1e6 for x in speed] for s in range(SERVERS)}, 'MB/s', 'stacked')
