#!/usr/bin/env python3
"""Makes a test of every call in the tables: one case a symbol and system call, and one in which it fails.

    gen_tests.py --calls DIR OUTPUT.c

A parameter's value follows from its role, else from its name; SPECIAL has the calls that need another. What the
recorder must see follows from the probe. Calls whose probe is `hand` have hand-written cases in tests/call.
"""
import pathlib
import re
import sys

import gen

# Values by role. A path that goes with a directory descriptor is made relative to it.
ROLES = {
    'fd': 'f.fd', 'fd2': 'HIGH_FD', 'dirfd': 'f.dirfd', 'dirfd2': 'f.dirfd', 'path': 'f.path', 'path2': 'f.fresh',
    'buf': 'f.buf', 'len': 'LENGTH', 'off': 'OFFSET', 'iov': 'f.iov', 'count': '2', 'flags': '0', 'mode': '0600',
    'whence': 'SEEK_SET', 'first': 'f.fd', 'last': 'f.fd', 'command': 'F_GETFL', 'argument': '0', 'fds': 'f.pair',
    'in': 'f.fd', 'in_offset': '&f.in_offset', 'out': 'f.out', 'out_offset': '&f.out_offset', 'stream': 'f.stream',
    'dir': 'f.dir', 'address': 'f.map', 'protection': 'PROT_READ | PROT_WRITE', 'new_len': 'PAGE_BYTES'}

# Values of parameters without a role, by name.
NAMES = {
    'how': '&(struct open_how){.flags = O_RDWR}', 'how_bytes': 'sizeof(struct open_how)', 'suffix_bytes': '0',
    'flags': '0', 'mode': '0600', 'domain': 'AF_UNIX', 'type': 'SOCK_STREAM', 'protocol': '0', 'fd': '-1',
    'address': 'NULL', 'address_bytes': 'NULL', 'new_address': 'NULL', 'value': '0', 'size': '8', 'count': '4',
    'name': '"user.ioseer"', 'clock': 'CLOCK_MONOTONIC', 'mask': '0', 'room': 'sizeof f.buf', 'high': '0',
    'off': 'OFFSET', 'data': '(void *)f.room', 'version': '1', 'uid': '(uid_t)-1', 'gid': '(gid_t)-1', 'device': '0',
    'target': '"target"', 'times': 'NULL', 'bytes': '1', 'list': 'f.room', 'position': '0', 'filter': 'NULL',
    'order': 'NULL', 'buf': 'f.buf', 'delimiter': "'\\n'", 'text': '"some text"', 'byte': "'x'", 'word': '7',
    'level': '1', 'whence': 'SEEK_SET', 'line': '&f.line', 'command': '"true"', 'entry': '&f.entry',
    'found': '&f.found_entry'}

