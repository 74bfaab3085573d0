#!/usr/bin/env python3
"""S3D-like I/O with PnetCDF on 8 servers: what the paper's Figures 16 to 19 show. usage: s3d.py BUILD FOLDER [LOG]"""
import collections

from study import Study
from trees import LAYERS

RANKS, SERVERS, CHECKPOINT = 8, 8, 4
study = Study('s3d', may_have_log=True)
tree = study.tree(SERVERS, lambda folder: study.program('openmpi', RANKS, 's3d-pnetcdf', '--directory', folder, '--edge', '50', '--no-read',
                                                        launcher=('--mca', 'io_ompio_num_aggregators', '4')))
ranks = tree.ranks()
calls = {rank: tree.calls(rank) for rank in ranks}
total = {rank: tree.totals(calls[rank]) for rank in ranks}
writers = [rank for rank in ranks if any(tree.fragments(call) for call in calls[rank])]
slowest = max(writers, key=lambda rank: total[rank]['disk'])
fastest = min(writers, key=lambda rank: total[rank]['disk'])
# (call, fragment) of each aggregator in the first checkpoint
parts = {rank: {(i, j): fragment for i, call in enumerate(calls[rank][:CHECKPOINT]) for j, fragment in enumerate(tree.fragments(call))}
         for rank in writers}

study.chart('16-inclusive', 'Figure 16: inclusive latency by process', 'process', ranks,
            {layer: [total[rank][layer] for rank in ranks] for layer in LAYERS}, 's', 'nested')
study.table(['process', *LAYERS], [[rank, *(f'{total[rank][layer]:.3f}' for layer in LAYERS)] for rank in ranks])
for word, part, rank in (('most', 'a', slowest), ('least', 'b', fastest)):
    times = [tree.inclusive(call) for call in calls[rank]]
    study.chart(f'17-{word}', f'Figure 17{part}: inclusive latency by call of process {rank}, the aggregator with the {word} disk time',
                f'call of process {rank}', range(len(times)), {layer: [t[layer] for t in times] for layer in LAYERS}, 's', 'nested')
extremes = {f'{i}-{j}': tree.extreme(fragment, max) for (i, j), fragment in parts[slowest].items()}
study.chart('18-fragments', f'Figure 18: of each write of the first checkpoint the request that is longest at its server, process {slowest}',
            'call - write', list(extremes), {layer: [x.get(layer, 0) for x in extremes.values()] for layer in LAYERS[1:]}, 's', 'nested',
            notes=[f"server {x['at']}" for x in extremes.values()])
speed = {rank: {place: tree.disk_throughput(fragment) for place, fragment in parts[rank].items()} for rank in writers}
# Blocks are placed by hash: which server has parts of the most writes is seen only now.
used = collections.Counter(server for of in speed.values() for servers in of.values() for server in servers)
busiest = max(used, key=lambda server: used[server])
places = sorted({place for of in speed.values() for place, servers in of.items() if busiest in servers})
study.chart('19-throughput', f'Figure 19: disk throughput of server {busiest} for each write of the first checkpoint, by process', 'call - write',
            [f'{i}-{j}' for i, j in places],
            {f'process {rank}': [speed[rank].get(place, {}).get(busiest, 0) / 1e6 for place in places] for rank in writers}, 'MB/s', 'beside')
