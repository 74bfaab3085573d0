// Inside the collective calls of MPI-IO: waiting, exchange, file access and the rest, per file and operation.
import { axis, figure, legend, timeScale, tip, tooltip } from './chart.mjs';
import { h, printable, section } from './dom.mjs';
import { baseName, bytes, capital, count, path, percent, plural, ranges, seconds, unknown } from './format.mjs';
import { table } from './table.mjs';
import { colour } from './theme.mjs';

const maxRows = 12;
const parts = [
    ['wait', 'waiting', 'series-7'],
    ['exchange', 'exchange', 'series-5'],
    ['io', 'file access', 'series-1'],
    ['rest', 'rest', 'series-0'],
];
// Two lines.
const over = (first, second) => [first, second && h('span', { class: 'second' }, second)];
const spread = ({ mean, variance }) => over(seconds(mean), mean > 0 && `± ${seconds(Math.sqrt(variance))}`);
const sieving = ({ op, hints }) => (op.includes('write') ? hints.romio_ds_write : hints.romio_ds_read);
const hintText = (row) =>
    [
        row.hints.cb_nodes && `cb_nodes ${row.hints.cb_nodes}`,
        row.hints.cb_buffer_size && `cb_buffer_size ${bytes(Number(row.hints.cb_buffer_size))}`,
        sieving(row) && `sieving ${sieving(row)}`,
    ]
        .filter(Boolean)
        .join(', ');
const roundRows = ({ rounds, round }) =>
    round && rounds > 1
        ? [['a round of an aggregator', `${seconds(round.exchange.mean)} exchange, ${seconds(round.io.mean)} file access`]]
        : [];
const shortName = (op) => op.replace('MPI_File_', '');
const title = ({ op, file }) => `${shortName(op)} ${file ? baseName(file) : ''}`;

function build(rows) {
    return {
        grid: { left: 200, right: 24, top: 34, bottom: 28 },
        legend: legend({ data: parts.map(([, name]) => name) }),
        tooltip: tooltip({
            trigger: 'axis',
            axisPointer: { type: 'shadow' },
            formatter: ([{ dataIndex }]) => {
                const row = rows[dataIndex];
                return tip(row.op, [
                    ['calls', count(row.calls)],
                    ...parts.map(([key, name]) => [
                        name,
                        `${seconds(row[key].seconds)}, ${percent(row.seconds > 0 ? row[key].seconds / row.seconds : 0)}`,
                    ]),
                    ...roundRows(row),
                ]);
            },
        }),
        xAxis: axis({
            type: 'value',
            axisLine: { show: false },
            ...timeScale(Math.max(...rows.map((row) => row.seconds))),
        }),
        yAxis: axis({
            type: 'category',
            inverse: true,
            data: rows.map((row) => printable(title(row))),
            splitLine: { show: false },
            axisLabel: { width: 188, overflow: 'truncate', interval: 0 },
        }),
        series: parts.map(([key, name, tint]) => ({
            type: 'bar',
            name,
            stack: 'time',
            barMaxWidth: 22,
            itemStyle: { color: colour(tint) },
            data: rows.map((row) => row[key].seconds),
        })),
    };
}

function message(collectives, worlds) {
    const all = parts.reduce((sum, [key]) => sum + collectives[key], 0);
    const shares = parts.map(([key, name]) => `${percent(all > 0 ? collectives[key] / all : 0)} ${name}`);
    const [late] = collectives.late;
    const last =
        late?.seconds > 0
            ? ` Rank ${late.rank}${worlds.length > 1 ? ` (PID ${late.pid})` : ''} keeps the others waiting most: it comes ` +
              `last to ${count(late.last)} of its ${plural(late.calls, 'call')} with others, which wait ` +
              `${seconds(late.seconds)} for it.`
            : '';
    const share = collectives.shuffle_share;
    const shuffle = share === null ? '' : ` Exchange is ${percent(share)} of exchange and file access.`;
    return `${seconds(all)} of all ranks in ${plural(collectives.calls, 'call')}: ${shares.join(', ')}.${shuffle}${last}`;
}

function operationTable(rows) {
    return table(
        [
            { title: 'Call', heading: true, cell: ({ op }) => h('code', {}, shortName(op)), value: ({ op }) => op },
            { title: 'File', cell: ({ file }) => (file ? path(file) : unknown), value: ({ file }) => file },
            { title: 'Calls', number: true, cell: (row) => count(row.calls), value: (row) => row.calls },
            { title: 'Time', number: true, cell: (row) => seconds(row.seconds), value: (row) => row.seconds },
            ...parts.map(([key, name]) => ({
                title: capital(name),
                hint: 'mean per call and rank ± standard deviation',
                number: true,
                cell: (row) => spread(row[key]),
                value: (row) => row[key].mean,
            })),
            {
                title: 'Shuffle',
                hint: 'exchange / (exchange + file access)',
                number: true,
                cell: ({ shuffle_share: share }) => (share === null ? unknown : percent(share)),
                value: ({ shuffle_share: share }) => share,
            },
            {
                title: 'Rounds',
                hint: 'of two-phase I/O, per call',
                number: true,
                cell: ({ rounds }) => (rounds === null ? unknown : String(Math.round(rounds * 10) / 10)),
                value: ({ rounds }) => rounds,
            },
            {
                title: 'Aggregators',
                hint: 'ranks that access the file for others',
                cell: (row) => {
                    const { aggregators, aggregator_count: all } = row;
                    const more = all > aggregators.length ? ` … of ${count(all)}` : '';
                    return all > 0 ? over(ranges(aggregators) + more, hintText(row)) : unknown;
                },
            },
        ],
        rows,
        { caption: 'Collective operations', sort: [3, true], first: 8 },
    ).element;
}

function leftOut({ unmatched, nonblocking, trace_ended: ended }) {
    const words = [
        unmatched > 0 && `${plural(unmatched, 'call')} without all their counterparts on other ranks`,
        nonblocking > 0 && plural(nonblocking, 'nonblocking call'),
    ].filter(Boolean);
    const sentences = [
        words.length > 0 && `Not divided: ${words.join(', ')}.`,
        ended > 0 && `The trace of ${plural(ended, 'process')} ended early: later calls are not counted here.`,
    ].filter(Boolean);
    return sentences.length > 0 && h('p', { class: 'quiet' }, sentences.join(' '));
}

export function collectivesSection({ job: { collectives, worlds } }) {
    if (!collectives || collectives.calls + collectives.unmatched + collectives.nonblocking === 0) return null;
    const rows = collectives.operations.filter(({ calls }) => calls > 0);
    return section(
        'collectives',
        'Collective calls',
        h(
            'p',
            { class: 'intro' },
            'Ranks wait for others, exchange data, and access the file or wait for those that do. Each part in the ' +
                'table is the mean per call and rank ± standard deviation.',
        ),
        rows.length > 0 && [
            figure({
                id: 'collectives',
                title: 'Time inside collective calls, summed over all ranks',
                message: message(collectives, worlds),
                height: 80 + Math.min(rows.length, maxRows) * 30,
                build: () => build(rows.slice(0, maxRows)),
            }).element,
            operationTable(rows),
        ],
        leftOut(collectives),
    );
}
