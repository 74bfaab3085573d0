// The page served by `ioseer view`: it requests what it shows, and shows logs side by side.
import {
    assert,
    ioseer,
    json,
    open,
    option,
    recordCommand,
    recordExample,
    runTests,
    see,
    serve,
    test,
    withoutWebGL,
} from './harness.mjs';
import { bytes, seconds } from './numbers.mjs';

let address;
let page;
let logs;

test('two logs are served', async () => {
    const first = recordExample('madbench') ?? recordExample('checkpoint');
    logs = [first, recordCommand('again', json('info', first).job.command)];
    address = await serve(...logs);
    page = await open(address, {}, withoutWebGL);
    await page.locator('#compare').waitFor();
    await page.locator('#job').waitFor();
});

test('numbers stand side by side', async () => {
    const documents = logs.map((log) => JSON.parse(ioseer('report', '--format', 'json', log)));
    const row = page.locator('#compare table').first().locator('tbody tr', { hasText: 'Run time' });
    const cells = await row.locator('td').allTextContents();
    for (const [index, { summary }] of documents.entries()) {
        assert.ok(cells[index].startsWith(seconds(summary.run_seconds)), cells[index]);
    }
    const moved = page.locator('#compare table').first().locator('tbody tr', { hasText: 'Written' });
    assert.deepEqual(
        (await moved.locator('td').allTextContents()).map((text) => text.replace(/[+−].*/, '')),
        documents.map(({ summary }) => bytes(summary.bytes_written)),
    );
});

test('phases of both are aligned', async () => {
    await see(page, 'compare');
    const { series } = await option(page, 'compare', 'series');
    const phases = logs.map((log) => json('phases', log).phases);
    assert.equal(series[0].data.length, phases[0].length + phases[1].length);
    // The same program twice: every phase has its counterpart, and both begin at the same place.
    const starts = (log) => series[0].data.filter((bar) => bar[0] === log).map(([, start]) => start);
    assert.deepEqual(starts(0), starts(1));
});

test('zooming asks the server', async () => {
    await see(page, 'timeline');
    const asked = page.waitForResponse((answer) => answer.url().includes('/timeline/0?'));
    await page.getByRole('button', { name: 'Zoom in' }).click();
    const answer = await (await asked).json();
    const calls = answer.spans.reduce((total, span) => total + span[4], 0);
    assert.ok(calls > 0);
    await page.waitForFunction(
        (spans) =>
            window.ioseerPage
                .chart('timeline')
                .getOption()
                .series.filter(({ type, name }) => type === 'custom' && name !== 'phases')
                .reduce((sum, { data }) => sum + data.length, 0) === spans,
        answer.spans.length,
    );
});

test('the tree of any call can be seen', async () => {
    const event =
        json('dump', logs[0]).find(({ parent, rank, op }) => parent === null && rank !== null && /write$/.test(op)) ??
        json('dump', logs[0]).find(({ parent }) => parent === null);
    await page.evaluate(({ id, start }) => window.ioseerPage.actions.showCall(id, start), event);
    await page.waitForFunction((op) => document.querySelector('#call-tree tbody th')?.textContent === op, event.op);
    const below = json('dump', logs[0]).filter(({ parent }) => parent === event.id).length;
    assert.ok((await page.locator('#call-tree tbody tr').count()) >= 1 + below);
});

test('the other log can be chosen', async () => {
    await page.locator('.logs select').selectOption({ index: 1 });
    await page.waitForFunction(
        (text) =>
            document.querySelector('#number-share .big-detail').textContent.replaceAll('\u00a0', ' ').includes(text),
        seconds(JSON.parse(ioseer('report', '--format', 'json', logs[1])).summary.run_seconds),
    );
});

test('nothing went wrong, and nobody else was asked', async () => {
    const { origin } = new URL(address);
    assert.deepEqual(
        page.asked.filter((url) => !url.startsWith(origin)),
        [],
    );
    assert.deepEqual(page.complaints, []);
    await page.close();
});

await runTests();
