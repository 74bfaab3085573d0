// The phases of the program's I/O: a table, and their space of tick, process and offset (space.mjs).
import { button, h, section, swatch } from './dom.mjs';
import { baseName, bytes, count, percent, plural, rate, seconds, shorten } from './format.mjs';
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

function expression(op) {
    if (!moves(op)) return h('code', {}, op.member_expr ? `file ${op.member_expr}` : '');
    const main = op.logical_expr ?? op.offset_expr ?? (op.offset_table ? '(table)' : (op.mode ?? ''));
    const physical = op.logical_expr && op.offset_expr && op.logical_expr !== op.offset_expr;
    return [
        h('code', {}, main),
        physical && h('code', { class: 'second', title: 'first byte in the file' }, op.offset_expr),
    ];
}

const manner = ({ collective, blocking, pointer, mode }) =>
    [collective && 'collective', blocking === false && 'nonblocking', pointer && `${pointer} offset`, mode]
        .filter(Boolean)
        .join(', ');

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

const fileWords = ({ file, files }) => `${shorten(baseName(file), 36)}${files > 1 ? `, ${count(files)} files` : ''}`;

// The rows of a phase, or of several that repeat: one per operation, with the numbers of the phase in the first.
function rowsOf(phases, total, colourOf, actions, attributes) {
    const [phase] = phases;
    const last = phases.at(-1);
    const duration = sum(phases, 'duration');
    const weight = sum(phases, 'weight');
    const name = phases.length > 1 ? `${phase.id}–${last.id}` : `${phase.id}`;
    const rowspan = Math.max(1, phase.ops.length);
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
            phases.length > 1 && h('span', { class: 'quiet' }, ` ×${phases.length}`),
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
            .map(([other, calls]) => `${count(calls)} ${other}`)
            .join(', ');
    const rows =
        phase.ops.length === 0
            ? h('tr', {}, head, h('td', { colspan: 3, class: 'quiet' }, others()), tail)
            : phase.ops.map((op, index) =>
                  h('tr', {}, index === 0 && head, operationCells(op, index === 0 && file), index === 0 && tail),
              );
    return h('tbody', { ...attributes, 'data-first': phase.id, 'data-last': last.id }, rows);
}

const titles = [
    ['Phase'],
    ['Ranks', 1],
    ['Operation'],
    ['Initial offset'],
    ['Rep × request', 1],
    ['Weight', 1],
    ['Time, share', 1],
    ['Bandwidth', 1],
];

function phaseTable({ phases }, colourOf, actions) {
    const total = sum(phases, 'duration');
    const singles = [];
    const bodies = blocksOf(phases).map((block) => {
        const body = rowsOf(block, total, colourOf, actions, {});
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
    return [
        h(
            'div',
            { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table of phases' },
            h(
                'table',
                { class: 'phases', id: 'phase-table' },
                h('caption', { class: 'unseen' }, 'Phases, in the order of the program'),
                h(
                    'thead',
                    {},
                    h(
                        'tr',
                        {},
                        titles.map(([title, right]) =>
                            h('th', { scope: 'col', class: right ? 'number' : null }, title),
                        ),
                    ),
                ),
                bodies,
            ),
        ),
        singles.length > 0 && h('div', { class: 'more' }, show),
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
        `${plural(phases.length, 'phase')} of ${bytes(all)}.` +
        (total > 0 ? ` ${name} the most time: ${seconds(spent)}, ${percent(spent / total)} of all.` : '');
    return unphased > 0 ? `${text} ${bytes(unphased)} are in no phase.` : text;
}

export function phasesSection(document, { actions }) {
    const { phases } = document;
    if (!phases || phases.phases.length === 0) {
        const why = phases ? 'No I/O, so no phases.' : 'The log is too large to look for phases here.';
        return section('phases', 'Phases', h('p', { class: 'quiet' }, why));
    }
    const indexOf = phaseSeriesIndex(phases);
    const colourOf = (id) => `var(--series-${indexOf(id)})`;
    const element = section(
        'phases',
        'Phases',
        h('p', { class: 'intro' }, words(phases)),
        phaseTable(phases, colourOf, actions),
        h(
            'p',
            { class: 'quiet' },
            'idP: the rank; rs: the request size; np: how many ranks; ph: which repetition. ' +
                'Offsets in a file view are computed as if the pieces of all ranks followed each other.',
        ),
        spaceFigures(document, actions),
    );
    actions.showPhase = (id) => {
        const body = [...element.querySelectorAll('tbody:not(.single)')].find(
            ({ dataset }) => Number(dataset.first) <= id && id <= Number(dataset.last),
        );
        if (!body) return;
        body.scrollIntoView({ block: 'center' });
        body.querySelector('button').focus();
        body.classList.add('found');
        setTimeout(() => body.classList.remove('found'), 2000);
    };
    return element;
}
