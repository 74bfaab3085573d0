#!/usr/bin/env python3
"""`ioseer view`: it serves what the log contains, and only to permitted requests."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess

import place
from place import harness

PATIENCE_SECONDS = 60


class ViewTest(harness.CommandLineTest):
    @classmethod
    def setUpClass(cls):
        done = harness.ioseer('view', '/nonexistent')
        if b'built without' in done.stderr:
            raise harness.unittest.SkipTest(done.stderr.decode().strip())

    def setUp(self):
        super().setUp()
        self.log = self.record_python(place.PROGRAM, self.folder)
        self.start(self.log)

    def start(self, *logs):
        self.server = subprocess.Popen([harness.IOSEER, 'view', '-q', *logs], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
        self.addCleanup(self.stop, self.server)
        address = self.server.stdout.readline().decode()
        found = re.fullmatch(r'http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/\n', address)
        self.assertTrue(found, address or self.server.stderr.read())
        self.port, self.token = int(found[1]), found[2]

    def stop(self, server):
        if server.poll() is None:
            server.kill()
        server.wait()
        server.stdout.close()
        server.stderr.close()

    def ask(self, path, method='GET', body=None, **headers):
        """Status, headers and body of an answer; the path is sent as it is."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.putrequest(method, path, skip_host='Host' in headers)
            for name, value in headers.items():
                connection.putheader(name.replace('_', '-'), value)
            if body is not None:
                connection.putheader('Content-Length', str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, path):
        status, headers, body = self.ask(f'/{self.token}/{path}')
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def document(self, number=0):
        while True:
            document = self.get(f'data/{number}')
            if 'pending' not in document:
                return document

    def refused(self, *words, **more):
        status, headers, body = self.ask(*words, **more)
        self.assertGreaterEqual(status, 400)
        self.assertNotIn(self.token.encode(), body)
        self.assertNotIn(b'/data', body)
        return status

    def test_data_is_that_of_the_report(self):
        self.assertEqual(self.document(), self.json('report', '--format', 'json', self.log))
        status, headers, body = self.ask(f'/{self.token}/')
        self.assertEqual(status, 200)
        self.assertEqual(headers['Content-Type'], 'text/html; charset=utf-8')
        self.assertIn(b'{"logs":["test.ioseer"]}', body)
        self.assertEqual(headers['X-Content-Type-Options'], 'nosniff')

    def test_zoom_shows_all_calls_of_its_time(self):
        events = [e for e in self.json('dump', '--json', self.log) if e['parent'] is None]
        events.sort(key=lambda e: e['start'])
        middle = next(e for e in events[len(events) // 2:] if e['duration'] > 0) # a window must have a length
        start, end = middle['start'], middle['start'] + middle['duration']
        part = self.get(f'timeline/0?from={start:.9f}&to={end:.9f}&width=1000')
        shown = {span[8] for span in part['spans']}
        # The ends are rounded on the way.
        inside = {e['id'] for e in events if e['start'] < end - 1e-6 and e['start'] + e['duration'] > start + 1e-6}
        self.assertTrue(inside <= shown, (inside, shown))
        self.assertIn(middle['id'], shown)
        self.assertLess(len(shown), len(events) // 2)
        whole = self.get('timeline/0?from=0&to=1000&width=4000')
        self.assertEqual({span[8] for span in whole['spans']}, {e['id'] for e in events})

    def test_call_has_its_tree(self):
        event = next(e for e in self.json('dump', '--json', self.log) if e['op'] == 'pwrite')
        call = self.get(f'call/0?id={event["id"]}&at={event["start"]:.9f}')
        self.assertEqual((call['op'], call['duration'], call['tree_cut']), ('pwrite', event['duration'], 0))
        self.assertEqual(call['tree'][0]['offset'], event['offset'])
        self.assertEqual(self.get(f'call/0?id={event["id"]}'), call)
        self.assertEqual(self.refused(f'/{self.token}/call/0?id=99999999999999'), 404)

    def test_wrong_tokens_are_refused(self):
        other = '0' * 32 if self.token != '0' * 32 else '1' * 32
        for path in ('/', '/data/0', f'/{other}/', f'/{other}/data/0', f'/{self.token[:-1]}/data/0', f'/{self.token}',
                     f'//{self.token}/data/0', f'/{self.token.upper()}x/data/0'):
            self.assertEqual(self.refused(path), 403, path)

    def test_other_origins_and_hosts_are_refused(self):
        path = f'/{self.token}/data/0'
        own = f'127.0.0.1:{self.port}'
        for headers in ({'Origin': 'http://evil.example'}, {'Origin': 'null'}, {'Origin': f'https://{own}'},
                        {'Origin': f'http://127.0.0.1:{self.port + 1}'}, {'Origin': f'http://{own}.evil.example'},
                        {'Sec_Fetch_Site': 'cross-site'}, {'Host': 'evil.example'},
                        {'Host': f'evil.example:{self.port}'}, {'Host': f'127.0.0.1:{self.port + 1}'}):
            self.assertEqual(self.refused(path, **headers), 403, headers)
        for headers in ({'Origin': f'http://{own}'}, {'Host': f'localhost:{self.port}'}, {'Sec_Fetch_Site': 'none'}):
            self.assertEqual(self.ask(path, **headers)[0], 200, headers)

    def test_no_file_is_served(self):
        for path in ('../etc/passwd', '..%2f..%2fetc%2fpasswd', '%2e%2e/etc/passwd', 'data/../data/0', 'data/0/../0',
                     'test.ioseer', 'a', 'data/', 'data/1', 'data/-1', 'data/0x0', 'data/18446744073709551616', 'data/0/',
                     'data', 'timeline/0', 'timeline/1?from=0&to=1&width=100', 'call/0', 'x/0', '%00', 'data/0%00'):
            self.assertIn(self.refused(f'/{self.token}/{path}'), (400, 404), path)

    def test_numbers_without_sense_are_refused(self):
        for query in ('from=0&to=1', 'from=1&to=0&width=100', 'from=0&to=0&width=100', 'from=x&to=1&width=100',
                      'from=nan&to=1&width=100', 'from=0&to=inf&width=100', 'from=-1&to=1&width=100',
                      'from=0&to=1&width=0', 'from=0&to=1&width=99999999999', 'from=0&to=1e300&width=100',
                      'from=0&to=1&width=-5'):
            self.assertEqual(self.refused(f'/{self.token}/timeline/0?{query}'), 400, query)

    def test_only_short_gets(self):
        path = f'/{self.token}/data/0'
        for method in ('POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE'):
            self.assertEqual(self.ask(path, method)[0], 405, method)
        self.refused(path, body=b'x' * 100)
        self.refused(f'/{self.token}/' + 'x' * 3000)
        for headers in ({'X_Long': 'y' * 100_000}, {f'X_{i}': 'y' * 100 for i in range(500)}):
            try:
                self.refused(path, **headers)
            except (ConnectionError, http.client.HTTPException):
                pass  # cut off in the middle of its request
        with socket.create_connection(('127.0.0.1', self.port)) as raw:
            raw.sendall(b'\0\xff nonsense\r\n\r\n')
        self.assertEqual(self.ask(path)[0], 200)  # it is still there

    def test_only_loopback(self):
        with open('/proc/net/tcp', encoding='ascii') as lines:
            listening = [line.split()[1] for line in lines if line.split()[3] == '0A']
        self.assertIn(f'0100007F:{self.port:04X}', listening)
        self.assertNotIn(f'00000000:{self.port:04X}', listening)

    def test_signals_end_it(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.server.send_signal(number)
            self.assertEqual(self.server.wait(PATIENCE_SECONDS), 0)
            self.start(self.log)

    def test_nothing_is_written(self):
        before = {name: os.stat(self.path(name)).st_mtime_ns for name in os.listdir(self.folder)}
        self.document()
        self.assertEqual({name: os.stat(self.path(name)).st_mtime_ns for name in os.listdir(self.folder)}, before)

    def test_several_logs(self):
        other = self.record('true', name='<b>.ioseer')
        self.start(self.log, other)
        self.assertEqual(self.document(1)['log'], '<b>.ioseer')
        self.assertEqual(self.document(0)['log'], 'test.ioseer')
        body = self.ask(f'/{self.token}/')[2]
        self.assertIn(b'{"logs":["test.ioseer","\\u003cb>.ioseer"]}', body)

    def test_usage(self):
        self.expect_error(2, 'view')
        self.expect_error(1, 'view', self.path('nothing'))
        self.expect_error(2, 'view', '--port', '65536', self.log)
        self.expect_error(1, 'view', '--port', str(self.port), self.log)


harness.main()
