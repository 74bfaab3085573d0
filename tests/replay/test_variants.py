#!/usr/bin/env python3
"""test_variants.py: a replay in another way makes the calls that the variant says, and its files get the same bytes."""
import collections
import hashlib
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.dont_write_bytecode = True

from harness import BUILD, CommandLineTest, main  # noqa: E402

LAUNCHERS = {
    'mpich': ['mpiexec.mpich'],
    'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe'],
}
LAYERS = ('posix', 'mpiio')
CASES = {  # program, options, ranks, variants
    'btio': ('btio', '--grid 10 --steps 4 --interval 2', 4,
             ['independent', 'posix', 'posix,request*=4', 'request=512', 'collective,cb_nodes=2', 'own-files']),
    'madbench': ('madbench', '--bins 2 --size 4096', 4,
                 ['collective', 'posix', 'request*=0.5', 'align=1000', 'nonblocking']),
    's3d': ('s3d', '--edge 4 --checkpoints 2', 4, ['independent', 'posix', 'posix,nonblocking']),
    'hdf5': ('hdf5', '--steps 1', 2, ['collective', 'independent', 'posix', 'request*=2']),
    'posix': ('ior', '--block 16384 --transfer 4096 --api posix', 4,
              ['collective', 'independent', 'collective,request*=2', 'nonblocking', 'align=3000']),
}


