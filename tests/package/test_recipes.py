#!/usr/bin/env python3
"""The recipes for other systems: rpm builds its packages by packaging/ioseer.spec, and both it and Spack's recipe ask for what
meson.build asks for. Speaks TAP."""
import ast
import os
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True

from package_case import PACKAGING, SOURCE, VERSION, dependencies, must, read, run, versions  # noqa: E402
from harness import CommandLineTest, main  # noqa: E402

SPEC = os.path.join(PACKAGING, 'ioseer.spec')
SCRATCH = tempfile.TemporaryDirectory(prefix='ioseer-recipes-')
BUILD = os.path.join(SCRATCH.name, 'configured')
# The same library under other names. GlusterFS, and what its headers need, is not in Spack.
RPM_NAMES = {'mpich': 'mpich-devel', 'ompi-c': 'openmpi-devel'}
SPACK_NAMES = {'libzstd': 'zstd', 'libxxhash': 'xxhash', 'libdw': 'elfutils', 'fuse3': 'libfuse', 'sqlite3': 'sqlite',
               'libpq': 'postgresql', 'zlib': 'zlib-api', 'mpich': 'mpi', 'ompi-c': 'mpi'}
NOT_IN_SPACK = {'uuid', 'liburcu-bp'}


class RecipeTest(CommandLineTest):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(BUILD):
            must('meson', 'setup', '-Dtests=false', BUILD, SOURCE)
        cls.dependencies, cls.versions = dependencies(BUILD), versions()

    def assert_version(self, name, wanted):
        """A library is asked for in the version that meson.build wants."""
        self.assertEqual(wanted, self.versions.get(name, '').removeprefix('>= '), name)


class Rpm(RecipeTest):
    def setUp(self):
        super().setUp()
        if not shutil.which('rpmbuild'):
            self.skipTest('rpm is not here')

    def test_version(self):
        self.assertEqual(must('rpmspec', '-q', '--srpm', '--qf', '%{VERSION}', SPEC), VERSION)

    def test_rpmlint_has_nothing_to_say(self):
        if not shutil.which('rpmlint'):
            self.skipTest('rpmlint is not here')
        said = must('rpmlint', '--rpmlintrc', os.path.join(PACKAGING, 'ioseer.rpmlintrc'), SPEC)
        self.assertRegex(said, '0 errors, 0 warnings')

    def test_requirements(self):
        asked = dict(re.match(r'(\S+)(?: >= (\S+))?', line).groups('') for line in
                     must('rpmspec', '-q', '--buildrequires', SPEC).splitlines())
        for name in self.dependencies:
            self.assert_version(name, asked.get(RPM_NAMES.get(name, f'pkgconfig({name})'), 'nothing'))

    def build(self):
        """Builds the packages without optimization; gives {package: files}."""
        os.mkdir(self.path('SOURCES'))
        must('sh', '-c', 'git ls-files -z | tar -cz --null -T - --transform "s,^,$0/," -f "$1"', f'ioseer-{VERSION}',
             self.path(f'SOURCES/ioseer-{VERSION}.tar.gz'), cwd=SOURCE)
        must('rpmbuild', '-bb', '--nodeps', '--define', f'_topdir {self.folder}', '--define', 'optflags -O0', '--define',
             'debug_package %{nil}', SPEC)
        packages = [os.path.join(folder, name) for folder, _, files in os.walk(self.path('RPMS')) for name in files]
        return {must('rpm', '-qp', '--qf', '%{NAME}', package): set(must('rpm', '-qpl', package).split())
                for package in packages}

    def test_build(self):
        """rpmbuild itself fails if a file is in no package, or one that is listed was not built."""
        if run('git', '-C', SOURCE, 'rev-parse').returncode:
            self.skipTest('the tree is not of git')
        if not {'mpich', 'ompi-c', 'uuid', 'liburcu-bp'} <= self.dependencies:
            self.skipTest('MPICH, Open MPI or GlusterFS is not here')
        packages = self.build()
        self.assertEqual(set(packages), {'ioseer', 'ioseer-devel', 'ioseer-doc', 'ioseer-mpi', 'ioseer-stack'})
        for package, name in (('ioseer', '/usr/bin/ioseer'), ('ioseer', '/usr/lib/ioseer/libioseer.so'),
                              ('ioseer', '/etc/ioseer/ioseer.conf'), ('ioseer-mpi', '/usr/lib/ioseer/libioseer-mpich.so'),
                              ('ioseer-mpi', '/usr/lib/ioseer/ioseer-replay-openmpi'),
                              ('ioseer-stack', '/usr/lib/ioseer/ioseer-probe.so'), ('ioseer-devel', '/usr/bin/ioseer-config'),
                              ('ioseer-doc', '/usr/share/doc/ioseer/tutorial.md')):
            self.assertIn(name, packages[package])
            self.assertEqual([other for other, files in packages.items() if name in files], [package])


class Spack(RecipeTest):
    def calls(self, function):
        """First arguments, and the others by name, of all calls of a directive in the recipe."""
        recipe = ast.parse(read('packaging', 'spack', 'package.py'))
        for node in ast.walk(recipe):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
                yield node.args[0].value, {word.arg: getattr(word.value, 'value', None) for word in node.keywords}

    def test_version(self):
        self.assertEqual([version for version, _ in self.calls('version')], [VERSION])

    def test_dependencies(self):
        """A library that meson.build can do without depends on a variant, and each variant decides about one."""
        asked = {name.split('@')[0]: (name, more) for name, more in self.calls('depends_on')}
        for name in self.dependencies - NOT_IN_SPACK:
            self.assertIn(SPACK_NAMES.get(name, name), asked, name)
            spec, more = asked[SPACK_NAMES.get(name, name)]
            self.assert_version(name, (spec.split('@') + [''])[1].rstrip(':'))
            self.assertEqual('when' not in more, name in ('libzstd', 'libxxhash'), spec)
        self.assertEqual({f'+{name}' for name, _ in self.calls('variant')},
                         {more['when'] for _, more in asked.values() if 'when' in more})

    def test_options(self):
        """What the recipe gives to Meson are options that the tree has."""
        options = re.findall(r'"-D(\w+)=', read('packaging', 'spack', 'package.py'))
        self.assertTrue(options)
        for name in options:
            self.assertIn(f"option('{name}'", read('meson_options.txt'))


with SCRATCH:
    main()
