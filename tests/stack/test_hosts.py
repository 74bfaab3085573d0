"""Servers of a stack on other hosts, for which network namespaces stand."""
import os
import signal
import socket
import time

from gluster import PATIENCE_SECONDS, harness
from stacks import MEBI, SILENT_SECONDS, HostsTest, SshTest, processes_with
from test_join import Log


class Hosts(HostsTest):
    def test_servers_there(self):
        stack = self.up_there('--emulate', '1=nvme', '--pin', 'here=1', '--layout', 'shard')
        self.assertEqual([server['host'] for server in stack['servers']], list(self.addresses))
        self.assertEqual([server['alive'] for server in stack['servers']], [True] * self.COUNT)
        for server, address in zip(stack['servers'], self.addresses.values()):
            with socket.create_connection((address, server['port']), PATIENCE_SECONDS):
                pass
        self.write(stack['mount'], 'here', 'file', data=bytes(9 * MEBI))
        self.write(stack['mount'], 'file')
        self.assertEqual(self.read(stack['mount'], 'here', 'file'), bytes(9 * MEBI))
        self.assertEqual([other['name'] for other in self.json('stack', 'list', '--json')['stacks'] if self.name in other['name']],
                         [self.name])
        self.down()

    def test_a_command_as_in_a_shell(self):
        """Quotes, variables, a login shell that talks, an answer to the question for a password."""
        words = f"""d='a  {{host}}'; test "$d" = 'a  '{{host}} && (echo hello; echo bye >&2; [ ! -t 0 ] && ! cat /dev/tty) && ip netns exec {{host}}"""
        self.up('--hosts', self.hosts(), '--remote', words)
        self.down()

    def test_a_killed_server(self):
        stack = self.up_there()
        os.kill(stack['servers'][0]['pid'], signal.SIGKILL)
        until = time.monotonic() + PATIENCE_SECONDS
        while self.status()['servers'][0]['alive'] and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual([server['alive'] for server in self.status()['servers']], [False, True])
        self.down()

    def test_a_lost_connection(self):
        self.up_there()
        links = [pid for pid, line in processes_with('stack remote').items() if self.parent(pid) in self.own_processes()[1]]
        self.assertEqual(len(links), self.COUNT)
        os.kill(links[0], signal.SIGKILL)
        until = time.monotonic() + PATIENCE_SECONDS
        while self.leftovers(f'{self.name}@0') and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual(self.leftovers(f'{self.name}@0'), [])
        self.assertEqual([server['alive'] for server in self.status()['servers']], [False, True])
        self.down()

    def test_hosts_on_their_own(self):
        """Servers end, and nothing is left of them, if nobody is there any more who started them."""
        stack = self.up_there('--emulate', 'nvme')
        keeper = self.own_processes()[1][0]
        os.kill(keeper, signal.SIGSTOP)
        self.addCleanup(self.kill, keeper, signal.SIGCONT)
        until = time.monotonic() + SILENT_SECONDS + PATIENCE_SECONDS
        while self.leftovers(f'{self.name}@') and time.monotonic() < until:
            time.sleep(0.2)
        self.assertEqual(self.leftovers(f'{self.name}@'), [])
        self.kill(keeper, signal.SIGCONT)
        self.await_dead(0)
        self.assertEqual([os.path.exists(f'/proc/{server["pid"]}') for server in stack['servers']], [False] * self.COUNT)
        self.down('--force')

    def test_each_process_ends_it(self):
        for which in (0, 1, 2):
            with self.subTest(which=which):
                stack = self.up_there('--emulate', 'nvme')
                self.write(stack['mount'], 'file')
                os.kill(self.own_processes()[which][0], signal.SIGKILL)
                self.await_nothing()

    def test_a_cut_cable(self):
        self.up_there()
        here = f'ioh{os.getpid()}-0'
        self.ip('link', 'set', here, 'down')
        self.addCleanup(self.ip, 'link', 'set', here, 'up')
        start = time.monotonic()
        self.status()
        self.down('--force')
        self.assertLess(time.monotonic() - start, 30)

    def test_errors(self):
        names = list(self.addresses)
        for status, hosts, options, said in (
                (1, f'{names[0]}=192.0.2.1', ('--remote', self.REMOTE), 'Cannot assign'),
                (1, 'nosuch=127.0.0.1', ('--remote', self.REMOTE), 'nosuch: no connection: Cannot open network namespace "nosuch"'),
                (1, 'here=127.0.0.1', ('--remote', '/nonexistent {host}'), '/nonexistent: not found'),
                (1, 'here=127.0.0.1', ('--remote', 'echo said >&2; false'), 'here: no connection: said'),
                (1, 'here=127.0.0.1', ('--remote', 'yes; false'), 'here: no connection'),
                (1, 'here=127.0.0.1', ('--remote', 'setpriv --reuid 65534'), 'only root'),
                (1, f'{names[0]}=127.0.0.1', ('--remote', self.REMOTE), 'cannot be reached'),
                (1, 'here.invalid', (), 'HOST=ADDRESS'), (2, 'a', ('--remote', ' '), 'empty'),
                (2, 'a', ('--remote', 'x' * 4096), '4095 bytes'), (2, 'a;b', (), 'HOST'), (2, '-a', (), 'HOST'),
                (1, f'{names[0]}=nowhere.invalid', ('--remote', self.REMOTE), 'nowhere.invalid'),
                (2, 'a,b', ('--servers', '3'), '2 hosts for 3'), (2, 'a,,b', (), 'HOST'), (2, 'a', ('--bricks', 'x'), 'absolute')):
            with self.subTest(hosts=hosts):
                self.assertIn(said, self.expect_error(status, 'stack', 'up', self.name, '--hosts', hosts, *options))
                self.await_nothing()
        self.expect_error(2, 'stack', 'up', self.name, '--remote', 'ssh')
        with socket.create_server(('127.0.0.1', 0)) as server:
            line = self.expect_error(1, 'stack', 'up', self.name, '--hosts', 'here=127.0.0.1', '--remote', 'env', '--ports',
                                     str(server.getsockname()[1]))
            self.assertIn('in use', line)
        self.await_nothing()

    def test_a_program_on_other_hosts(self):
        """What processes do on hosts without the mount is not the stack's, whatever the name of the file."""
        stack = self.up('--servers', '2')
        there, path = list(self.addresses)[0], f'{stack["mount"]}/file'
        write = f'dd if=/dev/zero of={path} bs=1M 2>/dev/null count='
        apart = f'hostname {there} && umount -l {stack["mount"]} && {write}3; rm {path}'
        log = self.record('sh', '-c', f"{write}2; ip netns exec {there} unshare --uts --mount sh -c '{apart}'", options=('--stack', self.name))
        joined = Log(self, log, stack['mount'])
        joined.check_tree()
        self.assertEqual(joined.info['stack']['differences'], [])
        self.assertEqual(sum(row[2] for row in joined.untied().values()), 0)
        self.assertEqual({row['layer']: row['bytes_written'] for row in joined.info['stack']['layers']},
                         dict.fromkeys(('posix', 'client', 'net', 'server', 'disk'), 2 * MEBI))
        self.down()


