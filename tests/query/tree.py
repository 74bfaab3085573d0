"""The tree of calls, the numbers of calls and the latencies of layers, by the rules and slowly, from `dump --json`. Times are
whole nanoseconds."""
import collections
import decimal
import json

BELOW = ('client', 'net', 'server', 'disk')
DOWNWARDS = ('netcdf', 'pnetcdf', 'hdf5', 'mpiio', 'stdio', 'posix', *BELOW)
SYSTEM = ('posix', 'stdio')


def ns(seconds):
    return int((decimal.Decimal(seconds) * 10**9).to_integral_value())


def load(text):
    return json.loads(text, parse_float=decimal.Decimal)


class Tree:
    def __init__(self, events, mount):
        self.mount, self.events = mount, events
        self.by_id = {event['id']: event for event in events}
        self.inside = collections.defaultdict(list)
        self.has_below = any(event['layer'] in BELOW for event in events)
        for event in events:
            self.inside[event['parent']].append(event)
            event['ns'], event['from'] = ns(event['duration']), ns(event['start'])
            event.setdefault('server', None)
            moves = event['class'] in ('read', 'write') and not event['errno']
            event['bytes'] = max(0, event['result'] or 0) if moves else 0
        self.number()

    def around(self, event):
        """From the event outwards."""
        while event:
            yield event
            event = self.by_id.get(event['parent'])

    def top(self, event):
        chain = list(self.around(event))
        mpiio = [call for call in chain if call['layer'] == 'mpiio']
        return (mpiio or chain)[-1]

    def part(self, event):
        """The event that is the part: the outermost of its kind."""
        kind = BELOW if self.has_below else SYSTEM
        chain = [call for call in self.around(event) if call['layer'] in kind]
        return chain[-1] if chain else None

    def number(self):
        calls, parts, number_of = collections.Counter(), collections.Counter(), {}
        process = lambda event: (event['pid'], event['rank'])  # before the exec of an MPI program there is no rank
        with_mpiio = {process(event) for event in self.events if event['layer'] == 'mpiio'}
        for event in self.events:
            top, part = self.top(event), self.part(event)
            event['top'], event['depth'] = top['id'], len(list(self.around(event))) - 1
            if top is event:
                event['call'] = None
                if event['layer'] not in BELOW and (event['layer'] == 'mpiio' or process(event) not in with_mpiio):
                    event['call'] = calls[process(event)]
                    calls[process(event)] += 1
            event['call'] = top['call']
            if part is event:
                number_of[event['id']] = parts[top['id']]
                parts[top['id']] += 1
            event['part'] = number_of[part['id']] if part else None
            if top['layer'] in BELOW:
                event['top'] = None

    def below(self, event):
        for child in self.inside[event['id']]:
            yield child
            yield from self.below(child)

    def counts(self, event):
        """With a stack, calls on its files only."""
        name = event['file'] or ''
        return not self.has_below or event['layer'] in BELOW or name == self.mount or \
            name.startswith((self.mount or '') + '/') or any(call['layer'] in BELOW for call in self.below(event))

    def is_inner(self, event):
        """Inside a call of the same layer."""
        parent = self.by_id.get(event['parent'])
        return event['layer'] not in BELOW and parent is not None and parent['layer'] == event['layer']

    def other_layers(self, event):
        """The calls of other layers directly below, through calls of the same layer."""
        for child in self.inside[event['id']]:
            if child['layer'] == event['layer'] and child['layer'] not in BELOW:
                yield from self.other_layers(child)
            elif self.counts(child):
                yield child

    def of_servers(self, fragment, layer):
        per_server = collections.Counter()
        for event in self.below(fragment):
            if event['layer'] == layer:
                per_server[event['server']] += event['ns']
        return max(per_server.values()) if per_server else None

    def latencies(self, event):
        """(layer, inclusive, exclusive) of one call and, if it is a fragment, of what the servers did for it."""
        if event['layer'] not in BELOW:
            yield event['layer'], event['ns'], event['ns'] - sum(child['ns'] for child in self.other_layers(event))
            return
        chain = [(event['layer'], event['ns'])]
        chain += [(layer, time) for layer in BELOW[1:] if (time := self.of_servers(event, layer)) is not None]
        for (layer, time), (_, inner) in zip(chain, chain[1:] + [(None, 0)]):
            yield layer, time, time - inner

    def layers(self):
        """{(top, layer): [calls, bytes read, bytes written, inclusive, exclusive]}"""
        rows = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
        for event in self.events:
            if not self.counts(event):
                continue
            top, parent = self.top(event), self.by_id.get(event['parent'])
            row = rows[top['id'], event['layer']]
            if not (self.is_inner(event) and parent['class'] in ('read', 'write')):
                row[1 if event['class'] == 'read' else 2] += event['bytes']
            if self.is_inner(event):
                continue
            row[0] += 1
            if event['layer'] in BELOW and (self.part(event) is not event or not parent):
                continue
            for layer, inclusive, exclusive in self.latencies(event):
                rows[top['id'], layer][3] += inclusive
                rows[top['id'], layer][4] += exclusive
        return {key: row for key, row in rows.items() if row[0]}
