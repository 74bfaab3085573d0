#!/usr/bin/env python3
"""decode.py [--dxt] LOG: prints the counters of a Darshan 3 log in the columns of darshan-parser, or its segments.

Written from a description of the format; shares nothing with ioseer. Strict: whatever the format does not allow is an
error, so that a log that it accepts is a whole one.
"""
import bz2
import re
import struct
import sys
import zlib

MAGIC = 6567223
ZLIB, BZIP2, NONE = 0, 1, 2
JOB_BYTES = 4096
VERSIONS = ('3.00', '3.10', '3.20', '3.21', '3.41')
MODULES = ('NULL', 'POSIX', 'MPI-IO', 'H5F', 'H5D', 'PNETCDF_FILE', 'PNETCDF_VAR', 'BG/Q', 'LUSTRE', 'STDIO', 'DXT_POSIX',
           'DXT_MPIIO', 'MDHIM', 'APXC', 'APMPI', 'HEATMAP', 'DFS', 'DAOS')


class DamagedLog(Exception):
    pass


def check(condition, what):
    if not condition:
        raise DamagedLog(what)


# --- ids

WORD = (1 << 64) - 1
# Each line of the mix: shifts of c to the right, a to the left, b to the right.
SHIFTS = ((43, 9, 8), (38, 23, 5), (35, 49, 11), (12, 18, 22))


def mix(a, b, c):
    for first, second, third in SHIFTS:
        a = (a - b - c & WORD) ^ c >> first
        b = (b - c - a & WORD) ^ a << second & WORD
        c = (c - a - b & WORD) ^ b >> third
    return a, b, c


def record_id(name):
    """Bob Jenkins' lookup8 of a name's bytes, level 0."""
    a, b, c, length = 0, 0, 0x9e3779b97f4a7c13, len(name)
    while len(name) >= 24:
        words = struct.unpack('<3Q', name[:24])
        a, b, c = mix(a + words[0] & WORD, b + words[1] & WORD, c + words[2] & WORD)
        name = name[24:]
    # The length has the place of the last word's first byte.
    words = struct.unpack('<3Q', (name[:16].ljust(17, b'\0') + name[16:]).ljust(24, b'\0'))
    return mix(a + words[0] & WORD, b + words[1] & WORD, c + words[2] + length & WORD)[2]


# --- the counters of each module

def expand(text):
    """Words of which {A|B} stands for one word with each choice, the last pair varying fastest."""
    words = []
    for word in text.split():
        pending = [word]
        while '{' in pending[0]:
            pending = [part.replace(match[0], choice, 1) for part in pending for match in [re.search(r'{([^}]*)}', part)]
                       for choice in match[1].split('|')]
        words += pending
    return words


SIZES = '{0_100|100_1K|1K_10K|10K_100K|100K_1M|1M_4M|4M_10M|10M_100M|100M_1G|1G_PLUS}'
COMMON = 'ACCESS{1|2|3|4}_ACCESS ACCESS{1|2|3|4}_COUNT'
SHAPES = ' '.join(f'ACCESS{n}_ACCESS ACCESS{n}_{{LENGTH|STRIDE}}_D{{1|2|3|4|5}}' for n in range(1, 5)) + ' ACCESS{1|2|3|4}_COUNT'
RANKS = '{FASTEST|SLOWEST}_RANK{|_BYTES}'
TIMES = ('F_{OPEN|READ|WRITE|CLOSE}_START_TIMESTAMP F_{OPEN|READ|WRITE|CLOSE}_END_TIMESTAMP F_READ_TIME F_WRITE_TIME '
         'F_META_TIME F_MAX_READ_TIME F_MAX_WRITE_TIME F_FASTEST_RANK_TIME F_SLOWEST_RANK_TIME')
VARIANCES = 'F_VARIANCE_RANK_TIME F_VARIANCE_RANK_BYTES'
WHERE = 'VAR VAR1 VARA VARS VARM VARN'.split()
PARTS = ' '.join(f'{verb}_{part}' for verb, parts in (('PUT', WHERE + ['VARD']), ('GET', WHERE + ['VARD']), ('IPUT', WHERE),
                                                      ('IGET', WHERE), ('BPUT', WHERE)) for part in parts)


def sizes(infix):
    return f'MAX_READ_TIME_SIZE MAX_WRITE_TIME_SIZE SIZE_READ{infix}_{SIZES} SIZE_WRITE{infix}_{SIZES}'


