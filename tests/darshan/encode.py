"""Makes logs of Darshan, and what darshan-parser prints of them: all 3.x versions, both byte orders, zlib, bzip2 and none.

Shares nothing with ioseer's own reader and tables: the purpose is to find where the two disagree.
"""
import bz2
import struct
import zlib

BINS = '0_100 100_1K 1K_10K 10K_100K 100K_1M 1M_4M 4M_10M 10M_100M 100M_1G 1G_PLUS'.split()
TOP, DIMS = '1234', '12345'
RANKS = ['FASTEST_RANK', 'FASTEST_RANK_BYTES', 'SLOWEST_RANK', 'SLOWEST_RANK_BYTES']
ACCESS = [f'ACCESS{n}_ACCESS' for n in TOP] + [f'ACCESS{n}_COUNT' for n in TOP]
SHAPES = [name for n in TOP for name in
          [f'ACCESS{n}_ACCESS'] + [f'ACCESS{n}_{kind}_D{d}' for kind in ('LENGTH', 'STRIDE') for d in DIMS]]
SIZES = [f'SIZE_{kind}_{size}' for kind in ('READ', 'WRITE') for size in BINS]
SIZES_AGG = [f'SIZE_{kind}_AGG_{size}' for kind in ('READ', 'WRITE') for size in BINS]
TIMES = ['OPEN_START_TIMESTAMP', 'READ_START_TIMESTAMP', 'WRITE_START_TIMESTAMP', 'CLOSE_START_TIMESTAMP',
         'OPEN_END_TIMESTAMP', 'READ_END_TIMESTAMP', 'WRITE_END_TIMESTAMP', 'CLOSE_END_TIMESTAMP', 'READ_TIME',
         'WRITE_TIME', 'META_TIME', 'MAX_READ_TIME', 'MAX_WRITE_TIME', 'FASTEST_RANK_TIME', 'SLOWEST_RANK_TIME',
         'VARIANCE_RANK_TIME', 'VARIANCE_RANK_BYTES']
VARS = ['VAR', 'VAR1', 'VARA', 'VARS', 'VARM', 'VARN', 'VARD']


def words(text):
    return text.split()


