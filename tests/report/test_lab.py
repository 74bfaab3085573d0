#!/usr/bin/env python3
"""`ioseer view --lab`: what it runs, what it refuses to run, and that nothing of it outlives its server."""
import json
import os
import resource
import signal
import socket
import time

import served
from place import harness
from served import PATIENCE_SECONDS


def words_of(pid):
    try:
        with open(f'/proc/{pid}/cmdline', 'rb') as text:
            return text.read().split(b'\0')
    except OSError:
        return []


def processes_with(word):
    """The processes that have this word in their command line."""
    return [int(pid) for pid in os.listdir('/proc') if pid.isdigit() and word.encode() in words_of(pid)]


class LabTest(served.ServedTest):
    def setUp(self):
        super().setUp()
        self.start('--lab')
        self.mark = f'lab-test-{os.getpid()}-{time.monotonic_ns()}'

    def act(self, action, body, **headers):
        """Status and answer; a body that is not bytes is sent as JSON."""
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, _, answer = self.ask(f'/{self.token}/lab/{action}', 'POST', body, **headers)
        return status, json.loads(answer)

    def run_python(self, program, *words, **more):
        quoted = ' '.join("'" + word.replace("'", "'\\''") + "'" for word in ('-c', program, *words))
        return self.act('run', {'program': 'python3', 'arguments': quoted, **more})

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            result = condition()
            if result:
                return result
            time.sleep(0.1)
        self.fail(f'waited too long for {what}')

    def ended(self):
        def look():
            run = self.get('lab')['run']
            return run if run['stage'] == 'ended' else None
        return self.until(look, f'the end of the run: {self.get("lab")["run"]["stage"]}')

    def start_endless(self, program='pass', **more):
        """A program with a child that has left its session, and ignores what can be ignored."""
        status, answer = self.run_python(f'''
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)", "{self.mark}"], start_new_session=True)
{program}
open("begun", "w").write("x")
time.sleep(1000)''', self.mark, **more)
        self.assertEqual(status, 200, answer)
        self.until(lambda: len(processes_with(self.mark)) >= 3, 'its processes')  # `record` has the word, too
        self.until(lambda: os.path.exists(self.path('begun')), 'its begin')

    def all_gone(self):
        self.until(lambda: not processes_with(self.mark), 'the end of all processes')

    def nothing_ran(self):
        self.assertFalse(os.path.exists(self.path('ran')))
        self.assertEqual(self.get('lab')['runs'], [])

    # --- runs

    def test_a_run_makes_a_log(self):
        status, answer = self.run_python('''
import sys
open("data", "wb").write(bytes(1 << 20))
print("out", *sys.argv[1:])
print("err", file=sys.stderr)''', 'two words', "it's", '$HOME', '*')
        self.assertEqual(status, 200, answer)
        run = self.ended()
        self.assertEqual((run['exit'], run['signal'], run['stopped'], run['problem'], run['log']),
                         (0, None, False, None, 0), run)
        self.assertEqual(run['output'], {'text': "out two words it's $HOME *\n", 'cut': False})
        self.assertTrue(run['errors']['text'].startswith('err\n'))
        self.assertEqual(run['log_name'], 'lab-1-python3.ioseer')
        self.assertEqual(run['log_path'], os.path.join(os.path.realpath(self.folder), run['log_name']))
        self.assertEqual(self.get('data/0')['log'], run['log_name'])
        files = self.json('info', '--json', run['log_path'])['files']
        self.assertEqual([f['bytes_written'] for f in files if f['name'].endswith('/data')], [1 << 20])
        self.assertEqual([past['number'] for past in self.get('lab')['runs']], [1])

    def test_progress_is_seen_while_it_runs(self):
        self.start_endless('''
time.sleep(1)
out = open("data", "wb", buffering=0)
for i in range(20): out.write(bytes(1 << 16))
time.sleep(1)''')
        run = self.until(lambda: (r := self.get('lab')['run'])['bytes_written'] >= 20 << 16 and r, 'its bytes')
        self.assertEqual((run['stage'], run['log'], run['exit']), ('runs', None, None))
        self.assertGreaterEqual(run['running'], 2)
        self.assertGreaterEqual(run['calls'], 20)
        self.assertTrue(run['samples'][-1][2] >= 20 << 16, run['samples'])
        [phase] = [phase for phase in run['phases'] if phase['file'] == self.path('data')]
        self.assertEqual((phase['bytes_read'], phase['bytes_written'], phase['ended']), (0, 20 << 16, True))

    def test_stop_ends_all_of_it_and_the_log_is_there(self):
        self.start_endless()
        self.assertEqual(self.act('stop', {'run': 2})[0], 400)
        self.assertEqual(self.act('stop', {})[0], 400)
        self.assertEqual(self.get('lab')['run']['stage'], 'runs')
        self.assertEqual(self.act('stop', {'run': 1})[0], 200)
        run = self.ended()
        self.assertEqual((run['stopped'], run['exit'], run['log']), (True, 128 + signal.SIGKILL, 0))
        self.assertEqual(processes_with(self.mark), [])
        self.assertEqual(self.act('stop', {'run': 1})[0], 400)
        self.assertIn('lab-1-python3.ioseer', os.listdir(self.folder))
        self.assertFalse([name for name in os.listdir(self.folder) if 'spill' in name])

    def test_one_at_a_time(self):
        self.start_endless()
        status, answer = self.run_python('open("ran", "w")')
        self.assertEqual(status, 409)
        self.assertIn('Run 1 is under way', answer['error'])
        self.assertFalse(os.path.exists(self.path('ran')))
        self.assertNotIn('ran', json.dumps(self.get('lab')['setup']))  # the form is that of the run
        self.act('stop', {'run': 1})
        self.ended()
        self.assertEqual(self.run_python('open("ran", "w")')[0], 200)
        self.assertEqual(self.ended()['log_name'], 'lab-2-python3.ioseer')
        self.assertTrue(os.path.exists(self.path('ran')))

    def test_failures_are_told(self):
        self.run_python('import sys; sys.exit(3)')
        self.assertEqual((self.ended()['exit'], self.ended()['log']), (3, 0))
        self.run_python('import os; os.kill(os.getpid(), 9)')
        self.assertEqual(self.ended()['exit'], 137)

    def test_output_has_a_bound(self):
        self.run_python('import sys; [print(i, "x" * 90) for i in range(20000)]')
        output = self.ended()['output']
        self.assertTrue(output['cut'])
        self.assertEqual(len(output['text']), 16 << 10)
        self.assertTrue(output['text'].endswith('19999 ' + 'x' * 90 + '\n'))

    def test_options_reach_the_recorder(self):
        self.run_python('open("kept", "w").write("x"); open("left", "w").write("x")', exclude="'*/left' /nothing",
                        callsites=True, calls_of='stdio,posix', classes='write,open')
        run = self.ended()
        command = run['command']
        self.assertEqual(command[command.index('--callsites'):command.index('--')],
                         ['--callsites', '--layers', 'stdio,posix', '--classes', 'write,open', '--exclude', '*/left', '--exclude', '/nothing'])
        names = [os.path.basename(f['name']) for f in self.json('info', '--json', run['log_path'])['files']]
        self.assertTrue('kept' in names and 'left' not in names, names)

    def test_the_program_is_as_if_started_by_hand(self):
        self.run_python('''
import os, resource, signal
print(os.getcwd(), resource.getrlimit(resource.RLIMIT_NOFILE), signal.pthread_sigmask(signal.SIG_BLOCK, []),
      signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN, sorted(os.listdir("/proc/self/fd"), key=int)[:-1], os.read(0, 1))''')
        self.assertEqual(self.ended()['output']['text'], f'{os.path.realpath(self.folder)} '
                         f"{resource.getrlimit(resource.RLIMIT_NOFILE)} set() True ['0', '1', '2'] b''\n")

    def test_emulated_storage_goes_with_the_run(self):
        status, answer = self.run_python('print(__import__("os").getcwd()); open("data", "wb").write(bytes(4096))',
                                         storage='emulated', preset='nvm')
        self.assertEqual(status, 200, answer)
        run = self.ended()
        if run['problem']:
            self.skipTest(run['problem'])
        mount = run['output']['text'].strip()
        self.assertTrue(mount.startswith('/tmp/ioseer-lab-'), run)
        self.assertFalse(os.path.ismount(mount))
        self.assertEqual(os.path.getsize(self.path('data')), 4096)
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(PATIENCE_SECONDS), 0)
        self.until(lambda: not os.path.exists(mount), 'the end of the directory')

    def stacks(self):
        return [stack['name'] for stack in self.get('lab')['choices']['stacks']]

    def test_a_stack_of_its_own_goes_with_the_run(self):
        if not self.get('lab')['choices']['may_start_stacks']:
            self.skipTest('stacks cannot be started here')
        status, answer = self.act('run', {'program': 'dd', 'arguments': 'if=/dev/zero of=x bs=64k count=8',
                                          'storage': 'new-stack', 'servers': 2, 'layers': 'client,disk'})
        self.assertEqual(status, 200, answer)
        name = f'lab-{self.server.pid}'
        run = self.ended()
        self.assertEqual((run['exit'], run['problem']), (0, None), run)
        self.assertEqual(run['storage'], 'stack, 2 servers, distribute')
        self.assertNotIn(name, self.stacks())
        layers = {row[0] for row in self.json('query', '--json', run['log_path'], '--sql',
                                              'SELECT DISTINCT layer FROM events')['rows']}
        self.assertEqual(layers, {'posix', 'client', 'disk'})
        status, answer = self.run_python(f'open("x", "w").write("{self.mark}"); import time; time.sleep(1000)', self.mark)
        self.assertEqual(status, 200, answer)
        self.until(lambda: (r := self.get('lab')['run'])['bytes_written'] and name in self.stacks() and r, 'its begin')
        self.server.kill()
        self.server.wait()
        self.all_gone()
        self.until(lambda: not os.path.exists(f'/var/lib/ioseer/stack/{name}'), 'the end of the stack')

    # --- what is refused

    def test_wrong_forms_say_which_field(self):
        for body, field in (({'program': ''}, 'program'), ({'program': '/no/such/program'}, 'program'),
                            ({'program': 'no-such-program'}, 'program'), ({'program': './missing'}, 'program'),
                            ({'program': self.folder}, 'program'),
                            ({'program': '/etc/passwd'}, 'program'), ({'program': 'true', 'arguments': '"x'}, 'arguments'),
                            ({'program': 'true', 'arguments': 'x\\'}, 'arguments'),
                            ({'program': 'true', 'folder': 'relative'}, 'folder'),
                            ({'program': 'true', 'folder': '/no/such'}, 'folder'),
                            ({'program': 'true', 'folder': '/etc/passwd'}, 'folder'),
                            ({'program': 'true', 'mpi': 'other'}, 'mpi'), ({'program': 'true', 'storage': 'x'}, 'storage'),
                            ({'program': 'true', 'storage': 'emulated', 'preset': 'x'}, 'preset'),
                            ({'program': 'true', 'storage': 'stack', 'stack': 'no-such'}, 'stack'),
                            ({'program': 'true', 'storage': 'stack', 'stack': '../x'}, 'stack'),
                            ({'program': 'true', 'processes': -1}, 'processes'), ({'program': 1}, 'program'),
                            ({'program': 'true', 'exclude': "'"}, 'exclude'),
                            ({'program': 'true', 'calls_of': ''}, 'calls_of'),
                            ({'program': 'true', 'callsites': 'yes'}, 'callsites'), ({'shell': 'true'}, None)):
            blank = {'folder': self.folder, 'arguments': '', 'exclude': '', 'mpi': 'none', 'storage': 'folder'}
            status, answer = self.act('run', {**blank, **body})
            self.assertEqual((status, answer['field']), (400, field), (body, answer))
            self.assertTrue(answer['error'])
        self.nothing_ran()

    def test_foreign_requests_run_nothing(self):
        body = json.dumps({'program': 'touch', 'arguments': 'ran', 'folder': self.folder}).encode()
        path = f'/{self.token}/lab/run'
        for headers in ({'Origin': 'http://evil.example'}, {'Origin': 'null'}, {'Sec_Fetch_Site': 'cross-site'},
                        {'Sec_Fetch_Site': 'same-site'}, {'Host': 'evil.example'}, {'Host': f'evil.example:{self.port}'},
                        {'Origin': f'http://127.0.0.1:{self.port + 1}'}):
            self.assertEqual(self.refused(path, 'POST', body, **headers), 403, headers)
        other = '0' * 32
        for wrong, status in ((f'/{other}/lab/run', 403), (f'/{self.token[:-1]}/lab/run', 403), ('/lab/run', 403),
                              (f'/{self.token}/lab/../lab/run', 400), (f'/{self.token}/lab%2frun', 400),
                              (f'/{self.token}/lab/run/', 405), (f'/{self.token}/lab', 405), (f'/{self.token}/lab/', 405),
                              (f'/{self.token}/lab/Run', 405), (f'/{self.token}/run', 405), (f'/{self.token}//lab/run', 405)):
            self.assertEqual(self.refused(wrong, 'POST', body), status, wrong)
        for method in ('GET', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'):
            self.assertIn(self.ask(path, method)[0], (404, 405), method)
        self.assertEqual(self.refused(path + '?program=touch&arguments=ran'), 404)
        self.assertEqual(self.refused(path, 'GET', body), 400)
        self.nothing_ran()

    def test_malformed_bodies_run_nothing(self):
        good = json.dumps({'program': 'touch', 'arguments': 'ran', 'folder': self.folder}).encode()
        for body in (b'', b'x', b'null', b'[]', b'"touch"', good[:-1], good + b'x', b'\0' + good, good.replace(b'ran', b'r\0n'),
                     b'{"program": "touch\\u0000", "arguments": "ran"}', b'{"program": "touch", "program": "touch"}',
                     b'[' * 10000, b'{"program": {"x": 1}}', b'program=touch&arguments=ran'):
            for action in ('run', 'setup', 'stop'):
                self.assertEqual(self.act(action, body)[0], 400, (action, body))
        path = f'/{self.token}/lab/run'
        self.assertEqual(self.refused(path, 'POST', good + b' ' * (64 << 10)), 413)
        self.assertEqual(self.refused(path, 'POST'), 413)
        self.assertEqual(self.refused(path, 'POST', Transfer_Encoding='chunked'), 413)
        with socket.create_connection(('127.0.0.1', self.port), timeout=PATIENCE_SECONDS) as raw:  # ends too early
            raw.sendall(f'POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Length: {len(good) + 1}\r\n\r\n'
                        .encode() + good)
            raw.shutdown(socket.SHUT_WR)
            raw.recv(1000)
        self.nothing_ran()

    def test_nothing_runs_that_was_not_typed(self):
        """A shell's characters are only characters."""
        for arguments in ('$(touch ran)', '`touch ran`', '; touch ran', '| touch ran', '&& touch ran', '> ran', '\n touch ran'):
            self.assertEqual(self.act('run', {'program': 'echo', 'arguments': arguments})[0], 200)
            self.assertEqual(self.ended()['output']['text'], ' '.join(arguments.split()) + '\n')
            self.assertFalse(os.path.exists(self.path('ran')))

    def test_the_form_is_kept(self):
        self.assertEqual(self.get('lab')['setup']['folder'], os.path.realpath(self.folder))
        status, answer = self.act('setup', {'program': 'half ty', 'processes': 0, 'callsites': True})
        self.assertEqual(status, 200)
        setup = self.get('lab')['setup']
        self.assertEqual((setup['program'], setup['processes'], setup['callsites']), ('half ty', 0, True))
        self.assertEqual(self.act('setup', {'program': 'x', 'other': 1})[0], 400)
        self.assertEqual(self.get('lab')['setup'], setup)
        self.nothing_ran()

    # --- the end of the server

    def test_a_signal_ends_server_and_run(self):
        self.start_endless()
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(PATIENCE_SECONDS), 0)
        self.assertEqual(processes_with(self.mark), [])
        self.assertIn('lab-1-python3.ioseer', os.listdir(self.folder))

    def test_the_run_ends_with_a_server_that_is_killed(self):
        self.start_endless()
        self.server.kill()
        self.server.wait()
        self.all_gone()
        self.until(lambda: 'lab-1-python3.ioseer' in os.listdir(self.folder), 'its log')

    def test_emulated_storage_ends_with_a_server_that_is_killed(self):
        self.act('setup', {'storage': 'emulated', 'preset': 'nvm'})
        mount = None
        if self.run_python('print(__import__("os").getcwd())')[0] == 200:
            mount = self.ended()['output']['text'].strip()
        if not mount:
            self.skipTest('storage cannot be emulated here')
        self.start_endless()
        self.assertTrue(os.path.ismount(mount))
        self.server.kill()
        self.server.wait()
        self.all_gone()
        self.until(lambda: not os.path.exists(mount), 'the end of the mount')