# Calls that need something else, by name or operation: {parameter: value}.
SPECIAL = {
    'open': {'flags': 'O_RDWR'}, 'openat': {'flags': 'O_RDWR'}, 'creat': {'path': 'f.fresh'},
    'mkstemp': {'path': 'f.template'}, 'mkostemp': {'path': 'f.template'}, 'mkstemps': {'path': 'f.template'},
    'mkostemps': {'path': 'f.template'}, 'mkdtemp': {'path': 'f.template'},
    'shm_open': {'path': '"/ioseer-case"', 'flags': 'O_RDWR | O_CREAT'}, 'accept': {'fd': 'f.fd'},
    'accept4': {'fd': 'f.fd'}, 'epoll_create': {'size': '1'}, 'signalfd': {'mask': '&f.signals'},
    'posix_openpt': {'flags': 'O_RDWR | O_NOCTTY'}, 'splice': {'out': 'f.pair[1]', 'out_offset': 'NULL'},
    'mmap': {'len': 'PAGE_BYTES', 'flags': 'MAP_SHARED'}, 'munmap': {'len': 'DATA_BYTES'},
    'msync': {'len': 'PAGE_BYTES', 'flags': 'MS_SYNC'}, 'mremap': {'len': 'DATA_BYTES'},
    '__xmknod': {'version': '0', 'path': 'f.fresh', 'mode': 'S_IFREG | 0600', 'device': '(dev_t[]){0}'},
    '__xmknodat': {'version': '0', 'path': 'f.fresh', 'mode': 'S_IFREG | 0600', 'device': '(dev_t[]){0}'},
    'mknod': {'path': 'f.fresh', 'mode': 'S_IFREG | 0600'}, 'mknodat': {'path': 'f.fresh', 'mode': 'S_IFREG | 0600'},
    'mkfifo': {'path': 'f.fresh'}, 'mkfifoat': {'path': 'f.fresh'}, 'mkdir': {'path': 'f.fresh'},
    'mkdirat': {'path': 'f.fresh'}, 'symlink': {'path': 'f.fresh'}, 'symlinkat': {'path': 'f.fresh'},
    'rmdir': {'path': 'f.folder'}, 'readlink': {'path': 'f.link'}, 'readlinkat': {'path': 'f.link'},
    'statx': {'mask': 'STATX_BASIC_STATS'}, 'chdir': {'path': 'f.folder'}, 'chroot': {'path': '"/"'},
    'fchdir': {'fd': 'f.dirfd'}, 'opendir': {'path': 'f.folder'}, 'fdopendir': {'fd': 'f.dirfd'},
    'scandir': {'path': 'f.folder', 'list': '&f.entries'}, 'getdents64': {'fd': 'f.dirfd', 'buf': 'f.room', 'room': 'sizeof f.room'},
    'setxattr': {'value': '"v"'}, 'lsetxattr': {'value': '"v"'}, 'fsetxattr': {'value': '"v"'},
    'getxattr': {'value': 'f.buf', 'bytes': '8'}, 'lgetxattr': {'value': 'f.buf', 'bytes': '8'},
    'fgetxattr': {'value': 'f.buf', 'bytes': '8'}, 'listxattr': {'bytes': '64'}, 'llistxattr': {'bytes': '64'},
    'flistxattr': {'bytes': '64'}, 'fopen': {'mode': '"r"'}, 'fdopen': {'mode': '"r+"'},
    'freopen': {'path': 'f.other', 'mode': '"r"'}, 'popen': {'mode': '"r"'}, 'getline': {'room': '&f.line_room'},
    'getdelim': {'room': '&f.line_room'}, 'fsetpos': {'position': '&f.position_of_stream'},
    '__fgets_chk': {'size': 'sizeof f.buf'}, '__fgets_unlocked_chk': {'size': 'sizeof f.buf'},
    'setvbuf': {'buf': 'NULL', 'mode': '_IOFBF', 'size': '4096'}, 'setbuf': {'buf': 'NULL'},
    'setbuffer': {'buf': 'f.room', 'size': 'sizeof f.room'}}

