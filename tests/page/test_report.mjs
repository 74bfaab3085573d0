// The report of every example: its page says what the other verbs say.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import {
    assert,
    drawAll,
    examples,
    folder,
    ioseer,
    json,
    open,
    option,
    recordExample,
    recordLibrary,
    report,
    runTests,
    source,
    test,
    texts,
    withoutWebGL,
} from './harness.mjs';
import { bytes, count, near, percent, seconds, sum } from './numbers.mjs';

const charts = ['timeline', 'space-when-offset', 'layers-ranks', 'layers-calls', 'file-sizes', 'file-heat'];

// What the verbs say about a log; calls are those that the program itself made.
function facts(log) {
    const info = json('info', log);
    const launchers = new Set(info.processes.filter(({ launcher }) => launcher).map(({ pid }) => pid));
    const events = json('dump', log).filter(({ rank, pid }) => rank !== null || !launchers.has(pid));
    return {
        info,
        events,
        phases: json('phases', log),
        stats: json('stats', log),
        document: JSON.parse(ioseer('report', '--format', 'json', log)),
        calls: events.filter(({ parent }) => parent === null),
    };
}

const moved = (events, wanted) =>
    sum(events.filter((event) => event.class === wanted && event.result > 0).map(({ result }) => result));

async function checkSummary(page, { calls, document }) {
    const numbers = await texts(page, '.big-value');
    const details = await texts(page, '.big-detail');
    const [read, written] = [moved(calls, 'read'), moved(calls, 'write')];
    assert.equal(numbers[0], percent(document.summary.io_share));
    assert.equal(numbers[1], bytes(read + written));
    assert.equal(details[1], `${bytes(read)} read, ${bytes(written)} written`);
    if (document.summary.bandwidth !== null) assert.equal(numbers[2], `${bytes(document.summary.bandwidth)}/s`);
    const shown = (await texts(page, '#summary .lead, #summary .sentences')).join(' ');
    for (const sentence of document.summary.sentences) assert.ok(shown.includes(sentence), sentence);
}

async function checkFindings(page, { document }) {
    const titles = await texts(page, '.finding h3');
    assert.deepEqual(
        titles,
        document.findings.map(({ title }) => title),
    );
    assert.deepEqual(
        await texts(page, '.finding .stake strong'),
        document.findings.filter((finding) => finding.seconds > 0).map((finding) => seconds(finding.seconds)),
    );
    const ranks = document.findings.map(({ severity, seconds: stake }) => [['high', 'medium', 'low'].indexOf(severity), -stake]);
    assert.deepEqual(
        ranks,
        [...ranks].sort(([a, x], [b, y]) => a - b || x - y),
    );
    assert.deepEqual(
        await texts(page, '.finding .gain'),
        document.findings.filter(({ gain }) => gain).map(({ gain }) => gain),
    );
}

async function checkTimeline(page, { calls, info }) {
    const { series, yAxis } = await option(page, 'timeline', 'series', 'yAxis');
    const spans = series.filter(({ type, name }) => type === 'custom' && name !== 'phases');
    const drawn = await page.evaluate(() => {
        const { timeline } = JSON.parse(document.getElementById('ioseer-data').textContent);
        return timeline.spans.map(([lane, , , kind, number, size]) => ({
            lane,
            kind: timeline.classes[kind],
            number,
            size,
        }));
    });
    assert.equal(sum(drawn.map(({ number }) => number)), calls.length);
    assert.equal(sum(spans.map(({ data }) => data.length)), drawn.length);
    const lanes = new Set(calls.map(({ pid, tid }) => `${pid} ${tid}`));
    assert.equal(yAxis.find(({ type }) => type === 'category').data.length, lanes.size);
    // Bytes over time are the bytes of the calls.
    for (const name of ['read', 'write']) {
        const { data } = series.find((line) => line.type === 'line' && line.name === name);
        const total = sum(
            data
                .slice(1)
                .map(([time, perSecond], index) => ((time - data[index][0]) * (perSecond + data[index][1])) / 2),
        );
        assert.ok(Math.abs(total - moved(calls, name)) <= 1 + 0.001 * moved(calls, name), `${name}: ${total}`);
    }
    // So are calls that move none.
    const others = calls.filter(({ class: kind }) => !['read', 'write'].includes(kind)).length;
    const { data } = series.find(({ name }) => name === 'others') ?? { data: [] };
    const drawnOthers = sum(data.map(([time], at) => (at % 2 ? (time - data[at - 1][0]) * data[at][1] : 0)));
    assert.ok(Math.abs(drawnOthers - others) <= 0.001 * others, `${drawnOthers} of ${others} calls`);
    // A call with its own span is where the log says. Ranks may begin calls at the same time.
    const longest = calls.reduce((best, call) => (call.duration > best.duration ? call : best));
    const found = spans
        .flatMap(({ data }) => data)
        .find(([, start, end]) => near(start, longest.start) && near(end, longest.start + longest.duration));
    assert.ok(found, `the longest call, ${longest.op} at ${longest.start}`);
    assert.ok(near(found[2] - found[1], longest.duration));
    assert.ok(info.job.end > info.job.start);
}

