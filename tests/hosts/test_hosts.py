"""MPI jobs on two and four hosts: one log, all ranks, hosts by name, clocks that agree; and hosts that die."""
import os
import time

from hosts_case import BYTES, PATIENCE_SECONDS, ROUNDS, HostsTest, harness

GOOD_SECONDS = 50e-6
# dump prints seconds as floating-point numbers; a clock unit is a few nanoseconds.
ROUNDING = 1e-7
WAIT_SECONDS = 1  # the most that ranks wait for each other's clocks, in MPI_Init and in MPI_Finalize


class JobsTest(HostsTest):
    def record(self, room, *words, log=None, status=0, **more):  # pylint: disable=arguments-differ,arguments-renamed
        command = room.on('node0', harness.IOSEER, 'record', '-q', '--force', '-o', log or self.log, '--', *words)
        done = harness.run(*command, env=self.variables(), cwd=self.folder, timeout=PATIENCE_SECONDS, **more)
        self.assertEqual((done.returncode, done.stdout, self.complaints(done)), (status, b'', b''))

    @staticmethod
    def truth(room, rank, since_ns=0):
        """In nanoseconds: as seconds since the epoch, they would lose digits."""
        with open(f'{room.folder}/truth.{rank}', encoding='utf-8') as lines:
            return [[int(word) - since_ns for word in line.split()] for line in lines]

    def check_job(self, room, ranks, log=None):
        """Every rank and its writes are there, under the name of its host."""
        info = self.json('info', '--json', log or self.log)
        self.assertEqual(info['job']['host_count'], len(room.names))
        self.assertEqual([host['name'] for host in info['hosts']], room.names)
        here = {process['rank']: process['host'] for process in info['processes'] if process['rank'] is not None}
        self.assertEqual(sorted(here), list(range(ranks * len(room.names))))
        self.assertEqual({host: list(here.values()).count(host) for host in room.names}, dict.fromkeys(room.names, ranks))
        self.assertEqual(info['lost_events'], 0)
        for host in info['hosts']:
            count = len({process['pid'] for process in info['processes'] if process['host'] == host['name']})
            self.assertEqual(host['processes'], count)
        return info

    def writes(self, room, rank, log=None):
        events = self.json('dump', '--json', '--rank', str(rank), '--class', 'write', '--file', f'{room.folder}/local/*', log or self.log)
        self.assertEqual([event['offset'] for event in events], [BYTES * i for i in range(ROUNDS)])
        return events

    def check_clocks(self, room, info, ranks, log=None):
        """All hosts of the test have the same clock, which the program read before and after each write. What the log adds to that
        clock is therefore between two numbers for each write, and the same for all hosts within the errors that the log states:
        whatever the machine does meanwhile. Only writes of the same round are compared, because the system may steer its clock."""
        limits, hosts = {}, {}
        since_ns = self.truth(room, 0)[0][0]
        for rank in range(ranks * len(room.names)):
            for index, (event, (before, after)) in enumerate(zip(self.writes(room, rank, log), self.truth(room, rank, since_ns))):
                hosts[rank] = event['host']
                limits[rank, index] = (event['start'] + event['duration'] - after / 1e9, event['start'] - before / 1e9)
        errors = {host['name']: host['clock_error'] for host in info['hosts']}
        for (rank, index), (low, high) in limits.items():
            least, most = limits[0, index]
            allowed = errors[hosts[rank]] + errors[hosts[0]] + ROUNDING  # either may be the host that the other is relative to
            self.assertLessEqual(low - most, allowed, (rank, index))
            self.assertLessEqual(least - high, allowed, (rank, index))

    def run_until_exact(self, room, run, ranks=1):
        """Errors depend on what else the machine does: each host has a small one in the best of several runs."""
        best = dict.fromkeys(room.names, 1)
        until = time.monotonic() + 2 * PATIENCE_SECONDS
        while max(best.values()) > GOOD_SECONDS and time.monotonic() < until:
            log = run()
            info = self.check_job(room, ranks, log)
            self.assertEqual([host['name'] for host in info['hosts'] if host['clock_error'] is None], [])
            self.check_clocks(room, info, ranks, log)
            for host in info['hosts']:
                best[host['name']] = min(best[host['name']], host['clock_error'])
        self.assertLessEqual(max(best.values()), GOOD_SECONDS, best)

    def test_record(self):
        """`record` on the host of the launcher."""
        for count in (2, 4):
            room = self.room(count)
            self.run_until_exact(room, lambda: self.record(room, *self.rounds(room, ROUNDS)))
            with self.subTest(count=count):
                text = harness.ioseer('info', self.log).stdout.decode()
                self.assertRegex(text, rf'\nHosts      {count};')
                for name in room.names:
                    self.assertRegex(text, rf'\n +\d+ .* {name}\n')

    def test_ranks_that_share_hosts(self):
        """Each rank under a `record` of its own; all ranks of a host have its clock."""
        room = self.room(2)
        program = self.rounds(room, ROUNDS, ranks=2)
        at = next(i for i, word in enumerate(program) if 'rounds-' in word)
        record = [harness.IOSEER, 'record', '-q', '--force', '-o', self.log, '--']
        done = harness.run(*room.on('node0', *program[:at], *record, *program[at:]), env=self.variables(), cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout, self.complaints(done)), (0, b'', b''))
        info = self.check_job(room, 2)
        self.assertEqual([host['name'] for host in info['hosts'] if host['clock_error'] is None], [])
        self.check_clocks(room, info, 2)

    @staticmethod
    def found(top):
        return [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names if name.endswith('.ioseer')]

    def test_env(self):
        """Without `record`: the variables of `ioseer env`, one log in the common folder."""
        room = self.room(2)
        logs = self.path('logs')
        os.mkdir(logs)
        plain, with_variables = self.env_variables(logs)
        done = harness.run(*room.on('node0', *with_variables, *self.rounds(room, ROUNDS)), env=plain, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout, self.complaints(done)), (0, b'', b''))
        found = self.found(logs)
        self.assertEqual(len(found), 1)
        log = found[0]
        info = self.check_job(room, 1, log)
        self.check_clocks(room, info, 1, log)

    def test_finalize_apart(self):
        """A rank that comes late to MPI_Finalize: nobody waits longer than is promised, and no message of the recorder reaches a
        program that receives from anybody."""
        room = self.room(2)
        for rank in (0, 1):
            with self.subTest(rank=rank):
                words = self.rounds(room, ROUNDS, rank, 3)
                start = time.monotonic()
                bare = harness.run(*room.on('node0', *words), env=self.variables())
                self.assertEqual((bare.returncode, self.complaints(bare)), (0, b''))
                took = time.monotonic() - start
                start = time.monotonic()
                self.record(room, *words)
                self.assertLess(time.monotonic() - start, took + 2 * WAIT_SECONDS + 10)
                info = self.check_job(room, 1)
                self.check_clocks(room, info, 1)

    def test_a_late_answer(self):
        """A rank that answers when nobody waits for it any more: the answer does not reach the program, which receives from anybody."""
        room = self.room(2)
        delay = os.path.join(harness.BUILD, 'tests', 'hosts', 'libdelay.so')
        setting = [] if self.mpi == 'mpich' else ['-x', 'DELAYED']
        words = self.rounds(room, ROUNDS)
        at = words.index('-n')
        command = room.on('node0', 'env', f'LD_PRELOAD={delay}', 'DELAYED=1', harness.IOSEER, 'record', '-q', '-o', self.log, '--',
                          *words[:at], *setting, *words[at:])
        start = time.monotonic()
        done = harness.run(*command, env=self.variables(), cwd=self.folder, timeout=PATIENCE_SECONDS)
        self.assertEqual((done.returncode, done.stdout, self.complaints(done)), (0, b'', b''))
        self.assertGreater(time.monotonic() - start, 2)  # it was late indeed
        info = self.check_job(room, 1)
        if info['hosts'][1]['clock_error'] is not None:
            self.check_clocks(room, info, 1)

    def test_counters(self):
        """Without a trace the ranks of all hosts add up their counters, if all are recorded."""
        program = os.path.join(harness.BUILD, 'tests', 'site', f'shares-{self.mpi}')
        for is_whole in (True, False):
            with self.subTest(is_whole):
                room = self.room(2)
                logs, work = self.path(f'logs{is_whole}'), self.path(f'work{is_whole}')
                os.mkdir(logs)
                os.mkdir(work)
                plain, with_variables = self.env_variables(logs, IOSEER_TRACE_CAP='0')
                who = [] if is_whole else ['sh', '-c', 'case $(hostname) in node1) export IOSEER_RECORD=none; esac; exec "$@"', 'sh']
                done = harness.run(*room.on('node0', *with_variables, 'env', '-C', work, *self.launch(room, *who, program, 'posix-only', ranks=2)),
                                   env=plain, cwd=work)
                self.assertEqual((done.returncode, self.complaints(done)), (0, b''))
                found = self.found(logs)
                self.assertEqual(len(found), 1)
                records = [record for record in self.json('stats', '--json', '--per-rank', found[0])['records']
                           if record['file'] == f'{work}/all']
                self.assertEqual(sum(record['counters']['POSIX_WRITES'] for record in records), 4 + 5 + 6 + 7 if is_whole else 4 + 5)
                self.assertEqual([record.get('ranks') for record in records], [4] if is_whole else [None, None])

    def moments(self, room, log, since_ns):
        """{rank: [(least, most)]}: what the log adds to the clock that all hosts have, at the first write and at the last one."""
        found = {}
        for record in self.json('stats', '--json', '--per-rank', log)['records']:
            base, _, rank = os.path.basename(record['file']).partition('.')
            if base != 'data' or record['layer'] != 'posix':
                continue
            truth = self.truth(room, int(rank), since_ns)
            found[int(rank)] = [(moment - truth[at][1] / 1e9, moment - truth[at][0] / 1e9)
                                for at, moment in ((0, record['counters']['POSIX_F_WRITE_START_TIMESTAMP']),
                                                   (-1, record['counters']['POSIX_F_WRITE_END_TIMESTAMP']))]
        return found

    def test_moments_of_counters(self):
        """Ranks that add up their counters have one clock, whatever the time of day is on their hosts, and it is the job's. The
        first program of the job, which began it, runs on node0, rank 0 there or on the other host."""
        skew = os.path.join(harness.BUILD, 'tests', 'hosts', 'libskew.so')
        for first in (0, 1):
            with self.subTest(first=first):
                room = self.room(2)
                logs = self.path(f'logs{first}')
                os.mkdir(logs)
                plain, with_variables = self.env_variables(logs, IOSEER_TRACE_CAP='0')
                words = self.rounds(room, ROUNDS, ranks=2)
                at = next(i for i, word in enumerate(words) if 'rounds-' in word)
                who = ['sh', '-c', f'case $(hostname) in node1) LD_PRELOAD=$LD_PRELOAD:{skew}; esac; exec "$@"', 'sh']
                words[at:at] = who
                if first:
                    words = [word.replace('node0:2,node1:2', 'node1:2,node0:2') for word in words]
                done = harness.run(*room.on('node0', *with_variables, *words), env=plain, cwd=self.folder, timeout=PATIENCE_SECONDS)
                self.assertEqual((done.returncode, self.complaints(done)), (0, b''))
                log, = self.found(logs)
                info = self.json('info', '--json', log)
                self.assertEqual([record.get('ranks') for record in self.json('stats', '--json', '--per-rank', log)['records']
                                  if record['file'].endswith('/ranks')], [4], 'the counters were not added up')
                self.check_moments(room, log, info)

    def check_moments(self, room, log, info):
        """All hosts have the same clock, which node0, where the job began, sees as it is."""
        start_ns = int(info['job']['start'] * 1e9)
        moments = self.moments(room, log, start_ns)
        self.assertEqual(sorted(moments), [0, 1, 2, 3])
        allowed = 1e-3 + 10 * max(host['clock_error'] for host in info['hosts'])
        for rank, limits in moments.items():
            for low, high in limits:
                self.assertLessEqual(low, allowed, rank)
                self.assertGreaterEqual(high, -allowed, rank)

    def test_a_host_that_dies(self):
        """The job ends as without ioseer, and the log has what both hosts have done."""
        bare = self.lose_host(self.room(2))
        room = self.room(2)
        recorded = self.lose_host(room, harness.IOSEER, 'record', '-q', '-o', self.log, '--')
        self.assertLess(recorded, bare + 10)
        for rank in (0, 1):
            self.check_writes(room, rank, self.log)
        hosts = self.json('info', '--json', self.log)['hosts']
        self.assertEqual([host['name'] for host in hosts], room.names)
        self.assertIsNotNone(hosts[1]['clock_error'])  # from the messages in MPI_Init


class Mpich(JobsTest):
    mpi = 'mpich'


class OpenMpi(JobsTest):
    mpi = 'openmpi'


del HostsTest, JobsTest
harness.main()