# What must be seen of a call that succeeds: file, offset, size, result; {role} is that parameter's value.
SEEN = {
    'transfer': ('f.path', 'POSITION', '{len}', 'result'), 'transfer_at': ('f.path', '{off}', '{len}', 'result'),
    'vector': ('f.path', 'POSITION', 'LENGTH', 'result'), 'vector_at': ('f.path', '{off}', 'LENGTH', 'result'),
    'vector_flags': ('f.path', '{off}', 'LENGTH', 'result'), 'open': ('{path}', 'NONE', 'NONE', 'result'),
    'close': ('f.path', 'NONE', 'NONE', 'result'), 'close_range': ('f.path', 'NONE', 'NONE', '0'),
    'closefrom': ('f.path', 'NONE', 'NONE', '0'), 'dup': ('f.path', 'NONE', 'NONE', 'result'),
    'dup2': ('f.path', 'NONE', 'NONE', 'result'), 'fcntl': ('f.path', 'NONE', 'NONE', 'result'),
    'seek': ('f.path', 'NONE', 'NONE', 'OFFSET'), 'fd': ('{fd}', 'NONE', 'NONE', 'result'),
    'fd_range': ('f.path', '{off}', '{len}', 'result'), 'fd_range_error': ('f.path', '{off}', '{len}', 'result'),
    'path': ('{path}', 'NONE', 'NONE', 'result'), 'path_pointer': ('{path}', 'NONE', 'NONE', '0'),
    'path_length': ('{path}', 'NONE', '{len}', 'result'), 'paths': ('{path}', 'NONE', 'NONE', 'result'),
    'everything': ('NULL', 'NONE', 'NONE', '0'), 'chdir': ('{path}', 'NONE', 'NONE', 'result'),
    'fchdir': ('{fd}', 'NONE', 'NONE', 'result'), 'opendir': ('{path}', 'NONE', 'NONE', 'fixture_dir_fd(result)'),
    'fdopendir': ('{fd}', 'NONE', 'NONE', 'fixture_dir_fd(result)'), 'dir': ('{dir}', 'NONE', 'NONE', 'result'),
    'dir_entry': ('{dir}', 'NONE', 'NONE', '1'), 'dir_void': ('{dir}', 'NONE', 'NONE', '0'),
    'closedir': ('{dir}', 'NONE', 'NONE', 'result'), 'mmap': ('f.path', '{off}', '{len}', '0'),
    'munmap': ('f.path', '0', '{len}', '0'), 'msync': ('f.path', '0', '{len}', '0'),
    'mremap': ('f.path', '0', '{new_len}', '0'), 'stream_open': ('{path}', 'NONE', 'NONE', 'fixture_stream_fd(result)'),
    'stream_reopen': ('{path}', 'NONE', 'NONE', 'fixture_stream_fd(result)'),
    'stream_fdopen': ('f.path', 'NONE', 'NONE', 'fixture_stream_fd(result)'),
    'stream_close': ('f.path', 'NONE', 'NONE', 'result'), 'stream_read': ('{stream}', 'before', 'moved', 'moved'),
    'stream_write': ('{stream}', 'before', 'moved', 'moved'), 'stream_seek': ('f.path', 'NONE', 'NONE', 'OFFSET'),
    'stream_rewind': ('f.path', 'NONE', 'NONE', '0'), 'stream_flush': ('f.path', 'NONE', 'NONE', 'result'),
    'stream_meta': ('f.path', 'NONE', 'NONE', 'result'), 'stream_void': ('f.path', 'NONE', 'NONE', '0'),
    'print_fd': ('f.path', 'POSITION', 'result', 'result')}

# How to make a call fail: {role: value} that differ, and what is then seen: file, offset, size, result.
BAD = {'fd': 'BAD_FD'}
LOST = {'path': 'f.missing'}
FAILS = {
    'transfer': (BAD, 'NULL', 'NONE', '{len}', '-1'), 'transfer_at': (BAD, 'NULL', '{off}', '{len}', '-1'),
    'vector': (BAD, 'NULL', 'NONE', 'LENGTH', '-1'), 'vector_at': (BAD, 'NULL', '{off}', 'LENGTH', '-1'),
    'vector_flags': (BAD, 'NULL', '{off}', 'LENGTH', '-1'), 'open': (LOST, '{path}', 'NONE', 'NONE', '-1'),
    'close_range': ({'first': '10', 'last': '5'}, 'NULL', 'NONE', 'NONE', '-1'),
    'dup': (BAD, 'NULL', 'NONE', 'NONE', '-1'), 'dup2': (BAD, 'NULL', 'NONE', 'NONE', '-1'),
    'fcntl': (BAD, 'NULL', 'NONE', 'NONE', '-1'), 'seek': (BAD, 'NULL', 'NONE', 'NONE', '-1'),
    'fd': (BAD, 'NULL', 'NONE', 'NONE', '-1'), 'fd_range': (BAD, 'NULL', '{off}', '{len}', '-1'),
    'fd_range_error': (BAD, 'NULL', '{off}', '{len}', 'result'), 'path': (LOST, 'f.missing', 'NONE', 'NONE', '-1'),
    'path_pointer': (LOST, 'f.missing', 'NONE', 'NONE', '-1'),
    'path_length': (LOST, 'f.missing', 'NONE', '{len}', '-1'), 'paths': (LOST, 'f.missing', 'NONE', 'NONE', '-1'),
    'chdir': (LOST, 'f.missing', 'NONE', 'NONE', '-1'), 'fchdir': (BAD, 'NULL', 'NONE', 'NONE', '-1'),
    'opendir': (LOST, 'f.missing', 'NONE', 'NONE', '-1'), 'fdopendir': (BAD, 'NULL', 'NONE', 'NONE', '-1'),
    'closedir': ({}, '{dir}', 'NONE', 'NONE', '-1'), 'mmap': (BAD, 'NULL', '{off}', '{len}', '-1'),
    'munmap': ({'len': '0'}, 'f.path', '0', '0', '-1'), 'msync': ({'flags': '-1'}, 'f.path', '0', '{len}', '-1'),
    'mremap': ({'new_len': '0'}, 'f.path', '0', '0', '-1'), 'copy': ({'in': 'BAD_FD'}, 'f.other', 'ANY', '{len}', '-1'),
    'stream_open': (LOST, 'f.missing', 'NONE', 'NONE', '-1'), 'stream_reopen': (LOST, 'f.missing', 'NONE', 'NONE', '-1'),
    'stream_fdopen': (BAD, 'NULL', 'NONE', 'NONE', '-1'), 'stream_close': ({}, 'f.path', 'NONE', 'NONE', '-1'),
    'stream_read': ({}, 'f.path', 'ANY', 'ANY', '-1'), 'stream_write': ({}, 'f.path', 'ANY', 'ANY', '-1'),
    'stream_seek': ({'whence': '99', 'position': '&(fpos_t){.__pos = -1}'}, 'f.path', 'NONE', 'NONE', '-1'),
    'stream_flush': ({}, 'f.path', 'NONE', 'NONE', '-1'), 'print_fd': (BAD, 'NULL', 'NONE', '0', '-1')}
