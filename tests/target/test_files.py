"""Files on emulated storage behave as in a plain directory: the same operations have the same results in both."""
import ctypes
import errno
import fcntl
import mmap
import os
import socket
import stat
import struct
import threading

import place
from place import harness

NOBODY = 65534
LIBC = ctypes.CDLL(None, use_errno=True)
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
KEEP_SIZE, PUNCH_HOLE = 1, 3


def outcome(deed, *words):
    """The outcome of an operation: its result, or its error."""
    try:
        return deed(*words)
    except OSError as error:
        return errno.errorcode[error.errno]


def put(path, data, flags=os.O_CREAT | os.O_WRONLY, mode=0o644):
    fd = os.open(path, flags, mode)
    try:
        return os.write(fd, data)
    finally:
        os.close(fd)


def get(path):
    with open(path, 'rb') as file:
        return file.read()


def attributes(path):
    """What must be the same of two files made in the same way."""
    about = os.lstat(path)
    size = 0 if stat.S_ISDIR(about.st_mode) else about.st_size
    return oct(about.st_mode), about.st_nlink, about.st_uid, about.st_gid, size


def tree(top):
    found = {}
    for folder, folders, names in os.walk(top):
        for name in folders + names:
            path = os.path.join(folder, name)
            content = get(path) if os.path.isfile(path) and not os.path.islink(path) else None
            found[os.path.relpath(path, top)] = attributes(path), content
    return found


def rename(old, new, flags):
    if LIBC.renameat2(-100, os.fsencode(old), -100, os.fsencode(new), flags) < 0:
        raise OSError(ctypes.get_errno(), 'renameat2')


def fallocate(path, mode, offset, length):
    with open(path, 'r+b') as file:
        if LIBC.fallocate(file.fileno(), mode, ctypes.c_long(offset), ctypes.c_long(length)) < 0:
            raise OSError(ctypes.get_errno(), 'fallocate')


def as_other(deed, *words, user=NOBODY, group=NOBODY, mask=0o022):
    """The outcome of an operation of another user."""
    ends = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(group)
        os.setuid(user)
        os.umask(mask)
        os.write(ends[1], repr(outcome(deed, *words)).encode())
        os._exit(0)
    os.close(ends[1])
    with os.fdopen(ends[0], 'rb') as answers:
        answer = answers.read()
    os.waitpid(child, 0)
    return answer


# --- operations; each gets an empty directory and returns what it saw

def names(top):
    at = lambda name: os.path.join(top, name)
    seen = [outcome(os.mkdir, at('a')), outcome(os.mkdir, at('a')), outcome(os.mkdir, at('no/b')), put(at('a/f'), b'text'),
            outcome(os.mkdir, at('a/f/b')), outcome(os.rmdir, at('a')), outcome(os.unlink, at('a')),
            outcome(os.rmdir, at('a/f')), outcome(os.stat, at('missing')), outcome(put, at('a'), b''),
            outcome(put, at('a/f'), b'', os.O_CREAT | os.O_EXCL | os.O_WRONLY), outcome(os.open, at('a/f'), os.O_DIRECTORY),
            put(at('n' * 255), b'long'), outcome(put, at('n' * 256), b''), put(os.fsencode(top) + b'/\xff\xfe \\\n"', b'odd')]
    os.symlink('a/f', at('link'))
    os.symlink('loop', at('loop'))
    os.symlink('nowhere', at('dangling'))
    seen += [os.readlink(at('link')), get(at('link')), outcome(get, at('loop')), outcome(get, at('dangling')),
             outcome(os.open, at('link'), os.O_NOFOLLOW), put(at('dangling'), b'made'), get(at('nowhere'))]
    os.link(at('a/f'), at('hard'))
    seen += [os.stat(at('a/f')).st_nlink, os.path.samefile(at('a/f'), at('hard')), outcome(os.link, at('a'), at('b')),
             outcome(os.link, at('hard'), at('link')), put(at('hard'), b'TEXT'), get(at('a/f'))]
    os.link(at('link'), at('link2'), follow_symlinks=False)
    os.unlink(at('a/f'))
    seen += [os.stat(at('hard')).st_nlink, outcome(get, at('link'))]
    os.mkfifo(at('pipe'), 0o640)
    with socket.socket(socket.AF_UNIX) as unix:
        os.chdir(top)
        unix.bind('socket')
    return seen


