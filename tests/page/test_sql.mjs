// Statements of SQL in the page that `ioseer view` serves.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
    assert,
    folder,
    ioseer,
    json,
    open,
    option,
    recordCommand,
    recordExample,
    report,
    runTests,
    see,
    serve,
    source,
    test,
    withoutWebGL,
} from './harness.mjs';

const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
let log;
let address;
let page;

const area = () => page.locator('#sql textarea');
const cells = () =>
    page.locator('#sql-result tbody tr').evaluateAll((rows) => rows.map((row) => [...row.cells].map((one) => one.innerText)));

async function ask(statement) {
    await area().fill(statement);
    const answered = page.waitForResponse((answer) => answer.url().includes('/sql/'));
    await area().press('Control+Enter');
    const answer = await (await answered).json();
    await page.locator(answer.error ? '#sql-result .failure' : '#sql-result table').waitFor();
    return answer;
}

test('a served page has the section, with all tables', async () => {
    log = recordExample('madbench') ?? recordExample('checkpoint');
    address = await serve(log);
    page = await open(address, {}, withoutWebGL);
    await page.locator('.sql-tables details').first().waitFor();
    const names = await page.locator('.sql-tables summary').allTextContents();
    const { tables } = JSON.parse(ioseer('query', '--tables', '--json'));
    assert.deepEqual(
        names,
        tables.map(({ name }) => name),
    );
    await area().fill('SELECT');
    await page.locator('.sql-tables summary', { hasText: 'events' }).click();
    await page.locator('.sql-tables').getByRole('button', { name: 'duration', exact: true }).first().click();
    assert.equal(await area().inputValue(), 'SELECT duration');
});

test('a statement is answered as the command line answers it', async () => {
    const statement = "SELECT rank, op, count(*) AS calls, sum(size) AS bytes\nFROM events GROUP BY rank, op ORDER BY 1, 2";
    const answer = await ask(statement);
    const { columns, rows } = json('query', log, '--sql', statement);
    assert.deepEqual(answer.columns, columns);
    assert.deepEqual(answer.rows, rows);
    await page.locator('#sql-result tbody tr').nth(Math.min(rows.length, 50) - 1).waitFor();
    assert.deepEqual(
        (await cells()).slice(0, 50),
        rows.slice(0, 50).map((row) => row.map((value) => (value === null ? 'NULL' : String(value)))),
    );
});

test('the chart shows the chosen columns', async () => {
    const { rows } = await ask('SELECT op, count(*) AS calls, sum(duration) AS seconds FROM events GROUP BY op');
    await see(page, 'sql');
    const values = async () => (await option(page, 'sql', 'series')).series.map(({ data, type }) => [type, data.map(([, y]) => y)]);
    assert.deepEqual(await values(), [['bar', rows.map(([, , seconds]) => seconds)]]);
    await page.locator('.choosers label', { hasText: 'of' }).locator('select').selectOption('calls');
    await page.locator('.choosers label', { hasText: 'Show' }).locator('select').selectOption('Lines');
    assert.deepEqual(await values(), [['line', rows.map(([, calls]) => calls)]]);
});

test('rows lead to the timeline and to the tree', async () => {
    const { rows } = await ask("SELECT id, op, start, duration FROM events WHERE parent IS NULL AND class = 'write' LIMIT 3");
    assert.ok(rows.length > 0);
    const asked = page.waitForResponse((answer) => answer.url().includes('/timeline/0?'));
    await page.locator('#sql-result').getByRole('button', { name: 'Timeline' }).first().click();
    const part = await (await asked).json();
    assert.ok(part.from <= rows[0][2] && part.to >= rows[0][2] + rows[0][3], JSON.stringify([part.from, part.to, rows[0]]));
    await page.locator('#sql-result').getByRole('button', { name: 'Tree' }).first().click();
    await page.waitForFunction((op) => document.querySelector('#call-tree tbody th')?.textContent === op, rows[0][1]);
});