CANNOT_FAIL = {'tmpfile'}

# What the case prepares before the call, by probe; `!` before the probe: where it is to fail.
PREPARE = {
    'closefrom': 'fixture_high();', 'close_range': 'fixture_high();', 'newfd': 'fixture_lose(f.out);',
    'newfds': 'fixture_lose(f.out);', 'dir': 'fixture_dir();', 'dir_entry': 'fixture_dir();',
    'dir_void': 'fixture_dir();', 'closedir': 'fixture_dir();',
    '!closedir': 'fixture_dir(); fixture_lose(fixture_dir_fd(f.dir));', 'munmap': 'fixture_map();',
    'msync': 'fixture_map();', 'mremap': 'fixture_map();', 'copy': 'fixture_pipe();', '!copy': '',
    '!stream_read': 'fixture_break({stream});', '!stream_write': 'fixture_break({stream});',
    '!stream_flush': 'fixture_write_nowhere();', '!stream_close': 'fixture_write_nowhere();'}
AFTER = {'stream_close': 'f.stream = NULL;', 'stream_reopen': 'f.stream = result;', 'closedir': 'f.dir = NULL;',
         'stream_fdopen': 'f.stream = result;', 'stream_open': 'f.stream = result;', 'opendir': 'f.dir = result;',
         'fdopendir': 'f.dir = result;', 'munmap': 'if (result == 0) f.map = NULL;', 'mremap': 'f.map = NULL;',
         '!stream_read': 'fixture_mend({stream});', '!stream_write': 'fixture_mend({stream});'}


