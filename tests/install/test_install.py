#!/usr/bin/env python3
"""An installed ioseer works: in a prefix, in a DESTDIR and after a move, whatever the system calls its library
directory. From each it records and replays a program of each MPI, and uses no file of the build tree. Speaks TAP."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.dont_write_bytecode = True

from harness import BUILD, SOURCE, CommandLineTest, main, run  # noqa: E402

LAUNCHERS = {'mpich': ['mpiexec.mpich'], 'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe']}
RANKS, BINS, BIN_BYTES = 2, 4, 4096
SCRATCH = tempfile.TemporaryDirectory(prefix='ioseer-install-')
PATH = re.compile(r'(/[^\s;,]+)')


def must(*words):
    done = run(*words, timeout=300)
    if done.returncode:
        raise RuntimeError(f'{words}: {done.stdout.decode()[-2000:]} {done.stderr.decode()[-2000:]}')


def installed_targets(build):
    return [name for target in json.loads(subprocess.check_output(['meson', 'introspect', '--targets', build]))
            if target['installed'] for name in target['filename']]


def configure(build, libdir, prefix):
    """A build directory with other install options than BUILD's. What is built does not depend on them: it is copied."""
    again = ['--reconfigure'] if os.path.exists(build) else []
    must('meson', 'setup', *again, f'-Dprefix={prefix}', f'-Dlibdir={libdir}', build, SOURCE)
    for name in installed_targets(build) if not again else ():
        os.makedirs(os.path.dirname(name), exist_ok=True)
        shutil.copy2(os.path.join(BUILD, os.path.relpath(name, build)), name)


