"""The calls of a log as trees, and the paper's rules on them: the inclusive latency of a layer is the sum over the fragments
of a call (the calls of the file system's client) of the maximum over the servers; throughput adds up."""
import collections
import json
import subprocess

BELOW = ('net', 'server', 'disk')
LAYERS = ('mpiio', 'client') + BELOW


class Tree:
    def __init__(self, ioseer, log):
        self.children = collections.defaultdict(list)
        self.events = {}
        with subprocess.Popen([ioseer, 'dump', '--json', log], stdout=subprocess.PIPE, text=True) as dump:
            for line in dump.stdout:
                line = line.strip().rstrip(',')
                if line.startswith('{'):
                    event = json.loads(line)
                    self.events[event['id']] = event
        for event in self.events.values():
            if event['parent'] in self.events:
                self.children[event['parent']].append(event)

    def below(self, event, layer):
        """All events of a layer inside an event, in the order of their starts."""
        found, left = [], list(self.children[event['id']])
        while left:
            one = left.pop()
            left += self.children[one['id']]
            if one['layer'] == layer:
                found.append(one)
        return sorted(found, key=lambda one: one['start'])

    def calls(self, rank):
        """The collective transfers of a rank by MPI-IO, in order: the paper's mpi_call_id is the place in this list. What a
        library writes by itself, as the header of a file, is not collective."""
        return sorted((e for e in self.events.values() if e['rank'] == rank and e['layer'] == 'mpiio' and e['collective']
                       and e['class'] in ('read', 'write')), key=lambda e: e['start'])

    def fragments(self, call):
        """The system calls into which MPI-IO divides a call."""
        return [one for one in self.below(call, 'posix') if one['class'] == call['class'] and self.below(one, 'client')]

    def totals(self, calls):
        """Seconds by layer of several calls."""
        times = [self.inclusive(call) for call in calls]
        return {layer: sum(one[layer] for one in times) for layer in LAYERS}

    def ranks(self):
        return sorted({e['rank'] for e in self.events.values() if e['rank'] is not None})

    def per_server(self, fragment, layer):
        """Seconds of a layer's calls for a fragment, by server."""
        times = collections.Counter()
        for event in self.below(fragment, layer):
            times[event['server']] += event['duration']
        return times

    def inclusive(self, call):
        """Seconds by layer."""
        fragments = self.below(call, 'client')
        times = {'mpiio': call['duration'], 'client': sum(f['duration'] for f in fragments)}
        for layer in BELOW:
            times[layer] = sum(max(self.per_server(f, layer).values(), default=0) for f in fragments)
        return times

    def extreme(self, call, choose):
        """Seconds by layer of the requests of a call that took the most (max) or least (min) at their server, each with
        what was above it; and the server."""
        requests = [request for request in self.below(call, 'server') if request['class'] in ('read', 'write')]
        if not requests:
            return None
        request = choose(requests, key=lambda r: r['duration'])
        times = {'server': request['duration'], 'disk': sum(e['duration'] for e in self.below(request, 'disk')),
                 'at': request['server']}
        above = self.events.get(request['parent'])
        while above is not None:
            times.setdefault(above['layer'], above['duration'])
            above = self.events.get(above['parent'])
        return times

    def disk_throughput(self, call):
        """Bytes per second of the disk calls of a call, by server."""
        moved, time = collections.Counter(), collections.Counter()
        for event in self.below(call, 'disk'):
            if event['class'] in ('read', 'write') and event['result'] > 0:
                moved[event['server']] += event['result']
                time[event['server']] += event['duration']
        return {server: moved[server] / time[server] for server in moved if time[server] > 0}
