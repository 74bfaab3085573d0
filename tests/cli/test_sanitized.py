#!/usr/bin/env python3
"""Programs that are built with a sanitizer: recorded, they end, print and report as they do without."""
import os
import re
import shutil

from harness import SOURCE, CommandLineTest, ioseer, main, run

PROGRAM = os.path.join(SOURCE, 'tests', 'cli', 'sanitized.c')
WRITES, THREADS = 100, 2  # as in the program
REPORTS = {'address': {'free': 'heap-use-after-free', 'leak': 'detected memory leaks'},
           'thread': {'race': 'data race'}, 'undefined': {'shift': 'shift exponent'}}


def command(compiler, sanitizer, linking):
    """How to build the program with the sanitizer's runtime as a shared library or as part of the program."""
    if compiler == 'gcc':
        how = {'shared': [], 'static': [f'-static-lib{sanitizer[0] if sanitizer != "undefined" else "ub"}san']}[linking]
    else:
        folder = os.path.dirname(run('clang', '-print-file-name=libclang_rt.asan-x86_64.so').stdout.decode())
        how = {'shared': ['-shared-libsan', f'-Wl,-rpath,{folder}'], 'static': []}[linking]
    return [compiler, '-g', f'-fsanitize={sanitizer}', *how, '-pthread', PROGRAM]


def plain_words(report):
    """A report without what differs from run to run: numbers of processes, addresses, order of threads."""
    words = re.findall(r'(?:ERROR|WARNING|SUMMARY|runtime error): .*', report.decode(errors='replace'))
    return sorted({re.sub(r'0x[0-9a-f]+|\(.*?\)|\d+ byte.*', '', line) for line in words})