class Case:
    """One call of one symbol (or system call number), meant to succeed or to fail."""

    def __init__(self, call, symbol, number, fails):
        self.call, self.symbol, self.number, self.fails = call, symbol, number, fails
        self.key = ('!' if fails else '') + call.probe
        self.name = (f'syscall({number})' if number else symbol) + (' fails' if fails else '')
        self.function = re.sub(r'\W+', '_', f'case_{self.name}').rstrip('_')
        self.changes = FAILS[call.probe][0] if fails else {}

    def value(self, parameter):
        special = SPECIAL.get(self.call.name, SPECIAL.get(self.call.op, {}))
        for key in (parameter.role, parameter.name):
            if key and key in self.changes:
                return self.changes[key]
        if parameter.name in special:
            return special[parameter.name]
        table, key = (ROLES, parameter.role) if parameter.role else (NAMES, parameter.name)
        if key not in table:
            sys.exit(f'{self.call.where}: {self.call.name}: no test value for {parameter.text}')
        return table[key]

    def parameters(self):
        return self.call.params + ([self.call.extra] if self.call.extra else [])

    def arguments(self):
        relative = any(p.role == 'dirfd' for p in self.call.params)
        for p in self.parameters():
            if p.name == 'format':
                yield '"%15s"' if self.call.cls == 'read' else '"%s %d"'
            elif relative and p.role in ('path', 'path2'):
                yield f'fixture_relative({self.value(p)})'
            elif p.type != 'va_list':
                yield self.value(p)
        if any(p.name == 'format' for p in self.call.params):
            yield from ['f.buf'] if self.call.cls == 'read' else ['"text"', '7']

    def invocation(self):
        arguments = list(self.arguments())
        if self.number:
            return f"syscall({', '.join([f'SYS_{self.number}'] + [f'(long)({a})' for a in arguments])})"
        takes_list = any(p.type == 'va_list' for p in self.call.params)
        return f"{'list' if takes_list else 'symbol'}_{self.symbol}({', '.join(arguments)})"

    def stream(self):
        given = [word[len('stream='):] for word in self.call.options.get('with', []) if word.startswith('stream=')]
        return given[0] if given else 'f.stream'

    def fill(self, text):
        """Replaces {role} by what stands for it in an expectation."""
        def replace(match):
            role = match.group(1)
            if role == 'stream' and self.key in ('stream_read', 'stream_write'):
                return {'stdin': 'case_path("stdin")', 'stdout': 'case_path("stdout")'}.get(self.stream(), 'f.path')
            if role == 'stream':
                return self.stream()
            values = {p.role: self.value(p) for p in self.parameters() if p.role}
            if role == 'dir' or (role == 'fd' and values.get('fd') == 'f.dirfd'):
                return 'case_path("work")'
            if role == 'fd':
                return 'f.path'
            if role == 'path' and self.call.name == 'shm_open':
                return f"fixture_shared_name({values['path']})"
            if role == 'path' and 'path' not in values:
                return 'fixture_name_of(fixture_stream_fd(result))'
            return values.get(role, 'NONE')
        return re.sub(r'\{(\w+)\}', replace, text)

    def prepare(self):
        yield 'fixture_begin();'
        text = PREPARE.get(self.key, PREPARE.get(self.call.probe, ''))
        uses_stream = any(p.role == 'stream' for p in self.call.params)
        if self.call.name == 'pclose':
            yield 'fixture_pipe_stream();'
        elif uses_stream:
            mode = {'read': 'r', 'write': 'r+'}.get(self.call.cls, 'r+')
            if self.fails and self.call.cls in ('read', 'write'):
                mode = {'read': 'a', 'write': 'r'}[self.call.cls]
            yield f'fixture_stream("{mode}");'
        if self.call.name.startswith('accept'):
            yield 'fixture_listener();'
        if text:
            yield self.fill(text)
        if self.key in ('stream_read', 'stream_write'):
            yield f'off_t before = ftello({self.stream()});'

    def returned(self):
        if self.call.ret == 'void':
            return '0'
        if self.call.probe in ('mmap', 'mremap'):
            return "(void *)result == MAP_FAILED ? -1 : 0"
        return 'result != NULL' if self.call.ret.endswith('*') and not self.number else 'result'

    def expectations(self):
        op, probe = self.call.op, self.call.probe
        if self.call.cls == '-':
            return
        if probe == 'copy' and not self.fails:
            yield from self.copy_expectations()
            return
        file, offset, size, result = map(self.fill, FAILS[probe][1:] if self.fails else SEEN[probe])
        if probe == 'copy':
            op = f'{op}_write'
            file = file if self.call.name != 'splice' else None
        if 'moved' in (size, result):
            yield f'int64_t moved = ftello({self.stream()}) - before;'
        if file is None:
            return
        arguments = f'"{op}", {file}, {offset}, {size}, {result}'
        if probe == 'fd_range_error':
            yield f'expect_error({arguments}, (int)result);'
        elif probe == 'paths':
            yield f'expect_file2(expect({arguments}), f.fresh);'
        else:
            yield f'expect({arguments});'

    def copy_expectations(self):
        op = self.call.op
        if op == 'splice':
            yield 'expect("splice_read", f.path, IN_OFFSET, LENGTH, result);'
            return
        out_offset = 'POSITION' if op == 'sendfile' else 'OUT_OFFSET'
        yield f'int parent = expect("{op}", NULL, NONE, LENGTH, result);'
        yield f'expect_child(parent, "{op}_read", f.path, IN_OFFSET, LENGTH, result);'
        yield f'expect_child(parent, "{op}_write", f.other, {out_offset}, LENGTH, result);'

    def lines(self):
        yield f'static void {self.function}(void)\n{{'
        if not self.number:
            yield f'if (!fixture_find(&symbol_{self.symbol}, "{self.symbol}")) return;'
        yield from self.prepare()
        yield 'case_start();'
        yield self.invocation() + ';' if self.call.ret == 'void' else \
            f"{'long' if self.number else self.call.ret} result = {self.invocation()};"
        if self.call.probe == 'newfd':
            yield 'fcntl((int)result, F_GETFD);'
        if self.call.probe == 'newfds':
            yield 'fcntl(f.pair[0], F_GETFD);\nfcntl(f.pair[1], F_GETFD);'
        yield f'case_stop({self.returned()});'
        yield from self.expectations()
        if not self.number and (after := AFTER.get(self.key, AFTER.get(self.call.probe))):
            yield self.fill(after)
        elif self.call.probe in ('munmap', 'mremap'):
            yield AFTER[self.call.probe]
        yield 'fixture_end();\n}\n'


