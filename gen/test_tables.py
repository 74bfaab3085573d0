"""What the generated tests pass to the calls, and what the recorder must then see. Data for gen_tests.py.

Values are C expressions; `f` is the fixture (tests/call/fixture.h). A new call needs a row here only if the usual values
of its roles and parameters do not fit.
"""


def table(text):
    """Lines `name name: key=value; key=value` -> {name: {key: value}}"""
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        names, _, values = line.partition(': ')
        for name in names.split():
            found[name] = dict(value.split('=', 1) for value in values.split('; '))
    return found


# By role. A path that goes with a directory descriptor is made relative to it.
ROLES = {
    'fd': 'f.fd', 'fd2': 'HIGH_FD', 'dirfd': 'f.dirfd', 'dirfd2': 'f.dirfd', 'path': 'f.path', 'path2': 'f.fresh',
    'buf': 'f.buf', 'len': 'LENGTH', 'off': 'OFFSET', 'iov': 'f.iov', 'count': '2', 'flags': '0', 'mode': '0600',
    'whence': 'SEEK_SET', 'first': 'f.fd', 'last': 'f.fd', 'command': 'F_GETFL', 'argument': '0', 'fds': 'f.pair',
    'in': 'f.fd', 'in_offset': '&f.in_offset', 'out': 'f.out', 'out_offset': '&f.out_offset', 'stream': 'f.stream',
    'dir': 'f.dir', 'address': 'f.map', 'protection': 'PROT_READ | PROT_WRITE', 'new_len': 'PAGE_BYTES',
    'resource': 'RLIMIT_CORE', 'limit': '&(struct rlimit){0, 0}'}

# By name, for parameters without a role.
NAMES = {
    'how': '&(struct open_how){.flags = O_RDWR}', 'how_bytes': 'sizeof(struct open_how)', 'suffix_bytes': '0',
    'flags': '0', 'mode': '0600', 'domain': 'AF_UNIX', 'type': 'SOCK_STREAM', 'protocol': '0', 'fd': '-1',
    'address': 'NULL', 'address_bytes': 'NULL', 'new_address': 'NULL', 'value': '0', 'size': '8', 'count': '4',
    'name': '"user.ioseer"', 'clock': 'CLOCK_MONOTONIC', 'mask': '0', 'room': 'sizeof f.buf', 'high': '0',
    'off': 'OFFSET', 'data': '(void *)f.room', 'version': '1', 'uid': '(uid_t)-1', 'gid': '(gid_t)-1', 'device': '0',
    'target': '"target"', 'times': 'NULL', 'bytes': '1', 'list': 'f.room', 'position': '0', 'filter': 'NULL',
    'order': 'NULL', 'buf': 'f.buf', 'delimiter': "'\\n'", 'text': '"some text"', 'byte': "'x'", 'word': '7',
    'level': '1', 'whence': 'SEEK_SET', 'line': '&f.line', 'command': '"true"', 'entry': '&f.entry',
    'found': '&f.found_entry', 'operation': 'LOCK_SH', 'pid': '0', 'old': 'NULL'}

# For single calls, by name or operation.
SPECIAL = table('''
    open openat: flags=O_RDWR
    creat mkfifo mkfifoat mkdir mkdirat symlink symlinkat: path=f.fresh
    mkstemp mkostemp mkstemps mkostemps mkdtemp: path=f.template
    shm_open: path="/ioseer-case"; flags=O_RDWR | O_CREAT
    accept accept4: fd=f.fd
    epoll_create: size=1
    signalfd: mask=&f.signals
    posix_openpt: flags=O_RDWR | O_NOCTTY
    splice: out=f.pair[1]; out_offset=NULL
    lockf: command=F_TEST
    mmap: len=PAGE_BYTES; flags=MAP_SHARED
    munmap mremap: len=DATA_BYTES
    msync: len=PAGE_BYTES; flags=MS_SYNC
    mknod mknodat: path=f.fresh; mode=S_IFREG | 0600
    __xmknod __xmknodat: version=0; path=f.fresh; mode=S_IFREG | 0600; device=(dev_t[]){0}
    rmdir chdir opendir: path=f.folder
    chroot: path="/"
    readlink readlinkat: path=f.link
    statx: mask=STATX_BASIC_STATS
    fchdir fdopendir: fd=f.dirfd
    scandir: path=f.folder; list=&f.entries
    getdents64: fd=f.dirfd; buf=f.room; room=sizeof f.room
    setxattr lsetxattr fsetxattr: value="v"
    getxattr lgetxattr fgetxattr: value=f.buf; bytes=8
    listxattr llistxattr flistxattr: bytes=64
    fopen popen: mode="r"
    fdopen: mode="r+"
    freopen: path=f.other; mode="r"
    getline getdelim: room=&f.line_room
    __fgets_chk __fgets_unlocked_chk: size=sizeof f.buf
    fsetpos: position=&f.position_of_stream
    setvbuf: buf=NULL; mode=_IOFBF; size=4096
    setbuf: buf=NULL
    setbuffer: buf=f.room; size=sizeof f.room
''')

