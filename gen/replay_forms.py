"""How the replay's runner makes the calls again: data for gen_replay.py.

`a` is a struct replay_arguments (src/replay/runner/ops.h), for MPI-IO a struct mpi_arguments. What a log does not say is
chosen so that it does no harm: rights stay the owner's, times are now, extended attributes have a name of their own,
nothing waits for a lock.
"""

# The value of a parameter by its role, else by its name. `room` is memory that the call may fill.
ROLES = {
    'path': 'a->path', 'path2': 'a->path2', 'dirfd': 'AT_FDCWD', 'dirfd2': 'AT_FDCWD', 'fd': 'a->fd', 'fd2': 'a->fd2',
    'buf': 'a->buf', 'len': 'a->len', 'off': 'a->off', 'iov': '&(struct iovec){a->buf, a->len}', 'count': '1',
    'flags': '0', 'mode': '0600', 'whence': 'SEEK_SET', 'command': '(a->fails ? -1 : F_GETFL)', 'argument': '0', 'dir': 'a->dir',
    'stream': 'a->stream', 'in': 'a->fd', 'out': 'a->fd2', 'in_offset': 'a->in_offset', 'out_offset': 'a->out_offset'}
NAMES = {
    'off': 'a->off', 'whence': 'SEEK_SET', 'flags': '0', 'mode': '0700', 'data': '(void *)room', 'buf': 'room',
    'room': 'sizeof room', 'value': 'room', 'list': 'room', 'bytes': 'sizeof room', 'name': '"user.ioseer"',
    'mask': 'STATX_BASIC_STATS', 'device': '0', 'uid': '(uid_t)-1', 'gid': '(gid_t)-1', 'times': 'NULL',
    'target': 'a->path2', 'operation': 'LOCK_SH', 'command': 'F_TEST'}
MPI_ROLES = {
    'fh': 'a->file', 'view': 'a->at', 'count': 'a->count', 'type': 'a->type', 'status': '&a->status',
    'request': '&a->request', 'filename': 'a->path', 'size': 'a->size'}
MPI_NAMES = {'buf': 'a->data', 'offset': 'a->at', 'whence': 'MPI_SEEK_SET', 'flag': '1', 'info': 'MPI_INFO_NULL'}

# The word behind `replay` -> the member of enum replay_form without REPLAY_, and the body of the function that makes the
# call. {call} is the call with its arguments, {name} its name. None: the runner has a function of its own.
RESULT = 'return {call};'
PRINT = 'return a->len > INT_MAX ? 0 : {name}(%s, "%%.*s", (int)a->len, (const char *)a->buf);'
SCAN = '''char format[40] = "%%1[\\n]%%n"; // the data has no line ends: moves nothing
    int moved = 0;
    if (a->len >= INT_MAX) return 0;
    if (a->len) snprintf(format, sizeof format, "%%%%%%zuc%%%%n", a->len);
    %s, format, a->buf, &moved);
    return moved;'''
FORMS = {
    'name': ('NAME', RESULT),
    'names': ('NAMES', RESULT),
    'scan': ('NAME', '''struct dirent **list;
    int count = {name}(a->path, &list, NULL, NULL);
    for (int i = 0; i < count; i++) free(list[i]);
    if (count >= 0) free(list);
    return count;'''),
    'everything': ('EVERYTHING', RESULT),
    'fd': ('FD', RESULT),
    'fd_error': ('FD', 'errno = {call};\n    return errno ? -1 : 0;'),
    'seek': ('SEEK', RESULT),
    'dup': ('DUP', RESULT),
    'dup2': ('DUP2', RESULT),
    'mmap': ('MMAP', None),
    'munmap': ('MUNMAP', None),
    'msync': ('MSYNC', None),
    'dir': ('DIR', RESULT),
    'open': ('OPEN', RESULT),
    'opendir': ('OPENDIR', None),
    'fdopendir': ('FDOPENDIR', None),
    'close': ('CLOSE', RESULT),
    'closedir': ('CLOSEDIR', None),
    'position': ('POSITION', RESULT),
    'print_fd': ('POSITION', PRINT % 'a->fd'),
    'at': ('AT', RESULT),
    'copy': ('COPY', RESULT),
    'sendfile': ('SENDFILE', RESULT),
    'copy_half': ('COPY_HALF', None),
    'fopen': ('FOPEN', None),
    'fdopen': ('FDOPEN', None),
    'fclose': ('CLOSE', None),
    'stdio': ('STDIO', RESULT),
    'stdio_seek': ('STDIO_SEEK', RESULT),
    'read_items': ('STDIO_TRANSFER', 'return (int64_t){name}(a->buf, 1, a->len, a->stream);'),
    'write_items': ('STDIO_TRANSFER', 'return (int64_t){name}(a->buf, 1, a->len, a->stream);'),
    'put_byte': ('STDIO_TRANSFER', '''const unsigned char *data = a->buf;
    size_t moved = 0;
    while (moved < a->len && {name}(data[moved], a->stream) != EOF) moved++;
    return (int64_t)moved;'''),
    'get_byte': ('STDIO_TRANSFER', '''unsigned char *data = a->buf;
    size_t moved = 0;
    for (int byte; moved < a->len && (byte = {name}(a->stream)) != EOF; moved++) data[moved] = (unsigned char)byte;
    return (int64_t)moved;'''),
    'print': ('STDIO_TRANSFER', PRINT % 'a->stream'),
    'print_list': ('STDIO_TRANSFER', '''return a->len > INT_MAX ? 0 : replay_list({name}, a->stream, "%.*s", (int)a->len,
                                          (const char *)a->buf);'''),
    'put_text': ('STDIO_TRANSFER', '''char *end = (char *)a->buf + a->len, behind = *end;
    *end = 0;
    bool put = {name}(a->buf, a->stream) >= 0;
    *end = behind;
    return put ? (int64_t)a->len : 0;'''),
    'get_text': ('STDIO_TRANSFER', '''if (a->len >= INT_MAX) return 0;
    int room = a->len ? (int)a->len + 1 : 2; // it moved nothing at the end of the file
    return {name}(a->buf, room, a->stream) ? (int64_t)strlen(a->buf) : 0;'''),
    'scan_text': ('STDIO_TRANSFER', SCAN % '{name}(a->stream'),
    'scan_list': ('STDIO_TRANSFER', SCAN % 'replay_list({name}, a->stream'),
    'mpi': ('MPI', RESULT),
    'mpi_view': ('MPI_VIEW', None),
}
