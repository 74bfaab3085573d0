// Names of files cannot do anything in the page: they are always text.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
    assert,
    drawAll,
    folder,
    ioseer,
    json,
    open,
    recordCommand,
    report,
    runTests,
    source,
    test,
    texts,
    withoutWebGL,
} from './harness.mjs';

let page;
let log;

test('a report of hostile names is made', async () => {
    const data = join(folder, 'names');
    mkdirSync(data);
    log = recordCommand('hostile', ['python3', join(source, 'tests', 'page', 'hostile.py'), data]);
    assert.ok(json('info', log).files.length >= 12);
    const path = report(log);
    assert.ok(statSync(path).size < 4_000_000);
    // The data ends where it should: no name closes its element.
    const text = readFileSync(path, 'latin1');
    const data0 = text.slice(text.indexOf('id="ioseer-data">') + 17);
    JSON.parse(Buffer.from(data0.slice(0, data0.indexOf('</script>')), 'latin1').toString());
    page = await open(path, {}, withoutWebGL);
    await drawAll(page);
});

async function unharmed() {
    assert.equal(await page.evaluate(() => window.harm), undefined);
    assert.deepEqual(
        await page.evaluate(() =>
            [...document.querySelectorAll('img, svg, iframe, object, b, script[src]')].map(
                ({ outerHTML }) => outerHTML,
            ),
        ),
        [],
    );
    assert.deepEqual(page.complaints, []);
    assert.equal(page.asked.length, 1);
}

test('nothing has happened', unharmed);

test('every file can be chosen and its charts be pointed at', async () => {
    const rows = page.locator('#files .choosable tbody tr');
    await page.evaluate(() => document.querySelector('#files .more button')?.click());
    const number = await rows.count();
    assert.ok(number >= 12);
    for (let at = 0; at < number; at++) await rows.nth(at).click();
    // Tips contain names too.
    for (const id of ['timeline', 'space-when-offset']) {
        const chart = page.locator(`#chart-${id}`);
        await chart.scrollIntoViewIfNeeded();
        const box = await chart.boundingBox();
        for (let step = 1; step < 12; step++)
            await page.mouse.move(box.x + (box.width * step) / 12, box.y + box.height * 0.4);
    }
    await unharmed();
});

test('names are shown as they are', async () => {
    const shown = await page.locator('#files .path').evaluateAll((cells) => cells.map(({ title }) => title).join('\n'));
    for (const name of [
        '<img src=x onerror=window.harm=2>',
        '"><svg onload=window.harm=3>',
        '\\n',
        '\\x1b[31m',
        '\\xff\\xfe\\xc3',
        '\\u{202e}',
        '@IOSEER_DATA@',
    ]) {
        assert.ok(shown.includes(name), name);
    }
    assert.ok(!/[\u202e\u2028\u0001\u001b]/.test(await page.evaluate(() => document.body.innerText)));
});

test('nothing is wider than the window', async () => {
    await page.setViewportSize({ width: 800, height: 1000 });
    await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth);
    await page.close();
});

test('gains on storage of a hostile name are text', async () => {
    const writes = 'import os, sys\nfd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)\nfor i in range(100000): os.write(fd, b"x" * 16)';
    const tiny = recordCommand('tiny', ['python3', '-c', writes, join(folder, 'tiny')]);
    const system = join(folder, '<img src=x onerror=window.harm=6>.json');
    const same = { mode: 'sequential', np: 1, shared: false, collective: false, cache: 'cold', latency_p50: 0.001, latency_p99: 0.001 };
    const point = (op, size) => ({ op, size, bandwidth: size * 1000, low: size * 1000, high: size * 1000, ...same });
    const points = ['read', 'write'].flatMap((op) => [point(op, 16), point(op, 1 << 20)]);
    writeFileSync(system, JSON.stringify({ ioseer_system: 1, storage: {}, peak: {}, points }));
    const path = tiny.replace(/\.ioseer$/, '.html');
    ioseer('report', '-o', path, '--system', system, tiny);
    page = await open(path, {}, withoutWebGL);
    const [shown] = await texts(page, '.finding[data-id="small-requests"] .gain');
    assert.ok(shown.includes(`on the storage of ${system} they would save `), shown);
    await unharmed();
    await page.close();
});

test('the page itself allows no other script', () => {
    const text = readFileSync(log.replace(/\.ioseer$/, '.html'), 'latin1');
    const [policy] = text.match(/Content-Security-Policy" content="[^"]*"/);
    assert.ok(/script-src 'sha256-[^' ]+';/.test(policy), policy);
    assert.ok(!/unsafe-eval|https?:/.test(policy), policy);
});

await runTests();
