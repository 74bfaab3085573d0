// The result of a statement: a table with ways to the timeline, a chart of chosen columns, and a file for other programs.
import { axis, figure, legend, tip, tooltip } from './chart.mjs';
import { button, h, replace, select } from './dom.mjs';
import { baseName, bytes, count, plural, rate, seconds, shorten, toBytes } from './format.mjs';
import { table } from './table.mjs';
import { colour, layerColour, seriesColour } from './theme.mjs';

const maxBars = 300;
const maxSeries = 24;
const longestText = 160; // characters in a cell

// --- values

// Small times are easier to compare without an exponent.
function plain(value) {
    if (Number.isInteger(value)) return String(value);
    const size = Math.abs(value);
    if (size >= 1e-4 || size < 1e-9) return String(Number(value.toPrecision(9)));
    return value.toFixed(12).replace(/0+$/, '');
}

const joules = (value) => `${plain(Number(value.toPrecision(4)))} J`;
const formats = { seconds, bytes, 'bytes per second': rate, joules, calls: count };

export const formatOf = (unit) => formats[unit] ?? plain;

// The unit is the begin of what a column of that name means, or is in the name.
function unitOf(tables, name) {
    const known = tables.flatMap(({ columns }) => columns).find((column) => column.name === name);
    const units = Object.keys(formats);
    return units.findLast((unit) => known?.meaning.startsWith(unit)) ?? units.find((unit) => name?.includes(unit));
}

const isNumeric = (rows, column) =>
    rows.some((row) => row[column] !== null) && rows.every((row) => row[column] === null || typeof row[column] === 'number');

// --- the table

function cell(value) {
    if (value === null) return h('span', { class: 'quiet' }, 'NULL');
    if (typeof value === 'number') return plain(value);
    return value.length > longestText ? h('span', { title: value }, shorten(value, longestText)) : value;
}

// Rows with a time lead to the timeline, those of a call to its tree.
function ways({ columns, rows }, actions) {
    const [start, duration, span, id, top] = ['start', 'duration', 'span', 'id', 'top'].map((name) => columns.indexOf(name));
    if (start < 0 || !isNumeric(rows, start)) return null;
    const length = duration >= 0 ? duration : span;
    const call = span >= 0 ? -1 : id >= 0 ? id : top;
    return (row) => {
        if (row[start] === null) return null;
        const id = call >= 0 && Number.isInteger(row[call]) ? row[call] : null;
        const place = { id, start: row[start], duration: length >= 0 ? row[length] : null };
        return waysTo(actions, id !== null, () => place);
    };
}

// find gives the place when it is wanted: {id, start, duration}, or null.
export function waysTo(actions, hasTree, find) {
    const way = (name, go) =>
        button(
            name,
            async () => {
                const place = await find();
                if (place) go(place);
            },
            { class: 'mark' },
        );
    return [
        way('Timeline', ({ start, duration }) => actions.zoomTo(start - (duration || 1e-5), start + 2 * (duration || 1e-5))),
        hasTree && [' ', way('Tree', ({ id, start }) => actions.showCall(id, start))],
    ];
}

function resultTable(result, way, caption) {
    const columns = result.columns.map((title, index) => ({
        title,
        number: isNumeric(result.rows, index),
        value: (row) => row[index],
        cell: (row) => cell(row[index]),
    }));
    if (way) columns.push({ title: 'Show', cell: (row) => h('span', { class: 'ways' }, way(row)) });
    return table(columns, result.rows, { caption, first: 50 }).element;
}

// --- the file

