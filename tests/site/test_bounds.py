#!/usr/bin/env python3
"""What the recorder keeps is bounded: past the caps calls are counted by pattern or directory, triggers choose what is traced.
Sums are always those of a run without caps and triggers. Speaks TAP."""
import fcntl
import os
import shutil
import subprocess
import sys
import time
import unittest

from site_case import LAUNCHERS, SiteCase, harness

PROGRAM = '''
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *top;
static int files;
static int with_numbers; // names with numbers, or with letters instead

static void add_name(char *path, const char *pattern, int number) {
    char text[16];
    sprintf(text, "%04d", number);
    for (char *at = text; *at && !with_numbers; at++) *at += 'a' - '0';
    sprintf(path + strlen(path), pattern, text);
}

static void use(const char *path, int pass) {
    char bytes[256] = {0};
    struct stat status;
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (pass == 0) {
        for (int i = 0; i < 3; i++) if (write(fd, bytes, 100) != 100) _exit(1);
        if (pwrite(fd, bytes, 50, 4096) != 50) _exit(1);
    } else {
        for (int i = 0; i < 2; i++) if (read(fd, bytes, 64) != 64) _exit(1);
        lseek(fd, 0, SEEK_SET);
        if (read(fd, bytes, 10) != 10) _exit(1);
    }
    close(fd);
    stat(path, &status);
    FILE *stream = fopen(path, "r");
    if (fread(bytes, 1, 32, stream) != 32) _exit(1);
    fclose(stream);
}

// Each file of the folders, in turn.
static void run(int first, int end) {
    char path[4096];
    for (int i = 0; i < files * 2; i++) {
        for (int folder = first; folder < end; folder++) {
            strcpy(path, top);
            add_name(path, "/dump_%s", folder);
            if (i == 0) mkdir(path, 0700);
            add_name(path, "/part-%s.h5", i % files);
            use(path, i / files);
        }
    }
}

static void *run_one(void *folder) {
    run((int)(long)folder, (int)(long)folder + 1);
    return NULL;
}

int main(int argc, char **argv) {
    enum { MOST = 64 };
    pthread_t thread[MOST];
    int folders = atoi(argv[2]);
    top = argv[1];
    files = atoi(argv[3]);
    with_numbers = argc > 4 && !strcmp(argv[4], "numbers");
    mkdir(top, 0700);
    if (argc == 4 || with_numbers) {
        run(0, folders);
        return 0;
    }
    for (long i = 0; i < folders; i++) pthread_create(&thread[i], NULL, run_one, (void *)i);
    for (int i = 0; i < folders; i++) pthread_join(thread[i], NULL);
    return 0;
}
'''
OTHERS = '(other files)'
PATTERN = 'dump_*/part-*.h5'
# What is no sum; and switches between reading and writing, which entries for several files know within one open only.
NO_SUMS = ('MAX_', 'TIME', '_F_', '_ACCESS', 'STRIDE', 'MODE', 'ALIGNMENT', 'RENAMED', 'RW_SWITCHES', 'RANK')