# Prefix, the counters in 3.41, those with fractions.
COUNTERS = {
    'POSIX': ('POSIX', 'OPENS FILENOS DUPS READS WRITES SEEKS STATS MMAPS FSYNCS FDSYNCS RENAME_SOURCES RENAME_TARGETS '
              'RENAMED_FROM MODE BYTES_READ BYTES_WRITTEN MAX_BYTE_READ MAX_BYTE_WRITTEN CONSEC_READS CONSEC_WRITES '
              'SEQ_READS SEQ_WRITES RW_SWITCHES MEM_NOT_ALIGNED MEM_ALIGNMENT FILE_NOT_ALIGNED FILE_ALIGNMENT '
              f'{sizes("")} STRIDE{{1|2|3|4}}_STRIDE STRIDE{{1|2|3|4}}_COUNT {COMMON} {RANKS}', f'{TIMES} {VARIANCES}'),
    'MPI-IO': ('MPIIO', 'INDEP_OPENS COLL_OPENS INDEP_READS INDEP_WRITES COLL_READS COLL_WRITES SPLIT_READS SPLIT_WRITES '
               'NB_READS NB_WRITES SYNCS HINTS VIEWS MODE BYTES_READ BYTES_WRITTEN RW_SWITCHES '
               f'{sizes("_AGG")} {COMMON} {RANKS}', f'{TIMES} {VARIANCES}'),
    'H5F': ('H5F', 'OPENS FLUSHES USE_MPIIO', 'F_OPEN_START_TIMESTAMP F_CLOSE_START_TIMESTAMP F_OPEN_END_TIMESTAMP '
            'F_CLOSE_END_TIMESTAMP F_META_TIME'),
    'H5D': ('H5D', 'OPENS READS WRITES FLUSHES BYTES_READ BYTES_WRITTEN RW_SWITCHES REGULAR_HYPERSLAB_SELECTS '
            f'IRREGULAR_HYPERSLAB_SELECTS POINT_SELECTS {sizes("_AGG")} {SHAPES} DATASPACE_NDIMS DATASPACE_NPOINTS '
            f'DATATYPE_SIZE CHUNK_SIZE_D{{1|2|3|4|5}} USE_MPIIO_COLLECTIVE USE_DEPRECATED {RANKS}', f'{TIMES} {VARIANCES}'),
    'PNETCDF_FILE': ('PNETCDF_FILE', 'CREATES OPENS REDEFS INDEP_WAITS COLL_WAITS SYNCS BYTES_READ BYTES_WRITTEN WAIT_FAILURES',
                     'F_OPEN_START_TIMESTAMP F_CLOSE_START_TIMESTAMP F_WAIT_START_TIMESTAMP F_OPEN_END_TIMESTAMP '
                     'F_CLOSE_END_TIMESTAMP F_WAIT_END_TIMESTAMP F_META_TIME F_WAIT_TIME'),
    'PNETCDF_VAR': ('PNETCDF_VAR', 'OPENS INDEP_READS INDEP_WRITES COLL_READS COLL_WRITES NB_READS NB_WRITES BYTES_READ '
                    f'BYTES_WRITTEN RW_SWITCHES {PARTS} {sizes("_AGG")} {SHAPES} NDIMS NPOINTS DATATYPE_SIZE IS_RECORD_VAR '
                    f'{RANKS}', f'{TIMES} {VARIANCES}'),
    'BG/Q': ('BGQ', 'CSJOBID NNODES RANKSPERNODE DDRPERNODE INODES {A|B|C|D|E}NODES TORUSENABLED', 'F_TIMESTAMP'),
    'STDIO': ('STDIO', 'OPENS FDOPENS READS WRITES SEEKS FLUSHES BYTES_WRITTEN BYTES_READ MAX_BYTE_READ MAX_BYTE_WRITTEN '
              f'{RANKS}', 'F_META_TIME F_WRITE_TIME F_READ_TIME F_{OPEN|CLOSE|WRITE|READ}_START_TIMESTAMP '
              f'F_{{OPEN|CLOSE|WRITE|READ}}_END_TIMESTAMP F_FASTEST_RANK_TIME F_SLOWEST_RANK_TIME {VARIANCES}'),
    'DFS': ('DFS', 'OPENS GLOBAL_OPENS LOOKUPS DUPS READS READXS WRITES WRITEXS NB_READS NB_WRITES GET_SIZES PUNCHES REMOVES '
            f'STATS BYTES_READ BYTES_WRITTEN RW_SWITCHES {sizes("")} {COMMON} CHUNK_SIZE {RANKS}', TIMES),
    'DAOS': ('DAOS', 'OBJ_OPENS OBJ_FETCHES OBJ_UPDATES OBJ_PUNCHES OBJ_DKEY_PUNCHES OBJ_AKEY_PUNCHES OBJ_DKEY_LISTS '
             'OBJ_AKEY_LISTS OBJ_RECX_LISTS ARRAY_OPENS ARRAY_READS ARRAY_WRITES ARRAY_GET_SIZES ARRAY_SET_SIZES ARRAY_STATS '
             'ARRAY_PUNCHES ARRAY_DESTROYS KV_OPENS KV_GETS KV_PUTS KV_REMOVES KV_LISTS KV_DESTROYS NB_OPS BYTES_READ '
             f'BYTES_WRITTEN RW_SWITCHES {sizes("")} {COMMON} OBJ_OTYPE ARRAY_CELL_SIZE ARRAY_CHUNK_SIZE {RANKS}', TIMES),
}
FIXED_NAMES = {'BG/Q': 'darshan-bgq-record'}
OBJECTS = ('H5D', 'PNETCDF_VAR') # their records say which file they are in
TAIL = {'DFS': 32, 'DAOS': 48}