class UsageTest(served.ServedTest):
    def test_only_loopback(self):
        for address in ('0.0.0.0', '127.0.0.1', '192.168.1.1'):
            self.expect_error(2, 'view', '--lab', '--address', address)

    def test_it_is_off_by_default(self):
        log = self.record('true')
        self.start(log)
        self.assertEqual(self.refused(f'/{self.token}/lab'), 404)
        for action in ('run', 'stop', 'setup'):
            self.assertEqual(self.refused(f'/{self.token}/lab/{action}', 'POST', b'{"program": "true"}'), 405)
        self.assertTrue(b'{"logs":["test.ioseer"]}' in self.ask(f'/{self.token}/')[2])

    def test_with_a_log(self):
        log = self.record('true')
        self.start('--lab', log)
        self.assertTrue(b'{"logs":["test.ioseer"],"lab":true}' in self.ask(f'/{self.token}/')[2])
        status, _, body = self.ask(f'/{self.token}/lab/run', 'POST', b'{"program": "true"}')
        self.assertEqual(status, 200, body)
        while self.get('lab')['run']['stage'] != 'ended':
            time.sleep(0.1)
        self.assertEqual(self.get('lab')['run']['log'], 1)
        self.assertTrue(b'"lab-1-true.ioseer"' in self.ask(f'/{self.token}/')[2])


harness.main()
