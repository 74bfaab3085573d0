"""Exports of a log with the layers of a stack: servers have tracks of their own, tied to the calls that they serve."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'stack'))
from stacks import StackTest  # noqa: E402
from exports import harness  # noqa: E402
from perfetto_checks import Checks  # noqa: E402


class Stack(StackTest, Checks):
    def test_servers(self):
        mount = self.up('--servers', '2', '--layout', 'shard', '--shard-size', '4M')['mount']
        log = self.path('stack.ioseer')
        self.expect(0, 'record', '-q', '-o', log, '--stack', self.name, '--', 'dd', 'if=/dev/zero', f'of={mount}/data',
                    'bs=8M', 'count=4')
        events = self.events(log)
        self.assertEqual({event['layer'] for event in events}, {'posix', 'client', 'net', 'server', 'disk'})
        requests = [event for event in events if event['layer'] == 'server']
        self.assertGreaterEqual(self.check(log), len(requests))


harness.main()
