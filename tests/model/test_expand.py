#!/usr/bin/env python3
"""test_expand.py [CLASS...]: the model of each log expands to exactly the log's operations, and a model that is read
and written again has the same bytes.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.dont_write_bytecode = True

import operations  # noqa: E402
from harness import BUILD, CommandLineTest, ioseer, main  # noqa: E402

LAUNCHERS = {
    'mpich': ['mpiexec.mpich'],
    'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe'],
}
BOTH = ('mpich', 'openmpi')

# program, options, ranks, MPIs
EXAMPLES = [
    ('madbench', '--bins 8 --size 4096', 4, BOTH),
    ('madbench', '--bins 4 --size 4096 --unique --api async', 3, ('mpich',)),
    ('madbench', '--bins 4 --size 4096 --api posix', 2, ('openmpi',)),
    ('madbench', '--bins 4 --size 4096 --api stdio --unique', 2, ('mpich',)),
    ('btio', '--grid 10 --steps 10 --interval 2', 4, BOTH),
    ('btio-f08', '--grid 10 --steps 4 --interval 2', 4, ('mpich',)),
    ('s3d', '--edge 4 --checkpoints 2', 4, BOTH),
    ('s3d', '--edge 3 --checkpoints 1 --mode independent', 2, ('mpich',)),
    ('ior', '--block 32768 --transfer 4096', 4, BOTH),
    ('ior', '--block 65536 --transfer 1024 --random --seed 7 --shift 1', 4, ('mpich',)),
    ('ior', '--block 16384 --transfer 4096 --unique --collective', 3, ('openmpi',)),
    ('small', '--files 30 --first 740 --second 420 --third 240', 4, BOTH),
    ('metadata', '--files 20', 4, BOTH),
    ('metadata', '--files 10 --size 3 --shared', 3, ('mpich',)),
]

PYTHON = '''
import os, threading
def work(number):
    fd = os.open(f"part.{number}", os.O_RDWR | os.O_CREAT)
    for i in range(50):
        os.pwrite(fd, b"x" * (i % 7 + 1), i * i * 100)
    for i in range(100):
        os.pread(fd, 64, i * 32)
    os.close(fd)
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
with open("text", "w") as file:
    for i in range(1000):
        print(i, file=file)
source, target = os.open("text", os.O_RDONLY), os.open("copy", os.O_RDWR | os.O_CREAT)
while os.copy_file_range(source, target, 1000): pass
os.lseek(source, 0, os.SEEK_SET)
os.sendfile(target, source, 10, 200)
os.rename("copy", "moved")
os.truncate("moved", 17)
for name in "none", "missing/file":
    try: os.open(name, os.O_RDONLY)
    except OSError: pass
for number in range(3):
    if os.fork() == 0:
        with open(f"child.{number}", "wb", 0) as file: [file.write(bytes(number + 1)) for _ in range(10)]
        os._exit(0)
for _ in range(3): os.wait()
'''

SQL = '''create table t(a, b);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 3000)
insert into t select i, hex(randomblob(40)) from c;
create index x on t(b); delete from t where b > "8"; select count(*) from t; vacuum;'''

# name: the command, which runs in a folder of its own with some files in it
PROGRAMS = {
    'fio_random': ['fio', '--name=a', '--rw=randrw', '--bs=4k', '--size=2m', '--ioengine=psync', '--randseed=3'],
    'fio_sequential': ['fio', '--name=a', '--rw=write', '--bs=64k', '--size=4m', '--ioengine=sync', '--numjobs=2'],
    'fio_asynchronous': ['fio', '--name=a', '--rw=randread', '--bs=512', '--size=64k', '--ioengine=posixaio'],
    'sqlite3': ['sqlite3', 'test.db', SQL],
    'tar': ['tar', 'cf', 'all.tar', 'files'],
    'dd': ['dd', 'if=files/7', 'of=copy', 'bs=100'],
    'python3': [os.path.realpath(sys.executable), '-I', '-c', PYTHON],
    'shell': ['sh', '-c', 'for i in 1 2 3; do cat files/$i > $i; cp $i again; done; mv again last; cat 1 2 3 | wc -c'],
    'checkpoint': [os.path.join(BUILD, 'examples', 'checkpoint'), '-s', '3', '-n', '16', '-b', '4096'],
}


class ModelTest(CommandLineTest):
    def check_model(self, log, *layer):
        model, again = self.path('model'), self.path('again')
        self.expect(0, 'model', log, '-o', model, *[f'--layer={name}' for name in layer])
        self.expect(0, 'model', model, '-o', again)
        with open(model, 'rb') as one, open(again, 'rb') as other:
            self.assertEqual(one.read(), other.read(), 'a model that is read and written again is another one')
        expected, moved = operations.of_log(log, *layer)
        found = operations.of_model(again)
        self.assertTrue(expected == found, operations.difference(expected, found))
        self.assertEqual(sum(operations.weight(model)), moved, 'bytes of all phases and those in none')
        self.assertEqual(ioseer('phases', '--json', log, *[f'--layer={name}' for name in layer]).stdout,
                         ioseer('phases', '--json', model).stdout, 'phases of the log and of its model')


class Examples(ModelTest):
    """The examples, under each MPI."""

    def check_example(self, program, options, ranks, mpi):
        path = os.path.join(BUILD, 'examples', f'{program}-{mpi}')
        if not os.path.exists(path) or not shutil.which(LAUNCHERS[mpi][0]):
            self.skipTest(f'{program} was not built for {mpi}, or there is no {LAUNCHERS[mpi][0]}')
        log = self.record(*LAUNCHERS[mpi], '-n', str(ranks), path, *options.split(), cwd=self.folder, name='log')
        self.check_model(log)
        self.check_model(log, 'posix')


class Programs(ModelTest):
    """Programs without MPI."""

    def check_program(self, command):
        if not shutil.which(command[0]):
            self.skipTest(f'no {command[0]}')
        folder = self.path('work')
        os.makedirs(os.path.join(folder, 'files'))
        for number in range(40):
            with open(os.path.join(folder, 'files', str(number)), 'wb') as file:
                file.write(os.urandom(number * number * 10))
        self.check_model(self.record(*command, cwd=folder, name='log'))


def add(case, name, check, *arguments):
    setattr(case, 'test_' + name, lambda self: getattr(self, check)(*arguments))


for number, (example, words, count, mpis) in enumerate(EXAMPLES, 1):
    for which in mpis:
        add(Examples, f'{number:02}_{example}_{which}', 'check_example', example, words, count, which)
for title, words in PROGRAMS.items():
    add(Programs, title, 'check_program', words)

if __name__ == '__main__':
    main()
