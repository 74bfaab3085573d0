#!/usr/bin/env python3
"""Inside collective calls, under each MPI: the four parts of each call's time add up to it, on real programs; and they
are those that two-phase I/O with timers of its own measures. Speaks TAP; takes the name of a class."""
import os
import shlex
import statistics
from unittest import mock

import job_case
from job_case import LAUNCHERS, harness, program

PARTS = ('wait', 'exchange', 'io', 'rest')


def ns(seconds):
    return round(seconds * 1e9)


def example(name, mpi):
    return os.path.join(harness.BUILD, 'examples', f'{name}-{mpi}')


class CollectivesTest(job_case.JobTest):
    def record(self, ranks, *command):
        recorded = harness.ioseer('record', '-q', '--force', '-o', self.log, '--', *LAUNCHERS[self.mpi], '-n',
                                  str(ranks), *command)
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        self.events = self.json('dump', '--json', self.log)
        self.below = {}
        for event in self.events:
            self.below.setdefault(event['parent'], []).append(event)
        return [event for event in self.events if event['layer'] == 'mpiio' and event['collective']]

    def check_sums(self, calls, ranks):
        """The parts of each call add up, and those of info are the sums."""
        sums = dict.fromkeys(PARTS, 0)
        divided = [call for call in calls if '_i' not in call['op']]
        for call in divided:
            inside = call['inside']
            time = ns(call.get('call_time', call['duration']))
            self.assertEqual(sum(ns(inside[part]) for part in PARTS), time, call)
            for part in PARTS:
                self.assertGreaterEqual(inside[part], 0, call)
                sums[part] += ns(inside[part])
            self.check_rounds(call)
            self.check_access(call, inside, ranks)
        info = self.json('info', '--json', self.log)['collectives']
        self.assertEqual((info['calls'], info['unmatched']), (len(divided), 0))
        self.assertEqual(info['nonblocking'], len(calls) - len(divided))
        self.assertEqual({part: ns(info[part]) for part in PARTS}, sums)
        for part in PARTS:
            self.assertEqual(sum(ns(row[part]['seconds']) for row in info['operations']), sums[part])
        self.check_shuffle(info, sums)
        for row in info['operations']:
            self.check_shuffle(row, {part: ns(row[part]['seconds']) for part in PARTS})
        return info

    def check_shuffle(self, of, sums):
        """The share of the exchange, in what moves data and in all."""
        moving, everything = sums['exchange'] + sums['io'], sum(sums.values())
        self.assertEqual(of['shuffle_share'] is None, moving == 0)
        if moving:
            self.assertAlmostEqual(of['shuffle_share'], sums['exchange'] / moving)
        if everything:
            self.assertAlmostEqual(of['shuffle_share_of_all'], sums['exchange'] / everything)

    def check_rounds(self, call):
        """Each part is the sum over the rounds, to the nanosecond."""
        inside = call['inside']
        rounds = inside.get('by_round', [])
        self.assertEqual(len(rounds), inside['rounds'] or 0, call)
        for part in PARTS[:3] if rounds else ():
            self.assertEqual(sum(ns(one[part]) for one in rounds), ns(inside[part]), call)
            self.assertGreaterEqual(min(one[part] for one in rounds), 0, call)

    def check_access(self, call, inside, ranks):
        """File access is the time in the calls below, which do not overlap here; aggregators are who transfers."""
        below = self.below.get(call['id'], [])
        transfers = [event for event in below if event['class'] == call['class'] and event['file'] == call['file']]
        self.assertEqual(ns(inside['io']), sum(ns(event['duration']) for event in below), call)
        self.assertIn(inside['ranks'], (1, ranks))
        if inside['rounds']:
            self.assertEqual(inside['aggregator'], bool(transfers), call)
            self.assertGreater(inside['rounds'], 0)
        else:
            self.assertEqual((inside['exchange'], inside['aggregator']), (0, False))

    def check_program(self, ranks, name, *options):
        calls = self.record(ranks, example(name, self.mpi), '--directory', self.folder, *options)
        self.assertTrue(calls)
        return self.check_sums(calls, ranks)

    def test_interleaved(self):
        """The pieces of the ranks alternate in the file: both MPIs exchange them."""
        for ranks in 4, 16:
            info = self.check_program(ranks, 'btio', '--grid', '16', '--steps', '10')
            for row in info['operations']:
                is_transfer = row['op'] in ('MPI_File_write_at_all', 'MPI_File_read_at_all')
                self.assertEqual(row['two_phase'], row['calls'] if is_transfer else 0, row)
                if self.mpi == 'mpich':
                    self.assertLessEqual({'cb_nodes', 'cb_buffer_size', 'romio_ds_write', 'romio_ds_read'}, set(row['hints']))
                self.assertEqual(bool(row['aggregators']), is_transfer)

    def test_rounds(self):
        """A small buffer makes rounds. OMPIO then writes a round while it exchanges the next one."""
        with open(self.path('hints'), 'w', encoding='ascii') as hints:
            hints.write('cb_buffer_size 131072\n')
        settings = {'ROMIO_HINTS': self.path('hints'), 'OMPI_MCA_io_ompio_bytes_per_agg': '262144',
                    'OMPI_MCA_io_ompio_num_aggregators': '1'}
        with mock.patch.dict(os.environ, settings):
            calls = self.record(4, example('btio', self.mpi), '--directory', self.folder, '--grid', '32', '--steps', '10')
        bytes_of_call = 32 ** 3 * 5 * 8
        for call in calls:
            self.assertEqual(sum(ns(call['inside'][part]) for part in PARTS), ns(call['duration']), call)
            self.check_rounds(call)
            if call['class'] == 'write':
                self.assertEqual(call['inside']['rounds'], bytes_of_call // 131072, call)
        self.check_round_means(calls)

    def check_round_means(self, calls):
        """What info says of a round is about those of aggregators."""
        for row in self.json('info', '--json', self.log)['collectives']['operations']:
            rounds = [one for call in calls if (call['op'], call['file']) == (row['op'], row['file'])
                      and call['inside']['aggregator'] for one in call['inside']['by_round']]
            self.assertEqual(row['round'] is None, not rounds, row)
            for part in PARTS[:3] if rounds else ():
                times = [one[part] for one in rounds]
                self.assertEqual((row['round']['count'], ns(row['round'][part]['seconds'])),
                                 (len(times), sum(map(ns, times))))
                self.assertAlmostEqual(row['round'][part]['mean'], statistics.fmean(times))
                self.assertAlmostEqual(row['round'][part]['variance'], statistics.pvariance(times))

    def test_alone(self):
        """One rank waits for nobody."""
        info = self.check_program(1, 'btio', '--grid', '8', '--steps', '10')
        self.assertEqual((info['wait'], info['exchange'], info['late']), (0, 0, []))

    def test_contiguous(self):
        for ranks in 4, 16:
            self.check_program(ranks, 'ior', '--block', '65536', '--transfer', '16384', '--collective')

    def test_checkpoints(self):
        """Checkpoints in files of their own, whose arrays each rank has a block of."""
        self.check_program(4, 's3d', '--edge', '8', '--checkpoints', '2')

    def test_two_jobs(self):
        """Ranks of two jobs have the same numbers: operations and late ranks are told apart. A dump of one rank, or of
        few calls, says the same of each call as a dump of all."""
        command = shlex.join([*LAUNCHERS[self.mpi], '-n', '4', example('btio', self.mpi), '--directory', self.folder,
                              '--grid', '8', '--steps', '10'])
        recorded = harness.ioseer('record', '-q', '--force', '-o', self.log, '--', 'sh', '-c', f'{command}; {command}')
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        info = self.json('info', '--json', self.log)['collectives']
        rows = [(row['op'], row['file'], row['world']) for row in info['operations']]
        self.assertEqual((len(set(rows)), {world for *_, world in rows}), (len(rows), {0, 1}))
        for row in info['operations']:
            self.assertEqual(row['aggregator_count'], len(set(row['aggregators'])))
        self.assertEqual(len({late['pid'] for late in info['late']}), len(info['late']))
        self.assertIn(b'WORLD', harness.ioseer('info', self.log).stdout)
        inside = {event['id']: event.get('inside') for event in self.json('dump', '--json', self.log)}
        for options in ['--rank', '1'], ['--op', 'MPI_File_write_at_all'], ['--class', 'close'], ['--slowest', '7']:
            for event in self.json('dump', '--json', *options, self.log):
                self.assertEqual(event.get('inside'), inside[event['id']], (options, event))

    def stand_in(self, *case):
        """A machine that is busy with something else disturbs both clocks: three attempts."""
        for attempt in range(3):
            try:
                return self.compare_with_timers(*case)
            except AssertionError:
                if attempt == 2:
                    raise

    def compare(self, call, times, found, whole):
        for name, seconds in times.items():
            self.assertLess(abs(found[name] - seconds), 0.05 * whole, (name, seconds, found, call))

    def compare_with_timers(self, ranks, calls, aggregators, rounds):
        all_calls = self.record(ranks, program('collectives', self.mpi), self.folder, str(calls), str(aggregators),
                                str(rounds), str(256 << 10))
        info = self.check_sums(all_calls, ranks)
        transfers = [call for call in all_calls if call['class'] in ('read', 'write')]
        self.assertEqual(len(transfers), 2 * calls * ranks)
        for rank in range(ranks):
            with open(self.path(f'times.{rank}'), encoding='ascii') as lines:
                times = [[float(word) for word in line.split()] for line in lines]
            mine = sorted((call for call in transfers if call['rank'] == rank), key=lambda call: call['start'])
            for call, (*parts, rest, whole) in zip(mine, times, strict=True):
                self.compare(call, {'wait': sum(parts[0::3]), 'exchange': sum(parts[1::3]), 'io': sum(parts[2::3]),
                                    'rest': rest}, call['inside'], whole)
                for i, one in enumerate(call['inside']['by_round']):
                    self.compare(call, dict(zip(PARTS, parts[3 * i:3 * i + 3])), one, whole)
                self.assertEqual(call['inside']['rounds'], rounds)
                self.assertEqual(call['inside']['last'], rank == 1)
                self.assertEqual(call['inside']['aggregator'], rank % (ranks // aggregators) == 0)
        for row in info['operations']:
            if row['two_phase']:
                self.assertEqual((row['aggregators'], row['rounds']),
                                 (list(range(0, ranks, ranks // aggregators)), rounds))

    def test_stand_in(self):
        self.stand_in(4, 2, 2, 3)

    def test_one_aggregator(self):
        self.stand_in(4, 2, 1, 1)

    def test_stand_in_of_many(self):
        self.stand_in(16, 1, 4, 2)


class Mpich(CollectivesTest):
    mpi = 'mpich'


class OpenMpi(CollectivesTest):
    mpi = 'openmpi'


del CollectivesTest
harness.main()
