// Each transfer as a point of tick (without MPI: time) x process x offset: in 3-D, and as three projections.
import { axis, byteScale, figure, timeScale, tip, tooltip } from './chart.mjs';
import { button, h, select, swatch } from './dom.mjs';
import { baseName, bytes, capital, count, plural, ranges, seconds, shorten } from './format.mjs';
import { colour, phaseColours, phaseSeriesIndex } from './theme.mjs';

const [PHASE, RANK, TICK, OFFSET, SIZE, IS_WRITE, FILE, START] = [0, 1, 2, 3, 4, 5, 6, 7];
const symbols = ['triangle', 'circle']; // of reads and writes
const home = { alpha: 18, beta: 30, distance: 250 };

function hasWebGL() {
    try {
        return Boolean(document.createElement('canvas').getContext('webgl'));
    } catch {
        return false;
    }
}

function pointTip(point, files) {
    return tip(point[IS_WRITE] ? 'Write' : 'Read', [
        ['phase', point[PHASE] < 0 ? null : point[PHASE]],
        ['rank', point[RANK]],
        ['tick', point[TICK] > 0 ? count(point[TICK]) : null],
        ['start', point[START] === undefined ? null : seconds(point[START])],
        ['offset', `${count(point[OFFSET])} (${bytes(point[OFFSET])})`],
        ['size', bytes(point[SIZE])],
        ['file', shorten(files[point[FILE]] ?? '', 60)],
    ]);
}

// One series of reads and one of writes. place(point) returns the coordinates. The tooltip needs the point itself.
function pointSeries(points, document, place, more) {
    const colourOf = phaseColours(document.phases);
    return [0, 1].map((isWrite) => ({
        name: isWrite ? 'writes' : 'reads',
        symbol: symbols[isWrite],
        data: points
            .filter((point) => point[IS_WRITE] === isWrite)
            .map((point) => ({
                value: [...place(point), ...point],
                itemStyle: { color: colourOf(point[PHASE]), opacity: 0.9 },
            })),
        ...more,
    }));
}

// A program without MPI has no ticks: its points are shown over time.
const axes = {
    time: { name: 'time', index: START, format: seconds, max: 'dataMax' },
    tick: { name: 'tick', index: TICK, format: count, minInterval: 1, max: 'dataMax' },
    process: { name: 'process', index: RANK, format: count, minInterval: 1 },
    offset: { name: 'offset', index: OFFSET, format: bytes },
};

// --- in 3-D

// The unit of an axis is the same along it.
const scaleOf = (points, { index }) =>
    index === OFFSET
        ? byteScale(extent(points, OFFSET)[1], 5)
        : index === START
          ? timeScale(extent(points, START)[1])
          : {};

// Text needs a large line height: ECharts GL cuts off what is above the line.
function axis3D({ name, format, minInterval, max }, scale) {
    return {
        type: 'value',
        name,
        nameGap: 26,
        minInterval,
        max,
        ...scale,
        nameTextStyle: { color: colour('text'), fontSize: 13, lineHeight: 22 },
        axisLabel: { color: colour('muted'), fontSize: 11, lineHeight: 20, formatter: format, ...scale?.axisLabel },
        axisLine: { lineStyle: { color: colour('line-strong'), width: 1 } },
        axisTick: { show: false },
        splitLine: { lineStyle: { color: colour('line'), width: 1 } },
        axisPointer: { lineStyle: { color: colour('muted'), width: 1 }, label: { show: false } },
    };
}

// Where two axes meet there is room for one label.
function withoutZero(axis) {
    const { formatter } = axis.axisLabel;
    return { ...axis, axisLabel: { ...axis.axisLabel, formatter: (value) => (value === 0 ? '' : formatter(value)) } };
}

