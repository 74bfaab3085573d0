// The page of a sweep (`ioseer sweep --chart`): time against the size of the page cache, for each place and interface.
import { axis, figure, legend, timeScale, tip, tooltip } from './chart.mjs';
import { h, printable, section } from './dom.mjs';
import { bytes, capital, count, percent, plural, seconds, shorten, times, unknown } from './format.mjs';
import { table } from './table.mjs';
import { colour, seriesColour } from './theme.mjs';

const known = (value) => typeof value === 'number';
const interval = ({ low, high }) => (known(low) && known(high) ? `${seconds(low)} to ${seconds(high)}` : unknown);
const memory = (cache) => (cache === null ? 'no limit' : bytes(cache));
const shortBytes = (value) => bytes(value).replace('.0\u00a0', '\u00a0').replace('.0 ', ' ');
const note = ({ killed, failed, precise, runs }) =>
    killed ? 'killed: it needs more memory' : failed ? `failed: ${failed}` : runs > 0 && !precise ? 'not known precisely' : '';

// The points of a part of the grid: {target, np, interface}, as far as they are given.
const pointsOf = (sweep, part) =>
    sweep.points.filter((point) => Object.entries(part).every(([key, value]) => point[key] === value));

// --- a chart: lines over the size of the page cache

// Sizes lie at their logarithms; no limit is one step beyond the largest.
function placesOf(caches) {
    const limits = caches.filter(known);
    const largest = Math.max(...limits, 1);
    return (cache) => Math.log2(cache ?? largest * 2);
}

function whiskers(line, fill, place) {
    return {
        type: 'custom',
        name: `${line.name}, interval`,
        dimensions: ['size', 'low', 'high'],
        encode: { x: 0, y: [1, 2] },
        silent: true,
        z: 3,
        data: line.points.filter(({ low }) => known(low)).map(({ cache, low, high }) => [place(cache), low, high]),
        renderItem(params, api) {
            const [x, from] = api.coord([api.value(0), api.value(1)]);
            const [, to] = api.coord([api.value(0), api.value(2)]);
            const stroke = (x1, y1, x2, y2) => ({ type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke: fill, lineWidth: 1.5 } });
            return { type: 'group', children: [stroke(x, from, x, to), stroke(x - 4, from, x + 4, from), stroke(x - 4, to, x + 4, to)] };
        },
    };
}

function workingSet(bytesTouched, place, most) {
    return {
        type: 'line',
        name: 'working set',
        data: [
            [place(bytesTouched), 0],
            [place(bytesTouched), most],
        ],
        symbol: 'none',
        silent: true,
        color: colour('muted'),
        lineStyle: { color: colour('muted'), type: 'dashed', width: 1.5 },
    };
}

const tellPoint = (name, point) =>
    tip(name, [
        ['memory', memory(point.cache)],
        ['time', seconds(point.time)],
        ['interval', interval(point)],
        ['runs', count(point.runs)],
        ['', note(point) || null],
    ]);

function buildLines(sweep, lines) {
    const place = placesOf(sweep.caches);
    const timed = lines.flatMap(({ points }) => points.filter(({ time }) => known(time)));
    const most = Math.max(...timed.map(({ high }) => high), 0) * 1.05;
    const touched = timed.find(({ working_set: some }) => known(some))?.working_set;
    const sizes = sweep.caches.map(place);
    const from = Math.min(...sizes, known(touched) ? place(touched) : Infinity);
    const until = Math.max(...sizes, known(touched) ? place(touched) : -Infinity);
    const hasNone = sweep.caches.includes(null);
    const drawn = lines.map((line, index) => ({ ...line, fill: seriesColour(index), points: line.points.filter(({ time }) => known(time)) }));
    return {
        grid: { left: 76, right: 28, top: 36, bottom: 44 },
        legend: legend({ data: [...drawn.map(({ name }) => printable(name)), ...(known(touched) ? ['working set'] : [])] }),
        tooltip: tooltip({ formatter: ({ seriesName, data }) => (data.point ? tellPoint(seriesName, data.point) : '') }),
        xAxis: axis({
            type: 'value',
            name: 'memory',
            nameLocation: 'middle',
            nameGap: 28,
            min: Math.floor(from - 0.25),
            max: Math.ceil(until + 0.25),
            interval: 1,
            axisLabel: { formatter: (value) => (hasNone && value >= place(null) ? (value === place(null) ? 'no limit' : '') : shortBytes(2 ** value)) },
        }),
        yAxis: axis({ type: 'value', min: 0, ...timeScale(most) }),
        series: [
            ...drawn.map(({ name, fill, points }) => ({
                type: 'line',
                name: printable(name),
                symbolSize: 7,
                color: fill,
                itemStyle: { color: fill },
                lineStyle: { color: fill, width: 2 },
                data: [...points].sort((a, b) => place(a.cache) - place(b.cache)).map((point) => ({ value: [place(point.cache), point.time], point })),
            })),
            ...drawn.map((line) => whiskers(line, line.fill, place)),
            ...(known(touched) ? [workingSet(touched, place, most)] : []),
        ],
    };
}

