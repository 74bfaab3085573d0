// The timeline: calls by rank and time, the phases above, bandwidth and devices below. All share one window of time.
import { axis, byteScale, clipRectByRect, figure, timeScale, tip, tooltip } from './chart.mjs';
import { button, h, printable, replace, section, swatch } from './dom.mjs';
import { baseName, bytes, capital, count, percent, plural, rate, seconds, shorten, unbroken } from './format.mjs';
import { needsTrace } from './names.mjs';
import { table } from './table.mjs';
import { classColour, colour, phaseColours } from './theme.mjs';
import { followKeys, followMouse, Window } from './window.mjs';

const maxLanes = 40; // visible at a time; a scroll bar at the side reaches the others
const maxDevices = 3;
const maxPhaseRows = 3;
const classWords = { none: 'other', meta: 'metadata' };
// What is drawn last is on top.
const drawOrder = ['none', 'seek', 'meta', 'close', 'open', 'sync', 'read', 'write'];

// --- layout: rows of the chart from top to bottom, in pixels

function layOut(timeline, phaseRows, devices, width) {
    const left = width < 700 ? 90 : 124;
    const lanes = Math.max(1, Math.min(timeline.lanes.length, maxLanes));
    const laneHeight = Math.max(8, Math.min(26, 340 / lanes));
    const rows = [];
    let top = 4;
    const add = (name, height, gap, device = null) => {
        rows.push({ name, top, height, left, right: 28, device });
        top += height + gap;
    };
    if (phaseRows > 0) add('phases', phaseRows * 18, 8);
    if (timeline.source === 'heat map') top += 24; // for the title of the first row
    else add('lanes', Math.round(lanes * laneHeight), 48);
    add('bandwidth', 96, 32);
    if (othersMost(timeline) > 0) add('others', 40, 32);
    for (const device of devices) add('device', 56, 32, device);
    return { rows, height: top };
}

// Simultaneous phases are drawn below each other, as far as there is room.
function placePhases(phases) {
    const ends = [];
    const placed = [];
    for (const phase of [...(phases?.phases ?? [])].sort((a, b) => a.start - b.start)) {
        let row = ends.findIndex((end) => end <= phase.start);
        if (row < 0) row = ends.length < maxPhaseRows ? ends.length : ends.indexOf(Math.min(...ends));
        ends[row] = Math.max(ends[row] ?? 0, phase.start + phase.span);
        placed.push({ phase, row });
    }
    return { placed, rows: ends.length };
}

function busiest(devices) {
    const moved = (device) => device.samples.reduce((sum, sample) => sum + sample[2] + sample[3], 0);
    return [...devices].sort((a, b) => moved(b) - moved(a)).slice(0, maxDevices);
}

// --- series

function rectangle(params, x, y, width, height, style, extra = {}) {
    const area = params.coordSys;
    const shape = clipRectByRect(
        { x, y, width: Math.max(width, 1), height },
        { x: area.x, y: area.y, width: area.width, height: area.height },
    );
    return shape && { type: 'rect', transition: [], shape, style, ...extra };
}

// Data: [lane, start, end, index in spans].
function spanSeries(timeline, axes) {
    const groups = new Map();
    for (const [index, span] of timeline.spans.entries()) {
        const name = timeline.classes[span[3]] ?? 'none';
        if (!groups.has(name)) groups.set(name, []);
        groups.get(name).push([span[0], span[1], span[1] + span[2], index]);
    }
    return drawOrder
        .filter((name) => groups.has(name))
        .map((name) => {
            const fill = classColour(name);
            return {
                type: 'custom',
                name,
                xAxisIndex: axes,
                yAxisIndex: axes,
                data: groups.get(name),
                clip: true,
                dimensions: ['lane', 'start', 'end', 'span'],
                encode: { x: [1, 2], y: 0 },
                itemStyle: { color: fill },
                renderItem(params, api) {
                    const [x, y] = api.coord([api.value(1), api.value(0)]);
                    const [end] = api.coord([api.value(2), api.value(0)]);
                    const height = api.size([0, 1])[1] * 0.76;
                    return rectangle(params, x, y - height / 2, end - x, height, { fill });
                },
            };
        });
}

