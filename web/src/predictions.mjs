// Predictions for other storage, if there are any: the documents of `ioseer predict --json`.
import { axis, figure, timeScale, tip, tooltip } from './chart.mjs';
import { h, printable, section } from './dom.mjs';
import { count, percent, seconds, shorten, times, unknown } from './format.mjs';
import { table } from './table.mjs';
import { colour, seriesColour } from './theme.mjs';

const known = (value) => typeof value === 'number';
const title = ({ name, method }) => `${name}, ${method}`;
const interval = ({ low, high }) => (known(low) && known(high) ? `${seconds(low)} to ${seconds(high)}` : unknown);

// --- the time on each target, with the interval in which a run should lie

function whiskers(targets) {
    return {
        type: 'custom',
        name: 'interval',
        dimensions: ['target', 'low', 'high'],
        encode: { x: [1, 2], y: 0 },
        z: 3,
        data: targets.flatMap(({ low, high }, index) => (known(low) && known(high) ? [[index, low, high]] : [])),
        renderItem(params, api) {
            const [from, y] = api.coord([api.value(1), api.value(0)]);
            const [to] = api.coord([api.value(2), api.value(0)]);
            const line = (x1, y1, x2, y2) => ({
                type: 'line',
                shape: { x1, y1, x2, y2 },
                style: { stroke: colour('text'), lineWidth: 1.5 },
            });
            return {
                type: 'group',
                children: [line(from, y, to, y), line(from, y - 5, from, y + 5), line(to, y - 5, to, y + 5)],
            };
        },
    };
}

function buildTargets(prediction) {
    const { targets, recorded } = prediction;
    const rows = [
        ...targets.map((target) => ({ name: title(target), time: target.total })),
        ...(known(recorded) ? [{ name: 'as recorded', time: recorded }] : []),
    ];
    const most = Math.max(...rows.map(({ time }) => time ?? 0), ...targets.map(({ high }) => high ?? 0));
    return {
        grid: { left: 190, right: 28, top: 8, bottom: 28 },
        tooltip: tooltip({
            formatter: ({ dataIndex, value }) => {
                const index = Array.isArray(value) ? value[0] : dataIndex;
                const target = targets[index];
                return target
                    ? tip(title(target), [
                          ['time', seconds(target.total)],
                          ['interval', interval(target)],
                          ['runs', known(target.runs) ? count(target.runs) : null],
                          ['', target.predictable ? null : target.reason],
                      ])
                    : tip('As recorded', [['time', seconds(recorded)]]);
            },
        }),
        xAxis: axis({ type: 'value', axisLine: { show: false }, ...timeScale(most) }),
        yAxis: axis({
            type: 'category',
            inverse: true,
            data: rows.map(({ name }) => printable(name)),
            splitLine: { show: false },
            axisLabel: { width: 176, overflow: 'truncate', interval: 0 },
        }),
        series: [
            {
                type: 'bar',
                name: 'time',
                barMaxWidth: 22,
                data: rows.map(({ time }, index) => ({
                    value: time,
                    itemStyle: {
                        color: index < targets.length ? seriesColour(0) : colour('line-strong'),
                        opacity: targets[index]?.predictable === false ? 0.45 : 1,
                    },
                })),
            },
            whiskers(targets),
        ],
    };
}

function words({ targets, best, recorded }) {
    const winner = targets.find(({ name, total }) => name === best && known(total));
    if (!winner) return 'No target is clearly the fastest.';
    const text = `${winner.name} is the fastest: ${seconds(winner.total)}`;
    if (!known(recorded) || !(winner.total > 0) || !(recorded > 0)) return `${text}.`;
    return recorded >= winner.total
        ? `${text}. As recorded it took ${times(recorded, winner.total)} as long: ${seconds(recorded)}.`
        : `${text}, ${times(winner.total, recorded)} as long as recorded: ${seconds(recorded)}.`;
}

// --- tables

function targetTable({ targets, recorded, best }) {
    const number = (name, value, format) => ({
        title: name,
        number: true,
        value,
        cell: (target) => format(value(target)),
    });
    return table(
        [
            {
                title: 'Target',
                heading: true,
                value: ({ name }) => name,
                cell: ({ name }) => [
                    h('span', { title: name }, shorten(name, 44)),
                    name === best && h('span', { class: 'mark' }, 'fastest'),
                ],
            },
            { title: 'Method', value: ({ method }) => method, cell: ({ method }) => method },
            number('Time', ({ total }) => total, seconds),
            { title: '95 % interval', number: true, cell: interval },
            number('Of recorded', ({ total }) => (known(total) && recorded > 0 ? total / recorded : null), percent),
            number('Variation between runs', ({ cv }) => cv, percent),
            number('Runs', ({ runs }) => runs, count),
            {
                title: 'Note',
                cell: ({ predictable, reason }) =>
                    predictable ? (reason ?? '') : `not predictable${reason ? `: ${reason}` : ''}`,
            },
        ],
        targets,
        { caption: 'Targets', first: 20 },
    ).element;
}

function phaseTable({ targets }) {
    const ids = [...new Set(targets.flatMap(({ phases }) => (phases ?? []).map(({ id }) => id)))];
    if (ids.length === 0) return null;
    const of = (target, id) => target.phases?.find((phase) => phase.id === id);
    return h(
        'details',
        {},
        h('summary', {}, 'Per phase'),
        table(
            [
                { title: 'Phase', number: true, value: (id) => id, cell: (id) => String(id) },
                ...targets.map((target) => ({
                    title: shorten(title(target), 30),
                    number: true,
                    value: (id) => of(target, id)?.time,
                    cell: (id) => [
                        seconds(of(target, id)?.time),
                        of(target, id)?.extrapolated && h('span', { class: 'second' }, 'extrapolated'),
                    ],
                })),
            ],
            ids,
            { caption: 'Predicted time of each phase', first: 20 },
        ).element,
    );
}

function one(prediction, index) {
    return h(
        'article',
        { class: 'prediction' },
        figure({
            id: `prediction-${index}`,
            title: 'Predicted time of all phases',
            message: words(prediction),
            height: 48 + 34 * (prediction.targets.length + 1),
            build: () => buildTargets(prediction),
        }).element,
        targetTable(prediction),
        phaseTable(prediction),
    );
}

export function predictionsSection(document) {
    const shown = (document.predictions ?? []).filter(({ targets }) => targets?.length > 0);
    return shown.length === 0
        ? null
        : section(
              'predictions',
              'Predictions',
              h('p', { class: 'intro' }, 'How long the I/O of this program would take on other storage.'),
              shown.map(one),
          );
}
