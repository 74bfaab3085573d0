"""Help, versions, and command lines that are wrong. Needs no recording."""
import json
import os
import subprocess

import harness

VERBS = {verb['name']: verb for verb in json.loads(harness.ioseer('help', '--json').stdout)['verbs']}


class Help(harness.CommandLineTest):
    def test_general_help_lists_the_verbs(self):
        text = self.expect(0, '--help').stdout.decode()
        for verb in VERBS:
            self.assertRegex(text, rf'(?m)^  {verb} ')
        self.assertEqual(self.expect(0, 'help').stdout.decode(), text)

    def test_every_verb_has_help(self):
        for verb in VERBS:
            with self.subTest(verb=verb):
                text = self.expect(0, verb, '--help').stdout.decode()
                self.assertTrue(text.startswith(f'Usage: ioseer {verb} '), text)
                for option in VERBS[verb]['options']:
                    self.assertRegex(text, rf'(?m)^  (-{option["letter"] or " "}, |    )--{option["name"]} .*\S$')
                self.assertEqual(self.expect(0, 'help', verb).stdout.decode(), text)

    def test_printing_verbs_have_json(self):
        for verb in ('info', 'dump', 'stats', 'doctor', 'phases', 'diff', 'predict', 'evaluate', 'report'):
            self.assertIn(b'--json', self.expect(0, verb, '--help').stdout)

    def test_the_contract_has_its_verbs(self):
        for verb in ('record', 'info', 'dump', 'stats', 'phases', 'model', 'diff', 'emulate', 'measure', 'replay',
                     'predict', 'evaluate', 'report', 'view', 'doctor', 'pack'):
            self.assertIn(verb, VERBS)

    def test_shared_options_have_one_letter(self):
        letters = {}
        for verb in VERBS.values():
            for option in verb['options']:
                self.assertEqual(letters.setdefault(option['name'], option['letter']), option['letter'], verb['name'])

    def choices(self, verb, name):
        return [o['argument'].split('|') for o in VERBS[verb]['options'] if o['name'] == name and o['choice'] == 'one'][0]

    def test_choices_are_all_there_are(self):
        self.assertEqual(self.choices('emulate', 'preset'),
                         [preset['name'] for preset in self.json('emulate', '--presets', '--json')['presets']])
        calls = self.json('doctor', '--calls', '--json')['calls']
        self.assertEqual(set(self.choices('dump', 'class')), {call['class'] for call in calls})
        self.assertEqual(set(self.choices('dump', 'layer')), {call['layer'] for call in calls})

    def test_every_choice_is_taken(self):
        """A log that is not there is another error than a value that is none."""
        for verb, name in (('dump', 'layer'), ('dump', 'class'), ('phases', 'layer'), ('model', 'layer'), ('model', 'format'),
                           ('report', 'format'), ('stats', 'sort'), ('stats', 'by')):
            for value in self.choices(verb, name):
                self.assertIn('No such file', self.expect_error(1, verb, f'--{name}', value, self.path('log')))
            line = self.expect_error(2, verb, f'--{name}', 'nope', self.path('log'))
            self.assertEqual(line, f'ioseer {verb}: --{name} nope: must be ' +
                             ' or '.join(', '.join(self.choices(verb, name)).rsplit(', ', 1)))

    def test_version(self):
        self.assertRegex(self.expect(0, '--version').stdout.decode(), r'^ioseer \d+\.\d+\.\d+\n$')

    def test_help_of_a_recorded_command_is_its_own(self):
        done = harness.ioseer('record', '-q', '-o', self.path('x'), '--', 'sh', '-c', 'echo "$@"', 'sh', '--help')
        self.assertEqual(done.stdout, b'--help\n')