class SanitizedTest(CommandLineTest):
    def build(self, compiler, sanitizer, linking):
        if not shutil.which(compiler):
            self.skipTest(f'{compiler} is missing')
        program = self.path('program')
        made = run(*command(compiler, sanitizer, linking), '-o', program)
        if made.returncode:
            self.skipTest(f'{compiler} has no {linking} runtime for {sanitizer}')
        if run(program, 'clean', cwd=self.folder).returncode:
            self.skipTest(f'a program of {compiler} with the {linking} runtime for {sanitizer} does not run here')
        return program

    def check(self, program, fault, report, calls):
        bare = run(program, fault, cwd=self.folder)
        log = self.path('test.ioseer')
        recorded = ioseer('record', '-q', '--force', '-o', log, '--', program, fault, cwd=self.folder)
        for done in (bare, recorded):
            self.assertIn(report.encode(), done.stderr)
        self.assertEqual(recorded.returncode, bare.returncode)
        self.assertEqual(recorded.stdout, bare.stdout)
        self.assertEqual(plain_words(recorded.stderr), plain_words(bare.stderr))
        events = self.json('dump', '--json', log)
        writes = [event for event in events if event['op'] == 'pwrite']
        self.assertEqual(len(writes), calls)
        by_child = [event for event in events if event['file'] == self.path('child') and event['class'] == 'write']
        self.assertEqual(sum(event['result'] for event in by_child), calls // (THREADS * WRITES) * len('child\n'))

    def check_all(self, compiler, sanitizer, linking):
        program = self.build(compiler, sanitizer, linking)
        for fault, report in REPORTS[sanitizer].items():
            self.check(program, fault, report, THREADS * WRITES)
        self.check(program, 'clean', '', THREADS * WRITES)
        self.check(program, 'exec', '', 2 * THREADS * WRITES)

    def test_gcc_address_shared(self):
        self.check_all('gcc', 'address', 'shared')

    def test_gcc_address_static(self):
        self.check_all('gcc', 'address', 'static')

    def test_gcc_thread_shared(self):
        self.check_all('gcc', 'thread', 'shared')

    def test_gcc_thread_static(self):
        self.check_all('gcc', 'thread', 'static')

    def test_gcc_undefined_shared(self):
        self.check_all('gcc', 'undefined', 'shared')

    def test_gcc_undefined_static(self):
        self.check_all('gcc', 'undefined', 'static')

    def test_clang_address_shared(self):
        self.check_all('clang', 'address', 'shared')

    def test_clang_address_static(self):
        self.check_all('clang', 'address', 'static')

    def test_clang_thread_shared(self):
        self.check_all('clang', 'thread', 'shared')

    def test_clang_thread_static(self):
        self.check_all('clang', 'thread', 'static')

    def test_clang_undefined_shared(self):
        self.check_all('clang', 'undefined', 'shared')

    def test_clang_undefined_static(self):
        self.check_all('clang', 'undefined', 'static')

    def test_as_child(self):
        """The shell, env and a script start it: whoever execs a program looks at its file."""
        program = self.build('gcc', 'address', 'shared')
        script = self.path('script')
        with open(script, 'w', encoding='ascii') as file:
            file.write('#!/bin/sh\nenv ./program clean && PATH=. && program clean\n')
        os.chmod(script, 0o700)
        log = self.record(script, cwd=self.folder)
        events = self.json('dump', '--json', log)
        self.assertEqual(sum(event['op'] == 'pwrite' for event in events), 2 * THREADS * WRITES)

    def test_runtime_is_not_passed_on(self):
        """Programs that the sanitized one starts have the runtime only if the user preloads it."""
        program = self.build('gcc', 'address', 'shared')
        done = self.expect(0, 'record', '-q', '-o', self.path('a'), '--', program, 'preload', cwd=self.folder)
        self.assertNotIn(b'libasan', done.stdout)
        self.assertIn(b'libioseer', done.stdout)

    def test_preloaded_on_ioseer(self):
        """The user preloads the runtime; ioseer itself has it, too, and ends whatever happens."""
        program = self.build('gcc', 'address', 'shared')
        runtime = run('gcc', '-print-file-name=libasan.so').stdout.decode().strip()
        environment = dict(os.environ, LD_PRELOAD=runtime)
        log = self.record(program, 'clean', cwd=self.folder, env=environment)
        writes = [event for event in self.json('dump', '--json', log) if event['op'] == 'pwrite']
        self.assertEqual(len(writes), THREADS * WRITES)
        missing = ioseer('record', '-o', self.path('b'), '--', './missing', cwd=self.folder, env=environment, timeout=30)
        self.assertEqual(missing.returncode, 127)


class PreinitTest(CommandLineTest):
    def test_calls_before_libc_has_started(self):
        if not shutil.which('gcc'):
            self.skipTest('gcc is missing')
        source, program = self.path('early.c'), self.path('early')
        with open(source, 'w', encoding='ascii') as file:
            file.write('#include <fcntl.h>\n#include <unistd.h>\n'
                       'static void early(void) { close(open("early", O_CREAT | O_WRONLY, 0600)); }\n'
                       '__attribute__((section(".preinit_array"), used)) static void (*entry)(void) = early;\n'
                       'int main(void) { return close(open("late", O_CREAT | O_WRONLY, 0600)); }\n')
        self.assertEqual(run('gcc', source, '-o', program).returncode, 0)
        log = self.record(program, cwd=self.folder)
        opened = [event['file'] for event in self.json('dump', '--json', log) if event['class'] == 'open']
        self.assertEqual(opened, [self.path('early'), self.path('late')])


class PreloadTest(CommandLineTest):
    def test_preloads_of_the_user_come_first(self):
        done = ioseer('record', '-q', '-o', self.path('log'), '--', 'sh', '-c', 'echo $LD_PRELOAD',
                      env=dict(os.environ, LD_PRELOAD='libc.so.6'))
        self.assertRegex(done.stdout.decode(), r'^libc\.so\.6:\S*libioseer\.so\n$')


if __name__ == '__main__':
    main()
