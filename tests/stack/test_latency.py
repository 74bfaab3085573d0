#!/usr/bin/env python3
"""Latencies, servers and energy of calls on a stack: all of it is computed again from the events, by the rules and not by
the code, and must agree to the nanosecond."""
import collections
import decimal
import json
import math
import os
import shutil

import gluster
from gluster import harness

ABOVE = ('netcdf', 'pnetcdf', 'hdf5', 'mpiio', 'stdio', 'posix')
BELOW = ('client', 'net', 'server', 'disk')
MPI = [name for name in ('mpich', 'openmpi') if shutil.which(f'mpiexec.{name}')]
LAUNCHER = {'mpich': ['mpiexec.mpich'], 'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe']}


def ns(seconds):
    return int((decimal.Decimal(seconds) * 10**9).to_integral_value())


def load(text):
    return json.loads(text, parse_float=decimal.Decimal, parse_int=int)


class Log:
    """The events of a log as trees."""

    def __init__(self, events, mount):
        self.mount, self.events = mount, {event['id']: event for event in events}
        self.inside = collections.defaultdict(list)
        for event in events:
            event['ns'], event['from'] = ns(event['duration']), ns(event['start'])
            event['until'] = event['from'] + event['ns']
            event.setdefault('server', None)
            self.inside[event['parent']].append(event)

    def below(self, event):
        for child in self.inside[event['id']]:
            yield child
            yield from self.below(child)

    def on_stack(self, event):
        name = event['file'] or ''
        return event['layer'] in BELOW or name.startswith(self.mount + '/') or name == self.mount or \
            any(child['layer'] == 'client' for child in self.below(event))

    def tops(self):
        return [event for event in self.inside[None] if event['layer'] in ABOVE and self.on_stack(event)]

    def of(self, layer, top=None):
        events = self.events.values() if top is None else self.below(top)
        return [event for event in events if event['layer'] == layer]

    # --- latency

    def outermost(self, event):
        """The calls of other layers directly below, through calls of the same layer."""
        for child in self.inside[event['id']]:
            if child['layer'] == event['layer']:
                yield from self.outermost(child)
            elif self.on_stack(child):
                yield child

    def of_fragment(self, fragment, layer):
        per_server = collections.Counter()
        for event in self.of(layer, fragment):
            per_server[event['server']] += event['ns']
        return max(per_server.values(), default=0)

    def latency(self, top):
        """{layer: [inclusive, exclusive]}."""
        sums = collections.defaultdict(lambda: [0, 0])

        def visit(event):
            layer = event['layer']
            if layer == 'client':
                inclusive = [event['ns']] + [self.of_fragment(event, below) for below in BELOW[1:]] + [0]
                for at, name in enumerate(BELOW):
                    sums[name][0] += inclusive[at]
                    sums[name][1] += inclusive[at] - inclusive[at + 1]
                return
            children = list(self.outermost(event))
            sums[layer][0] += event['ns']
            sums[layer][1] += event['ns'] - sum(child['ns'] for child in children)
            for child in children:
                visit(child)

        visit(top)
        return sums

    # --- servers

    def busy(self, server):
        total, until = 0, -10**18
        for start, end in sorted((event['from'], event['until']) for event in self.of('disk') if event['server'] == server):
            total += max(0, end - max(start, until))
            until = max(until, end)
        return total

    def requests(self):
        """Time with requests under way, and with several while no other server has any, by server."""
        moments = sorted([(event['until'], -1, event['server']) for event in self.of('net')] +
                         [(event['from'], 1, event['server']) for event in self.of('net')])
        depth, waited, crowded = collections.Counter(), collections.Counter(), collections.Counter()
        now = None
        for moment, step, server in moments:
            asked = [number for number, count in depth.items() if count > 0]
            for number in asked:
                waited[number] += moment - now
                if len(asked) == 1 and depth[number] > 1:
                    crowded[number] += moment - now
            depth[server] += step
            now = moment
        return waited, crowded

    def slower(self, server):
        """Means of logarithms of requests of the same call and power of two."""
        own, others = collections.defaultdict(list), collections.defaultdict(list)
        for event in self.of('net'):
            moves = event['class'] in ('read', 'write')
            kind = event['op'], event['size'].bit_length() if moves else 0
            (own if event['server'] == server else others)[kind].append(math.log(event['ns'] + 1))
        actual = expected = 0
        for kind, logs in own.items():
            if len(logs) >= 8 and len(others[kind]) >= 8:
                actual += len(logs) * math.exp(sum(logs) / len(logs))
                expected += len(logs) * math.exp(sum(others[kind]) / len(others[kind]))
        return actual / expected if expected else None


def moved(events):
    """Bytes read and written."""
    return tuple(sum(event['result'] for event in events if event['class'] == kind and not event['errno'] and
                     (event['result'] or 0) > 0) for kind in ('read', 'write'))


