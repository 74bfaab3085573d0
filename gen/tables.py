"""Reads the tables in calls/; doc/add-a-call.md describes them."""
import copy
import re
import sys

ROW = re.compile(r'^(?P<sys>sys )?(?P<ret>[\w ]+?\**)\s*(?P<name>\b\w+)\((?P<params>.*)\)\s*:\s*(?P<rest>.*)$')
OPERATION = re.compile(r'^event (?P<name>\w+)\s*:\s*(?P<class>\w+)(?P<rest>.*)$')
PROBE = re.compile(r'^probe (?P<name>\w+) *= (?P<enter>\w+)\((?P<enter_roles>.*?)\) (?P<leave>\w+)\((?P<leave_roles>.*?)\)'
                   r'(?: : (?P<defaults>.*))?$')
CLASSES = ['-', 'read', 'write', 'open', 'close', 'sync', 'seek', 'meta']
# Options of a row with the words that they take; None: any.
KEYWORDS = {'as': None, 'alias': None, 'sys': None, 'traits': None, 'with': None, 'forward': None, 'late': None,
            'check': None, 'since': None, 'by': None, 'replay': None, 'large': None,
            'count': '- dup fcntl fileno fdopen stat mmap rename view hints sync fsync fdsync flush create redef wait',
            'pointer': 'explicit shared', 'form': 'split half buffered reads writes', 'part': 'var var1 vara vars varm varn vard', 'effect': 'lookup ask stat create remove rename link change',
            'for': 'directory link', 'sizes': 'set fill', 'partner': 'all from_root to_root send receive both'}
# Layers whose functions come from libraries of which a process may have several (src/rec/library.h).
LIBRARY_LAYERS = ['hdf5', 'netcdf', 'pnetcdf']

LIST = re.compile(r'^list (?P<name>\w+) *= (?P<words>\S+)$')
CHOICE = re.compile(r'\{(\w+):([^{}]*)\}')


def expand(line):
    """`{D:read|write}` makes a row for each choice; choices under the same letter are made together."""
    first = CHOICE.search(line)
    if not first:
        return [line]
    choices = [match[2].split('|') for match in CHOICE.finditer(line) if match[1] == first[1]]
    if len({len(words) for words in choices}) > 1:
        sys.exit(f'the choices {{{first[1]}:…}} differ in number: {line}')

    def choose(number):
        return CHOICE.sub(lambda match: match[2].split('|')[number] if match[1] == first[1] else match[0], line)
    return [row for number in range(len(choices[0])) for row in expand(choose(number))]


class Parameter:
    """`const void *buf @buf`: a C name and, after @, its role for the probe."""

    def __init__(self, text):
        text, _, self.role = (part.strip() for part in text.partition('@'))
        match = re.match(r'^(.*?)(\w+)(\[\w*\])?$', text)
        self.name = match.group(2)
        self.type = match.group(1).strip() + (' *' if match.group(3) else '')
        self.text = text

    def large(self):
        """For the functions of MPI with large counts: counts become MPI_Count, displacements MPI_Aint."""
        other = copy.copy(self)
        wide = 'MPI_Count' if 'count' in self.name else 'MPI_Aint' if 'displs' in self.name else 'int'
        other.type, other.text = (re.sub(r'\bint\b', wide, words) for words in (self.type, self.text))
        return other


class Call:
    """One exported function (or, with `sys`, one number of syscall(2))."""

    def __init__(self, layer, match, where):
        self.layer, self.where = layer, where
        self.is_sys = bool(match['sys'])
        self.ret, self.name = match['ret'].strip(), match['name']
        words = match['rest'].split()
        self.cls, self.probe = words[0], words[1]
        self.options = parse_options(words[2:], where)
        self.op = (self.options.get('as') or [self.name])[0]
        fixed, self.variadic, extra = match['params'].partition('...')
        fixed = fixed.strip().rstrip(',')
        self.params = [] if fixed in ('', 'void') else [Parameter(p) for p in fixed.split(',')]
        self.extra = Parameter(extra) if extra.strip() else None
        if self.cls not in CLASSES:
            sys.exit(f'{where}: no such class: {self.cls}')

    def twin(self, name):
        """The same call under another name. It has its own shim, which calls the next function of that name: another
        preload library may stand in front of one name only."""
        other = copy.copy(self)
        other.name, other.options = name, {k: v for k, v in self.options.items() if k not in ('alias', 'sys')}
        return other

    def large(self):
        """The function of MPI 4 that takes large counts and is the same operation."""
        other = self.twin(self.name + '_c')
        other.params = [p.large() for p in self.params]
        other.options['since'] = ['4']
        return other

    def symbols(self):
        """The names under which it is exported."""
        if self.layer == 'mpiio':
            return [self.name, 'P' + self.name]
        return [self.name] + self.options.get('alias', [])

    def prototype(self, name=None):
        params = [p.text for p in self.params] + (['...'] if self.variadic else [])
        return f"{self.ret}{'' if self.ret.endswith('*') else ' '}{name or self.name}({', '.join(params) or 'void'})"

    def pointer(self):
        types = [p.type for p in self.params] + (['...'] if self.variadic else [])
        return f"{self.ret} (*{self.name})({', '.join(types) or 'void'})"

    def arguments(self):
        return ', '.join(p.name for p in self.params + ([self.extra] if self.extra else []))

    def role(self, role):
        """The C expression for a role: a parameter (&: its address), a `with role=expression`, or the probe's default."""
        if role.startswith('&'):
            return '&' + self.role(role[1:])
        name, _, default = role.partition('=')
        for given in self.options.get('with', []):
            if given.startswith(name + '='):
                return given[len(name) + 1:]
        for p in self.params + ([self.extra] if self.extra else []):
            if p.role == name:
                return p.name
        if default:
            return default
        sys.exit(f'{self.where}: {self.name}: probe {self.probe} needs a parameter @{name}')

    def word(self, option, default):
        return (self.options.get(option) or [default])[0]

    def traits(self):
        roles = {p.role for p in self.params}
        found = {f'CALL_{word.upper()}' for word in self.options.get('traits', [])}
        if self.cls in ('read', 'write'):
            found |= {'CALL_HAS_OFFSET', 'CALL_HAS_SIZE', 'CALL_TRANSFERS'}
        if self.cls == 'seek':
            found.add('CALL_RESULT_IS_OFFSET')
        elif 'off' in roles:
            found.add('CALL_HAS_OFFSET')
        if 'len' in roles:
            found.add('CALL_HAS_SIZE')
        return ' | '.join(sorted(found)) or '0'