function buildSpace(points, document, view, when) {
    const { files } = document.space;
    return {
        tooltip: tooltip({ formatter: ({ value }) => pointTip(value.slice(3), files) }),
        grid3D: {
            boxWidth: 190,
            boxDepth: 100,
            boxHeight: 90,
            viewControl: {
                ...view,
                center: [0, -10, 0],
                autoRotate: false,
                damping: 0,
                zoomSensitivity: 0,
                panSensitivity: 0,
                minDistance: 60,
                maxDistance: 600,
                animation: false,
            },
            light: { main: { intensity: 1 }, ambient: { intensity: 0.4 } },
            environment: 'none',
            postEffect: { enable: false },
        },
        xAxis3D: withoutZero(axis3D(axes[when], scaleOf(points, axes[when]))),
        yAxis3D: axis3D(axes.process),
        zAxis3D: axis3D(axes.offset, scaleOf(points, axes.offset)),
        series: pointSeries(points, document, (point) => [point[axes[when].index], point[RANK], point[OFFSET]], {
            type: 'scatter3D',
            symbolSize: points.length > 2000 ? 5 : 9,
        }),
    };
}

const turns = {
    ArrowLeft: (view) => {
        view.beta -= 10;
    },
    ArrowRight: (view) => {
        view.beta += 10;
    },
    ArrowUp: (view) => {
        view.alpha = Math.min(90, view.alpha + 10);
    },
    ArrowDown: (view) => {
        view.alpha = Math.max(-90, view.alpha - 10);
    },
    '+': (view) => {
        view.distance = Math.max(80, view.distance * 0.85);
    },
    '-': (view) => {
        view.distance = Math.min(500, view.distance / 0.85);
    },
    Home: (view) => {
        Object.assign(view, home);
    },
};