# What earlier versions of a record lack; {module: {version: names}}.
CLOSE_OPEN = 'F_CLOSE_START_TIMESTAMP F_OPEN_END_TIMESTAMP'
FILENOS = 'FILENOS DUPS RENAME_SOURCES RENAME_TARGETS RENAMED_FROM'
LACKS = {
    'POSIX': {1: f'{FILENOS} {CLOSE_OPEN}', 2: f'{FILENOS} {CLOSE_OPEN}', 3: FILENOS, 4: ''},
    'MPI-IO': {1: CLOSE_OPEN, 2: CLOSE_OPEN, 3: ''},
    'STDIO': {1: 'FDOPENS', 2: ''},
    'H5F': {1: 'FLUSHES USE_MPIIO F_CLOSE_START_TIMESTAMP F_OPEN_END_TIMESTAMP F_META_TIME',
            2: 'FLUSHES USE_MPIIO F_META_TIME', 3: ''},
    'H5D': {1: '', 2: ''},
    'PNETCDF_VAR': {1: ''},
    'BG/Q': {2: ''},
    'DFS': {1: ''},
    'DAOS': {1: ''},
}
STDIO_IN_POSIX = 4 # counters that version 1 has between MMAPS and FSYNCS


class Layout:
    """How the records of a module of a version are laid out."""

    def __init__(self, module, version):
        prefix, counters, reals = COUNTERS[module]
        self.module, self.version = module, version
        self.names = [f'{prefix}_{name}' for name in expand(counters)]
        self.reals = [f'{prefix}_{name}' for name in expand(reals)]
        self.has_file = module in OBJECTS and not (module == 'H5D' and version == 1)
        self.stored, self.stored_reals = self.names, self.reals
        if module == 'PNETCDF_FILE' and version < 3:
            stamps = ('OPEN_START', 'CLOSE_END') if version == 1 else ('OPEN_START', 'CLOSE_START', 'OPEN_END', 'CLOSE_END')
            self.stored = ['INDEP_OPENS', 'COLL_OPENS']
            self.stored_reals = [f'{prefix}_F_{stamp}_TIMESTAMP' for stamp in stamps]
        elif module != 'PNETCDF_FILE' or version != 3:
            check(version in LACKS.get(module, {}), f'{module}: version {version}')
            lacks = {f'{prefix}_{name}' for name in LACKS[module][version].split()}
            self.stored = [name for name in self.names if name not in lacks]
            self.stored_reals = [name for name in self.reals if name not in lacks]
        if module == 'POSIX' and version == 1:
            at = self.stored.index('POSIX_FSYNCS')
            self.stored = self.stored[:at] + [f'stdio {i}' for i in range(STDIO_IN_POSIX)] + self.stored[at:]
        self.bytes = 16 + 8 * (len(self.stored) + len(self.stored_reals) + self.has_file) + TAIL.get(module, 0)

    def decode(self, order, data):
        """A record, or None for one that cannot be told in today's counters."""
        record = Record(self.module, *struct.unpack_from(order + 'Qq', data))
        at = 16
        if self.has_file:
            record.file_id, = struct.unpack_from(order + 'Q', data, at)
            at += 8
        found = dict(zip(self.stored, struct.unpack_from(f'{order}{len(self.stored)}q', data, at)))
        at += 8 * len(self.stored)
        found.update(zip(self.stored_reals, struct.unpack_from(f'{order}{len(self.stored_reals)}d', data, at)))
        if found.get('stdio 0', 0) > 0:
            return None
        if 'INDEP_OPENS' in found:
            found['PNETCDF_FILE_OPENS'] = found['INDEP_OPENS'] + found['COLL_OPENS']
        if self.module == 'POSIX' and self.version < 4:
            found['POSIX_RENAMED_FROM'] = 0
        if 'POSIX_RENAMED_FROM' in found:
            found['POSIX_RENAMED_FROM'] &= WORD # an id
        record.counters = [(name, found.get(name, -1)) for name in self.names]
        record.counters += [(name, found.get(name, -1.0)) for name in self.reals]
        if self.module in OBJECTS:
            record.counters.append((f'{self.module}_FILE_REC_ID', record.file_id))
        return record


