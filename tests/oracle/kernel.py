"""What the kernel knew: tasks, descriptor tables, open files with their positions, names and sizes.

Model.run() reads the calls of a strace output and says what each did to which file, as Facts. The offset of a transfer
comes from here, not from the program: positions are followed through open, lseek, dup, fork, exec.
"""

import os
import posixpath
import re
from dataclasses import dataclass, field

import strace

O_ACCMODE, O_CREAT, O_TRUNC, O_APPEND, O_CLOEXEC = 3, 0o100, 0o1000, 0o2000, 0o2000000
O_TMPFILE = 0o20200000
# By these the recorder's own look at a program before exec is known.
RECORDER_OPENS = O_CLOEXEC | 0o4000 | 0o400  # O_NONBLOCK, O_NOCTTY
AT_NO_AUTOMOUNT = 0x800
AT_FDCWD, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, AT_REMOVEDIR = -100, 0x100, 0x1000, 0x200
CLONE_FS, CLONE_VM, CLONE_FILES, CLONE_VFORK, CLONE_THREAD = 0x200, 0x100, 0x400, 0x4000, 0x10000
F_DUPFD, F_SETFD, F_SETFL, F_DUPFD_CLOEXEC = 0, 2, 4, 1030
FALLOC_FL_KEEP_SIZE, CLOSE_RANGE_UNSHARE, CLOSE_RANGE_CLOEXEC = 1, 2, 4
RWF_APPEND, RENAME_EXCHANGE, SPECIAL = 0x10, 2, {"pipe:", "socket:", "anon_inode:"}
AIO_OPCODES = {0: "read", 1: "write", 2: "sync", 3: "sync", 7: "read", 8: "write"}


@dataclass(eq=False)
class Inode:
    size: int | None = None  # None: not known
    content: bytearray | None = None  # None: not known, or not wanted
    writes: list = field(default_factory=list)


@dataclass(eq=False)
class OpenFile:
    """An open file description: what dup and fork share."""
    path: str           # as the kernel resolved it when it was opened
    name: str           # as the program asked for it, made absolute
    inode: Inode
    flags: int = 0
    position: int | None = 0
    loader: bool = False      # opened by the dynamic loader
    inherited: bool = False   # was open before the trace began
    entered: bool = False     # fchdir went there
    transfers: list = field(default_factory=list)


@dataclass
class Slot:
    file: OpenFile
    cloexec: bool = False
    line: int = 0                 # where its open ended
    before: OpenFile | None = None  # still being closed when its number was reused


@dataclass(eq=False)
class Table:
    slots: dict = field(default_factory=dict)

    def copy(self):
        return Table({fd: Slot(s.file, s.cloexec) for fd, s in self.slots.items()})


@dataclass(eq=False)
class Directory:
    cwd: str


@dataclass(eq=False)
class Memory:
    mappings: dict = field(default_factory=dict)  # address -> OpenFile


@dataclass(eq=False)
class Task:
    tid: int
    pid: int
    table: Table
    directory: Directory
    memory: Memory
    borrowed: bool = False        # a vfork child before its exec: runs in its parent's memory
    loading: bool = True          # between exec and the end of the dynamic loader's work
    cache_address: int | None = None
    executable: str = ""


@dataclass(eq=False)
class Fact:
    """One thing that one call did to one file."""
    call: strace.Call
    pid: int
    group: str                    # read, write, open, close, seek, sync, truncate, unlink, rename ...
    names: set                    # every name that is correct for the file
    path: str
    file: OpenFile | None = None
    offset: int | None = None
    size: int | None = None
    result: int | None = None
    certain: bool = True          # False: calls overlapped, and the offset depends on which was first
    reason: str = ""              # why it is not recorded: loader, vfork, recorder (its own calls)
    data: list | None = None      # the buffer's pieces, if strace kept them
    line: int = 0

    def __str__(self):
        where = "" if self.offset is None else f" at {self.offset}"
        return f"[{self.call.tid}] {self.path}: {self.group}{where}: {self.call}"


