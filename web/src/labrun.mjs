// A run of the lab while it goes on, what it printed, and the runs so far.
import { axis, byteScale, figure, legend, timeScale, tip, tooltip } from './chart.mjs';
import { button, h, replace } from './dom.mjs';
import { command } from './findings.mjs';
import { baseName, bytes, commandLine, count, path, plural, rate, seconds, shorten, unknown } from './format.mjs';
import { classColour } from './theme.mjs';

const stages = {
    prepares: 'The storage is being made',
    runs: 'Running',
    packs: 'The log is being made',
    'cleans up': 'The storage is being removed',
};
const signals = { 1: 'SIGHUP', 2: 'SIGINT', 3: 'SIGQUIT', 4: 'SIGILL', 6: 'SIGABRT', 7: 'SIGBUS', 8: 'SIGFPE', 9: 'SIGKILL', 11: 'SIGSEGV', 13: 'SIGPIPE', 14: 'SIGALRM', 15: 'SIGTERM' };
const mostPoints = 150;

export const isUnderWay = (run) => Boolean(run) && run.stage !== 'ended';

const signalName = (number) => signals[number] ?? `signal ${number}`;

// How a run ended: its words, and whether that is bad.
export function outcome({ stage, exit, signal, stopped, problem }) {
    if (stage !== 'ended') return [`${stopped ? 'It is being stopped' : stages[stage]} …`, false];
    const how =
        signal !== null
            ? `ended by ${signalName(signal)}`
            : exit > 128 && exit < 193
              ? `exit status ${exit}: ${signalName(exit - 128)}`
              : exit === null
                ? 'did not run'
                : `exit status ${exit}`;
    if (problem) return [problem, true];
    return stopped ? [`stopped, ${how}`, false] : [how, exit !== 0];
}

// --- bandwidth

// Samples are sums; a rate is their difference over time.
function ratesOf(samples) {
    const step = Math.max(1, Math.ceil(samples.length / mostPoints));
    const points = [];
    for (let at = step; at < samples.length; at += step) {
        const [from, read, written] = samples[at - step];
        const [to, readThen, writtenThen] = samples[at];
        if (to > from) points.push([to, (readThen - read) / (to - from), (writtenThen - written) / (to - from)]);
    }
    return points;
}

function buildRates(points, length) {
    const most = Math.max(1, ...points.map(([, read, written]) => Math.max(read, written)));
    const series = (name, index, kind) => ({
        name,
        type: 'line',
        step: 'end',
        symbol: 'none',
        data: points.map((point) => [point[0], point[index]]),
        lineStyle: { width: 1.5, color: classColour(kind) },
        itemStyle: { color: classColour(kind) },
        areaStyle: { color: classColour(kind), opacity: 0.15 },
    });
    return {
        grid: { left: 84, right: 20, top: 34, bottom: 28 },
        legend: legend(),
        tooltip: tooltip({
            trigger: 'axis',
            formatter: (shown) => tip(seconds(shown[0].value[0]), shown.map(({ seriesName, value }) => [seriesName, rate(value[1])])),
        }),
        xAxis: axis({ type: 'value', min: 0, max: Math.max(1, length), splitLine: { show: false }, ...timeScale(Math.max(1, length)) }),
        yAxis: axis({ type: 'value', ...byteScale(most, 4, rate) }),
        series: [series('Read', 1, 'read'), series('Written', 2, 'write')],
    };
}

function rateSentence(points, run) {
    const last = points.at(-1);
    const sums = `${bytes(run.bytes_read)} read, ${bytes(run.bytes_written)} written`;
    return isUnderWay(run) && last ? `${sums} so far; now ${rate(last[1])} and ${rate(last[2])}.` : `${sums}.`;
}

// --- phases

function direction({ bytes_read: read, bytes_written: written }) {
    if (read > 0 && written > 0) return 'read and write';
    return read > 0 ? 'read' : 'write';
}

