"""What each example does, derived from its options: the calls of every rank on the example's files, in order.

Written from the description at the top of each example, not from its code. A call is a dictionary with keys of `ioseer
dump --json`; ANY matches every value, for example a file descriptor. `tick` counts the MPI calls that the rank has
begun: communication, completion and I/O.
"""

ANY = object()
DOUBLE = 8
COLLECTIVE = {f'MPI_File_{op}' for op in ('open', 'close', 'set_size', 'preallocate', 'set_info', 'set_atomicity', 'sync',
                                          'set_view', 'seek_shared')}  # besides transfers


class Rank:
    """The calls of one rank, and its clock."""

    def __init__(self, number, ranks):
        self.number = number
        self.ranks = ranks
        self.tick = 0
        self.calls = []

    def communicate(self, calls=1):
        self.tick += calls

    def mpi(self, op, kind, name, **more):
        """A call of MPI-IO. A transfer's view_offset is its offset unless given."""
        self.tick += 1
        if 'offset' in more and kind in ('read', 'write'):
            more.setdefault('view_offset', more['offset'])
        self._add('mpiio', f'MPI_File_{op}', kind, name, more)

    def posix(self, op, kind, name, **more):
        self._add('posix', op, kind, name, more)

    def stdio(self, op, kind, name, **more):
        self._add('stdio', op, kind, name, more)

    def _add(self, layer, op, kind, name, more):
        call = {'layer': layer, 'op': op, 'class': kind, 'file': name, 'tick': self.tick, 'errno': 0, 'result': 0,
                'parent': None}
        if layer == 'mpiio':
            call['collective'] = op in COLLECTIVE or op.endswith('_all')
        if kind in ('read', 'write'):
            call['result'] = more['size']
        if 'to' in more:
            call['result'] = more.pop('to')
        self.calls.append({**call, **more})


# --- madbench

def madbench(rank, options):
    bins, size = options.get('bins', 8), options.get('size', 1 << 20)
    api, unique = options.get('api', 'mpiio'), options.get('unique', False)
    name = f'madbench.{rank.number}.dat' if unique else 'madbench.dat'
    work = [('w', bin) for bin in range(bins)]
    order = [('r', 0)]
    for bin in range(1, bins):
        order += [('r', bin), ('w', bin - 1)]
    work += order + [('w', bins - 1)] + [('r', bin) for bin in range(bins)]
    if api in ('mpiio', 'async'):
        rank.mpi('open', 'open', name)
    else:
        rank.posix('open', 'open', name, result=ANY)
    if api == 'stdio':
        rank.stdio('fdopen', 'open', name, result=ANY)
    for letter, bin in work:
        offset = ((0 if unique else rank.number * bins) + bin) * size
        rank.communicate()
        _madbench_transfer(rank, api, name, letter == 'w', offset, size)
        rank.communicate()
    if api in ('mpiio', 'async'):
        rank.mpi('close', 'close', name)
    elif api == 'posix':
        rank.posix('close', 'close', name)
    else:
        rank.stdio('fclose', 'close', name)


def _madbench_transfer(rank, api, name, writes, offset, size):
    verb = 'write' if writes else 'read'
    if api == 'mpiio':
        rank.mpi('seek', 'seek', name, to=offset)
        rank.mpi(verb, verb, name, offset=offset, size=size)
    elif api == 'async':
        rank.mpi('seek', 'seek', name, to=offset)
        rank.mpi('i' + verb, verb, name, offset=offset, size=size)
        rank.communicate()  # the wait
    elif api == 'posix':
        rank.posix('lseek', 'seek', name, to=offset)
        rank.posix(verb, verb, name, offset=offset, size=size)
    else:
        rank.stdio('fseeko', 'seek', name, result=ANY)
        rank.stdio('f' + verb, verb, name, offset=offset, size=size)


# --- btio