def cases(tables):
    for call in tables.calls:
        if call.probe == 'hand':
            continue
        ways = [] if call.is_sys else [(symbol, None) for symbol in gen.symbols(call)]
        ways += [(None, number) for number in ([call.name] if call.is_sys else call.options.get('sys', []))]
        for symbol, number in ways:
            yield Case(call, symbol, number, False)
            if call.cls != '-' and call.probe in FAILS and call.op not in CANNOT_FAIL:
                yield Case(call, symbol, number, True)


def declarations(call, symbol):
    yield f"static {call.pointer().replace(f'(*{call.name})', f'(*symbol_{symbol})')};"
    if any(p.type == 'va_list' for p in call.params):
        fixed = [p for p in call.params if p.type != 'va_list']
        yield f"static {call.ret} list_{symbol}({', '.join(p.text for p in fixed)}, ...)\n{{\n    va_list list;"
        yield f'    va_start(list, {fixed[-1].name});'
        yield f"    {call.ret} result = symbol_{symbol}({', '.join(p.name for p in fixed)}, list);"
        yield '    va_end(list);\n    return result;\n}\n'


def write(tables):
    yield '#include "each.h"\n'
    for call in tables.exported:
        if call.probe != 'hand':
            for symbol in gen.symbols(call):
                yield from declarations(call, symbol)
    every = list(cases(tables))
    for case in every:
        if case.number:
            yield f'#ifdef SYS_{case.number}'
        lines = list(case.lines())
        yield '\n'.join([lines[0]] + [f'    {line}' for line in lines[1:-1]] + lines[-1:]).replace(
            'fixture_end();\n}\n', '    fixture_end();\n}\n')
        if case.number:
            yield '#endif\n'
    yield 'const struct test_case generated_cases[] = {'
    for case in every:
        row = f'    {{"{case.name}", {case.function}}},'
        yield f'#ifdef SYS_{case.number}\n{row}\n#endif' if case.number else row
    yield '    {NULL, NULL},\n};'


def main():
    if len(sys.argv) != 4 or sys.argv[1] != '--calls':
        sys.exit(__doc__)
    tables = gen.Tables(pathlib.Path(sys.argv[2]))
    pathlib.Path(sys.argv[3]).write_text('\n'.join(write(tables)) + '\n')


if __name__ == '__main__':
    main()