function phaseRow(phase, at) {
    const moved = phase.bytes_read + phase.bytes_written;
    return h(
        'tr',
        {},
        h('th', { scope: 'row' }, at, !phase.ended && ' …'),
        h('td', {}, direction(phase)),
        h('td', { class: 'number' }, seconds(phase.start)),
        h('td', { class: 'number' }, seconds(phase.seconds)),
        h('td', { class: 'number' }, bytes(moved)),
        h('td', { class: 'number' }, rate(moved / phase.seconds)),
        h('td', {}, phase.file === null ? 'several files' : path(phase.file)),
    );
}

// Rows are replaced in place, so that a reader who has scrolled the table stays there.
function tableOf(id, caption, titles) {
    const body = h('tbody', {});
    let shown = null;
    const element = h(
        'div',
        { class: 'scroll', id, tabindex: '0', role: 'group', 'aria-label': caption, hidden: true },
        h(
            'table',
            {},
            h('caption', {}, caption),
            h('thead', {}, h('tr', {}, titles.map(([title, kind]) => h('th', { scope: 'col', class: kind }, title)))),
            body,
        ),
    );
    return {
        element,
        // Only if what they depend on has changed: a button in them may have the focus.
        show(rows, make, ...others) {
            const next = JSON.stringify([rows, others]);
            element.hidden = rows.length === 0;
            if (next !== shown) replace(body, rows.map(make));
            shown = next;
        },
    };
}

const phaseTable = () =>
    tableOf('lab-phases', 'Phases so far', [
        ['#'],
        ['Direction'],
        ['Start', 'number'],
        ['Time', 'number'],
        ['Bytes', 'number'],
        ['Bandwidth', 'number'],
        ['File'],
    ]);

const aboutPhases =
    'Stretches of time in which bytes went in one direction, or in both by turns, as seen from outside ten times per second. ' +
    'The phases of the log are exact.';

// --- output