# Module -> (number in version 3.41, prefix, integers, floating-point numbers)
MODULES = {
    'POSIX': (1, 'POSIX', words(
        'OPENS FILENOS DUPS READS WRITES SEEKS STATS MMAPS FSYNCS FDSYNCS RENAME_SOURCES RENAME_TARGETS RENAMED_FROM MODE '
        'BYTES_READ BYTES_WRITTEN MAX_BYTE_READ MAX_BYTE_WRITTEN CONSEC_READS CONSEC_WRITES SEQ_READS SEQ_WRITES '
        'RW_SWITCHES MEM_NOT_ALIGNED MEM_ALIGNMENT FILE_NOT_ALIGNED FILE_ALIGNMENT MAX_READ_TIME_SIZE '
        'MAX_WRITE_TIME_SIZE') + SIZES + [f'STRIDE{n}_STRIDE' for n in TOP] + [f'STRIDE{n}_COUNT' for n in TOP] +
        ACCESS + RANKS, TIMES),
    'MPI-IO': (2, 'MPIIO', words(
        'INDEP_OPENS COLL_OPENS INDEP_READS INDEP_WRITES COLL_READS COLL_WRITES SPLIT_READS SPLIT_WRITES NB_READS NB_WRITES '
        'SYNCS HINTS VIEWS MODE BYTES_READ BYTES_WRITTEN RW_SWITCHES MAX_READ_TIME_SIZE MAX_WRITE_TIME_SIZE') + SIZES_AGG +
        ACCESS + RANKS, TIMES),
    'H5F': (3, 'H5F', words('OPENS FLUSHES USE_MPIIO'), words(
        'OPEN_START_TIMESTAMP CLOSE_START_TIMESTAMP OPEN_END_TIMESTAMP CLOSE_END_TIMESTAMP META_TIME')),
    'H5D': (4, 'H5D', words(
        'OPENS READS WRITES FLUSHES BYTES_READ BYTES_WRITTEN RW_SWITCHES REGULAR_HYPERSLAB_SELECTS '
        'IRREGULAR_HYPERSLAB_SELECTS POINT_SELECTS MAX_READ_TIME_SIZE MAX_WRITE_TIME_SIZE') + SIZES_AGG + SHAPES +
        [f'ACCESS{n}_COUNT' for n in TOP] + words('DATASPACE_NDIMS DATASPACE_NPOINTS DATATYPE_SIZE') +
        [f'CHUNK_SIZE_D{d}' for d in DIMS] + words('USE_MPIIO_COLLECTIVE USE_DEPRECATED') + RANKS, TIMES),
    'PNETCDF_FILE': (5, 'PNETCDF_FILE', words(
        'CREATES OPENS REDEFS INDEP_WAITS COLL_WAITS SYNCS BYTES_READ BYTES_WRITTEN WAIT_FAILURES'), words(
        'OPEN_START_TIMESTAMP CLOSE_START_TIMESTAMP WAIT_START_TIMESTAMP OPEN_END_TIMESTAMP CLOSE_END_TIMESTAMP '
        'WAIT_END_TIMESTAMP META_TIME WAIT_TIME')),
    'PNETCDF_VAR': (6, 'PNETCDF_VAR', words(
        'OPENS INDEP_READS INDEP_WRITES COLL_READS COLL_WRITES NB_READS NB_WRITES BYTES_READ BYTES_WRITTEN RW_SWITCHES') +
        [f'{kind}_{var}' for kind in ('PUT', 'GET') for var in VARS] +
        [f'{kind}_{var}' for kind in ('IPUT', 'IGET', 'BPUT') for var in VARS[:-1]] +
        words('MAX_READ_TIME_SIZE MAX_WRITE_TIME_SIZE') + SIZES_AGG + SHAPES + [f'ACCESS{n}_COUNT' for n in TOP] +
        words('NDIMS NPOINTS DATATYPE_SIZE IS_RECORD_VAR') + RANKS, TIMES),
    'BG/Q': (7, 'BGQ', words(
        'CSJOBID NNODES RANKSPERNODE DDRPERNODE INODES ANODES BNODES CNODES DNODES ENODES TORUSENABLED'), ['TIMESTAMP']),
    'LUSTRE': (8, 'LUSTRE', words('NUM_COMPONENTS NUM_STRIPES'), []),
    'STDIO': (9, 'STDIO', words(
        'OPENS FDOPENS READS WRITES SEEKS FLUSHES BYTES_WRITTEN BYTES_READ MAX_BYTE_READ MAX_BYTE_WRITTEN') + RANKS, words(
        'META_TIME WRITE_TIME READ_TIME OPEN_START_TIMESTAMP CLOSE_START_TIMESTAMP WRITE_START_TIMESTAMP '
        'READ_START_TIMESTAMP OPEN_END_TIMESTAMP CLOSE_END_TIMESTAMP WRITE_END_TIMESTAMP READ_END_TIMESTAMP '
        'FASTEST_RANK_TIME SLOWEST_RANK_TIME VARIANCE_RANK_TIME VARIANCE_RANK_BYTES')),
    'DXT_POSIX': (10, '', [], []),
    'DXT_MPIIO': (11, '', [], []),
    'MDHIM': (12, 'MDHIM', words('PUTS GETS PUT_MAX_SIZE GET_MAX_SIZE SERVERS'), words(
        'PUT_TIMESTAMP GET_TIMESTAMP PUT_MAX_DURATION GET_MAX_DURATION')),
    'APXC': (13, '', [], []),
    'APMPI': (14, '', [], []),
    'HEATMAP': (15, 'HEATMAP', [], ['BIN_WIDTH_SECONDS']),
    'DFS': (16, 'DFS', words(
        'OPENS GLOBAL_OPENS LOOKUPS DUPS READS READXS WRITES WRITEXS NB_READS NB_WRITES GET_SIZES PUNCHES REMOVES STATS '
        'BYTES_READ BYTES_WRITTEN RW_SWITCHES MAX_READ_TIME_SIZE MAX_WRITE_TIME_SIZE') + SIZES + ACCESS + ['CHUNK_SIZE'] +
        RANKS, TIMES[:15]),
    'DAOS': (17, 'DAOS', words(
        'OBJ_OPENS OBJ_FETCHES OBJ_UPDATES OBJ_PUNCHES OBJ_DKEY_PUNCHES OBJ_AKEY_PUNCHES OBJ_DKEY_LISTS OBJ_AKEY_LISTS '
        'OBJ_RECX_LISTS ARRAY_OPENS ARRAY_READS ARRAY_WRITES ARRAY_GET_SIZES ARRAY_SET_SIZES ARRAY_STATS ARRAY_PUNCHES '
        'ARRAY_DESTROYS KV_OPENS KV_GETS KV_PUTS KV_REMOVES KV_LISTS KV_DESTROYS NB_OPS BYTES_READ BYTES_WRITTEN RW_SWITCHES '
        'MAX_READ_TIME_SIZE MAX_WRITE_TIME_SIZE') + SIZES + ACCESS + words(
        'OBJ_OTYPE ARRAY_CELL_SIZE ARRAY_CHUNK_SIZE') + RANKS, TIMES[:15]),
    'FUTURE': (40, '', [], []),  # of a version that does not exist yet
}
# Names of counters that a version does not have; F_ stands before floating-point numbers.
POSIX_3 = 'FILENOS DUPS RENAME_SOURCES RENAME_TARGETS RENAMED_FROM'.split()
TWO_TIMES = 'F_CLOSE_START_TIMESTAMP F_OPEN_END_TIMESTAMP'.split()
WAITS = 'F_WAIT_START_TIMESTAMP F_WAIT_END_TIMESTAMP F_META_TIME F_WAIT_TIME'.split()
PNETCDF_2 = 'CREATES REDEFS INDEP_WAITS COLL_WAITS SYNCS BYTES_READ BYTES_WRITTEN WAIT_FAILURES'.split() + WAITS
LACKS = {
    ('POSIX', 1): POSIX_3 + TWO_TIMES, ('POSIX', 2): POSIX_3 + TWO_TIMES, ('POSIX', 3): POSIX_3,
    ('MPI-IO', 1): TWO_TIMES, ('MPI-IO', 2): TWO_TIMES, ('STDIO', 1): ['FDOPENS'],
    ('H5F', 1): ['FLUSHES', 'USE_MPIIO', 'F_META_TIME'] + TWO_TIMES, ('H5F', 2): ['FLUSHES', 'USE_MPIIO', 'F_META_TIME'],
    ('PNETCDF_FILE', 1): PNETCDF_2 + TWO_TIMES, ('PNETCDF_FILE', 2): PNETCDF_2,
}
VERSIONS = {'POSIX': 4, 'MPI-IO': 3, 'H5F': 3, 'H5D': 2, 'PNETCDF_FILE': 3, 'PNETCDF_VAR': 1, 'BG/Q': 2, 'LUSTRE': 2,
            'STDIO': 2, 'DXT_POSIX': 2, 'DXT_MPIIO': 3, 'MDHIM': 1, 'HEATMAP': 1, 'DFS': 1, 'DAOS': 1}
