"""`ioseer stack`: starts, serves and says what it is; what it cannot do is one clear line, and nothing is left."""
import mmap
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from gluster import PATIENCE_SECONDS, harness
from stacks import MEBI, STACKS, StackTest, files_below

READY_SECONDS, READY_TRIES = 2, 5  # the machine may be busy with other things


class Life(StackTest):
    def test_up_status_list_down(self):
        stack = self.up()
        self.assertEqual((stack['name'], stack['mount_ok'], stack['recordings']), (self.name, True, 0))
        self.assertEqual(stack['layers'], ['client', 'net', 'server', 'disk'])
        self.assertEqual([server['id'] for server in stack['servers']], [0, 1, 2, 3])
        for server in stack['servers']:
            self.assertTrue(server['alive'])
            self.assertEqual(server['host'], '127.0.0.1')
            with socket.create_connection((server['host'], server['port']), PATIENCE_SECONDS):
                pass
            with open(f'/proc/{server["pid"]}/comm', encoding='ascii') as name:
                self.assertEqual(name.read(), 'glusterfsd\n')
        self.assertEqual(self.status(), stack)
        self.assertIn(stack, self.json('stack', 'list', '--json')['stacks'])
        text = self.expect(0, 'stack', 'status', self.name).stdout.decode()
        self.assertEqual(text.count('alive'), 4)
        for index in range(20):
            self.write(stack['mount'], f'file{index}', data=b'%d' % index)
        on = [[os.path.exists(os.path.join(server['brick'], f'file{index}')) for server in stack['servers']].count(True)
              for index in range(20)]
        self.assertEqual(on, [1] * 20)
        self.assertEqual([self.read(stack['mount'], f'file{index}') for index in range(20)],
                         [b'%d' % index for index in range(20)])
        self.down()
        self.assertIn('no such stack', self.expect_error(1, 'stack', 'status', self.name))
        self.assertIn('no such stack', self.expect_error(1, 'stack', 'down', self.name))

    def test_ready_soon(self):
        spent = []
        while not spent or (spent[-1] >= READY_SECONDS and len(spent) < READY_TRIES):
            start = time.monotonic()
            stack = self.up('--servers', '8', '--emulate', 'nvme')
            os.listdir(stack['mount'])
            spent.append(time.monotonic() - start)
            self.down()
        self.assertLess(spent[-1], READY_SECONDS, spent)

    def test_two_at_once(self):
        other = self.new_name()
        stacks = [self.up('--servers', '2'), self.up('--servers', '2', name=other)]
        for stack in stacks:
            self.write(stack['mount'], 'file', data=stack['name'].encode())
        for stack in stacks:
            self.assertEqual(self.read(stack['mount'], 'file'), stack['name'].encode())
        ports = [server['port'] for stack in stacks for server in stack['servers']]
        self.assertEqual(len(set(ports)), 4)
        self.down()
        self.assertEqual(self.read(stacks[1]['mount'], 'file'), other.encode())
        self.down(name=other)

    def test_two_started_at_the_same_time(self):
        starts = [subprocess.Popen([harness.IOSEER, 'stack', 'up', self.name, '--servers', '2', '--plain'],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
        said = [start.communicate(timeout=PATIENCE_SECONDS)[1] for start in starts]
        self.assertEqual(sorted(start.returncode for start in starts), [0, 1])
        self.assertIn(b'is up already', b''.join(said))
        self.down()

    def test_given_mount(self):
        os.mkdir(self.path('there'))
        for name, stays in (('there', True), ('made', False)):
            with self.subTest(name=name):
                self.assertEqual(self.up('--servers', '1', '--mount', self.path(name))['mount'], self.path(name))
                self.write(self.path(name), 'file')
                self.down()
                self.assertEqual(os.path.exists(self.path(name)), stays)
        self.assertEqual(os.listdir(self.path('there')), [])

    def test_given_bricks_keep_the_data(self):
        for layout in ('distribute', 'shard'):
            with self.subTest(layout=layout):
                bricks = [self.path(f'{layout} {index}') for index in range(2)]
                stack = self.up('--layout', layout, '--bricks', *bricks)
                self.assertEqual([server['brick'] for server in stack['servers']], bricks)
                data = os.urandom(5 * MEBI)
                self.write(stack['mount'], 'file', data=data)
                other = self.new_name()
                line = self.expect_error(1, 'stack', 'up', other, '--bricks', bricks[0])
                self.assertIn('is a brick of another', line)
                self.await_nothing(other)
                self.assertIn('trusted.glusterfs.volume-id', os.listxattr(bricks[0]))
                self.down()
                self.assertTrue(any(files_below(brick) for brick in bricks))
                for brick in bricks:
                    self.assertNotIn('trusted.glusterfs.volume-id', os.listxattr(brick))
                stack = self.up('--layout', layout, '--bricks', *bricks)
                self.assertEqual(self.read(stack['mount'], 'file'), data)
                self.down()

    def test_apart_from_other_glusterfs(self):
        places = [place for place in ('/var/log/glusterfs', '/var/lib/glusterd', '/run/gluster') if os.path.exists(place)]
        before = {place: sorted(os.walk(place)) for place in places}
        stack = self.up('--servers', '1')
        self.write(stack['mount'], 'file')
        self.down()
        self.assertEqual({place: sorted(os.walk(place)) for place in places}, before)

    def test_every_user_may_use_it(self):
        stack = self.up('--servers', '1')
        os.chmod(stack['mount'], 0o777)
        done = harness.run('sh', '-c', f'id -u > {stack["mount"]}/file', user=65534, group=65534)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.stat(os.path.join(stack['mount'], 'file')).st_uid, 65534)

    def test_no_user_gets_at_the_servers_or_more_rights(self):
        mount = self.up('--servers', '1')['mount']
        self.assertFalse(os.path.exists(os.path.join(mount, '.meta')))
        done = harness.run('grep', '-r', 'password', os.path.join(mount, '.meta'), user=65534, group=65534)
        self.assertEqual(done.stdout, b'')
        flags = os.statvfs(mount).f_flag
        self.assertTrue(flags & os.ST_NOSUID and flags & os.ST_NODEV)
        volume = self.read(f'{STACKS}/{self.name}/client-0.vol')
        password = re.search(rb'password "(.*)"', volume)[1]
        places = [f'{STACKS}/{self.name}', *(f'/dev/shm/{entry}' for entry in os.listdir('/dev/shm') if self.name in entry)]
        self.assertEqual(harness.run('grep', '-r', password, *places, user=65534, group=65534).stdout, b'')
        self.write(self.path('client.vol'), data=volume.replace(password, b'guessed'))
        os.mkdir(self.path('mount'))
        words = ('-N', '-f', self.path('client.vol'), '-l', self.path('log'), self.path('mount'))
        done = harness.run('glusterfs', *words)  # it ends by itself
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b'AUTH_FAILED', self.read(self.path('log')))


