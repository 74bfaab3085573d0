"""Storage that benchmarks run programs on, and ranks that are not disturbed."""
import os
import shutil

# Slower than the presets, so that they are steady.
DEVICES = {
    'hdd': ['--read-bw', '40M', '--write-bw', '35M', '--latency', '200us', '--seek-latency', '4ms'],
    'ssd': ['--read-bw', '100M', '--write-bw', '90M', '--latency', '100us'],
    'nvm': ['--read-bw', '200M', '--write-bw', '180M'],
}
# Each rank has a processor, and the kernel shares these between sessions: as root the ranks' come before others.
FIRST = '#!/bin/sh\n{ echo -20 > /proc/self/autogroup; } 2> /dev/null\nexec taskset -c $((PMI_RANK % $(nproc))) "$@"\n'


class Device:
    """An emulated mount. Its data is in memory; the mount is in `folder`, where all nodes see it."""

    def __init__(self, place, folder, name):
        self.place, self.name = place, name
        self.below, self.path = os.path.join(place.folder, name), os.path.join(folder, name)

    def __enter__(self):
        os.mkdir(self.below)
        os.mkdir(self.path)
        self.place.run([self.place.ioseer, 'emulate', '-q', *DEVICES[self.name], self.below, self.path])
        return self

    def __exit__(self, *_):
        self.place.run([self.place.ioseer, 'emulate', '-q', '--stop', self.path])
        shutil.rmtree(self.below)


class Disk:
    """A folder on this machine's own storage."""

    def __init__(self, _, folder, name):
        self.name, self.path = name, os.path.join(folder, name)

    def __enter__(self):
        os.mkdir(self.path)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)


def open_device(place, folder, name):
    """`disk` is the file system of `folder`."""
    return (Disk if name == 'disk' else Device)(place, folder, name)


def write_first(folder):
    """The program that starts a rank."""
    path = os.path.join(folder, 'first')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(FIRST)
    os.chmod(path, 0o755)
    return path
