"""Records and logs with numbers of all kinds, for the tests and for seeds of the fuzz target."""
import random

import encode
from encode import Log, Record

FILE, DATASET, HEAT, NAMELESS, LONELY = 0xfedcba9876543210, 17, 99, 4242, 5
NAMES = {FILE: b'/scratch/data.bin', DATASET: b'/scratch/data.bin:/group/set', HEAT: b'heatmap:POSIX',
         LONELY: b'/home/me/no\xffte'}
MOUNTS = [(b'ext4', b'/'), (b'lustre', b'/scratch'), (b'nfs', b'/home')]
OLD = {'3.00': {'POSIX': 1, 'MPI-IO': 1, 'H5F': 1, 'PNETCDF_FILE': 1, 'BG/Q': 1},
       '3.10': {'POSIX': 3, 'MPI-IO': 2, 'H5F': 2, 'PNETCDF_FILE': 2, 'STDIO': 1, 'LUSTRE': 1},
       '3.20': {'POSIX': 2, 'H5D': 1, 'STDIO': 2}, '3.21': {'POSIX': 4, 'H5D': 2, 'LUSTRE': 1, 'HEATMAP': 1}, '3.41': {}}
OLD_ONLY = {'3.00': {'STDIO', 'LUSTRE'}, '3.10': set(), '3.20': set(), '3.21': set(), '3.41': set()}
NOT_BEFORE = {'H5D': '3.20', 'PNETCDF_VAR': '3.41', 'HEATMAP': '3.21', 'DFS': '3.41', 'DAOS': '3.41'}


def some_records(version, chance):
    """Records of every module that a log of this version can have, with numbers of all kinds."""
    made = []
    for module in encode.MODULES:
        if module in ('DXT_POSIX', 'DXT_MPIIO', 'APXC', 'APMPI', 'FUTURE') or version < NOT_BEFORE.get(module, '') or \
                module in OLD_ONLY[version]:
            continue
        for rank, identity in ((-1, FILE), (0, LONELY), (3, NAMELESS)):
            made.append(some_record(module, OLD[version].get(module), identity, rank, chance))
    return made


def some_record(module, version, identity, rank, chance):
    _, _, names, reals = encode.MODULES[module]
    numbers = [chance.choice([0, 1, chance.randrange(1 << 40), chance.randrange(1 << 62)]) for _ in names]
    times = [chance.choice([0.0, chance.random(), chance.random() * 1e6, 1 / 3, 1e-9]) for _ in reals]
    more = {}
    if module == 'PNETCDF_FILE':
        numbers[1] = chance.randrange(1, 100)
        more = {'indep': chance.randrange(numbers[1])}
    elif module in ('H5D', 'PNETCDF_VAR'):
        identity, more = (DATASET if identity == FILE else identity), {'file': FILE}
    elif module == 'LUSTRE':
        parts = [([1 << 20, 2, 0, 0, 0, 1 << 30, 0], b'', [5, 3]), ([4 << 20, 1, 4, 0x15, 1 << 30, -1, 7], b'fast', [9])]
        more = {'parts': parts[:1 if version == 1 else 2], 'unused': 0 if version == 1 else rank == -1}
    elif module == 'MDHIM':
        numbers[4], more = 3, {'servers': [7, 0, 8]}
    elif module == 'HEATMAP':
        identity, times = HEAT, [0.1]
        more = {'writes': [chance.randrange(1 << 30) for _ in range(5)], 'reads': [0, 1, 2, 3, 4]}
    elif module in ('DFS', 'DAOS'):
        more = {'pool': bytes(range(16)), 'container': bytes(range(16, 32)), 'object': (1 << 63, 12)}
    return Record(module, identity, rank, numbers, times, version, **more)


def small_logs():
    """One of each version, byte order and compression, with a trace."""
    for number, version in enumerate(OLD):
        for order in '<>':
            chance = random.Random(number)
            trace = [Record(module, FILE, 1, host=b'node', writes=[(0, 10, 0.1, 0.2, 7), (10, 10, 0.3, 0.4, 7)],
                            reads=[(0, 5, 0.15, 0.18, 0)], version=1 + number % 2) for module in ('DXT_POSIX', 'DXT_MPIIO')]
            records = [record for record in some_records(version, chance) if record.rank != 0] + trace
            codec = ('none', 'zlib', 'none', 'bzip2', 'none')[number]
            yield Log(records, version, order, codec, pieces=2, names=NAMES, mounts=MOUNTS, partial=('STDIO',))
