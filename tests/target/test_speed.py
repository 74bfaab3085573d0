"""Emulated storage is hardly faster than it should be, and waits as often as it should.

bench/emulate.py measures how close to its speed it comes: other work on the machine makes it slower, and a test cannot
distinguish that from a fault."""
import mmap
import os
import statistics
import threading
import time

import place
from place import harness

MIB = 1 << 20
TRIES = 6
OWED_SECONDS = 0.1  # how much time storage may make up for delays before the measurement


def timed(deed, *words):
    began = time.perf_counter()
    deed(*words)
    return time.perf_counter() - began


class SpeedTest(place.MountTest):
    def setUp(self):
        super().setUp()
        with open(os.path.join(self.below, 'data'), 'wb') as out:
            out.write(os.urandom(16 * MIB))

    def open(self, flags=os.O_RDWR | os.O_DIRECT):
        fd = os.open(os.path.join(self.above, 'data'), flags)
        self.addCleanup(os.close, fd)
        return fd

    def never_faster(self, wanted, measure):
        self.assertLess(measure() / wanted, 1.01)

    def waits(self, latencies, measure, fewer_than):
        """`measure` takes at least this many latencies and, in one of the tries, not many more."""
        seen = []
        for _ in range(TRIES):
            seen.append(measure())
            self.assertGreater(seen[-1], latencies * 0.95)
            if seen[-1] < fewer_than:
                return
        self.fail(f'{seen} latencies, not {latencies}')

    def tearDown(self):
        self.doCleanups()


class Bandwidth(SpeedTest):
    def rate(self, fd, size, write, jobs=1, seconds=1):
        count = max(int(seconds * 50 * MIB / size / jobs), 4)
        buffers = [mmap.mmap(-1, size) for _ in range(jobs)]

        def work(number):
            for step in range(count):
                offset = (number * count + step) * size % (16 * MIB)
                (os.pwritev if write else os.preadv)(fd, [buffers[number]], offset)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(jobs)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return count * jobs * size / (time.perf_counter() - began + OWED_SECONDS)

    def test_requests_of_every_size(self):
        self.emulate('--read-bw', '50M', '--write-bw', '50M')
        fd = self.open()
        for size in (65536, MIB, 4 * MIB):
            for write in (False, True):
                with self.subTest(size=size, write=write):
                    self.never_faster(50 * MIB, lambda: self.rate(fd, size, write))

    def test_small_requests(self):
        self.emulate('--read-bw', '5M', '--write-bw', '5M')
        fd = self.open()
        for write in (False, True):
            with self.subTest(write=write):
                self.never_faster(5 * MIB, lambda: self.rate(fd, 4096, write, seconds=0.1))

    def test_one_limit_for_all(self):
        self.emulate('--read-bw', '50M', '--write-bw', '50M')
        fd = self.open()
        for write in (False, True):
            with self.subTest(write=write):
                self.never_faster(50 * MIB, lambda: self.rate(fd, 262144, write, jobs=8))

    def test_no_credit_for_a_rest(self):
        self.emulate('--write-bw', '50M')
        fd, page = self.open(), mmap.mmap(-1, MIB)

        durations = []
        for _ in range(9):
            time.sleep(0.03)
            durations.append(timed(os.pwritev, fd, [page], 0))
        self.assertGreater(statistics.median(durations), 0.02 * 0.97)


class Latency(SpeedTest):
    def test_data(self):
        for latency in (0.004, 0.01):
            self.emulate('--latency', f'{int(latency * 1e6)}us', '--read-bw', '2000M')
            fd, page = self.open(), mmap.mmap(-1, 4096)
            for deed in (os.preadv, os.pwritev):
                with self.subTest(latency=latency, deed=deed.__name__):
                    self.waits(1, lambda: statistics.median(
                        timed(deed, fd, [page], 4096 * i) for i in range(50)) / latency, 4)
            self.doCleanups()
            super().setUp()

    def test_latencies_pass_at_the_same_time(self):
        self.emulate('--latency', '20ms')
        fd = self.open()

        def all_at_once():
            pages = [mmap.mmap(-1, 4096) for _ in range(32)]
            threads = [threading.Thread(target=os.preadv, args=(fd, [page], 4096 * i)) for i, page in enumerate(pages)]
            began = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return (time.perf_counter() - began) / 0.02

        self.waits(1, all_at_once, 16)

    def test_seeks(self):
        self.emulate('--latency', '10ms', '--seek-latency', '100ms')
        fd, page = self.open(), mmap.mmap(-1, 4096)
        os.preadv(fd, [page], 0)
        self.assertGreater(timed(os.preadv, fd, [page], 1 * MIB), 0.1)
        os.preadv(fd, [page], 0)
        offsets = iter(range(4096, MIB, 4096))
        self.waits(1, lambda: timed(os.preadv, fd, [page], next(offsets)) / 0.01, 10)


class MetadataLatency(SpeedTest):
    """One call of a program takes one latency, even if it is several requests."""
    LATENCY = 0.05

    def times(self, deed, *words):
        return timed(deed, *words) / self.LATENCY

    def test_calls(self):
        os.makedirs(os.path.join(self.below, 'a/b/c'))
        with open(os.path.join(self.below, 'a/b/c/old'), 'wb') as out:
            out.write(b'x')
        self.emulate('--meta-latency', '50ms')
        at = lambda name: os.path.join(self.above, 'a/b/c', name)
        number = iter(range(1000))
        new = lambda: at(f'new-{next(number)}')

        def open_and_close(path, flags=os.O_RDONLY):
            os.close(os.open(path, flags))

        def stat_missing():
            os.path.exists(at('missing'))

        made = [new() for _ in range(2 * TRIES)]
        for path in made:
            open_and_close(path, os.O_CREAT | os.O_WRONLY)
        removed = iter(made)
        for name, deed in (('stat', lambda: os.stat(at('old'))), ('stat of nothing', stat_missing),
                           ('open', lambda: open_and_close(at('old'))),
                           ('create', lambda: open_and_close(new(), os.O_CREAT | os.O_WRONLY)),
                           ('mkdir', lambda: os.mkdir(new())), ('symlink', lambda: os.symlink('x', new())),
                           ('rename', lambda: os.rename(next(removed), new())),
                           ('unlink', lambda: os.unlink(next(removed))), ('chmod', lambda: os.chmod(at('old'), 0o600)),
                           ('truncate', lambda: os.truncate(at('old'), 1)), ('list', lambda: os.listdir(at('')))):
            with self.subTest(call=name):
                time.sleep(0.01)
                self.waits(1, lambda: self.times(deed), 1.9)


if __name__ == '__main__':
    harness.main()