class Record:
    def __init__(self, module, number, rank):
        self.module, self.id, self.rank = module, number, rank
        self.counters = []      # (name, value) in the order of the parser
        self.file_id = 0        # of an object
        self.host = ''          # of DXT, as the rest
        self.segments = {}      # by 'write' and 'read': (offset, length, start, end, thread or None)


# --- modules whose records differ in length

class Reader:
    def __init__(self, order, data):
        self.order, self.data, self.at = order, data, 0

    def get(self, form):
        size = struct.calcsize(self.order + form)
        check(self.at + size <= len(self.data), 'a record is cut off')
        values = struct.unpack_from(self.order + form, self.data, self.at)
        self.at += size
        return values

    def count(self, most):
        number, = self.get('q')
        check(0 <= number <= most, f'a count of {number}')
        return number


def text_of(field):
    return field.split(b'\0', 1)[0].decode('utf-8', 'surrogateescape')


PATTERNS = {0: 'raid0', 2: 'mdt', 4: 'raid0,overstriped'}
PARTS_OF_LAYOUT = 'STRIPE_SIZE STRIPE_COUNT STRIPE_PATTERN FLAGS EXT_START EXT_END MIRROR_ID'.split()


def lustre_record(reader, version):
    record = Record('LUSTRE', *reader.get('Qq'))
    if version == 1:
        names = 'OSTS MDTS STRIPE_OFFSET STRIPE_SIZE STRIPE_WIDTH'.split()
        values = reader.get('5q')
        record.counters = [(f'LUSTRE_{name}', value) for name, value in zip(names, values)]
        targets = reader.get(f'{max(values[4], 0)}q')
        record.counters += [(f'LUSTRE_OST_ID_{i}', target) for i, target in enumerate(targets)]
        return record
    check(version == 2, f'LUSTRE: version {version}')
    components, stripes = reader.count(1 << 20), reader.count(1 << 20)
    parts = [reader.get('7q16s') for _ in range(components)]
    targets = list(reader.get(f'{stripes}q'))
    unused = [i for i, part in enumerate(parts) if part[0] == -1]
    if unused:
        parts = parts[:unused[0]]
        stripes = sum(part[1] for part in parts)
    record.counters = [('LUSTRE_NUM_COMPONENTS', len(parts)), ('LUSTRE_NUM_STRIPES', stripes)]
    for number, part in enumerate(parts, 1):
        for name, value in zip(PARTS_OF_LAYOUT, part):
            record.counters.append((f'LUSTRE_COMP{number}_{name}',
                                    PATTERNS.get(value, value) if name == 'STRIPE_PATTERN' else value))
        record.counters.append((f'LUSTRE_COMP{number}_POOL_NAME', text_of(part[7]) or 'N/A'))
        count = min(max(part[1], 0), len(targets))
        record.counters += [(f'LUSTRE_COMP{number}_OST_ID_{i}', target) for i, target in enumerate(targets[:count])]
        targets = targets[count:]
    return record


