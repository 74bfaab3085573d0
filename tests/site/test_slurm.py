#!/usr/bin/env python3
"""Jobs, steps and tasks of a real Slurm have logs without `record`. Speaks TAP."""
import glob
import os
import shutil
import time
import unittest

import slurm
from site_case import LIBRARY, SiteCase, harness

REASON = slurm.missing()


@unittest.skipIf(REASON, REASON)
class SlurmTest(SiteCase):
    def setUp(self):
        super().setUp()
        self.work = self.path('work')
        os.mkdir(self.work)
        self.cluster = self.new_cluster()

    def new_cluster(self, more='', nodes=()):
        folder = self.path('slurm')
        os.makedirs(folder)
        cluster = slurm.Slurm(folder, more, nodes)
        self.addCleanup(cluster.stop)
        return cluster

    def script(self, *lines, on=True):
        """A batch script that turns the recording on for what it starts."""
        path = self.path('script')
        turn_on = [f'eval "$({harness.IOSEER} env --log-dir {self.logs} --shell sh)"'] if on else []
        with open(path, 'w', encoding='ascii') as file:
            file.write('\n'.join(['#!/bin/bash', *turn_on, f'cd {self.work}', *lines]) + '\n')
        return path

    def batch(self, *lines, options=(), environment=None, on=True):
        output = self.path('output')
        job = self.cluster.run_batch(self.script(*lines, on=on), '-n', '4', '-o', output, *options,
                                     environment=environment or self.plain)
        with open(output, encoding='utf-8', errors='replace') as printed:
            self.output = printed.read()
        return job

    def log_of(self, program, key):
        """The log of one job, by the end of its name."""
        found = [log for log in self.found() if os.path.basename(log).startswith(f'{program}-') and log.endswith(f'-{key}.ioseer')]
        self.assertEqual(len(found), 1, (program, key, self.found(), self.spills(), self.output))
        info = self.json('info', '--json', found[0])
        self.assertEqual(info['job']['id'], key)
        return found[0], info

    def written(self, log):
        return {os.path.basename(name): counters['POSIX_BYTES_WRITTEN']
                for (layer, _, name), counters in self.counters(log, self.work).items()
                if layer == 'posix' and counters['POSIX_BYTES_WRITTEN']}

    def test_steps(self):
        job = self.batch('srun -n 4 sh -c \'echo $SLURM_PROCID > out.$SLURM_PROCID\'',
                         'srun -n 2 sh -c \'sleep 0.$SLURM_PROCID; dd if=/dev/zero of=dd.$SLURM_PROCID bs=4k count=10 status=none\'',
                         'cat out.0')
        first, info = self.log_of('sh', f'{job}.0')
        self.assertEqual(self.written(first), {f'out.{i}': 2 for i in range(4)})
        self.assertEqual(info['job']['nprocs'], 4)
        self.assertEqual(self.written(self.log_of('sh', f'{job}.1')[0]), {'dd.0': 40960, 'dd.1': 40960})
        self.log_of('cat', job)
        self.assertEqual(len(self.found()), 3)
        self.assertEqual(self.spills(), [])

    def test_folder_of_the_node(self):
        """The tasks of a step begin their job together, whichever folder their records are in."""
        spill = self.path('spill')
        os.mkdir(spill)
        self.write_conf(f'spill = {spill}')
        job = self.batch('srun -n 4 sh -c \'sleep 0.$SLURM_PROCID; echo $SLURM_PROCID > out.$SLURM_PROCID\'',
                         'srun -n 2 sh -c \'echo x > killed.$SLURM_PROCID; kill -9 $$\'')
        self.assertEqual(self.written(self.log_of('sh', f'{job}.0')[0]), {f'out.{i}': 2 for i in range(4)})
        for top in (spill, self.logs):
            for path in glob.glob(f'{top}/.ioseer-*/*'):
                os.utime(path, (time.time() - 100,) * 2)
        self.pack_left()
        self.assertEqual(self.written(self.log_of('sh', f'{job}.1')[0]), {'killed.0': 2, 'killed.1': 2})
        self.assertEqual((glob.glob(f'{spill}/.ioseer-*/*'), self.spills()), ([], []))

    def test_cancelled_step_and_time_limit(self):
        job = self.batch('srun -n 1 sh -c "echo x > before; sleep 100" &',
                         'while [ ! -e before ]; do sleep 0.1; done', f'scancel $SLURM_JOB_ID.0; wait', 'echo y > after; true')
        self.settle()
        self.pack_left()  # if the shell was killed before it noticed the end of its child
        self.assertEqual(self.written(self.log_of('sh', f'{job}.0')[0]), {'before': 2})
        job = self.batch('srun -n 1 sh -c "echo x > limited; sleep 100"', options=('--time', '0:01'))
        self.settle()
        self.pack_left()
        self.assertEqual(self.written(self.log_of('sh', f'{job}.0')[0]), {'limited': 2})
        self.assertEqual(self.spills(), [])

    def test_array(self):
        output = self.path('output.%a')
        script = self.script('srun -n 1 sh -c \'echo $SLURM_ARRAY_TASK_ID > array.$SLURM_ARRAY_TASK_ID\'')
        self.cluster.run_batch(script, '--array=0-3', '-n', '1', '-o', output, environment=self.plain)
        logs = self.found()
        self.assertEqual(len(logs), 4)
        self.assertEqual(sorted(name for log in logs for name in self.written(log)), [f'array.{i}' for i in range(4)])
        ids = [self.json('info', '--json', log)['job']['id'] for log in logs]
        self.assertEqual(len(set(ids)), 4)
        self.assertTrue(all(number.endswith('.0') for number in ids))

    def test_mpi(self):
        program = os.path.join(harness.BUILD, 'examples', 'madbench-mpich')
        if not os.path.exists(program) or 'pmi2' not in self.cluster.ask('sh', '-c', 'srun --mpi=list 2>&1'):
            self.skipTest('no MPICH, or no PMI 2 in Slurm')
        job = self.batch(f'srun --mpi=pmi2 -n 4 {program}')
        if 'all data as written' not in self.output or '4 ranks' not in self.output:
            self.skipTest(f'MPICH does not run here: {self.output}')
        _, info = self.log_of('madbench-mpich', f'{job}.0')
        self.assertEqual(sorted(process['rank'] for process in info['processes']), [0, 1, 2, 3])
        self.assertEqual(self.spills(), [])

    def test_task_prolog_of_the_user(self):
        prolog = self.path('prolog')
        with open(prolog, 'w', encoding='ascii') as file:
            file.write(f'#!/bin/sh\nexec {harness.IOSEER} env --log-dir {self.logs} --shell slurm\n')
        os.chmod(prolog, 0o755)
        job = self.batch(f'srun -n 3 --task-prolog={prolog} sh -c \'echo x > $SLURM_PROCID\'', on=False)
        self.assertEqual(self.written(self.log_of('sh', f'{job}.0')[0]), {str(i): 2 for i in range(3)})
        self.assertEqual((len(self.found()), self.spills()), (1, []))

    def test_settings_in_the_file_only(self):
        """LD_PRELOAD is set for everybody, and ioseer.conf says the rest: record = batch."""
        self.write_conf(f'log_dir = {self.logs}', f'program = {harness.IOSEER}', 'record = batch')
        environment = {**self.plain, 'LD_PRELOAD': LIBRARY}
        self.run_on('true', environment=environment)
        self.assertEqual(self.found(), [])
        job = self.batch('echo x > from-script', 'srun -n 2 sh -c \'echo x > $SLURM_PROCID\'', environment=environment, on=False)
        self.assertEqual(self.written(self.log_of('sh', f'{job}.0')[0]), {'0': 2, '1': 2})
        whole = [log for log in self.found() if log.endswith(f'-{job}.ioseer')]
        self.assertEqual(len(whole), 1, self.found())  # the script and what it starts itself
        names = [file['name'] for file in self.json('info', '--json', whole[0])['files']]
        self.assertIn(os.path.join(self.work, 'from-script'), names)
        self.assertEqual(self.spills(), [])

    def test_two_nodes(self):
        self.cluster.stop()
        shutil.rmtree(self.path('slurm'))
        nodes = ('ioseer-one', 'ioseer-two')
        self.cluster = self.new_cluster(nodes=nodes)
        job = self.batch('srun -N 2 -n 4 --ntasks-per-node=2 sh -c \'sleep 0.$SLURM_PROCID; echo $(hostname) > on.$SLURM_PROCID\'',
                         options=('-N', '2'))
        names = []
        for number in range(4):
            with open(os.path.join(self.work, f'on.{number}'), encoding='ascii') as file:
                names.append(file.read().strip())
        self.assertEqual(set(names), set(nodes))
        log, info = self.log_of('sh', f'{job}.0')
        self.assertEqual(self.written(log), {f'on.{number}': len(nodes[0]) + 1 for number in range(4)})
        for host in info['hosts']:
            self.assertEqual(host['processes'] % names.count(host['name']), 0, info['hosts'])  # the shell, and what it starts
        self.assertEqual([host['name'] for host in info['hosts']], list(nodes))
        self.assertEqual(self.spills(), [])

    def test_task_prolog_and_epilogue_of_the_site(self):
        self.cluster.stop()
        prolog, epilog = self.path('prolog'), self.path('epilog')
        for path, text in ((prolog, f'echo export LD_PRELOAD={LIBRARY}\necho export IOSEER_CONF={self.path("ioseer.conf")}\n'),
                           (epilog, f'IOSEER_CONF={self.path("ioseer.conf")} {harness.IOSEER} pack -q --left\n')):
            with open(path, 'w', encoding='ascii') as file:
                file.write('#!/bin/sh\n' + text)
            os.chmod(path, 0o755)
        self.write_conf(f'log_dir = {self.logs}', f'program = {harness.IOSEER}', 'record = batch')
        shutil.rmtree(self.path('slurm'))
        self.cluster = self.new_cluster(f'TaskProlog={prolog}\nEpilog={epilog}')
        job = self.batch('srun -n 2 sh -c \'echo x > $SLURM_PROCID; kill -9 $$\'', on=False)
        self.settle()
        self.batch('true', on=False)
        self.wait_for(lambda: any(log.endswith(f'-{job}.0.ioseer') for log in self.found()))


if __name__ == '__main__':
    harness.main()
