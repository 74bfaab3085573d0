#!/usr/bin/env python3
"""`make deb`: lintian has nothing to say about the packages, and they are complete. dpkg installs them in a clean system, where
ioseer works, and purges them without a trace. Speaks TAP."""
import glob
import json
import os
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True

from package_case import BUILD_SECONDS, PACKAGING, SOURCE, VERSION, dependencies, must, read, run  # noqa: E402
from harness import CommandLineTest, main  # noqa: E402

SCRATCH = tempfile.TemporaryDirectory(prefix='ioseer-package-')
DEBS = os.path.join(SCRATCH.name, 'deb')
ROOT = os.path.join(SCRATCH.name, 'root')
PACKAGES = ['ioseer', 'ioseer-dev', 'ioseer-doc', 'ioseer-mpi', 'ioseer-stack']
LAUNCHERS = ['mpich', 'openmpi-bin']  # so that doctor can try MPI there
NO_NETWORK = re.compile(r'Could not resolve|Could not connect|Unable to connect|Temporary failure|Connection (timed|failed)')
# What dpkg itself keeps, and what it starts for any package.
OF_THE_SYSTEM = re.compile(r'/(var/lib/dpkg|var/log|var/cache|var/lib/apt|proc|tmp|etc/ld\.so\.cache)(/|$)')


def why_no_build():
    for tool in ('dpkg-buildpackage', 'dh'):
        if not shutil.which(tool):
            return f'{tool} is not here'
    checked = run('dpkg-checkbuilddeps', os.path.join(PACKAGING, 'debian', 'control'))
    return checked.stderr.decode().strip() if checked.returncode else None


def deb(package):
    return glob.glob(os.path.join(DEBS, f'{package}_{VERSION}_*.deb'))[0]


def contents(package):
    """Files and links of a package, as paths."""
    words = [line.split() for line in must('dpkg-deb', '--contents', deb(package)).splitlines()]
    return {word[5].removeprefix('.') for word in words if not word[0].startswith('d')}


def names_of(relations):
    """Packages that a field such as Depends names; the first of alternatives."""
    return {re.match(r'[^\s:(|]+', part.strip())[0] for part in relations.split(',') if part.strip()}


def archives():
    """The Debian archives that apt on this machine uses, as lines of sources.list."""
    return must('apt-get', 'indextargets', '--format', 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)', 'Created-By: Packages',
                'Origin: Debian')


def files_in_root():
    found = set()
    for folder, folders, files in os.walk(ROOT):
        inside = folder.removeprefix(ROOT)
        folders[:] = [name for name in folders if not OF_THE_SYSTEM.match(f'{inside}/{name}')]
        found.update(f'{inside}/{name}' for name in folders + files)
    return {path for path in found if not OF_THE_SYSTEM.match(path)}