def parse_options(words, where):
    options, key = {}, None
    for word in words:
        if word in KEYWORDS:
            key = word
            options[key] = []
        elif key is None or (KEYWORDS[key] and word not in KEYWORDS[key].split()):
            sys.exit(f'{where}: unexpected word: {word}')
        else:
            options[key].append(word)
    return options


class Tables:
    def __init__(self, folder):
        self.calls, self.events, self.probes, self.lists = [], [], {}, {}
        for path in sorted(folder.glob('*.calls')):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for row in expand(self.put_lists(line.split('#')[0].strip())):
                    self.read_line(path.stem, row, f'{path.name}:{number}')
        self.lock = folder / 'ids.lock'
        self.ids = dict((name, int(i)) for i, name in (l.split() for l in self.lock.read_text().splitlines()))
        self.mpi = [c for c in self.calls if c.layer == 'mpiio']
        self.exported = [c for c in self.calls if not c.is_sys and c.layer != 'mpiio']

    def put_lists(self, line):
        """`{T:types}` stands for the choices of a line `list types = text|schar|…`."""
        if match := LIST.match(line):
            self.lists[match['name']] = match['words']
            return ''
        return CHOICE.sub(lambda match: f'{{{match[1]}:{self.lists.get(match[2], match[2])}}}', line)

    def read_line(self, layer, line, where):
        if not line:
            return
        if match := PROBE.match(line):
            self.probes[match['name']] = match
        elif match := OPERATION.match(line):
            if layer == 'stack':
                layer = match['name'].split('_')[0]
            rest = ' '.join([match['class'], 'hand', match['rest']])
            self.events.append(Call(layer, dict(sys=None, ret='int', name=match['name'], params='', rest=rest), where))
        elif match := ROW.match(line):
            call = Call(layer, match, where)
            self.add_defaults(call)
            self.calls.append(call)
            if call.probe != 'hand':
                self.calls += [call.twin(name) for name in call.options.pop('alias', [])]
            if 'large' in call.options:
                self.calls.append(call.large())
        else:
            sys.exit(f'{where}: cannot read: {line}')

    def add_defaults(self, call):
        """The options of the probe hold for all its calls; the row overrides them."""
        if probe := self.probes.get(call.probe):
            call.options = parse_options((probe['defaults'] or '').split(), call.where) | call.options

    def probe_calls(self, call):
        """The C expressions before and after a call. The last parameter of the second is the call's result, unless the
        row or the probe says what to take instead; 0 if there is none."""
        probe = self.probes.get(call.probe)
        if not probe:
            sys.exit(f'{call.where}: no such probe: {call.probe}')
        enter = ', '.join(['&probe'] + [call.role(r) for r in probe['enter_roles'].split()])
        leave = ['&probe', f'CALL_{call.op}' if call.cls != '-' else 'CALL_none']
        roles = probe['leave_roles'].split()
        if not any(role.startswith('result=') for role in roles):
            roles.append(f"result={'0' if call.ret == 'void' else 'result'}")
        leave = ', '.join(leave + [call.role(r) for r in roles])
        return f"{probe['enter']}({enter})", f"{probe['leave']}({leave})"

    def operations(self):
        """Operations in order of their ids, each with the row that describes it: the one with the plain name."""
        found = {}
        for call in self.events + self.calls:
            plain = call.name == call.op and found.get(call.op, call).name != call.op
            if call.cls != '-' and (call.op not in found or plain):
                found[call.op] = call
        missing = [op for op in found if op not in self.ids]
        if missing:
            sys.exit(f'{self.lock.name}: no id for {" ".join(missing)}: run python3 gen/gen.py --calls calls --lock')
        return sorted((self.ids[op], op, call) for op, call in found.items())

    def add_ids(self):
        names = {c.op for c in self.events + self.calls if c.cls != '-'}
        fresh = sorted(names - set(self.ids))
        start = max(self.ids.values(), default=0) + 1
        with self.lock.open('a') as out:
            out.writelines(f'{start + i} {name}\n' for i, name in enumerate(fresh))