test('the link holds the statement', async () => {
    const statement = "SELECT 'ä + & = # %' AS text, 2 AS two";
    await ask(statement);
    const other = await open(page.url(), {}, withoutWebGL);
    await other.locator('#sql-result table').waitFor();
    assert.equal(await other.locator('#sql textarea').inputValue(), statement);
    assert.equal(await other.locator('#sql-result tbody td').first().textContent(), 'ä + & = # %');
    await other.close();
});

test('the history brings statements back', async () => {
    await ask('SELECT 1 AS one');
    await ask('SELECT 2 AS two');
    await page.locator('.history summary').click();
    await page.locator('.history').getByRole('button', { name: 'SELECT 1 AS one' }).click();
    await page.locator('#sql-result th', { hasText: 'one' }).waitFor();
    assert.equal(await area().inputValue(), 'SELECT 1 AS one');
});

test('the download is CSV as the command line writes it', async () => {
    const statement = `SELECT '=1+1' AS "a,b", 'x"y' AS quote, NULL AS none, -1.5 AS number, '' AS empty, 'plain' AS plain`;
    await ask(statement);
    const downloaded = page.waitForEvent('download');
    await page.locator('#sql-result').getByRole('button', { name: 'Download CSV' }).click();
    const file = await downloaded;
    assert.equal(file.suggestedFilename(), 'result.csv');
    assert.equal(readFileSync(await file.path(), 'latin1'), ioseer('query', '--csv', log, '--sql', statement).toString('latin1'));
});

test('an error is marked at its place', async () => {
    await ask("SELECT 'ä',\n  missing FROM events");
    assert.equal(await page.locator('#sql-result .failure mark').textContent(), 'missing');
    assert.match(await page.locator('#sql-result .failure p').textContent(), /no such column: missing/);
    await ask('CREATE TABLE mine(x)');
    assert.match(await page.locator('#sql-result .failure').textContent(), /only SELECT/);
    page.complaints = page.complaints.filter((text) => !text.includes('status of 400'));
});

test('a statement can be stopped, and a newer one takes its place', async () => {
    await area().fill(endless);
    await page.locator('#sql').getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('#sql').getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped.').waitFor();
    await area().fill(endless);
    await area().press('Control+Enter');
    await page.waitForTimeout(300);
    await area().fill('SELECT 5 AS five');
    await area().press('Control+Enter');
    await page.locator('#sql-result th', { hasText: 'five' }).waitFor({ timeout: 15_000 });
    page.complaints = page.complaints.filter((text) => !text.includes('status of 409'));
});

test('a finding leads to its statement', async () => {
    const link = page.locator('#findings').getByRole('button', { name: 'Ask in SQL' }).first();
    if ((await link.count()) === 0) return 'nothing was found';
    await link.click();
    await page.locator('#sql-result table').waitFor();
    assert.match(await area().inputValue(), /^SELECT/);
});

test('each kind of finding has a statement, and it is right', async () => {
    const { statementOf } = await import(pathToFileURL(join(source, 'web', 'src', 'statements.mjs')));
    const manual = readFileSync(join(source, 'doc', 'man', 'ioseer-report.md'), 'utf8');
    const kinds = [...manual.matchAll(/^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \| /gm)].flatMap(([, names]) => names.match(/[a-z-]+/g));
    assert.ok(kinds.length > 25);
    for (const id of kinds) {
        const statement = statementOf({ id, evidence: [{ file: "/it's.dat" }, { file: null }] });
        assert.ok(statement, id);
        assert.ok(json('query', log, '--sql', statement).columns.length > 2, id);
    }
});

