// The files: a table, and the request sizes, strides, ranks and counters of the selected file.
import { axis, figure, legend, tip, tooltip } from './chart.mjs';
import { h, replace, section } from './dom.mjs';
import { bytes, capital, count, path, percent, plural, seconds, shorten, times, unbroken } from './format.mjs';
import { facts, table } from './table.mjs';
import { classColour, colour } from './theme.mjs';

const spent = ({ seconds: time, total }) => (time ? time.read + time.write + time.meta : total);

// Every file: those with details, and the others with a few figures.
function allFiles({ files, file_list: list }) {
    const known = new Set(files.map(({ name }) => name));
    const others = (list ?? []).filter(([name]) => !known.has(name));
    return [
        ...files,
        ...others.map(([name, total, read, written, opens]) => ({
            name,
            total,
            bytes_read: read,
            bytes_written: written,
            opens,
        })),
    ];
}

function columns(names) {
    const number = (title, value, format) => ({ title, number: true, value, cell: (file) => format(value(file)) });
    const moved = (title, value, time) => ({
        title: `${title}, time`,
        number: true,
        value,
        cell: (file) => [
            h('span', {}, bytes(value(file))),
            time(file) !== undefined && h('span', { class: 'second' }, seconds(time(file))),
        ],
    });
    return [
        { title: 'File', heading: true, value: ({ name }) => name, cell: ({ name }) => path(name) },
        moved(
            'Read',
            (file) => file.bytes_read,
            (file) => file.seconds?.read,
        ),
        moved(
            'Written',
            (file) => file.bytes_written,
            (file) => file.seconds?.write,
        ),
        number('Opens', (file) => file.opens, count),
        number(capital(names.words), (file) => file.ranks || file.processes || null, count),
        number('Metadata time', (file) => file.seconds?.meta ?? null, seconds),
        number('Total time', spent, seconds),
    ];
}

// --- request sizes

function buildSizes({ sizes }) {
    const series = (name, data, word) => ({
        type: 'bar',
        name: word,
        data,
        itemStyle: { color: classColour(name) },
        barMaxWidth: 22,
    });
    return {
        grid: { left: 56, right: 10, top: 34, bottom: 66 },
        legend: legend({ data: ['reads', 'writes'] }),
        tooltip: tooltip({
            trigger: 'axis',
            axisPointer: { type: 'shadow' },
            formatter: ([{ dataIndex }]) =>
                tip(sizes.labels[dataIndex], [
                    ['reads', count(sizes.read[dataIndex])],
                    ['writes', count(sizes.write[dataIndex])],
                ]),
        }),
        xAxis: axis({
            type: 'category',
            data: sizes.labels,
            splitLine: { show: false },
            axisLabel: { rotate: 35, interval: 0, fontSize: 10 },
            name: 'bytes per request',
            nameLocation: 'middle',
            nameGap: 52,
        }),
        yAxis: axis({ type: 'value', minInterval: 1, axisLine: { show: false }, axisLabel: { formatter: count } }),
        series: [series('read', sizes.read, 'reads'), series('write', sizes.write, 'writes')],
    };
}

function sizeMessage({ sizes, common_sizes: common }) {
    const all = sizes.labels.map((label, index) => [label, sizes.read[index] + sizes.write[index]]);
    const total = all.reduce((sum, [, number]) => sum + number, 0);
    if (total === 0) return 'No reads or writes.';
    const [label, number] = all.reduce((best, bin) => (bin[1] > best[1] ? bin : best));
    const most = common?.[0];
    if (total === 1) return `1 request of ${most ? count(most.value) : label} bytes.`;
    return (
        `${percent(number / total)} of ${plural(total, 'request')} have ${label} bytes` +
        (most ? `; the most frequent size is ${count(most.value)} bytes, ${plural(most.count, 'time')}.` : '.')
    );
}

// --- strides and common sizes

