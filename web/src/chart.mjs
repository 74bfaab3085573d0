// Charts. A chart is made when its element has a size, and drawn again when the size or the theme changes.
import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from 'echarts/charts';
import {
    DataZoomComponent,
    GridComponent,
    LegendComponent,
    TooltipComponent,
    VisualMapContinuousComponent,
} from 'echarts/components';
import * as echarts from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import { Scatter3DChart } from 'echarts-gl/charts';
import { Grid3DComponent } from 'echarts-gl/components';
import { h } from './dom.mjs';
import { bytes, unbroken } from './format.mjs';
import { colour, onTheme } from './theme.mjs';

echarts.use([
    BarChart,
    CustomChart,
    HeatmapChart,
    LineChart,
    ScatterChart,
    DataZoomComponent,
    GridComponent,
    LegendComponent,
    TooltipComponent,
    VisualMapContinuousComponent,
    CanvasRenderer,
    Scatter3DChart,
    Grid3DComponent,
]);

const drawn = new Map(); // by id: the charts of the current page

function draw(entry) {
    entry.chart.setOption({ ...defaults(), ...entry.build(entry.place.clientWidth) }, { notMerge: true });
}

function fit(entry) {
    if (entry.chart) {
        entry.chart.resize();
    } else {
        entry.chart = echarts.init(entry.place);
        for (const start of entry.starts) start(entry.chart);
    }
    draw(entry);
}

// Charts far down the page are made when the reader scrolls near them, so that the page appears sooner.
const nearness = new IntersectionObserver(
    (changes) => {
        for (const { target, isIntersecting } of changes) {
            if (!isIntersecting) continue;
            nearness.unobserve(target);
            sizes.observe(target);
        }
    },
    { rootMargin: '300px' },
);

const sizes = new ResizeObserver((changes) => {
    for (const { target } of changes) {
        const entry = [...drawn.values()].find(({ place }) => place === target);
        if (!entry || target.clientWidth === 0) continue;
        try {
            fit(entry);
        } catch (error) {
            // The message above the chart stays.
            console.error(error);
            target.replaceChildren(h('p', { class: 'quiet' }, `This chart cannot be drawn here: ${error.message}`));
            sizes.unobserve(target);
        }
    }
});

onTheme(() => {
    for (const entry of drawn.values()) if (entry.chart) draw(entry);
});

function defaults() {
    return {
        animation: false,
        progressive: 0, // all at once: paper does not wait for the next frames
        progressiveThreshold: Infinity, // no second canvas: paper would have one of the two only
        backgroundColor: 'transparent',
        textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: colour('text') },
    };
}

// build(width) returns the option of ECharts. The message, below the title, says what the chart shows, also to readers
// who cannot see it. A chart that is kept stays when the page shows another log.
export function figure({ id, title, message, height, build, controls, legend, label, isKept = false }) {
    const place = h('div', {
        class: 'chart',
        id: `chart-${id}`,
        role: 'img',
        'aria-label': `${label ?? title}. ${message}`,
    });
    place.style.height = `${height}px`;
    const entry = { place, build, isKept, chart: null, starts: [] };
    const text = h('p', { class: 'message' }, unbroken(message));
    const element = h(
        'figure',
        { class: 'chart-figure' },
        h('figcaption', {}, h('div', { class: 'chart-title' }, h('h3', {}, title), controls), text),
        legend,
        place,
    );
    forget(id); // the same chart, of other jobs
    drawn.set(id, entry);
    nearness.observe(place);
    return {
        element,
        place,
        get chart() {
            return entry.chart;
        },
        onStart(start) {
            entry.starts.push(start);
        },
        redraw() {
            if (entry.chart) draw(entry);
        },
        say(words) {
            text.textContent = unbroken(words);
            place.setAttribute('aria-label', `${label ?? title}. ${words}`);
        },
        resizeTo(pixels) {
            place.style.height = `${pixels}px`;
        },
    };
}

function forget(id) {
    const entry = drawn.get(id);
    if (!entry) return;
    nearness.unobserve(entry.place);
    sizes.unobserve(entry.place);
    entry.chart?.dispose();
    drawn.delete(id);
}