// Colours of a terminal are left out; all other control characters are shown.
function lines(text) {
    return text
        .replaceAll(/\u001b\[[0-9;]*m/g, '')
        .replaceAll('\t', '    ')
        .split(/\r?\n|\r/)
        .map((line, at) => [at > 0 && h('br'), line]);
}

function outputBox(title) {
    const box = h('div', { class: 'output', tabindex: '0', role: 'log', 'aria-label': title });
    const note = h('span', { class: 'quiet' });
    const element = h('div', {}, h('h4', {}, title, ' ', note), box);
    let shown = null;
    return {
        element,
        show({ text, cut }) {
            element.hidden = text === '';
            if (shown === text) return;
            const isAtEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 4;
            shown = text;
            replace(note, cut && 'the last part');
            replace(box, lines(text.replace(/\n$/, '')));
            if (isAtEnd) box.scrollTop = box.scrollHeight;
        },
    };
}

// --- the run

function facts(run) {
    const fact = (name, value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
    const hasEnded = !isUnderWay(run);
    if (hasEnded && run.exit === null && run.signal === null) return null; // it never began
    if (hasEnded && run.ended === 0) {
        return h('p', { class: 'quiet' }, `It took ${seconds(run.seconds)}, too short to be seen while it ran. Its log has all.`);
    }
    return h(
        'dl',
        { class: 'facts', id: 'lab-facts' },
        fact('Time', seconds(run.seconds)),
        fact('Storage', run.storage),
        fact('Read', bytes(run.bytes_read)),
        fact('Written', bytes(run.bytes_written)),
        fact('Calls', count(run.calls)),
        fact('Metadata calls', count(run.metadata)),
        fact('Processes', hasEnded ? count(run.ended) : `${count(run.running)} running, ${count(run.ended)} ended`),
        run.unseen > 0 && fact('Not recorded', plural(run.unseen, 'program')),
    );
}

export function runView(stopRun) {
    let points = [];
    let length = 1;
    const title = h('h3', { id: 'lab-run-title' });
    const state = h('p', { id: 'lab-state', role: 'status' });
    const stop = button('Stop', () => stopRun(shown));
    const words = h('div', {});
    const numbers = h('div', {});
    const phases = phaseTable();
    const about = h('p', { class: 'quiet' }, aboutPhases);
    const boxes = [outputBox('Standard output'), outputBox('Standard error')];
    const chart = figure({ id: 'lab', title: 'Bandwidth', message: '', height: 200, isKept: true, build: () => buildRates(points, length) });
    const element = h('div', { class: 'lab-run', id: 'lab-run', hidden: true, 'aria-labelledby': title.id }, h('div', { class: 'chart-title' }, title, stop), state, words, numbers, chart.element, phases.element, about, boxes.map((box) => box.element));
    let shown = null;
    return {
        element,
        show(run) {
            element.hidden = !run;
            if (!run) return;
            const [text, isBad] = outcome(run);
            points = ratesOf(run.samples);
            length = run.seconds;
            replace(title, `Run ${run.number}: ${baseName(run.log_name).replace(/^lab-\d+-|\.ioseer$/g, '')}`);
            if (state.textContent !== text) replace(state, text);
            state.classList.toggle('wrong', isBad);
            stop.hidden = !isUnderWay(run);
            stop.disabled = run.stopped;
            if (shown !== run.number) replace(words, command(commandLine(run.command)));
            shown = run.number;
            replace(numbers, facts(run));
            phases.show(run.phases, (phase, at) => phaseRow(phase, run.phases_before + at + 1), run.phases_before);
            about.hidden = run.phases.length === 0;
            chart.element.hidden = run.bytes_read + run.bytes_written === 0;
            chart.say(rateSentence(points, run));
            chart.redraw();
            boxes[0].show(run.output);
            boxes[1].show(run.errors);
        },
    };
}

// --- the runs so far

// The program without the recorder and its launcher's path.
function shortCommand({ command: words }) {
    const [first, ...rest] = words.slice(words.indexOf('--') + 1);
    return shorten(commandLine([baseName(first), ...rest]), 60);
}

function ways(run, { openLog, chosen }) {
    if (run.log === null) return unknown;
    const isBesides = chosen() !== null && chosen() !== run.log;
    return [
        button('Open', () => openLog(run.log, null), { 'aria-label': `Open the log of run ${run.number}` }),
        ' ',
        isBesides &&
            button('Beside', () => openLog(chosen(), run.log), { 'aria-label': `Show the log of run ${run.number} beside the one below` }),
    ];
}

// Once the log has been read, it knows more than a look from outside.
function pastRow(run, summary, shared) {
    const [text, isBad] = outcome(run);
    const number = (format, value) => h('td', { class: 'number' }, isUnderWay(run) ? '…' : format(value));
    return h(
        'tr',
        { 'aria-current': run.log !== null && run.log === shared.chosen() && 'true' },
        h('th', { scope: 'row' }, run.number),
        h('td', { title: commandLine(run.command) }, h('code', {}, shortCommand(run))),
        h('td', {}, run.storage),
        h('td', {}, new Date(run.started * 1000).toLocaleTimeString()),
        number(seconds, summary?.run_seconds ?? run.seconds),
        number(bytes, summary?.bytes_read ?? run.bytes_read),
        number(bytes, summary?.bytes_written ?? run.bytes_written),
        h('td', { class: isBad ? 'wrong' : null }, text),
        h('td', { class: 'ways' }, ways(run, shared)),
    );
}

// shared: documentOf(log), openLog(log, beside), chosen().
export function runTable(shared) {
    const titles = [['#'], ['Command'], ['Storage'], ['Began'], ['Time', 'number'], ['Read', 'number'], ['Written', 'number'], ['End'], ['Log']];
    const past = tableOf('lab-runs', 'Runs', titles);
    return {
        element: past.element,
        show(runs) {
            const stable = runs.map((run) => (isUnderWay(run) ? { ...run, seconds: 0, bytes_read: 0, bytes_written: 0 } : run));
            const summaries = runs.map(({ log }) => (log === null ? null : (shared.documentOf(log)?.summary ?? null)));
            past.show(stable, (run, at) => pastRow(run, summaries[at], shared), summaries, shared.chosen());
        },
    };
}