CODECS = {'zlib': 0, 'bzip2': 1, 'none': 2}


class Record:
    """A record: its bytes in a version of its module, and the lines that the parser prints of it."""

    def __init__(self, module, identity, rank, numbers=(), reals=(), version=None, **more):
        self.module, self.id, self.rank = module, identity, rank
        self.version = VERSIONS.get(module, 1) if version is None else version
        self.numbers, self.reals, self.more = list(numbers), list(reals), more

    # --- bytes

    def bytes(self, order):
        """In the byte order '<' or '>'."""
        head = struct.pack(order + 'Qq', self.id, self.rank)
        make = {'LUSTRE': self.lustre, 'HEATMAP': self.heatmap, 'DXT_POSIX': self.trace, 'DXT_MPIIO': self.trace}
        return head + make.get(self.module, self.counters)(order)

    def counters(self, order):
        _, _, names, real_names = MODULES[self.module]
        if not names:
            return self.more.get('raw', b'')
        lacks = LACKS.get((self.module, self.version), ())
        numbers = [value for name, value in zip(names, self.numbers) if name not in lacks]
        reals = [value for name, value in zip(real_names, self.reals) if 'F_' + name not in lacks]
        if (self.module, self.version) == ('POSIX', 1):
            numbers[6:6] = self.more.get('stdio', [0, 7, 8, 9])
        if self.module == 'PNETCDF_FILE' and self.version < 3:
            numbers = [self.more['indep'], numbers[0] - self.more['indep']]
        data = b''
        if (self.module, self.version) == ('BG/Q', 1):
            data += bytes(8)
        if self.module in ('H5D', 'PNETCDF_VAR') and (self.module, self.version) != ('H5D', 1):
            data += struct.pack(order + 'Q', self.more['file'])
        data += struct.pack(f'{order}{len(numbers)}q{len(reals)}d', *numbers, *reals)
        if self.module in ('DFS', 'DAOS'):
            data += self.more['pool'] + self.more['container']
        if self.module == 'DAOS':
            data += struct.pack(order + '2Q', *self.more['object'])
        if self.module == 'MDHIM':
            servers = self.more['servers']
            data += struct.pack(f'{order}{max(len(servers), 1)}q', *(servers or [0]))
        return data

    def lustre(self, order):
        """more: parts (seven numbers, pool, servers), and unused ones behind them."""
        parts, unused = self.more['parts'], self.more.get('unused', 0)
        if self.version == 1:
            numbers, _, servers = parts[0]
            return struct.pack(f'{order}5q{len(servers)}q', 11, 2, servers[0], numbers[0], len(servers), *servers)
        servers = [server for part in parts for server in part[2]]
        data = struct.pack(order + '2q', len(parts) + unused, len(servers) + unused)
        for numbers, pool, _ in parts:
            data += struct.pack(order + '7q', *numbers) + pool.ljust(16, b'\0')
        data += (struct.pack(order + '7q', *[-1] * 7) + bytes(16)) * unused
        return data + struct.pack(f'{order}{len(servers) + unused}q', *servers, *[0] * unused)

    def heatmap(self, order):
        writes, reads = self.more['writes'], self.more['reads']
        return (struct.pack(order + 'dqQQ', self.reals[0], len(writes), 0xdead, 0xbeef) +
                struct.pack(f'{order}{2 * len(writes)}q', *writes, *reads))

    def trace(self, order):
        """more: host, writes and reads as (offset, length, start, end, thread)."""
        writes, reads = self.more['writes'], self.more['reads']
        data = struct.pack(order + 'q64sqq', -1 if self.more.get('shared') else 0, self.more['host'], len(writes), len(reads))
        has_thread = self.version >= (2 if self.module == 'DXT_POSIX' else 3)
        for segment in writes + reads:
            data += struct.pack(order + '2q2d', *segment[:4]) + (struct.pack(order + 'Q', segment[4]) if has_thread else b'')
        return data

    # --- text

    def known(self):
        """What a reader knows: (name, integer or float, or None for what the version does not have)."""
        _, prefix, names, real_names = MODULES[self.module]
        lacks = LACKS.get((self.module, self.version), ())
        for name, value in zip(names, self.numbers):
            yield f'{prefix}_{name}', value if name not in lacks else 0 if name == 'RENAMED_FROM' else None
        for name, value in zip(real_names, self.reals):
            yield f'{prefix}_F_{name}', float(value) if 'F_' + name not in lacks else None

    def as_parsed(self, is_swapped):
        """The same as Darshan's parser reads it. It misreads old records of POSIX: it loses the last floating-point numbers
        of versions 2 and 3, and keeps three of the other byte order as they are."""
        values = [[name, (-1.0 if '_F_' in name else -1) if value is None else value] for name, value in self.known()]
        if self.module == 'POSIX' and self.version < 4:
            reals = values[len(self.numbers):]
            for place in range({2: 13, 3: 15}.get(self.version, 17), 17):
                reals[place][1] = 0.0
            for place in (10, 11, 12) if is_swapped else ():
                reals[place][1] = struct.unpack('<d', struct.pack('>d', reals[place][1]))[0]
        return values

    def lines(self, log):
        if self.module in ('DXT_POSIX', 'DXT_MPIIO', 'APXC', 'APMPI', 'FUTURE') or self.more.get('stdio', [0])[0] > 0:
            return
        name = log.names.get(self.id)
        mount, kind = log.mount_of(name)
        if name is None:
            name = b'darshan-bgq-record' if self.module == 'BG/Q' else b'(null)'
        if 'pool' in self.more:
            uuid = [self.more[key].hex() for key in ('pool', 'container')]
            mount = ':'.join('-'.join((u[:8], u[8:12], u[12:16], u[16:20], u[20:])) for u in uuid).encode()
            kind = b'N/A'
        if self.module == 'DAOS':
            name = b'%d.%d' % self.more['object']
        for counter, value in self.values(log):
            text = value if isinstance(value, str) else f'{value:f}' if isinstance(value, float) else str(value)
            yield '\t'.join([self.module, str(self.rank), str(self.id), counter, text,
                             *(part.decode('utf-8', 'surrogateescape') for part in (name, mount, kind))])

    def values(self, log):
        if self.module == 'LUSTRE':
            yield from self.lustre_values()
            return
        yield from self.as_parsed(log.order == '>')
        if self.module in ('H5D', 'PNETCDF_VAR'):
            yield f'{self.module}_FILE_REC_ID', 0 if (self.module, self.version) == ('H5D', 1) else self.more['file']
        if self.module == 'HEATMAP':
            for kind in ('reads', 'writes'):
                for place, value in enumerate(self.more.get('printed_' + kind, self.more[kind])):
                    yield f'HEATMAP_{kind[:-1].upper()}_BIN_{place}', value
        if self.module == 'MDHIM':
            yield from ((f'MDHIM_SERVER_{place}', value) for place, value in enumerate(self.more['servers']))

    def lustre_values(self):
        patterns = {0: 'raid0', 2: 'mdt', 4: 'raid0,overstriped', 8: 'foreign'}
        flags = 'stale prefrd prefwr offline init nosync extension parity compress partial nocompr neg'.split()
        parts = self.more['parts']
        if self.version == 1:
            parts = [([parts[0][0][0], len(parts[0][2]), -1, -1, 0, -1, -1], b'', parts[0][2])]
        yield 'LUSTRE_NUM_COMPONENTS', len(parts)
        yield 'LUSTRE_NUM_STRIPES', sum(len(part[2]) for part in parts)
        names = 'STRIPE_SIZE STRIPE_COUNT STRIPE_PATTERN FLAGS EXT_START EXT_END MIRROR_ID'.split()
        for number, (values, pool, servers) in enumerate(parts, 1):
            for name, value in zip(names, values):
                if name == 'STRIPE_PATTERN':
                    value = patterns.get(value, 'N/A')
                elif name == 'FLAGS':
                    value = 'N/A' if value == -1 else ','.join(f for bit, f in enumerate(flags) if value >> bit & 1) or '0'
                yield f'LUSTRE_COMP{number}_{name}', value
            yield f'LUSTRE_COMP{number}_POOL_NAME', pool.decode() or 'N/A'
            yield from ((f'LUSTRE_COMP{number}_OST_ID_{place}', server) for place, server in enumerate(servers))