function phaseSeries(placed, rows, colourOf, axes) {
    return {
        type: 'custom',
        name: 'phases',
        xAxisIndex: axes,
        yAxisIndex: axes,
        clip: true,
        dimensions: ['row', 'start', 'end', 'index'],
        encode: { x: [1, 2], y: 0 },
        data: placed.map(({ phase, row }, index) => [row, phase.start, phase.start + phase.span, index]),
        renderItem(params, api) {
            const { phase } = placed[api.value(3)];
            const [x, y] = api.coord([api.value(1), api.value(0)]);
            const [end] = api.coord([api.value(2), api.value(0)]);
            const text = String(phase.id);
            return rectangle(
                params,
                x,
                y - 8,
                end - x,
                15,
                { fill: colourOf(phase.id) },
                end - x > 8 * text.length + 6 && {
                    textContent: {
                        type: 'text',
                        style: { text, fill: colour('on-series'), fontSize: 11, fontWeight: 600 },
                    },
                    textConfig: { position: 'inside' },
                },
            );
        },
    };
}

function area(name, fill, data, axes, more = {}) {
    return {
        type: 'line',
        name,
        data,
        symbol: 'none',
        xAxisIndex: axes,
        yAxisIndex: axes,
        lineStyle: { width: 1.5, color: fill },
        itemStyle: { color: fill },
        areaStyle: { color: fill, opacity: 0.18 },
        ...more,
    };
}

// Values that each hold for a time, as a stepped line: [[start, span, value], ...]. Adjacent equal values share a step.
function steps(pieces) {
    const points = [];
    for (const [start, span, value] of pieces) {
        const last = points.at(-1);
        if (last && last[1] === value) last[0] = start + span;
        else points.push([start, value], [start + span, value]);
    }
    return points;
}

function bandwidthSeries(timeline, axes) {
    const { seconds: step, read_bytes: read, write_bytes: written } = timeline.bins;
    const points = (values) => steps(values.map((value, index) => [timeline.from + index * step, step, value / step]));
    return [
        area('read', classColour('read'), points(read), axes),
        area('write', classColour('write'), points(written), axes),
    ];
}

function bandwidthMost({ bins }) {
    return Math.max(...bins.read_bytes, ...bins.write_bytes, 0) / bins.seconds;
}

// Calls that move no data, per second.
function othersSeries({ bins, from }, axes) {
    const { seconds: step, other_calls: others } = bins;
    const points = steps(others.map((calls, index) => [from + index * step, step, calls / step]));
    return area('others', classColour('meta'), points, axes);
}

function othersMost({ bins }) {
    return Math.max(...(bins.other_calls ?? []), 0) / bins.seconds;
}

function deviceMost({ samples }) {
    return Math.max(...samples.map(([, span, read, written]) => (span > 0 ? Math.max(read, written) / span : 0)), 0);
}

function deviceSeries(device, axes) {
    const rates = (column) =>
        steps(device.samples.map((sample) => [sample[0], sample[1], sample[1] > 0 ? sample[column] / sample[1] : 0]));
    return [
        area(`${device.name} read`, classColour('read'), rates(2), axes),
        area(`${device.name} write`, classColour('write'), rates(3), axes),
    ];
}

// --- tooltips of a call, a phase, a moment

// Threads of a process are numbered from the second on.
function laneName(names, lane) {
    return lane ? names.of(lane) + (lane.name.match(/, thread \d+$/)?.[0] ?? '') : '';
}

function spanFacts(timeline, span, names) {
    const [lane, start, duration, , calls, moved, , file] = span;
    return [
        ['where', laneName(names, timeline.lanes[lane])],
        ['host', timeline.lanes[lane]?.host],
        ['calls', calls > 1 ? `${count(calls)}, drawn as one` : null],
        ['start', seconds(start)],
        [calls > 1 ? 'from first to last' : 'duration', seconds(duration)],
        ['bytes', moved > 0 ? bytes(moved) : null],
        ['rate', moved > 0 && duration > 0 ? rate(moved / duration) : null],
        ['file', timeline.files[file] === undefined ? null : shorten(timeline.files[file], 60)],
    ];
}