function frequent(rows, word) {
    const most = Math.max(1, ...rows.map((row) => row.count));
    return h(
        'div',
        { class: 'frequent' },
        h('h3', {}, word),
        rows.length === 0
            ? h('p', { class: 'quiet' }, 'None.')
            : h(
                  'table',
                  {},
                  h('caption', { class: 'unseen' }, word),
                  h(
                      'thead',
                      { class: 'unseen' },
                      h('tr', {}, h('th', { scope: 'col' }, 'Bytes'), h('th', { scope: 'col' }, 'Times')),
                  ),
                  h(
                      'tbody',
                      {},
                      rows.map((row) => {
                          const part = h('span');
                          part.style.width = `${(row.count / most) * 100}%`;
                          return h(
                              'tr',
                              {},
                              h('th', { scope: 'row', class: 'number' }, count(row.value)),
                              h(
                                  'td',
                                  {},
                                  h('span', { class: 'gauge', 'aria-hidden': 'true' }, part),
                                  h('span', {}, ` ${plural(row.count, 'time')}`),
                              ),
                          );
                      }),
                  ),
              ),
    );
}

// --- ranks

const heatKinds = [
    ['seconds', 'Time'],
    ['read_bytes', 'Bytes read'],
    ['write_bytes', 'Bytes written'],
];

function groupName({ first, ranks }, index, names) {
    const [from, to] = [first + index * ranks, first + (index + 1) * ranks - 1];
    if (ranks === 1) return names.at(from);
    return names.word === 'rank' ? `ranks ${from} to ${to}` : `${names.at(from)} to ${names.at(to)}`;
}

// The columns: all ranks, or without MPI the processes that used the file.
function columnsOf(heat, names) {
    const used = (index) => heatKinds.some(([key]) => heat[key][index] > 0);
    return [...heat.seconds.keys()].filter((index) => names.word === 'rank' || used(index));
}

function buildHeat({ heat }, names) {
    const shown = columnsOf(heat, names);
    const isMpi = names.word === 'rank';
    const isTilted = !isMpi && shown.length > 5;
    const most = heatKinds.map(([key]) => Math.max(...heat[key], 0));
    // Each row is shaded relative to its own largest value, so that the three can be compared.
    const cells = heatKinds.flatMap(([key], row) =>
        shown.map((index, column) => [column, row, most[row] > 0 ? heat[key][index] / most[row] : 0]),
    );
    return {
        grid: { left: 92, right: 12, top: 6, bottom: isTilted ? 64 : 40 },
        tooltip: tooltip({
            formatter: ({ value: [column] }) =>
                tip(groupName(heat, shown[column], names), [
                    ['time', seconds(heat.seconds[shown[column]])],
                    ['read', bytes(heat.read_bytes[shown[column]])],
                    ['written', bytes(heat.write_bytes[shown[column]])],
                ]),
        }),
        xAxis: axis({
            type: 'category',
            data: shown.map((index) =>
                isMpi ? heat.first + index * heat.ranks : shorten(names.at(heat.first + index * heat.ranks), 15),
            ),
            splitLine: { show: false },
            name: isMpi && heat.ranks > 1 ? 'first rank of each group' : names.word,
            nameLocation: 'middle',
            nameGap: isTilted ? 48 : 24,
            axisLabel: { rotate: isTilted ? 30 : 0 },
        }),
        yAxis: axis({
            type: 'category',
            inverse: true,
            data: heatKinds.map(([, word]) => word),
            splitLine: { show: false },
            axisLine: { show: false },
        }),
        visualMap: {
            show: false,
            min: 0,
            max: 1,
            dimension: 2,
            inRange: { color: [colour('heat-low'), colour('heat-middle'), colour('heat-high')] },
        },
        series: [
            {
                type: 'heatmap',
                data: cells,
                itemStyle: { borderColor: colour('surface'), borderWidth: shown.length > 40 ? 0 : 2 },
            },
        ],
    };
}

function heatMessage({ heat, seconds: spent }, names) {
    const groups = heat.seconds.length;
    const used = heat.seconds.filter((value) => value > 0).length;
    if (used === 0)
        return spent.read + spent.write + spent.meta > 0
            ? 'Which processes spent how much time on it is not known: the log has sums over all of them.'
            : 'No process spent time on it.';
    const most = heat.seconds.indexOf(Math.max(...heat.seconds));
    if (used === 1) return `Only ${groupName(heat, most, names)} used it: ${seconds(heat.seconds[most])}.`;
    const mean = heat.seconds.reduce((sum, value) => sum + value, 0) / groups;
    const who = heat.ranks > 1 ? `groups of ${count(heat.ranks)} ${names.words}` : names.words;
    const isEven = heat.seconds[most] < mean * 1.05;
    const factor = isEven ? 'about as long as the others' : `${times(heat.seconds[most], mean)} the mean`;
    const longest = `${seconds(heat.seconds[most])}, ${factor}`;
    return (
        `${count(used)} of ${count(groups)} ${who} used it; ` +
        `${groupName(heat, most, names)} took the longest, ${longest}. ` +
        'Each row is shaded relative to its own largest value.'
    );
}