class Layouts(StackTest):
    def test_shard(self):
        stack = self.up('--layout', 'shard', '--shard-size', '4M')
        self.assertEqual((stack['layout'], stack['shard_size']), ('shard', 4 * MEBI))
        data = os.urandom(40 * MEBI)
        self.write(stack['mount'], 'file', data=data)
        self.assertEqual(self.read(stack['mount'], 'file'), data)
        blocks = [len(files_below(server['brick'])) for server in stack['servers']]
        self.assertEqual(sum(blocks), 10)
        self.assertLess(max(blocks), 10)

    def test_disperse_outlives_a_server(self):
        stack = self.up('--layout', 'disperse', '--servers', '3')
        self.assertEqual((stack['layout'], stack['redundancy']), ('disperse', 1))
        data = os.urandom(MEBI)
        self.write(stack['mount'], 'file', data=data)
        self.assertEqual([len(files_below(server['brick'])) for server in stack['servers']], [1, 1, 1])
        os.kill(stack['servers'][1]['pid'], signal.SIGKILL)
        self.assertEqual(self.read(stack['mount'], 'file'), data)

    def test_plain_is_the_same_without_probes(self):
        graphs = []
        for options, layers in (((), ['client', 'net', 'server', 'disk']), (('--plain',), []),
                                (('--layers', 'client,disk'), ['client', 'disk'])):
            stack = self.up('--servers', '2', '--layout', 'shard', *options)
            self.write(stack['mount'], 'file')
            graph = {}
            for name in ('client-0.vol', 'server-0.vol', 'server-1.vol'):
                text = self.read(f'{STACKS}/{self.name}/{name}').decode()
                graph[name] = re.findall(r'^ *type (.*)$', text, re.M)
            graphs.append(graph)
            self.assertEqual(stack['layers'], layers)
            self.down()
        for name, probes in (('client-0.vol', (3, 0, 1)), ('server-0.vol', (2, 0, 1))):
            kinds = [[kind for kind in graph[name] if 'ioseer-probe' not in kind] for graph in graphs]
            self.assertEqual(kinds[0], kinds[1])
            self.assertEqual(kinds[0], kinds[2])
            self.assertEqual(tuple(len(graph[name]) - len(kinds[0]) for graph in graphs), probes)
            self.assertFalse([kind for kind in kinds[0] if kind.startswith('performance/') and kind != 'performance/io-threads'])

    def test_mappings_with_the_page_cache(self):
        stack = self.up('--servers', '1', '--cache', 'kernel')
        self.write(stack['mount'], 'file', data=bytes(4096))
        with open(os.path.join(stack['mount'], 'file'), 'r+b') as file, mmap.mmap(file.fileno(), 4096) as view:
            view[:4] = b'text'
        self.assertEqual(self.read(stack['mount'], 'file')[:4], b'text')
        self.down()

    def test_pin_and_avoid(self):
        for layout in ('distribute', 'shard', 'disperse'):
            with self.subTest(layout=layout):
                stack = self.up('--layout', layout, '--servers', '4', '--pin', 'here=2', '--avoid', 'there=1', '--pin', 'both=0',
                                '--pin', 'both=3')
                wanted = {'here': [2], 'there': [0, 2, 3], 'both': [0, 3]}
                self.assertEqual({os.path.basename(place['directory']): place['servers'] for place in stack['placed']}, wanted)
                for folder, servers in wanted.items():
                    data = os.urandom(9 * MEBI)
                    os.makedirs(os.path.join(stack['mount'], folder, 'deep'))
                    for index in range(4):
                        self.write(stack['mount'], folder, 'deep', f'{folder}{index}', data=data)
                    self.assertEqual(self.read(stack['mount'], folder, 'deep', f'{folder}3'), data)
                    used = [server['id'] for server in stack['servers'] if files_below(server['brick'])]
                    self.assertTrue(set(used) <= set(servers), f'{folder}: {used}')
                    if len(servers) == 1:
                        self.assertEqual(used, servers)
                    shutil.rmtree(os.path.join(stack['mount'], folder, 'deep'))
                self.write(stack['mount'], 'other')
                self.assertEqual(sorted(os.listdir(stack['mount'])), ['both', 'here', 'other', 'there'])
                self.down()