export function forgetCharts() {
    for (const [id, { isKept }] of drawn) if (!isKept) forget(id);
}

// Draws all charts, also those that the reader has not come near.
export function drawAll() {
    for (const entry of drawn.values()) if (!entry.chart && entry.place.clientWidth > 0) fit(entry);
}

// Paper does not scroll, and is narrower than the window. It gets copies: ECharts draws some charts on several canvases,
// of which Chromium prints the last one only.
export function toPaper() {
    document.body.classList.add('paper');
    for (const entry of drawn.values()) {
        if (entry.place.clientWidth === 0) continue;
        fit(entry);
        const copy = entry.chart.renderToCanvas({ pixelRatio: 2 });
        copy.style.width = '100%';
        entry.place.append(copy);
    }
}

export function fromPaper() {
    document.body.classList.remove('paper');
    for (const { place } of drawn.values()) place.querySelector(':scope > canvas')?.remove();
    for (const entry of drawn.values()) if (entry.chart) fit(entry);
}

export function chartById(id) {
    return drawn.get(id)?.chart ?? null;
}

// --- parts of options that charts share

// The content of a tooltip. ECharts takes an element, so that no text of a log is ever parsed as HTML.
export function tip(title, rows) {
    return h(
        'div',
        { class: 'tip' },
        h('strong', {}, title),
        h(
            'dl',
            {},
            rows
                .filter(([, value]) => value !== null && value !== undefined && value !== '')
                .map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
        ),
    );
}

export function tooltip(more = {}) {
    return {
        confine: true,
        transitionDuration: 0,
        backgroundColor: colour('surface'),
        borderColor: colour('line-strong'),
        borderWidth: 1,
        padding: [8, 12],
        textStyle: { color: colour('text'), fontSize: 12 },
        extraCssText:
            'box-shadow: 0 4px 16px rgb(0 0 0 / .14); border-radius: 6px; max-width: 420px; white-space: normal;',
        ...more,
    };
}

export function axis(more = {}) {
    const { axisLabel, axisLine, axisTick, splitLine, nameTextStyle, ...rest } = more;
    return {
        axisLine: { show: true, lineStyle: { color: colour('line-strong') }, ...axisLine },
        axisTick: { show: false, ...axisTick },
        axisLabel: { color: colour('muted'), fontSize: 11, hideOverlap: true, ...axisLabel },
        splitLine: { show: true, lineStyle: { color: colour('line') }, ...splitLine },
        nameTextStyle: { color: colour('muted'), fontSize: 11, ...nameTextStyle },
        ...rest,
    };
}

// Times, all in the unit of the largest, with as many digits as the visible part of the axis needs.
export function timeScale(largest, visible = largest) {
    const [divisor, unit] = largest >= 1 ? [1, 's'] : largest >= 1e-3 ? [1e-3, 'ms'] : [1e-6, 'us'];
    const digits = Math.max(0, Math.min(9, 1 - Math.floor(Math.log10(visible / divisor || 1))));
    return {
        axisLabel: { formatter: (value) => `${value === 0 ? 0 : Number((value / divisor).toFixed(digits))} ${unit}` },
    };
}

// Bytes, in steps of 1, 2, 4, 8 ...: round numbers of KiB and MiB.
export function byteScale(largest, steps, format = bytes) {
    const interval = 2 ** Math.ceil(Math.log2(Math.max(largest, 1) / steps));
    return {
        min: 0,
        max: Math.max(1, Math.ceil(largest / interval)) * interval,
        interval,
        axisLabel: { formatter: (value) => format(value).replace('.0 ', ' ') },
    };
}

export function legend(more = {}) {
    return {
        type: 'plain',
        left: 0,
        top: 0,
        itemWidth: 12,
        itemHeight: 12,
        itemGap: 16,
        icon: 'roundRect',
        textStyle: { color: colour('text'), fontSize: 12 },
        inactiveColor: colour('line-strong'),
        ...more,
    };
}

export const { clipRectByRect } = echarts.graphic;
