// The stack below the system call: time per layer down to the disks, the servers over time, and one call in all layers.
import { axis, clipRectByRect, figure, legend, timeScale, tip, tooltip } from './chart.mjs';
import { choice, h, printable, section, select } from './dom.mjs';
import { bytes, capital, count, percent, plural, rate, seconds, shorten, unbroken, unknown } from './format.mjs';
import { order, ranksFigure } from './layers.mjs';
import { table } from './table.mjs';
import { colour, layerColour } from './theme.mjs';
import { followKeys, followMouse, Window } from './window.mjs';

const maxRows = 60; // of the picture of a call
const joules = (value) => (value === null ? unknown : `${value >= 1e4 ? (value / 1e3).toFixed(1) : value.toFixed(1)} ${value >= 1e4 ? 'kJ' : 'J'}`);
const number = (value) => (value < 100 ? String(Math.round(value * 10) / 10) : count(value));
const several = (value, one, many) => `${number(value)} ${number(value) === '1' ? one : many}`;

// --- servers

const reasons = {
    slow: ({ slower, lost }) =>
        `its requests take ${slower.toFixed(1)} times as long as requests of the same kind and size at the others, ` +
        `which costs ${seconds(lost)}`,
    crowded: ({ crowded, waited, lost }) =>
        `for ${seconds(crowded)} of the ${seconds(waited)} in which it had requests, several waited for it while the ` +
        `other servers had none; shared by all servers, that would take ${seconds(lost)} less`,
};

function serversMessage({ servers }) {
    const overloaded = servers.filter(({ overload }) => overload);
    const busiest = servers.reduce((most, server) => (server.busy > most.busy ? server : most));
    const shares = servers.map(({ share }) => share);
    const words = overloaded.map((server) => `Server ${server.id} is overloaded: ${reasons[server.overload](server)}.`);
    if (words.length > 0) return words.join(' ');
    return (
        `Server ${busiest.id} is busy the longest: ${seconds(busiest.busy)}. The servers have ` +
        `${percent(Math.min(...shares))} to ${percent(Math.max(...shares))} of the bytes. None is overloaded.`
    );
}

const kinds = {
    busy: { of: ({ busy }, width) => busy.map((value) => value / width), text: percent, most: 1 },
    bandwidth: { of: ({ bytes: moved }, width) => moved.map((value) => value / width), text: rate },
};
const serverName = ({ id, overload }) => `server ${id}${overload ? ', overloaded' : ''}`;

// 1, 2 or 5 times a power of ten.
function roundStep(least) {
    const power = 10 ** Math.floor(Math.log10(least || 1));
    return power * [1, 2, 5, 10].find((factor) => power * factor >= least);
}

function buildServers({ servers, bin_seconds: width }, known, kind) {
    const { of, text, most } = kinds[kind];
    const rows = servers.map((server) => of(server, width));
    const cells = rows.flatMap((row, at) => row.map((value, bin) => [bin, at, value]));
    const bins = rows[0].length;
    const step = roundStep((bins * width) / 8);
    const scale = timeScale(bins * width, step).axisLabel.formatter;
    const steps = (bin) => Math.ceil((bin * width) / step - 1e-6); // that end at or after its beginning
    return {
        grid: { left: 132, right: 24, top: 8, bottom: 28 },
        tooltip: tooltip({
            formatter: ({ data: [bin, at, value] }) =>
                tip(serverName(known[at]), [
                    ['from', seconds(bin * width)],
                    [kind, text(value)],
                ]),
        }),
        xAxis: axis({
            type: 'category',
            data: rows[0].map((_, bin) => bin),
            splitLine: { show: false },
            axisLabel: {
                interval: (bin) => steps(bin) < steps(bin + 1),
                formatter: (bin) => scale(steps(Number(bin)) * step),
            },
        }),
        yAxis: axis({
            type: 'category',
            inverse: true,
            data: servers.map((server, at) => serverName(known[at])),
            splitLine: { show: false },
            axisLabel: {
                interval: servers.length > 40 ? 'auto' : 0,
                color: (name) => colour(name.endsWith('overloaded') ? 'high' : 'muted'),
            },
        }),
        visualMap: {
            show: false,
            min: 0,
            max: most ?? Math.max(...cells.map(([, , value]) => value), 1e-9),
            dimension: 2,
            inRange: { color: [colour('heat-low'), colour('heat-middle'), colour('heat-high')] },
        },
        series: [{ type: 'heatmap', data: cells, progressive: 0 }],
    };
}