class BySsh(SshTest):
    def test_servers_there(self):
        stack = self.up_there('--emulate', '1=nvme')
        self.assertEqual([server['host'] for server in stack['servers']], list(self.addresses))
        self.write(stack['mount'], 'file')
        self.assertEqual(self.read(stack['mount'], 'file'), b'text')
        self.down()

    def test_errors(self):
        """The command's own last words, also where a password would have to be typed."""
        name, address = list(self.addresses.items())[0]
        ssh = f'ssh -F {self.keys}/config -o LogLevel=ERROR'
        for command, said in ((f'{ssh} -o PubkeyAuthentication=no {{host}}', 'Permission denied'),
                              (f'{ssh} {{host}} /nonexistent/env', '/nonexistent/env'),
                              (f'{ssh} -p 9 {{host}}', 'refused'),
                              (f'{ssh} {{host}} setpriv --reuid 65534', 'only root'),
                              ('ssh -o BatchMode=yes -o ConnectTimeout=1 -o ProxyCommand="sleep 100" {host}', 'timed out'),
                              (f'{ssh} host.invalid', 'host.invalid')):
            with self.subTest(command=command):
                line = self.expect_error(1, 'stack', 'up', self.name, '--hosts', f'{name}={address}', '--remote', command)
                self.assertIn(said, line)
                self.assertIn(f'{name}: ', line)
                self.await_nothing()

    def test_everything_there_is_killed(self):
        self.up_there()
        there = {int(pid) for pid in harness.run('ip', 'netns', 'pids', list(self.addresses)[0]).stdout.split()}
        for pid in there & {**processes_with('stack remote'), **processes_with(f'{self.name}@0')}.keys():
            self.kill(pid, signal.SIGKILL)
        self.await_dead(0)
        self.assertTrue(self.status()['servers'][1]['alive'])
        self.down('--force')

    def test_a_silent_host(self):
        """A host that does not answer is given up, and named at the end; nothing is left there."""
        self.up_there()
        here = f'ioh{os.getpid()}-0'
        self.ip('link', 'set', here, 'down')
        self.addCleanup(self.ip, 'link', 'set', here, 'up')
        self.await_dead(0)
        self.assertTrue(self.status()['servers'][1]['alive'])
        done = self.expect(0, 'stack', 'down', '--force', self.name)
        self.assertIn(f'{list(self.addresses)[0]}: not reached', done.stderr.decode())
        self.await_nothing(f'{self.name}@0')
        self.await_nothing()


class Clocks(SshTest):
    CLOCKS = (7200, 90000)

    def test_times_of_servers(self):
        stack = self.up_there('--layout', 'shard')
        log = self.record('dd', 'if=/dev/zero', f'of={stack["mount"]}/file', 'bs=1M', 'count=32', 'conv=fsync', options=('--stack', self.name))
        joined = Log(self, log, stack['mount'])
        joined.check_tree()
        joined.check_sums()
        joined.check_bytes(least_written=32 * MEBI)
        servers = joined.info['stack']['servers']
        self.assertEqual(len(servers), self.COUNT)
        for server in servers:
            self.assertGreater(server['calls'], 0)
            self.assertLess(abs(server['clock_offset']), 1)
            self.assertLess(0, server['clock_error'])
            self.assertLess(server['clock_error'], 5e-3)
        self.assertIn('The clock of server 1 was aligned by', self.expect(0, 'info', log).stdout.decode())
        self.down()


if __name__ == '__main__':
    harness.main()