def renames(top):
    at = lambda name: os.path.join(top, name)
    for name in 'abc':
        os.mkdir(at(name))
        put(at(name + '/f'), name.encode())
    seen = [outcome(os.rename, at('a'), at('b')), outcome(os.rename, at('a/f'), at('b')), outcome(os.rename, at('a'), at('a/x')),
            outcome(os.rename, at('a/f'), at('b/f')), get(at('b/f')), outcome(os.rename, at('b'), at('a')),
            sorted(os.listdir(top)), outcome(rename, at('a/f'), at('c/f'), RENAME_NOREPLACE),
            outcome(rename, at('a/f'), at('c/f'), RENAME_EXCHANGE), get(at('a/f')), get(at('c/f')),
            outcome(os.rename, at('missing'), at('x')), outcome(os.rename, at('a/f'), at('y' * 256))]
    with open(at('a/f'), 'r+b', buffering=0) as file:
        os.rename(at('a/f'), at('moved'))
        file.write(b'after')
        put(at('a/f'), b'another')
        seen += [os.fstat(file.fileno()).st_size, get(at('moved')), get(at('a/f'))]
        os.rename(at('a/f'), at('moved'))
        seen += [file.seek(0), file.read(), os.fstat(file.fileno()).st_nlink, get(at('moved'))]
    return seen


def open_and_unlinked(top):
    path = os.path.join(top, 'f')
    with open(path, 'w+b', buffering=0) as file:
        file.write(b'x' * 10000)
        os.unlink(path)
        seen = [outcome(os.stat, path), os.fstat(file.fileno()).st_nlink, file.seek(5000), len(file.read()),
                file.write(b'more'), file.truncate(20000), os.fstat(file.fileno()).st_size, file.seek(0),
                file.read()[9998:10006]]
        put(path, b'new')
        seen += [os.fstat(file.fileno()).st_size, get(path)]
    return seen


def positions(top):
    path = os.path.join(top, 'f')
    seen = [put(path, b'a' * 10), put(path, b'b' * 5, os.O_WRONLY | os.O_APPEND), get(path),
            put(path, b'c', os.O_WRONLY | os.O_TRUNC), get(path), put(path, b'dd', os.O_WRONLY), get(path)]
    one, two = (os.open(path, os.O_RDWR | os.O_APPEND) for _ in range(2))
    for i in range(20):
        os.write((one, two)[i % 2], b'%02d' % i)
    seen += [get(path), os.lseek(one, 0, os.SEEK_END), os.lseek(one, 3, os.SEEK_SET), os.read(one, 4),
             os.pread(two, 100, 30), os.pread(two, 10, 1000), os.pwritev(two, [b'12', b'34'], 0), get(path),
             outcome(os.lseek, one, -1, os.SEEK_SET), outcome(put, path, b'x', os.O_RDONLY)]
    for size in (5, 100000, 4095, 0, 7):
        os.truncate(path, size)
        seen += [os.stat(path).st_size, get(path)]
    os.ftruncate(one, 3)
    seen += [os.fstat(two).st_size, outcome(os.truncate, path, -1), outcome(os.truncate, top, 1)]
    os.close(one)
    os.close(two)
    return seen


def large_and_sparse(top):
    path = os.path.join(top, 'f')
    with open(path, 'wb', buffering=0) as file:
        file.seek(5 << 30)
        file.write(b'end')
    seen = [os.stat(path).st_size, os.stat(path).st_blocks < 1000]
    with open(path, 'rb') as file:
        file.seek((5 << 30) - 4)
        seen += [file.read(), file.seek(1 << 30), file.read(5000) == bytes(5000)]
    data = bytes(range(256)) * 20000
    put(path, data, os.O_TRUNC | os.O_WRONLY)
    fallocate(path, PUNCH_HOLE, 8192, 65536)
    seen += [get(path) == data[:8192] + bytes(65536) + data[73728:]]
    fallocate(path, KEEP_SIZE, 0, 8 << 20)
    seen += [os.stat(path).st_size, outcome(fallocate, path, 0, 0, 8 << 20), os.stat(path).st_size,
             outcome(fallocate, path, 0, 0, 0), len(get(path))]
    with open(path, 'rb') as source, open(path + '2', 'wb') as target:
        seen += [os.copy_file_range(source.fileno(), target.fileno(), 100000, 1234, 77)]
    return seen + [get(path + '2') == bytes(77) + get(path)[1234:101234]]


def holes(top):
    path = os.path.join(top, 'f')
    with open(path, 'wb', buffering=0) as file:
        file.seek(1 << 20)
        file.write(b'x' * 4096)
        file.truncate(3 << 20)
    with open(path, 'rb') as file:
        return [os.lseek(file.fileno(), *where) for where in
                ((0, os.SEEK_DATA), (1 << 20, os.SEEK_HOLE), (0, os.SEEK_HOLE))] + [
                    outcome(os.lseek, file.fileno(), 2 << 20, os.SEEK_DATA)]


