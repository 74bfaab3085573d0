"""export --anonymous of Darshan's logs: no name is left in what it makes, for ioseer or Darshan, and all counts are the same."""
import os
import random
import re
import sys
from collections import Counter

import exports
from exports import harness

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'golden'), os.path.join(HERE, '..', 'darshan')]
import decode  # noqa: E402
import samples  # noqa: E402
from encode import VERSIONS, Log, Record  # noqa: E402

SECRETS = (b'quartzmole', b'dolphinbay', b'\xff\xferaw', b'nodewalrus', b'poolgecko', b'4711471147', b'1234567', b'badgerview')
NAMES = {samples.FILE: b'/scratch/quartzmole/dolphinbay.h5', samples.DATASET: b'/scratch/quartzmole/dolphinbay.h5:/badgerview/set',
         samples.HEAT: b'heatmap:POSIX', samples.LONELY: b'/home/quartzmole/work/run.7/\xff\xferaw-0003.dat', 6: b'<STDOUT>'}
MOUNTS = [(b'lustre', b'/scratch'), (b'nfs', b'/home'), (b'badgerviewfs', b'/dolphinbay'), (b'ext4', b'/')]
JOB = {'user': 1234567, 'id': 4711471147, 'command': b'/home/quartzmole/bin/badgerview --in /scratch/quartzmole x',
       'metadata': b'lib_ver=3.4.7\nh=romio_cb_write=enable;cb_nodes=4\nfork_parent=4711471147\n'}
# What stands for a name, so that it is another number.
OTHER = {'POSIX_RENAMED_FROM', 'BGQ_CSJOBID', 'H5D_FILE_REC_ID', 'PNETCDF_VAR_FILE_REC_ID'}
PLACES = re.compile('LUSTRE_COMP[0-9]+_POOL_NAME')


def records_of(version, chance):
    for record in samples.some_records(version, chance):
        if record.module == 'LUSTRE' and record.version != 1:
            numbers, _, servers = record.more['parts'][0]
            record.more['parts'] = [(numbers, b'poolgecko', servers)]
        if record.module in ('DFS', 'DAOS'):
            record.more.update(pool=b'quartzmolequartz', container=b'dolphinbaydolphi')
        if record.module == 'POSIX':
            record.numbers[12] = samples.FILE & (1 << 63) - 1
        yield record


def traces(version):
    for module in ('DXT_POSIX', 'DXT_MPIIO') if version > '3.00' else ():
        yield Record(module, samples.FILE, 1, host=b'nodewalrus', writes=[(0, 10, 0.1, 0.2, 7), (10, 10, 0.3, 0.4, 7)],
                     reads=[(0, 5, 0.15, 0.18, 0)], version=VERSIONS[module] if version == '3.41' else 1)


class AnonymousDarshanTest(exports.ExportTest):
    def save(self, log):
        with open(self.path('app.darshan'), 'wb') as file:
            file.write(log.bytes())
        return self.path('app.darshan')

    def lines(self, path):
        text = self.expect(0, 'stats', '--darshan', path).stdout.decode('utf-8', 'surrogateescape')
        return [line.split('\t') for line in text.split('\n') if line and line[0] != '#']

    def counts(self, path):
        """Counters without names, and without numbers that stand for one."""
        return Counter((module, rank, counter, '' if counter in OTHER or PLACES.fullmatch(counter) else value,
                        name.count('/'), name[-3:] if name[-3:] in ('.h5', 'dat') else '')
                       for module, rank, _, counter, value, name, *_ in self.lines(path))

    def check_secrets(self, data):
        for secret in SECRETS:
            at = data.find(secret)
            self.assertEqual(at, -1, f'{secret!r} is in {data[max(at - 60, 0):at + 60]!r}')

    def check(self, log):
        path = self.save(log)
        made = self.export(path, 'ioseer', 'made.ioseer', '--anonymous', '--force')
        with open(made, 'rb') as file:
            self.check_secrets(b''.join(block.payload() for block in decode.find_blocks(file.read(), [])))
        again = self.export(path, 'darshan', 'made.darshan', '--anonymous', '--force')
        self.check_secrets(self.expect(0, 'stats', '--darshan', again).stdout)
        self.check_secrets(self.expect(0, 'dump', '--json', again).stdout)
        self.assertEqual(self.counts(made), self.counts(path))
        self.assertEqual(self.json('dump', '--json', made) != [], log.version > '3.00')
        for verb in ('info', 'report'):
            self.check_secrets(self.expect(0, verb, '--json', made).stdout)
        return path, made

    def test_every_version(self):
        for number, version in enumerate(samples.OLD):
            for order in '<>':
                chance = random.Random(number)
                records = [*records_of(version, chance), *traces(version)]
                with self.subTest(version=version, order=order):
                    self.check(Log(records, version, order, names=NAMES, mounts=MOUNTS, **JOB))

    def test_what_stays(self):
        """Layout on mounts, extensions, numbers of files, versions and hints; ids are those of the new names."""
        _, made = self.check(Log([*records_of('3.41', random.Random(1)), *traces('3.41')], names=NAMES, mounts=MOUNTS, **JOB))
        lines = {name: (int(identity), mount, kind) for module, _, identity, _, _, name, mount, kind in self.lines(made)
                 if module not in ('DFS', 'DAOS')}
        file = next(name for name in lines if name.endswith('.h5'))
        data = next(name for name in lines if name.endswith('-0003.dat'))
        self.assertRegex(file, r'^/[a-z]{12}/[a-z]{12}/[a-z]{12}\.h5$')
        self.assertRegex(data, r'^/[a-z]{12}/[a-z]{12}/[a-z]{12}/[a-z]{12}-7/[a-z]{12}-0003\.dat$')
        self.assertEqual(lines[file][1:], ('/' + file.split('/')[1], 'lustre'))
        self.assertEqual(lines[data][1:], ('/' + data.split('/')[1], 'nfs'))
        for name in ('heatmap:POSIX', file, data):
            self.assertIn(name, lines)
        of_object = {int(value) for _, _, _, counter, value, *_ in self.lines(made) if counter == 'H5D_FILE_REC_ID'}
        self.assertIn(lines[file][0], of_object)
        said = self.expect(0, 'stats', '--darshan', made).stdout.decode()
        self.assertIn('lib_ver = 3.4.7', said)
        self.assertIn('romio_cb_write=enable;cb_nodes=4', said)

    def test_key(self):
        """With one key, a file has one name whether Darshan recorded it or ioseer did."""
        path, key = self.save(Log(list(records_of('3.41', random.Random(1))), names=NAMES, mounts=MOUNTS, **JOB)), self.path('key')
        self.expect(0, 'import', '-q', path, '-o', self.path('app.ioseer'))
        texts = []
        for of, name in ((path, '1.ioseer'), (self.path('app.ioseer'), '2.ioseer')):
            made = self.export(of, 'ioseer', name, '--anonymous', '--key', key)
            texts.append(self.lines(made))
            again = self.export(made, 'ioseer', 'again.ioseer', '--anonymous', '--force')
            self.assertEqual(self.counts(again), self.counts(made))
        self.assertEqual(texts[0], texts[1])


if __name__ == '__main__':
    harness.main()
