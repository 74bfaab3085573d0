"""Shells complete command lines of ioseer. Each line is given to the completion of a real bash, zsh and fish."""
import json
import os
import pty
import select
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
sys.dont_write_bytecode = True

import harness  # noqa: E402

FOLDER = os.path.join(harness.BUILD, 'completion')
HELP = json.loads(harness.ioseer('help', '--json').stdout)
VERBS = {verb['name']: verb for verb in HELP['verbs']}
LOGS = {'one.ioseer', 'two.ioseer', 'old.darshan', 'a folder/', 'folder/'}

# What stands before the cursor, and what is offered. A set that ends with ... is part of what is offered.
LINES = {
    'ioseer re': {'record', 'report', 'replay'},
    'ioseer ': {*VERBS, 'help'},
    'ioseer --no': {'--no-pager'},
    'ioseer --no-pager inf': {'info'},
    'ioseer help ph': {'phases'},
    'ioseer dump --cl': {'--class'},
    'ioseer dump --class ': {'read', 'write', 'open', 'close', 'sync', 'seek', 'meta'},
    'ioseer dump --class s': {'sync', 'seek'},
    'ioseer dump --class sync ': LOGS,
    'ioseer dump -q o': {'one.ioseer', 'old.darshan'},
    'ioseer dump -o x.txt --la': {'--layer'},
    'ioseer report --format ': {'html', 'text', 'json'},
    'ioseer export one.ioseer --format o': {'otf2'},
    'ioseer export one.ioseer --table ev': {'events'},
    'ioseer predict ': {*LOGS, 'run.model'},
    'ioseer predict run.model --on ': {'a folder/', 'folder/'},
    'ioseer predict --system ': {'fast.system', 'a folder/', 'folder/'},
    'ioseer predict --method m': {'mendez', 'meswani'},
    'ioseer predict --method replay,m': {'replay,mendez', 'replay,meswani'},
    'ioseer measure f': {'folder/'},
    'ioseer emulate --preset nv': {'nvme', 'nvm'},
    'ioseer emulate folder f': {'folder/'},
    'ioseer stack ': {'up', 'status', 'down', 'list'},
    'ioseer stack up --lay': {'--layout', '--layers'},
    'ioseer stack up --layout d': {'distribute', 'disperse'},
    'ioseer stack up --layers net,d': {'net,disk'},
    'ioseer stack up --emulate h': {'hdd'},
    'ioseer stack down ': {'mine', 'other'},
    'ioseer record --stack m': {'mine'},
    'ioseer record -o ': {*LOGS},
    'ioseer record --env PA': {'PATH', ...},
    'ioseer record --no-t': {'--no-trace'},
    'ioseer record own-te': {'own-test-command'},
    'ioseer record -- own-te': {'own-test-command'},
    'ioseer record -o x --no-trace -- ls --recur': {'--recursive'},
    'ioseer record cat o': {'one.ioseer', 'old.darshan'},
    'ioseer interference one.ioseer t': {'two.ioseer'},
    'ioseer evaluate --measured t': {'two.ioseer'},
    'ioseer info one.ioseer ': set(),
    'ioseer dump --rank ': set(),
    'ioseer info nothing-': {'nothing-else.dat'},
}


class CompletionTest(harness.CommandLineTest):
    shell = None

    def setUp(self):
        super().setUp()
        for name in ('one.ioseer', 'two.ioseer', 'old.darshan', 'run.model', 'fast.system', 'nothing-else.dat'):
            open(self.path(name), 'wb').close()
        for name in ('a folder', 'folder'):
            os.mkdir(self.path(name))
        self.other = tempfile.mkdtemp(prefix='ioseer-test-')
        self.addCleanup(shutil.rmtree, self.other)
        # Stacks need root; what `ioseer stack list` prints is enough.
        self.write_script('ioseer', f'[ "$1" = stack ] || exec {harness.IOSEER} "$@"\nprintf "mine\\t/a\\nother\\t/b\\n"\n')
        self.write_script('own-test-command', '')
        self.environment = {'PATH': self.other + ':' + os.environ['PATH'], 'HOME': self.other, 'TERM': 'xterm', 'LC_ALL': 'C.UTF-8'}

    def write_script(self, name, text):
        path = os.path.join(self.other, name)
        with open(path, 'w', encoding='utf-8') as out:
            out.write('#!/bin/sh\n' + text)
        os.chmod(path, 0o755)

    def offered(self, line):
        raise NotImplementedError

    def check(self, lines):
        for line, wanted in lines.items():
            with self.subTest(shell=self.shell, line=line):
                found = {word.rstrip() for word in self.offered(line)}
                if ... in wanted:
                    self.assertLessEqual(wanted - {...}, found)
                elif not wanted:  # zsh still offers options
                    self.assertEqual({word for word in found if not word.startswith('-')}, wanted)
                else:
                    self.assertEqual(found, wanted)

    def check_options(self, verb):
        wanted = {f'--{option["name"]}' for option in VERBS[verb]['options']}
        self.assertEqual({word.rstrip('= ') for word in self.offered(f'ioseer {verb} --')}, wanted)