test('a question is asked by its fields, and answered as the command line answers it', async () => {
    const ask = () => page.locator('#query').getByRole('button', { name: 'Ask', exact: true }).click();
    await page.locator('#query select').selectOption({ index: 1 });
    await page.getByLabel('Calls', { exact: true }).fill('0-2');
    assert.equal(await page.locator('#query > .statement').textContent(), 'Latency Breakdown Inclusive - 0-2');
    await ask();
    await page.locator('#query-result table').waitFor();
    const expected = JSON.parse(ioseer('query', '--json', log, 'Latency Breakdown Inclusive - 0-2'));
    assert.equal(await page.locator('#query-result tbody tr').count(), expected.rows.length);
    const [call] = json('query', log, '--sql', 'SELECT id, start, duration, op FROM calls WHERE call = 0 AND id = top ORDER BY coalesce(rank, pid)').rows;
    const zoomed = page.waitForResponse((answer) => answer.url().includes('/timeline/0?'));
    await page.locator('#query-result').getByRole('button', { name: 'Timeline' }).first().click();
    const part = await (await zoomed).json();
    assert.ok(part.from <= call[1] && part.to >= call[1] + call[2], JSON.stringify([part.from, part.to, call]));
    await page.locator('#query-result').getByRole('button', { name: 'Tree' }).first().click();
    await page.waitForFunction((op) => document.querySelector('#call-tree tbody th')?.textContent === op, call[3]);
    await see(page, 'query');
    const { series } = await option(page, 'query', 'series');
    assert.ok(series.length > 0 && series.every(({ type, data }) => type === 'bar' && data.length > 0));
    await page.locator('#query-result').getByRole('button', { name: 'Open as SQL' }).click();
    await page.locator('#sql-result table').waitFor();
    assert.equal(`${await area().inputValue()};\n`, ioseer('query', '--show-sql', log, 'Latency Breakdown Inclusive - 0-2').toString());
    for (let metric = 0; metric < 9; metric++) {
        await page.locator('#query select').selectOption({ index: metric });
        await ask();
        await page.waitForFunction(() => document.querySelector('#query-result table, #query-result .failure'));
        assert.equal(await page.locator('#query-result .failure').count(), 0, `${metric}`);
    }
    await page.locator('#query select').selectOption({ label: 'Longest operations' });
    await ask();
    await page.locator('#query-result code', { hasText: 'Operation Max' }).waitFor();
    await see(page, 'query');
    const longest = (await option(page, 'query', 'series')).series;
    assert.ok(longest.every(({ stack }) => stack === 'all'), 'each place has one bar, above its name');
    await page.getByLabel('Calls', { exact: true }).fill('x');
    await ask();
    await page.locator('#query-result .failure mark', { hasText: 'x' }).waitFor();
    page.complaints = page.complaints.filter((text) => !text.includes('status of 400'));
});

test('fields that are empty, or have blanks', async () => {
    const text = () => page.locator('#query > .statement').textContent();
    await page.getByLabel('Calls', { exact: true }).fill('');
    await page.locator('#query select').selectOption({ label: 'Energy' });
    assert.equal(await text(), 'Energy');
    await page.getByLabel('Watts, inactive').fill('5');
    await page.getByLabel('Processes', { exact: true }).fill('0, 2 - 3');
    assert.equal(await text(), 'Energy - 5 [0, 2 - 3]');
    await page.locator('#query').getByRole('button', { name: 'Ask', exact: true }).click();
    const rows = JSON.parse(ioseer('query', '--json', log, 'Energy - 5 0,2-3')).rows.length;
    await page.waitForFunction((count) => document.querySelectorAll('#query-result tbody tr').length === count, rows);
});

test('a link fills in the fields of its question', async () => {
    const other = await open(page.url(), {}, withoutWebGL);
    await other.locator('#query-result table').waitFor();
    assert.equal(await other.locator('#query > .statement').textContent(), 'Energy - 5 [0, 2 - 3]');
    assert.equal(await other.locator('#query select').evaluate((list) => list.selectedOptions[0].text), 'Energy');
    assert.equal(await other.getByLabel('Processes', { exact: true }).inputValue(), '0, 2 - 3');
    assert.deepEqual(other.complaints, []);
    await other.close();
});

