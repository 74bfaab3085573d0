// The lab's form: what is to be run, how it is recorded, and on which storage.
import { h, replace } from './dom.mjs';

const storages = [
    ['folder', 'the folder as it is'],
    ['emulated', 'the folder, at the speed of other storage'],
    ['stack', 'a stack that is up'],
    ['new-stack', 'a stack for this run'],
];
const storageNotes = {
    folder: 'The program uses the storage that its folder is on.',
    emulated:
        'The program runs in a second mount of its folder, where each request takes as long as on that storage. Files ' +
        'that it names by whole paths are not slowed down.',
    stack: 'The program runs in the mount of the stack, or in a folder of it if one is typed above. The log also has the layers of the stack.',
    'new-stack':
        'A GlusterFS with probes is started, the program runs in its mount, and the stack ends with the run: its files go with it.',
};

// A field with its label and a place for what is wrong with it. The control is an input or a list.
function field(key, label, control, note) {
    const wrong = h('span', { class: 'wrong', id: `lab-${key}-wrong`, role: 'alert' });
    control.id = `lab-${key}`;
    control.setAttribute('aria-describedby', wrong.id);
    const isBox = control.type === 'checkbox';
    const text = h('span', {}, label);
    const element = h(
        'div',
        { class: isBox ? 'box' : 'field' },
        h('label', { for: control.id }, isBox ? [control, text] : text),
        !isBox && control,
        note && h('span', { class: 'quiet' }, note),
        wrong,
    );
    return {
        key,
        element,
        control,
        get value() {
            if (isBox) return control.checked;
            return control.type === 'number' ? Math.max(0, Math.trunc(control.valueAsNumber || 0)) : control.value;
        },
        set value(value) {
            if (isBox) control.checked = value;
            else control.value = value;
        },
        complain(why) {
            replace(wrong, why);
            control.toggleAttribute('aria-invalid', Boolean(why));
        },
    };
}

