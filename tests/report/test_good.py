#!/usr/bin/env python3
"""Programs that do nothing wrong have no finding that is medium or high."""
import os
import shutil
import subprocess

import rules
from rules import harness

SQL = """pragma journal_mode = wal;
pragma synchronous = normal;
create table t(a, b);
begin;
insert into t with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
    select x, hex(randomblob(20)) from c;
commit;
create index i on t(b);
select count(*) from t where b > 'A';
"""
SOURCE = '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint main(void) { return puts("x") < 0; }\n'


class GoodProgramsTest(rules.RulesTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path('tree'))
        for i in range(100):
            self.write(f'tree/file{i}', os.urandom(20000))

    def write(self, name, data):
        with open(self.path(name), 'wb') as out:
            out.write(data)

    def assert_good(self, *command, needs=None):
        if not shutil.which(needs or command[0]):
            self.skipTest(f'no {needs or command[0]}')
        log = self.record(*command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        told = [(finding['id'], finding['severity'], finding['seconds'], finding['title'], finding['evidence'])
                for finding in self.findings(log) if finding['severity'] != 'low']
        self.assertEqual(told, [])

    def test_tar_packs(self):
        self.assert_good('tar', 'cf', 'tree.tar', 'tree')

    def test_tar_unpacks(self):
        subprocess.run(['tar', 'cf', 'tree.tar', 'tree'], cwd=self.folder, check=True)
        self.assert_good('sh', '-c', 'mkdir new && tar xf tree.tar -C new', needs='tar')

    def test_git(self):
        self.assert_good('sh', '-c', 'git init -q . && git add tree && git -c user.name=a -c user.email=a@b commit -qm x',
                         needs='git')

    def test_gcc(self):
        self.write('x.c', SOURCE.encode())
        self.assert_good('gcc', '-O1', '-o', 'x', 'x.c')

    def test_sqlite_in_wal_mode(self):
        self.write('x.sql', SQL.encode())
        self.assert_good('sh', '-c', 'sqlite3 data.db <x.sql', needs='sqlite3')

    def test_cp(self):
        self.write('data', os.urandom(32 << 20))
        self.assert_good('cp', 'data', 'copy')

    def test_streaming_writer(self):
        self.assert_good('dd', 'if=/dev/zero', 'of=stream', 'bs=1M', 'count=64')

    def test_streaming_reader(self):
        self.write('data', os.urandom(32 << 20))
        self.assert_good('sha256sum', 'data')

    def test_python(self):
        self.assert_good('/usr/bin/python3', '-c', 'import json, email, unittest, http.client')

    def test_rsync(self):
        self.assert_good('rsync', '-a', 'tree/', 'copy/')

    def test_sort(self):
        self.write('lines', b'\n'.join(b'%d' % (i * 7919 % 100003) for i in range(100000)))
        self.assert_good('sort', '-o', 'sorted', 'lines')

    def test_find(self):
        self.assert_good('find', '.', '-type', 'f', '-size', '+1k')

    def test_grep(self):
        self.assert_good('sh', '-c', 'grep -rl xyzzy tree; true', needs='grep')

    def test_large_collective_writes(self):
        for mpi, start in (('mpich', ['mpiexec.mpich']),
                           ('openmpi', ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe'])):
            program = os.path.join(harness.BUILD, 'examples', f'ior-{mpi}')
            with self.subTest(mpi=mpi):
                if not os.path.exists(program):
                    self.skipTest(f'no {mpi}')
                self.assert_good(*start, '-n', '2', program, '--directory', self.folder, '--block', '16M', '--transfer',
                                 '16M', '--collective')
                os.remove(self.path('test.ioseer'))


harness.main()