def snapshot(root, keep_content=False):
    """The files below `root` before the run: path -> Inode."""
    names, inodes = {}, {}
    for folder, _, files in os.walk(root):
        for name in files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            key = (status.st_dev, status.st_ino)
            inode = inodes.setdefault(key, Inode(status.st_size))
            if keep_content and inode.content is None and os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as data:
                    inode.content = bytearray(data.read())
            names[path] = inode
    return names


def iovec(arg):
    """(total length, pieces of data) of an iovec array."""
    lengths = [int(n) for n in re.findall(r"iov_len=(\d+)", arg)]
    pieces = [strace.raw_bytes(p) for p in re.findall(r'iov_base=("[^"]*"(?:\.\.\.)?)', arg)]
    return sum(lengths), pieces


def struct_numbers(arg, key):
    return [int(n, 0) for n in re.findall(rf"\b{key}=(-?(?:0x)?[0-9a-f]+)", arg)]


def has_no_loader(executable):
    """Whether a program that is still there is static: the loader's name is in the first page of others."""
    try:
        with open(executable, "rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return head.startswith(b"\x7fELF") and b"ld-linux" not in head


class Model:
    keep_content = False

    def __init__(self, cwd, root, names=None, inherited=()):
        """`root` is the folder whose files are known; `names` its snapshot; `inherited` paths open at position 0."""
        self.cwd, self.root = cwd, root
        self.names = dict(names or {})
        self.inherited = set(inherited)
        self.tasks, self.births, self.facts, self.surprises = {}, {}, [], []
        self.ends = {}       # pid -> how the process ended
        self.parents = {}    # pid -> pid
        self.executables = {}
        self.queued = {}     # aio context -> facts submitted and not yet completed

    # --- tasks ---

    def run(self, items):
        for item in items:
            if isinstance(item, strace.Call) and item.name in CLONES and item.result and item.result > 0:
                self.births.setdefault(item.result, []).append(item)
        for item in items:
            task = self.task(item.tid)
            if isinstance(item, strace.Ended):
                self.end(task, item)
                continue
            handler = getattr(self, "do_" + ALIASES.get(item.name, item.name), None)
            if handler:
                handler(task, item)
        return self.facts

    def task(self, tid):
        if tid not in self.tasks:
            births = self.births.get(tid)
            if births:
                self.give_birth(self.task(births[0].tid), births.pop(0), tid)
            else:
                self.tasks[tid] = Task(tid, tid, Table(), Directory(self.cwd), Memory())
        return self.tasks[tid]

    def give_birth(self, parent, call, tid):
        flags = clone_flags(call)
        self.tasks[tid] = Task(
            tid, parent.pid if flags & CLONE_THREAD else tid,
            parent.table if flags & CLONE_FILES else parent.table.copy(),
            parent.directory if flags & CLONE_FS else Directory(parent.directory.cwd),
            parent.memory if flags & CLONE_VM else Memory(dict(parent.memory.mappings)),
            borrowed=bool(flags & CLONE_VFORK), loading=parent.loading, executable=parent.executable)
        if not flags & CLONE_THREAD:
            self.parents[tid] = parent.pid

    def end(self, task, item):
        if task.tid == task.pid:
            self.ends[task.pid] = item.how
        self.tasks.pop(task.tid, None)

    def do_clone(self, task, call):
        if call.result and call.result > 0:
            self.task(call.result)

    def do_execve(self, task, call):
        if call.result != 0:
            return
        task.table = task.table.copy()
        task.table.slots = {fd: s for fd, s in task.table.slots.items() if not s.cloexec}
        task.directory, task.memory = Directory(task.directory.cwd), Memory()
        path = call.args[0] if call.name == "execve" else call.args[1]
        task.executable = posixpath.join(task.directory.cwd, strace.string(path) or "")
        task.borrowed, task.loading, task.cache_address = False, not has_no_loader(task.executable), None
        task.tid = task.pid = call.tid
        self.tasks[call.tid] = task
        self.executables.setdefault(call.tid, []).append(task.executable)

    def do_chdir(self, task, call):
        if call.result == 0:
            task.directory.cwd = self.absolute(task, strace.string(call.args[0]))

    def do_fchdir(self, task, call):
        if call.result == 0:
            task.directory.cwd = strace.descriptor(call.args[0])[1]
            file = self.lookup(task, call.args[0])
            if file:
                file.entered = True

    def do_getcwd(self, task, call):
        if call.result and call.result > 0:
            task.directory.cwd = strace.string(call.args[0]) or task.directory.cwd

    # --- names ---

    def absolute(self, task, path, at=None):
        base = task.directory.cwd
        if at is not None:
            base = strace.descriptor(at)[1] or base
        return posixpath.normpath(posixpath.join(base, path or "")).replace("//", "/")

    def inode(self, path, created=False):
        if path not in self.names:
            known = path.startswith(self.root + "/")
            content = bytearray() if known and self.keep_content else None
            self.names[path] = Inode(0 if known or created else None, content)
        return self.names[path]

    def lookup(self, task, arg):
        """The open file behind a descriptor argument; None if it is not a file with a name."""
        fd, path, _ = strace.descriptor(arg)
        if fd is None or fd < 0 or path is None:
            return None
        slot = task.table.slots.get(fd)
        if path.startswith(tuple(SPECIAL)) or not path.startswith("/"):
            return None
        if slot is None or not (path in (slot.file.path, slot.file.name) or self.is_named(slot.file, path)):
            if slot is not None and "(deleted)" not in arg:
                self.surprises.append(f"descriptor {fd} is {path}, not {slot.file.path}")
            elif slot is not None:
                return slot.file
            file = OpenFile(path, path, self.inode(path), position=0 if path in self.inherited else None,
                            inherited=True)
            for other in task.table.slots.values():
                if other.file.inherited and other.file.path == path:
                    file = other.file
            task.table.slots[fd] = slot = Slot(file)
        return slot.file

    def is_named(self, file, path):
        return self.names.get(path) is file.inode

    # --- facts ---

    def note(self, task, call, group, path, file=None, names=(), **more):
        known = {path, *names}
        if file:
            known |= {file.path, file.name}
        fact = Fact(call, task.pid, group, known | {n + " (deleted)" for n in known}, path, file, **more)
        fact.result = call.result if fact.result is None else fact.result
        if task.loading or (file and file.loader):
            fact.reason = "loader"
        elif file and file.flags == RECORDER_OPENS:
            fact.reason = "recorder"
        elif task.borrowed:
            fact.reason = "vfork"
        self.facts.append(fact)
        return fact

    def note_fd(self, task, call, group, arg, **more):
        file = self.lookup(task, arg)
        if file:
            current = strace.descriptor(arg)[1]
            return self.note(task, call, group, file.path, file, names={current}, **more)
        return None

    def note_path(self, task, call, group, arg, at=None, **more):
        path = strace.string(arg)
        if path == "" and at is not None:
            return self.note_fd(task, call, group, at, **more)
        return self.note(task, call, group, self.absolute(task, path, at), **more)

    # --- opening and closing ---

    def opened(self, task, call, path_arg, at, flags):
        name = self.absolute(task, strace.string(path_arg), at)
        if call.result is None or call.result < 0:
            fact = self.note(task, call, "open", name)
            fact.reason = fact.reason or ("recorder" if flags == RECORDER_OPENS else "")
            return
        _, path, deleted = strace.descriptor(call.result_text.split(" ")[0])
        path = path or name
        if flags & O_TMPFILE == O_TMPFILE or deleted:
            inode = Inode(0, bytearray() if self.keep_content else None)
        else:
            inode = self.inode(path, bool(flags & O_CREAT))
        if flags & O_TRUNC and flags & O_ACCMODE:
            inode.size = 0
            if inode.content is not None:
                inode.content.clear()
        file = OpenFile(path, name, inode, flags)
        taken = task.table.slots.get(call.result)
        task.table.slots[call.result] = Slot(file, bool(flags & O_CLOEXEC), call.left, taken.file if taken else None)
        if path == "/etc/ld.so.cache":
            task.loading = True
        self.note(task, call, "open", path, file, names={name})

    def do_open(self, task, call):
        self.opened(task, call, call.args[0], None, strace.number(call.args[1]))

    def do_creat(self, task, call):
        self.opened(task, call, call.args[0], None, O_CREAT | O_TRUNC | 1)

    def do_openat(self, task, call):
        self.opened(task, call, call.args[1], call.args[0], strace.number(call.args[2]))

    def do_openat2(self, task, call):
        self.opened(task, call, call.args[1], call.args[0], (struct_numbers(call.args[2], "flags") or [0])[0])

    def do_close(self, task, call):
        fd = strace.descriptor(call.args[0])[0]
        slot = task.table.slots.get(fd)
        if slot and slot.before and slot.line > call.entered:
            # The kernel frees the number at once; another thread's open got it and returned first.
            self.note(task, call, "close", slot.before.path, slot.before)
            slot.before = None
            return
        self.note_fd(task, call, "close", call.args[0])
        if call.error != "EBADF":
            task.table.slots.pop(fd, None)

    def do_close_range(self, task, call):
        first, last, flags = (strace.number(a) for a in call.args[:3])
        if call.result != 0:
            return
        if flags & CLOSE_RANGE_UNSHARE:
            task.table = task.table.copy()
        for fd in [fd for fd in task.table.slots if first <= fd <= last]:
            if flags & CLOSE_RANGE_CLOEXEC:
                task.table.slots[fd].cloexec = True
            else:
                file = task.table.slots.pop(fd).file
                self.note(task, call, "close", file.path, file)

    def duplicate(self, task, call, new, cloexec):
        file = self.lookup(task, call.args[0])
        self.note_fd(task, call, "dup", call.args[0])
        if call.result is None or call.result < 0 or new == strace.descriptor(call.args[0])[0]:
            return
        task.table.slots.pop(new, None)
        if file:
            task.table.slots[new] = Slot(file, cloexec)

    def do_dup(self, task, call):
        self.duplicate(task, call, call.result, False)

    def do_dup3(self, task, call):
        self.duplicate(task, call, call.result, bool(strace.number(call.args[2]) & O_CLOEXEC))

    def do_fcntl(self, task, call):
        command = strace.number(call.args[1])
        if command in (F_DUPFD, F_DUPFD_CLOEXEC):
            self.duplicate(task, call, call.result, command == F_DUPFD_CLOEXEC)
            return
        self.lookup(task, call.args[0])
        slot = task.table.slots.get(strace.descriptor(call.args[0])[0])
        if slot and call.result == 0 and command == F_SETFD:
            slot.cloexec = bool(strace.number(call.args[2]) & 1)
        if slot and call.result == 0 and command == F_SETFL:
            slot.file.flags = slot.file.flags & ~O_APPEND | strace.number(call.args[2]) & O_APPEND

    # --- transfers ---

    def transfer(self, task, call, group, arg, size, offset=None, data=None, result=None, append=False):
        """A read or write; without an offset it happens at the position and moves it."""
        file = self.lookup(task, arg)
        if not file:
            return None
        result = call.result if result is None else result
        at_position = offset is None
        appends = group == "write" and (append or file.flags & O_APPEND)
        where = file.inode.size if appends else file.position if at_position else offset
        fact = self.note_fd(task, call, group, arg, offset=where, size=size, result=result, data=data)
        if group == "read" and size == 832 and where == 0 and file.flags == O_CLOEXEC and not file.transfers:
            file.loader, fact.reason = True, "loader"  # the size of the dynamic loader's first read of a library
        if appends:
            self.find_overlap(file.inode, file.inode.writes, fact)
        elif at_position:
            self.find_overlap(file.inode, file.transfers, fact)
        if at_position:
            file.transfers.append(fact)
        if group == "write":
            file.inode.writes.append(fact)
        if result is None and group == "write":
            file.inode.size = file.inode.content = None  # its thread was killed: it may have happened or not
        if result is None or result < 0:
            return fact
        if at_position and where is not None:
            file.position = where + result
        elif at_position and file.position is not None:
            file.position = None
        if group == "write" and where is not None:
            self.store(file.inode, where, result, data)
        return fact

    def find_overlap(self, inode, others, fact):
        for earlier in reversed(others):
            if earlier.call.left < fact.call.entered:
                break
            if earlier.call is not fact.call:
                earlier.certain = fact.certain = False
                inode.content = None

    def store(self, inode, offset, length, data):
        if length and inode.size is not None:
            inode.size = max(inode.size, offset + length)
        if inode.content is None or not length:
            return
        if data is None or any(piece is None for piece in data):
            inode.content = None
            return
        joined = b"".join(data)[:length]
        inode.content.extend(bytes(max(0, offset + len(joined) - len(inode.content))))
        inode.content[offset:offset + len(joined)] = joined

    def do_read(self, task, call):
        self.transfer(task, call, "read", call.args[0], strace.number(call.args[2]),
                      data=[strace.raw_bytes(call.args[1])])

    def do_write(self, task, call):
        self.transfer(task, call, "write", call.args[0], strace.number(call.args[2]),
                      data=[strace.raw_bytes(call.args[1])])

    def do_pread64(self, task, call):
        self.transfer(task, call, "read", call.args[0], strace.number(call.args[2]), strace.number(call.args[3]),
                      [strace.raw_bytes(call.args[1])])

    def do_pwrite64(self, task, call):
        self.transfer(task, call, "write", call.args[0], strace.number(call.args[2]), strace.number(call.args[3]),
                      [strace.raw_bytes(call.args[1])])

    def vector(self, task, call, group, offset, append=False):
        size, data = iovec(call.args[1])
        self.transfer(task, call, group, call.args[0], size, None if offset == -1 else offset, data, append=append)

    def do_readv(self, task, call):
        self.vector(task, call, "read", None)

    def do_writev(self, task, call):
        self.vector(task, call, "write", None)

    def do_preadv(self, task, call):
        self.vector(task, call, "read", strace.number(call.args[3]))

    def do_pwritev(self, task, call):
        flags = strace.number(call.args[4]) if len(call.args) > 4 else 0
        self.vector(task, call, "write", strace.number(call.args[3]), bool(flags & RWF_APPEND))

    def pair(self, task, call, source, source_offset, target, target_offset, size):
        self.transfer(task, call, "read", source, size, offset_argument(source_offset))
        self.transfer(task, call, "write", target, size, offset_argument(target_offset))

    def do_sendfile(self, task, call):
        out, source, offset, size = call.args
        self.pair(task, call, source, offset, out, "NULL", strace.number(size))

    def do_copy_file_range(self, task, call):
        source, source_offset, out, out_offset, size = call.args[:5]
        self.pair(task, call, source, source_offset, out, out_offset, strace.number(size))

    do_splice = do_copy_file_range

    def do_io_submit(self, task, call):
        pieces = strace.split(call.args[2].strip("[]"))
        for piece in pieces[:max(call.result or 0, 0)]:
            descriptors = re.findall(r"aio_fildes=(\d+<[^>]*>(?:\(deleted\))?)", piece)
            kind = AIO_OPCODES.get((struct_numbers(piece, "aio_lio_opcode") or [-1])[0])
            if not descriptors or not kind:
                continue
            size = (struct_numbers(piece, "aio_nbytes") or [None])[0]
            offset = (struct_numbers(piece, "aio_offset") or [None])[0]
            if kind == "sync":
                self.note_fd(task, call, kind, descriptors[0])
            else:
                self.transfer(task, call, kind, descriptors[0], size, offset, result=size)

    # --- positions, sizes, syncs ---

    def do_lseek(self, task, call):
        fact = self.note_fd(task, call, "seek", call.args[0])
        if fact and call.result is not None and call.result >= 0:
            fact.offset = fact.file.position = call.result

    def resize(self, task, call, fact, inode, size):
        if call.result != 0 or inode is None:
            return
        inode.size = size
        if inode.content is not None:
            del inode.content[size:]
            inode.content.extend(bytes(size - len(inode.content)))

    def do_ftruncate(self, task, call):
        size = strace.number(call.args[1])
        fact = self.note_fd(task, call, "truncate", call.args[0], size=size)
        if fact:
            self.resize(task, call, fact, fact.file.inode, size)

    def do_truncate(self, task, call):
        size = strace.number(call.args[1])
        fact = self.note_path(task, call, "truncate", call.args[0], size=size)
        self.resize(task, call, fact, self.names.get(fact.path), size)

    def do_fallocate(self, task, call):
        mode, offset, size = (strace.number(a) for a in call.args[1:4])
        fact = self.note_fd(task, call, "truncate", call.args[0], offset=offset, size=size)
        inode = fact.file.inode if fact else None
        if not inode or call.result != 0:
            return
        if mode & ~FALLOC_FL_KEEP_SIZE:
            inode.content = None
        elif not mode & FALLOC_FL_KEEP_SIZE and inode.size is not None:
            self.resize(task, call, fact, inode, max(inode.size, offset + size))

    def do_fsync(self, task, call):
        self.note_fd(task, call, "sync", call.args[0])

    # --- memory ---

    def do_mmap(self, task, call):
        file = self.lookup(task, call.args[4])
        if not file:
            return
        size, offset = strace.number(call.args[1]), strace.number(call.args[5])
        self.note_fd(task, call, "mmap", call.args[4], size=size, offset=offset)
        if call.result is not None and call.result > 0:
            task.memory.mappings[call.result] = file
            if file.path == "/etc/ld.so.cache":
                task.cache_address = call.result
            if strace.number(call.args[2]) & 2 and strace.number(call.args[3]) & 1:
                file.inode.content = None

    def do_munmap(self, task, call):
        address = strace.number(call.args[0])
        file = task.memory.mappings.pop(address, None)
        if file and not task.loading:
            self.note(task, call, "munmap", file.path, file, size=strace.number(call.args[1]))
        if task.loading and address == task.cache_address:
            task.loading = False  # the loader unmaps its cache last, before the constructors run

    def do_msync(self, task, call):
        file = task.memory.mappings.get(strace.number(call.args[0]))
        if file:
            self.note(task, call, "sync", file.path, file)

    # --- names ---

    def do_unlink(self, task, call):
        self.unlinked(task, call, self.note_path(task, call, "unlink", call.args[0]))

    def do_unlinkat(self, task, call):
        group = "rmdir" if strace.number(call.args[2]) & AT_REMOVEDIR else "unlink"
        self.unlinked(task, call, self.note_path(task, call, group, call.args[1], call.args[0]))

    def unlinked(self, task, call, fact):
        if call.result == 0:
            self.names.pop(fact.path, None)

    def do_rename(self, task, call):
        self.renamed(task, call, call.args[0], None, call.args[1], None, 0)

    def do_renameat(self, task, call):
        flags = strace.number(call.args[4]) if len(call.args) > 4 else 0
        self.renamed(task, call, call.args[1], call.args[0], call.args[3], call.args[2], flags)

    def renamed(self, task, call, old_arg, old_at, new_arg, new_at, flags):
        old = self.note_path(task, call, "rename", old_arg, old_at).path
        new = self.absolute(task, strace.string(new_arg), new_at)
        if call.result != 0:
            return
        if flags & RENAME_EXCHANGE:
            moved = {swap(path, old, new): inode for path, inode in self.names.items()}
            self.names = moved
            return
        for path in [p for p in self.names if p == old or p.startswith(old + "/")]:
            self.names[new + path[len(old):]] = self.names.pop(path)

    def do_link(self, task, call):
        self.linked(task, call, call.args[0], None, call.args[1], None)

    def do_linkat(self, task, call):
        self.linked(task, call, call.args[1], call.args[0], call.args[3], call.args[2])

    def linked(self, task, call, old_arg, old_at, new_arg, new_at):
        fact = self.note_path(task, call, "link", old_arg, old_at)
        new = self.absolute(task, strace.string(new_arg), new_at)
        fact.names |= {new}
        if call.result == 0:
            self.names[new] = fact.file.inode if fact.file else self.inode(fact.path)

    def do_symlink(self, task, call):
        self.note_path(task, call, "symlink", call.args[1])

    def do_symlinkat(self, task, call):
        self.note_path(task, call, "symlink", call.args[2], call.args[1])

    # --- the rest: one fact each ---

    def do_getdents64(self, task, call):
        self.note_fd(task, call, "readdir", call.args[0])

    def do_fstat(self, task, call):
        self.note_fd(task, call, "stat", call.args[0])

    def do_newfstatat(self, task, call):
        fact = self.note_path(task, call, "stat", call.args[1], call.args[0])
        if fact and strace.number(call.args[3]) == AT_NO_AUTOMOUNT:
            fact.reason = "recorder"

    def do_utimensat(self, task, call):
        if call.args[1] == "NULL":
            self.note_fd(task, call, "utimes", call.args[0])
        else:
            self.note_path(task, call, "utimes", call.args[1], call.args[0])

    def at_path(self, task, call):
        self.note_path(task, call, GROUPS[call.name], call.args[1], call.args[0])

    def by_path(self, task, call):
        self.note_path(task, call, GROUPS[call.name], call.args[0])

    def by_fd(self, task, call):
        self.note_fd(task, call, GROUPS[call.name], call.args[0])

    do_mkdirat = do_mknodat = do_faccessat = do_fchmodat = do_readlinkat = do_fchownat = at_path
    do_mkdir = do_mknod = do_rmdir = do_access = do_chmod = do_stat = do_readlink = do_chown = do_utimes = by_path
    do_statfs = do_setxattr = do_lsetxattr = do_getxattr = do_lgetxattr = by_path
    do_listxattr = do_llistxattr = do_removexattr = do_lremovexattr = by_path
    do_fchmod = do_fchown = do_flock = do_fadvise64 = do_fstatfs = by_fd
    do_fsetxattr = do_fgetxattr = do_flistxattr = do_fremovexattr = by_fd


def offset_argument(arg):
    numbers = re.findall(r"\[(-?\d+)", arg)
    return int(numbers[0]) if numbers else None


def swap(path, old, new):
    for a, b in ((old, new), (new, old)):
        if path == a or path.startswith(a + "/"):
            return b + path[len(a):]
    return path


def clone_flags(call):
    if call.name == "vfork":
        return CLONE_VFORK | CLONE_VM
    text = ", ".join(call.args)
    return (struct_numbers(text, "flags") or [0])[0]


CLONES = {"clone", "clone3", "fork", "vfork"}
# Calls that do the same to the model as another one.
ALIASES = {
    "clone3": "clone", "fork": "clone", "vfork": "clone", "execveat": "execve", "dup2": "dup", "preadv2": "preadv",
    "pwritev2": "pwritev", "sendfile64": "sendfile", "fdatasync": "fsync", "sync_file_range": "fsync",
    "syncfs": "fsync", "renameat2": "renameat", "getdents": "getdents64", "statx": "newfstatat", "lstat": "stat",
    "faccessat2": "faccessat", "lchown": "chown", "futimesat": "utimensat", "utime": "utimes", "fcntl64": "fcntl",
}
GROUPS = {
    "mkdirat": "mkdir", "mkdir": "mkdir", "mknodat": "mknod", "mknod": "mknod", "faccessat": "access",
    "faccessat2": "access", "access": "access", "fchmodat": "chmod", "chmod": "chmod", "fchmod": "chmod",
    "readlinkat": "readlink", "readlink": "readlink", "fchownat": "chown", "chown": "chown", "lchown": "chown",
    "fchown": "chown", "rmdir": "rmdir", "stat": "stat", "lstat": "stat", "utimes": "utimes", "utime": "utimes",
    "flock": "lock", "fadvise64": "advice", "statfs": "statfs", "fstatfs": "statfs",
}
GROUPS.update((prefix + verb + "xattr", "xattr") for prefix in ("", "l", "f")
              for verb in ("set", "get", "list", "remove"))
