"""What the tests of storage share: whether there is FUSE, and a mount that goes away with its test."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import harness  # noqa: E402


def why_no_mount():
    """Why nothing can be mounted here; None where it can."""
    if b'left out of this build' in harness.ioseer('emulate', 'x', 'y').stderr:
        return 'built without libfuse'
    if not os.access('/dev/fuse', os.R_OK | os.W_OK):
        return 'no /dev/fuse'
    if not shutil.which('fusermount3'):
        return 'no fusermount3 (package fuse3)'
    return None


def mounts_at(path):
    """Types of what is mounted there."""
    with open('/proc/self/mounts', encoding='utf-8') as lines:
        return [words[2] for words in map(str.split, lines) if words[1] == path]


class MountTest(harness.CommandLineTest):
    """A test with directories `below` and `above`, the second to mount the first on."""

    @classmethod
    def setUpClass(cls):
        reason = why_no_mount()
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
        self.expect(0, 'emulate', '-q', *options, self.below, self.above)

    def stop(self):
        self.expect(0, 'emulate', '--stop', self.above)
        self.assertEqual(mounts_at(self.above), [])