class Storage(StackTest):
    def test_emulated_bricks(self):
        self.expect(0, 'emulate', '--presets')
        stack = self.up('--servers', '3', '--emulate', 'nvme', '--emulate', '1=hdd', '--write-bw', '1=8M', '--bricks',
                        *(self.path(f'b{index}') for index in range(3)), '--pin', 'slow=1', '--pin', 'fast=0')
        self.assertEqual([server['storage'].split(' in ')[0] for server in stack['servers']],
                         ['emulated nvme', 'emulated hdd, write 8M/s', 'emulated nvme'])
        spent = {}
        for folder in ('slow', 'fast'):
            start = time.monotonic()
            self.write(stack['mount'], folder, 'file', data=bytes(4 * MEBI))
            spent[folder] = time.monotonic() - start
        self.assertGreater(spent['slow'], 0.45)
        self.assertLess(spent['fast'], spent['slow'])
        self.down()
        self.assertEqual([len(files_below(self.path(f'b{index}'))) for index in range(3)], [1, 1, 0])

    def test_emulated_bricks_end_with_everything_else(self):
        for kill in range(3):
            with self.subTest(kill=kill):
                stack = self.up('--servers', '2', '--emulate', 'nvme')
                self.write(stack['mount'], 'file')
                guards, others = [pid for pids in self.own_processes()[:1] for pid in pids], self.own_processes()
                keeper = [pid for pid in others[1] if self.parent(pid) in guards]
                os.kill((guards + keeper + others[2])[kill], signal.SIGKILL)
                self.await_nothing()

    def test_throttled_bricks(self):
        if not shutil.which('mkfs.xfs', path=os.environ['PATH'] + ':/usr/sbin:/sbin'):
            self.skipTest('no mkfs.xfs (package xfsprogs)')
        stack = self.up('--servers', '2', '--block', '1=320M', '--write-bw', '1=50M')
        self.assertEqual(stack['servers'][1]['storage'].split(' in ')[0], 'throttled xfs of 320M, write 50M/s')
        with open('/proc/self/mounts', encoding='utf-8') as lines:
            self.assertEqual([line.split()[2] for line in lines if line.split()[1] == stack['servers'][1]['brick']], ['xfs'])
        self.write(stack['mount'], 'file')
        self.down()


