// The page of a program on a stack: it says what info and dump say about the layers below the system call.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { assert, build, drawAll, folder, ioseer, json, open, option, report, runTests, skipAll, test, texts } from './harness.mjs';
import { bytes, count, near, percent, seconds, sum } from './numbers.mjs';

const name = `page-${process.pid}`;
const program = join(build, 'examples', 's3d-mpich');
if (process.getuid() !== 0) skipAll('a stack needs root');
if (!existsSync(program)) skipAll('no MPICH');
const up = spawnSync(join(build, 'ioseer'), ['stack', 'up', name, '--servers', '3', '--layout', 'shard', '--emulate', '1=hdd', '--json']);
if (up.status !== 0) skipAll(`no stack: ${String(up.stderr).trim()}`);
process.on('exit', () => spawnSync(join(build, 'ioseer'), ['stack', 'down', '--force', name]));

const log = join(folder, 'stack.ioseer');
const { mount } = JSON.parse(up.stdout);
let page = null;
let info = null;
let events = null;

test('the report of a program on a stack is made', async () => {
    ioseer('record', '--stack', name, '-o', log, '--', 'mpiexec.mpich', '-n', '3', program, '--directory', mount, '--edge', '12', '--mode', 'collective');
    info = json('info', log);
    events = json('dump', log);
    page = await open(report(log));
    await drawAll(page);
    assert.deepEqual(page.complaints, []);
});

test('layers of each process are those of info', async () => {
    for (const kind of ['exclusive', 'inclusive']) {
        await page.locator('#stack').getByRole('button', { name: kind, exact: false }).click();
        const { series, yAxis } = await option(page, 'stack-layers', 'series', 'yAxis');
        assert.deepEqual(
            yAxis[0].data,
            info.stack.processes.map(({ rank, pid }) => (rank === null ? `mpiexec.hydra ${pid}` : `rank ${rank}`)),
        );
        for (const { name: layer, data } of series) {
            const wanted = info.stack.processes.map(({ layers }) => layers.find((row) => row.layer === layer)?.[kind] ?? 0);
            assert.deepEqual(
                data,
                wanted.map((value) => Math.max(0, value)),
            );
        }
        assert.ok(['mpiio', 'posix', 'client', 'net', 'server', 'disk'].every((layer) => series.some((row) => row.name === layer)));
    }
});

test('servers are those of info, and their time adds up', async () => {
    const rows = await texts(page, '#stack [aria-label="Servers"] tbody tr');
    assert.equal(rows.length, info.stack.servers.length);
    for (const [at, server] of info.stack.servers.entries()) {
        for (const text of [count(server.calls), bytes(server.bytes_written), percent(server.share), seconds(server.busy)])
            assert.ok(rows[at].includes(text), `${text} in ${rows[at]}`);
        assert.equal(rows[at].includes('overloaded'), server.overloaded);
    }
    const { series, yAxis } = await option(page, 'stack-servers', 'series', 'yAxis');
    const { bin_seconds: width } = await page.evaluate(() => JSON.parse(document.getElementById('ioseer-data').textContent).stack);
    for (const { id, busy, overloaded } of info.stack.servers) {
        const shown = sum(series[0].data.filter(([, at]) => at === id).map(([, , value]) => value * width));
        assert.ok(shown <= busy + 1e-6 && shown > 0.5 * busy, `${shown} of ${busy}`); // what is after the end is left out
        assert.equal(yAxis[0].data[id].endsWith('overloaded'), overloaded);
    }
    await page.getByRole('button', { name: 'Bandwidth', exact: true }).click();
    const drawn = (await option(page, 'stack-servers', 'series')).series[0].data;
    const moved = events.filter(({ layer, class: kind }) => layer === 'disk' && ['read', 'write'].includes(kind));
    assert.ok(near(sum(drawn.map(([, , value]) => value * width)), sum(moved.map(({ result }) => Math.max(0, result)))));
});

const treeOf = (all, id) => {
    const inside = new Map([[id, all.find((event) => event.id === id)]]);
    for (const event of all) if (inside.has(event.parent)) inside.set(event.id, event);
    return [...inside.values()];
};