def described(top):
    path = os.path.join(top, 'f')
    put(path, b'x')
    os.chmod(path, 0o4751)
    seen = [attributes(path), outcome(os.chmod, path + 'x', 0o600)]
    os.utime(path, ns=(1234567890123456789, 987654321987654321))
    about = os.stat(path)
    seen += [about.st_atime_ns, about.st_mtime_ns]
    os.symlink('f', path + 'link')
    os.utime(path + 'link', ns=(1111111111, 2222222222), follow_symlinks=False)
    seen += [os.lstat(path + 'link').st_mtime_ns, os.stat(path).st_mtime_ns]
    before = os.stat(path)
    put(path, b'y')
    after = os.stat(path)
    seen += [after.st_mtime_ns > before.st_mtime_ns, after.st_ctime_ns > before.st_ctime_ns]
    for mode in (os.R_OK, os.W_OK, os.X_OK):
        seen.append(os.access(path, mode))
    return seen


def extended_attributes(top):
    path = os.path.join(top, 'f')
    put(path, b'')
    seen = [outcome(os.getxattr, path, 'user.none'), outcome(os.listxattr, path)]
    os.setxattr(path, 'user.one', b'value')
    os.setxattr(path, 'user.two', bytes(range(200)))
    seen += [os.getxattr(path, 'user.one'), os.getxattr(path, 'user.two'), sorted(os.listxattr(path)),
             outcome(os.setxattr, path, 'user.one', b'x', os.XATTR_CREATE),
             outcome(os.setxattr, path, 'user.three', b'x', os.XATTR_REPLACE),
             outcome(os.setxattr, path, 'strange.one', b'x'), outcome(os.setxattr, path, 'user.empty', b'')]
    os.removexattr(path, 'user.one')
    return seen + [outcome(os.removexattr, path, 'user.one'), sorted(os.listxattr(path)), os.getxattr(path, 'user.empty')]


def locks(top):
    path = os.path.join(top, 'f')
    put(path, b'x' * 100)
    one = open(path, 'r+b')

    def try_locks():
        with open(path, 'r+b') as other:
            return [outcome(fcntl.lockf, other, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, start) for start in (0, 50)] + [
                outcome(fcntl.lockf, other, fcntl.LOCK_SH | fcntl.LOCK_NB, 10, 0),
                outcome(fcntl.flock, other, fcntl.LOCK_SH | fcntl.LOCK_NB),
                outcome(fcntl.flock, other, fcntl.LOCK_EX | fcntl.LOCK_NB)]

    def in_child():
        return as_other(try_locks, user=os.getuid(), group=os.getgid())

    seen = [in_child()]
    fcntl.lockf(one, fcntl.LOCK_EX, 20, 0)
    seen.append(in_child())
    fcntl.flock(one, fcntl.LOCK_EX)
    seen.append(in_child())
    asked = fcntl.fcntl(one, fcntl.F_GETLK, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 10, 0))
    seen.append(struct.unpack('hhqqi4x', asked)[0] == fcntl.F_UNLCK)  # a process does not conflict with its own lock
    fcntl.lockf(one, fcntl.LOCK_UN)
    fcntl.flock(one, fcntl.LOCK_SH)
    seen.append(in_child())
    one.close()
    return seen + [in_child()]


def many_entries(top):
    wanted = [f'{number:05}-{"x" * (number % 100)}' for number in range(3000)]
    for name in wanted:
        put(os.path.join(top, name), b'')
    seen = [sorted(os.listdir(top)) == wanted]
    deleted = 0
    with os.scandir(top) as entries:  # files that are deleted while the list is read appear once
        for entry in entries:
            os.unlink(entry.path)
            deleted += 1
    return seen + [deleted, os.listdir(top), os.stat(top).st_nlink]


def clients(top):
    """Sixty-four threads; each uses its own part of one file, and its own file."""
    path = os.path.join(top, 'shared')
    put(path, b'')

    def work(number):
        fd = os.open(path, os.O_RDWR)
        for step in range(20):
            os.pwrite(fd, bytes([number]) * 1000, (step * 64 + number) * 1000)
        os.close(fd)
        for step in range(5):
            put(os.path.join(top, f'{number}-{step}'), bytes([step]) * 100)
        os.unlink(os.path.join(top, f'{number}-0'))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = b''.join(bytes([number]) * 1000 for number in range(64)) * 20
    return [get(path) == wanted, len(os.listdir(top))]


