"""Storage of a given speed: mounting, stopping, and messages about bad arguments."""
import os
import time

import place
from place import harness


class Words(harness.CommandLineTest):
    def test_wrong_words(self):
        if place.why_no_mount() == 'built without libfuse':
            self.skipTest('built without libfuse')
        os.mkdir(self.path('one'))
        os.mkdir(self.path('two'))
        for words in ((), (self.path('one'),), ('--preset', 'floppy', self.path('one'), self.path('two')),
                      ('--cache', 'some', self.path('one'), self.path('two')), (self.path('one'), self.path('one'))):
            with self.subTest(words=words):
                self.expect_error(2, 'emulate', *words)

    def test_presets(self):
        if place.why_no_mount() == 'built without libfuse':
            self.skipTest('built without libfuse')
        names = [line.split()[0] for line in self.expect(0, 'emulate', '--presets').stdout.decode().splitlines()]
        self.assertEqual(names, ['hdd', 'ssd', 'nvme', 'nvm', 'nfs-1g'])


class Mounts(place.MountTest):
    def test_comes_and_goes(self):
        with open(os.path.join(self.below, 'old'), 'w', encoding='utf-8') as out:
            out.write('text')
        self.emulate('--preset', 'nvm')
        self.assertEqual(place.mounts_at(self.above), ['fuse.ioseer'])
        with open(os.path.join(self.above, 'old'), encoding='utf-8') as old:
            self.assertEqual(old.read(), 'text')
        with open(os.path.join(self.above, 'new'), 'wb') as out:
            out.write(b'x' * 3000000)
        self.stop()
        self.assertEqual(os.path.getsize(os.path.join(self.below, 'new')), 3000000)
        self.assertEqual(os.listdir(self.above), [])

    def test_started_without_standard_streams(self):
        """What it opens, like the pipe to its server, must not take their numbers."""
        self.expect(0, 'emulate', '-q', self.below, self.above, timeout=place.PATIENCE_SECONDS,
                    preexec_fn=lambda: os.closerange(0, 3))
        self.assertEqual(place.mounts_at(self.above), ['fuse.ioseer'])
        self.stop()

    def test_has_its_speed(self):
        self.emulate('--write-bw', '20M', '--latency', '1ms')
        began = time.monotonic()
        with open(os.path.join(self.above, 'data'), 'wb', buffering=0) as out:
            for _ in range(10):
                out.write(b'x' * (1 << 20))
        took = time.monotonic() - began
        self.stop()
        self.assertGreater(took, 0.49)

    def test_nothing_to_stop(self):
        self.expect_error(1, 'emulate', '--stop', self.above)
        self.expect_error(1, 'emulate', '--stop', self.path('missing'))

    def test_directories_that_are_not_there(self):
        self.expect_error(1, 'emulate', self.path('missing'), self.above)
        self.expect_error(1, 'emulate', self.below, self.path('missing'))


if __name__ == '__main__':
    harness.main()
