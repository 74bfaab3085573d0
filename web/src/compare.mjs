// Several logs side by side: their numbers and their aligned phases.
import { axis, clipRectByRect, figure, timeScale, tip, tooltip } from './chart.mjs';
import { printable, h, section } from './dom.mjs';
import { baseName, bytes, percent, plural, rate, seconds, shorten, times, unknown } from './format.mjs';
import { table } from './table.mjs';
import { colour, seriesColour } from './theme.mjs';

const maxPhases = 1000; // aligning takes time in proportion to the product of both numbers

const digitless = (name) => baseName(name ?? '').replace(/\d+/g, '#');
const signature = (phase) => `${phase.ops.map(({ op }) => op).join('+')} ${digitless(phase.file)}`;

// Pairs of equal phases in the same order, as many as possible: [[index or null, index or null], ...].
function align(a, b) {
    const width = b.length + 1;
    const longest = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i--) {
        for (let j = b.length - 1; j >= 0; j--) {
            longest[i * width + j] =
                a[i] === b[j]
                    ? longest[(i + 1) * width + j + 1] + 1
                    : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
        }
    }
    const pairs = [];
    let [i, j] = [0, 0];
    while (i < a.length || j < b.length) {
        if (i < a.length && j < b.length && a[i] === b[j]) pairs.push([i++, j++]);
        else if (j === b.length || (i < a.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1]))
            pairs.push([i++, null]);
        else pairs.push([null, j++]);
    }
    return pairs;
}

// Rows of phases that belong together: one phase, or null, per log. Each log is aligned with the rows made so far.
export function alignPhases(documents) {
    let rows = [];
    for (const [at, document] of documents.entries()) {
        const phases = (document.phases?.phases ?? []).slice(0, maxPhases);
        const before = rows.map((row) => signature(row.find(Boolean)));
        const empty = () => Array(at).fill(null);
        rows = align(before, phases.map(signature)).map(([row, phase]) => [
            ...(row === null ? empty() : rows[row]),
            phase === null ? null : phases[phase],
        ]);
    }
    return rows;
}

// better: 1 if more is better, -1 if less is better, 0 if neither is.
export function change(value, reference, better) {
    if (value === null || reference === null || value === undefined || !(reference > 0)) return null;
    const ratio = value / reference - 1;
    if (Math.abs(ratio) < 0.005) return null;
    const kind = better === 0 || Math.abs(ratio) < 0.05 ? '' : ratio * better > 0 ? ' better' : ' worse';
    const text = ratio > 9 ? times(value, reference) : `${ratio >= 0 ? '+' : '−'}${Math.abs(ratio * 100).toFixed(0)} %`;
    return h('span', { class: `change${kind}` }, text);
}

function numberRows(documents) {
    const row = (name, value, format, better) => ({ name, values: documents.map(value), format, better });
    return [
        row('Run time', ({ summary }) => summary.run_seconds, seconds, -1),
        row('Time in I/O, mean', ({ summary }) => summary.io_seconds, seconds, -1),
        row('Share of the run time', ({ summary }) => summary.io_share, percent, -1),
        row('Read', ({ summary }) => summary.bytes_read, bytes, 0),
        row('Written', ({ summary }) => summary.bytes_written, bytes, 0),
        row('Effective bandwidth', ({ summary }) => summary.bandwidth, rate, 1),
    ];
}

function numbersTable(documents) {
    return table(
        [
            { title: '', heading: true, cell: ({ name }) => name },
            ...documents.map((document, at) => ({
                title: shorten(document.log, 28),
                number: true,
                hint: document.title,
                cell: ({ values, format, better }) => [
                    format(values[at]),
                    at > 0 && change(values[at], values[0], better),
                ],
            })),
        ],
        numberRows(documents),
        { caption: 'Numbers of the logs' },
    ).element;
}

