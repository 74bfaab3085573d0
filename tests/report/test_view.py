#!/usr/bin/env python3
"""`ioseer view`: it serves what the log contains, and only to permitted requests."""
import http.client
import json
import os
import signal
import socket
import threading
import time

import place
import served
from place import harness
from served import PATIENCE_SECONDS

ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n'


class ViewTest(served.ServedTest):
    def setUp(self):
        super().setUp()
        self.log = self.record_python(place.PROGRAM, self.folder)
        self.start(self.log)

    def sql(self, statement, page=1, log=0):
        """Status and answer of a statement."""
        body = statement.encode('utf-8', 'surrogateescape')
        status, headers, answer = self.ask(f'/{self.token}/sql/{log}?page={page}', 'POST', body)
        return status, json.loads(answer)

    def begin_sql(self, statement, page):
        """A connection with a statement under way."""
        raw = socket.create_connection(('127.0.0.1', self.port), timeout=PATIENCE_SECONDS)
        self.addCleanup(raw.close)
        raw.sendall(f'POST /{self.token}/sql/0?page={page} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n'
                    f'Content-Length: {len(statement)}\r\n\r\n{statement}'.encode())
        return raw

    def document(self, number=0):
        while True:
            document = self.get(f'data/{number}')
            if 'pending' not in document:
                return document

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

    def test_statements_are_answered(self):
        statement = "SELECT id, op, start, file, NULL AS missing, x'00ff' AS bytes FROM events WHERE class = 'write'"
        status, answer = self.sql(statement)
        self.assertEqual(status, 200, answer)
        expected = self.json('query', '--json', self.log, '--sql', statement)
        self.assertGreater(len(answer['rows']), 3)
        self.assertEqual({'columns': answer['columns'], 'rows': answer['rows']}, expected)
        self.assertEqual((answer['cut'], answer['seconds'] >= 0), (False, True))
        self.assertEqual(self.get('tables'), self.json('query', '--tables', '--json')['tables'])
        self.assertEqual(self.sql("SELECT 'naïve \udcff <' AS text")[1]['rows'], [['naïve \udcff <']])
        self.assertEqual(self.sql('SELECT op FROM events WHERE false')[1]['columns'], ['op'])

    def test_questions_become_statements(self):
        def ask(text):
            status, headers, body = self.ask(f'/{self.token}/query/0', 'POST', text.encode())
            return status, json.loads(body)
        status, answer = ask('Latency Breakdown Exclusive')
        self.assertEqual((status, answer['stacked'], answer['unit']), (200, True, 'seconds'))
        self.assertEqual(answer['sql'] + ';\n',
                         harness.ioseer('query', '--show-sql', self.log, 'Latency Breakdown Exclusive').stdout.decode())
        rows = self.sql(answer['sql'])[1]['rows']
        self.assertEqual(rows, self.json('query', '--json', self.log, 'Latency Breakdown Exclusive')['rows'])
        self.assertEqual(self.sql(answer['chart'])[1]['columns'], ['label', 'series', 'value'])
        status, answer = ask('Latency Nothing')
        self.assertEqual((status, answer['at']), (400, 8))
        self.assertEqual(self.refused(f'/{"0" * 32}/query/0', 'POST', b'Call'), 403)
        self.assertEqual(self.refused(f'/{self.token}/query/1', 'POST', b'Call'), 404)
        self.assertEqual(self.refused(f'/{self.token}/query/0', 'POST', b'Call', Origin='http://evil.example'), 403)

    def test_wrong_statements_say_where(self):
        status, answer = self.sql('SELECT missing FROM events')
        self.assertEqual((status, answer['at']), (400, 7))
        self.assertIn('no such column: missing', answer['error'])
        for statement in ('', '-- nothing', 'SELECT 1; SELECT 2', "ATTACH 'x' AS x", 'PRAGMA user_version = 1',
                          'DELETE FROM events', 'CREATE TABLE x(y)', "SELECT load_extension('x')", 'SELECT 1\0'):
            status, answer = self.sql(statement)
            self.assertEqual(status, 400, (statement, answer))
            self.assertTrue(answer['error'])

    def test_results_have_limits(self):
        numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) SELECT {} FROM n'
        answer = self.sql(numbers.format(10_000, 'i'))[1]
        self.assertEqual((len(answer['rows']), answer['cut']), (10_000, False))
        answer = self.sql(numbers.format(10_001, 'i'))[1]
        self.assertEqual((len(answer['rows']), answer['rows'][-1], answer['cut']), (10_000, [10_000], True))
        answer = self.sql(numbers.format(100, 'hex(zeroblob(250000))'))[1]
        self.assertEqual((len(answer['rows']), answer['cut']), (16, True))
        for value in ('hex(zeroblob(500000))', 'zeroblob(100000000)'):
            status, answer = self.sql(f'SELECT {value}')
            self.assertEqual(status, 400, answer)

    def test_a_newer_statement_of_a_page_ends_the_older(self):
        raw = self.begin_sql(ENDLESS, page=1)
        self.assertEqual(self.get('tables')[0]['name'], 'events')  # nobody else waits for it
        self.document()
        time.sleep(0.5)
        begin = time.monotonic()
        status, answer = self.sql('SELECT 1', page=1)
        self.assertEqual((status, answer['rows']), (200, [[1]]))
        self.assertLess(time.monotonic() - begin, 10)
        self.assertIn(b' 409 ', raw.recv(100))

    def test_a_statement_ends_when_its_client_goes(self):
        raw = self.begin_sql(ENDLESS, page=1)
        time.sleep(0.5)
        raw.close()
        begin = time.monotonic()
        self.assertEqual(self.sql('SELECT 1', page=2)[1]['rows'], [[1]])
        self.assertLess(time.monotonic() - begin, 10)

    def test_a_statement_has_a_time_limit_and_others_wait(self):
        slow = []
        thread = threading.Thread(target=lambda: slow.append(self.sql(ENDLESS, page=1)))
        thread.start()
        time.sleep(0.5)
        self.assertEqual(self.sql('SELECT 1', page=2)[0], 503)
        status, answer = self.sql('SELECT 1', page=2)  # now its turn comes
        thread.join()
        self.assertEqual((status, answer.get('rows')), (200, [[1]]))
        self.assertEqual(slow[0][0], 400)
        self.assertIn('took longer', slow[0][1]['error'])

    def test_a_signal_ends_a_statement(self):
        self.begin_sql(ENDLESS, page=1)
        time.sleep(0.5)
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(10), 0)

    def test_foreign_statements_are_refused(self):
        path, body = f'/{self.token}/sql/0?page=1', b'SELECT 1'
        for headers in ({'Origin': 'http://evil.example'}, {'Origin': 'null'}, {'Sec_Fetch_Site': 'cross-site'},
                        {'Host': 'evil.example'}):
            self.assertEqual(self.refused(path, 'POST', body, **headers), 403, headers)
        self.assertEqual(self.refused(f'/{"0" * 32}/sql/0?page=1', 'POST', body), 403)
        for wrong, status in (('sql/1?page=1', 404), ('sql/0', 400), ('sql/0?page=x', 400), ('sql/../sql/0?page=1', 400),
                              ('sql/0%00?page=1', 400), ('sql/?page=1', 405), ('data/0', 405), ('tables', 405)):
            self.assertEqual(self.refused(f'/{self.token}/{wrong}', 'POST', body), status, wrong)
        self.assertEqual(self.refused(path), 404)  # by GET

    def test_statements_have_a_length_that_is_not_long(self):
        path = f'/{self.token}/sql/0?page=1'
        self.assertEqual(self.refused(path, 'POST'), 413)
        self.assertEqual(self.sql('SELECT 1' + ' ' * (60 << 10))[0], 200)
        self.assertEqual(self.refused(path, 'POST', b'SELECT 1' + b' ' * (64 << 10)), 413)
        self.assertEqual(self.refused(path, 'POST', Transfer_Encoding='chunked'), 413)
        for length in ('18446744073709551616', '99999999999', '-1', 'x'):
            self.assertIn(self.refused(path, 'POST', Content_Length=length), (400, 413), length)

    def test_a_slow_statement_is_cut_off(self):
        begin = time.monotonic()
        raw = self.begin_sql('S', page=1)
        raw.close()
        with socket.create_connection(('127.0.0.1', self.port), timeout=PATIENCE_SECONDS) as raw:
            raw.sendall(f'POST /{self.token}/sql/0?page=1 HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n'
                        'Content-Length: 1000\r\n\r\n'.encode())
            with self.assertRaises(OSError):
                while time.monotonic() - begin < PATIENCE_SECONDS:
                    raw.sendall(b' ')
                    time.sleep(0.2)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(self.sql('SELECT 1')[0], 200)

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
