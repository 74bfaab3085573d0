// The phases of the program's I/O: a table, and their space of tick, process and offset (space.mjs).
import { button, h, section, swatch } from './dom.mjs';
import { baseName, bytes, capital, count, percent, plural, rate, seconds, shorten, unbroken } from './format.mjs';
import { lacksTrace, needsTrace } from './names.mjs';
import { spaceFigures } from './space.mjs';
import { phaseSeriesIndex } from './theme.mjs';

// Consecutive phases of one family are one block of rows with their sums.
function blocksOf(phases) {
    const blocks = [];
    for (const phase of phases) {
        const last = blocks.at(-1);
        if (last && phase.family !== null && phase.family === last[0].family) last.push(phase);
        else blocks.push([phase]);
    }
    return blocks;
}

const sum = (phases, key) => phases.reduce((total, phase) => total + (phase[key] ?? 0), 0);

const moves = ({ op }) => op === 'read' || op === 'write';

const formula = (op) => op.logical_expr ?? op.offset_expr ?? (op.offset_table ? '(table)' : null);

function expression(op) {
    if (!moves(op)) return h('code', {}, op.member_expr ? `file ${op.member_expr}` : '');
    const main = formula(op) ?? op.mode ?? '';
    const physical = op.logical_expr && op.offset_expr && op.logical_expr !== op.offset_expr;
    return [
        h('code', {}, main),
        physical && h('code', { class: 'second', title: 'first byte in the file' }, op.offset_expr),
    ];
}

function manner(op) {
    const { collective, blocking, pointer, mode } = op;
    return [
        collective && 'collective',
        blocking === false && 'nonblocking',
        pointer && `${pointer} offset`,
        formula(op) !== null && mode,
    ]
        .filter(Boolean)
        .join(', ');
}

function operation(op, file) {
    return [
        h(
            'span',
            { class: 'call-name' },
            moves(op) &&
                h('span', { class: `direction ${op.op}`, 'aria-hidden': 'true' }, op.op === 'write' ? 'W' : 'R'),
            (moves(op) && op.call) || op.op,
        ),
        h('span', { class: 'second' }, manner(op)),
        file && h('span', { class: 'second' }, file),
    ];
}

function operationCells(op, file) {
    return [
        h('td', { class: 'operation' }, operation(op, file)),
        h('td', { class: 'expression' }, expression(op)),
        h(
            'td',
            { class: 'number' },
            op.rep === null ? '' : count(op.rep),
            moves(op) && ` × ${op.size === null ? (op.size_expr ?? 'varying') : bytes(op.request)}`,
        ),
    ];
}

const fileWords = ({ file, files }) =>
    `${shorten(baseName(file), 36)}${files > 1 ? ` and ${plural(files - 1, 'other')}` : ''}`;

const shownOperations = 6; // of a phase, and
const shownBlocks = 12; // of phases, those with the most time, until the reader wants all

const otherWords = { meta: 'metadata call' };

// The rows of a phase, or of several that repeat: one per operation, with the numbers of the phase in the first.
function rowsOf(phases, total, colourOf, actions, attributes) {
    const [phase] = phases;
    const last = phases.at(-1);
    const duration = sum(phases, 'duration');
    const weight = sum(phases, 'weight');
    const name = phases.length > 1 ? `${phase.id}–${last.id}` : `${phase.id}`;
    const more = phase.ops.length > shownOperations + 2 ? phase.ops.length - shownOperations : 0;
    const rowspan = Math.max(1, phase.ops.length + (more > 0));
    const number = (text) => h('td', { rowspan, class: 'number' }, text);
    const head = [
        h(
            'th',
            { rowspan, scope: 'row' },
            swatch(colourOf(phase.id)),
            button(name, () => actions.zoomTo(phase.start, last.start + last.span), {
                class: 'link',
                title: 'Show this phase in the timeline',
                'aria-label': `Phase ${name}: show in the timeline`,
            }),
            phases.length > 1 && h('span', { class: 'quiet' }, ` ×${count(phases.length)}`),
        ),
        number(count(phase.np)),
    ];
    const names = phase.ops.length > 0 && !phase.ops.some(moves);
    const perSecond = () => (duration > 0 ? `${count(Math.round((operations * phases.length) / duration))}/s` : '');
    const operations = sum(phase.ops, 'count');
    const tail = [
        number(names ? '' : bytes(weight)),
        number([seconds(duration), h('span', { class: 'second' }, percent(total > 0 ? duration / total : 0))]),
        number(names ? perSecond() : rate(duration > 0 ? weight / duration : null)),
    ];
    const file = phase.file && h('span', { title: phase.file }, fileWords(phase));
    const others = () =>
        Object.entries(phase.others)
            .map(([other, calls]) => plural(calls, otherWords[other] ?? other))
            .join(', ');
    const rows =
        phase.ops.length === 0
            ? h('tr', {}, head, h('td', { colspan: 3, class: 'quiet' }, others()), tail)
            : phase.ops.map((op, index) =>
                  h(
                      'tr',
                      { class: more > 0 && index >= shownOperations && 'later' },
                      index === 0 && head,
                      operationCells(op, index === 0 && file),
                      index === 0 && tail,
                  ),
              );
    return h(
        'tbody',
        { ...attributes, 'data-first': phase.id, 'data-last': last.id },
        rows,
        more > 0 &&
            h(
                'tr',
                { class: 'instead' },
                h('td', { class: 'operation quiet' }, `and ${plural(more, 'operation')} more`),
            ),
    );
}