// How much longer a line takes with the least memory than with the most.
function growth({ points }) {
    const sorted = points.filter(({ time }) => known(time)).sort((a, b) => (a.cache ?? Infinity) - (b.cache ?? Infinity));
    return sorted.length > 1 ? { least: sorted[0], most: sorted.at(-1) } : null;
}

function tellLines(lines) {
    const words = lines.flatMap((line) => {
        const ends = growth(line);
        return ends ? [`${line.name} takes ${times(ends.least.time, ends.most.time)} as long with ${memory(ends.least.cache)} as with ${memory(ends.most.cache)}`] : [];
    });
    const killed = lines.flatMap(({ points }) => points.filter((point) => point.killed)).length;
    return `${words.length > 0 ? `${words.join('; ')}.` : 'There is one size only.'}${killed > 0 ? ` ${capital(plural(killed, 'point'))} had too little memory.` : ''}`;
}

function lineFigure(sweep, id, title, lines) {
    return figure({ id, title, message: tellLines(lines), height: 320, build: () => buildLines(sweep, lines) }).element;
}

// --- bars: without sizes, and the differences of two interfaces

function buildBars(groups, names, valueOf, scale, tell) {
    const most = Math.max(...groups.flatMap(({ points }) => points.map((point) => (point && known(valueOf(point)) ? valueOf(point) : 0))));
    return {
        grid: { left: 76, right: 16, top: 36, bottom: 28 },
        legend: legend({ data: groups.map(({ name }) => printable(name)) }),
        tooltip: tooltip({ formatter: ({ seriesName, data }) => tell(seriesName, data.point) }),
        xAxis: axis({ type: 'category', data: names.map((name) => printable(shorten(name, 24))), splitLine: { show: false } }),
        yAxis: axis({ type: 'value', ...scale(most) }),
        series: groups.map(({ name, points }, index) => ({
            type: 'bar',
            name: printable(name),
            barMaxWidth: 40,
            itemStyle: { color: seriesColour(index) },
            data: points.map((point) => ({ value: point ? valueOf(point) : null, point })),
        })),
    };
}

function barFigure(sweep, id, title, groups, names) {
    const all = groups.flatMap(({ name, points }) => points.map((point, at) => ({ name, at, point }))).filter(({ point }) => known(point?.time));
    const fastest = all.reduce((best, one) => (best && best.point.time <= one.point.time ? best : one), null);
    const message = fastest ? `The shortest: ${seconds(fastest.point.time)}, ${fastest.name} on ${names[fastest.at]}.` : 'No point has a time.';
    return figure({ id, title, message, height: 300, build: () => buildBars(groups, names, ({ time }) => time, (most) => ({ min: 0, ...timeScale(most) }), tellPoint) }).element;
}

// As in Figure 3.8 of Liu's thesis: below zero collective calls take longer.
const gain = ({ collective, independent }) => (known(collective?.time) && known(independent?.time) ? 1 - collective.time / independent.time : null);

