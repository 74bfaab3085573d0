// Charts about many jobs: over time, and how they are distributed.
import { axis, byteScale, figure, legend, tip, tooltip } from './chart.mjs';
import { h } from './dom.mjs';
import { bytes, count, percent, plural } from './format.mjs';
import { classColour, colour, seriesColour } from './theme.mjs';

const grid = { left: 76, right: 16, top: 12, bottom: 28 };
const moved = (group) => group.bytes_read + group.bytes_written;
const most = (groups, value) => groups.reduce((best, group) => (value(group) > value(best) ? group : best));

function bars(name, data, fill, more = {}) {
    return { name, type: 'bar', barMaxWidth: 46, barCategoryGap: '25%', data, itemStyle: { color: fill }, ...more };
}

// names: of the bars; rows(index): what a tip says about one.
function barOption({ names, series, yAxis, rows, hasLegend = false, rotate = 0, interval = 'auto' }) {
    return {
        grid: { ...grid, top: hasLegend ? 36 : grid.top, bottom: rotate ? 56 : grid.bottom },
        legend: hasLegend ? legend() : undefined,
        tooltip: tooltip({ trigger: 'axis', axisPointer: { type: 'shadow' }, formatter: ([{ dataIndex }]) => tip(names[dataIndex], rows(dataIndex)) }),
        xAxis: axis({ type: 'category', data: names, splitLine: { show: false }, axisLabel: { interval, rotate, hideOverlap: interval !== 0 } }),
        yAxis: axis({ type: 'value', min: 0, ...yAxis }),
        series,
    };
}

const counts = { minInterval: 1, axisLabel: { formatter: count } };
const shares = { axisLabel: { formatter: (value) => `${Math.round(value * 100)} %` } };

// --- over time

const tellPeriod = (group) => [
    ['Jobs', count(group.jobs)],
    ['Read', bytes(group.bytes_read)],
    ['Written', bytes(group.bytes_written)],
    ['Share of I/O', percent(group.io_share)],
];

// Periods without jobs are there, with nothing in them. Charts of more than this many would show no single one.
const mostPeriods = 400;

function nextPeriod(name) {
    const [year, month, day] = name.split('-').map(Number);
    const next = new Date(day ? Date.UTC(year, month - 1, day + 1) : Date.UTC(year, month, 1));
    return next.toISOString().slice(0, name.length);
}

export function withEmpty(groups, key) {
    const none = { jobs: 0, bytes_read: 0, bytes_written: 0, io_share: null };
    const all = [];
    for (const [at, group] of groups.entries()) {
        if (at > 0) {
            for (let name = nextPeriod(groups[at - 1][key]); name < group[key]; name = nextPeriod(name)) {
                if (all.length > mostPeriods) return groups;
                all.push({ ...none, [key]: name });
            }
        }
        all.push(group);
    }
    return all;
}

function shareSentence(known, key) {
    if (known.length === 0) return 'The share of I/O is not known.';
    const highest = most(known, (group) => group.io_share);
    const lowest = most(known, (group) => -group.io_share);
    if (known.length === 1) return `${percent(highest.io_share)} of the run time in ${highest[key]}.`;
    return `From ${percent(lowest.io_share)} of the run time (${lowest[key]}) to ${percent(highest.io_share)} (${highest[key]}); at last ${percent(known.at(-1).io_share)}.`;
}

