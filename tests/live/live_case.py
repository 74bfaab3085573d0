"""What the tests of running jobs share: a job that stays until it is released, and what it did."""
import glob
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import harness  # noqa: E402

PATIENCE_SECONDS = 60
LAUNCHERS = {'mpich': ['mpiexec.mpich'], 'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe']}
MPI_ENVIRONMENT = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}


def wait_until(condition, what):
    """Gives the first true value of `condition`."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f'waited too long for {what}')


class LiveCase(harness.CommandLineTest):
    def setUp(self):
        super().setUp()
        self.log = self.path('job.ioseer')

    def release(self):
        with open(self.path('go'), 'w', encoding='utf-8'):
            pass

    def spill(self):
        return glob.glob(glob.escape(self.log) + '.spill-*')

    def start(self, *command, options=(), stays=True, **more):
        """Starts a recorded job. It makes the file `done` and stays until it is released."""
        if stays:
            after = '"$@"; status=$?; : > done; while [ ! -e go ]; do sleep 0.05; done; exit $status'
            command = ['/bin/sh', '-c', after, 'sh', *command]
        job = subprocess.Popen([harness.IOSEER, 'record', '-q', '-o', self.log, *options, '--', *command],
                               cwd=self.folder, stdin=subprocess.DEVNULL, **more)
        self.addCleanup(job.wait)
        self.addCleanup(self.release)
        wait_until(self.spill, 'the spill directory')
        return job

    def wait_done(self):
        wait_until(lambda: os.path.exists(self.path('done')), 'the job')

    def snapshot(self, *options):
        return self.json('top', '--once', '--json', '-d', '100ms', *options, self.spill()[0])

    def end(self, job, status=0):
        self.release()
        self.assertEqual(job.wait(timeout=PATIENCE_SECONDS), status)
        return self.json('info', '--json', self.log)

    def python(self, text):
        """A Python program that does no I/O but its own."""
        return ['/usr/bin/python3', '-I', '-S', '-c', text]

    def moved(self, document):
        """Bytes by file, of files in the scratch directory."""
        return {os.path.relpath(f['name'], self.folder): (f['bytes_read'], f['bytes_written'])
                for f in document['files'] if f['name'].startswith(self.folder + '/')
                and os.path.basename(f['name']) not in ('go', 'done')
                and (f['bytes_read'] or f['bytes_written'])}


def read_json_lines(text):
    return [json.loads(line) for line in text.decode().splitlines() if line]