def in_root(*words, **options):
    """Runs a program in the clean system, with a /proc of its own."""
    enter = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
    clean = {'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'HOME': '/root', 'LC_ALL': 'C.UTF-8', **options.pop('env', {})}
    return run('unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', enter, ROOT, *words,
               env=clean, timeout=300, **options)


class DebianTest(CommandLineTest):
    @classmethod
    def setUpClass(cls):
        cls.missing = why_no_build()
        if not cls.missing and not os.path.exists(DEBS):
            must(os.path.join(SOURCE, 'tools', 'deb'), DEBS)

    def setUp(self):
        super().setUp()
        if self.missing:
            self.skipTest(self.missing)


class Packages(DebianTest):
    def test_lintian_has_nothing_to_say(self):
        if not shutil.which('lintian'):
            self.skipTest('lintian is not here')
        done = run('lintian', '--fail-on', 'error,warning', '--allow-root', *glob.glob(os.path.join(DEBS, '*.changes')),
                   timeout=600)
        self.assertEqual((done.returncode, done.stdout), (0, b''), done.stderr)

    def test_nothing_is_left_out(self):
        """Every file that `meson install` puts somewhere is in one package, except licenses, which are in copyright."""
        tree = os.path.join(DEBS, f'ioseer-{VERSION}', 'debian', 'tmp')
        installed = {os.path.join(folder, name).removeprefix(tree) for folder, _, files in os.walk(tree) for name in files}
        left_out = {f'/{line}' for line in read('packaging', 'debian', 'not-installed').split()}
        packed = [path.removesuffix('.gz') for package in PACKAGES for path in contents(package)]
        self.assertEqual(installed - left_out - set(packed), set())
        ours = [path for path in packed if path in installed]
        self.assertEqual(len(ours), len(set(ours)))
        self.assertEqual([name for name in os.listdir(os.path.join(SOURCE, 'doc')) if name.endswith('.md')
                          and f'/usr/share/doc/ioseer/{name}' not in packed], [])
        for page in os.listdir(os.path.join(SOURCE, 'doc', 'man')):
            name = page.removesuffix('.md')
            self.assertIn(f'/usr/share/man/man5/{name}.5' if name.endswith('.conf') else f'/usr/share/man/man1/{name}.1', packed)

    def test_licenses(self):
        """Only ioseer-stack has what is under the LGPL; each package says so."""
        for package in PACKAGES:
            with self.subTest(package=package):
                must('dpkg-deb', '--extract', deb(package), self.path(package))
                with open(self.path(f'{package}/usr/share/doc/{package}/copyright'), encoding='utf-8') as text:
                    self.assertRegex(text.read(), r'(?s)^Format: .*\nFiles: src/stack/probe/\*\n[^\n]*\nLicense: LGPL-3\+\n')
                self.assertEqual('/usr/lib/ioseer/ioseer-probe.so' in contents(package), package == 'ioseer-stack')

    def test_build_depends(self):
        """Each library that the build found comes from a package that it asks for."""
        built = glob.glob(os.path.join(DEBS, f'ioseer-{VERSION}', 'obj-*'))[0]
        asked = names_of(re.search(r'\nBuild-Depends:((?:\n? .*)+)', read('packaging', 'debian', 'control'))[1])
        for name in dependencies(built):
            folder = must('pkg-config', '--variable=pcfiledir', name).strip()
            owners = must('dpkg', '-S', os.path.realpath(f'{folder}/{name}.pc')).split(': ')[0]
            self.assertTrue({owner.split(':')[0] for owner in owners.split(', ')} & asked, f'{name}: {owners}')


class CleanSystem(DebianTest):
    """A minimal Debian with what the packages depend on, and nothing else."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.missing = cls.missing or cls.why_no_root()
        if not cls.missing:
            cls.make_root()

    @staticmethod
    def why_no_root():
        if os.geteuid():
            return 'only root can make a clean system'
        if not shutil.which('mmdebstrap'):
            return 'mmdebstrap is not here'
        return None if archives() else 'apt knows no archive of Debian'

    @classmethod
    def make_root(cls):
        needed = set().union(*(names_of(must('dpkg-deb', '--field', deb(package), 'Depends')) for package in PACKAGES
                               if 'Depends:' in must('dpkg-deb', '--field', deb(package))))
        done = run('mmdebstrap', '--quiet', '--variant=minbase', '--dpkgopt=force-unsafe-io', '--aptopt=Acquire::Languages "none"',
                   f'--include={",".join(sorted(needed.union(LAUNCHERS) - set(PACKAGES)))}', '', ROOT, '-',
                   input=archives().encode(), stdin=None, timeout=BUILD_SECONDS)
        if done.returncode and NO_NETWORK.search(done.stderr.decode()):
            cls.missing = 'the archive of Debian cannot be reached'
        elif done.returncode:
            raise RuntimeError(f'mmdebstrap: {done.stderr.decode()[-4000:]}')

    def succeed(self, *words, **options):
        done = in_root(*words, **options)
        self.assertEqual(done.returncode, 0, f'{words}: {done.stdout.decode()[-2000:]} {done.stderr.decode()[-2000:]}')
        return done.stdout.decode()

    def install(self, *packages):
        for package in packages:
            shutil.copy(deb(package), os.path.join(ROOT, 'tmp'))
        self.succeed('dpkg', '--install', *(f'/tmp/{os.path.basename(deb(package))}' for package in packages))

    def doctor(self):
        return {check['name']: check for check in json.loads(in_root('ioseer', 'doctor', '--json').stdout)['checks']}

    def check_recording(self):
        self.assertIn(VERSION, self.succeed('ioseer', '--version'))
        self.succeed('ioseer', 'record', '-q', '-o', '/tmp/copy.ioseer', '--', 'cp', '/etc/passwd', '/tmp/copy')
        files = json.loads(self.succeed('ioseer', 'info', '--json', '/tmp/copy.ioseer'))['files']
        copied = {file['name']: file['bytes_written'] for file in files}
        self.assertEqual(copied['/tmp/copy'], os.path.getsize(os.path.join(ROOT, 'etc', 'passwd')))
        self.assertTrue(os.path.exists(os.path.join(ROOT, 'usr', 'share', 'man', 'man1', 'ioseer.1.gz')))

    def check_site(self):
        """The settings in /etc count for a program that has the library by the path that doc/site.md names."""
        library = '/usr/lib/ioseer/libioseer.so'
        self.assertIn(f'LD_PRELOAD={library}', read('doc', 'site.md'))
        self.assertIn('/etc/ioseer/ioseer.conf', self.succeed('dpkg-query', '-W', '-f', '${Conffiles}', 'ioseer'))
        os.mkdir(os.path.join(ROOT, 'tmp', 'logs'))
        with open(os.path.join(ROOT, 'etc', 'ioseer', 'ioseer.conf'), 'a', encoding='utf-8') as conf:
            conf.write('log_dir = /tmp/logs\n')
        self.succeed('env', f'LD_PRELOAD={library}', 'cp', '/etc/passwd', '/tmp/copy')
        logs = glob.glob(os.path.join(ROOT, 'tmp', 'logs', 'root', '**', 'cp-*.ioseer'), recursive=True)
        self.assertEqual(len(logs), 1, logs)

    def test_install_use_and_purge(self):
        before = files_in_root()
        self.install('ioseer')
        self.check_recording()
        checks = self.doctor()
        for name in ('library', 'recording', 'replay', 'page'):
            self.assertTrue(checks[name]['ok'], checks[name])
        self.assertIn('install ioseer-mpi', checks['MPICH']['fix'])
        self.check_site()
        self.install(*PACKAGES[1:])
        checks = self.doctor()
        for name in ('MPICH', 'Open MPI'):
            self.assertIn('written with MPI-IO', checks[name]['detail'])
        for word in self.succeed('ioseer-config', '--ldflags').split():
            self.assertTrue(os.path.exists(ROOT + re.search(r'/.*', word)[0]), word)
        self.succeed('dpkg', '--purge', *PACKAGES)
        self.assertEqual(files_in_root() ^ before, set())


with SCRATCH:
    main()