function spanTitle(timeline, span) {
    return timeline.call_names[span[6]] ?? timeline.classes[span[3]];
}

export function phaseWords(phase) {
    return phase.ops.map((op) => `${op.call ?? op.op} ${op.size === null ? '' : bytes(op.request)}`.trim()).join(', ');
}

function phaseTip(phase) {
    return tip(`Phase ${phase.id}`, [
        ['operations', phaseWords(phase)],
        ['processes', count(phase.np)],
        ['bytes', bytes(phase.weight)],
        ['start', seconds(phase.start)],
        ['time', seconds(phase.duration)],
        ['bandwidth', rate(phase.bandwidth)],
        ['file', shorten(phase.file ?? '', 60)],
    ]);
}

function deviceTip(device, time) {
    const sample = device.samples.findLast((row) => row[0] <= time);
    if (!sample) return '';
    const [, span, read, written, reads, writes, utilisation, queue] = sample;
    return tip(device.name, [
        ['time', seconds(time)],
        ['read', rate(read / span)],
        ['written', rate(written / span)],
        ['requests', `${count(reads)} reads, ${count(writes)} writes`],
        ['busy', percent(utilisation)],
        ['under way', queue?.toFixed(1)],
    ]);
}

function lanesInWords(lanes) {
    const distinct = (key) => new Set(lanes.map((lane) => lane[key])).size === lanes.length;
    if (lanes.every(({ rank }) => rank !== null) && distinct('rank')) return plural(lanes.length, 'rank');
    return distinct('pid') ? plural(lanes.length, 'process', 'processes') : plural(lanes.length, 'thread');
}

function message(timeline, phases) {
    const { bins, lanes } = timeline;
    let peak = 0;
    let total = 0;
    for (let index = 0; index < bins.count; index++) {
        const moved = bins.read_bytes[index] + bins.write_bytes[index];
        total += moved;
        if (moved > bins.read_bytes[peak] + bins.write_bytes[peak]) peak = index;
    }
    const shown = phases?.phases.length ? `, ${plural(phases.phases.length, 'phase')}` : '';
    const isHeatMap = timeline.source === 'heat map';
    const who = isHeatMap ? "All processes, by Darshan's heat maps," : lanesInWords(lanes);
    const scene = `${who} over ${seconds(timeline.to - timeline.from)}${shown}.`;
    if (total === 0) return `${scene} No bytes were moved.`;
    if (isHeatMap) {
        const most = (moved) => rate(Math.max(...moved) / bins.seconds);
        return `${scene} At most ${most(bins.read_bytes)} were read and ${most(bins.write_bytes)} written.`;
    }
    const when = seconds(timeline.from + peak * bins.seconds);
    const [read, written] = [bins.read_bytes, bins.write_bytes].map((moved) => rate(moved[peak] / bins.seconds));
    return (
        `${scene} The most bytes moved in the ${seconds(bins.seconds)} from ${when} on: ` +
        `${read} read, ${written} written.`
    );
}

// --- the section

// Only the first thread of a process shows the name of the process.
function laneLabels(lanes, names, length) {
    return lanes.map((lane, index) => {
        const name = laneName(names, lane);
        return shorten(index > 0 && lanes[index - 1].pid === lane.pid ? name.replace(/^.*, (?=thread)/, '') : name, length);
    });
}

function yAxes(timeline, names, layout) {
    const lanesShown = Math.min(timeline.lanes.length, maxLanes);
    return layout.rows.map(({ name, left, device }, gridIndex) => {
        if (name === 'phases') {
            return axis({
                gridIndex,
                type: 'value',
                show: false,
                min: -0.5,
                max: layout.phaseRows - 0.5,
                inverse: true,
            });
        }
        if (name === 'lanes') {
            return axis({
                gridIndex,
                type: 'category',
                inverse: true,
                data: laneLabels(timeline.lanes, names, Math.floor((left - 14) / 6.2)),
                splitLine: { show: false },
                axisLabel: { width: left - 14, overflow: 'truncate', interval: lanesShown > 24 ? 'auto' : 0 },
            });
        }
        const titles = {
            bandwidth: 'Bandwidth of all processes',
            others: 'Calls that move no data, of all processes',
            device: `Device ${printable(device?.name)}, used by the whole machine`,
        };
        return axis({
            gridIndex,
            type: 'value',
            ...(name === 'others'
                ? { min: 0, splitNumber: 1, axisLabel: { formatter: (calls) => `${count(calls)}/s` } }
                : byteScale(device ? deviceMost(device) : bandwidthMost(timeline), device ? 1 : 3, rate)),
            axisLine: { show: false },
            name: titles[name],
            nameLocation: 'end',
            nameGap: 8,
            nameTextStyle: { align: 'left', color: colour('text') },
        });
    });
}

