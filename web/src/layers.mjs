// Where the time goes below the program: per process, per call, and in one call.
import { axis, figure, legend, timeScale, tip, tooltip } from './chart.mjs';
import { button, choice, h, printable, replace, section, select } from './dom.mjs';
import { baseName, bytes, capital, count, percent, plural, seconds, shorten, times, unbroken } from './format.mjs';
import { lacksTrace, needsTrace } from './names.mjs';
import { table } from './table.mjs';
import { layerColour } from './theme.mjs';

const maxCalls = 14;
// From the program down to the disk.
export const order = ['netcdf', 'hdf5', 'pnetcdf', 'mpiio', 'stdio', 'posix', 'client', 'net', 'server', 'disk'];

function layersOf(layers) {
    const found = new Set(layers.ranks.flatMap((rank) => rank.layers.map(({ layer }) => layer)));
    return [...found].sort((a, b) => ((order.indexOf(a) + 99) % 99) - ((order.indexOf(b) + 99) % 99));
}

// --- choice of exclusive or inclusive time

// A figure with a choice of exclusive or inclusive time, which is passed to `build`.
function kindFigure({ build, ...about }) {
    let kind = 'exclusive';
    const shown = figure({
        ...about,
        build: () => build(kind),
        controls: choice(
            'Kind of time',
            [
                ['exclusive', 'Exclusive'],
                ['inclusive', 'Inclusive'],
            ],
            kind,
            (value) => {
                kind = value;
                shown.redraw();
            },
        ),
    });
    return shown.element;
}

// Exclusive times are stacked; inclusive times overlap and stand side by side.
const layerBars = (names, kind, barMaxWidth, dataOf) =>
    names.map((name) => ({
        type: 'bar',
        name,
        stack: kind === 'exclusive' ? 'time' : undefined,
        barMaxWidth,
        barGap: '10%',
        itemStyle: { color: layerColour(name) },
        data: dataOf(name),
    }));

// --- per process

const rowHeight = (rows) => (rows > 24 ? 14 : rows > 8 ? 20 : 34);

function barAxis(names, more = {}) {
    return axis({
        type: 'category',
        inverse: true,
        data: names.map(printable),
        splitLine: { show: false },
        axisLabel: { width: 160, overflow: 'truncate', interval: names.length > 40 ? 'auto' : 0 },
        ...more,
    });
}

const timeAxis = (largest) => axis({ type: 'value', axisLine: { show: false }, ...timeScale(largest) });

function buildRanks(layers, kind, nameOf) {
    const names = layersOf(layers);
    const find = (rank, name) => rank.layers.find(({ layer }) => layer === name);
    const labels = layers.ranks.map((rank) => shorten(nameOf(rank), 24));
    return {
        grid: { left: 20 + 6.5 * Math.max(...labels.map(({ length }) => length)), right: 24, top: 34, bottom: 28 },
        legend: legend({ data: names }),
        tooltip: tooltip({
            trigger: 'axis',
            axisPointer: { type: 'shadow' },
            formatter: ([{ dataIndex }]) =>
                tip(
                    nameOf(layers.ranks[dataIndex]),
                    names.map((name) => {
                        const layer = find(layers.ranks[dataIndex], name);
                        return [name, layer && `${seconds(layer[kind])} ${kind}, ${plural(layer.calls, 'call')}`];
                    }),
                ),
        }),
        xAxis: timeAxis(
            Math.max(
                ...layers.ranks.map((rank) => rank.layers.reduce((most, layer) => Math.max(most, layer.inclusive), 0)),
            ),
        ),
        yAxis: barAxis(labels),
        series: layerBars(names, kind, 22, (name) => layers.ranks.map((rank) => Math.max(0, find(rank, name)?.[kind] ?? 0))),
    };
}

function rankMessage({ ranks }, names) {
    const total = ({ layers }) => layers.reduce((sum, { exclusive }) => sum + exclusive, 0);
    const all = ranks.map(total);
    const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
    const most = all.indexOf(Math.max(...all));
    const sums = new Map();
    for (const { layer, exclusive } of ranks.flatMap(({ layers }) => layers))
        sums.set(layer, (sums.get(layer) ?? 0) + exclusive);
    const [top] = [...sums].sort((a, b) => b[1] - a[1]);
    const share = percent(mean > 0 ? top[1] / (mean * all.length) : 0);
    const text = `${share} of the time is spent in ${top[0]} itself.`;
    if (all.length === 1) return text;
    if (all[most] < mean * 1.05) return `${text} All ${names.words} spend about the same time: ${seconds(mean)}.`;
    const much = `${seconds(all[most])}, ${times(all[most], mean)} the mean`;
    return `${text} ${capital(names.of(ranks[most]))} spends the most: ${much}.`;
}