class WrongCommandLines(harness.CommandLineTest):
    def test_no_verb(self):
        self.assertIn(b'Usage:', self.expect(2).stderr)

    def test_unknown_verb_with_a_suggestion(self):
        self.assertEqual(self.expect(2, 'dmup').stderr, b"ioseer: dmup: no such verb; did you mean 'dump'?\n")
        self.assertEqual(self.expect(2, 'zzzzzz').stderr, b"ioseer: zzzzzz: no such verb; 'ioseer --help' lists them\n")
        self.expect(2, 'help', 'zzzzzz')

    def test_unknown_option(self):
        self.assertEqual(self.expect(2, '--frob').stderr, b'ioseer: --frob: unknown option\n')
        for verb in VERBS:
            with self.subTest(verb=verb):
                self.assertEqual(self.expect_error(2, verb, '--frob'), f'ioseer {verb}: --frob: unknown option')

    def test_missing_and_extra_arguments(self):
        for verb in ('info', 'dump', 'stats'):
            with self.subTest(verb=verb):
                self.expect_error(2, verb)
                self.expect_error(2, verb, 'a', 'b')
        self.expect_error(2, 'doctor', 'a', 'b')
        self.expect_error(2, 'doctor', '--calls', 'a')

    def test_bad_values(self):
        for words in (('--layer', 'nope', 'x'), ('--class', 'nope', 'x'), ('--rank', 'x', 'x'), ('--pid', '-1', 'x'),
                      ('--pid', '99999999999', 'x'), ('--from', '1day', 'x'), ('x', '--to'), ('--json=yes', 'x')):
            with self.subTest(words=words):
                self.expect_error(2, 'dump', *words)
        self.expect_error(2, 'stats', '--json', '--darshan', 'x')
        self.assertIn('.html, .txt or .json', self.expect_error(2, 'report', '-o', 'x.pdf', 'x'))
        self.assertEqual(self.expect_error(2, 'dump', '--rank', '-5', 'x'),
                         'ioseer dump: --rank -5: not a whole number, 0 or more')


class BadLogs(harness.CommandLineTest):
    def expect_failures(self, path):
        for verb in ('info', 'dump', 'stats'):
            with self.subTest(verb=verb):
                line = self.expect_error(1, verb, path)
                self.assertTrue(line.startswith(f'ioseer {verb}: {path}: '), line)

    def test_missing(self):
        self.expect_failures(self.path('missing'))

    def test_empty(self):
        open(self.path('empty'), 'wb').close()
        self.expect_failures(self.path('empty'))

    def test_not_a_log(self):
        with open(self.path('noise'), 'wb') as out:
            out.write(os.urandom(1 << 16))
        self.expect_failures(self.path('noise'))

    def test_empty_directory(self):
        os.mkdir(self.path('folder'))
        self.expect_failures(self.path('folder'))

    def test_directory_of_something_else(self):
        os.mkdir(self.path('folder'))
        open(self.path('folder/letter'), 'wb').close()
        self.expect_failures(self.path('folder'))
        for words in (('info', self.path('folder')), ('pack', '-o', self.path('log'), self.path('folder'))):
            self.assertTrue(self.expect_error(1, *words).endswith('folder: no spill files in it'))

    def test_directory_with_a_bad_stack(self):
        """Two things are wrong, and each has its own reason."""
        os.mkdir(self.path('folder'))
        with open(self.path('folder/bad.stack'), 'wb') as out:
            out.write(bytes([255]) * 100)
        self.assertTrue(self.expect_error(1, 'pack', '-q', '-o', self.path('log'), self.path('folder'))
                        .endswith('folder: no spill files in it'))

    @harness.unittest.skipIf(os.geteuid() == 0, 'root may read everything')
    def test_unreadable(self):
        with open(self.path('closed'), 'wb') as out:
            out.write(b'x')
        os.chmod(self.path('closed'), 0)
        self.expect_failures(self.path('closed'))


class Calls(harness.CommandLineTest):
    def test_list(self):
        calls = self.json('doctor', '--calls', '--json')['calls']
        by_name = {call['op']: call for call in calls}
        self.assertEqual(len(by_name), len(calls))
        self.assertEqual(by_name['pwrite']['class'], 'write')
        self.assertEqual(by_name['pwrite']['layer'], 'posix')
        self.assertIn('pwrite64', by_name['pwrite']['aliases'])
        self.assertNotIn('pwrite', by_name['pwrite']['aliases'])
        self.assertEqual(by_name['fwrite']['layer'], 'stdio')
        text = self.expect(0, 'doctor', '--calls').stdout.decode()
        self.assertEqual(len(text.split('\n')), len(calls) + 2)

    def test_output_file_appears_whole_or_not_at_all(self):
        self.expect(0, 'doctor', '--calls', '--json', '-o', self.path('calls'))
        with open(self.path('calls'), encoding='utf-8') as made:
            self.assertTrue(json.load(made)['calls'])
        self.expect_error(1, 'doctor', '--calls', '-o', self.path('no/such/folder'))
        self.assertEqual(os.listdir(self.folder), ['calls'])