// key: month or day. choose(period) is called for one that is clicked.
export function timeFigures(found, key, choose = null) {
    const groups = withEmpty(found, key);
    const names = groups.map((group) => group[key]);
    const busiest = most(groups, ({ jobs }) => jobs);
    const heaviest = most(groups, moved);
    const rows = (at) => tellPeriod(groups[at]);
    const known = groups.filter(({ io_share: share }) => share !== null);
    const figures = [
        figure({
            id: `${key}-jobs`,
            title: `Jobs per ${key}`,
            message: `${busiest[key]} has the most: ${plural(busiest.jobs, 'job')}.`,
            height: 200,
            build: () => barOption({ names, rows, yAxis: counts, series: [bars('Jobs', groups.map(({ jobs }) => jobs), colour('accent'))] }),
        }),
        figure({
            id: `${key}-bytes`,
            title: `Bytes per ${key}`,
            message: `${heaviest[key]} has the most: ${bytes(heaviest.bytes_read)} read, ${bytes(heaviest.bytes_written)} written.`,
            height: 220,
            build: () =>
                barOption({
                    names,
                    rows,
                    hasLegend: true,
                    yAxis: byteScale(moved(heaviest), 4),
                    series: [
                        bars('Read', groups.map((group) => group.bytes_read), classColour('read'), { stack: 'bytes' }),
                        bars('Written', groups.map((group) => group.bytes_written), classColour('write'), { stack: 'bytes' }),
                    ],
                }),
        }),
        figure({
            id: `${key}-share`,
            title: `Share of the run time in I/O, per ${key}`,
            message: shareSentence(known, key),
            height: 200,
            build: () =>
                barOption({
                    names,
                    rows,
                    yAxis: shares,
                    series: [{ name: 'Share', type: 'line', data: groups.map(({ io_share: share }) => share), symbolSize: 5, connectNulls: false, itemStyle: { color: seriesColour(0) }, lineStyle: { color: seriesColour(0), width: 2 } }],
                }),
        }),
    ];
    for (const one of choose ? figures : []) {
        one.onStart((chart) => {
            chart.getZr().on('click', ({ offsetX, offsetY }) => {
                if (!chart.containPixel('grid', [offsetX, offsetY])) return;
                const [at] = chart.convertFromPixel('grid', [offsetX, offsetY]);
                if (names[at]) choose(names[at]);
            });
        });
    }
    return figures.map(({ element }) => element);
}

// --- distributions

const shareClasses = [
    ['share_below_1', '0–1 %'],
    ['share_below_5', '1–5 %'],
    ['share_below_10', '5–10 %'],
    ['share_below_25', '10–25 %'],
    ['share_below_50', '25–50 %'],
    ['share_above_50', '50–100 %'],
];

export function shareFigure(statistics) {
    const values = shareClasses.map(([key]) => statistics[key]);
    const known = values.reduce((sum, value) => sum + value, 0);
    const high = values.slice(3).reduce((sum, value) => sum + value, 0);
    const names = shareClasses.map(([, name]) => name);
    return figure({
        id: 'shares',
        title: 'Jobs by their share of I/O',
        message: known > 0 ? `${percent(high / known)} of the jobs spend a tenth of their run time or more in I/O.` : 'No share of I/O is known.',
        height: 240,
        build: () =>
            barOption({
                names,
                rows: (at) => [
                    ['Jobs', count(values[at])],
                    ['Share of the jobs', percent(known > 0 ? values[at] / known : null)],
                ],
                interval: 0,
                yAxis: counts,
                series: [bars('Jobs', values, seriesColour(0))],
            }),
    }).element;
}

const small = ['0-100', '100-1K', '1K-10K', '10K-100K'];

export function sizeFigure({ sizes }) {
    const all = sizes.reduce((sum, { reads, writes }) => sum + reads + writes, 0);
    if (all === 0) return h('p', { class: 'quiet' }, 'No sizes of reads and writes are known.');
    const few = sizes.filter(({ size }) => small.includes(size)).reduce((sum, { reads, writes }) => sum + reads + writes, 0);
    return figure({
        id: 'sizes',
        title: 'Reads and writes by size',
        message: `${percent(few / all)} of the ${count(all)} reads and writes that reach the file system move less than 100 KB.`,
        height: 240,
        build: () =>
            barOption({
                names: sizes.map(({ size }) => size),
                rows: (at) => [
                    ['Reads', count(sizes[at].reads)],
                    ['Writes', count(sizes[at].writes)],
                    ['Jobs', count(sizes[at].jobs)],
                ],
                hasLegend: true,
                interval: 0,
                rotate: 40,
                yAxis: { axisLabel: { formatter: compact } },
                series: [
                    bars('Reads', sizes.map(({ reads }) => reads), classColour('read')),
                    bars('Writes', sizes.map(({ writes }) => writes), classColour('write')),
                ],
            }),
    }).element;
}

// 12 M: an axis has no room for all digits.
function compact(value) {
    const [divisor, unit] = value >= 1e9 ? [1e9, ' G'] : value >= 1e6 ? [1e6, ' M'] : value >= 1e4 ? [1e3, ' k'] : [1, ''];
    return `${Number((value / divisor).toFixed(1))}${unit}`;
}
