// Each transfer as a point of tick (without MPI: time) x process x offset: in 3-D, and as three projections.
import { axis, byteScale, figure, timeScale, tip, tooltip } from './chart.mjs';
import { button, h, replace, select, swatch } from './dom.mjs';
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

function pointTip(point, { document: { space }, names }) {
    return tip(point[IS_WRITE] ? 'Write' : 'Read', [
        ['phase', point[PHASE] < 0 ? null : point[PHASE]],
        [names.word, names.at(point[RANK])],
        ['tick', point[TICK] > 0 ? count(point[TICK]) : null],
        ['start', point[START] === undefined ? null : seconds(point[START])],
        ['offset', `${count(point[OFFSET])} (${bytes(point[OFFSET])})`],
        ['size', bytes(point[SIZE])],
        ['file', shorten(space.files[point[FILE]] ?? '', 60)],
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
    offset: { name: 'offset', index: OFFSET, format: bytes },
};

const placesOf = (points) => [...new Set(points.map((point) => point[RANK]))].sort((a, b) => a - b);

// Ranks are numbers. Other processes have names, and only those with points have a place.
function processAxis(points, names) {
    if (names.word === 'rank') return { name: 'rank', index: RANK, format: count, minInterval: 1 };
    const places = placesOf(points);
    const indexOf = new Map(places.map((place, index) => [place, index]));
    return {
        name: 'process',
        value: (point) => indexOf.get(point[RANK]),
        data: places.map((place) => shorten(names.at(place), 15)),
    };
}

const axisOf = (what, points, { names }) => (what === 'process' ? processAxis(points, names) : axes[what]);
const placeOn = ({ index, value }) => value ?? ((point) => point[index]);

// --- in 3-D

// The unit of an axis is the same along it.
const scaleOf = (points, { index }) =>
    index === OFFSET
        ? byteScale(extent(points, OFFSET)[1], 5)
        : index === START
          ? timeScale(extent(points, START)[1])
          : {};

// Text needs a large line height: ECharts GL cuts off what is above the line.
function axis3D({ name, format, minInterval, max, data }, scale, nameGap = 26) {
    return {
        type: data ? 'category' : 'value',
        data,
        name: data ? '' : name, // names need no title
        nameGap,
        minInterval,
        max,
        ...scale,
        nameTextStyle: { color: colour('text'), fontSize: 13, lineHeight: 22 },
        axisLabel: { color: colour('muted'), fontSize: 11, lineHeight: 20, ...(format && { formatter: format }), ...scale?.axisLabel },
        axisLine: { lineStyle: { color: colour('line-strong'), width: 1 } },
        axisTick: { show: false },
        splitLine: { lineStyle: { color: colour('line'), width: 1 } },
        axisPointer: { lineStyle: { color: colour('muted'), width: 1 }, label: { show: false } },
    };
}

// Where two axes meet there is room for one label. The last label may be close to the one before.
function withoutEnds(axis, last) {
    const { formatter } = axis.axisLabel;
    const isEnd = (value) => value === 0 || value === last;
    return { ...axis, axisLabel: { ...axis.axisLabel, formatter: (value) => (isEnd(value) ? '' : formatter(value)) } };
}

function buildSpace(state, view, width) {
    const room = Math.min(1, width / 850); // in a narrow window a smaller box leaves as much for the labels
    const points = state.points();
    const [x, y, z] = [state.when, 'process', 'offset'].map((what) => axisOf(what, points, state));
    const place = [x, y, z].map(placeOn);
    return {
        tooltip: tooltip({ formatter: ({ value }) => pointTip(value.slice(3), state) }),
        grid3D: {
            boxWidth: 190 * room,
            boxDepth: 100 * room,
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
        xAxis3D: withoutEnds(axis3D(x, scaleOf(points, x)), extent(points, x.index)[1]),
        yAxis3D: axis3D(y),
        zAxis3D: axis3D(z, scaleOf(points, z), 46),
        series: pointSeries(points, state.document, (point) => place.map((on) => on(point)), {
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
        title: `${capital(state.when)} × ${state.names.word} × offset`,
        message,
        height: 480,
        build: (width) => buildSpace(state, view, width),
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

function buildSide(state, whats) {
    const points = state.points();
    const [x, y] = whats.map((what) => axisOf(what, points, state));
    const place = [x, y].map(placeOn);
    const side = (what, axisLabel, nameGap) =>
        axis({
            type: what.data ? 'category' : 'value',
            data: what.data,
            name: what.name,
            minInterval: what.minInterval,
            splitNumber: 4,
            nameLocation: 'middle',
            nameGap,
            ...scaleOf(points, what),
            axisLabel: { formatter: what.format, ...scaleOf(points, what).axisLabel, ...axisLabel },
        });
    return {
        grid: { left: y.data ? 118 : 64, right: 14, top: 12, bottom: x.data ? 96 : 46 },
        tooltip: tooltip({ formatter: ({ value }) => pointTip(value.slice(2), state) }),
        xAxis: side(x, x.data && { rotate: 40 }, x.data ? 76 : 28),
        yAxis: side(y, {}, y.data ? 100 : 50),
        series: pointSeries(points, state.document, (point) => place.map((on) => on(point)), {
            type: 'scatter',
            clip: false,
            symbolSize: points.length > 2000 ? 3 : 6,
        }),
    };
}

function sideFigure(state, across, up, message) {
    return figure({
        id: `space-${across === state.when ? 'when' : across}-${up}`,
        title: [up, across].map((what) => (what === 'process' ? state.names.word : what)).join(' by ').replace(/^./, capital),
        message,
        height: 260,
        build: () => buildSide(state, [across, up]),
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

function messages({ names, when, ...state }) {
    const points = state.points();
    const places = placesOf(points);
    const writes = points.filter((point) => point[IS_WRITE]).length;
    const [, lastOffset] = extent(points, OFFSET);
    const { index, format } = axes[when];
    const [first, last] = extent(points, index).map(format);
    const isMany = places.length > 3;
    const ranks = `${names.words} ${places[0]} to ${places.at(-1)}`;
    const who = !isMany
        ? places.map(names.at).join(', ')
        : names.word === 'rank'
          ? ranks
          : plural(places.length, names.word, names.words);
    const span = when === 'tick' ? `ticks ${first} to ${last}` : `${first} to ${last}`;
    return {
        space:
            `${plural(writes, 'write')} and ${plural(points.length - writes, 'read')} of ${who}, ` +
            `${span}, offsets up to ${bytes(lastOffset)}.`,
        tick: `When each part of the file is accessed: ${span}.`,
        process: `Which part of the file each ${names.word} accesses: ${who}.`,
        when: `When each ${names.word} accesses the file.`,
    };
}

function legend({ document, points }) {
    const indexOf = phaseSeriesIndex(document.phases);
    const drawn = new Set(points().map((point) => point[PHASE]));
    const seen = new Map();
    for (const { id } of document.phases.phases.filter((phase) => drawn.has(phase.id))) {
        const index = indexOf(id);
        if (!seen.has(index)) seen.set(index, []);
        seen.get(index).push(id);
    }
    const name = (ids) => {
        const parts = ranges(ids).split(', ');
        return parts.length > 3 ? `${parts.slice(0, 3).join(', ')} …` : parts.join(', ');
    };
    return [
        h('span', {}, h('span', { class: 'symbol' }, '●'), 'write'),
        h('span', {}, h('span', { class: 'symbol' }, '▲'), 'read'),
        [...seen].map(([index, ids]) => h('span', {}, swatch(`var(--series-${index})`), `phase ${name(ids)}`)),
        drawn.has(-1) && h('span', {}, swatch('var(--class-none)'), 'no phase'),
    ];
}

function filesByPoints({ points, files }) {
    const numbers = new Map();
    for (const point of points) numbers.set(point[FILE], (numbers.get(point[FILE]) ?? 0) + 1);
    return [...numbers]
        .sort((a, b) => b[1] - a[1])
        .map(([file, number]) => ({ file, name: files[file] ?? '', number }));
}

export function spaceFigures(document, { names }) {
    const { space } = document;
    if (!space || space.points.length === 0)
        return h('p', { class: 'quiet' }, 'No transfer has an offset, so there is nothing to show.');
    const files = filesByPoints(space);
    // Offsets of different files are unrelated, so one file is shown at a time. With many files, one alone says little.
    let shown = files[0].number * 4 >= space.points.length ? files[0].file : null;
    const when = space.points.some((point) => point[TICK] > 0) ? 'tick' : 'time';
    const state = {
        document,
        names,
        when,
        points: () => space.points.filter((point) => shown === null || point[FILE] === shown),
    };
    const said = messages(state);
    const isFlat = placesOf(space.points).length === 1;
    const view = !isFlat && hasWebGL() ? spaceFigure(state, said.space) : null;
    view?.element.classList.add('on-screen'); // paper gets the projections
    const sides = [sideFigure(state, when, 'offset', said.tick)];
    if (!isFlat)
        sides.push(
            sideFigure(state, 'process', 'offset', said.process),
            sideFigure(state, when, 'process', said.when),
        );
    const key = h('div', { class: 'legend' });
    // With one process, two of three dimensions say everything.
    const flatten = () => {
        const hidden = placesOf(state.points()).length === 1;
        for (const chart of [view, ...sides.slice(1)]) if (chart) chart.element.hidden = hidden;
        replace(key, legend(state));
    };
    flatten();
    const show = (file) => {
        shown = file;
        flatten();
        const now = messages(state);
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
        key,
        view?.element,
        !isFlat && !view && h('p', { class: 'quiet' }, 'This browser has no WebGL, so only the projections are shown.'),
        h(
            'div',
            { class: 'sides' },
            sides.map(({ element }) => element),
        ),
    );
}