export function ranksFigure(layers, names, id = 'layers-ranks') {
    return kindFigure({
        id,
        title: `Time per layer and ${names.word}`,
        message: rankMessage(layers, names),
        height: Math.min(760, 80 + layers.ranks.length * rowHeight(layers.ranks.length)),
        build: (kind) => buildRanks(layers, kind, names.of),
    });
}

// --- per call

function buildCalls(calls, kind) {
    const names = [...new Set(calls.flatMap(({ layer, below }) => [layer, ...below.map((part) => part.layer)]))].sort(
        (a, b) => order.indexOf(a) - order.indexOf(b),
    );
    // In its own layer a call has its exclusive time; in the layers below, the time of their calls inside it.
    const part = (call, name) => {
        if (kind === 'inclusive' && call.layer === name) return call.inclusive;
        return (
            (call.layer === name ? call.exclusive : 0) +
            call.below.filter(({ layer }) => layer === name).reduce((sum, below) => sum + below.seconds, 0)
        );
    };
    return {
        grid: { left: 168, right: 24, top: 34, bottom: 28 },
        legend: legend({ data: names }),
        tooltip: tooltip({
            trigger: 'axis',
            axisPointer: { type: 'shadow' },
            formatter: ([{ dataIndex }]) => {
                const call = calls[dataIndex];
                return tip(call.op, [
                    ['calls', count(call.calls)],
                    ['inclusive', seconds(call.inclusive)],
                    ['exclusive', seconds(call.exclusive)],
                    ['longest', call.longest > 0 ? seconds(call.longest) : null],
                    ['bytes', call.bytes > 0 ? bytes(call.bytes) : null],
                    ...call.below.map((below) => [
                        `below: ${below.layer}`,
                        `${seconds(below.seconds)}, ${plural(below.calls, 'call')}`,
                    ]),
                ]);
            },
        }),
        xAxis: timeAxis(Math.max(...calls.map(({ inclusive }) => inclusive))),
        yAxis: barAxis(calls.map(({ op }) => op)),
        series: layerBars(names, kind, 18, (name) => calls.map((call) => part(call, name))),
    };
}

function callMessage(calls) {
    const [top] = calls;
    const below = top.inclusive - top.exclusive;
    const text = `${top.op} takes the most time: ${seconds(top.inclusive)} in ${plural(top.calls, 'call')}`;
    return below > 0 && top.inclusive > 0
        ? `${text}, ${percent(below / top.inclusive)} of it in the layers below.`
        : `${text}.`;
}

function callsFigure(layers) {
    const calls = layers.calls.slice(0, maxCalls);
    if (calls.length === 0) return null;
    return kindFigure({
        id: 'layers-calls',
        title: 'Time per call, summed over all processes',
        message: callMessage(calls),
        height: 80 + calls.length * 28,
        build: (kind) => buildCalls(calls, kind),
    });
}

function callTable({ calls }) {
    return table(
        [
            { title: 'Call', heading: true, cell: ({ op }) => h('code', {}, op), value: ({ op }) => op },
            { title: 'Layer', cell: ({ layer }) => layer, value: ({ layer }) => layer },
            { title: 'Calls', number: true, cell: (call) => count(call.calls), value: (call) => call.calls },
            { title: 'Bytes', number: true, cell: (call) => bytes(call.bytes), value: (call) => call.bytes },
            {
                title: 'Inclusive',
                number: true,
                cell: (call) => seconds(call.inclusive),
                value: (call) => call.inclusive,
            },
            {
                title: 'Exclusive',
                number: true,
                cell: (call) => seconds(call.exclusive),
                value: (call) => call.exclusive,
            },
            { title: 'Longest', number: true, cell: (call) => seconds(call.longest), value: (call) => call.longest },
        ],
        calls,
        { caption: 'Calls of all layers', sort: [4, true], first: 8 },
    ).element;
}

// --- the tree of one call

function depths(tree) {
    const depth = new Map();
    for (const { id, parent } of tree) depth.set(id, depth.has(parent) ? depth.get(parent) + 1 : 0);
    return depth;
}

function span(call, root) {
    const place = h('span', { class: 'gantt', 'aria-hidden': 'true' });
    const part = h('span');
    const whole = root.duration || 1;
    part.style.left = `${Math.min(99.5, Math.max(0, ((call.start - root.start) / whole) * 100))}%`;
    part.style.width = `${Math.min(100, Math.max(0.5, (call.duration / whole) * 100))}%`;
    part.style.background = `var(--layer-${call.layer}, var(--class-none))`;
    return fillWith(place, part);
}

const fillWith = (element, child) => (element.append(child), element);

// A program may ask for more than there is.
const movedBy = ({ size, result }) => (result !== null && result >= 0 && result < size ? result : size);