def heatmap_record(reader, version):
    check(version == 1, f'HEATMAP: version {version}')
    record = Record('HEATMAP', *reader.get('Qq'))
    width, = reader.get('d')
    bins = reader.count(1 << 16)
    reader.get('2q') # pointers in the recorder's memory
    written, read = reader.get(f'{bins}q'), reader.get(f'{bins}q')
    record.counters = [('HEATMAP_F_BIN_WIDTH_SECONDS', width)]
    record.counters += [(f'HEATMAP_READ_BIN_{i}', value) for i, value in enumerate(read)]
    record.counters += [(f'HEATMAP_WRITE_BIN_{i}', value) for i, value in enumerate(written)]
    return record


def trace_record(module, reader, version):
    last = {'DXT_POSIX': 2, 'DXT_MPIIO': 3}[module]
    check(1 <= version <= last, f'{module}: version {version}')
    record = Record(module, *reader.get('Qq'))
    _, host = reader.get('q64s')
    record.host = text_of(host)
    counts = {'write': reader.count(1 << 40), 'read': reader.count(1 << 40)}
    for kind in ('write', 'read'):
        segments = [reader.get('qqddQ' if version == last else 'qqdd') for _ in range(counts[kind])]
        if module == 'DXT_MPIIO' and version == 1:
            segments = [(-1, *segment[1:]) for segment in segments]
        record.segments[kind] = segments if version == last else [(*segment, None) for segment in segments]
    return record


# --- the log

