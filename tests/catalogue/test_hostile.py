"""Names that try to be more than names: in files, folders, programs and filters, in both databases."""
import csv
import io
import os
import shutil
import sys

from catalogue_case import CatalogueCase, Server, harness, server_programs

NAMES = [b'line\nbreak', b'quote\'";--', b'=cmd()', b'\x1b[31mred', b'caf\xc3\xa9', b'\xff\xfe', b'a[b]*?', b'a,b', b'<img src=x onerror=alert(1)>',
         b'$1', b'\x1aff', b'\xed\xa0\x80', b'%s%n', b'x' * 200, b"'); DROP TABLE jobs; --"]
PROGRAM = '''
import os, sys
for name in sys.argv[1:]:
    with open(os.fsencode(name), 'wb', buffering=0) as out: out.write(b'data')
'''


class Hostile(CatalogueCase):
    def make(self):
        log = self.path('one.ioseer')
        names = [os.path.join(os.fsencode(self.folder), b'data', name) for name in NAMES]
        os.mkdir(self.path('data'))
        self.expect(0, 'record', '-q', '-o', log, '--', sys.executable, '-I', '-S', '-c', PROGRAM, *names, cwd=self.folder)
        for name in NAMES:
            folder = os.path.join(os.fsencode(self.tree), name)
            os.mkdir(folder)
            shutil.copy(os.fsencode(log), os.path.join(folder, name[:100] + b'.ioseer'))
        return log

    def check(self, db):
        said, bad = self.index(db=db)
        self.assertEqual((said['added'], bad), (len(NAMES), {}))
        self.assert_changes(self.index(db=db)[0], same=len(NAMES))
        jobs = self.assert_whole(db=db)
        self.assertEqual({os.fsencode(job['log']) for job in jobs},
                         {os.path.join(os.fsencode(self.tree), name, name[:100] + b'.ioseer') for name in NAMES})
        files = {os.fsencode(group['file']).rsplit(b'/', 1)[-1] for group in self.ask('--by', 'file', db=db)['groups']}
        for name in NAMES:
            pattern = bytearray()
            for byte in name:
                if not 48 <= byte <= 57:
                    pattern.append(byte)
                elif not pattern.endswith(b'*'):
                    pattern += b'*'
            self.assertIn(bytes(pattern), files)
        for name in NAMES:
            self.assertEqual(self.jobs('--user', name, db=db), [], name)
            self.assertEqual(self.jobs('--fs', name, '--finding', name, db=db), [])
        for words in (('jobs', '--db', db), ('jobs', '--db', db, '--by', 'file', '--top', '0'), ('jobs', '--db', db, '--statistics')):
            self.assertNotIn(b'\x1b', self.expect(0, *words).stdout)
        lines = list(csv.reader(io.StringIO(self.expect(0, 'jobs', '--db', db, '--csv').stdout.decode('utf-8', 'surrogateescape'), newline='')))
        self.assertEqual({len(line) for line in lines}, {len(lines[0])})
        self.assertEqual(len(lines), 1 + len(NAMES))
        shutil.rmtree(self.tree)
        os.mkdir(self.tree)
        self.assert_changes(self.index(db=db)[0], removed=len(NAMES))
        self.assertEqual(self.jobs(db=db), [])

    def test_sqlite(self):
        self.make()
        self.check(self.db)

    def test_postgres(self):
        if not server_programs():
            self.skipTest('there is no PostgreSQL (postgresql)')
        self.make()
        server = Server()
        db = server.database('hostile')
        if b'built without' in harness.ioseer('index', '--db', db, self.path('data')).stderr:
            self.skipTest('ioseer was built without PostgreSQL (libpq-dev)')
        self.check(db)


if __name__ == '__main__':
    harness.main()