const titles = (names) => [
    ['Phase'],
    [capital(names.words), 1],
    ['Operation'],
    ['Initial offset'],
    ['Rep × request', 1],
    ['Weight', 1],
    ['Time, of all phases', 1],
    ['Bandwidth', 1],
];

function phaseTable({ phases }, names, colourOf, actions) {
    const total = sum(phases, 'duration');
    const singles = [];
    const blocks = blocksOf(phases);
    const longest = [...blocks].sort((a, b) => sum(b, 'duration') - sum(a, 'duration')).slice(0, shownBlocks);
    const bodies = blocks.map((block) => {
        const body = rowsOf(block, total, colourOf, actions, { class: !longest.includes(block) && 'later' });
        if (block.length === 1) return body;
        const each = block.map((phase) => rowsOf([phase], total, colourOf, actions, { class: 'single', hidden: true }));
        singles.push(...each);
        return [body, each];
    });
    const show = button(
        'Show each repetition',
        () => {
            const open = show.getAttribute('aria-pressed') !== 'true';
            show.setAttribute('aria-pressed', open);
            for (const body of singles) body.hidden = !open;
        },
        { 'aria-pressed': 'false' },
    );
    const table = h(
        'table',
        { class: 'phases folded', id: 'phase-table' },
        h('caption', { class: 'unseen' }, 'Phases, in the order of the program'),
        h(
            'thead',
            {},
            h(
                'tr',
                {},
                titles(names).map(([title, right]) => h('th', { scope: 'col', class: right ? 'number' : null }, title)),
            ),
        ),
        bodies,
    );
    const note = h('p', { class: 'quiet' }, `These ${shownBlocks} rows have the most time.`);
    const unfold = () => {
        table.classList.remove('folded');
        note.remove();
        all.remove();
    };
    const all = button('Show all phases and operations', unfold, { class: 'unfold' });
    return [
        h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table of phases' }, table),
        blocks.length > shownBlocks && note,
        h('div', { class: 'more' }, table.querySelector('.later') && all, singles.length > 0 && show),
    ];
}

function words({ phases, bytes: all, unphased_bytes: unphased }) {
    const total = sum(phases, 'duration');
    // Of the rows of the table: phases that repeat are one.
    const blocks = blocksOf(phases).map((block) => [block, sum(block, 'duration')]);
    const [slowest, spent] = blocks.reduce((best, block) => (block[1] > best[1] ? block : best));
    const name =
        slowest.length > 1
            ? `Phases ${slowest[0].id}–${slowest.at(-1).id} take`
            : `Phase ${slowest[0].id} takes`;
    const text =
        `${plural(phases.length, 'phase')}${all > 0 ? ` of ${bytes(all)}` : ''}.` +
        (total > 0 ? ` ${name} the most time: ${seconds(spent)}, ${percent(spent / total)} of all.` : '');
    return unphased > 0 ? `${text} ${bytes(unphased)} are in no phase.` : text;
}

// What times and bandwidths are of: the summary has another one.
function meaning({ summary }, { word, words }) {
    const text = `The time of a phase is that of the ${word} with the most time in its operations.`;
    if (summary.bandwidth === null) return text;
    return summary.processes === 1
        ? `${text} The bandwidth is the weight divided by it.`
        : `${text} The bandwidth is the weight divided by it, as if all ${words} worked at the same time. That of the ` +
              `summary, ${rate(summary.bandwidth)}, is of all bytes over the time with any ${word} in a transfer, ` +
              `so it is lower where ${words} take turns.`;
}

// What the names in the offsets mean, if there are any.
function legendOf({ phases }) {
    const ops = phases.flatMap((phase) => phase.ops).filter(moves);
    const uses = (pattern) => ops.some((op) => pattern.test(`${formula(op)} ${op.offset_expr} ${op.size_expr}`));
    const names = [
        [/\bidP\b/, 'idP: the rank'],
        [/\brs\b/, 'rs: the request size'],
        [/\bnp\b/, 'np: how many ranks'],
        [/\bph\b/, 'ph: which repetition'],
        [/\(table\)/, '(table): an offset per rank, without a formula'],
    ].filter(([pattern]) => uses(pattern));
    const views = ops.some((op) => op.logical_expr);
    return h(
        'p',
        { class: 'quiet' },
        names.length > 0 && `${names.map(([, text]) => text).join('; ')}. `,
        views && 'Offsets in a file view are computed as if the pieces of all ranks followed each other.',
    );
}

export function phasesSection(document, { actions, names }) {
    const { phases } = document;
    if (!phases || phases.phases.length === 0) {
        const none = lacksTrace(document) ? needsTrace('phases') : 'No I/O, so no phases.';
        const why = phases ? none : 'The log is too large to look for phases here.';
        return section('phases', 'Phases', h('p', { class: 'quiet' }, why));
    }
    const indexOf = phaseSeriesIndex(phases);
    const colourOf = (id) => `var(--series-${indexOf(id)})`;
    const element = section(
        'phases',
        'Phases',
        h('p', { class: 'intro' }, unbroken(words(phases))),
        phaseTable(phases, names, colourOf, actions),
        h('p', { class: 'quiet' }, unbroken(meaning(document, names))),
        legendOf(phases),
        spaceFigures(document, { names }),
    );
    actions.showPhase = (id) => {
        const body = [...element.querySelectorAll('tbody:not(.single)')].find(
            ({ dataset }) => Number(dataset.first) <= id && id <= Number(dataset.last),
        );
        if (!body) return;
        if (body.matches('.later')) element.querySelector('.unfold')?.click();
        body.scrollIntoView({ block: 'center' });
        body.querySelector('button').focus();
        body.classList.add('found');
        setTimeout(() => body.classList.remove('found'), 2000);
    };
    return element;
}