class InstallTest(CommandLineTest):
    """Holds what must work from every installation; classes derived from it name a library directory."""
    libdir = None

    @classmethod
    def setUpClass(cls):
        if cls.libdir is not None:
            cls.build, cls.prefix = os.path.join(SCRATCH.name, 'build'), os.path.join(SCRATCH.name, cls.libdir)
            configure(cls.build, cls.libdir, cls.prefix)

    def install(self, *options):
        must('meson', 'install', '-C', self.build, '--no-rebuild', '--quiet', *options)

    def loaded_paths(self):
        """Every program and library that the dynamic loader named since the last call."""
        paths = set()
        for name in glob.glob(self.path('loader.*')):
            with open(name, encoding='utf-8', errors='replace') as lines:
                paths.update(os.path.normpath(path) for line in lines for path in PATH.findall(line))
            os.unlink(name)
        return paths

    def ioseer(self, prefix, *words, statuses=(0,)):
        """Runs an installed ioseer, which must load nothing of ioseer's from elsewhere."""
        loader = {'LD_DEBUG': 'files', 'LD_DEBUG_OUTPUT': self.path('loader')}
        done = run(os.path.join(prefix, 'bin', 'ioseer'), *words, cwd=self.folder, env={**os.environ, **loader})
        self.assertIn(done.returncode, statuses, f'{words}: {done.stdout[-2000:]!r} {done.stderr!r}')
        for path in self.loaded_paths():
            self.assertFalse(path.startswith((BUILD + '/', self.build + '/')), path)
            if re.match(r'(lib)?ioseer', os.path.basename(path)):
                self.assertTrue(path.startswith(prefix + '/'), path)
        return done.stdout

    def check_mpi(self, prefix, mpi):
        program = os.path.join(BUILD, 'examples', f'madbench-{mpi}')
        if not os.path.exists(program) or not shutil.which(LAUNCHERS[mpi][0]):
            self.skipTest(f'{mpi} is not here')
        log, copy = self.path(f'{mpi}.ioseer'), shutil.copy(program, self.folder)
        launcher = [*LAUNCHERS[mpi], '-n']
        self.ioseer(prefix, 'record', '-q', '-o', log, '--', *launcher, str(RANKS), copy, '--bins', str(BINS), '--size',
                    str(BIN_BYTES))
        events = json.loads(self.ioseer(prefix, 'dump', '--json', log))
        for kind in ('write', 'read'):
            moved = [event['result'] for event in events if (event['layer'], event['class']) == ('mpiio', kind)]
            self.assertEqual(moved, [BIN_BYTES] * 2 * RANKS * BINS)
        os.mkdir(self.path('target'))
        result = json.loads(self.ioseer(prefix, 'replay', '-q', '--json', '--on', self.path('target'), '--launcher',
                                        ' '.join([*launcher, '{np}']), log))
        self.assertEqual((result['similarity'], result['difference']), (1, None))

    def check_static(self, prefix):
        """A static program is followed by the installed tracer."""
        with open(self.path('static.c'), 'w', encoding='utf-8') as out:
            out.write('#include <fcntl.h>\n#include <unistd.h>\n'
                      'int main(void) { return write(open("data", O_CREAT | O_WRONLY, 0600), "text", 4) != 4; }\n')
        if run('cc', '-static', '-o', self.path('static'), self.path('static.c')).returncode:
            self.skipTest('no static libc')
        log = self.path('static.ioseer')
        self.ioseer(prefix, 'record', '-q', '--force', '-o', log, '--', self.path('static'))
        events = json.loads(self.ioseer(prefix, 'dump', '--json', log))
        self.assertEqual([(e['result'], e['via']) for e in events if e['class'] == 'write'], [(4, 'ptrace')])

    def check_linked(self, prefix):
        """A static program that is linked with the installed library records itself."""
        config = os.path.join(prefix, 'bin', 'ioseer-config')
        if not os.path.exists(self.path('static.c')) or not os.path.exists(os.path.join(BUILD, 'src', 'rec', 'libioseer.a')):
            self.skipTest('no static libc')
        flags = subprocess.check_output([config, '--ldflags'], text=True).split()
        pkgconfig = {**os.environ, 'PKG_CONFIG_PATH': os.path.join(prefix, self.libdir, 'pkgconfig')}
        from_pkgconfig = subprocess.check_output(['pkg-config', '--libs', 'ioseer'], text=True, env=pkgconfig).split()
        for given in (flags, from_pkgconfig):
            self.assertNotIn(BUILD, ' '.join(given))
            must('cc', '-static', '-o', self.path('linked'), self.path('static.c'), *given)
            log = self.path('linked.ioseer')
            self.ioseer(prefix, 'record', '-q', '--force', '-o', log, '--', self.path('linked'))
            events = json.loads(self.ioseer(prefix, 'dump', '--json', log))
            self.assertEqual([(e['result'], e['via']) for e in events if e['class'] == 'write'], [(4, 'link')])

    def doctor(self, prefix, statuses=(0, 1)):
        """What doctor says about each part of the installation."""
        checks = json.loads(self.ioseer(prefix, 'doctor', '--json', statuses=statuses))['checks']
        return {check['name']: check for check in checks
                if check['name'] in ('library', 'recording', 'replay', 'stack', 'libraries', 'MPICH', 'Open MPI')}

    def check(self, prefix):
        for check in self.doctor(prefix).values():
            self.assertTrue(check['ok'], check)
        verbs = {os.path.splitext(name)[0] for name in os.listdir(os.path.join(SOURCE, 'doc', 'man'))}
        pages = {os.path.splitext(name)[0] for section in ('man1', 'man5')
                 for name in os.listdir(os.path.join(prefix, 'share', 'man', section))}
        self.assertEqual(pages, verbs)
        for name in ('bash-completion/completions/ioseer', 'zsh/site-functions/_ioseer', 'fish/vendor_completions.d/ioseer.fish'):
            self.assertTrue(os.path.getsize(os.path.join(prefix, 'share', name)))
        with self.subTest(program='static'):
            self.check_static(prefix)
        with self.subTest(program='linked'):
            self.check_linked(prefix)
        for mpi in LAUNCHERS:
            with self.subTest(mpi=mpi):
                self.check_mpi(prefix, mpi)
            shutil.rmtree(self.path('target'), ignore_errors=True)


class Layouts:
    """One test per way to install."""

    def test_prefix(self):
        self.install()
        self.check(self.prefix)

    def test_moved_prefix(self):
        self.install()
        os.rename(self.prefix, self.path('moved'))
        self.check(self.path('moved'))

    def test_destdir(self):
        self.install('--destdir', self.path('stage'))
        self.check(self.path('stage') + self.prefix)


class Debian(Layouts, InstallTest):
    libdir = 'lib/x86_64-linux-gnu'


class Plain(Layouts, InstallTest):
    libdir = 'lib'


class Lib64(Layouts, InstallTest):
    libdir = 'lib64'


class Incomplete(InstallTest):
    libdir = 'lib'

    def test_doctor_names_what_is_missing(self):
        self.install()
        folder = os.path.join(self.prefix, 'lib', 'ioseer')
        for name in sorted(os.listdir(folder)):
            with self.subTest(name=name):
                os.rename(os.path.join(folder, name), self.path('away'))
                failed = [check for check in self.doctor(self.prefix, statuses=(1,)).values() if not check['ok']]
                self.assertIn(name, failed[0]['detail'])
                self.assertIn('install ioseer again', failed[0]['fix'])
                os.rename(self.path('away'), os.path.join(folder, name))


with SCRATCH:
    main()
