#!/usr/bin/env python3
"""Good and bad MODEL files: the message about a bad one is a single line."""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'cli'))
sys.dont_write_bytecode = True

from harness import CommandLineTest, main  # noqa: E402

EVERY_KEY = os.path.join(HERE, 'every_key.json')

# A text to replace, its replacement, and the message that this must give.
MISTAKES = [
    ('"ioseer_model": 1', '"ioseer_model": 2', r'written by a newer ioseer'),
    ('"ioseer_model": 1', '"ioseer_model": 0', r'"ioseer_model" is 0'),
    ('"ioseer_model": 1', '"model": 1', r'not a model'),
    ('"structure": {', '"structures": {', r'no "structure"'),
    ('"np": 4', '"np": 0', r'"np" is 0'),
    ('"np": 4', '"np": 4294967296', r'"np" is 4294967296'),
    ('"np": 4', '"np": 3', r'"ranks" goes beyond 0 to 2'),
    ('"mpi": true', '"mpi": 1', r'"mpi" is not true or false'),
    ('"body": [1, 2]', '"body": [1, 1]', r'family 1 has 3 phases, but is 6 times'),
    ('"body": [1, 2]', '"body": [1, 9]', r'something other than families and loops'),
    ('"body": [1, 2]', '"body": [1, 4]', r'family 4 is of another program'),
    ('"body": [1, 2]', '"body": []', r'loop over nothing'),
    ('{"loop": 3, "body": [1, 2]}', '{"loop": 1000000000, "body": [{"loop": 1000000000, "body": [1]}]}', r'too many'),
    ('{"file": "table.bin"}', '{"file": "grid.dat"}', r'a second file'),
    ('{"file": "table.bin"}', '{"file": "table.bin", "members": 5}', r'no proper name, members or numbers'),
    ('"name": "grid.dat"', '"name": ""', r'no proper name'),
    ('"members": 12', '"members": 11', r'a member that its second file does not have|a member that its file'),
    ('"values": [0, 1, 2, 7]', '"values": [0, 1, 2]', r'"values" is not an array of 4'),
    ('"values": [0, 1, 2, 7]', '"values": [0, 1, 2, -7]', r'a number in a name is negative'),
    ('"width": 3', '"width": 19', r'"width" is 19'),
    ('{"kind": "barrier"}', '{"kind": "write", "layer": "posix", "class": "sync"}', r'a second kind "write"'),
    ('{"kind": "barrier"}', '{"kind": "dance"}', r'a dance has no class'),
    ('"communicator": "pairs", "handle"', '"communicator": "trios", "handle"', r'no communicator "trios"'),
    ('"handle": 1', '"handle": 16', r'"handle" is 16'),
    ('{"communicator": "pairs", ', '{"communicator": "all", ', r'a second communicator "all"'),
    ('"color": "idP/2"', '"color": "idP/(idP-1)"', r'a communicator has no color or key for rank 1'),
    ('"key": "3 - idP"', '"key": [1, 0, 3]', r'"key" is not an array of 4'),
    ('"program": 1, "color"', '"program": 2, "color"', r'"program" is 2'),
    ('"rank": 3', '"rank": 4', r'bcast has a rank that is not there'),
    ('"class": "seek", "file": "step', '"class": "jump", "file": "step', r'no class "jump"'),
    ('"layer": "posix", "class": "meta"', '"layer": "ether", "class": "meta"', r'no layer "ether"'),
    ('"file2": "step*/rank.*"', '"file2": "nowhere"', r'no file "nowhere"'),
    ('O_TRUNC|', 'O_WHAT|', r'unknown flags'),
    ('"SEEK_END"', '"SEEK_HERE"', r'"whence" is unknown'),
    ('"ENOENT"', '-3', r'"error" is unknown'),
    ('"types": 4, "bytes": 3072', '"types": 4, "bytes": 3071', r'another size than its bytes'),
    ('"types": 4', '"types": 1048576', r'too many'),
    ('{"loop": 3, "offset": "(idP/2)', '{"loop": 1, "offset": "(idP/2)', r'a loop of 1 rounds'),
    ('"(idP/2)*2048 + (idP%2)*1024"', '"(idP/0)"', r'has no value'),
    ('[16, 16]', '[16, 0]', r'a piece of 0 bytes'),
    ('"form": [[0, 100]]', '"form": {}', r'form is not an array'),
    ('["cb_nodes", "2"]', '["cb_nodes", 2]', r'a hint is not a name and a value'),
    ('"memory": 4', '"memory": 6', r'"memory" is 6'),
    ('"hints": 1', '"hints": 2', r'"hints" is 2'),
    ('"type": "idP"', '"type": "idP + 3"', r'a datatype that is not there'),
    ('"program": 1', '"program": 2', r'"program" is 2'),
    ('"separator": "pause"', '"separator": "nap"', r'no separator "nap"'),
    ('"weight": 1485', '"weight": 1486', r'the weight is 1486 bytes'),
    ('"ranks": "0,2-3"', '"ranks": "0,2-4"', r'"ranks" goes beyond 0 to 3'),
    ('"ranks": "0,2-3"', '"ranks": "2-3,0"', r'"ranks" does not ascend'),
    ('"ranks": "0,2-3"', '"ranks": "0,2-"', r'"ranks" is not a list of ranges'),
    ('"ranks": "0,2-3"', '"ranks": "0,,3"', r'"ranks" is not a list of ranges'),
    ('"ranks": "0,2-3"', '"ranks": [0, 2, 3]', r'"ranks" is not a list of ranges'),
    ('"phases": "1-3:2"', '"phases": "0-3"', r'"phases" goes beyond 1 to 3'),
    ('"phases": "1-3:2"', '"phases": "1-3:0"', r'"phases" is not a list of ranges'),
    ('"thread": 1', '"thread": 70000', r'"thread" is 70000'),
    ('{"loop": 5', '{"loop": 0', r'"loop" is 0'),
    ('{"loop": 5', '{"loop": 9000000000000000000', r'more repetitions than 63 bits'),
    ('{"loop": 5', '{"loop": 900000000000000000', r'a number that does not fit 64 bits'),
    ('{"loop": 5', '{"hoop": 5', r'neither "op", "loop" nor "list"'),
    ('"op": "write_all"', '"op": "write_some"', r'no kind "write_some"'),
    ('"op": "write_all"', '"op": "open grid"', r'do not move so many'),
    ('"op": "write_all"', '"op": "barrier"', r'barrier among the operations of a phase'),
    ('"idP + (ph-1)*4", "offset": [', '"idP + ", "offset": [', r'"member" is not an expression'),
    ('"idP + (ph-1)*4", "offset": [', '"idP/(2-ph)", "offset": [', r'divides by zero .* at rank 0, phase 2'),
    ('"idP + (ph-1)*4", "offset": [', '"idP - 1", "offset": [', r'a member that its file does not have'),
    ('[10, 20, 31, 40, 55, 60, 70, 8, 90]', '[10, 20, 31]', r'"offset" is not an array of 9'),
    ('[10, 20, 31, 40, 55, 60, 70, 8, 90]', '[1, 2, 3, 4, 5, 6, 7, 8, -9]', r'a negative offset'),
    ('[10, 20, 31, 40, 55, 60, 70, 8, 90]', '[1, 2, 3, 4, 5, 6, 7, 8, "9"]', r'something other than integers'),
    ('[10, 20, 31, 40, 55, 60, 70, 8, 90]', '9223372036854775800', r'an end past 64 bits'),
    ('"size": 200', '"size": -1', r'a negative size'),
    ('"short": 5, ', '"short": 300, ', r'less than no bytes to move'),
    ('"steps": [{"offset": 8192', '"steps": [{}, {}, {"offset": 8192', r'4 steps, but 2 loops around'),
    ('"steps": [{"offset": 8192', '"steps": [{"offset": 1.5', r'"offset" is not an integer'),
    ('"list": 40', '"list": 41', r'does not hold 82 packed operations'),
    ('"list": 40', '"list": 9000000000000000000', r'too many operations|does not hold'),
    ('"lists": 2', '"lists": 5', r'"lists" is 5'),
    ('"which": [0, 1, 0, 1]', '"which": [0, 1, 0, 2]', r'no such list'),
    ('"which": [0, 1, 0, 1], ', '', r'which of the 2 lists is whose is not said'),
    ('"base64": "BgAA', '"base64": "BgA!', r'does not hold 80 packed operations'),
    ('"base64": "BgAA', '"zstd": "BgAA', r'does not hold 80 packed operations'),
    ('"base64": "BgAA', '"base64": "EAAA', r'"base64" does not hold|no such kind|among the operations|does not have|'
     r'do not move so many'),
    ('"list": 3', '"list": 4', r'3 operations, but there should be 4'),
    ('"after": 3', '"after": -3', r'a negative position'),
    ('"member2": 11', '"member2": 12', r'a member that its second file does not have'),
    ('"gap": 0.2', '"gap": "long"', r'"gap" is not a time in seconds'),
    ('"start": 6.5', '"start": 1e300', r'"start" is not a time in seconds'),
    ('"existed": 2', '"existed": 13', r'"existed" is 13'),
    ('"existed_members": "1,3"', '"existed_members": "1-3"', r'3 members, but existed says otherwise'),
    ('"existed_members": "1,3"', '"existed_members": "1,12"', r'.'),
    ('"sizes_before": [4, 6]', '"sizes_before": [4, -6]', r'a size is negative'),
    ('"sizes_before": [4, 6]', '"sizes_before": [4]', r'not an array of 2'),
    ('"read_cached": 4', '"read_cached": 11', r'"read_cached" is 11'),
    ('"ahead": 5', '"ahead": -5', r'"ahead" is not a number of operations'),
    ('"ahead": 5', '"ahead": []', r'"ahead" is empty'),
    ('"ahead": [3, 0]', '"ahead": [3, 0, 1]', r'"overlap" is not as long'),
    ('"ahead": [3, 0]', '"ahead": [3, "0"]', r'"ahead" is not a number of operations'),
    ('{"family": 3, "ph": 1', '{"family": 2, "ph": 1', r'"family" is 2'),
    (',\n      {"family": 4, "ph": 1, "start": 7.123456789, "duration": 0.25}', '', r'7 phases were observed'),
    ('"part": 1, "op": 1', '"part": 2, "op": 1', r'"part" is 2'),
    ('"part": 1, "op": 1', '"part": 1, "op": 2', r'no such operation in part 1'),
    ('0.000004834, 0.000010224]', '0.000004834]', r'five quartiles'),
    ('"irregularity": 0.0, "think"', '"irregularity": {}, "think"', r'"irregularity" is not a number'),
    ('"rank": 2, "thread": 0, "behind": 1', '"rank": 4, "thread": 0, "behind": 1', r'"rank" is 4'),
    ('"thread": 1, "behind": 0', '"thread": 1, "behind": 1', r'does not wait for itself'),
    ('{"program": 1, "file": "step*/rank.*"', '{"program": 2, "file": "step*/rank.*"', r'"program" is 2'),
    ('{"program": 1, "file": "step*/rank.*"', '{"program": 1, "file": "none"', r'no file none'),
    ('"sizes": [5, 6, -1]', '"sizes": [5, 6]', r'"sizes" is not an array of 3'),
    ('"behind_rank": 3', '"behind_rank": 2', r'does not wait for itself'),
    ('"behind_rank": 3', '"behind_rank": 4', r'"behind_rank" is 4'),
    ('"rank": 2, "thread": 1, "behind": 0', '"rank": 1, "thread": 1, "behind": 0', r'not behind the one before'),
    ('"ops": [1, 4]', '"ops": [4, 4]', r'"ops" does not ascend from 1'),
    ('"done": [16, 32]', '"done": [0, 32]', r'"done" does not ascend from 1'),
    ('"done": [16, 32]', '"done": [32, 16]', r'"done" does not ascend from 1'),
    ('"done": [16, 32]', '"done": [16]', r'"done" is not an array of 2'),
    ('"count": 2, "ops"', '"count": 3000000000, "ops"', r'not an array of 3000000000'),
    ('"ops": [1, 4]', '"ops": {"count": 2, "base64": "AAAA"}', r'"ops" does not hold 2 packed numbers'),
    ('"observed": {', '"observed": [{}], "rest": {', r'"observed" is not an object'),
    ('"np": 4, "order"', '"np": 4, "np": 4, "order"', r'this key twice'),
    ('"host": "somewhere",', '"host": "somewhere"', r'.'),
]