function serversFigure(stack, known) {
    let kind = 'busy';
    const shown = figure({
        id: 'stack-servers',
        title: 'Servers over time',
        message: serversMessage(known),
        height: 44 + Math.min(24, Math.max(8, 480 / stack.servers.length)) * stack.servers.length,
        build: () => buildServers(stack, known.servers, kind),
        controls: choice(
            'What is shown',
            [
                ['busy', 'Busy'],
                ['bandwidth', 'Bandwidth'],
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

function serverTable({ servers }) {
    const columns = [
        ['Calls', (server) => server.calls, count, 'of its disk'],
        ['Read', (server) => server.bytes_read, bytes],
        ['Written', (server) => server.bytes_written, bytes],
        ['Share', (server) => server.share, percent, 'of the bytes at all servers'],
        ['Busy', (server) => server.busy, seconds, 'time with a call of its disk under way'],
        ['Mean', (server) => server.latency_mean, seconds, 'of a call'],
        ['Longest', (server) => server.latency_max, seconds],
        ['Throughput', (server) => server.throughput, rate, 'bytes per second of its busy time'],
        ['Energy', (server) => server.energy, joules, 'of its disk'],
    ];
    return table(
        [
            {
                title: 'Server',
                heading: true,
                cell: ({ id, brick, storage, overload }) => [
                    String(id),
                    overload && h('span', { class: 'second overloaded' }, 'overloaded'),
                    (storage ?? brick) && h('span', { class: 'second call-name', title: brick }, shorten(storage ?? brick, 24)),
                ],
                value: ({ id }) => id,
            },
            ...columns.map(([title, value, text, hint]) => ({
                title,
                hint,
                number: true,
                cell: (server) => text(value(server)),
                value,
            })),
        ],
        servers,
        { caption: 'Servers', first: 16 },
    ).element;
}

// --- one call in all layers

const [parentAt, opAt, layerAt, serverAt, startAt, durationAt, bytesAt] = [0, 1, 2, 3, 4, 5, 6];
const rowName = (layer, server) => (server === null ? layer : `${layer} ${server}`);

// The rows of the picture: layers from the top, in each the servers.
function rowsOf(calls) {
    const found = new Map();
    for (const call of calls) found.set(rowName(call[layerAt], call[serverAt]), call);
    return [...found]
        .sort(
            ([, a], [, b]) =>
                order.indexOf(a[layerAt]) - order.indexOf(b[layerAt]) || (a[serverAt] ?? -1) - (b[serverAt] ?? -1),
        )
        .map(([name]) => name)
        .slice(0, maxRows);
}

// Of each call of the client: how long each server kept it waiting, by layer.
function fragmentsOf(calls) {
    const fragments = calls.map((call) => call[layerAt] === 'client' && { call, layers: {} });
    const around = [];
    for (const [at, call] of calls.entries()) {
        around[at] = fragments[at] || around[call[parentAt]];
        if (call[serverAt] === null || !around[at]) continue;
        const servers = (around[at].layers[call[layerAt]] ??= new Map());
        servers.set(call[serverAt], (servers.get(call[serverAt]) ?? 0) + call[durationAt]);
    }
    return fragments.filter(Boolean).map(({ call, layers }) => {
        const most = Object.entries(layers).map(([layer, servers]) => [
            layer,
            [...servers].reduce((longest, server) => (server[1] > longest[1] ? server : longest)),
        ]);
        return { call, most: Object.fromEntries(most) };
    });
}

function callMessage(call, tree, names) {
    const fragments = fragmentsOf(tree.rows);
    const waits = new Map();
    for (const { most } of fragments) {
        const [server, time] = most.net ?? most.server ?? most.disk ?? [];
        if (server !== undefined) waits.set(server, (waits.get(server) ?? 0) + time);
    }
    const [longest] = [...waits].sort((a, b) => b[1] - a[1]);
    const own = call.layers.reduce((most, layer) => (layer.exclusive > most.exclusive ? layer : most));
    return (
        `${call.op} of ${names.of(call)}, ${seconds(call.duration)} from ${seconds(call.start)} on, makes ` +
        `${call.disk_accesses === null ? 'calls' : plural(call.disk_accesses, 'disk access', 'disk accesses')} ` +
        `on ${plural(call.servers, 'server')}. ` +
        `Most of its time is in ${own.layer} itself: ${seconds(own.exclusive)}.` +
        (longest
            ? ` It waits longest for server ${longest[0]}: ${seconds(longest[1])} in ` +
              `${plural(fragments.length, 'call')} of the client${tree.cut > 0 ? ' that are shown' : ''}.`
            : '') +
        (tree.cut > 0 ? ` Only its longest calls of the client are shown: ${plural(tree.cut, 'call')} left out.` : '')
    );
}

function buildCall(call, tree, view) {
    const rows = rowsOf(tree.rows);
    const layers = [...new Set(tree.rows.map((row) => row[layerAt]))].sort((a, b) => order.indexOf(a) - order.indexOf(b));
    return {
        grid: { left: 84, right: 24, top: 34, bottom: 28 },
        legend: legend({ data: layers, selectedMode: false }),
        tooltip: tooltip({
            formatter: ({ data }) => {
                const row = tree.rows[data[3]];
                return tip(row[opAt], [
                    ['server', row[serverAt] === null ? null : String(row[serverAt])],
                    ['from', `${seconds(row[startAt])} after its start`],
                    ['duration', seconds(row[durationAt])],
                    ['bytes', row[bytesAt] === null ? null : bytes(row[bytesAt])],
                ]);
            },
        }),
        xAxis: axis({
            type: 'value',
            min: view.from,
            max: view.to,
            ...timeScale(call.duration, view.to - view.from),
        }),
        yAxis: axis({
            type: 'category',
            inverse: true,
            data: rows.map(printable),
            splitLine: { show: false },
            axisLabel: { interval: 0 },
        }),
        series: layers.map((layer) => ({
            type: 'custom',
            name: layer,
            clip: true,
            dimensions: ['row', 'start', 'end', 'index'],
            encode: { x: [1, 2], y: 0 },
            itemStyle: { color: layerColour(layer) },
            data: tree.rows
                .map((row, at) => [rows.indexOf(rowName(row[layerAt], row[serverAt])), row[startAt], row[startAt] + row[durationAt], at])
                .filter(([row, , , at]) => row >= 0 && tree.rows[at][layerAt] === layer),
            renderItem(params, api) {
                const [x, y] = api.coord([api.value(1), api.value(0)]);
                const [end] = api.coord([api.value(2), api.value(0)]);
                const height = api.size([0, 1])[1] * 0.7;
                const shape = clipRectByRect({ x, y: y - height / 2, width: Math.max(end - x, 1), height }, params.coordSys);
                const style = { fill: layerColour(layer), stroke: colour('surface'), lineWidth: end - x > 4 ? 1 : 0 };
                return shape && { type: 'rect', transition: [], shape, style };
            },
        })),
    };
}

const callHeight = (tree) => 70 + Math.min(26, Math.max(12, 420 / rowsOf(tree.rows).length)) * rowsOf(tree.rows).length;

// The same as the picture, for those who cannot see it.
function fragmentTable(tree) {
    const layers = ['net', 'server', 'disk'];
    const rows = fragmentsOf(tree.rows);
    const cell = (most) => (most ? [seconds(most[1]), h('span', { class: 'second' }, `server ${most[0]}`)] : unknown);
    return table(
        [
            { title: 'Call of the client', heading: true, cell: ({ call }) => h('code', {}, call[opAt]), value: ({ call }) => call[opAt] },
            { title: 'From', number: true, cell: ({ call }) => seconds(call[startAt]), value: ({ call }) => call[startAt] },
            { title: 'Bytes', number: true, cell: ({ call }) => (call[bytesAt] === null ? '' : bytes(call[bytesAt])), value: ({ call }) => call[bytesAt] },
            { title: 'Duration', number: true, cell: ({ call }) => seconds(call[durationAt]), value: ({ call }) => call[durationAt] },
            ...layers.map((layer) => ({
                title: capital(layer),
                hint: 'the server with the most time in this layer',
                number: true,
                cell: ({ most }) => cell(most[layer]),
                value: ({ most }) => most[layer]?.[1] ?? 0,
            })),
        ],
        rows,
        { caption: 'Calls of the client in this call', first: 6 },
    );
}

function callFigure({ longest }, { trees }, names) {
    const calls = trees
        .map((tree) => [longest.find(({ id }) => id === tree.id), tree])
        .filter(([call, tree]) => call && tree.rows.length > 0);
    if (calls.length === 0) return null;
    let [call, tree] = calls[0];
    let view = null;
    const look = () => new Window(0, Math.max(call.duration, 1e-9), () => shown.redraw());
    const fragments = fragmentTable(tree);
    const shown = figure({
        id: 'stack-call',
        title: 'One call in all layers',
        message: callMessage(call, tree, names),
        height: callHeight(tree),
        build: () => buildCall(call, tree, view),
        controls: select(
            'Longest calls',
            calls.map((one) => [one, `${one[0].op}, ${names.of(one[0])}: ${seconds(one[0].duration)} at ${seconds(one[0].start)}`]),
            calls[0],
            (chosen) => {
                [call, tree] = chosen;
                Object.assign(view, { first: 0, last: call.duration, from: 0, to: call.duration });
                shown.say(callMessage(call, tree, names));
                fragments.update(fragmentsOf(tree.rows));
                shown.resizeTo(callHeight(tree));
                shown.redraw();
            },
        ),
    });
    view = look();
    shown.place.tabIndex = 0;
    shown.place.title = 'Arrow keys move and zoom, 0 shows all';
    followKeys(shown.place, view);
    const timeAt = ({ clientX }) =>
        shown.chart.convertFromPixel({ xAxisIndex: 0 }, clientX - shown.place.getBoundingClientRect().left);
    followMouse(shown.place, view, timeAt, () => {});
    return [shown.element, fragments.element];
}

// --- the section

function intro({ calls, energy, watts_active: active, watts_inactive: inactive, watts_assumed: assumed, ...stack }) {
    const { count: all, disk_accesses: accesses, servers_per_collective: collective } = calls;
    const on = `${stack.file_system ?? 'a file system'} with ${plural(stack.servers.length, 'server')}`;
    return unbroken(
        `${plural(all, 'call')} of the program on ${on}, ${stack.layout ?? unknown}.` +
            (accesses.mean === null
                ? ''
                : ` One that moves data makes ${several(accesses.mean, 'disk access', 'disk accesses')} on average, ` +
                  `${count(accesses.max)} at most.`) +
            (collective.calls > 0
                ? ` A collective call uses ${several(collective.mean, 'server', 'servers')} on average, ${collective.max} at most.`
                : '') +
            (energy === null
                ? ''
                : ` The disks take ${joules(energy)}, with ${active} W when busy and ${inactive} W otherwise` +
                  `${assumed ? ' (assumed)' : ''}.`),
    );
}

// --- what went wrong, and what is not among the calls above

function group(rows, key) {
    const found = new Map();
    for (const row of rows) found.set(key(row), [...(found.get(key(row)) ?? []), row]);
    return [...found];
}

function lostServers({ id, down, up, missing }) {
    const lost = (down ?? []).map((time, at) => {
        const back = (up ?? []).find((later) => later >= time && !(later > down[at + 1]));
        return `Server ${id} was lost at ${seconds(time)}${back === undefined ? '' : ` and back at ${seconds(back)}`}.`;
    });
    return missing ? [...lost, `What server ${id} did is missing: ${missing}.`] : lost;
}

// Calls by reason; layers with as many of them are named together.
function looseCalls(untied) {
    const reasons = group(untied ?? [], ({ why }) => why).map(([why, rows]) => {
        const parts = group(rows, ({ calls }) => calls).map(([calls, same]) => {
            const layers = same.map(({ layer }) => layer).join(', ');
            return `${plural(calls, 'call')} ${same.length > 1 ? 'each ' : ''}of ${layers}`;
        });
        return `${parts.join(', ')} (${why})`;
    });
    return reasons.length > 0 && `Caused by no recorded call: ${reasons.join('; ')}.`;
}

function byteDifference({ layer, above, more, bytes_read: read, bytes_written: written, why }) {
    const moved = [read > 0 && `${bytes(read)} read`, written > 0 && `${bytes(written)} written`].filter(Boolean);
    return `${more ? 'More' : 'Fewer'} bytes at ${layer} than at ${above === 'program' ? 'the program' : above}: ${moved.join(', ')} (${why}).`;
}

function notes({ stack, untied }) {
    const sentences = [
        stack.unjoined && `Its calls could not be joined with the program's: ${stack.unjoined}.`,
        stack.gone !== null && stack.gone !== undefined && `It ended at ${seconds(stack.gone)}, before the job.`,
        ...stack.servers.flatMap(lostServers),
        ...(stack.differences ?? []).map(byteDifference),
        looseCalls(untied),
    ].filter(Boolean);
    return sentences.length > 0 && h('p', { class: 'quiet' }, unbroken(sentences.join(' ')));
}

export function stackSection(document, { names }) {
    const { stack } = document.job;
    if (!stack) return null;
    return section(
        'stack',
        'Stack',
        h('p', { class: 'intro' }, intro(stack)),
        notes(document.job),
        stack.processes.length > 0 && ranksFigure({ ranks: stack.processes }, names, 'stack-layers'),
        stack.servers.length > 0 && document.stack && serversFigure(document.stack, stack),
        stack.servers.length > 0 && serverTable(stack),
        document.stack && callFigure(stack, document.stack, names),
    );
}
