// What a reader does with a page: zooms, turns, sorts, chooses, copies, prints, by mouse and by keyboard.
import {
    assert,
    drawAll,
    folder,
    json,
    open,
    option,
    recordCommand,
    recordExample,
    report,
    runTests,
    see,
    test,
    texts,
    withoutWebGL,
} from './harness.mjs';
import { join } from 'node:path';
import { near, seconds } from './numbers.mjs';

let page;
let log;

async function view() {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const { xAxis } = await option(page, 'timeline', 'xAxis');
    const windows = new Set(xAxis.map(({ min, max }) => `${min} ${max}`));
    assert.equal(windows.size, 1, 'all rows show the same time');
    return [xAxis[0].min, xAxis[0].max];
}

const length = ([from, to]) => to - from;

// Waits until the timeline shows what is expected; returns it. A busy machine draws late.
async function becomes(expected) {
    const until = Date.now() + 20000;
    for (;;) {
        const shown = await view();
        if (expected(shown)) return shown;
        assert.ok(Date.now() < until, `the timeline shows ${shown}, not ${expected}`);
    }
}

test('a report opens', async () => {
    log = recordExample('madbench') ?? recordExample('checkpoint');
    page = await open(report(log));
    await see(page, 'timeline');
    assert.equal((await page.locator('main > section').count()) >= 7, true);
});

test('keys zoom and move the timeline', async () => {
    await page.locator('#chart-timeline').focus();
    const whole = await view();
    await page.keyboard.press('ArrowUp');
    const nearer = await view();
    assert.ok(length(nearer) < length(whole) * 0.7);
    await page.keyboard.press('ArrowRight');
    const later = await view();
    assert.ok(later[0] > nearer[0] && near(length(later), length(nearer)));
    await page.keyboard.press('ArrowLeft');
    assert.ok(near((await view())[0], nearer[0]));
    await page.keyboard.press('-');
    assert.ok(length(await view()) > length(nearer));
    await page.keyboard.press('Home');
    assert.deepEqual(await view(), whole);
});

test('buttons zoom, and the words below follow', async () => {
    const whole = await view();
    await page.getByRole('button', { name: 'Zoom in' }).click();
    const nearer = await view();
    assert.ok(near(length(nearer), length(whole) / 2));
    await page.waitForFunction(() => !document.querySelector('.shown').textContent.startsWith('Showing 0 s'));
    await page.getByRole('button', { name: 'Later' }).click();
    assert.ok((await view())[0] > nearer[0]);
    await page.getByRole('button', { name: 'All', exact: true }).click();
    assert.deepEqual(await view(), whole);
});

test('the mouse moves and zooms the timeline', async () => {
    const whole = await view();
    await drawAll(page); // what is above the chart has its size
    const chart = page.locator('#chart-timeline');
    const { width } = await chart.boundingBox();
    const position = { x: width * 0.6, y: 60 };
    const isNear = (shown) => length(shown) < length(whole) * 0.6;
    for (let tries = 0; tries < 3 && !isNear(await view()); tries++) {
        await chart.dblclick({ position }); // the chart may still have moved, on a busy machine
        await becomes(isNear).catch(() => {});
    }
    const nearer = await becomes(isNear);
    const drag = async () => {
        await chart.hover({ position });
        const box = await chart.boundingBox();
        const [x, y] = [box.x + position.x, box.y + position.y];
        await page.mouse.down();
        await page.mouse.move(x - 120, y, { steps: 4 });
    };
    await page.keyboard.down('Shift');
    await drag();
    await page.mouse.up();
    await page.keyboard.up('Shift');
    const moved = await becomes((shown) => shown[0] > nearer[0] && near(length(shown), length(nearer)));
    await drag();
    await page.locator('.range').waitFor({ state: 'visible' });
    await page.mouse.up();
    await page.locator('.range').waitFor({ state: 'hidden' });
    const chosen = await becomes(
        (shown) => length(shown) < length(moved) * 0.5 && shown[0] > moved[0] && shown[1] < moved[1],
    );
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -200);
    await page.keyboard.up('Control');
    await becomes((shown) => length(shown) < length(chosen) * 0.9);
    await page.getByRole('button', { name: 'All', exact: true }).click();
});

test('a tip tells which call it is', async () => {
    const longest = json('dump', log)
        .filter(({ parent, rank }) => parent === null && rank !== null)
        .reduce((best, call) => (call.duration > best.duration ? call : best));
    await see(page, 'timeline');
    await view();
    const at = await page.evaluate(({ start, duration, rank }) => {
        const chart = window.ioseerPage.chart('timeline');
        const { series } = chart.getOption();
        const index = series.findIndex(({ type, name }) => type === 'custom' && name !== 'phases');
        return chart.convertToPixel({ seriesIndex: index }, [start + duration / 2, rank]);
    }, longest);
    const box = await page.locator('#chart-timeline').boundingBox();
    await page.mouse.move(box.x + at[0], box.y + at[1]);
    await page.waitForFunction(
        (op) => document.querySelector('#chart-timeline .tip')?.textContent.includes(op),
        longest.op,
    );
    await page.mouse.click(box.x + at[0], box.y + at[1]);
    await page.waitForFunction((op) => document.querySelector('#call-tree tbody th')?.textContent === op, longest.op);
});