async function checkPhases(page, { phases, document }) {
    assert.deepEqual(document.phases, phases);
    if (phases.phases.length === 0) return;
    await page.evaluate(() => document.querySelector('#phases .more button')?.click());
    const shown = await page.evaluate(() =>
        [...document.querySelectorAll('#phase-table tbody')].map((body) => ({
            first: Number(body.dataset.first),
            last: Number(body.dataset.last),
            text: body.textContent,
            codes: [...body.querySelectorAll('.expression code:first-child')].map((code) => code.textContent),
        })),
    );
    for (const phase of phases.phases) {
        const body = shown.find(({ first, last }) => first === phase.id && last === phase.id);
        assert.ok(body, `phase ${phase.id}`);
        const rate = phase.rate && `${count(Math.round(phase.rate))}/s`;
        assert.ok(body.text.includes(phase.bandwidth === null && rate ? rate : bytes(phase.weight)), body.text);
        assert.ok(body.text.includes(seconds(phase.duration)), body.text);
        const expressions = phase.ops.map((op) => op.logical_expr ?? op.offset_expr).filter(Boolean);
        for (const expression of expressions)
            assert.ok(body.codes.includes(expression), `${expression} in ${body.codes}`);
    }
    const { series } = await option(page, 'timeline', 'series');
    const bands = series.find(({ name }) => name === 'phases').data;
    assert.deepEqual(
        bands.map(([, start]) => start),
        phases.phases.map(({ start }) => start).sort((a, b) => a - b),
    );
}

// With every point in the space, there are as many as transfers.
async function checkSpace(page, { calls, document }) {
    const { points, files, sampled } = document.space;
    if (points.length === 0) return;
    const transfers = calls.filter((call) => ['read', 'write'].includes(call.class) && call.offset !== null);
    if (!sampled) assert.equal(points.length, transfers.length);
    const chosen = await page.evaluate(() => document.querySelector('.space-head select')?.value ?? null);
    const { series } = await option(page, 'space-when-offset', 'series');
    const drawn = sum(series.map(({ data }) => data.length));
    const names = files.map((name) => name.slice(name.lastIndexOf('/') + 1));
    const expected = points.filter((point) => chosen === null || chosen === 'all files' || names[point[6]] === chosen);
    assert.equal(drawn, expected.length);
}

async function checkLayers(page, { events }) {
    const { series, yAxis } = await option(page, 'layers-ranks', 'series', 'yAxis');
    const calls = await option(page, 'layers-calls', 'series', 'yAxis');
    const perCall = new Map();
    for (const { op, duration } of events) perCall.set(op, (perCall.get(op) ?? 0) + duration);
    // Exclusive times of all layers make up the time of the program's own calls.
    const top = sum(events.filter(({ parent }) => parent === null).map(({ duration }) => duration));
    const drawn = sum(series.flatMap(({ data }) => data));
    assert.ok(Math.abs(drawn - top) <= 0.02 * top + 1e-6, `${drawn} of ${top}`);
    assert.ok(yAxis[0].data.length >= 1);
    const [row] = calls.yAxis[0].data;
    const first = sum(calls.series.map(({ data }) => data[0]));
    assert.ok(Math.abs(first - perCall.get(row)) <= 0.02 * first + 1e-6, `${row}: ${first}, not ${perCall.get(row)}`);
}

// The parts drawn are those of the calls.
async function checkCollectives(page, { events, info }) {
    const calls = events.filter(({ inside }) => inside);
    const rows = info.collectives.operations.filter((row) => row.calls > 0);
    assert.equal((await page.locator('#collectives').count()) > 0, info.collectives.calls > 0);
    if (calls.length === 0) return;
    const { series } = await option(page, 'collectives', 'series');
    if (rows.length > series[0].data.length) return;
    ['wait', 'exchange', 'io', 'rest'].forEach((part, at) => {
        const total = sum(calls.map(({ inside }) => inside[part]));
        assert.ok(near(sum(series[at].data), total), `${part}: ${sum(series[at].data)}, not ${total}`);
    });
    assert.ok((await texts(page, '#collectives tbody tr'))[0].includes(seconds(rows[0].seconds)));
    const share = info.collectives.shuffle_share;
    const section = (await texts(page, '#collectives')).join(' ');
    assert.equal(section.includes(`Exchange is ${percent(share ?? 0)} of`), share !== null);
}