function classLegend(timeline) {
    const used = new Set(timeline.spans.map((span) => timeline.classes[span[3]] ?? 'none'));
    return h(
        'div',
        { class: 'legend' },
        drawOrder
            .filter((name) => used.has(name))
            .reverse()
            .map((name) => h('span', {}, swatch(`var(--class-${name})`), classWords[name] ?? name)),
    );
}

const shownLongest = 8;

// Calls, not spans of several. A call in such a span is no longer than the span, nor than the last of the longest calls
// of all: what is longer than both is known to be among the longest.
function longestIn(timeline, view) {
    const isSeen = ([, start, duration]) => start <= view.to && start + duration >= view.from;
    const longest = timeline.longest ?? [];
    const seen = timeline.spans.filter(isSeen);
    const known = new Map(
        [...longest.filter(isSeen), ...seen.filter((span) => span[4] === 1)].map((span) => [span[8], span]),
    );
    const together = seen.reduce((most, span) => (span[4] > 1 ? Math.max(most, span[2]) : most), 0);
    const least = Math.min(together, longest.at(-1)?.[2] ?? Infinity);
    return [...known.values()]
        .filter((span) => span[2] >= least)
        .sort((a, b) => b[2] - a[2])
        .slice(0, shownLongest);
}

export function timelineSection(document, { server, actions, names }) {
    let { timeline } = document;
    const whole = timeline;
    if (!whole.source) return section('timeline', 'Timeline', h('p', { class: 'quiet' }, needsTrace('moments')));
    const devices = busiest(document.devices ?? []);
    const { placed, rows: phaseRows } = placePhases(document.phases);
    let layout = layOut(timeline, phaseRows, devices, 1000);

    function build(width) {
        layout = { ...layOut(whole, phaseRows, devices, width), phaseRows };
        const at = (name) => layout.rows.findIndex((row) => row.name === name);
        const lanesAt = at('lanes');
        const { formatter } = timeScale(view.to, view.to - view.from).axisLabel;
        // The end of the window is exact, and other labels leave room for it.
        const timeLabel = (value) => {
            if (value === view.to) return seconds(value);
            return view.to - value < (view.to - view.from) * (width < 700 ? 0.12 : 0.06) ? '' : formatter(value);
        };
        return {
            grid: layout.rows.map(({ top, height, left, right, name }) => ({
                top,
                height,
                left,
                right,
                outerBoundsMode: 'none',
                show: true,
                borderColor: colour('line'),
                backgroundColor: name === 'phases' ? 'transparent' : colour('plot'),
                tooltip: name === 'lanes' || name === 'phases' ? undefined : { trigger: 'axis' },
            })),
            xAxis: layout.rows.map(({ name }, gridIndex) =>
                axis({
                    gridIndex,
                    type: 'value',
                    min: view.from,
                    max: view.to,
                    splitLine: { show: name !== 'phases' },
                    axisLine: { show: false },
                    axisLabel: {
                        show: gridIndex === layout.rows.length - 1 || name === 'lanes',
                        showMinLabel: true,
                        showMaxLabel: true,
                        formatter: timeLabel,
                    },
                    axisPointer: {
                        show: name !== 'phases',
                        lineStyle: { color: colour('muted') },
                        label: { show: false },
                    },
                }),
            ),
            axisPointer: { link: [{ xAxisIndex: 'all' }], triggerTooltip: false },
            yAxis: yAxes(timeline, names, layout),
            dataZoom:
                whole.lanes.length > maxLanes
                    ? [
                          {
                              type: 'slider',
                              yAxisIndex: lanesAt,
                              right: 0,
                              width: 12,
                              top: layout.rows[lanesAt].top,
                              height: layout.rows[lanesAt].height,
                              startValue: 0,
                              endValue: maxLanes - 1,
                              showDetail: false,
                              brushSelect: false,
                              filterMode: 'none',
                          },
                      ]
                    : [],
            tooltip: tooltip({
                trigger: 'item',
                formatter: (params) => (Array.isArray(params) ? momentTip(params) : itemTip(params)),
            }),
            series: [
                ...(phaseRows > 0
                    ? [phaseSeries(placed, phaseRows, phaseColours(document.phases), at('phases'))]
                    : []),
                ...(lanesAt < 0 ? [] : spanSeries(timeline, lanesAt)),
                ...bandwidthSeries(timeline, at('bandwidth')),
                ...(at('others') < 0 || !timeline.bins.other_calls ? [] : [othersSeries(timeline, at('others'))]),
                ...layout.rows.flatMap(({ device }, index) => (device ? deviceSeries(device, index) : [])),
            ],
        };
    }

    function itemTip(params) {
        if (params.seriesName === 'phases') return phaseTip(placed[params.value[3]].phase);
        const span = timeline.spans[params.value[3]];
        return tip(spanTitle(timeline, span), spanFacts(timeline, span, names));
    }

    function momentTip(params) {
        const { device } = layout.rows[params[0].axisIndex];
        const time = params[0].axisValue;
        if (device) return deviceTip(device, time);
        const { bins } = timeline;
        const bin = Math.min(bins.count - 1, Math.max(0, Math.floor((time - timeline.from) / bins.seconds)));
        return tip('All processes', [
            ['time', seconds(time)],
            ['read', rate(bins.read_bytes[bin] / bins.seconds)],
            ['written', rate(bins.write_bytes[bin] / bins.seconds)],
            ['calls without data', bins.other_calls && `${count(bins.other_calls[bin] / bins.seconds)}/s`],
        ]);
    }

    const shown = h('p', { class: 'shown', 'aria-live': 'polite' });
    const longest = table(
        [
            {
                title: 'Call',
                heading: true,
                cell: (span) =>
                    h(
                        'span',
                        { class: 'call-name' },
                        swatch(`var(--class-${timeline.classes[span[3]] ?? 'none'})`),
                        spanTitle(timeline, span),
                    ),
            },
            { title: capital(names.word), cell: (span) => laneName(names, timeline.lanes[span[0]]) },
            { title: 'Start', number: true, cell: (span) => seconds(span[1]) },
            { title: 'Duration', number: true, cell: (span) => seconds(span[2]) },
            { title: 'Bytes', number: true, cell: (span) => bytes(span[5]) },
            {
                title: 'File',
                cell: (span) =>
                    h(
                        'span',
                        { title: timeline.files[span[7]] },
                        timeline.files[span[7]] === undefined ? '' : shorten(baseName(timeline.files[span[7]]), 36),
                    ),
            },
        ],
        [],
        {
            caption: 'The longest calls in view',
            captionShown: true,
            onChoose: ([, start, duration]) => actions.zoomTo(start - duration, start + 2 * duration),
        },
    );

    let timer = 0;
    let asked = 0;
    let frame = 0;
    const view = new Window(whole.from, whole.to, () => {
        cancelAnimationFrame(frame);
        frame = requestAnimationFrame(() => chart.redraw());
        clearTimeout(timer);
        timer = setTimeout(settle, 150);
    });

    function sayShown() {
        const calls = longestIn(timeline, view);
        const text =
            `Showing ${seconds(view.from)} to ${seconds(view.to)} of ${seconds(whole.to)}.` +
            (timeline.complete || timeline.source === 'heat map' ? '' : ' Short calls are drawn together; the number of calls is in their tip.') +
            (calls.length > 0 || server || timeline.source === 'heat map' ? '' : ' All calls in view are drawn together; "ioseer view" shows each of them.');
        replace(shown, unbroken(text));
        longest.element.hidden = calls.length === 0;
        longest.update(calls);
    }

    // When the window has stopped moving: says what it shows and, if there is a server, loads the details.
    async function settle() {
        const zoomed = view.to - view.from < (whole.to - whole.from) * 0.999;
        sayShown();
        if (!server) return;
        const mine = ++asked;
        try {
            const answer = zoomed ? await server.timeline(view.from, view.to, chart.place.clientWidth) : whole;
            if (mine !== asked || answer === timeline) return;
            timeline = answer;
            chart.redraw();
            sayShown();
        } catch (error) {
            replace(shown, `The server did not answer: ${error.message}`);
        }
    }

    const tools = h(
        'div',
        { class: 'tools', role: 'group', 'aria-label': 'Timeline' },
        button('◀', () => view.pan(-0.4), { 'aria-label': 'Earlier', title: 'Earlier (left arrow)' }),
        button('▶', () => view.pan(0.4), { 'aria-label': 'Later', title: 'Later (right arrow)' }),
        button('+', () => view.zoom(0.5), { 'aria-label': 'Zoom in', title: 'Zoom in (up arrow)' }),
        button('−', () => view.zoom(2), { 'aria-label': 'Zoom out', title: 'Zoom out (down arrow)' }),
        button('All', () => view.all(), { title: 'The whole job (Home)' }),
    );
    const chart = figure({
        id: 'timeline',
        title: whole.source === 'heat map' ? 'Bytes over time' : 'Calls over time',
        message: message(whole, document.phases),
        height: layout.height,
        build,
        controls: tools,
        legend: classLegend(whole),
    });
    chart.place.tabIndex = 0;
    chart.place.setAttribute('role', 'application');
    followKeys(chart.place, view);
    const range = h('div', { class: 'range', hidden: true, 'aria-hidden': 'true' });
    chart.place.parentElement.append(range);
    const across = (event) => {
        const { left, right } = layout.rows[0];
        const box = chart.place.getBoundingClientRect();
        return { x: event.clientX - box.left, left, width: box.width - left - right };
    };
    const timeAt = (event) => {
        const { x, left, width } = across(event);
        return view.from + ((view.to - view.from) * (x - left)) / width;
    };
    const mark = (start, event) => {
        range.hidden = !start;
        if (!start) return;
        const { left, width } = across(start);
        const [from, to] = [start, event]
            .map((at) => Math.min(left + width, Math.max(left, across(at).x)))
            .sort((a, b) => a - b);
        const box = chart.place.getBoundingClientRect();
        const around = chart.place.parentElement.getBoundingClientRect();
        range.style.left = `${box.left - around.left + from}px`;
        range.style.top = `${box.top - around.top}px`;
        range.style.width = `${to - from}px`;
        range.style.height = `${box.height}px`;
    };
    followMouse(chart.place, view, timeAt, mark);
    chart.onStart((instance) =>
        instance.on('click', ({ seriesName, value }) => {
            if (seriesName === 'phases') actions.showPhase(placed[value[3]].phase.id);
            else if (value?.length === 4)
                actions.showCall(timeline.spans[value[3]][8], timeline.spans[value[3]][1], timeline);
        }),
    );
    actions.zoomTo = (from, to) => {
        const margin = (to - from) * 0.05;
        view.set(from - margin, to + margin);
        chart.element.scrollIntoView({ block: 'start' });
    };
    settle();
    return section(
        'timeline',
        'Timeline',
        h(
            'p',
            { class: 'intro on-screen' },
            'Drag over a range to zoom to it, with Shift to move. Double-click to zoom in, with Shift to zoom out; ' +
                'or use Ctrl and the wheel. Keys: arrows, Home.',
        ),
        chart.element,
        shown,
        whole.lanes.length > maxLanes &&
            h('p', { class: 'on-paper' }, `The first ${count(maxLanes)} of ${plural(whole.lanes.length, 'thread')}.`),
        longest.element,
        whole.lanes_left_out > 0 &&
            h('p', { class: 'quiet' }, `${plural(whole.lanes_left_out, 'thread')} with less time in calls not shown.`),
    );
}
