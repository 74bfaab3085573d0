"""A GlusterFS of volume files that these tests write, with or without probes, and what the probes recorded."""
import collections
import ctypes
import mmap
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import harness  # noqa: E402

SOURCE = os.environ.get('IOSEER_SOURCE', os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
BUILD = os.environ.get('IOSEER_BUILD', os.path.join(SOURCE, 'build'))
PROBE = os.path.join(BUILD, 'src', 'stack', 'probe', 'ioseer-probe')
PATIENCE_SECONDS = 60  # on a busy machine
HEADER_BYTES, RECORD_BYTES = 4096, 64
LAYERS = {'client': 6, 'net': 7, 'server': 8, 'disk': 9}
CONNECTED, DISCONNECTED = 200, 201


def operations():
    with open(os.path.join(SOURCE, 'src', 'fmt', 'probe.h'), encoding='utf-8') as header:
        return ['none'] + re.findall(r'^ +OPERATION\((\w+)\)', header.read(), re.M)


OPERATIONS = operations()


def why_not():
    """Why no such file system can be here; None if it can."""
    if not os.path.exists(PROBE + '.so'):
        return 'built without libglusterfs-dev, liburcu-dev or uuid-dev'
    if not shutil.which('glusterfsd', path=os.environ['PATH'] + ':/usr/sbin'):
        return 'no glusterfsd (package glusterfs-server)'
    if os.geteuid() != 0:
        return 'not root'
    if not os.access('/dev/fuse', os.R_OK | os.W_OK):
        return 'no /dev/fuse'
    return None


Record = collections.namedtuple('Record', 'id parent start end offset size inode result tid operation error flags layer server')


def read_header(data):
    magic, version, number, server, layer, pid = struct.unpack_from('<8sIHHII', data)
    assert (magic, version) == (b'IOSPROB1', 1), (magic, version)
    *_, following, lost = struct.unpack_from('<7Q', data, 280)
    return number, server, layer, pid, following, lost


def read_probe(path):
    """All records of a probe's file; those that were claimed but not filled are left out."""
    with open(path, 'rb') as file:
        data = file.read()
    number, server, layer, _, following, _ = read_header(data)
    for place in range(following):
        at = HEADER_BYTES + place * RECORD_BYTES
        if at + RECORD_BYTES > len(data):
            return
        parent, start, end, offset, size, inode, result, tid, operation, error, flags = struct.unpack_from(
            '<6QiIHHI', data, at)
        if operation:
            name = OPERATIONS[operation] if operation < len(OPERATIONS) else operation
            yield Record(number << 48 | place + 1, parent, start, end, offset, size, inode, result, tid, name, error,
                         flags, layer, server)


class Gluster:
    """Starts servers and mounts; `layout` is 'distribute', 'shard' or 'disperse'."""

    def __init__(self, folder, servers=1, layout='distribute', layers=tuple(LAYERS)):
        self.folder, self.servers, self.layout, self.layers = folder, servers, layout, layers
        self.mount = os.path.join(folder, 'mount')
        self.processes = {}
        self.number = 0
        for name in ('mount', 'records', *(f'brick{i}' for i in range(servers))):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        with open(self.path('control'), 'wb') as page:
            page.write(bytes(4096))
        self.ports = [self.free_port() for _ in range(servers)]
        self.server_files = [self.write(f'server{i}', self.server_graph(i)) for i in range(servers)]
        self.client_file = self.write('client', self.client_graph())

    def path(self, name):
        return os.path.join(self.folder, name)

    @staticmethod
    def free_port():
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            return probe.getsockname()[1]

    def write(self, name, volumes):
        with open(self.path(name + '.vol'), 'w', encoding='utf-8') as out:
            for title, kind, options, below in volumes:
                out.write(f'volume {title}\n  type {kind}\n')
                out.writelines(f'  option {key} {value}\n' for key, value in options.items())
                out.write(f'  subvolumes {" ".join(below)}\n' if below else '')
                out.write('end-volume\n')
        return self.path(name + '.vol')

    def probe(self, layer, name, below, server=None):
        """The row of a graph, and what the next row stands on; no row if the layer has no probes."""
        if layer not in self.layers:
            return [], below
        self.number += 1
        options = {'file': self.path(f'records/{self.number}.probe'), 'control': self.path('control'),
                   'number': self.number, 'layer': layer}
        if server is not None:
            options['server'] = server
        return [(name, '../' * 12 + PROBE.lstrip('/'), options, [below])], name

    def server_graph(self, number):
        disk, on = self.probe('disk', 'disk', 'posix', number)
        server, top = self.probe('server', 'server', 'threads', number)
        return [('posix', 'storage/posix', {'directory': self.path(f'brick{number}')}, []), *disk,
                ('locks', 'features/locks', {}, [on]), ('threads', 'performance/io-threads', {}, ['locks']), *server,
                ('brick', 'debug/io-stats', {}, [top]),
                ('tcp', 'protocol/server', {'transport-type': 'tcp', 'transport.address-family': 'inet',
                                            'transport.socket.bind-address': '127.0.0.1',
                                            'transport.socket.listen-port': self.ports[number],
                                            'auth.addr.brick.allow': '127.0.0.1'}, ['brick'])]

    def client_graph(self):
        rows, tops = [], []
        for number, port in enumerate(self.ports):
            rows.append((f'tcp{number}', 'protocol/client', {
                'transport-type': 'tcp', 'transport.address-family': 'inet', 'remote-host': '127.0.0.1',
                'remote-port': port, 'remote-subvolume': 'brick'}, []))
            net, top = self.probe('net', f'net{number}', f'tcp{number}', number)
            rows += net
            tops.append(top)
        if self.layout == 'disperse':
            rows.append(('middle', 'cluster/disperse', {'redundancy': 1}, tops))
        else:
            rows.append(('middle', 'cluster/distribute', {}, tops))
        if self.layout == 'shard':
            rows.append(('shards', 'features/shard', {'shard-block-size': '4MB'}, ['middle']))
        client, _ = self.probe('client', 'client', rows[-1][0])
        return rows + client

    def start(self):
        for number in range(self.servers):
            self.start_server(number)
        self.run('client', 'glusterfs', '--direct-io-mode=enable', '--attribute-timeout=0', '--entry-timeout=0',
                 '-f', self.client_file, self.mount)
        self.wait_for(lambda: os.path.ismount(self.mount), 'the mount')
        os.listdir(self.mount)

    def start_server(self, number):
        self.run(number, 'glusterfsd', '-f', self.server_files[number])
        self.wait_for(lambda: self.listens(self.ports[number]), 'a server')

    def run(self, name, program, *words):
        environment = {**os.environ, 'PATH': os.environ['PATH'] + ':/usr/sbin'}
        self.processes[name] = subprocess.Popen([program, '-N', '-l', self.path(f'{name}.log'), *words], env=environment)

    @staticmethod
    def listens(port):
        with socket.socket() as probe:
            return probe.connect_ex(('127.0.0.1', port)) == 0

    def wait_for(self, is_there, what):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_there():
            if time.monotonic() > deadline or any(process.poll() is not None for process in self.processes.values()):
                raise RuntimeError(f'{what} did not come: {self.folder}')
            time.sleep(0.02)

    def record(self, on):
        """Opens or ends a recording in the control page."""
        with open(self.path('control'), 'r+b') as page, mmap.mmap(page.fileno(), 4096) as view:
            ctypes.c_uint32.from_buffer(view).value = on

    def records(self):
        """By id."""
        folder = self.path('records')
        return {record.id: record for name in sorted(os.listdir(folder)) for record in read_probe(os.path.join(folder, name))}

    def lost(self):
        """Calls without a record, of all probes."""
        folder = self.path('records')
        headers = []
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), 'rb') as file:
                headers.append(read_header(file.read(HEADER_BYTES)))
        return sum(lost for *_, lost in headers)

    def kill_server(self, number):
        process = self.processes.pop(number)
        process.kill()
        process.wait()

    def stop(self):
        subprocess.run(['umount', '-l', self.mount], stderr=subprocess.DEVNULL)
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.processes = {}