class Log:
    """A log. `pieces`: as of so many ranks, each with a compressed stream of its own."""

    def __init__(self, records, version='3.41', order='<', codec='zlib', pieces=1, names=None, mounts=(), partial=(), **job):
        self.records, self.version, self.order, self.codec, self.pieces = records, version, order, codec, pieces
        self.names, self.mounts, self.partial, self.job = names or {}, list(mounts), partial, job

    def mount_of(self, name):
        """The longest mount point that the name begins with; of equal ones the first."""
        matching = [mount for mount in self.mounts if name is not None and name.startswith(mount[1])]
        kind, point = max(matching, key=lambda mount: len(mount[1]), default=(b'UNKNOWN', b'UNKNOWN'))
        return point, kind

    def pack(self, data):
        pack = {'zlib': zlib.compress, 'bzip2': bz2.compress, 'none': bytes}[self.codec]
        return pack(data)

    def slot(self, module):
        number = MODULES[module][0]
        is_old = self.version < '3.41'
        slot = number - (is_old and number > 6) - (self.version < '3.20' and number > 4)
        if module == 'FUTURE' and is_old:
            slot = 15
        assert not (is_old and module == 'PNETCDF_VAR') and not (self.version < '3.20' and module == 'H5D')
        return slot

    def job_bytes(self):
        job = dict({'user': 1000, 'start': 1500000000, 'start_ns': 250000000, 'end': 1500000012, 'end_ns': 750000000,
                    'processes': 4, 'id': 4711, 'metadata': b'lib_ver=3.4.7\nh=cb_nodes=4\n', 'command': b'/bin/app -x 1'},
                   **self.job)
        keys = ('user', 'start', 'start_ns', 'end', 'end_ns', 'processes', 'id')
        values = [job[key] for key in keys if self.version >= '3.41' or not key.endswith('_ns')]
        text = job['command'] + b''.join(b'\n%s\t%s' % mount for mount in self.mounts)
        return struct.pack(f'{self.order}{len(values)}q1024s', *values, job['metadata']) + text

    def name_bytes(self):
        if self.version == '3.00':
            return b''.join(struct.pack(self.order + 'QI', i, len(name)) + name for i, name in self.names.items())
        return b''.join(struct.pack(self.order + 'Q', i) + name + b'\0' for i, name in self.names.items())

    def module_bytes(self, module):
        records = [record.bytes(self.order) for record in self.records if record.module == module]
        step = -(-len(records) // self.pieces)
        return b''.join(self.pack(b''.join(records[at:at + step])) for at in range(0, len(records), step))

    def bytes(self):
        is_old = self.version < '3.41'
        header = 360 if is_old else 1328
        slots = 16 if is_old else 64
        maps, versions, body, partial = [(0, 0)] * slots, [0] * slots, b'', 0
        job = self.pack(self.job_bytes())
        body += job
        names = self.pack(self.name_bytes()) if self.names else b''
        name_map = (header + len(body), len(names)) if names else (0, 0)
        body += names
        for module in MODULES:
            used = [record for record in self.records if record.module == module]
            if not used and module not in self.partial:
                continue
            data = self.module_bytes(module) if used else b''
            maps[self.slot(module)] = (header + len(body), len(data))
            versions[self.slot(module)] = used[0].version if used else VERSIONS.get(module, 1)
            partial |= (module in self.partial) << self.slot(module)
            body += data
        start = struct.pack(self.order + '8sqB', self.version.encode(), 6567223, CODECS[self.codec])
        start += struct.pack(self.order + ('3xI' if is_old else '7xQ'), partial)
        flat = [value for entry in [name_map, *maps] for value in entry]
        return start + struct.pack(f'{self.order}{len(flat)}Q{slots}I', *flat, *versions) + body

    def lines(self):
        return [line for module in MODULES for record in self.records if record.module == module for line in record.lines(self)]