# Probes whose calls have cases of their own in tests/call: aio.c, libaio.c, uring.c.
BY_HAND = {'aio_submit', 'aio_observe', 'aio_return', 'lio_listio', 'io_submit', 'io_getevents', 'uring', 'uring_exit',
           'wait', 'waitid'}

# By probe: file, offset, size and result of the event. {role} is the value passed for it; for {fd}, {dir} and {stream}
# it is the name of the file behind.
SEEN = {
    'transfer': 'f.path POSITION {len} result',
    'transfer_at': 'f.path {off} {len} result',
    'vector': 'f.path POSITION LENGTH result',
    'vector_at': 'f.path {off} LENGTH result',
    'vector_flags': 'f.path {off} LENGTH result',
    'open': '{path} NONE NONE result',
    'close': 'f.path NONE NONE result',
    'close_range': 'f.path NONE NONE 0',
    'closefrom': 'f.path NONE NONE 0',
    'dup': 'f.path NONE NONE result',
    'dup2': 'f.path NONE NONE result',
    'fcntl': 'f.path NONE NONE result',
    'seek': 'f.path NONE NONE OFFSET',
    'fd': '{fd} NONE NONE result',
    'fd_range': 'f.path {off} {len} result',
    'fd_range_error': 'f.path {off} {len} result',
    'path': '{path} NONE NONE result',
    'path_pointer': '{path} NONE NONE 0',
    'path_length': '{path} NONE {len} result',
    'paths': '{path} NONE NONE result',
    'everything': 'NULL NONE NONE 0',
    'chdir': '{path} NONE NONE result',
    'fchdir': '{fd} NONE NONE result',
    'opendir': '{path} NONE NONE fixture_dir_fd(result)',
    'fdopendir': '{fd} NONE NONE fixture_dir_fd(result)',
    'dir': '{dir} NONE NONE result',
    'dir_entry': '{dir} NONE NONE 1',
    'dir_void': '{dir} NONE NONE 0',
    'closedir': '{dir} NONE NONE result',
    'mmap': 'f.path {off} {len} 0',
    'munmap': 'f.path 0 {len} 0',
    'msync': 'f.path 0 {len} 0',
    'mremap': 'f.path 0 {new_len} 0',
    'stdio_open': '{path} NONE NONE fixture_stream_fd(result)',
    'stdio_reopen': '{path} NONE NONE fixture_stream_fd(result)',
    'stdio_fdopen': 'f.path NONE NONE fixture_stream_fd(result)',
    'stdio_close': 'f.path NONE NONE result',
    'stdio_read': '{stream} before moved moved',
    'stdio_write': '{stream} before moved moved',
    'stdio_seek': 'f.path NONE NONE OFFSET',
    'stdio_rewind': 'f.path NONE NONE 0',
    'stdio_flush': 'f.path NONE NONE result',
    'stdio_meta': 'f.path NONE NONE result',
    'stdio_void': 'f.path NONE NONE 0',
    'print_fd': 'f.path POSITION result result'}