def other_users(top):
    at = lambda name: os.path.join(top, name)
    os.chmod(top, 0o755)
    for name, mode in (('open', 0o777), ('shared', 0o1777), ('group', 0o2777), ('closed', 0o700)):
        os.mkdir(at(name))
        os.chmod(at(name), mode)
    os.chown(at('group'), 0, 4242)
    put(at('mine'), b'mine', mode=0o600)
    put(at('theirs'), b'theirs', mode=0o644)
    put(at('shared/mine'), b'mine')
    for name in ('open', 'shared', 'group'):
        for mask in (0o022, 0o077):
            as_other(put, at(f'{name}/{mask}'), b'made', mask=mask)
            as_other(os.mkdir, at(f'{name}/d{mask}'), mask=mask)
        as_other(put, at(f'{name}/read-only'), b'made', os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o444)
        as_other(os.symlink, 'x', at(f'{name}/link'))
    return [as_other(get, at('mine')), as_other(get, at('theirs')), as_other(put, at('theirs'), b'x'),
            as_other(put, at('new'), b''), as_other(os.listdir, at('closed')), as_other(os.unlink, at('shared/mine')),
            as_other(put, at('open/read-only'), b'again'), as_other(os.chmod, at('theirs'), 0o666),
            as_other(os.chmod, at('open/18'), 0o600), as_other(os.chown, at('open/18'), 0, 0),
            as_other(os.access, at('mine'), os.R_OK), as_other(os.utime, at('theirs'), (1, 1)),
            as_other(os.setxattr, at('theirs'), 'user.x', b''), as_other(os.rename, at('theirs'), at('open/x'))]


def room(top):
    about = os.statvfs(top)
    return [about.f_bsize, about.f_frsize, about.f_blocks, about.f_namemax]


DEEDS = (names, renames, open_and_unlinked, positions, large_and_sparse, described, extended_attributes, locks,
         many_entries, clients, room)


class Files:
    """The tests of both kinds of cache."""

    def same(self, deed):
        plain = os.path.join(self.folder, 'plain')
        for folder in (plain, os.path.join(self.above, 'in')):
            os.mkdir(folder)
            os.chmod(folder, 0o755)
        os.chmod(self.folder, 0o755)
        self.addCleanup(os.chdir, os.getcwd())
        self.maxDiff = None
        seen = deed(os.path.join(self.above, 'in'))
        self.assertEqual(seen, deed(plain))
        wanted = tree(plain)
        self.assertEqual(tree(os.path.join(self.above, 'in')), wanted)
        os.chdir('/')
        self.stop()
        self.assertEqual(tree(os.path.join(self.below, 'in')), wanted)

    def setUp(self):
        super().setUp()
        self.emulate('--cache', self.cache)


def test_of(deed):
    return lambda self: self.same(deed)


for one_deed in DEEDS:
    setattr(Files, f'test_{one_deed.__name__}', test_of(one_deed))
setattr(Files, 'test_other_users', harness.unittest.skipUnless(os.getuid() == 0, 'only root can be another user')(
    test_of(other_users)))


class WithoutCache(Files, place.MountTest):
    cache = 'none'

    def test_holes(self):
        self.same(holes)

    def test_private_mapping(self):
        path = os.path.join(self.above, 'f')
        put(path, b'abc' * 5000)
        with open(path, 'rb') as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapped:
            self.assertEqual(mapped[:], b'abc' * 5000)

    def test_direct(self):
        page = mmap.mmap(-1, 8192)
        page.write(b'0123456789abcdef' * 512)
        fd = os.open(os.path.join(self.above, 'f'), os.O_RDWR | os.O_CREAT | os.O_DIRECT)
        self.assertEqual(os.pwritev(fd, [page], 4096), 8192)
        self.assertEqual(os.preadv(fd, [page], 8192), 4096)
        os.close(fd)
        self.assertEqual(get(os.path.join(self.below, 'f')), bytes(4096) + b'0123456789abcdef' * 512)

    def test_changes_below_show(self):
        put(os.path.join(self.above, 'f'), b'one')
        put(os.path.join(self.below, 'f'), b'longer')
        put(os.path.join(self.below, 'new'), b'new')
        self.assertEqual(get(os.path.join(self.above, 'f')), b'longer')
        self.assertEqual(get(os.path.join(self.above, 'new')), b'new')


class WithKernelCache(Files, place.MountTest):
    cache = 'kernel'

    def test_shared_mapping(self):
        path = os.path.join(self.above, 'f')
        put(path, bytes(100000))
        with open(path, 'r+b') as one, open(path, 'r+b', buffering=0) as two:
            with mmap.mmap(one.fileno(), 0) as mapped:
                mapped[50000:50005] = b'hello'
                two.seek(50000)
                self.assertEqual(two.read(5), b'hello')
                two.seek(10)
                two.write(b'there')
                self.assertEqual(mapped[10:15], b'there')
                mapped.flush()
                self.assertEqual(get(os.path.join(self.below, 'f'))[50000:50005], b'hello')
                mapped[0:2] = b'at'
        self.assertEqual(get(os.path.join(self.below, 'f'))[:15], b'at' + bytes(8) + b'there')


if __name__ == '__main__':
    harness.main()
