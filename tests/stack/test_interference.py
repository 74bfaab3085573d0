"""`ioseer interference` on a real stack: one program's files are spread over all servers, the other's are on one of them. The
disks are emulated, so that two programs on one of them have to wait for each other on any machine."""
import os
import subprocess
import sys

from gluster import harness
from stacks import StackTest

SPREAD = '''
import os, sys
for i in range(24):
    fd = os.open(f'{sys.argv[1]}/file{i}', os.O_CREAT | os.O_WRONLY)
    for j in range(4):
        os.pwrite(fd, bytes(128 << 10), j << 17)
    os.close(fd)
'''


class Interference(StackTest):
    def three_servers(self, *options):
        self.mount = self.up('--servers', '3', '--emulate', 'hdd', '--pin', 'one=0', *options)['mount']

    def start(self, log, *command):
        words = [harness.IOSEER, 'record', '-q', '--force', '--stack', self.name, '-o', self.path(log), '--', *command]
        return subprocess.Popen(words)

    def spread(self, log):
        folder = os.path.join(self.mount, 'all')
        os.makedirs(folder, exist_ok=True)
        return self.start(log, sys.executable, '-c', SPREAD, folder)

    def pinned(self, log, count=400):
        return self.start(log, 'dd', 'if=/dev/zero', f'of={self.mount}/one/file', 'bs=128k', f'count={count}', 'status=none')

    def at_once(self, *started):
        for process in started:
            self.assertEqual(process.wait(timeout=120), 0)

    def found(self, *words):
        return self.json('interference', '--json', *(w if w.startswith('--') else self.path(w) for w in words))

    def test_the_shared_server_is_named_and_avoiding_it_helps(self):
        self.three_servers()
        self.at_once(self.spread('a0'))
        self.at_once(self.pinned('b0'))
        self.at_once(self.spread('a'), self.pinned('b'))
        found = self.found('a', 'b', '--alone', 'b0', 'a0')
        self.assertEqual(found['overloaded'], 0)
        self.assertIn("--avoid 'all=0'", found['advice'])
        self.assertGreater(found['servers'][0]['overload'], 1.2)
        for server in found['servers'][1:]:
            self.assertEqual(server['share'], [1, 0])
            self.assertEqual(server['shared_seconds'], 0)
        share = found['servers'][0]['share']
        self.assertAlmostEqual(sum(share), 1)
        self.assertGreater(share[1], share[0])
        for job in found['jobs']:
            self.assertAlmostEqual(job['lost_seconds'], job['run_time'] - job['alone_time'])
            self.assertAlmostEqual(job['slowdown'], job['run_time'] / job['alone_time'])
            self.assertLessEqual(job['gain_low'], job['gain_high'])
        alone = self.found('a', 'b')
        self.assertEqual(alone['overloaded'], 0)
        self.assertIsNone(alone['jobs'][0]['alone_time'])
        text = self.expect(0, 'interference', self.path('a'), self.path('b')).stdout
        self.assertIn(b'Server 0 was overloaded', text)

        self.down()
        self.three_servers('--avoid', 'all=0')
        self.at_once(self.spread('a'), self.pinned('b'))
        cured = self.found('a', 'b')
        self.assertEqual(cured['servers'][0]['share'], [0, 1])
        self.assertIsNone(cured['overloaded'])

    def test_what_cannot_be_compared(self):
        self.three_servers()
        self.at_once(self.pinned('first', 4))
        self.at_once(self.pinned('second', 4))
        self.assertIn(b'no other program ran at the same time',
                      self.expect(1, 'interference', self.path('first'), self.path('second')).stderr)
        self.expect(0, 'record', '-q', '-o', self.path('plain'), '--', 'true')
        self.assertIn(b'record it with --stack', self.expect(1, 'interference', self.path('first'), self.path('plain')).stderr)
        self.expect(0, 'record', '-q', '--stack', self.name, '-o', self.path('idle'), '--', 'true')
        self.assertIn(b"no calls of the stack's servers", self.expect(1, 'interference', self.path('first'), self.path('idle')).stderr)
        with open(self.path('second'), 'rb') as whole, open(self.path('cut'), 'wb') as cut:
            cut.write(whole.read()[:1000])
        self.assertIn(b'cut off', self.expect(1, 'interference', self.path('first'), self.path('cut')).stderr)
        self.assertIn(b'the same run as', self.expect(1, 'interference', self.path('first'), self.path('first')).stderr)
        self.at_once(self.spread('a'), self.pinned('b'))
        for alone, why in (('plain', b'record it with --stack'), ('a', b'not a run alone')):
            self.assertIn(why, self.expect(1, 'interference', self.path('a'), self.path('b'), '--alone', self.path(alone),
                                           self.path('first')).stderr)
        self.down()
        self.up('--servers', '2')
        self.at_once(self.start('other', 'touch', os.path.join(self.status()['mount'], 'file')))
        self.assertIn(b'its stack is not like that', self.expect(1, 'interference', self.path('a'), self.path('b'), '--alone',
                                                                 self.path('other'), self.path('first')).stderr)
        self.assertIn(b'two or more logs', self.expect(2, 'interference', self.path('first')).stderr)
        self.assertIn(b'more logs than', self.expect(2, 'interference', self.path('first'), self.path('second'), '--alone',
                                                    *[self.path('first')] * 3).stderr)


if __name__ == '__main__':
    harness.main()
