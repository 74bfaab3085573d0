#!/usr/bin/env python3
"""darshan_logs.py DIRECTORY: logs of Darshan without a trace: of four ranks that share a file, with heat maps and without."""
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'darshan'))

from encode import Log, Record  # noqa: E402
from samples import FILE, HEAT, MOUNTS, NAMES, some_record  # noqa: E402

counters = some_record('POSIX', 4, FILE, -1, random.Random(1))
counters.numbers = [number % 1000000 for number in counters.numbers]
counters.reals = [time % 1 + 0.1 for time in counters.reals]
heat = [Record('HEATMAP', HEAT, rank, [], [5.0], writes=[0, 0, 3 << 20], reads=[1 << 20, 0, 0]) for rank in range(4)]
for name, records in (('counters', [counters]), ('heat', [counters, *heat])):
    with open(os.path.join(sys.argv[1], name + '.ioseer'), 'wb') as file:
        file.write(Log(records, names=NAMES, mounts=MOUNTS).bytes())
