"""A server of `ioseer view`, and requests to it that no browser would send."""
import http.client
import json
import re
import subprocess

from place import harness

PATIENCE_SECONDS = 60


class ServedTest(harness.CommandLineTest):
    @classmethod
    def setUpClass(cls):
        done = harness.ioseer('view', '/nonexistent')
        if b'built without' in done.stderr:
            raise harness.unittest.SkipTest(done.stderr.decode().strip())

    def start(self, *words):
        self.server = subprocess.Popen([harness.IOSEER, 'view', '-q', *words], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, cwd=self.folder)
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

    def refused(self, *words, **more):
        status, headers, body = self.ask(*words, **more)
        self.assertGreaterEqual(status, 400)
        self.assertNotIn(self.token.encode(), body)
        self.assertNotIn(b'/data', body)
        return status