test('the picture of a call has everything inside it', async () => {
    for (const [at, call] of info.stack.longest.slice(0, 4).entries()) {
        await page.locator('#stack select').selectOption({ index: at });
        const { series } = await option(page, 'stack-call', 'series');
        const tree = treeOf(events, call.id);
        const cut = await page.evaluate(
            (id) => JSON.parse(document.getElementById('ioseer-data').textContent).stack.trees.find((one) => one.id === id).cut,
            call.id,
        );
        assert.equal(sum(series.map(({ data }) => data.length)) + cut, tree.length);
        if (cut > 0) continue;
        for (const { name: layer, data } of series) {
            const wanted = tree.filter((event) => event.layer === layer).map((event) => event.start - call.start);
            for (const [index, start] of wanted.sort((a, b) => a - b).entries())
                assert.ok(near(data.map((row) => row[1]).sort((a, b) => a - b)[index], start));
        }
        const rows = await texts(page, '#stack [aria-label="Calls of the client in this call"] tbody tr');
        const fragments = tree.filter(({ layer }) => layer === 'client').length;
        assert.equal(rows.length, fragments > 9 ? 6 : fragments);
        assert.ok((await page.locator('#chart-stack-call').getAttribute('aria-label')).includes(call.op));
    }
});

test('of a call with many inside, the longest are shown', async () => {
    const big = join(folder, 'big.ioseer');
    ioseer('record', '--stack', name, '-o', big, '--', 'dd', 'if=/dev/zero', `of=${join(mount, 'big')}`, 'bs=64M', 'count=1');
    const other = await open(report(big));
    await drawAll(other);
    const data = await other.evaluate(() => JSON.parse(document.getElementById('ioseer-data').textContent));
    const [{ id, rows, cut }] = data.stack.trees;
    const tree = treeOf(json('dump', big), id);
    assert.ok(cut > 0);
    assert.equal(tree.length, rows.length + cut);
    const shown = rows.filter((row) => row[2] === 'client').map((row) => row[5]);
    const longest = tree.filter(({ layer }) => layer === 'client').map(({ duration }) => duration);
    longest.sort((a, b) => b - a);
    for (const [at, duration] of shown.sort((a, b) => b - a).entries()) assert.ok(near(duration, longest[at]));
    const inside = new Set(rows.map(([parent]) => parent));
    const empty = rows.filter(([, , layer], at) => layer === 'client' && !inside.has(at));
    assert.ok(empty.length <= 1); // the one at which the list is cut
    for (const [at, [parent, , , , start]] of rows.entries())
        assert.ok(at === 0 || (parent >= 0 && parent < at && rows[parent][4] <= start));
    assert.match((await texts(other, '#stack .message')).join(' '), /Only its longest calls of the client are shown/);
    assert.deepEqual(other.complaints, []);
});

test('what no call caused is said in words', async () => {
    const [text] = await texts(page, '#stack p.quiet');
    for (const { why, calls } of info.untied) assert.ok(text.includes(why) && text.includes(count(calls)), text);
});

test('keys zoom and move the picture', async () => {
    const range = async () => {
        const { xAxis } = await option(page, 'stack-call', 'xAxis');
        return [xAxis[0].min, xAxis[0].max];
    };
    await page.locator('#chart-stack-call').focus();
    const [first, last] = await range();
    await page.keyboard.press('ArrowUp');
    const [from, to] = await range();
    assert.ok(from > first && to < last);
    await page.keyboard.press('ArrowRight');
    assert.ok((await range())[0] > from);
    await page.keyboard.press('0');
    assert.deepEqual(await range(), [first, last]);
});

test('a narrow window and paper have all of it', async () => {
    await page.setViewportSize({ width: 600, height: 900 });
    await drawAll(page);
    const wide = await page.evaluate(() =>
        [...document.querySelectorAll('#stack *')]
            .filter((element) => !element.closest('.scroll, .chart'))
            .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
            .map((element) => element.outerHTML.slice(0, 100)),
    );
    assert.deepEqual(wide, []);
    await page.emulateMedia({ media: 'print' });
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    const shown = await page.evaluate(() =>
        [...document.querySelectorAll('#stack .chart')].map(
            (chart) => [...chart.querySelectorAll('canvas')].filter((canvas) => canvas.checkVisibility()).length,
        ),
    );
    assert.deepEqual(shown, [1, 1, 1]);
    assert.deepEqual(page.complaints, []);
});

test('a log without a stack has no such section', async () => {
    const plain = join(folder, 'plain.ioseer');
    ioseer('record', '-o', plain, '--', 'true');
    const other = await open(report(plain));
    assert.equal(await other.locator('#stack').count(), 0);
    assert.equal(json('info', plain).stack, null);
});

await runTests();