function spaceFigure(state, message) {
    const view = { ...home };
    const turn = (key) => {
        // The user may have turned it with the mouse.
        const control = space.chart?.getOption().grid3D?.[0].viewControl;
        if (control) Object.assign(view, { alpha: control.alpha, beta: control.beta, distance: control.distance });
        turns[key](view);
        space.redraw();
    };
    const tool = (text, key, label) => button(text, () => turn(key), { 'aria-label': label, title: label });
    const space = figure({
        id: 'space',
        title: `${capital(state.when)} × process × offset`,
        message,
        height: 480,
        build: () => buildSpace(state.points(), state.document, view, state.when),
        controls: h(
            'div',
            { class: 'tools', role: 'group', 'aria-label': 'Rotate the chart' },
            tool('◀', 'ArrowLeft', 'Rotate left'),
            tool('▶', 'ArrowRight', 'Rotate right'),
            tool('▲', 'ArrowUp', 'Tilt up'),
            tool('▼', 'ArrowDown', 'Tilt down'),
            tool('+', '+', 'Nearer'),
            tool('−', '-', 'Farther'),
            tool('Reset', 'Home', 'Reset the view'),
        ),
    });
    space.place.tabIndex = 0;
    space.place.setAttribute('role', 'application');
    space.place.addEventListener('keydown', (event) => {
        const key = event.key === '=' ? '+' : event.key;
        if (!turns[key] || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        turn(key);
    });
    return space;
}

// --- projections

function buildSide(points, document, [across, up]) {
    const side = (what) =>
        axis({
            type: 'value',
            name: what.name,
            minInterval: what.minInterval,
            splitNumber: 4,
            nameLocation: 'middle',
            nameGap: 28,
            axisLabel: { formatter: what.format },
            ...scaleOf(points, what),
        });
    return {
        grid: { left: 64, right: 14, top: 12, bottom: 46 },
        tooltip: tooltip({ formatter: ({ value }) => pointTip(value.slice(2), document.space.files) }),
        xAxis: side(axes[across]),
        yAxis: { ...side(axes[up]), nameGap: 50 },
        series: pointSeries(points, document, (point) => [point[axes[across].index], point[axes[up].index]], {
            type: 'scatter',
            clip: false,
            symbolSize: points.length > 2000 ? 3 : 6,
        }),
    };
}

function sideFigure(state, across, up, message) {
    return figure({
        id: `space-${across === state.when ? 'when' : across}-${up}`,
        title: `${capital(up)} by ${across}`,
        message,
        height: 260,
        build: () => buildSide(state.points(), state.document, [across, up]),
    });
}

function extent(points, index) {
    let [low, high] = [Infinity, -Infinity];
    for (const point of points) {
        low = Math.min(low, point[index]);
        high = Math.max(high, point[index]);
    }
    return [low, high];
}

function messages(points, when) {
    const writes = points.filter((point) => point[IS_WRITE]).length;
    const [, lastOffset] = extent(points, OFFSET);
    const { index, format } = axes[when];
    const [first, last] = extent(points, index).map(format);
    const [firstRank, lastRank] = extent(points, RANK);
    const who = firstRank === lastRank ? `process ${firstRank}` : `processes ${firstRank} to ${lastRank}`;
    const span = when === 'tick' ? `ticks ${first} to ${last}` : `${first} to ${last}`;
    return {
        space:
            `${plural(writes, 'write')} and ${plural(points.length - writes, 'read')} of ${who}, ` +
            `${span}, offsets up to ${bytes(lastOffset)}.`,
        tick: `When each part of the file is accessed: ${span}.`,
        process: `Which part of the file each process accesses: ${who}.`,
        when: 'When each process accesses the file.',
    };
}

function legend(document) {
    const indexOf = phaseSeriesIndex(document.phases);
    const seen = new Map();
    for (const { id } of document.phases.phases) {
        const index = indexOf(id);
        if (!seen.has(index)) seen.set(index, []);
        seen.get(index).push(id);
    }
    const name = (ids) => {
        const parts = ranges(ids).split(', ');
        return parts.length > 3 ? `${parts.slice(0, 3).join(', ')} …` : parts.join(', ');
    };
    return h(
        'div',
        { class: 'legend' },
        h('span', {}, h('span', { class: 'symbol' }, '●'), 'write'),
        h('span', {}, h('span', { class: 'symbol' }, '▲'), 'read'),
        [...seen].map(([index, ids]) => h('span', {}, swatch(`var(--series-${index})`), `phase ${name(ids)}`)),
    );
}

function filesByPoints({ points, files }) {
    const numbers = new Map();
    for (const point of points) numbers.set(point[FILE], (numbers.get(point[FILE]) ?? 0) + 1);
    return [...numbers]
        .sort((a, b) => b[1] - a[1])
        .map(([file, number]) => ({ file, name: files[file] ?? '', number }));
}

export function spaceFigures(document) {
    const { space } = document;
    if (!space || space.points.length === 0)
        return h('p', { class: 'quiet' }, 'No transfer has an offset, so there is nothing to show.');
    const files = filesByPoints(space);
    // Offsets of different files are unrelated, so one file is shown at a time. With many files, one alone says little.
    let shown = files[0].number * 4 >= space.points.length ? files[0].file : null;
    const when = space.points.some((point) => point[TICK] > 0) ? 'tick' : 'time';
    const state = {
        document,
        when,
        points: () => space.points.filter((point) => shown === null || point[FILE] === shown),
    };
    const said = messages(state.points(), when);
    // With one process, two of three dimensions say everything.
    const [firstRank, lastRank] = extent(space.points, RANK);
    const isFlat = firstRank === lastRank;
    const view = !isFlat && hasWebGL() ? spaceFigure(state, said.space) : null;
    view?.element.classList.add('on-screen'); // paper gets the projections
    const sides = [sideFigure(state, when, 'offset', said.tick)];
    if (!isFlat)
        sides.push(
            sideFigure(state, 'process', 'offset', said.process),
            sideFigure(state, when, 'process', said.when),
        );
    const show = (file) => {
        shown = file;
        const now = messages(state.points(), when);
        view?.say(now.space);
        for (const [index, text] of [now.tick, now.process, now.when].entries()) sides[index]?.say(text);
        for (const chart of [view, ...sides]) chart?.redraw();
    };
    const choices = [
        ...files.slice(0, 50).map(({ file, name }) => [file, shorten(baseName(name), 60)]),
        [null, 'all files'],
    ];
    return h(
        'div',
        { class: 'space' },
        h(
            'div',
            { class: 'space-head' },
            h('h3', {}, 'Phases in space and time'),
            files.length > 1 && select('File', choices, shown, show),
        ),
        h(
            'p',
            { class: 'intro' },
            when === 'tick' && 'The tick is a logical clock: it counts the MPI calls of a process. ',
            'Each point is a transfer.',
            space.sampled && ` One of ${count(space.every)} transfers of a thread is shown.`,
        ),
        legend(document),
        view?.element,
        !isFlat && !view && h('p', { class: 'quiet' }, 'This browser has no WebGL, so only the projections are shown.'),
        h(
            'div',
            { class: 'sides' },
            sides.map(({ element }) => element),
        ),
    );
}