const input = (placeholder = '') =>
    h('input', { type: 'text', placeholder, spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off' });
const number = (most) => h('input', { type: 'number', min: 1, max: most, step: 1 });
const box = () => h('input', { type: 'checkbox' });

// What is chosen stays, even if it cannot be chosen any more: the server says what is wrong with it.
function offer(list, options) {
    const chosen = list.value;
    const known = !chosen || options.some(([value]) => value === chosen) ? options : [...options, [chosen, chosen]];
    if (list.options.length === known.length && known.every(([value], at) => list.options[at].value === value)) return;
    replace(
        list,
        known.map(([value, text]) => h('option', { value }, text)),
    );
    if (chosen) list.value = chosen;
}

// Some of a few names are boxes; the form has one text of them.
function boxes(key, title, names) {
    const each = names.map((name) => [name, box()]);
    const wrong = h('span', { class: 'wrong', role: 'alert' });
    const element = h(
        'fieldset',
        { class: 'field boxes' },
        h('legend', {}, title),
        each.map(([name, control]) => h('label', {}, control, h('span', {}, name))),
        wrong,
    );
    return {
        key,
        element,
        get value() {
            return each.filter(([, control]) => control.checked).map(([name]) => name).join(',');
        },
        set value(text) {
            for (const [name, control] of each) control.checked = text.split(',').includes(name);
        },
        complain(why) {
            replace(wrong, why);
        },
    };
}

function group(title, ...children) {
    return h('fieldset', { class: 'group' }, h('legend', {}, title), children);
}

function makeFields() {
    const list = () => h('select');
    return [
        field('program', 'Program', input('./simulation')),
        field('arguments', 'Arguments', input('--steps 10 "two words"'), 'Quotes as in a shell; nothing else of a shell.'),
        field('folder', 'Working folder', input('/home/you/run')),
        field('mpi', 'MPI', list()),
        field('processes', 'Processes', number(1024)),
        field('callsites', 'Source lines', box(), 'where in the program each call was made'),
        field('counters_only', 'Only counters', box(), 'no single calls: for very long runs'),
        field('follow', 'Follow with ptrace', box(), 'also system calls that bypass the C library; slower'),
        boxes('calls_of', 'Calls of these layers', ['hdf5', 'netcdf', 'pnetcdf', 'mpiio', 'stdio', 'posix']),
        boxes('classes', 'Calls that', ['read', 'write', 'open', 'close', 'sync', 'seek', 'meta']),
        field('include', 'Also these files', input("'/etc/*.conf'"), 'Patterns of files that are left out by default.'),
        field('exclude', 'Not these files', input("'*.log'"), 'Patterns of files that are not recorded.'),
        field('storage', 'Storage', list()),
        field('preset', 'Speed', list()),
        field('stack', 'Stack', list()),
        field('servers', 'Servers', number(64)),
        field('layout', 'Layout', list()),
        boxes('layers', 'Layers with probes', ['client', 'net', 'server', 'disk']),
    ];
}

// A form; change() is called whenever something was typed.
export function setupForm(change, run) {
    const fields = makeFields();
    const of = Object.fromEntries(fields.map((one) => [one.key, one]));
    const general = h('p', { class: 'wrong', role: 'alert', id: 'lab-wrong' });
    const note = h('p', { class: 'quiet' });
    const elements = (...keys) => keys.map((key) => of[key].element);
    const rows = h('div', { class: 'fields' }, elements('storage', 'preset', 'stack', 'servers', 'layout', 'layers'));
    const busy = h('span', { class: 'quiet' });
    const element = h(
        'form',
        { class: 'lab-form', novalidate: true, autocomplete: 'off' },
        group('What runs', h('div', { class: 'fields lines' }, elements('program', 'arguments', 'folder')), h('div', { class: 'fields' }, elements('mpi', 'processes'))),
        group('What is recorded', h('div', { class: 'fields' }, elements('callsites', 'counters_only', 'follow')), h('div', { class: 'fields lines' }, elements('calls_of', 'classes')), h('div', { class: 'fields lines' }, elements('include', 'exclude'))),
        group('Where', rows, note),
        general,
        h('div', { class: 'run' }, h('button', { type: 'submit', class: 'primary' }, 'Run'), busy),
    );
    const suit = () => {
        const storage = of.storage.value;
        of.processes.element.hidden = of.mpi.value === 'none';
        of.preset.element.hidden = storage !== 'emulated' && storage !== 'new-stack';
        of.stack.element.hidden = storage !== 'stack';
        for (const key of ['servers', 'layout', 'layers']) of[key].element.hidden = storage !== 'new-stack';
        replace(note, storageNotes[storage]);
    };
    element.addEventListener('input', (event) => {
        fields.find(({ element: own }) => own.contains(event.target))?.complain(null);
        replace(general);
        suit();
        change();
    });
    element.addEventListener('submit', (event) => {
        event.preventDefault();
        run();
    });
    return {
        element,
        say: (text) => replace(busy, text),
        // What can be chosen may change while the page is open: stacks come and go.
        offer({ mpi, presets, stacks, layouts, may_start_stacks: mayStart }) {
            offer(of.mpi.control, [['none', 'none'], ...mpi.map(({ name, title }) => [name, title])]);
            offer(
                of.storage.control,
                storages.filter(([value]) => (value !== 'stack' || stacks.length > 0) && (value !== 'new-stack' || mayStart)),
            );
            offer(of.preset.control, [['none', 'as fast as this machine'], ...presets.map(({ name, about }) => [name, about])]);
            offer(of.stack.control, stacks.map(({ name, servers }) => [name, `${name}, ${servers} servers`]));
            offer(of.layout.control, layouts.map((name) => [name, name]));
        },
        get values() {
            return Object.fromEntries(fields.map(({ key, value }) => [key, value]));
        },
        set values(values) {
            for (const one of fields) {
                one.value = values[one.key];
                // What was chosen is not there any more.
                if (one.control?.selectedIndex < 0) one.control.selectedIndex = 0;
            }
            suit();
        },
        complain(error) {
            for (const one of fields) one.complain(null);
            const wrong = error && of[error.field];
            replace(general, error && !wrong && error.message);
            wrong?.complain(error.message);
            wrong?.control?.focus();
        },
    };
}
