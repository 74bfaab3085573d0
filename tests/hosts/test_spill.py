"""MPI jobs without `record` on hosts that keep their records for themselves while the job runs: one log, as in a common
folder, and nothing stays behind; and hosts that die."""
import os
import re
import time

from hosts_case import BYTES, PATIENCE_SECONDS, ROUNDS, HostsTest, harness

# Sums over the ranks; the rest says which rank was what, or is a time.
SUMMED = re.compile('_(OPENS|READS|WRITES|SEEKS|STATS|BYTES_READ|BYTES_WRITTEN|SIZE_.*|RENAME.*|FSYNCS)$')


class SpillTest(HostsTest):
    def setUp(self):
        super().setUp()
        self.logs = self.path('logs')
        os.mkdir(self.logs)

    def variables_of(self, room, **more):
        return self.env_variables(self.logs, **{'IOSEER_SPILL': f'{room.folder}/local', **more})

    def run_job(self, room, words, own_folders=True, status=0, **more):
        plain, variables = self.variables_of(room, **more) if own_folders else self.env_variables(self.logs, **more)
        os.makedirs(self.path('work'), exist_ok=True)
        inside = ['sh', '-c', 'cd "$0" && exec "$@"', self.path('work'), *variables, *words]  # a host has a directory of its own
        done = harness.run(*room.on('node0', *inside), env=plain, timeout=2 * PATIENCE_SECONDS)
        if status is not None:
            self.assertEqual((done.returncode, self.complaints(done)), (status, b''))

    def left(self, room):
        """Whatever is in folders of running jobs, of all hosts."""
        tops = [self.logs, *(f'{room.folder}/disk.{name}' for name in room.names)]
        folders = [os.path.join(top, f'.ioseer-{os.geteuid()}') for top in tops]
        return [os.path.join(folder, name) for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)]

    def wait_until_whole(self, room):
        """A host that is slow delivers after the first log was made; that is then made again."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self.left(room) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual(self.left(room), [])

    def found(self):
        return [os.path.join(folder, name) for folder, _, names in os.walk(self.logs) for name in names if name.endswith('.ioseer')]

    def one_log(self):
        logs = self.found()
        self.assertEqual(len(logs), 1, logs)
        return logs[0]

    def sums(self, log):
        total = {}
        for record in self.json('stats', '--json', log)['records']:
            if not record['file'].startswith(self.path('work')):
                continue
            for name, value in record['counters'].items():
                if SUMMED.search(name):
                    key = record['layer'], record['file'], name
                    total[key] = total.get(key, 0) + value
        return total

    def shares(self, room, *words, ranks=1):
        return self.launch(room, os.path.join(harness.BUILD, 'tests', 'site', f'shares-{self.mpi}'), *words, ranks=ranks)

    def check_ranks(self, room, log, ranks):
        info = self.json('info', '--json', log)
        here = {process['rank']: process['host'] for process in info['processes'] if process['rank'] is not None}
        self.assertEqual(sorted(here), list(range(ranks * len(room.names))))
        self.assertEqual({host: list(here.values()).count(host) for host in room.names}, dict.fromkeys(room.names, ranks))
        self.assertEqual((info['lost_events'], [loss for loss in info['losses'] if 'arrived' in loss['reason']]), (0, []))
        return info

    def test_counters(self):
        """One log, with the counters of a run in a common folder: ranks add them up in both."""
        for count, ranks in ((2, 2), (4, 1)):
            room = self.room(count)
            sums = {}
            for own_folders in (True, False):
                with self.subTest(count=count, own_folders=own_folders):
                    self.run_job(room, self.shares(room, 'files=3', 'posix-only', ranks=ranks), own_folders, IOSEER_TRACE_CAP='0')
                    self.wait_until_whole(room)
                    log = self.one_log()
                    self.check_ranks(room, log, ranks)
                    self.assertIn(-1, {record['rank'] for record in self.json('stats', '--json', log)['records']})
                    sums[own_folders] = self.sums(log)
                    os.unlink(log)
            self.assertTrue(sums[True])
            self.assertEqual(sums[True], sums[False])

    def test_trace(self):
        """Events come along."""
        room = self.room(2)
        self.run_job(room, self.rounds(room, ROUNDS, ranks=2))
        self.wait_until_whole(room)
        log = self.one_log()
        info = self.check_ranks(room, log, 2)
        self.assertEqual([host['name'] for host in info['hosts']], room.names)
        for rank in range(4):
            events = self.json('dump', '--json', '--rank', str(rank), '--op', 'pwrite', '--file', '*/data.*', log)
            self.assertEqual([event['offset'] for event in events], [BYTES * i for i in range(ROUNDS)])

    def test_a_killed_rank(self):
        """What it and the others have done is there."""
        room = self.room(2)
        self.run_job(room, self.shares(room, 'kill=1'), status=None, IOSEER_TRACE_CAP='0')
        self.pack_left(room)
        log = self.one_log()
        self.check_ranks(room, log, 1)
        opens = self.sums(log)['posix', os.path.join(self.path('work'), 'all'), 'POSIX_OPENS']
        self.assertEqual(opens, 2)
        self.assertEqual(self.left(room), [])

    def test_no_room(self):
        """A host without a place for its records has them in the job's directory, as if there were no setting."""
        room = self.room(2)
        self.run_job(room, self.rounds(room, ROUNDS), IOSEER_SPILL=f'{room.folder}/local/missing')
        self.wait_until_whole(room)
        self.check_ranks(room, self.one_log(), 1)

    def pack_left(self, room):
        """As the epilogue of each host, a while later."""
        for name in room.names:
            for path in self.left(room):
                os.utime(path, (time.time() - 100,) * 2)
            plain, variables = self.variables_of(room)
            done = harness.run(*room.on_disk_of(name, *variables, harness.IOSEER, 'pack', '--left'), env=plain)
            self.assertEqual((done.returncode, self.complaints(done)), (0, b''))

    def test_a_dead_host(self):
        """The log says what is missing. When the host is there again, it is made whole."""
        room = self.room(2)
        plain, variables = self.variables_of(room)
        self.lose_host(room, *variables, environment=plain)
        room.kill_host('node0')  # MPICH's launcher may leave its rank behind, and is then killed itself
        for log in self.found():
            self.check_writes(room, 0, log)
            away = [loss['text'] for loss in self.json('info', '--json', log)['losses'] if 'arrived' in loss['reason']]
            self.assertEqual(away, ['node1'])
            self.assertIn('1 host whose records have not arrived', harness.ioseer('info', log).stdout.decode())
        before = self.found()
        self.pack_left(room)
        log = self.one_log()
        self.assertIn(before, ([], [log]))
        for rank in (0, 1):
            self.check_writes(room, rank, log)
        self.check_ranks(room, log, 1)
        self.assertEqual(self.left(room), [])


class Mpich(SpillTest):
    mpi = 'mpich'


class OpenMpi(SpillTest):
    mpi = 'openmpi'


del HostsTest, SpillTest
harness.main()