class Errors(StackTest):
    def refuse(self, status, *options, name=None, **more):
        line = self.expect_error(status, 'stack', 'up', name or self.name, *options, **more)
        self.await_nothing()
        return line

    def test_a_dead_mount_is_not_waited_for(self):
        below, dead = self.path('below'), self.path('dead')
        os.mkdir(below), os.mkdir(dead)
        self.expect(0, 'emulate', '-q', below, dead)
        self.addCleanup(self.expect, 0, 'emulate', '--stop', dead)
        serving = [int(pid) for pid in harness.run('pgrep', '-f', f'emulate -q {below} ').stdout.split()]
        self.assertTrue(serving)
        for pid in serving:
            self.addCleanup(os.kill, pid, signal.SIGCONT)
            os.kill(pid, signal.SIGSTOP)
        for options in (('--mount', f'{dead}/mount'), ('--servers', '1', '--bricks', f'{dead}/brick')):
            with self.subTest(options=options):
                self.assertRegex(self.refuse(1, *options, timeout=30), 'its file system does not answer$')

    def test_command_lines(self):
        for words in ((), ('upp',), ('list', 'x'), ('up', 'a', 'b'), ('down', '--servers', '2'), ('status', '--force'), ('up', ''), ('down', ''), ('up', '../x'), ('up', '.x'), ('up', 'x' * 64), ('up', 'a\nb')):
            with self.subTest(words=words):
                self.expect_error(2, 'stack', *words)
        for options, said in (
                (('--layout', 'raid'), 'distribute, shard or disperse'), (('--layout', 'shard', '--shard-size', '1M'), 'at least 4M'),
                (('--shard-size', '8M'), '--layout shard'), (('--layout', 'disperse', '--servers', '2'), 'more than 2 servers'),
                (('--redundancy', '1'), '--layout disperse'), (('--layers', 'client,wire'), 'client, net, server and disk'),
                (('--layers', 'client', '--plain'), '--plain'), (('--layers', 'net,disk'), 'client is needed'), (('--cache', 'much'), 'none or kernel'),
                (('--emulate', 'floppy'), 'no such preset'), (('--emulate', '7=hdd'), 'servers are 0 to 3'),
                (('--block', 'big'), 'not a size'), (('--read-bw', '1M'), 'need --emulate'),
                (('--pin', 'dir'), 'DIR=SERVER'), (('--pin', 'dir=4'), '0 to 3'), (('--pin', 'a/b=0'), 'right below'),
                (('--servers', '1', '--avoid', 'dir=0'), 'no server is left'), (('--servers', '65'), 'at most'),
                (('--ports', '70000'), 'port'), (('--ports', '7001,7002'), 'each of 4'), (('--ports', '65534'), 'port'),
                (('--servers', '2', '--bricks', 'x'), '1 directories for 2'), (('--bricks', ''), 'empty'), (('--mount', ''), 'empty'),
                (('--ports', ''), 'port'), (('--layout', ''), 'distribute'), (('--cache', ''), 'none or'), (('--layers', ''), 'client')):
            with self.subTest(options=options):
                self.assertIn(said, self.refuse(2, *options))

    def test_places(self):
        os.mkdir(self.path('full'))
        self.write(self.path('full'), 'file')
        self.assertIn('not empty', self.refuse(1, '--mount', self.path('full')))
        self.assertIn('No such file', self.refuse(1, '--mount', self.path('missing/mount')))
        self.assertIn('Not a directory', self.refuse(1, '--mount', self.path('full/file')))
        self.assertIn('mounted there', self.refuse(1, '--mount', '/proc'))
        self.assertIn('GlusterFS does not accept', self.refuse(2, '--mount', self.path('`id`')))
        self.assertIn('Not a directory', self.refuse(1, '--bricks', self.path('full/file')))
        self.assertIn('No such file', self.refuse(1, '--bricks', self.path('missing/brick')))
        os.mkdir(self.path('attributes'))
        subprocess.run(['mount', '-t', 'ramfs', 'none', self.path('attributes')], check=True)
        self.addCleanup(subprocess.run, ['umount', self.path('attributes')])
        self.assertIn('trusted', self.refuse(1, '--bricks', self.path('attributes')))

    def test_places_are_apart(self):
        a, inside, b = self.path('a'), self.path('a/inside'), self.path('b')
        os.mkdir(a)
        for options, said in ((('--bricks', b, b), f'{b}: is the brick of server 0, too'),
                              (('--bricks', b, self.path('a/../b')), f'{b}: is the brick of server 0, too'),
                              (('--bricks', a, inside), f'{inside}: lies in the brick of server 0 {a}'),
                              (('--bricks', inside, a), f'{a}: contains the brick of server 0 {inside}'),
                              (('--mount', a, '--bricks', a), f'{a}: is the mount point, too'),
                              (('--mount', inside, '--bricks', a), f'{a}: contains the mount point {inside}'),
                              (('--mount', a, '--bricks', inside), f'{inside}: lies in the mount point {a}'),
                              (('--bricks', '/var/lib'), f"/var/lib: contains the stack's folder {STACKS}/{self.name}"),
                              (('--mount', '/var/lib'), f"/var/lib: contains the stack's folder {STACKS}/{self.name}")):
            with self.subTest(options=options):
                self.assertIn(said, self.refuse(2, *options))
                self.assertEqual((os.listdir(a), os.path.exists(b)), ([], False))

    def test_bricks_of_others(self):
        brick = self.path('brick')
        os.mkdir(brick)
        self.write(brick, 'thesis')
        line = self.refuse(1, '--bricks', brick)
        self.assertIn(f"{brick}: has files that are not GlusterFS's", line)
        self.assertEqual((os.listdir(brick), os.listxattr(brick)), (['thesis'], []))
        os.unlink(os.path.join(brick, 'thesis'))
        os.mkdir(os.path.join(brick, 'lost+found'))  # a new file system of its own
        for _ in range(2):
            self.up('--bricks', brick)
            self.down()

    def test_ports(self):
        with socket.create_server(('127.0.0.1', 0)) as server:
            port = server.getsockname()[1]
            self.assertIn('in use', self.refuse(1, '--servers', '1', '--ports', str(port)))
        stack = self.up('--servers', '2', '--ports', str(port))
        self.assertEqual([server['port'] for server in stack['servers']], [port, port + 1])
        self.assertIn('is up already', self.expect_error(1, 'stack', 'up', self.name))
        self.down()

    def test_a_port_is_taken_meanwhile(self):
        self.write(self.path('thief.py'), data=b"""import socket, sys, time
with socket.create_server(('127.0.0.1', int(sys.argv[1]))):
    open(sys.argv[2], 'a').write(sys.argv[1] + '\\n')
    time.sleep(5)
""")
        ports = self.path('ports')
        self.write(ports, data=b'')
        steal = f'''n=$(wc -l <{ports}); [ $n = %d ] || {{
            "{sys.executable}" {self.path("thief.py")} $(sed -n '/listen-port/s/[^0-9]//gp' "$3") {ports} &
            while [ $(wc -l <{ports}) = $n ] && kill -0 $!; do sleep 0.05; done; }}'''
        self.expect(0, 'stack', 'up', self.name, '--servers', '1', env=self.glusterfsd(steal % 2))
        stack = self.status()
        stolen = self.read(ports).decode().split()
        self.assertEqual(len(stolen), 2)
        self.assertNotIn(str(stack['servers'][0]['port']), stolen)
        self.assertTrue(stack['mount_ok'])
        self.down()
        line = self.expect_error(1, 'stack', 'up', self.name, '--servers', '1', '--ports', stolen[0],
                                 env=self.glusterfsd(steal % 3))
        self.assertIn(f'127.0.0.1 port {stolen[0]}: Address already in use', line)
        self.await_nothing()

    def test_the_port_of_a_dead_server_is_not_for_others(self):
        server = self.up('--servers', '2')['servers'][1]
        os.kill(server['pid'], signal.SIGKILL)
        until = time.monotonic() + 1
        while time.monotonic() < until:
            with self.assertRaisesRegex(OSError, 'in use'), socket.create_server((server['host'], server['port'])):
                pass

    def test_full_disk(self):
        disk = self.path('disk')
        os.mkdir(disk)
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1M', 'none', disk], check=True)
        self.addCleanup(subprocess.run, ['umount', '-l', disk])
        with open(os.path.join(disk, 'filler'), 'wb', buffering=0) as filler:
            try:
                while filler.write(bytes(4096)):
                    pass
            except OSError:
                pass
        os.mkdir(os.path.join(disk, 'brick'))
        self.assertIn('No space left', self.refuse(1, '--bricks', os.path.join(disk, 'brick')))
        self.assertIn('No space left', self.refuse(1, '--bricks', self.path('made'), os.path.join(disk, 'made')))
        self.assertFalse(os.path.exists(self.path('made')) or os.path.exists(os.path.join(disk, 'made')))
        os.unlink(os.path.join(disk, 'filler'))
        subprocess.run(['mount', '-o', 'remount,nr_inodes=60', disk], check=True)  # room to begin, but not for all
        self.assertRegex(self.refuse(1, '--bricks', os.path.join(disk, 'brick')), 'server 0: .*No space left')

    def in_own_world(self, *commands):
        script = '\n'.join(['set -e', 'mount --make-rprivate /', *commands])
        return harness.run('unshare', '--mount', 'sh', '-c', script).stderr.decode()

    def test_what_is_missing(self):
        up = f'"{harness.IOSEER}" stack up {self.name}'
        self.assertIn('glusterfs-server', self.in_own_world('mount -t tmpfs none /usr/sbin', up))
        self.assertIn('needs FUSE', self.in_own_world('mount -t tmpfs none /dev', up))
        self.assertIn('to /var/lib/ioseer/stack', self.in_own_world('mount --bind /dev/null /dev/fuse', up))
        self.assertIn('CAP_SYS_ADMIN', self.in_own_world(f'setpriv --bounding-set -sys_admin --inh-caps -sys_admin {up}'))
        alone = shutil.copy(harness.IOSEER, self.folder)
        done = harness.run(alone, 'stack', 'up', self.name)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'libglusterfs-dev', done.stderr)
        self.assertEqual(harness.run(alone, 'stack', 'up', self.name, '--plain', '--cache', 'kernel', '--servers', '1').returncode, 0)
        self.down()

    def test_little_memory_is_for_the_program(self):
        self.write(self.path('meminfo'), data=b'MemTotal: 8000000 kB\nMemFree: 50000 kB\nMemAvailable: 1000500 kB\n')
        log, mount = self.path('log'), f'{STACKS}/{self.name}/mount'
        said = self.in_own_world(f'mount --bind {self.path("meminfo")} /proc/meminfo',
                                 f'"{harness.IOSEER}" stack up -q {self.name} --servers 1',
                                 f'"{harness.IOSEER}" record -q --stack {self.name} -o {log} -- sh -c "echo text > {mount}/file"',
                                 f'cat {mount}/file >&2', f'"{harness.IOSEER}" stack down {self.name}')
        self.assertEqual(said, 'text\n')
        info = self.json('info', log, '--json')
        self.assertGreater(sum(loss['events'] for loss in info['losses'] if 'probes had no room' in loss['reason']), 4)

    def test_not_root(self):
        os.chmod(self.folder, 0o755)
        alone = shutil.copy(harness.IOSEER, self.folder)
        done = harness.run(alone, 'stack', 'up', self.name, user=65534, group=65534)
        self.assertEqual((done.returncode, done.stderr.count(b'\n')), (1, 1), done.stderr)
        self.assertIn(b'only root', done.stderr)
        self.up('--servers', '1')
        self.assertEqual(harness.run(alone, 'stack', 'status', self.name, user=65534, group=65534).returncode, 0)
        done = harness.run(alone, 'stack', 'down', self.name, user=65534, group=65534)
        self.assertIn(b'only root', done.stderr)
        self.down()


if __name__ == '__main__':
    harness.main()