class LatencyTest(harness.CommandLineTest):
    def setUp(self):
        super().setUp()
        if gluster.why_not():
            self.skipTest(gluster.why_not())
        self.stack = f'latency-{os.getpid()}'

    def up(self, *options):
        self.mount = self.path('mount')
        self.expect(0, 'stack', 'up', self.stack, '--mount', self.mount, *options)
        self.addCleanup(harness.ioseer, 'stack', 'down', '--force', self.stack)

    def run_on_stack(self, *command, name='log.ioseer', **options):
        log = self.path(name)
        self.expect(0, 'record', '-q', '--stack', self.stack, '-o', log, '--', *command, **options)
        return log

    def example(self, mpi, name, *options, ranks=4):
        program = os.path.join(gluster.BUILD, 'examples', f'{name}-{mpi}')
        return [*LAUNCHER[mpi], '-n', str(ranks), program, '--directory', self.mount, *options]

    # --- comparison

    def check_layers(self, log, info, tops):
        wanted = collections.defaultdict(lambda: [0, 0])
        for top in tops:
            for layer, (inclusive, exclusive) in log.latency(top).items():
                wanted[layer][0] += inclusive
                wanted[layer][1] += exclusive
        found = {row['layer']: [ns(row['inclusive']), ns(row['exclusive'])] for row in info['layers']}
        self.assertEqual(found, {layer: times for layer, times in wanted.items() if layer in found})
        self.assertEqual(set(found), {layer for layer in wanted if wanted[layer][0]})
        return found

    def check_single_calls(self, log, info):
        for row in info['layers']:
            if row['layer'] not in BELOW:
                continue
            events = log.of(row['layer'])
            times = [event['ns'] for event in events]
            self.assertEqual(row['calls'], len(events))
            self.assertEqual((row['bytes_read'], row['bytes_written']), moved(events))
            self.assertEqual((ns(row['latency_min']), ns(row['latency_max'])), (min(times), max(times)))
            self.assertEqual(ns(row['latency_mean']), sum(times) // len(times))

    def check_calls(self, path, log, info, tops):
        self.assertEqual(info['calls']['count'], len(tops))
        accesses = [len(log.of('disk', top)) for top in tops if top['class'] in ('read', 'write')]
        self.assertEqual(info['calls']['disk_accesses']['max'], max(accesses, default=None))
        if accesses:
            self.assertAlmostEqual(float(info['calls']['disk_accesses']['mean']), sum(accesses) / len(accesses))
        longest = sorted((top for top in tops if any(event['server'] is not None for event in log.below(top))),
                         key=lambda top: (-top['ns'], top['from']))[:12]
        self.assertEqual([(call['id'], ns(call['duration'])) for call in info['longest']],
                         [(top['id'], top['ns']) for top in longest])
        tree = load(self.expect(0, 'dump', '--json', '--tree', str(longest[0]['id']), path).stdout)
        inside = {longest[0]['id']} | {event['id'] for event in log.below(longest[0])}
        self.assertEqual([event['id'] for event in tree], [number for number in log.events if number in inside])
        for call, top in zip(info['longest'], longest):
            latency = log.latency(top)
            for row in call['layers']:
                self.assertEqual([ns(row['inclusive']), ns(row['exclusive'])], latency[row['layer']], call)
            self.assertEqual(call['servers'], len({event['server'] for event in log.below(top)} - {None}))

    def check_collectives(self, log, info):
        """The n-th collective transfer of each rank on a file is the same call."""
        calls, numbers = collections.defaultdict(list), collections.Counter()
        for event in sorted(log.of('mpiio'), key=lambda event: event['from']):
            if event['collective'] and event['class'] in ('read', 'write') and log.on_stack(event):
                numbers[event['file'], event['pid']] += 1
                calls[event['file'], numbers[event['file'], event['pid']]].append(event)
        counts = [len({below['server'] for event in ranks for below in log.below(event)} - {None})
                  for ranks in calls.values()]
        found = info['calls']['servers_per_collective']
        self.assertEqual((found['calls'], found['max']), (len(counts), max(counts, default=None)))
        if counts:
            self.assertAlmostEqual(float(found['mean']), sum(counts) / len(counts))
        self.assertEqual(info['calls']['unmatched'], 0)

    def check_servers(self, log, info, run_ns):
        waited, crowded = log.requests()
        for server in info['servers']:
            events = [event for event in log.of('disk') if event['server'] == server['id']]
            times = [event['ns'] for event in events]
            self.assertEqual(server['calls'], len(events))
            self.assertEqual((server['bytes_read'], server['bytes_written']), moved(events))
            self.assertEqual(ns(server['busy']), log.busy(server['id']))
            self.assertEqual(ns(server['latency_max']), max(times, default=0))
            self.assertEqual(ns(server['latency_mean']), sum(times) // len(times) if times else 0)
            self.assertEqual((ns(server['waited']), ns(server['crowded'])), (waited[server['id']], crowded[server['id']]))
            busy = log.busy(server['id']) / 1e9
            self.assertAlmostEqual(float(server['energy']), 20 * busy + 5 * (run_ns / 1e9 - busy), places=5)
            slower = log.slower(server['id'])
            self.assertEqual(server['slower'] is None, slower is None)
            if slower:
                self.assertAlmostEqual(float(server['slower']), slower, places=6)
        self.assertAlmostEqual(float(info['energy']), sum(float(server['energy']) for server in info['servers']), places=5)

    def check(self, path):
        whole = load(self.expect(0, 'info', '--json', '--watts', '20,5', path).stdout)
        info, job = whole['stack'], whole['job']
        log = Log(load(self.expect(0, 'dump', '--json', path).stdout), self.mount)
        tops = log.tops()
        self.assertTrue(tops)
        self.check_layers(log, info, tops)
        self.check_single_calls(log, info)
        self.check_calls(path, log, info, tops)
        self.check_collectives(log, info)
        self.check_servers(log, info, ns(job['end']) - ns(job['start']))
        by_process = collections.Counter(top['pid'] for top in tops)
        self.assertEqual({row['pid']: row['calls'] for row in info['processes'] if row['calls']}, by_process)
        return info

    # --- programs

    def test_mpi_programs(self):
        self.up('--servers', '4', '--layout', 'shard')
        for mpi in MPI:
            for name, options in (('madbench', ('--size', '65536', '--work', '0')), ('btio', ('--grid', '12', '--steps', '10')),
                                  ('s3d', ('--edge', '6', '--mode', 'collective')), ('hdf5', ()), ('variables', ())):
                if not os.path.exists(os.path.join(gluster.BUILD, 'examples', f'{name}-{mpi}')):
                    continue
                with self.subTest(mpi=mpi, program=name):
                    info = self.check(self.run_on_stack(*self.example(mpi, name, *options), name=f'{mpi}-{name}.ioseer'))
                    self.assertGreater(info['calls']['disk_accesses']['max'], 0)

    def test_programs_without_mpi(self):
        self.up('--servers', '3', '--layout', 'disperse')
        program = ('import os, sys\nfd = os.open(sys.argv[1] + "/data", os.O_CREAT | os.O_RDWR)\n'
                   'for i in range(20): os.pwrite(fd, bytes(100000), i * 100000)\nos.pread(fd, 500000, 0)\n'
                   'with open(sys.argv[1] + "/text", "w") as out: out.write("x" * 5000)\n')
        path = self.run_on_stack('python3', '-c', program, self.mount)
        info = self.check(path)
        for watts in ('x', '10', '-1,2', '1,2,3'):
            for verb in ('info', 'report'):
                self.expect_error(2, verb, '--watts', watts, path)
        self.assertEqual([server['overload'] for server in info['servers']], [None] * 3)

    # --- overloaded servers

    WRITER = ('import os, sys, threading\n'
              'def write(name):\n'
              '    fd = os.open(sys.argv[1] + "/" + name, os.O_CREAT | os.O_RDWR)\n'
              '    for i in range(40): os.pwrite(fd, bytes(65536), i * 65536)\n'
              'threads = [threading.Thread(target=write, args=(name,)) for name in sys.argv[2:]]\n'
              'for thread in threads: thread.start()\n'
              'for thread in threads: thread.join()\n')

    def overloaded(self, *names):
        """Those that info says, and the finding."""
        path = self.run_on_stack('python3', '-c', self.WRITER, self.mount, *names)
        servers = self.check(path)['servers']
        findings = {finding['id']: finding for finding in self.json('report', '--json', path)['findings']}
        os.unlink(path)
        return {server['id']: server['overload'] for server in servers if server['overloaded']}, \
            findings.get('overloaded-server')

    def files_of(self, each):
        """Names of files, as many on each server; a hash decides which server holds which."""
        for i in range(60):
            with open(os.path.join(self.mount, f'file{i}'), 'wb'):
                pass
        bricks = [server['brick'] for server in self.json('stack', 'status', '--json', self.stack)['servers']]
        found = [sorted(name for name in os.listdir(brick) if name.startswith('file')) for brick in bricks]
        self.assertTrue(all(len(names) >= each for names in found), found)
        return [names[:each] for names in found]

    def test_one_slow_server(self):
        self.up('--servers', '3', '--emulate', '1=hdd')
        overloaded, finding = self.overloaded(*sum(self.files_of(3), []))
        self.assertEqual(overloaded, {1: 'slow'})
        self.assertIn('Server 1 takes', finding['title'])
        self.assertGreater(finding['seconds'], 0)

    def test_all_servers_are_slow(self):
        self.up('--servers', '3', '--emulate', 'hdd')
        self.assertEqual(self.overloaded(*sum(self.files_of(3), [])), ({}, None))

    def test_one_crowded_server(self):
        """Several threads need server 2 and nobody the others; one alone could not use more than one."""
        self.up('--servers', '3', '--emulate', 'ssd')
        names = self.files_of(6)[2]
        overloaded, finding = self.overloaded(*names)
        self.assertEqual(overloaded, {2: 'crowded'})
        self.assertIn('wait for server 2', finding['title'])
        self.assertEqual(self.overloaded(names[0]), ({}, None))


harness.main()
