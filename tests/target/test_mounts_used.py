"""The file systems that a job used are in its log, and one that is dead delays nothing."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

import place
from place import harness

def listed(point):
    """A mount as the kernel lists it: type, source, options of the file system."""
    found = None
    with open('/proc/self/mountinfo', encoding='utf-8') as lines:
        for line in lines:
            before, _, after = line.partition(' - ')
            if before.split()[4] == point:
                found = tuple(after.split())
    return found


class MountsUsed(place.MountTest):
    def write(self, *names, then='', options=()):
        """Records a shell that touches these files and no others."""
        return self.record('sh', '-c', ''.join(f'echo text >{name};' for name in names) + then, options=options)

    def mounts(self, log):
        return {mount['point']: mount for mount in self.json('info', '--json', log)['mounts']}

    def check(self, log, *points):
        mounts = self.mounts(log)
        self.assertEqual(set(mounts), set(points))
        text = self.expect(0, 'info', log).stdout.decode()
        for point in points:
            found = mounts[point]
            self.assertEqual((found['type'], found['source'], found['options']), listed(point))
            self.assertEqual((found['nfs'], found['unread'], found['unread_reason']), (None, 0, None))
            self.assertRegex(text, rf'(?m)^  {found["type"]} +{point} ')

    def test_memory_and_emulated_storage(self):
        self.emulate('--preset', 'nvm')
        with tempfile.TemporaryDirectory(dir='/dev/shm') as memory:
            log = self.write(os.path.join(memory, 'data'), os.path.join(self.above, 'data'))
            self.check(log, '/dev/shm', self.above)
        files = {os.path.dirname(file['name']): file for file in self.json('info', '--json', log)['files']}
        self.assertIsNone(files[self.above]['stripe'])

    def test_without_statistics_of_devices(self):
        with tempfile.TemporaryDirectory(dir='/dev/shm') as memory:
            self.check(self.write(os.path.join(memory, 'data'), options=('--no-devices',)), '/dev/shm')

    def test_disk(self):
        mkfs = shutil.which('mkfs.ext4', path=os.environ['PATH'] + ':/usr/sbin:/sbin')
        if os.getuid() != 0 or not mkfs or not os.access('/dev/loop-control', os.W_OK):
            self.skipTest('needs root, mkfs.ext4 and loop devices')
        with open(self.path('image'), 'wb') as image:
            image.truncate(16 << 20)
        subprocess.run([mkfs, '-q', self.path('image')], check=True)
        subprocess.run(['mount', '-o', 'loop', self.path('image'), self.above], check=True)
        log = self.write(os.path.join(self.above, 'data'))
        self.check(log, self.above)
        self.assertEqual(self.mounts(log)[self.above]['type'], 'ext4')

    def test_that_is_gone_at_the_end(self):
        self.emulate('--preset', 'nvm')
        before = listed(self.above)
        log = self.write(os.path.join(self.above, 'data'), then=f'{harness.IOSEER} emulate --stop {self.above}')
        self.assertEqual(place.mounts_at(self.above), [])
        found = self.mounts(log)[self.above]
        self.assertEqual((found['type'], found['source'], found['options']), before)

    def test_that_is_dead_at_the_end(self):
        self.emulate('--preset', 'nvm')
        server, = place.processes_at(self.above)[1]
        try:
            began = time.monotonic()
            log = self.write(os.path.join(self.above, 'data'), then=f'kill -STOP {server}')
            self.assertLess(time.monotonic() - began, 40)
            with open(f'/proc/{server}/stat', encoding='ascii') as stat:
                self.assertEqual(stat.read().rpartition(')')[2].split()[0], 'T')
            self.check(log, self.above)
        finally:
            os.kill(server, signal.SIGCONT)


if __name__ == '__main__':
    harness.main()