test('a phase is shown in the timeline', async () => {
    const [first] = json('phases', log).phases;
    await see(page, 'timeline');
    await page.locator('#phase-table tbody th button').first().click();
    const [from, to] = await view();
    assert.ok(from <= first.start && first.start + first.span <= to);
    assert.ok(to - from <= first.span * 1.2 + 1e-6);
    await page.getByRole('button', { name: 'All', exact: true }).click();
});

test('the space turns by keys, buttons and the mouse', async () => {
    if ((await page.locator('#chart-space').count()) === 0) return 'this browser has no WebGL';
    await see(page, 'space');
    const angles = async () => {
        const { grid3D } = await option(page, 'space', 'grid3D');
        return grid3D[0].viewControl;
    };
    const first = await angles();
    await page.locator('#chart-space').focus();
    await page.keyboard.press('ArrowRight');
    assert.equal((await angles()).beta, first.beta + 10);
    await page.keyboard.press('ArrowUp');
    assert.equal((await angles()).alpha, first.alpha + 10);
    await page.getByRole('button', { name: 'Nearer' }).click();
    assert.ok((await angles()).distance < first.distance);
    const box = await page.locator('#chart-space').boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2 + 150, box.y + box.height / 2 + 20, { steps: 6 });
    await page.mouse.up();
    await page.waitForFunction((beta) => {
        const { viewControl } = window.ioseerPage.chart('space').getOption().grid3D[0];
        return Math.abs(viewControl.beta - beta) > 1;
    }, first.beta + 10);
    await page.getByRole('button', { name: 'Reset the view' }).click();
    assert.equal((await angles()).beta, first.beta);
    return null;
});

test('inclusive times hold those below', async () => {
    await see(page, 'layers-ranks');
    const sums = async () => {
        const { series } = await option(page, 'layers-ranks', 'series');
        return new Map(series.map(({ name, data }) => [name, data.reduce((total, value) => total + value, 0)]));
    };
    const exclusive = await sums();
    await page.locator('#layers').getByRole('button', { name: 'Inclusive' }).first().click();
    const inclusive = await sums();
    for (const [name, value] of exclusive) assert.ok(inclusive.get(name) >= value - 1e-9, name);
    assert.ok([...exclusive].some(([name, value]) => inclusive.get(name) > value));
});

test('tables sort by any column', async () => {
    const table = page.locator('#layers .table').first();
    for (const [title, column] of [
        ['Calls', 2],
        ['Exclusive', 5],
    ]) {
        const heading = table.locator('button.sort', { hasText: title });
        await heading.click();
        assert.equal(await table.locator('th[aria-sort]').getAttribute('aria-sort'), 'descending');
        const calls = await table.locator(`tbody tr td:nth-child(${column + 1})`).allTextContents();
        const values = calls.map(valueOf);
        assert.deepEqual(
            values,
            [...values].sort((a, b) => b - a),
            title,
        );
        await heading.press('Enter');
        assert.equal(await table.locator('th[aria-sort]').getAttribute('aria-sort'), 'ascending');
    }
});

const units = { s: 1, ms: 1e-3, us: 1e-6 };

function valueOf(text) {
    const [number, unit] = text.split(' ');
    return Number(number.replaceAll(',', '')) * (units[unit] ?? 1);
}

test('a file is chosen by keyboard', async () => {
    const rows = page.locator('#files .choosable tbody tr');
    const last = (await rows.count()) - 1;
    await rows.nth(last).focus();
    await page.keyboard.press('Enter');
    const name = await rows.nth(last).locator('.path').getAttribute('title');
    assert.deepEqual(await texts(page, '#file-chosen > .path'), [name]);
    assert.equal(await rows.nth(last).getAttribute('aria-selected'), 'true');
});

test('files are found by words of their names', async () => {
    const field = page.getByRole('searchbox', { name: 'Search files' });
    const names = () => texts(page, '#files .table tbody tr th');
    const everything = await names();
    await field.fill('no such name anywhere');
    assert.deepEqual(await names(), []);
    const [first] = everything;
    const word = first.split('/').at(-1).slice(-4).toUpperCase();
    await field.fill(word);
    const found = await names();
    assert.ok(found.length > 0 && found.every((name) => name.toUpperCase().includes(word)), `${word}: ${found}`);
    await field.fill('');
    assert.deepEqual(await names(), everything);
});