async function checkFiles(page, { info, stats, document }) {
    const rows = await page.evaluate(() =>
        [...document.querySelectorAll('#files .choosable tbody tr')].map((row) =>
            [...row.cells].map((cell, at) =>
                at === 0 ? cell.querySelector('.path').title : (cell.firstElementChild ?? cell).textContent,
            ),
        ),
    );
    const byName = new Map(info.files.map((file) => [file.name, file]));
    assert.ok(rows.length > 0);
    for (const [name, read, written, opens] of rows) {
        // info does not list files without bytes, opens and ranks.
        const file = byName.get(name) ?? { bytes_read: 0, bytes_written: 0, opens: 0 };
        assert.deepEqual(
            [read, written, opens],
            [bytes(file.bytes_read), bytes(file.bytes_written), count(file.opens)],
            name,
        );
    }
    assert.ok(rows.some(([name]) => byName.has(name)));
    const [name] = await texts(page, '#file-chosen > .path');
    const shown = document.files.find((file) => file.name === name);
    if (await page.locator('#chart-file-sizes').isVisible()) {
        const { series } = await option(page, 'file-sizes', 'series');
        assert.deepEqual(
            series.map(({ data }) => data),
            [shown.sizes.read, shown.sizes.write],
        );
    } else {
        assert.equal(sum([...shown.sizes.read, ...shown.sizes.write]), 0);
    }
    const counters = Object.fromEntries(
        await page.evaluate(() =>
            [...document.querySelectorAll('.counters tr')].map((row) => [...row.cells].map((cell) => cell.textContent)),
        ),
    );
    for (const { layer } of shown.layers) {
        const records = stats.records.filter((record) => record.file === shown.name && record.layer === layer);
        const summed = Object.keys(records[0].counters).filter((name) =>
            /_(OPENS|(?:COLL_)?READS|WRITES|STATS|BYTES_\w+|SIZE_\w+)$/.test(name),
        );
        assert.ok(summed.length > 0, layer);
        for (const name of summed) {
            assert.equal(counters[name] ?? '0', count(sum(records.map((record) => record.counters[name]))), name);
        }
    }
}

async function checkJob(page, { info }) {
    const text = (await texts(page, '#job')).join(' ');
    assert.ok(text.includes(`${count(info.events)} events`), 'events');
    assert.ok(text.includes(info.job.command.join(' ')), 'command');
    assert.ok(info.mounts.length > 0);
    for (const { point, options } of info.mounts) {
        assert.ok(text.includes(point) && text.includes(options), `mount at ${point}`);
    }
    if (info.ranks?.length) {
        const { series } = await option(page, 'times', 'series');
        for (const [index, key] of ['io', 'communication', 'rest'].entries()) {
            assert.deepEqual(
                series[index].data,
                info.ranks.map((rank) => rank[key]),
            );
        }
    }
}