@unittest.skipUnless(shutil.which('cc'), 'no compiler')
class BoundsCase(SiteCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.scratch = harness.tempfile.TemporaryDirectory(prefix='ioseer-test-')
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.program = os.path.join(cls.scratch.name, 'many')
        subprocess.run(['cc', '-x', 'c', '-', '-pthread', '-o', cls.program], input=PROGRAM.encode(), check=True)

    def use_files(self, folders, files, *more, **settings):
        """Runs the program as a job without `record`; gives the log."""
        for log in self.found():
            os.remove(log)
        shutil.rmtree(self.path('data'), ignore_errors=True)
        self.run_on(self.program, self.path('data'), str(folders), str(files), *more, environment=self.environment(**settings))
        return self.one_log()

    def record_files(self, folders, files, *options, words=()):
        shutil.rmtree(self.path('data'), ignore_errors=True)
        return self.record(self.program, self.path('data'), str(folders), str(files), *words, options=('--force', *options),
                           cwd=self.folder)

    @staticmethod
    def letters(number):
        return ''.join('abcdefghij'[int(digit)] for digit in f'{number:04}')

    def sums(self, log):
        """{counter: sum over all records}"""
        sums = {}
        for record in self.json('stats', '--json', log)['records']:
            for name, value in record['counters'].items():
                if not any(part in name for part in NO_SUMS):
                    sums[name] = sums.get(name, 0) + value
        return sums

    def bytes_of(self, log):
        info = self.json('info', '--json', log)
        of_files = [sum(file[key] for file in info['files']) for key in ('bytes_read', 'bytes_written')]
        of_processes = [sum(process[key] for process in info['processes']) for key in ('bytes_read', 'bytes_written')]
        return of_files, of_processes

    def assert_same(self, log, other, whole=True):
        """Where a trace ends, the next call on an open file has none to be compared with."""
        def compared(sums):
            return {name: value for name, value in sums.items() if whole or not ('_CONSEC_' in name or '_SEQ_' in name)}
        self.assertEqual(compared(self.sums(log)), compared(self.sums(other)))
        self.assertEqual(self.bytes_of(log), self.bytes_of(other))


class CapTest(BoundsCase):
    FOLDERS, FILES = 8, 400

    def check_directories(self, log, files, full, whole=True):
        """Past the cap each directory has one record, and the log knows of how many files."""
        self.assert_same(log, full, whole)
        info = self.json('info', '--json', log)
        past = {file['name']: file['stands_for'] for file in info['files'] if file['stands_for'] is not None}
        self.assertEqual(set(past), {self.path(f'data/dump_{self.letters(i)}/{OTHERS}') for i in range(self.FOLDERS)})
        # The directories themselves have names, too.
        self.assertEqual(sum(past.values()), self.FOLDERS * self.FILES + self.FOLDERS + 1 - files)
        self.assertEqual(info['past_cap'], {'files': sum(past.values()), 'records': self.FOLDERS})
        self.assertTrue(any('past the caps' in loss['reason'] for loss in info['losses']))
        text = self.expect(0, 'info', log).stdout.decode()
        self.assertIn(f'past the caps: {sum(past.values()):,} files in {self.FOLDERS} records, by pattern of name or directory', text)

    def test_record(self):
        full = self.record_files(self.FOLDERS, self.FILES)
        kept = self.path('full.ioseer')
        os.rename(full, kept)
        for options in ((), ('--no-trace',), ('--trace-cap', '256k')):
            with self.subTest(options):
                log = self.record_files(self.FOLDERS, self.FILES, '--file-cap', '1000', *options)
                self.check_directories(log, 1000, kept, '--trace-cap' not in options)

    def test_env(self):
        full = self.record_files(self.FOLDERS, self.FILES)
        log = self.use_files(self.FOLDERS, self.FILES, IOSEER_COUNTER_CAP='64M')
        self.check_directories(log, 1024, full)

    def test_patterns(self):
        """Names that differ in numbers have one record, in however many directories they are."""
        full = self.record_files(self.FOLDERS, self.FILES, words=['numbers'])
        kept = self.path('full.ioseer')
        os.rename(full, kept)
        for options in ((), ('--no-trace',), ('--trace-cap', '256k')):
            with self.subTest(options):
                log = self.record_files(self.FOLDERS, self.FILES, '--file-cap', '100', *options, words=['numbers'])
                self.assert_same(log, kept, '--trace-cap' not in options)
                info = self.json('info', '--json', log)
                past = {file['name']: file['stands_for'] for file in info['files'] if file['stands_for'] is not None}
                # The directories have all been made before the cap.
                self.assertEqual(past, {self.path(f'data/{PATTERN}'): self.FOLDERS * self.FILES + self.FOLDERS + 1 - 100})
                self.assertEqual(info['past_cap'], {'files': sum(past.values()), 'records': 1})

    def test_no_room_for_patterns(self):
        """Half of the entries are for patterns; without any, directories above stand for the files."""
        full = self.record_files(20, 10, words=['numbers'])
        for most in (0, 1, 4):
            log = self.use_files(20, 10, 'numbers', IOSEER_FILE_CAP='4', IOSEER_DIRECTORY_CAP=str(most))
            self.assert_same(log, full)
            names = {record['file'] for record in self.json('stats', '--json', log)['records']}
            self.assertEqual(self.path(f'data/{PATTERN}') in names, most == 4)

    def test_random_names(self):
        """Names without any order do not use up the entries: a directory has 16 patterns."""
        script = """
import os, sys
os.mkdir("data")
for i in range(-9, 400):
    if i < 0: # these have names of their own
        open(f"before{i}", "w")
        continue
    letters = "".join(chr(ord("g") + (i * 7919 >> bit) % 16) for bit in (0, 3, 6, 9))
    open(f"data/{letters[:2]}{i}{letters[2:]}", "w").write("x")
"""
        log = self.record(sys.executable, '-I', '-S', '-c', script, options=('--force', '--file-cap', '3'), cwd=self.folder)
        info = self.json('info', '--json', log)
        past = {file['name']: file['stands_for'] for file in info['files'] if file['name'].startswith(self.path('data/'))}
        self.assertEqual(len(past), 17, past)
        self.assertGreater(past[self.path(f'data/{OTHERS}')], 300)
        self.assertEqual(sum(past.values()), 400)

    def test_hundred_thousand(self):
        """More names than can be remembered are counted by a sample."""
        script = """
import os
for i in range(70000):
    if i % 1000 == 0: os.mkdir(f"step{i // 1000}")
    name = f"step{i // 1000}/rank{i % 1000}"
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
    os.unlink(name)
"""
        log = self.record(sys.executable, '-I', '-S', '-c', script, options=('--force', '--file-cap', '3'), cwd=self.folder)
        info = self.json('info', '--json', log)
        past = {file['name']: file['stands_for'] for file in info['files'] if file['stands_for'] is not None}
        self.assertAlmostEqual(past[self.path('step*/rank*')], 70000, delta=2000)
        self.assertLessEqual(len(info['files']), 3 + 1024)

    def test_many_directories(self):
        """Past their own cap, directories above stand for them; without one, a record for all."""
        full = self.record_files(20, 10)
        for most in (0, 3):
            log = self.use_files(20, 10, IOSEER_FILE_CAP='4', IOSEER_DIRECTORY_CAP=str(most))
            self.assert_same(log, full)
            others = {record['file'] for record in self.json('stats', '--json', log)['records'] if '(' in record['file']}
            self.assertEqual(len(others), 3 if most else 1)
            self.assertIn(self.path(f'data/{OTHERS}') if most else '(files past the file cap)', others)

    def test_threads(self):
        """Calls of several files at once are compared with those on the same file only."""
        full = self.record_files(self.FOLDERS, 50, '--no-trace')
        log = self.use_files(self.FOLDERS, 50, 'threads', IOSEER_FILE_CAP='5')
        self.assert_same(log, full)

    def test_forks(self):
        program = self.program
        script = f'{program} data 3 40; {program} data 3 40 & {program} data2 3 40; wait'
        full = self.record('sh', '-c', script, options=('--no-trace',), cwd=self.folder)
        for name in ('data', 'data2'):
            shutil.rmtree(self.path(name))
        self.run_on('sh', '-c', script, environment=self.environment(IOSEER_FILE_CAP='7'))
        self.assert_same(self.one_log(), full)

    def spill_bytes(self, folders, files, **settings):
        """Bytes of counters in the spill of the program when it ends, and its log."""
        packer = self.path('packer')
        with open(packer, 'w', encoding='utf-8') as script:
            script.write(f'#!/bin/sh\ncp "$3"/*.spill {self.path("kept")}\nexec {harness.IOSEER} "$@"\n')
        os.chmod(packer, 0o755)
        log = self.use_files(folders, files, IOSEER_PROGRAM=packer, **settings)
        with open(self.path('kept'), 'rb') as file:
            spill = file.read()
        at, counted = 4096, 0
        end = int.from_bytes(spill[96:104], 'little')
        while at < end:
            magic, kind, size = (int.from_bytes(spill[at + i:at + i + 4], 'little') for i in (0, 4, 8))
            if magic != 0x4b4e4843:
                at += 4096
                continue
            counted += size if kind == 3 and size > 4096 else 0  # the small ones are of threads
            at += (size + 4095) // 4096 * 4096
        return counted, log

    def test_counter_cap(self):
        full = self.record_files(self.FOLDERS, self.FILES)
        for settings, cap in (({}, 2 << 20), ({'IOSEER_COUNTER_CAP': '512k'}, 512 << 10), ({'IOSEER_COUNTER_CAP': '64k'}, 64 << 10)):
            with self.subTest(cap=cap):
                used, log = self.spill_bytes(self.FOLDERS, self.FILES, **settings)
                self.assertLessEqual(used, cap)
                self.assertGreaterEqual(used, cap * 3 // 4)
                self.assert_same(log, full)
        used, log = self.spill_bytes(self.FOLDERS, 10)
        self.assertLess(used, 1 << 20)


class TriggerTest(BoundsCase):
    def events(self, log):
        return self.json('dump', '--json', log)

    def test_without(self):
        log = self.use_files(2, 10)
        self.assertEqual(self.events(log), [])

    def check(self, settings, is_chosen):
        """Exactly the chosen calls are events, with `record` and without, and the counters are as ever."""
        full = self.record_files(3, 10)
        wanted = [event for event in self.events(full) if is_chosen(event)]
        self.assertTrue(0 < len(wanted) < len(self.events(full)))
        kept = self.path('full.ioseer')
        os.rename(full, kept)
        options = [word for name, value in settings.items() for word in ('--' + name.replace('_', '-'), value)]
        logs = {'record': self.record_files(3, 10, *options),
                'env': self.use_files(3, 10, **{'IOSEER_' + name.upper(): value for name, value in settings.items()})}
        for how, log in logs.items():
            with self.subTest(how):
                def key(event):
                    return event['op'], event['file'], event['offset'], event['size'], event['result'] if event['size'] else None
                self.assertEqual([key(event) for event in self.events(log)], [key(event) for event in wanted])
                self.assert_same(log, kept)
                self.assertEqual(len(harness.json.loads(self.decoded(log))), len(wanted))
                self.assertIn('calls that triggers chose', self.expect(0, 'info', log).stdout.decode())
                self.expect(0, 'phases', log)
                self.expect(0, 'report', log, '-o', self.path(how + '.html'))

    def decoded(self, log):
        """The events by the second decoder, which knows the format only from its description."""
        return harness.run(sys.executable, os.path.join(harness.SOURCE, 'tests', 'golden', 'decode.py'), log).stdout

    def test_file(self):
        self.check({'trace_file': '*/dump_aaab/*'}, lambda event: '/dump_aaab/' in event['file'])

    def test_smaller(self):
        self.check({'trace_smaller': '60'}, lambda event: event['class'] in ('read', 'write') and event['size'] < 60)

    def test_smaller_in_files(self):
        self.check({'trace_smaller': '60', 'trace_file': '*/dump_aaab/*'},
                   lambda event: event['class'] in ('read', 'write') and event['size'] < 60 and '/dump_aaab/' in event['file'])

    def test_bytes_are_not_counted_twice(self):
        full = self.record_files(3, 10)
        whole = self.json('phases', '--json', full)
        log = self.record_files(3, 10, '--trace-smaller', '60')
        some = self.json('phases', '--json', log)
        def total(model):
            return model['unphased_bytes'] + sum(op['bytes'] for phase in model['phases'] for op in phase['ops'])
        self.assertEqual(total(some), total(whole))
        self.assertGreater(some['unphased']['untraced'], 0)

    def test_slower(self):
        """A lock that another program holds makes a call slow."""
        text = '''
import fcntl, os, sys
fd = os.open("file", os.O_RDWR | os.O_CREAT)
os.write(fd, b"x")
print("ready", flush=True)
sys.stdin.readline()
fcntl.flock(fd, fcntl.LOCK_EX)
os.write(fd, b"y")
'''
        environment = self.environment(IOSEER_TRACE_SLOWER='200ms')
        process = self.start_on(sys.executable, '-I', '-S', '-c', text, environment=environment)
        process.stdout.readline()
        with open(self.path('file'), 'rb') as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            process.stdin.write(b'\n')
            process.stdin.flush()
            time.sleep(1)
        process.wait(60)
        events = self.events(self.one_log())
        self.assertIn('flock', [event['op'] for event in events])
        self.assertEqual([event for event in events if event['duration'] < 0.19], [])

    def test_program(self):
        script = 'cat one > two; cp two three'
        with open(self.path('one'), 'w', encoding='utf-8') as file:
            file.write('text')
        self.run_on('sh', '-c', script, environment=self.environment(IOSEER_TRACE_PROGRAM='*/cp'))
        log = self.one_log()
        programs = {process['pid']: os.path.basename(process['exe']) for process in self.json('info', '--json', log)['processes']}
        self.assertEqual({programs[event['pid']] for event in self.events(log)}, {'cp'})

    def test_window(self):
        text = '''
import os, time
for name in "before", "inside", "after":
    open(name, "w").write("x")
    time.sleep(1)
'''
        environment = self.environment(IOSEER_TRACE_FROM='500ms', IOSEER_TRACE_FOR='1')
        # The interpreter may start slowly: the window is placed by the time that the job takes until then.
        self.run_on(sys.executable, '-I', '-S', '-c', text, environment=environment)
        log = self.one_log()
        job = self.json('info', '--json', log)
        for event in self.events(log):
            end = event['start'] + event['duration']
            self.assertTrue(0.4 < end < 1.7, (event, job['job']))
        names = {os.path.basename(record['file']) for record in self.json('stats', '--json', log)['records']}
        self.assertTrue({'before', 'inside', 'after'} <= names)

    def test_window_of_the_job(self):
        """A program that starts late is inside a window of its job."""
        environment = self.environment(IOSEER_TRACE_FROM='1')
        self.run_on('sh', '-c', 'cp /dev/null before; sleep 2; cp /dev/null after', environment=environment)
        names = {os.path.basename(event['file'] or '') for event in self.events(self.one_log())}
        self.assertIn('after', names)
        self.assertNotIn('before', names)

    def test_sample(self):
        """A job has a trace of all its programs, or none."""
        environment = self.environment(IOSEER_TRACE_SAMPLE='2')
        for _ in range(30):
            self.run_on('sh', '-c', 'cat /dev/null > a; cat /dev/null > b', environment=environment)
        logs = self.found()
        self.assertEqual(len(logs), 30)
        processes = [len({event['pid'] for event in self.events(log)}) for log in logs]
        self.assertEqual(set(processes), {0, 3})  # by chance all or none: 1 in 500 million

    def test_cap(self):
        """The trace of chosen calls ends at its cap, and the counters know nothing of it."""
        full = self.record_files(3, 300)
        log = self.use_files(3, 300, IOSEER_TRACE_SMALLER='1M', IOSEER_TRACE_CAP='32k')
        self.assertGreater(len(self.events(log)), 0)
        self.assert_same(log, full)
        info = self.json('info', '--json', log)
        self.assertGreater(info['lost_events'], 0)
        self.assertEqual(self.events(self.use_files(3, 10, IOSEER_TRACE_SMALLER='1M', IOSEER_TRACE_CAP='0')), [])

    def test_live(self):
        """`top` counts calls once."""
        text = '''
import os, sys
fd = os.open("file", os.O_RDWR | os.O_CREAT)
for i in range(100): os.pwrite(fd, b"x" * 1000, i * 1000)
print("ready", flush=True)
sys.stdin.readline()
'''
        process = self.start_on(harness.IOSEER, 'record', '-q', '-o', self.path('log'), '--trace-smaller', '1M', '--',
                                sys.executable, '-I', '-S', '-c', text, environment=self.plain)
        process.stdout.readline()
        snapshot = self.json('top', '--once', '--json', '-d', '50ms', str(process.pid))
        of_file = [file for file in snapshot['files'] if file['name'].endswith('/file')]
        self.assertEqual([file['bytes_written'] for file in of_file], [100000])

    def run_mpi(self, mpi):
        program = os.path.join(harness.BUILD, 'examples', f'madbench-{mpi}')
        if not os.path.exists(program) or not shutil.which(LAUNCHERS[mpi][0]):
            self.skipTest(f'no {mpi}')
        full = self.record(*LAUNCHERS[mpi], '-n', '4', program, cwd=self.folder)
        for log in self.found():
            os.remove(log)
        self.run_on(*LAUNCHERS[mpi], '-n', '4', program, environment=self.environment(IOSEER_TRACE_RANK='0,2-2'))
        log = self.one_log()
        ranks = {event['rank'] for event in self.events(log) if event['layer'] == 'mpiio'}
        self.assertEqual(ranks, {0, 2})
        self.assertEqual({event['rank'] for event in self.events(log)}, {0, 2})
        def of_data(name):
            return {key: value for key, value in self.sums_below(name).items() if value}
        self.assertEqual(of_data(log), of_data(full))

    def sums_below(self, log):
        """Sums of the program's own files."""
        sums = {}
        for counters in self.counters(log, self.path('madbench')).values():
            for name, value in counters.items():
                if not any(part in name for part in NO_SUMS):
                    sums[name] = sums.get(name, 0) + value
        return sums

    def test_rank_mpich(self):
        self.run_mpi('mpich')

    def test_rank_openmpi(self):
        self.run_mpi('openmpi')

    def test_bad_options(self):
        error = self.expect_error(2, 'record', '--trace-rank', '1,x', '--', 'true')
        self.assertIn('--trace-rank: 1,x is not a list of ranks, such as 0,4-7', error)


if __name__ == '__main__':
    harness.main()