class Shells:
    def test_lines(self):
        self.check(LINES)

    def test_every_option_is_offered(self):
        for verb in VERBS:
            with self.subTest(verb=verb):
                self.check_options(verb)


@harness.unittest.skipUnless(shutil.which('bash'), 'there is no bash')
class Bash(CompletionTest, Shells):
    shell = 'bash'

    def offered(self, line, setup='. /usr/share/bash-completion/bash_completion 2>/dev/null'):
        """The last word is what the cursor stands behind."""
        words = [part for word in line.split(' ') for part in ([*word.partition('=')] if word.startswith('--') and '=' in word else [word])]
        while words and words[-1] == '' and len(words) > 1 and words[-2] == '=':
            words.pop()
        script = f'''{setup}; . {FOLDER}/ioseer; COMP_LINE=$1 COMP_POINT=${{#1}}; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_ioseer 2>/dev/null; for word in "${{COMPREPLY[@]}}"; do [ -d "$word" ] && word=$word/; echo "$word"; done'''
        done = harness.run('bash', '-c', script, 'bash', line, *words, cwd=self.folder, env=self.environment)
        self.assertEqual(done.stderr, b'')
        return done.stdout.decode().splitlines()

    def test_values_after_an_equals_sign(self):
        for line in ('ioseer report --format=h', 'ioseer report --format=html one.ioseer --format=h'):
            self.assertEqual(self.offered(line), ['html'])
        self.assertEqual(len(self.offered('ioseer report --format=')), 3)
        self.assertEqual(self.offered('ioseer report --format=html on'), ['one.ioseer'])

    def test_letters_are_offered(self):
        self.assertEqual(self.offered('ioseer dump -q'), ['-q'])

    def test_without_bash_completion(self):
        self.assertEqual(self.offered('ioseer record -- own-te', ':'), ['own-test-command'])
        self.assertEqual(self.offered('ioseer record -- cat tw', ':'), ['two.ioseer'])

    def test_in_the_terminal(self):
        """With the keys of a user."""
        process, terminal = pty.fork()
        if not process:
            os.chdir(self.folder)
            os.execvpe('bash', ['bash', '--norc', '-i'], {**self.environment, 'PS1': '> '})
        os.write(terminal, f'. {FOLDER}/ioseer\nioseer repo\t--form\tj\ton\t\n'.encode())
        seen, end = b'', time.monotonic() + 30
        while b'one.ioseer \r\n' not in seen and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                seen += os.read(terminal, 65536)
        os.write(terminal, b'exit\n')
        os.close(terminal)
        os.waitpid(process, 0)
        self.assertIn(b'ioseer report --format json one.ioseer \r\n', seen)


@harness.unittest.skipUnless(shutil.which('fish'), 'there is no fish')
class Fish(CompletionTest, Shells):
    shell = 'fish'

    def offered(self, line):
        script = f'source {FOLDER}/ioseer.fish; complete -C $argv[1]'
        done = harness.run('fish', '-c', script, line, cwd=self.folder, env=self.environment)
        self.assertEqual(done.stderr, b'')
        return [word.split('\t')[0].replace('\\ ', ' ') for word in done.stdout.decode().splitlines()]


@harness.unittest.skipUnless(shutil.which('zsh'), 'there is no zsh')
class Zsh(CompletionTest, Shells):
    """Its completion works in the line editor only: a zsh in a terminal, in which a key notes what is offered."""
    shell = 'zsh'
    SETUP = '''
PROMPT= RPROMPT= ; unsetopt beep; fpath=(%s $fpath); exec 9>>%s
autoload -Uz compinit; compinit -u -D
compadd() {
  local -a hits
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)* ]]; then builtin compadd "$@"; return; fi
  builtin compadd -A hits "$@"
  (( $#hits )) && print -lru9 -- $IPREFIX${^hits}
  builtin compadd "$@"
}
note() { _main_complete; print -u9 DONE }
zle -C note list-choices note
bindkey '^I' note
print -u9 DONE
'''

    def setUp(self):
        super().setUp()
        process, self.terminal = pty.fork()
        if not process:
            os.chdir(self.folder)
            os.execvpe('zsh', ['zsh', '-f', '-i'], self.environment)
        self.addCleanup(self.end, process)
        self.noted, self.done = os.path.join(self.other, 'noted'), 0
        self.write_script('setup', self.SETUP % (FOLDER, self.noted))
        self.type(f'. {self.other}/setup\n')

    def end(self, process):
        os.close(self.terminal)
        os.waitpid(process, 0)

    def type(self, keys):
        """Gives what was noted until DONE."""
        os.write(self.terminal, keys.encode())
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.01)[0]:
                os.read(self.terminal, 65536)
            if os.path.exists(self.noted):
                with open(self.noted, encoding='utf-8') as noted:
                    lines = noted.read()[self.done:]
                if lines.endswith('DONE\n'):
                    self.done += len(lines)
                    return lines.split('\n')[:-2]
        raise TimeoutError(keys)

    def offered(self, line):
        found = self.type('\x15' + line + '\t')
        found = [word.replace('\\ ', ' ') for word in found]
        return {word + '/' if os.path.isdir(self.path(word)) else word for word in found}


if __name__ == '__main__':
    harness.main()