class Outputs(harness.CommandLineTest):
    def test_full_device(self):
        for words in (('--help',), ('doctor', '--calls'), ('doctor', '--calls', '--json')):
            with self.subTest(words=words), open('/dev/full', 'wb') as full:
                done = self.expect(1, *words, stdout=full)
                self.assertRegex(done.stderr.decode(), r'^ioseer \w+: standard output: No space left on device\n$')
        self.expect_error(1, 'doctor', '--calls', '-o', '/dev/full')

    def test_reader_that_goes_away(self):
        for words in (('--help',), ('doctor', '--calls'), ('doctor', '--calls', '--json')):
            with self.subTest(words=words):
                reader, writer = os.pipe()
                os.close(reader)
                done = self.expect(1, *words, stdout=writer)
                os.close(writer)
                self.assertEqual(done.stderr, b'')


class Doctor(harness.CommandLineTest):
    def test_other_users_can_record_too(self):
        """Newer kernels hide /proc/PID/io of a dead child from all but root; that is not a failure."""
        nobody = 65534
        options = {'user': nobody} if os.getuid() == 0 else {}
        try:
            done = harness.ioseer('doctor', '--json', cwd='/tmp', **options)
        except PermissionError:
            self.skipTest('other users cannot run ioseer here')
        checks = {check['name']: check for check in json.loads(done.stdout)['checks']}
        self.assertTrue(checks['byte counts']['ok'], checks)

    def test_checks(self):
        done = harness.ioseer('doctor', '--json', 'sh', cwd=self.folder)
        checks = {check['name']: check for check in json.loads(done.stdout)['checks']}
        for check in checks.values():
            self.assertEqual(set(check), {'name', 'ok', 'detail', 'fix'})
            self.assertTrue(check['ok'] or check['fix'], check)
        self.assertEqual(done.returncode, 0 if all(check['ok'] for check in checks.values()) else 1)
        for name in ('library', 'recording', 'replay', 'emulate', 'page', 'program'):
            self.assertTrue(checks[name]['ok'], checks[name])

    def program(self, path):
        return [c for c in json.loads(harness.ioseer('doctor', '--json', path).stdout)['checks'] if c['name'] == 'program'][0]

    def test_scripts_name_their_interpreter(self):
        for line in ('#!/usr/bin/python3', '#! /usr/bin/env python3', '#!/usr/bin/env -S A=1 python3 -u'):
            with open(self.path('script'), 'w', encoding='utf-8') as out:
                out.write(line + '\n')
            os.chmod(self.path('script'), 0o755)
            check = self.program(self.path('script'))
            self.assertTrue(check['ok'], check)
            self.assertNotIn('/env ', check['detail'])

    def test_programs_with_mpi(self):
        for mpi, name in (('mpich', 'MPICH'), ('openmpi', 'Open MPI')):
            program = os.path.join(harness.BUILD, 'examples', f'ior-{mpi}')
            if os.path.exists(program):
                self.assertRegex(self.program(program)['detail'], f'it uses {name}.*MPI-IO will be seen')
        self.assertNotIn('MPI', self.program('/bin/sh')['detail'])

    def test_programs_that_cannot_be_recorded(self):
        with open(self.path('script'), 'w', encoding='utf-8') as out:
            out.write('#!/bin/sh\n')
        os.chmod(self.path('script'), 0o755)
        with open(self.path('static.c'), 'w', encoding='utf-8') as out:
            out.write('int main(void) { return 0; }\n')
        built = subprocess.run(['cc', '-static', '-o', self.path('static'), self.path('static.c')],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        cases = [('script', True), ('no-such-program', False)] + [('static', True)] * (built.returncode == 0)
        for name, ok in cases:
            with self.subTest(name=name):
                done = harness.ioseer('doctor', '--json', self.path(name))
                check = [c for c in json.loads(done.stdout)['checks'] if c['name'] == 'program'][0]
                self.assertEqual(check['ok'], ok, check)
                if not ok:
                    self.assertEqual(done.returncode, 1)


if __name__ == '__main__':
    harness.main()