test('the longest calls are shown in the timeline', async () => {
    const whole = await view();
    await page.locator('#layers').getByRole('button', { name: 'Show in the timeline' }).first().click();
    assert.ok(length(await view()) < length(whole));
    await page.getByRole('button', { name: 'All', exact: true }).click();
});

test('light and dark', async () => {
    const text = () => page.evaluate(() => getComputedStyle(document.body).color);
    const before = await text();
    await page.locator('button.theme').click();
    assert.notEqual(await text(), before);
    const { textStyle } = await option(page, 'timeline', 'textStyle');
    assert.equal(
        textStyle.color,
        await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--text').trim()),
    );
    await page.locator('button.theme').click();
    assert.equal(await text(), before);
});

test('a wish for dark is followed', async () => {
    const dark = await open(log.replace(/\.ioseer$/, '.html'), { colorScheme: 'dark' });
    assert.equal(await dark.evaluate(() => document.documentElement.dataset.theme), 'dark');
    await dark.close();
});

test('nothing is wider than a narrow window', async () => {
    await page.setViewportSize({ width: 800, height: 1000 });
    await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth);
    await page.setViewportSize({ width: 1400, height: 1000 });
});

test('it prints', async () => {
    const paper = await page.pdf({ printBackground: true });
    assert.ok(paper.length > 20000);
});

test('without WebGL the space is shown from its sides', async () => {
    const plain = await open(log.replace(/\.ioseer$/, '.html'), {}, withoutWebGL);
    await drawAll(plain);
    assert.equal(await plain.locator('#chart-space').count(), 0);
    assert.equal((await plain.locator('.sides canvas').count()) >= 3, true);
    assert.deepEqual(plain.complaints, []);
    await plain.close();
});

test('without MPI the space has time instead of ticks', async () => {
    const plain = await open(report(recordCommand('plain', ['sh', '-c', 'dd if=/dev/zero of=x bs=4k count=20'])));
    await see(plain, 'space-when-offset');
    const { series } = await option(plain, 'space-when-offset', 'series');
    const times = series.flatMap(({ data }) => data.map(({ value }) => value[0]));
    assert.ok(times.length >= 20 && new Set(times).size > 10);
    const { lanes } = json('report', join(folder, 'plain.ioseer')).timeline;
    assert.equal(new Set(lanes.map(({ pid }) => pid)).size, lanes.length, 'each process has one row');
    assert.match(lanes[0].name, /^dd \d+$/);
    assert.deepEqual(plain.complaints, []);
    await plain.close();
});

const cells = (place, column) => texts(place, `#timeline .table tbody tr > :nth-child(${column})`);

test('a process has one name, and the longest calls are those of dump', async () => {
    const script = 'dd if=/dev/zero of=y bs=512 count=9000; cat y >z; cp z y; cat y z';
    const many = recordCommand('many', ['sh', '-c', `(${script}) >/dev/null`]);
    const { processes, busiest } = json('info', many);
    const launchers = new Set(processes.filter(({ launcher }) => launcher).map(({ pid }) => pid));
    const names = new Set(busiest.map(({ program, pid }) => `${program} ${pid}`));
    const plain = await open(report(many), {}, withoutWebGL);
    await drawAll(plain);
    const labels = async (id, ...keys) =>
        Object.values(await option(plain, id, ...keys))
            .flat()
            .flatMap(({ type, data }) => (type === 'category' ? data : []));
    const named = [
        ...(await labels('timeline', 'yAxis')),
        ...(await labels('layers-ranks', 'yAxis')),
        ...(await labels('space-process-offset', 'xAxis')),
        ...(await labels('space-when-process', 'yAxis')),
        ...(await labels('file-heat', 'xAxis')),
    ];
    assert.ok(named.length > 8);
    for (const name of named) assert.ok(names.has(name), `${name}: not one of ${[...names]}`);

    const { timeline } = json('report', many);
    assert.equal(timeline.complete, false, 'some spans are several calls');
    const slowest = json('dump', many, '--slowest', '200')
        .filter(({ parent, pid }) => parent === null && !launchers.has(pid))
        .slice(0, 8);
    assert.deepEqual(await cells(plain, 1), slowest.map(({ op }) => op));
    assert.deepEqual(await cells(plain, 4), slowest.map(({ duration }) => seconds(duration)));
    await plain.locator('#timeline .table tbody tr').first().click();
    await plain.waitForFunction(
        ([from, to]) => {
            const [{ min, max }] = window.ioseerPage.chart('timeline').getOption().xAxis;
            return max - min < 10 * (to - from) && min <= from && max >= to;
        },
        [slowest[0].start, slowest[0].start + slowest[0].duration],
    );
    assert.deepEqual(plain.complaints, []);
    await plain.close();
});

test('nothing went wrong on the way', () => assert.deepEqual(page.complaints, []));

await runTests();