function differenceFigure(sweep, np) {
    const names = sweep.targets.map(({ name }) => name);
    const pairs = sweep.caches.map((cache) => ({
        name: memory(cache),
        points: names.map((target) => {
            const [collective] = pointsOf(sweep, { target, np, cache, interface: 'collective' });
            const [independent] = pointsOf(sweep, { target, np, cache, interface: 'independent' });
            return { collective, independent };
        }),
    }));
    const shown = pairs.flatMap(({ points }) => points).filter((pair) => gain(pair) !== null);
    if (shown.length === 0) return null;
    const lost = shown.filter((pair) => gain(pair) < 0).length;
    return figure({
        id: `difference-${np ?? 'all'}`,
        title: 'Collective instead of independent I/O',
        message: `Collective calls take longer at ${lost} of ${plural(shown.length, 'point')}.`,
        height: 300,
        build: () =>
            buildBars(pairs, names, gain, () => ({ axisLabel: { formatter: (value) => `${Math.round(value * 100)} %` } }), (name, pair) =>
                tip(name, [
                    ['time saved', gain(pair) === null ? unknown : percent(gain(pair))],
                    ['collective', seconds(pair.collective?.time)],
                    ['independent', seconds(pair.independent?.time)],
                ]),
            ),
    }).element;
}

// --- which charts

const several = (list) => list.length > 1;
const withProcesses = (text, sweep, np) => (several(sweep.nps) ? `${text}, ${plural(np, 'process', 'processes')}` : text);

function figuresOf(sweep, np, at) {
    const names = sweep.targets.map(({ name }) => name);
    const { interfaces } = sweep;
    if (!several(sweep.caches)) {
        const groups = interfaces.map((way) => ({ name: way, points: names.map((target) => pointsOf(sweep, { target, np, interface: way })[0]) }));
        return [barFigure(sweep, `places-${at}`, withProcesses('I/O time on each target', sweep, np), groups, names), several(interfaces) && differenceFigure(sweep, np)];
    }
    const byTarget = interfaces.map((way, index) =>
        lineFigure(
            sweep,
            `targets-${at}-${index}`,
            withProcesses(several(interfaces) ? `I/O time against memory: ${way}` : 'I/O time against memory', sweep, np),
            names.map((target) => ({ name: target, points: pointsOf(sweep, { target, np, interface: way }) })),
        ),
    );
    const byInterface = names.map((target, index) =>
        lineFigure(
            sweep,
            `interfaces-${at}-${index}`,
            withProcesses(`I/O time against memory on ${target}`, sweep, np),
            interfaces.map((way) => ({ name: way, points: pointsOf(sweep, { target, np, interface: way }) })),
        ),
    );
    return [byTarget, several(interfaces) && [byInterface, differenceFigure(sweep, np)]];
}

function pointTable(sweep) {
    const number = (title, value, format) => ({ title, number: true, value, cell: (point) => format(value(point)) });
    return table(
        [
            { title: 'Target', heading: true, value: ({ target }) => target, cell: ({ target }) => h('span', { title: target }, shorten(target, 44)) },
            number('Memory', ({ cache }) => cache, memory),
            { title: 'Page cache', value: ({ cached }) => cached, cell: ({ cached }) => (cached ? 'used' : 'not used') },
            number('Processes', ({ np }) => np, (np) => (np === null ? unknown : count(np))),
            { title: 'Interface', value: (point) => point.interface, cell: (point) => point.interface },
            number('I/O time', ({ time }) => time, seconds),
            { title: '95 % interval', number: true, cell: interval },
            number('Wall time', ({ wall }) => wall, seconds),
            number('Runs', ({ runs }) => runs, count),
            { title: 'Note', cell: note },
        ],
        sweep.points,
        { caption: 'Points', first: 60 },
    ).element;
}

export function sweepPage(sweep) {
    const { program, model, working_set: touched, ended } = sweep;
    const name = program ?? model ?? 'sweep';
    const left = sweep.points.filter(({ runs, killed, failed }) => runs === 0 && !killed && !failed).length;
    return {
        title: name,
        elements: [
            h('h1', { title: name }, shorten(name, 100)),
            h(
                'p',
                { class: 'intro' },
                model ? 'The I/O of this program was replayed' : 'This program ran',
                ` at ${plural(sweep.points.length, 'point')}. `,
                known(touched) && `It touches ${bytes(touched)} of its files: its working set. `,
                'The memory is a limit for the program and the page cache together.',
            ),
            (ended === null || left > 0) && h('p', { class: 'note' }, `The sweep is not complete: ${plural(left, 'point')} did not run.`),
            section('charts', 'I/O time', sweep.nps.map((np, at) => figuresOf(sweep, np, at))),
            section('points', 'Points', pointTable(sweep)),
        ],
    };
}