def btio(rank, options):
    grid, steps, interval = options.get('grid', 24), options.get('steps', 40), options.get('interval', 5)
    side = round(rank.ranks ** 0.5)
    edges = [part * grid // side for part in range(side + 1)]
    row, column = divmod(rank.number, side)
    point_bytes = 5 * DOUBLE
    own = 0
    for layer in range(side):
        y, x = (row - layer) % side, (column + layer) % side
        own += point_bytes * ((edges[layer + 1] - edges[layer]) * (edges[y + 1] - edges[y]) * (edges[x + 1] - edges[x]))
    first = (edges[row] * grid + edges[column]) * point_bytes
    dump_bytes = grid ** 3 * point_bytes

    def transfer(op, kind, dump):
        rank.mpi(op, kind, 'btio.dat', offset=dump * dump_bytes + first, view_offset=dump * own, size=own)

    rank.mpi('open', 'open', 'btio.dat')
    rank.mpi('set_view', 'meta', 'btio.dat')
    for step in range(1, steps + 1):
        rank.communicate(options.get('exchanges', 1) * (4 + 4 + 1))  # receives, sends, the wait for all
        if step % interval == 0:
            transfer('write_at_all', 'write', step // interval - 1)
    rank.mpi('close', 'close', 'btio.dat')
    rank.mpi('open', 'open', 'btio.dat')
    rank.mpi('set_view', 'meta', 'btio.dat')
    for dump in range(steps // interval):
        transfer('read_at_all', 'read', dump)
    rank.mpi('close', 'close', 'btio.dat')


# --- s3d

def _prime_factors(number):
    """Largest first."""
    found, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found[::-1]


def s3d(rank, options):
    edge, mode = options.get('edge', 16), options.get('mode', 'collective')
    along = [1, 1, 1]  # processes along x, y, z
    for turn, factor in enumerate(_prime_factors(rank.ranks)):
        along[turn % 3] *= factor
    x, rest = rank.number % along[0], rank.number // along[0]
    y, z = rest % along[1], rest // along[1]
    first = ((z * edge * along[1] + y) * edge * along[0] + x) * edge * DOUBLE
    suffix = '_all' if mode == 'collective' else ''
    for verb in ('write', 'read'):
        for checkpoint in range(options.get('checkpoints', 2)):
            name, displacement = f's3d.{checkpoint}.dat', 0
            rank.mpi('open', 'open', name)
            for components in (11, 3, 1, 1):
                size = components * edge ** 3 * DOUBLE
                rank.mpi('set_view', 'meta', name, offset=displacement)
                rank.mpi(verb + suffix, verb, name, offset=displacement + first, view_offset=0, size=size)
                displacement += size * rank.ranks
            rank.mpi('close', 'close', name)
            if verb == 'write':
                rank.communicate()


# --- ior

def _shuffled(count, seed):
    order, state = list(range(count)), seed
    for last in range(count - 1, 0, -1):
        state = (state * 1103515245 + 12345) % 2 ** 31
        other = (state // 256) % (last + 1)
        order[last], order[other] = order[other], order[last]
    return order


def ior(rank, options):
    block, transfer = options.get('block', 1 << 20), options.get('transfer', 256 << 10)
    mpi = options.get('api', 'mpiio') == 'mpiio'
    each = block // transfer
    count = options.get('segments', 2) * each
    order = _shuffled(count, options.get('seed', 0) + rank.number) if 'random' in options else range(count)
    for verb in ('write', 'read'):
        owner = rank.number if verb == 'write' else (rank.number + options.get('shift', 0)) % rank.ranks
        unique = 'unique' in options
        name = f'ior.{owner}.dat' if unique else 'ior.dat'
        if mpi:
            rank.mpi('open', 'open', name)
        else:
            rank.posix('open', 'open', name, result=ANY)
        rank.communicate()
        for number in order:
            segment, within = divmod(number, each)
            offset = (segment if unique else segment * rank.ranks + owner) * block + within * transfer
            if mpi:
                op = f'{verb}_at_all' if 'collective' in options else f'{verb}_at'
                rank.mpi(op, verb, name, offset=offset, size=transfer)
            else:
                rank.posix('p' + verb, verb, name, offset=offset, size=transfer)
        if mpi:
            rank.mpi('close', 'close', name)
        else:
            rank.posix('close', 'close', name)
        rank.communicate()


# --- small, metadata

def small(rank, options):
    sizes = [options.get('first', 740000), options.get('second', 420000), options.get('third', 240000)]
    files = range(rank.number, options.get('files', 300), rank.ranks)
    for file in files:
        name, offset = f'small.{file}.dat', 0
        rank.posix('open', 'open', name, result=ANY)
        for size in sizes:
            rank.posix('write', 'write', name, offset=offset, size=size)
            offset += size
        rank.posix('close', 'close', name)
    rank.communicate()
    for file in reversed(files):
        name, offset = f'small.{file}.dat', sum(sizes)
        rank.posix('open', 'open', name, result=ANY)
        for size in reversed(sizes):
            offset -= size
            rank.posix('lseek', 'seek', name, to=offset)
            rank.posix('read', 'read', name, offset=offset, size=size)
        rank.posix('close', 'close', name)


def metadata(rank, options):
    shared, size = 'shared' in options, options.get('size', 0)
    directory = f'metadata.{0 if shared else rank.number}'
    files = range(options.get('files', 100))
    owner = not shared or rank.number == 0

    def create(name):
        rank.posix('open', 'open', name, result=ANY)
        if size:
            rank.posix('write', 'write', name, offset=0, size=size)
        rank.posix('close', 'close', name)

    def reopen(name):
        rank.posix('open', 'open', name, result=ANY)
        rank.posix('close', 'close', name)

    passes = [('new', create)]
    passes += [('new', lambda name: rank.posix('stat', 'meta', name))]
    passes += [('new', reopen)]
    passes += [('new', lambda name: rank.posix('rename', 'meta', name))]
    passes += [('old', lambda name: rank.posix('stat', 'meta', name))]
    passes += [('old', lambda name: rank.posix('unlink', 'meta', name))]
    if owner:
        rank.posix('mkdir', 'meta', directory)
    for stem, operation in passes:
        rank.communicate()
        for file in files:
            operation(f'{directory}/{stem}.{rank.number}.{file}')
        rank.communicate()
    if owner:
        rank.posix('rmdir', 'meta', directory)


# --- checkpoint: no MPI, but threads; the "ranks" are the main thread and two workers

def checkpoint(rank, options):
    steps, blocks, size = options.get('s', 4), options.get('n', 64), options.get('b', 65536)
    data, log, position = 'checkpoint.dat', 'checkpoint.log', 0
    if rank.number == 0:
        rank.posix('open', 'open', data, result=ANY)
        rank.stdio('fopen', 'open', log, result=ANY)
        for step in range(steps):
            line = len(f'step {step}: {2 * blocks} blocks\n')
            rank.posix('fsync', 'sync', data)
            rank.stdio('fprintf', 'write', log, offset=position, size=line)
            position += line
        rank.stdio('fclose', 'close', log)
        rank.posix('close', 'close', data)
        return
    for verb in ('write', 'read'):
        for step in range(steps):
            for block in range(blocks):
                offset = ((2 * step + rank.number - 1) * blocks + block) * size
                rank.posix('p' + verb, verb, data, offset=offset, size=size)


# --- forms: the program in this folder

def _forms_transfers(rank, verb, nonblocking, add):
    """Calls of a pass over forms.dat: (op, calls that complete it). `add` puts a transfer into the list."""
    add(f'{verb}_at', 0)
    add(f'{verb}_at_all', 0)
    add(f'i{verb}_at', 1)
    if nonblocking:
        add(f'i{verb}_at_all', 1)
    add(f'{verb}_at_all_begin', 1)
    rank.mpi('seek', 'seek', 'forms.dat', to=(4 + nonblocking) * 12 * 4)
    add(f'{verb}', 0)
    add(f'{verb}_all', 0)
    add(f'i{verb}', 1)
    if nonblocking:
        add(f'i{verb}_all', 1)
    add(f'{verb}_all_begin', 1)


def _forms_pass(rank, verb, nonblocking):
    size, block, position = 12 * 4, 8 * 4, 0

    def add(op, completions):
        nonlocal position
        round_number, within = divmod(position, block)
        offset = 64 + (round_number * rank.ranks + rank.number) * block + within
        rank.mpi(op, verb, 'forms.dat', offset=offset, view_offset=position, size=size, collective='_all' in op)
        rank.communicate(completions)
        position += size

    _forms_transfers(rank, verb, nonblocking, add)


def _forms_shared(rank, verb):
    def add(op, collective, calls_after):
        rank.mpi(op, verb, 'shared.dat', size=48, collective=collective)
        rank.communicate(calls_after)

    add(f'{verb}_shared', False, 1)
    add(f'i{verb}_shared', False, 2)
    add(f'{verb}_ordered', True, 0)
    add(f'{verb}_ordered_begin', True, 1)


def forms(rank, options):
    nonblocking = 'blocking-collectives' not in options
    rank.mpi('open', 'open', 'forms.dat')
    rank.mpi('set_size', 'meta', 'forms.dat', size=4000)
    rank.mpi('preallocate', 'meta', 'forms.dat', size=5000)
    rank.mpi('set_view', 'meta', 'forms.dat', offset=64)
    _forms_pass(rank, 'write', nonblocking)
    rank.mpi('sync', 'sync', 'forms.dat')
    rank.communicate()
    rank.mpi('sync', 'sync', 'forms.dat')
    _forms_pass(rank, 'read', nonblocking)
    rank.mpi('set_atomicity', 'meta', 'forms.dat')
    rank.mpi('close', 'close', 'forms.dat')
    rank.mpi('open', 'open', 'shared.dat')
    _forms_shared(rank, 'write')
    rank.mpi('sync', 'sync', 'shared.dat')
    rank.communicate()
    if 'shared-writes' not in options:
        rank.mpi('seek_shared', 'meta', 'shared.dat')
        _forms_shared(rank, 'read')
    rank.mpi('close', 'close', 'shared.dat')
    rank.mpi('open', 'open', 'deleted.dat')
    rank.mpi('close', 'close', 'deleted.dat')
    if rank.number == 0:
        rank.mpi('delete', 'meta', 'deleted.dat')


PROGRAMS = {'madbench': madbench, 'btio': btio, 's3d': s3d, 'ior': ior, 'small': small, 'metadata': metadata,
            'checkpoint': checkpoint, 'forms': forms}
THREADS = {'checkpoint': 3}  # of a program without MPI


def of(program, ranks, options):
    """The calls of every rank; `program` may have the interface of MPI behind it, as in btio-f90."""
    everyone = [Rank(number, ranks) for number in range(THREADS.get(program, ranks))]
    for rank in everyone:
        PROGRAMS[program.split('-')[0]](rank, options)
    return [rank.calls for rank in everyone]
