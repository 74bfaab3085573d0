"""What the tests of storage share: whether there is FUSE, and a mount that goes away with its test."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import harness  # noqa: E402

PATIENCE_SECONDS = 60  # on a busy machine


def why_no_mount():
    """Why nothing can be mounted here; None if it can."""
    if b'left out of this build' in harness.ioseer('emulate', 'x', 'y').stderr:
        return 'built without libfuse'
    if not os.access('/dev/fuse', os.R_OK | os.W_OK):
        return 'no /dev/fuse'
    if not shutil.which('fusermount3'):
        return 'no fusermount3 (package fuse3)'
    return None


def mounts_at(path):
    """Types of the file systems mounted there."""
    with open('/proc/self/mounts', encoding='utf-8') as lines:
        return [words[2] for words in map(str.split, lines) if words[1] == path]


def processes_at(mount):
    """Guard and server of a mount, by their command line; the guard is the server's parent."""
    found = {}
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{name}/cmdline', 'rb') as words, open(f'/proc/{name}/stat', encoding='ascii') as about:
                state, parent = about.read().rpartition(')')[2].split()[:2]
                if os.fsencode(mount) in words.read().split(b'\0')[2:] and state not in 'ZX':
                    found[int(name)] = int(parent)
        except (FileNotFoundError, ProcessLookupError):
            continue
    servers = [pid for pid, parent in found.items() if parent in found]
    return [pid for pid in found if pid not in servers], servers


class StorageTest(harness.CommandLineTest):
    """A test with directories `below` and `above`, the second to mount storage on."""

    OPTIONS = ()  # of every `emulate`

    @staticmethod
    def why_not():
        """Why there cannot be such storage here; None if there can."""
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        reason = cls.why_not()
        if reason:
            raise harness.unittest.SkipTest(reason)

    def setUp(self):
        super().setUp()
        self.below, self.above = self.path('below'), self.path('above')
        os.mkdir(self.below)
        os.mkdir(self.above)
        self.addCleanup(self.unmount)

    def unmount(self):
        if mounts_at(self.above):
            harness.ioseer('emulate', '--stop', '--force', self.above)
        while mounts_at(self.above):
            subprocess.run(['umount', '-l', self.above], check=True)

    def emulate(self, *options):
        self.expect(0, 'emulate', '-q', *self.OPTIONS, *options, self.below, self.above)

    def stop(self):
        self.expect(0, 'emulate', '--stop', self.above)
        self.assertEqual(mounts_at(self.above), [])

    def in_own_world(self, *commands):
        """Runs shell commands in a private mount namespace; returns the lines that ioseer printed."""
        if os.getuid() != 0 or not shutil.which('unshare'):
            self.skipTest('only root can have mounts of its own')
        os.chmod(self.folder, 0o755)
        script = '\n'.join(['set -e', 'mount --make-rprivate /', *commands])
        done = subprocess.run(['unshare', '--mount', 'sh', '-c', script], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=PATIENCE_SECONDS * 3, check=False)
        return done.stdout.decode().splitlines()


class MountTest(StorageTest):
    """The first directory, mounted on the second."""

    why_not = staticmethod(why_no_mount)