// --- counters

function counterTables(layers) {
    const shown = layers.map(({ layer, counters }) => {
        const rows = Object.entries(counters).filter(([, value]) => value !== 0);
        return h(
            'div',
            {},
            h('h4', {}, layer),
            rows.length === 0
                ? h('p', { class: 'quiet' }, 'All counters are 0.')
                : h(
                      'table',
                      { class: 'counters' },
                      h('caption', { class: 'unseen' }, `Counters of ${layer}`),
                      h(
                          'tbody',
                          {},
                          rows.map(([name, value]) =>
                              h(
                                  'tr',
                                  {},
                                  h('th', { scope: 'row' }, h('code', {}, name)),
                                  h('td', { class: 'number' }, Number.isInteger(value) ? count(value) : `${value}`),
                              ),
                          ),
                      ),
                  ),
        );
    });
    return h(
        'details',
        { class: 'counter-list' },
        h('summary', {}, 'Counters, as Darshan names them (those that are not 0)'),
        h('div', { class: 'columns' }, shown),
    );
}

function storage(file) {
    return facts([
        ['File system', file.fs],
        ['Mounted at', file.mount],
        ['Block size', file.block_size ? bytes(file.block_size) : null],
        ['Opens', count(file.opens)],
        ['Read', bytes(file.bytes_read)],
        ['Written', bytes(file.bytes_written)],
    ]);
}

export function filesSection(document, { actions, names }) {
    const { files } = document;
    if (!files || files.length === 0) return section('files', 'Files', h('p', { class: 'quiet' }, 'No files.'));
    const longest = files.reduce((best, file) => (spent(file) > spent(best) ? file : best));
    let chosen = longest;
    const name = h('h3', { class: 'path' });
    const kept = h('div');
    const lists = h('div', { class: 'lists' });
    const counters = h('div');
    const sizes = figure({
        id: 'file-sizes',
        title: 'Request sizes',
        message: sizeMessage(chosen),
        height: 260,
        build: () => buildSizes(chosen),
    });
    const heat = figure({
        id: 'file-heat',
        title: capital(names.words),
        message: heatMessage(chosen, names),
        height: 170,
        build: () => buildHeat(chosen, names),
    });
    const details = h('div', {}, h('div', { class: 'halves' }, sizes.element, lists), heat.element, counters);
    const show = (file) => {
        replace(name, file.name);
        replace(
            kept,
            storage(file),
            !file.layers && h('p', { class: 'quiet' }, 'Only files with more time have details here.'),
        );
        details.hidden = !file.layers;
        if (!file.layers) return;
        chosen = file;
        replace(
            lists,
            frequent(file.strides, 'Frequent strides, in bytes'),
            frequent(file.common_sizes ?? [], 'Frequent sizes, in bytes'),
        );
        replace(counters, counterTables(file.layers));
        sizes.place.hidden = [...file.sizes.read, ...file.sizes.write].every((number) => number === 0);
        heat.place.hidden = file.heat.seconds.filter((value) => value > 0).length < 2;
        sizes.say(sizeMessage(file));
        heat.say(heatMessage(file, names));
        sizes.redraw();
        heat.redraw();
    };
    const all = allFiles(document);
    const list = table(columns(names), all, {
        caption: 'Files',
        sort: [6, true],
        first: 12,
        onChoose: show,
        search: (file) => file.name,
    });
    show(chosen);
    list.choose(chosen);
    actions.showFile = (wanted) => {
        const file = all.find((other) => other.name === wanted);
        if (file) list.choose(file);
        element.scrollIntoView({ block: 'start' });
    };
    const total = all.reduce((sum, file) => sum + spent(file), 0);
    const words =
        `${plural(all.length, 'file')} listed. ${shorten(longest.name, 60)} took the most time: ` +
        `${seconds(spent(longest))}, summed over all processes` +
        (total > 0 ? `, ${percent(spent(longest) / total)} of the time of all files.` : '.');
    const element = section(
        'files',
        'Files',
        h('p', { class: 'intro' }, unbroken(words)),
        list.element,
        h(
            'div',
            { class: 'file', id: 'file-chosen', 'aria-live': 'polite' },
            name,
            kept,
            details,
        ),
    );
    return element;
}
