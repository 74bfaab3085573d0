"""What must hold for a trace, given what `dump` says."""
import exports
from perfetto import Trace, fields, one


def text(name):
    """A name as texts in UTF-8 have it."""
    return name and name.encode('utf-8', 'surrogateescape').decode('utf-8', 'backslashreplace')


def ns(seconds):
    return round(seconds * 1e9)


class Checks(exports.ExportTest):
    def trace_of(self, log):
        return Trace(self.export(log, 'perfetto', 'trace', '--force'))

    def check_slices(self, trace, events, start):
        self.assertEqual(len(trace.slices), len(events))
        for event in events:
            found = trace.by_id[event['id']]
            self.assertEqual((found.start - start, found.end - found.start), (ns(event['start']), ns(event['duration'])))
            self.assertEqual((found.op, found.layer), (event['op'], event['layer']))
            for name in ('parent', 'offset', 'size', 'result', 'rank', 'server', 'error', 'line'):
                self.assertEqual(getattr(found, name, None), event.get(name), (name, event))
            for name in ('file', 'object'):
                self.assertEqual(getattr(found, name, None), text(event[name]))

    def check_tree(self, trace, events):
        """Gives the number of calls that are tied to a call on another track."""
        tied = 0
        flows = {}
        for part in trace.slices:
            if part.outer:
                self.assertEqual(part.outer.id, part.parent)
            for flow in part.flows:
                flows.setdefault(flow, []).append(part)
        for flow, (above, below) in flows.items():
            self.assertEqual(above.id, below.parent)
            self.assertNotEqual(above.track, below.track)
            tied += 1
        for event in events:
            part, above = trace.by_id[event['id']], trace.by_id.get(event['parent'])
            if above and above.track != part.track:
                self.assertTrue(set(part.flows) & set(above.flows), event)
            elif above and above.end > part.start:
                self.assertIs(part.outer, above)
        return tied

    def check_tracks(self, trace, events):
        pids = [one(fields(one(track, 3)), 1) for track in trace.tracks.values() if 3 in track]
        tids = [one(fields(one(track, 4)), 2) for track in trace.tracks.values() if 4 in track]
        self.assertEqual(len(pids), len(set(pids)))
        self.assertEqual(len(tids), len(set(tids)))
        threads = {(event['host'], event['pid'], event['tid']) for event in events}
        self.assertGreaterEqual(len(tids), len(threads))
        for event in events:  # a track belongs to one process, or to one server
            parent = trace.tracks[one(trace.tracks[trace.by_id[event['id']].track], 5)]
            if event['layer'] in ('server', 'disk'):
                self.assertEqual(one(parent, 2), f'server {event["server"]}'.encode())
            elif pids.count(event['pid']) == 1 and event['pid'] < 1 << 30 and 3 in parent:
                self.assertIn(one(fields(one(parent, 3)), 1), [event['pid'], *[pid for pid in pids if pid >= 1 << 30]])

    def check_bandwidth(self, trace, log):
        processes = self.json('info', '--json', log)['processes']
        for name, key in (('read', 'bytes_read'), ('written', 'bytes_written')):
            points = trace.counters[f'bytes per second, {name}']
            moved = sum(value * (after - time) / 1e9 for (time, value), (after, _) in zip(points, points[1:]))
            expected = sum(process[key] for process in processes)
            self.assertAlmostEqual(moved, expected, delta=1 + expected / 1e6)
            self.assertEqual(points[-1][1], 0)

    def check(self, log):
        trace, events = self.trace_of(log), self.events(log)
        trace.by_id = {part.id: part for part in trace.slices}
        self.check_slices(trace, events, self.start(trace, events, log))
        self.check_tracks(trace, events)
        self.check_bandwidth(trace, log)
        return self.check_tree(trace, events)

    def start(self, trace, events, log):
        """Of the job, in the clock of the trace: nanoseconds since the epoch."""
        start = trace.by_id[events[0]['id']].start - ns(events[0]['start'])
        self.assertAlmostEqual(start / 1e9, self.json('info', '--json', log)['job']['start'], delta=1e-5)
        return start
