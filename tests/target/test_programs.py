"""Programs do the same on emulated storage as elsewhere, and their files are in the directory below."""
import filecmp
import os
import shutil
import subprocess
import sys

import place
from place import harness

LAUNCHERS = {'mpich': ['mpiexec.mpich'], 'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe']}
SQL = """create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000) insert into t select x, hex(randomblob(50)) from c;
create index i on t(b);
begin; delete from t where a % 3 = 0; rollback; delete from t where a % 2 = 0;
select count(*) from t;
pragma integrity_check;"""


def need(program):
    if not shutil.which(program):
        raise harness.unittest.SkipTest(f'{program} is not installed')


class ProgramsTest(place.MountTest):
    """Programs run in `self.above`; afterwards `below` must hold the same."""
    cache = 'none'

    def setUp(self):
        super().setUp()
        self.emulate('--cache', self.cache)

    def run_there(self, *words, **options):
        options = {'cwd': self.above, 'timeout': 200, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **options}
        done = subprocess.run(words, check=False, **options)
        self.assertEqual(done.returncode, 0, f'{words}: {done.stdout[-2000:]!r} {done.stderr[-2000:]!r}')
        return done.stdout.decode()

    def copy_of_above(self):
        copy = self.path('copy')
        shutil.copytree(self.above, copy, symlinks=True)
        self.stop()
        return copy

    def assert_same(self, one, other):
        found = filecmp.dircmp(one, other, ignore=[])
        self.assertEqual((found.left_only, found.right_only, found.funny_files), ([], [], []))
        same, different, errors = filecmp.cmpfiles(one, other, found.common_files, shallow=False)
        self.assertEqual((different, errors), ([], []))
        for name in found.common_dirs:
            self.assert_same(os.path.join(one, name), os.path.join(other, name))

    def tearDown(self):
        if place.mounts_at(self.above):
            self.assert_same(self.copy_of_above(), self.below)

    def test_fio_verifies(self):
        need('fio')
        common = ['--size=4M', '--verify=crc32c', '--minimal', '--directory', self.above]
        self.run_there('fio', '--name=a', '--rw=randrw', '--bs=4k-64k', '--direct=1', '--ioengine=libaio', '--iodepth=16',
                       '--numjobs=4', *common, cwd='/')
        self.run_there('fio', '--name=b', '--rw=randwrite', '--bs=1k-300k', '--ioengine=psync', '--numjobs=2', *common,
                       cwd='/')
        self.run_there('fio', '--name=c', '--rw=write', '--bs=4M', '--direct=1', '--ioengine=psync', *common, cwd='/')

    def test_git(self):
        need('git')
        repository = self.path('repository')
        make = 'git init -q && git config user.email me@here && git config user.name me && for i in 1 2 3 4 5 6 7 8; do ' \
               'seq $i 3000 > file-$i; ln -sf file-$i link; git add . && git commit -qm $i; done'
        os.mkdir(repository)
        self.run_there('sh', '-ec', make, cwd=repository)
        self.run_there('sh', '-ec', f'git clone -q "{repository}" clone && cd clone && git checkout -q -b side HEAD~3 && '
                       'git config user.email me@here && git config user.name me && rm file-1 && git commit -qam side && '
                       'git merge -q -m both origin/HEAD && git gc -q --aggressive --prune=now && git fsck --full --strict')
        self.assertEqual(self.run_there('git', '-C', 'clone', 'status', '--porcelain'), '')

    def test_tar_and_rsync(self):
        need('rsync')
        source = os.path.join(harness.SOURCE, 'src')
        self.run_there('sh', '-ec', f'cp -a "{source}" . && tar cf a.tar src && mkdir out && tar xf a.tar -C out && '
                       'diff -r src out/src && rsync -aH src/ again/ && diff -r src again && rm -r out && '
                       'ln src/target/emulate/speed.c hard && rsync -aH --delete src/ again/')
        self.assertEqual(self.run_there('rsync', '-aHn', '--itemize-changes', 'src/', 'again/'), '')

    def test_sqlite(self):
        need('sqlite3')
        self.assertEqual(self.run_there('sqlite3', 'data.db', SQL).split(), ['2500', 'ok'])

    def test_python(self):
        self.run_there(sys.executable, '-c', 'import py_compile, shelve, tempfile\n'
                       'open("m.py", "w").write("value = 42\\n")\n'
                       'py_compile.compile("m.py", "m.pyc", doraise=True)\n'
                       'with tempfile.TemporaryFile(dir=".") as f: f.write(b"x" * 100000); f.seek(0); assert len(f.read()) == 100000\n'
                       'with shelve.open("shelf.dat") as s: s["a"] = list(range(1000))\n'
                       'with shelve.open("shelf.dat") as s: assert s["a"][999] == 999\n'
                       'import sys; sys.path.insert(0, "."); import m; assert m.value == 42')

    def examples_under(self, mpi):
        launcher = LAUNCHERS[mpi]
        need(launcher[0])
        ran = 0
        for name, words in (('madbench', ['--bins', '3', '--size', '10000']), ('ior', ['--block', '32768', '--transfer', '4096']),
                            ('btio', ['--grid', '10', '--steps', '2', '--interval', '1']), ('metadata', ['--files', '10']),
                            ('s3d', ['--edge', '4', '--checkpoints', '1', '--mode', 'sieving'])):
            program = os.path.join(harness.BUILD, 'examples', f'{name}-{mpi}')
            if os.path.exists(program):
                folder = os.path.join(self.above, name)
                os.mkdir(folder)
                said = self.run_there(*launcher, '-n', '4', program, *words, cwd=folder)
                self.assertIn('all data as written', said)
                ran += 1
        if not ran:
            self.skipTest(f'no examples for {mpi} were built')

    def test_mpich(self):
        self.examples_under('mpich')

    def test_openmpi(self):
        self.examples_under('openmpi')


class WithKernelCache(ProgramsTest):
    cache = 'kernel'

    def test_sqlite_with_a_shared_mapping(self):
        need('sqlite3')
        said = self.run_there('sqlite3', 'wal.db', 'pragma journal_mode=wal; ' + SQL + ' pragma wal_checkpoint;')
        self.assertEqual(said.split()[:3], ['wal', '2500', 'ok'])
        with subprocess.Popen(['sqlite3', 'wal.db'], cwd=self.above, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as one:
            one.stdin.write(b'begin; select count(*) from t;\n')
            one.stdin.flush()
            self.assertEqual(one.stdout.readline(), b'2500\n')
            self.run_there('sqlite3', 'wal.db', 'delete from t;')  # a reader does not block a writer
            out, _ = one.communicate(b'select count(*) from t; commit; select count(*) from t;\n')
        self.assertEqual(out, b'2500\n0\n')

    def test_fio_maps(self):
        need('fio')
        self.run_there('fio', '--name=m', '--rw=randrw', '--bs=4k', '--size=4M', '--ioengine=mmap', '--verify=crc32c',
                       '--minimal', '--directory', self.above, cwd='/')


if __name__ == '__main__':
    harness.main()