test('the newest question is answered, whenever the answers come', async () => {
    const click = () => page.locator('#query').getByRole('button', { name: 'Ask', exact: true }).click();
    await page.locator('#query select').selectOption({ label: 'Throughput' });
    let release;
    const held = new Promise((done) => (release = done));
    let isFirst = true;
    await page.route('**/sql/**', async (route) => {
        if (isFirst) {
            isFirst = false;
            await held;
        }
        await route.continue().catch(() => {});
    });
    const sent = page.waitForRequest('**/sql/**');
    await click();
    await sent;
    await page.locator('#query select').selectOption({ label: 'Number of calls' });
    await page.getByLabel('Processes', { exact: true }).fill('1');
    await click();
    await page.locator('#query-result code', { hasText: "'Call 1'" }).waitFor();
    release();
    await page.waitForTimeout(1000);
    await page.unroute('**/sql/**');
    assert.match(await page.locator('#query-result code').first().textContent(), /'Call 1'/);
    assert.equal(await page.locator('#query-result .failure').count(), 0);
});

test('values that functions could be busy with for hours are refused', async () => {
    assert.match((await ask('SELECT hex(zeroblob(400000))')).error, /too big/);
    assert.equal((await ask('SELECT length(hex(zeroblob(200000))) AS n')).rows[0][0], 400000);
    page.complaints = page.complaints.filter((text) => !text.includes('status of 4') && !text.includes('status of 5'));
});

test('narrow and dark, nothing sticks out', async () => {
    await ask("SELECT * FROM events LIMIT 60");
    await page.setViewportSize({ width: 600, height: 1000 });
    await page.waitForFunction(() => innerWidth === 600);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 600);
    await page.setViewportSize({ width: 1400, height: 1000 });
});

test('hostile names stay text', async () => {
    const data = join(folder, 'names');
    mkdirSync(data);
    const hostile = recordCommand('hostile', ['python3', join(source, 'tests', 'page', 'hostile.py'), data]);
    const where = await serve(hostile);
    const other = await open(where, {}, withoutWebGL);
    await other.locator('#sql textarea').fill("SELECT file, count(*) AS calls FROM events WHERE file LIKE '%/names/%' GROUP BY file");
    await other.locator('#sql textarea').press('Control+Enter');
    await other.locator('#sql-result table').waitFor();
    await see(other, 'sql');
    const box = await other.locator('#chart-sql').boundingBox();
    for (let step = 1; step < 20; step++) await other.mouse.move(box.x + (box.width * step) / 20, box.y + box.height / 2);
    const shown = (await other.locator('#sql-result tbody td:first-child').allTextContents()).join('\n');
    for (const name of ['<img src=x onerror=window.harm=2>', '"><svg onload=window.harm=3>', '\\x1b[31m', '\\xff\\xfe\\xc3'])
        assert.ok(shown.includes(name), name);
    assert.equal(await other.evaluate(() => window.harm), undefined);
    assert.equal(await other.locator('img, svg, iframe, object, b').count(), 0);
    // A name that is not UTF-8 can be asked for.
    const name = json('info', hostile).files.find((file) => /[\udc80-\udcff]/u.test(file.name))?.name;
    assert.ok(name);
    const rows = await other.evaluate(async (file) => {
        await window.ioseerPage.actions.showSql(`SELECT count(*) AS calls FROM events WHERE file = '${file}'`);
        return document.querySelector('#sql-result tbody td')?.textContent ?? document.querySelector('#sql-result').textContent;
    }, name);
    assert.ok(Number(rows) > 0, rows);
    assert.deepEqual(other.complaints, []);
    await other.close();
});

test('a report has no section and no links to it', async () => {
    const other = await open(report(log), {}, withoutWebGL);
    await other.locator('#job').waitFor();
    assert.equal(await other.locator('#sql, #query, a[href="#sql"], a[href="#query"]').count(), 0);
    assert.equal(await other.getByRole('button', { name: 'Ask in SQL' }).count(), 0);
    await other.close();
});

test('nothing went wrong, and nobody else was asked', async () => {
    const { origin } = new URL(address);
    assert.deepEqual(
        page.asked.filter((url) => !url.startsWith(origin) && !url.startsWith('blob:')),
        [],
    );
    assert.deepEqual(page.complaints, []);
    await page.close();
});

await runTests();