function treeRows(call) {
    const [root] = call.tree;
    const depth = depths(call.tree);
    return call.tree.map((row) => {
        const name = h('th', { scope: 'row' }, h('code', {}, row.op));
        name.style.paddingLeft = `${0.75 + depth.get(row.id) * 1.25}rem`;
        return h(
            'tr',
            {},
            name,
            h('td', {}, row.server === undefined ? row.layer : `${row.layer} ${row.server}`),
            h('td', { class: 'wide' }, span(row, root)),
            h('td', { class: 'number' }, seconds(row.start - root.start)),
            h('td', { class: 'number' }, seconds(row.duration)),
            h('td', { class: 'number' }, row.offset === null ? '' : count(row.offset)),
            h('td', { class: 'number' }, row.size === null ? '' : bytes(movedBy(row))),
            h(
                'td',
                { title: row.file },
                row.file ? shorten(baseName(row.file), 28) : '',
                row.line && h('span', { class: 'quiet' }, ` ${row.line}`),
            ),
        );
    });
}

const treeTitles = [
    ['Call'],
    ['Layer'],
    ['Within the call'],
    ['From', 1],
    ['Duration', 1],
    ['Offset', 1],
    ['Size', 1],
    ['File'],
];

const timelineLink = (root, actions) =>
    button('Show in the timeline', () => actions.zoomTo(root.start, root.start + root.duration), {
        class: 'link on-screen',
    });

function treeTable(call, { actions, names }) {
    if (!call?.tree?.length) return h('p', { class: 'quiet' }, 'The calls below this one are not known.');
    const [root] = call.tree;
    const below = call.tree.filter(({ parent }) => parent === root.id);
    const inside = below.reduce((sum, { duration }) => sum + duration, 0);
    const words =
        `${root.op} of ${names.of(call)}, ${seconds(root.duration)} from ${seconds(root.start)} on: ` +
        (below.length === 0
            ? 'no calls below it.'
            : `${plural(call.tree.length - 1 + (call.tree_cut ?? 0), 'call')} below it, ` +
              `which take ${percent(root.duration > 0 ? Math.min(1, inside / root.duration) : 0)} of its time.`);
    return [
        h('p', { class: 'message' }, unbroken(words), ' ', timelineLink(root, actions)),
        h(
            'div',
            { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Tree of the call' },
            h(
                'table',
                { class: 'tree', id: 'call-tree' },
                h('caption', { class: 'unseen' }, words),
                h(
                    'thead',
                    {},
                    h(
                        'tr',
                        {},
                        treeTitles.map(([title, right]) =>
                            h('th', { scope: 'col', class: right ? 'number' : null }, title),
                        ),
                    ),
                ),
                h('tbody', {}, treeRows(call)),
            ),
        ),
        call.tree_cut > 0 && h('p', { class: 'quiet' }, `${plural(call.tree_cut, 'more call')} not shown.`),
    ];
}

function treeOf(layers, shared) {
    const { server, actions, names } = shared;
    const place = h('div', { class: 'call' });
    const show = (call) => replace(place, treeTable(call, shared));
    const heading = h('h3', {}, 'The tree of one call');
    actions.showCall = async (id, start) => {
        const known = layers.slowest.find((call) => call.id === id);
        heading.scrollIntoView({ block: 'start' });
        if (known || !server) {
            replace(
                place,
                known
                    ? treeTable(known, shared)
                    : h(
                          'p',
                          { class: 'quiet' },
                          'A report has only the trees of the longest calls. "ioseer view" shows the tree of any call.',
                      ),
            );
            return;
        }
        try {
            show(await server.call(id, start));
        } catch (error) {
            replace(place, h('p', { class: 'quiet' }, `The server did not answer: ${error.message}`));
        }
    };
    if (layers.slowest.length === 0) return null;
    show(layers.slowest[0]);
    return h(
        'div',
        { class: 'trees' },
        heading,
        select(
            'Longest calls',
            layers.slowest.map((call) => [
                call,
                `${call.op}, ${names.of(call)}: ${seconds(call.duration)} at ${seconds(call.start)}`,
            ]),
            layers.slowest[0],
            show,
        ),
        place,
    );
}

export function layersSection(document, shared) {
    const { layers } = document;
    const { names } = shared;
    if (!layers || layers.ranks.length === 0)
        return section('layers', 'Layers', h('p', { class: 'quiet' }, lacksTrace(document) ? needsTrace('the times of layers') : 'No calls.'));
    return section(
        'layers',
        'Layers',
        h(
            'p',
            { class: 'intro' },
            'Exclusive time is the time in a layer itself; inclusive time includes the layers below.',
        ),
        ranksFigure(layers, names),
        layers.ranks_left_out > 0 &&
            h(
                'p',
                { class: 'quiet' },
                `${plural(layers.ranks_left_out, 'process', 'processes')} with less time not shown.`,
            ),
        callsFigure(layers),
        callTable(layers),
        treeOf(layers, shared),
    );
}