# By probe: the values that make a call fail, and what is then seen. Probes that are not here cannot fail.
BAD = {'fd': 'BAD_FD'}
LOST = {'path': 'f.missing'}
FAILS = {
    'transfer': (BAD, 'NULL NONE {len} -1'),
    'transfer_at': (BAD, 'NULL {off} {len} -1'),
    'vector': (BAD, 'NULL NONE LENGTH -1'),
    'vector_at': (BAD, 'NULL {off} LENGTH -1'),
    'vector_flags': (BAD, 'NULL {off} LENGTH -1'),
    'open': (LOST, '{path} NONE NONE -1'),
    'close': (BAD, ''),  # not an event: some programs close every possible number
    'close_range': ({'first': '10', 'last': '5'}, 'NULL NONE NONE -1'),
    'dup': (BAD, 'NULL NONE NONE -1'),
    'dup2': (BAD, 'NULL NONE NONE -1'),
    'fcntl': (BAD, 'NULL NONE NONE -1'),
    'seek': (BAD, 'NULL NONE NONE -1'),
    'fd': (BAD, 'NULL NONE NONE -1'),
    'fd_range': (BAD, 'NULL {off} {len} -1'),
    'fd_range_error': (BAD, 'NULL {off} {len} result'),
    'path': (LOST, '{path} NONE NONE -1'),
    'path_pointer': (LOST, '{path} NONE NONE -1'),
    'path_length': (LOST, '{path} NONE {len} -1'),
    'paths': (LOST, '{path} NONE NONE -1'),
    'chdir': (LOST, '{path} NONE NONE -1'),
    'fchdir': (BAD, 'NULL NONE NONE -1'),
    'opendir': (LOST, '{path} NONE NONE -1'),
    'fdopendir': (BAD, 'NULL NONE NONE -1'),
    'closedir': ({}, '{dir} NONE NONE -1'),
    'mmap': (BAD, 'NULL {off} {len} -1'),
    'munmap': ({'len': '0'}, 'f.path 0 0 -1'),
    'msync': ({'flags': '-1'}, 'f.path 0 {len} -1'),
    'mremap': ({'new_len': '0'}, 'f.path 0 0 -1'),
    'copy': ({'in': 'BAD_FD'}, 'f.other ANY {len} -1'),
    'stdio_open': (LOST, '{path} NONE NONE -1'),
    'stdio_reopen': (LOST, '{path} NONE NONE -1'),
    'stdio_fdopen': (BAD, 'NULL NONE NONE -1'),
    'stdio_close': ({}, 'f.path NONE NONE -1'),
    'stdio_read': ({}, 'f.path ANY ANY -1'),
    'stdio_write': ({}, 'f.path ANY ANY -1'),
    'stdio_seek': ({'whence': '99', 'position': '&(fpos_t){.__pos = -1}'}, 'f.path NONE NONE -1'),
    'stdio_flush': ({}, 'f.path NONE NONE -1'),
    'print_fd': (BAD, 'NULL NONE 0 -1')}
CANNOT_FAIL = {'tmpfile'}

# By probe (`!`: for a call that must fail): what the case does before the call, and after it.
BEFORE = {
    'closefrom': 'fixture_high();',
    'close_range': 'fixture_high();',
    'newfd': 'fixture_lose(f.out);',
    'newfds': 'fixture_lose(f.out);',
    'dir': 'fixture_dir();',
    'dir_entry': 'fixture_dir();',
    'dir_void': 'fixture_dir();',
    'closedir': 'fixture_dir();',
    '!closedir': 'fixture_dir(); fixture_lose(fixture_dir_fd(f.dir));',
    'munmap': 'fixture_map();',
    'msync': 'fixture_map();',
    'mremap': 'fixture_map();',
    'copy': 'fixture_pipe();',
    '!stdio_read': 'fixture_break({stream});',
    '!stdio_write': 'fixture_break({stream});',
    '!stdio_flush': 'fixture_write_nowhere();',
    '!stdio_close': 'fixture_write_nowhere();'}
AFTER = {
    'closedir': 'f.dir = NULL;',
    'opendir': 'f.dir = result;',
    'fdopendir': 'f.dir = result;',
    'munmap': 'if (result == 0) f.map = NULL;',
    'mremap': 'f.map = NULL;',
    'stdio_open': 'f.stream = result;',
    'stdio_reopen': 'f.stream = result;',
    'stdio_fdopen': 'f.stream = result;',
    'stdio_close': 'f.stream = NULL;',
    '!stdio_read': 'fixture_mend({stream});',
    '!stdio_write': 'fixture_mend({stream});'}