// RFC 4180, as `ioseer query --csv` writes it.
function csvCell(value) {
    if (typeof value !== 'string') return value === null ? '' : String(value);
    const isQuoted = value === '' || /^[=+\-@\t ]|[",\r\n\0]| $/.test(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value; // spreadsheets would compute it
    return isQuoted ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv({ columns, rows }) {
    return [columns, ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');
}

function download(result, name) {
    const address = URL.createObjectURL(new Blob([toBytes(csv(result))], { type: 'text/csv' }));
    h('a', { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// --- the chart

const kinds = [
    ['bar', 'Bars'],
    ['line', 'Lines'],
    ['scatter', 'Points'],
];

// Rows of one series, or of one per value of a column.
function seriesOf(rows, by) {
    if (by === null) return new Map([['', rows]]);
    const found = new Map();
    for (const row of rows) {
        const name = String(row[by] ?? 'NULL');
        if (!found.has(name)) found.set(name, []);
        found.get(name).push(row);
    }
    return new Map([...found].slice(0, maxSeries));
}

const colourOf = (name, index) => (colour(`layer-${name}`) ? layerColour(name) : seriesColour(index));

// what: {kind, x, y, by, isStacked, format}: x, y and by are columns; by may be null.
function buildChart(rows, what, width) {
    const { kind, x, y, by, isStacked, format } = what;
    const isCategory = kind === 'bar' || !isNumeric(rows, x);
    const nameOf = (row) => String(row[x] ?? 'NULL');
    const names = by === null && kind === 'bar' ? rows.map(nameOf) : [...new Set(rows.map(nameOf))];
    const labels = names.slice(0, maxBars);
    const place = new Map(labels.map((name, index) => [name, index]));
    const point = (row, index) => [isCategory ? (by === null && kind === 'bar' ? index : place.get(nameOf(row))) : row[x], row[y]];
    const groups = [...seriesOf(rows, by)];
    const known = by !== null && groups.length > 1;
    return {
        grid: { left: 84, right: 24, top: known ? 52 : 16, bottom: isCategory ? 74 : 44 },
        legend: known ? legend({ type: 'scroll', right: 0 }) : { show: false },
        tooltip: tooltip({
            formatter: ({ seriesName, value, dataIndex, seriesIndex }) =>
                tip(isCategory ? labels[value[0]] : what.formatX(groups[seriesIndex][1][dataIndex][x]), [
                    [what.names[1], format(value[1])],
                    [by === null ? '' : what.names[2], seriesName],
                ]),
        }),
        xAxis: axis({
            type: isCategory ? 'category' : 'value',
            scale: true,
            ...(isCategory && { data: labels }),
            splitLine: { show: false },
            name: what.names[0],
            nameLocation: 'middle',
            nameGap: isCategory ? 58 : 28,
            axisLabel: isCategory
                ? { formatter: (name) => shorten(baseName(name), 18), rotate: labels.length * 90 > width ? 35 : 0 }
                : { formatter: (value) => what.formatX(value) },
        }),
        yAxis: axis({ type: 'value', scale: kind !== 'bar', axisLabel: { formatter: (value) => format(value) } }),
        series: groups.map(([name, points], index) => ({
            type: kind,
            name,
            stack: isStacked ? 'all' : null,
            data: points.map(point).filter(([at]) => at !== undefined),
            itemStyle: { color: colourOf(name, index) },
            lineStyle: { color: colourOf(name, index), width: 2 },
            symbolSize: kind === 'scatter' ? 6 : 4,
            showSymbol: points.length < 200,
            barMaxWidth: 48,
        })),
    };
}

function chartMessage(rows, { kind, x, y, by, names, format }) {
    const values = rows.map((row) => row[y]).filter((value) => value !== null);
    if (values.length === 0) return 'No values.';
    const bars = new Set(rows.map((row) => row[x])).size;
    const series = by === null ? 0 : new Set(rows.map((row) => row[by])).size;
    return [
        `${names[1]}${names[0] && ` by ${names[0]}`}: ${format(values.reduce((a, b) => Math.min(a, b)))} to ` +
            `${format(values.reduce((a, b) => Math.max(a, b)))}.`,
        kind === 'bar' && bars > maxBars && `The first ${count(maxBars)} of ${count(bars)}.`,
        series > maxSeries && `The first ${count(maxSeries)} of ${plural(series, 'series', 'series')}.`,
    ]
        .filter(Boolean)
        .join(' ');
}

// A chart that shows what `show(rows, what)` says; hidden before that.
export function chartOf(id, title, controls) {
    let shown = null;
    const chart = figure({
        id,
        title,
        message: '',
        height: 320,
        controls,
        build: (width) => (shown ? buildChart(shown.rows, shown.what, width) : {}),
    });
    chart.element.hidden = true;
    return {
        element: chart.element,
        hide() {
            chart.element.hidden = true;
        },
        show(rows, what) {
            shown = { rows, what };
            chart.element.hidden = false;
            chart.say(chartMessage(rows, what));
            chart.redraw();
        },
    };
}

// Durations by start; or else the last column with numbers, by the first one with texts or the first one.
function firstChoice({ columns, rows }) {
    const numbers = columns.map((_, index) => index).filter((index) => isNumeric(rows, index));
    const text = columns.findIndex((_, index) => !numbers.includes(index));
    const [start, duration] = ['start', 'duration'].map((name) => numbers.find((index) => columns[index] === name));
    const y = duration ?? numbers.findLast((index) => index !== 0 && index !== start) ?? numbers[0];
    const x = start ?? (text >= 0 ? text : columns.findIndex((_, index) => index !== y));
    if (y === undefined || x < 0 || x === y) return null;
    return { kind: start !== undefined ? 'scatter' : text >= 0 ? 'bar' : 'line', x, y, by: null };
}

function chooser(id, result, tables) {
    const what = firstChoice(result);
    if (!what) return null;
    const controls = h('div', { class: 'choosers' });
    const chart = chartOf(id, 'Chart', controls);
    const columns = result.columns.map((name, index) => [index, shorten(name, 30)]);
    const numbers = columns.filter(([index]) => isNumeric(result.rows, index));
    const show = () => {
        const names = [what.x, what.y, what.by].map((index) => result.columns[index]);
        const [formatX, format] = names.map((name) => formatOf(unitOf(tables, name)));
        chart.show(result.rows, { ...what, names, format, formatX });
    };
    const change = (key) => (value) => {
        what[key] = value;
        show();
    };
    replace(
        controls,
        select('Show', kinds, what.kind, change('kind')),
        select('of', numbers, what.y, change('y')),
        select('by', columns, what.x, change('x')),
        select('for each', [[null, '–'], ...columns], null, change('by')),
    );
    show();
    return chart.element;
}

// --- all of it

export function resultOf(id, result, { tables, actions, name, withChart = true, way = ways(result, actions) }) {
    const { rows, cut } = result;
    return [
        h(
            'div',
            { class: 'result-head' },
            h(
                'p',
                { class: 'quiet', role: 'status' },
                cut
                    ? `The first ${plural(rows.length, 'row')}; there are more. "ioseer query --csv" writes all.`
                    : `${plural(rows.length, 'row')} in ${seconds(result.seconds)}.`,
            ),
            rows.length > 0 && button('Download CSV', () => download(result, name)),
        ),
        rows.length > 1 && withChart && chooser(id, result, tables),
        resultTable(result, way, 'Result'),
    ];
}
