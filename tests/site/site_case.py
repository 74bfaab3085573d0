"""What the tests of jobs without `record` share: a folder for logs, the variables of `ioseer env`, the logs in it."""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import harness  # noqa: E402  pylint: disable=wrong-import-position

LAUNCHERS = {'mpich': ['mpiexec.mpich'],
             'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe', '--mca', 'btl', 'self,vader']}
LIBRARY = os.path.join(harness.BUILD, 'src', 'rec', 'libioseer.so')


def plain_environment():
    """Without ioseer's variables, those of a batch system, and the files of whoever runs the test."""
    left_out = ('IOSEER_', 'SLURM_', 'PBS_', 'LSB_', 'FLUX_', 'LD_PRELOAD', 'XDG_CONFIG_HOME')
    return {name: value for name, value in os.environ.items() if not name.startswith(left_out)}


class SiteCase(harness.CommandLineTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.logs = self.path('logs')
        self.home = self.path('home')
        os.mkdir(self.logs)
        os.mkdir(self.home)
        self.plain = {**plain_environment(), 'HOME': self.home, 'IOSEER_CONF': self.path('ioseer.conf')}

    def environment(self, **more):
        """As after `eval "$(ioseer env)"`."""
        printed = harness.ioseer('env', '--log-dir', self.logs, '--json', env=self.plain)
        self.assertEqual(printed.returncode, 0, printed.stderr)
        return {**self.plain, **harness.json.loads(printed.stdout)['variables'], **more}

    def write_conf(self, *lines, path=None):
        with open(path or self.path('ioseer.conf'), 'w', encoding='utf-8') as conf:
            conf.write('\n'.join(lines) + '\n')

    def run_on(self, *words, status=0, environment=None, **options):
        """Runs a command that is recorded by its environment; gives what it printed."""
        options.setdefault('cwd', self.folder)
        done = harness.run(*words, env=environment or self.environment(), **options)
        if status is not None:
            self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        self.assertNotIn(b'ioseer', done.stderr or b'')
        return done

    def found(self, top=None):
        """The logs, by name."""
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(top or self.logs) for name in names
                      if name.endswith('.ioseer'))

    def one_log(self):
        logs = self.found()
        self.assertEqual(len(logs), 1, logs)
        return logs[0]

    def spills(self, user=None):
        """What is left of jobs without a log."""
        folder = os.path.join(self.logs, f'.ioseer-{os.geteuid() if user is None else user}')
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def settle(self, user=None):
        """Makes what was left so old that `pack --left` takes it."""
        folder = os.path.join(self.logs, f'.ioseer-{os.geteuid() if user is None else user}')
        for name in self.spills(user):
            os.utime(os.path.join(folder, name), (time.time() - 100,) * 2)

    def pack_left(self, **more):
        done = harness.ioseer('pack', '--left', env=self.environment(**more))
        self.assertEqual(done.returncode, 0, done.stderr)
        return [int(number) for number in re.findall(rb'\d+', done.stdout)]

    def wait_for(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, 'it takes too long')
            time.sleep(0.02)

    def counters(self, log, below=None):
        """{(layer, rank, file): counters} of `stats`, without those that are times."""
        def is_time(name):
            return '_F_' in name or 'TIME' in name or 'FASTEST' in name or 'SLOWEST' in name
        return {(record['layer'], record['rank'], record['file']):
                {name: value for name, value in record['counters'].items() if not is_time(name)}
                for record in self.json('stats', '--json', log)['records']
                if record['file'].startswith(below or self.folder)}

    def start_on(self, *words, environment=None, **options):
        process = subprocess.Popen(words, env=environment or self.environment(), cwd=self.folder,
                                   stdout=subprocess.PIPE, stdin=subprocess.PIPE, **options)
        self.addCleanup(self.stop, process)
        return process

    @staticmethod
    def stop(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stdin.close()