class Log:
    def __init__(self, data):
        self.data = data
        self.records, self.unknown = [], []
        self.read_header()
        self.read_job()
        self.read_names()
        for number in sorted(self.regions):
            self.read_module(number, *self.regions[number])

    def read_header(self):
        check(len(self.data) >= 360, 'no header')
        self.version = text_of(self.data[:8])
        check(self.version in VERSIONS, f'version {self.version!r}')
        self.order = next((order for order in '<>' if struct.unpack_from(order + 'q', self.data, 8) == (MAGIC,)), None)
        check(self.order, 'no magic number')
        is_new = self.version == '3.41'
        count = 64 if is_new else 16
        self.header_bytes = 1328 if is_new else 360
        check(len(self.data) >= self.header_bytes, 'the header is cut off')
        form = f'{self.order}8sqB7xQ{2 + 2 * count}Q{count}I' if is_new else f'{self.order}8sqB3xI{2 + 2 * count}Q{count}I'
        fields = struct.unpack_from(form, self.data)
        self.compression, partial = fields[2:4]
        check(self.compression <= NONE, f'compression {self.compression}')
        self.name_region = fields[4:6]
        versions = fields[6 + 2 * count:]
        self.regions, self.versions, self.partial = {}, {}, set()
        for i in range(count):
            offset, length = fields[6 + 2 * i:8 + 2 * i]
            if length:
                self.regions[self.module_number(i)] = offset, length
                self.versions[self.module_number(i)] = versions[i]
                check(offset >= self.header_bytes and offset + length <= len(self.data), f'region {i} is not in the file')
            if partial >> i & 1:
                self.partial.add(self.module_number(i))

    def module_number(self, i):
        """Earlier versions had fewer modules."""
        if self.version < '3.20' and i >= 4:
            i += 1
        if self.version < '3.41' and i >= 6:
            i += 1
        return i

    def unpack(self, region):
        packed, parts = self.data[region[0]:region[0] + region[1]], []
        if self.compression == NONE:
            return packed
        while packed:
            stream = zlib.decompressobj() if self.compression == ZLIB else bz2.BZ2Decompressor()
            try:
                parts.append(stream.decompress(packed))
            except (zlib.error, OSError) as error:
                raise DamagedLog(f'region at {region[0]}: {error}') from error
            check(stream.eof, f'region at {region[0]}: a stream is cut off')
            packed = stream.unused_data
        return b''.join(parts)

    def read_job(self):
        starts = [self.name_region[0]] if self.name_region[0] else [offset for offset, _ in self.regions.values()]
        end = min(starts, default=len(self.data))
        data = self.unpack((self.header_bytes, end - self.header_bytes))
        form, names = ('7q', 'uid start start_ns end end_ns nprocs id') if self.version == '3.41' else (
            '5q', 'uid start end nprocs id')
        size = struct.calcsize('<' + form)
        check(size + 1024 <= len(data) <= JOB_BYTES, f'{len(data)} bytes of the job')
        self.job = dict(zip(names.split(), struct.unpack_from(self.order + form, data)))
        self.metadata = dict(line.split('=', 1) for line in text_of(data[size:size + 1024]).split('\n') if '=' in line)
        self.command, *mounts = text_of(data[size + 1024:]).split('\n')
        check(all('\t' in line for line in mounts), 'a mount without a tab')
        self.mounts = [tuple(line.split('\t', 1)[::-1]) for line in mounts]

    def read_names(self):
        self.names = {}
        if not self.name_region[1]:
            return
        data, at = self.unpack(self.name_region), 0
        while at < len(data):
            check(at + 8 <= len(data), 'a name is cut off')
            number, = struct.unpack_from(self.order + 'Q', data, at)
            at += 8
            if self.version == '3.00':
                length, = struct.unpack_from(self.order + 'I', data, at)
                at += 4
                name, at = data[at:at + length], at + length
                check(at <= len(data), 'a name is cut off')
            else:
                end = data.find(b'\0', at)
                check(end >= 0, 'a name without an end')
                name, at = data[at:end], end + 1
            if name or number not in self.names:
                self.names[number] = name.decode('utf-8', 'surrogateescape')

    def read_module(self, number, offset, length):
        module = MODULES[number] if number < len(MODULES) else str(number)
        version = self.versions[number]
        if module in COUNTERS:
            layout, data = Layout(module, version), self.unpack((offset, length))
            check(len(data) % layout.bytes == 0, f'{module}: {len(data)} bytes are no multiple of {layout.bytes}')
            found = [layout.decode(self.order, data[at:at + layout.bytes]) for at in range(0, len(data), layout.bytes)]
            self.records += [record for record in found if record]
        elif module in ('LUSTRE', 'HEATMAP', 'DXT_POSIX', 'DXT_MPIIO'):
            reader = Reader(self.order, self.unpack((offset, length)))
            while reader.at < len(reader.data):
                self.records.append(lustre_record(reader, version) if module == 'LUSTRE' else
                                    heatmap_record(reader, version) if module == 'HEATMAP' else
                                    trace_record(module, reader, version))
        else:
            self.unknown.append(module)

    def mount_of(self, name):
        found = [mount for mount in self.mounts if name.startswith(mount[0])]
        return max(found, key=lambda mount: len(mount[0]), default=('UNKNOWN', 'UNKNOWN'))

    def misread(self, record, counter, value):
        """The value that darshan-parser prints: it does not swap some of earlier versions, and drops one."""
        if record.module != 'POSIX' or self.versions[1] >= 4:
            return value
        if self.order == '>' and counter in ('POSIX_F_META_TIME', 'POSIX_F_MAX_READ_TIME', 'POSIX_F_MAX_WRITE_TIME'):
            return struct.unpack('<d', struct.pack('>d', value))[0]
        return 0.0 if self.versions[1] == 3 and '_F_VARIANCE_' in counter else value

    def counter_lines(self):
        """What darshan-parser prints, but for its comments."""
        for record in self.records:
            name = self.names.get(record.id, FIXED_NAMES.get(record.module, ''))
            mount = self.mount_of(name)
            for counter, value in record.counters:
                value = self.misread(record, counter, value)
                text = f'{value:f}' if isinstance(value, float) else str(value)
                yield '\t'.join((record.module, str(record.rank), str(record.id), counter, text, name, *mount))

    def segment_lines(self):
        for record in self.records:
            for kind in ('write', 'read') if record.segments else ():
                for i, (offset, length, start, end, thread) in enumerate(record.segments[kind]):
                    yield '\t'.join(map(str, (record.module, record.rank, record.host, record.id, kind, i, offset, length,
                                              f'{start:.4f}', f'{end:.4f}', '' if thread is None else thread)))


def read_log(path):
    with open(path, 'rb') as file:
        return Log(file.read())


def main():
    sys.stdout.reconfigure(errors='surrogateescape')
    log = read_log(sys.argv[-1])
    for line in log.segment_lines() if '--dxt' in sys.argv[1:-1] else log.counter_lines():
        print(line)
    for module in log.unknown:
        print(f'# {module} is not decoded')


if __name__ == '__main__':
    main()