SMALL = '''{"ioseer_model": 1, "structure": {
  "programs": [{"mpi": false, "np": 1, "order": [1]}],
  "files": [{"file": "data"}],
  "kinds": [{"kind": "pread", "layer": "posix", "class": "read", "file": "data", "has_offset": true}],
  "families": [{"family": 1, "program": 0, "phases": 1, "separator": "start", "weight": WEIGHT,
                "parts": [{"ranks": "0", "items": [ITEM]}]}]}}'''


class Files(CommandLineTest):
    def save(self, text, name='model'):
        with open(self.path(name), 'w', encoding='utf-8') as file:
            file.write(text)
        return self.path(name)

    def read(self, name):
        with open(name, 'rb') as file:
            return file.read()

    def text(self):
        return self.read(EVERY_KEY).decode()

    def small(self, item, weight):
        return self.save(SMALL.replace('ITEM', item).replace('WEIGHT', str(weight)))

    def test_every_key_comes_back(self):
        """Through a file that has other names for kinds and files, and through one that is the writer's own."""
        once, twice = self.path('once'), self.path('twice')
        self.expect(0, 'model', EVERY_KEY, '-o', once)
        self.expect(0, 'model', once, '-o', twice)
        self.assertEqual(self.read(once), self.read(twice))
        self.assertEqual(*[json.loads(self.read(name))['observed']['waits'] for name in (EVERY_KEY, once)])
        for words in (['model', '--expand', '--json'], ['model', '--expand'], ['phases'], ['phases', '--json']):
            self.assertEqual(self.expect(0, *words, EVERY_KEY).stdout, self.expect(0, *words, once).stdout)

    def test_expansion(self):
        ops = self.json('model', '--expand', '--json', EVERY_KEY)
        self.assertEqual(len([op for op in ops if op['op'] == 'MPI_File_write_at_all']), 4 * 3 * 15)
        third = [op for op in ops if op['op'] == 'MPI_File_write_at_all' and op['rank'] == 3 and op['phase'] == 5]
        self.assertEqual([op['offset'] for op in third],
                         [3072 + 8192 + i * 65536 + k * 8192 for i in range(5) for k in range(3)])
        self.assertEqual([op['view_offset'] for op in third], [2048 + k * 1024 for i in range(5) for k in range(3)])
        written = [op for op in ops if op['op'] == 'write' and op['rank'] == 2 and op['phase'] == 4]
        self.assertEqual([(op['thread'], op['file'], op['offset'], op['size'], op['result']) for op in written],
                         [(1, '/data/run [1]/step010/rank.2', 55, 100, 100),
                          (1, '/data/run [1]/step010/rank.2', 1000, 200, 195),
                          (1, '/data/run [1]/step010/rank.2', 1200, 210, 200)])
        last = [op for op in ops if op['program'] == 1]
        self.assertEqual([op['op'] for op in last],
                         ['stat', 'lseek', 'MPI_File_iread', 'MPI_File_iread', 'pread', 'rename'])
        self.assertEqual((last[0]['errno'], last[1]['errno'], last[1]['whence']), (2, 4000, 77))
        self.assertEqual((last[5]['file'], last[5]['file2']), ('/data/table.bin', '/data/run [1]/step015/rank.7'))
        of_rank = self.json('model', '--expand', '--json', '--rank', '2', EVERY_KEY)
        self.assertEqual(of_rank, [op for op in ops if op['rank'] == 2])

    def test_mistakes(self):
        text = self.text()
        for old, new, message in MISTAKES:
            with self.subTest(old=old, new=new):
                self.assertIn(old, text)
                at = text.index(old)
                line = self.expect_error(1, 'model', self.save(text[:at] + new + text[at + len(old):]))
                self.assertRegex(line, rf'^ioseer model: {re.escape(self.path("model"))}:\d+: .*(?:{message})')

    def test_lines(self):
        """The message names the line of the mistake."""
        text = self.text()
        for old, new in (('"np": 4', '"np": "four"'), ('"weight": 600', '"weight": 6'), ('"gap": 0.2', '"gap": []')):
            number = text[:text.index(old)].count('\n') + 1
            line = self.expect_error(1, 'phases', self.save(text.replace(old, new)))
            self.assertRegex(line, rf'model:{number}: ')

    def test_newer_additions_are_ignored(self):
        tree = json.loads(self.text())
        for value in (tree, tree['structure'], tree['observed'], *tree['structure']['programs'],
                      *tree['structure']['files'], *tree['structure']['kinds'], *tree['structure']['families'],
                      *tree['observed']['phases']):
            value['from_the_future'] = {'deep': [1, {}]}
        before = self.expect(0, 'model', EVERY_KEY).stdout
        self.assertEqual(self.expect(0, 'model', self.save(json.dumps(tree))).stdout, before)

    def test_without_observed(self):
        tree = json.loads(self.text())
        del tree['observed']
        found = self.json('phases', '--json', self.save(json.dumps(tree)))
        self.assertEqual([phase['weight'] for phase in found['phases']], [61440, 1485] * 3 + [81072, 600])

    def test_huge_loops_are_not_expanded(self):
        model = self.small('{"loop": 1152921504606846976, "body": [{"op": "pread", "size": 1}]}', 1 << 60)
        out = self.json('model', model)
        self.assertEqual(out['structure']['families'][0]['weight'], 1 << 60)
        nest = '{"op": "pread", "size": 2}'
        for _ in range(8):
            nest = f'{{"loop": 128, "body": [{nest}]}}'
        self.expect(0, 'model', self.small(nest, 1 << 57), '-o', self.path('out'))
        line = self.expect_error(1, 'model', self.small(f'{{"loop": 2, "body": [{nest}]}}', 1 << 58))
        self.assertIn('more than 8 loops inside each other', line)

    def test_deep_types(self):
        form, stride, size = [[0, 1]], 3, 1
        for _ in range(16):
            form, stride, size = [{'loop': 2, 'offset': 0, 'stride': stride, 'body': form}], stride * 5, size * 2
        tree = json.loads(self.text())
        tree['structure']['types'][1] = {'types': 1, 'bytes': size, 'extent': stride, 'form': form}
        once = self.expect(0, 'model', self.save(json.dumps(tree))).stdout
        self.assertEqual(json.loads(once)['structure']['types'][1], tree['structure']['types'][1])

    def test_small_files_do_not_fill_the_memory(self):
        tree = json.loads(self.text())
        tree['structure']['programs'][0]['np'] = 2000000000
        tree['structure']['families'][0]['parts'][0]['ranks'] = '0-1999999999'
        line = self.expect_error(1, 'model', self.save(json.dumps(tree)))
        self.assertIn('too many ranks and phases', line)

    def test_output(self):
        model = self.path('once')
        self.expect(0, 'model', EVERY_KEY, '-o', model)
        self.assertEqual(self.expect(0, 'model', EVERY_KEY).stdout, self.read(model))
        self.assertIn('MODEL', self.expect_error(2, 'model'))
        self.expect_error(2, 'model', model, model)
        self.expect_error(2, 'model', model, '--rank', '1')
        self.expect_error(2, 'model', model, '--layer', 'ether')
        self.expect_error(2, 'model', model, '-o', model)
        self.expect_error(1, 'model', self.path('nowhere'))
        self.expect_error(1, 'model', self.save('[]'))
        self.expect_error(1, 'model', self.save('{'))
        self.assertEqual(self.expect(0, 'model', EVERY_KEY).stdout, self.read(model))

    def test_log_is_not_overwritten(self):
        log = self.record('true')
        self.expect_error(2, 'model', log, '-o', log)
        self.expect(0, 'info', log)


if __name__ == '__main__':
    main()