class Variants(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.target = self.path('target')
        os.mkdir(self.target)

    def example(self, mpi, ranks, program, options):
        path = os.path.join(BUILD, 'examples', f'{program}-{mpi}')
        if not os.path.exists(path) or not shutil.which(LAUNCHERS[mpi][0]):
            self.skipTest(f'{program} with {mpi} is not built')
        where = self.path(f'run-{mpi}-{program}')
        os.mkdir(where)
        return self.record(*LAUNCHERS[mpi], '-n', str(ranks), path, *options.split(), cwd=where,
                           name=f'{mpi}-{program}.ioseer')

    def replay(self, log, variant, *options):
        return self.json('replay', log, '--on', self.target, '--json', '-q', '--verify', '--no-think', '--variant',
                         variant, *options)

    def files(self, log, variant):
        """What the replay leaves: file -> hash. Only files count that it writes to."""
        result = self.replay(log, variant, '--no-similarity', '--keep')
        self.assertEqual(result['wrong_bytes'], 0)
        hashes = {}
        for folder, _, names in os.walk(self.target):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, 'rb') as data:
                    hashes[os.path.join(*os.path.relpath(path, self.target).split(os.sep)[1:])] = \
                        hashlib.sha256(data.read()).hexdigest()
        for name in os.listdir(self.target):
            shutil.rmtree(os.path.join(self.target, name))
        return hashes

    def events(self, log, variant, *options):
        again = self.path('again.ioseer')
        if os.path.exists(again):
            os.remove(again)
        self.replay(log, variant, '--log', again, *options)
        self.assertEqual(os.listdir(self.target), [], 'left behind')
        return [event for event in self.json('dump', '--json', again)
                if event['layer'] in LAYERS and event['file'] and event['file'].startswith(self.target)]

    def calls(self, log, variant, *options):
        """Transfers of the replay by call."""
        return dict(collections.Counter(event['op'] for event in self.events(log, variant, *options)
                                        if event['class'] in ('read', 'write')))

    # --- bytes

    def check_bytes(self, name, mpi):
        program, options, ranks, variants = CASES[name]
        log = self.example(mpi, ranks, program, options)
        before = self.files(log, 'as-recorded')
        self.assertTrue(before)
        phases = [phase['id'] for phase in self.json('phases', '--json', log)['phases']]
        for variant in variants:
            with self.subTest(variant=variant):
                after = self.files(log, variant)
                if 'own-files' in variant:
                    self.assertLess(len(before), len(after))
                else:
                    self.assertEqual(after, before)
        self.assertEqual([phase['id'] for phase in self.replay(log, variants[0], '--no-similarity')['phases']], phases)

    # --- calls

    def check_calls(self, mpi):
        log = self.example(mpi, 2, 'ior', '--block 16384 --transfer 4096')  # each rank 8 writes and 8 reads
        calls = self.calls(log, 'collective')
        self.assertEqual((calls['MPI_File_write_at_all'], calls['MPI_File_read_at_all']), (16, 16))
        self.assertFalse({'MPI_File_write_at', 'MPI_File_read_at'} & set(calls))
        self.assertEqual(self.calls(log, 'posix'), {'pwrite': 16, 'pread': 16})
        calls = self.calls(log, 'request*=2')
        self.assertEqual((calls['MPI_File_write_at'], calls['MPI_File_read_at']), (8, 8))
        calls = self.calls(log, 'request=1KiB')
        self.assertEqual((calls['MPI_File_write_at'], calls['MPI_File_read_at']), (64, 64))
        calls = self.calls(log, 'nonblocking')
        self.assertEqual((calls['MPI_File_iwrite_at'], calls['MPI_File_iread_at']), (16, 16))
        self.assertEqual(self.calls(log, 'posix,np=4'), {'pwrite': 32, 'pread': 32})
        names = {event['file'] for event in self.events(log, 'own-files') if event['class'] == 'write'}
        self.assertEqual({name[-2:] for name in names}, {'.0', '.1'})

    def check_sizes(self, mpi):
        """A stream of calls is cut anew: each begins at a multiple of the alignment, except the first of a rank."""
        log = self.example(mpi, 2, 'ior', '--api posix --block 12000 --transfer 3000')
        sizes = {event['size'] for event in self.events(log, 'request=2000') if event['op'] == 'pwrite'}
        self.assertEqual(sizes, {2000})
        begins = [event['offset'] for event in self.events(log, 'align=4KiB') if event['op'] == 'pwrite']
        self.assertEqual({begin for begin in begins if begin % 4096}, {12000, 24000, 36000})

    @unittest.skipUnless(shutil.which('mpiexec.mpich'), 'MPICH is not installed')
    def test_hints(self):
        log = self.example('mpich', 2, 'ior', '--block 16384 --transfer 4096 --collective')
        variant = 'collective,cb_nodes=2,cb_buffer_size=64KiB,sieving=off'
        again = self.path('again.ioseer')
        self.replay(log, variant, '--log', again)
        text = json.dumps(self.json('model', again)['observed']['hints_in_force'])
        for name, value in (('cb_nodes', '2'), ('cb_config_list', '*:2'), ('cb_buffer_size', '65536'),
                            ('romio_ds_write', 'disable'), ('romio_cb_write', 'enable')):
            self.assertIn(json.dumps([name, value]), text)

    # --- what cannot be done

    def refuse(self, log, variant, why, *options):
        done = self.expect_error(2, 'replay', log, '--on', self.target, '--variant', variant, *options)
        self.assertIn(why, done)
        self.assertEqual(os.listdir(self.target), [])

    def test_refusals(self):
        log = self.record('dd', 'if=/dev/zero', 'of=x', 'bs=1000', 'count=5', 'status=none', cwd=self.folder)
        self.refuse(log, 'collective', 'does not use MPI')
        self.refuse(log, 'independent', 'does not use MPI')
        self.refuse(log, 'cb_nodes=2', 'calls of MPI-IO')
        self.refuse(log, 'own-files', 'no file is used by several ranks')
        self.refuse(log, 'all-at-once', 'is no variant')
        self.refuse(log, 'request=1k,request*=2', 'is no variant')
        self.refuse(log, 'np=2', '--np 3', '--np', '3')
        self.refuse(log, 'posix', '--null', '--null', '1000')

    def test_ranks_that_differ(self):
        """Two ranks share a file. They cannot write together if one writes more often, or after a barrier."""
        more = {'op': 'pwrite', 'offset': 9, 'size': 1}
        self.save(self.model([], [1, 1]), 'alike')
        self.save(self.model([more], [1, 1]), 'numbers')
        self.save(self.model([], [1, 2]), 'order')
        self.refuse(self.path('numbers'), 'collective', 'different numbers')
        self.refuse(self.path('order'), 'collective', 'in another order')
        if shutil.which('mpiexec.mpich'):
            launcher = '--launcher', 'mpiexec.mpich -n {np}'
            self.assertEqual(self.calls(self.path('alike'), 'collective', *launcher)['MPI_File_write_at_all'], 4)
            self.assertEqual(self.calls(self.path('order'), 'posix', *launcher)['pwrite'], 4)

    def model(self, more, after):
        """Each rank writes twice, rank 1 also `more`; a barrier is after so many writes of a rank."""
        parts = [{'ranks': str(rank), 'thread': 0, 'items': [{'op': 'pwrite', 'offset': rank, 'size': 1},
                                                             {'op': 'pwrite', 'offset': 4 + rank, 'size': 1},
                                                             *(more if rank else [])]} for rank in (0, 1)]
        others = [{'ranks': str(rank), 'items': [{'op': 'open'}, {'op': 'barrier', 'times': 1, 'after': after[rank]}]}
                  for rank in (0, 1)]
        return {'ioseer_model': 1, 'structure': {
            'programs': [{'mpi': True, 'np': 2, 'order': [1]}], 'files': [{'file': 'data'}],
            'kinds': [{'kind': 'open', 'layer': 'posix', 'class': 'open', 'file': 'data', 'flags': 'O_RDWR|O_CREAT'},
                      {'kind': 'pwrite', 'layer': 'posix', 'class': 'write', 'file': 'data', 'has_offset': True,
                       'pointer': 'explicit'}, {'kind': 'barrier'}],
            'families': [{'family': 1, 'program': 0, 'phases': 1, 'separator': 'start', 'weight': 4 + len(more),
                          'parts': parts, 'others': others}]}}

    def save(self, model, name):
        with open(self.path(name), 'w', encoding='utf-8') as out:
            json.dump(model, out)

    # --- programs without MPI

    def test_serial(self):
        """A program without MPI has the variants that need none."""
        log = self.record('dd', 'if=/dev/zero', 'of=x', 'bs=4096', 'count=8', 'status=none', cwd=self.folder)
        before = self.files(log, 'as-recorded')
        self.assertEqual(self.files(log, 'request=10000'), before)
        events = [event for event in self.events(log, 'request=10000') if event['class'] == 'write']
        self.assertEqual([event['size'] for event in events], [10000, 10000, 10000, 2768])
        self.assertEqual(self.calls(log, 'nonblocking')['aio_write'], 8)


def add(name, check, *arguments):
    setattr(Variants, 'test_' + name.replace(' ', '_'), lambda self: check(self, *arguments))


for which in LAUNCHERS:
    for case in CASES:
        add(f'bytes of {case} {which}', Variants.check_bytes, case, which)
    add(f'calls {which}', Variants.check_calls, which)
    add(f'sizes {which}', Variants.check_sizes, which)

if __name__ == '__main__':
    main()
