"""An index that is killed at any moment leaves a whole catalogue, and a reader that is killed costs its log only."""
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time

from catalogue_case import CatalogueCase, harness

LOGS = 700


class Kill(CatalogueCase):
    def fill(self):
        log = self.make_log('0.ioseer')
        for number in range(1, LOGS):
            folder = os.path.join(self.tree, str(number % 7))
            os.makedirs(folder, exist_ok=True)
            shutil.copy(log, os.path.join(folder, f'{number}.ioseer'))

    def start(self):
        return subprocess.Popen([harness.IOSEER, 'index', '--json', '--db', self.db, self.tree], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def test_index_is_killed(self):
        self.fill()
        chance = random.Random(20)
        started = time.monotonic()
        self.assert_changes(self.index()[0], added=LOGS)
        whole = time.monotonic() - started
        os.unlink(self.db)
        counts = []
        for _ in range(25):
            process = self.start()
            time.sleep(chance.uniform(0, whole * 0.7))
            process.kill()
            process.communicate(timeout=harness.TIMEOUT_SECONDS)
            if harness.ioseer('jobs', '--db', self.db).returncode:
                continue  # killed before there was a catalogue
            counts.append(len(self.assert_whole()))
            with sqlite3.connect(self.db) as db:
                self.assertEqual(db.execute('PRAGMA integrity_check').fetchall(), [('ok',)])
            db.close()
            if counts[-1] == LOGS:  # again, with other changes
                shutil.rmtree(os.path.join(self.tree, str(chance.randrange(7))), ignore_errors=True)
                self.fill()
        left = sum(name.endswith('.ioseer') for _, _, names in os.walk(self.tree) for name in names)
        self.index()
        self.assertEqual(len(self.assert_whole()), left)
        self.assert_changes(self.index()[0], same=left)

    def test_readers_are_killed(self):
        """As by the kernel when there is no memory left."""
        self.fill()
        process = self.start()
        killed = 0
        while process.poll() is None and killed < 5:
            try:
                with open(f'/proc/{process.pid}/task/{process.pid}/children', encoding='ascii') as file:
                    children = file.read().split()
            except OSError:
                break
            for child in children[:1]:
                os.kill(int(child), signal.SIGKILL)
                killed += 1
            time.sleep(0.02)
        out, err = process.communicate(timeout=harness.TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, 0, err)
        said = harness.json.loads(out)
        self.assertLessEqual(len(said['bad']), killed)
        for row in said['bad']:
            self.assertIn('ended with signal 9', row['reason'])
        self.assertEqual(said['added'] + len(said['bad']), LOGS)
        again, bad = self.index()
        self.assertEqual(bad, {})
        self.assertEqual(again['same'] + again['added'], LOGS)
        self.assert_whole()


if __name__ == '__main__':
    harness.main()