async function checkWords(page) {
    const labels = await page.evaluate(() =>
        [...document.querySelectorAll('.chart')].map((chart) => chart.getAttribute('aria-label')),
    );
    assert.ok(
        labels.every((label) => label && label.length > 20 && !/NaN|undefined|Infinity|null/.test(label)),
        labels.join('\n'),
    );
    const all = await page.evaluate(() => document.body.innerText);
    const wrong = /\bNaN\b|\bundefined\b|\bInfinity\b|(?<![/\w])null\b|\[object|(?<!\S)-\d[\d.]* [mu]?s\b/;
    assert.ok(!wrong.test(all), all.split('\n').find((line) => wrong.test(line)));
}

for (const name of Object.keys(examples)) {
    test(name, async () => {
        const log = recordExample(name);
        if (!log) return 'there is no MPI';
        const known = facts(log);
        // Software draws the space slowly: once is enough.
        const page = await open(report(log), {}, name === 'madbench' ? null : withoutWebGL);
        await drawAll(page);
        for (const id of charts) {
            if (!(await page.locator(`#chart-${id}`).isVisible())) continue;
            assert.ok(await page.evaluate((chart) => window.ioseerPage.chart(chart) !== null, id), `chart ${id}`);
        }
        await checkSummary(page, known);
        await checkFindings(page, known);
        await checkTimeline(page, known);
        await checkPhases(page, known);
        await checkSpace(page, known);
        await checkLayers(page, known);
        await checkCollectives(page, known);
        await checkFiles(page, known);
        await checkJob(page, known);
        await checkWords(page);
        assert.deepEqual(page.complaints, []);
        assert.equal(page.asked.length, 1, `a report asks for nothing: ${page.asked}`);
        await page.close();
        return null;
    });
}

// What the log does not tell is said, and not shown as nothing.
test('logs of Darshan without a trace', async () => {
    execFileSync('python3', [join(source, 'tests', 'page', 'darshan_logs.py'), folder]);
    for (const [name, timeline] of [
        ['counters', 'Not known: moments come from a trace'],
        ['heat', 'At most 819.2 KiB/s were read and 4.8 MiB/s written'],
    ]) {
        const page = await open(report(join(folder, `${name}.ioseer`)), {}, withoutWebGL);
        await drawAll(page);
        await checkWords(page);
        const all = (await page.evaluate(() => document.body.innerText)).replaceAll('\u00a0', ' ');
        for (const what of ['findings', 'phases', 'the times of layers'])
            assert.ok(all.includes(`Not known: ${what} come from a trace`), what);
        assert.ok(all.includes(timeline), all);
        assert.ok(all.includes('mean of 4 ranks'));
        for (const wrong of ['No bytes were moved', 'No calls', 'No I/O', 'Nothing stands out', 'No process spent'])
            assert.ok(!all.includes(wrong), wrong);
        assert.deepEqual(page.complaints, []);
        await page.close();
    }
    return null;
});

// The cells of a table's rows, each as one text.
const rowsOf = (page, caption) =>
    page.locator(`[aria-label="${caption}"] tbody tr`).evaluateAll((rows) =>
        rows.map((row) => [...row.cells].map((cell) => cell.innerText.replaceAll('\u00a0', ' ').replaceAll('\n', ' | '))),
    );

async function checkLibrary(page, library) {
    const row = (name, of) => [
        name,
        count(of.calls),
        `${seconds(of.time)} | ${seconds(of.time - of.below)} own`,
        `${bytes(of.bytes_read)} | ${bytes(of.file_bytes_read)} in files`,
        `${bytes(of.bytes_written)} | ${bytes(of.file_bytes_written)} in files`,
        count(of.file_reads + of.file_writes),
    ];
    const names = { transfers: 'Transfers', opens: 'Opens and creations', closes: 'Closes and flushes', others: 'Other calls' };
    assert.deepEqual(await rowsOf(page, `${library.name}: what it was asked for and what reached the files`), [
        row('All', library),
        ...library.parts.map((part) => row(names[part.part], part)),
    ]);
}

test('a program with HDF5', async () => {
    const log = recordLibrary();
    if (!log) return 'no HDF5';
    const info = json('info', log);
    const events = json('dump', log);
    const page = await open(report(log), {}, withoutWebGL);
    await checkLibrary(page, info.libraries[0]);
    const objects = await rowsOf(page, 'Datasets and variables');
    assert.deepEqual(
        objects.map(([name, , , transfers, moved, time]) => [name, transfers.split(' | ')[0], moved, time]),
        info.objects.map((row) => [
            `${row.object} | slabs.h5`,
            `${count(row.reads)} reads, ${count(row.writes)} writes`.replace(/^1 reads/, '1 read'),
            `${bytes(row.bytes_read + row.bytes_written)} | ${bytes(row.file_bytes_read + row.file_bytes_written)} in files`,
            seconds(row.time_read + row.time_written),
        ]),
    );
    // In the tree, H5Dwrite stands above what it called.
    const tree = await rowsOf(page, 'Tree of calls');
    const at = tree.findIndex(([op]) => op === 'H5Dwrite');
    const writes = events.filter(({ op }) => op === 'H5Dwrite');
    assert.deepEqual(tree[at].slice(1, 4), [
        'hdf5',
        count(writes.length),
        bytes(sum(writes.map(({ result }) => result))),
    ]);
    assert.equal(tree[at][4], seconds(sum(writes.map(({ duration }) => duration))));
    const inside = new Set(writes.map(({ id }) => id));
    const below = new Set(events.filter(({ parent }) => inside.has(parent)).map(({ op }) => op));
    assert.ok(below.has(tree[at + 1][0]), tree[at + 1][0]);
    assert.deepEqual(page.complaints, []);
    await page.close();
    return null;
});

await runTests();