function phaseTable(documents, rows) {
    return table(
        [
            { title: 'Phase', heading: true, cell: (row) => row.map((phase) => phase?.id ?? unknown).join(' / ') },
            {
                title: 'Operations',
                cell: (row) =>
                    [...new Set(row.filter(Boolean).flatMap(({ ops }) => ops.map(({ call, op }) => call ?? op)))].join(
                        ', ',
                    ),
            },
            ...documents.map((document, at) => ({
                title: shorten(document.log, 24),
                number: true,
                value: (row) => row[at]?.duration,
                cell: (row) =>
                    row[at]
                        ? [
                              seconds(row[at].duration),
                              at > 0 && row[0] && change(row[at].duration, row[0].duration, -1),
                              h('span', { class: 'second' }, rate(row[at].bandwidth)),
                          ]
                        : unknown,
            })),
        ],
        rows,
        { caption: 'Phases side by side', first: 20 },
    ).element;
}

// Phases of one row begin at the same place: a row is as wide as its longest phase.
function buildAligned(documents, rows) {
    const data = [];
    let cursor = 0;
    for (const [index, row] of rows.entries()) {
        const longest = Math.max(...row.map((phase) => phase?.duration ?? 0));
        for (const [log, phase] of row.entries()) if (phase) data.push([log, cursor, cursor + phase.duration, index]);
        cursor += longest * 1.02;
    }
    return {
        grid: { left: 130, right: 20, top: 6, bottom: 28 },
        tooltip: tooltip({
            formatter: ({ value: [log, , , index] }) =>
                tip(
                    `${documents[log].log}: phase ${rows[index][log].id}`,
                    documents.map((document, at) => [
                        document.log,
                        rows[index][at]
                            ? `${seconds(rows[index][at].duration)}, ${rate(rows[index][at].bandwidth)}`
                            : 'no such phase',
                    ]),
                ),
        }),
        xAxis: axis({ type: 'value', min: 0, max: cursor, ...timeScale(cursor) }),
        yAxis: axis({
            type: 'category',
            inverse: true,
            data: documents.map(({ log }) => printable(log)),
            splitLine: { show: false },
            axisLabel: { width: 116, overflow: 'truncate' },
        }),
        series: [
            {
                type: 'custom',
                data,
                dimensions: ['log', 'start', 'end', 'row'],
                encode: { x: [1, 2], y: 0 },
                renderItem(params, api) {
                    const [x, y] = api.coord([api.value(1), api.value(0)]);
                    const [end] = api.coord([api.value(2), api.value(0)]);
                    const height = api.size([0, 1])[1] * 0.6;
                    const shape = clipRectByRect(
                        { x, y: y - height / 2, width: Math.max(1, end - x), height },
                        params.coordSys,
                    );
                    return (
                        shape && {
                            type: 'rect',
                            shape,
                            style: { fill: seriesColour(api.value(3)), stroke: colour('surface'), lineWidth: 1 },
                        }
                    );
                },
            },
        ],
    };
}

function words(documents, rows) {
    const all = documents.map((_, at) => rows.reduce((sum, row) => sum + (row[at]?.duration ?? 0), 0));
    const best = all.indexOf(Math.min(...all));
    const shared = rows.filter((row) => row.every(Boolean)).length;
    const found = `${shared || 'None'} of ${plural(rows.length, 'phase')} ${shared === 1 ? 'is' : 'are'} in all logs.`;
    return `${found} ${documents[best].log} spends the least time in phases: ${seconds(all[best])}.`;
}

export function compareSection(documents) {
    const rows = alignPhases(documents);
    if (rows.length === 0) return section('compare', 'Side by side', numbersTable(documents));
    return section(
        'compare',
        'Side by side',
        numbersTable(documents),
        figure({
            id: 'compare',
            title: 'Aligned phases',
            message: words(documents, rows),
            height: 60 + documents.length * 44,
            build: () => buildAligned(documents, rows),
        }).element,
        phaseTable(documents, rows),
    );
}
