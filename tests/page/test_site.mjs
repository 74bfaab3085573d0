// The page of a site: what it shows of a catalogue is what `ioseer jobs` says.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, build, drawAll, folder, ioseer, open, option, recordCommand, recordExample, runTests, serve, source, test, texts, withoutWebGL } from './harness.mjs';
import { bytes, count, near, percent, seconds, sum } from './numbers.mjs';

const many = 3000; // jobs that nobody ran
const pageRows = 25;
const db = join(folder, 'site.db');
const large = join(folder, 'large.db');
const logs = join(folder, 'logs');
let page;
let address;

const ask = (place, ...words) => JSON.parse(ioseer('jobs', '--db', place, '--json', ...words).toString());
const jobs = (...words) => ask(db, ...words).jobs;
const rows = (shown = page) => shown.locator('#jobs tbody tr');
const ids = async (shown = page) => (await rows(shown).evaluateAll((lines) => lines.map((line) => Number(line.dataset.job))));
const moved = (job) => job.bytes_read + job.bytes_written;

// A filter asks for everything again.
async function settled(shown = page) {
    await shown.waitForFunction(() => !document.querySelector('[aria-busy]') && document.querySelector('#distributions .part')?.childElementCount > 0);
}

async function showsJobs(wanted, shown = page) {
    const numbers = wanted.map(({ id }) => id);
    await shown.waitForFunction(
        (list) => JSON.stringify([...document.querySelectorAll('#jobs tbody tr')].map((line) => Number(line.dataset.job))) === JSON.stringify(list),
        numbers,
    );
}

async function unharmed(shown = page) {
    assert.equal(await shown.evaluate(() => window.harm), undefined);
    assert.deepEqual(await shown.evaluate(() => [...document.querySelectorAll('img, svg, iframe, object, b, script[src]')].map(({ outerHTML }) => outerHTML)), []);
    assert.deepEqual(shown.complaints, []);
}

test('a catalogue of jobs is shown', async () => {
    mkdirSync(logs);
    const first = recordExample('checkpoint');
    renameSync(first, join(logs, 'a.ioseer'));
    renameSync(recordCommand('again', JSON.parse(ioseer('info', '--json', join(logs, 'a.ioseer'))).job.command), join(logs, 'b.ioseer'));
    execFileSync('python3', [join(source, 'tests', 'page', 'hostile_jobs.py'), join(build, 'ioseer'), join(logs, 'hostile')]);
    ioseer('index', '-q', '--db', db, logs);
    execFileSync(join(build, 'bench', 'bench-catalogue'), [large, `${many}`]);
    address = await serve('--db', db);
    page = await open(address, {}, withoutWebGL);
    await settled();
    await showsJobs(jobs());
    assert.equal((await ids()).length, 9);
});

test('rows have the numbers of the jobs', async () => {
    for (const [at, job] of jobs().entries()) {
        const cells = (await rows().nth(at).locator('td').allTextContents()).map((text) => text.replaceAll('\u00a0', ' '));
        assert.equal(cells[4], count(job.nprocs));
        assert.equal(cells[5], seconds(job.run_time));
        assert.equal(cells[6], seconds(job.io_seconds));
        assert.equal(cells[7], job.io_share === null ? '–' : percent(job.io_share));
        assert.equal(cells[8], bytes(moved(job)));
        assert.equal(cells[9], count(job.files));
        assert.equal(cells[11], job.findings[0]?.id ?? '–');
    }
});

test('sums are those of all jobs', async () => {
    const all = jobs();
    const [lead] = await texts(page, '#overview .lead');
    assert.ok(lead.startsWith(`${all.length} jobs ran for ${seconds(sum(all.map((job) => job.run_time)))}`), lead);
    assert.ok(lead.endsWith(`moved ${bytes(sum(all.map(moved)))}.`), lead);
    const cells = await texts(page, '#top-user tbody tr td');
    assert.equal(cells[0], count(all.length));
});

test('charts draw what groups say', async () => {
    await drawAll(page);
    const { groups } = ask(db, '--by', 'month');
    const { series, xAxis } = await option(page, 'month-bytes', 'series', 'xAxis');
    assert.deepEqual(xAxis[0].data, groups.map(({ month }) => month));
    assert.deepEqual(series.map(({ data }) => data), [groups.map((group) => group.bytes_read), groups.map((group) => group.bytes_written)]);
    const sizes = ask(db, '--by', 'size').groups;
    const drawn = await option(page, 'sizes', 'series', 'xAxis');
    assert.deepEqual(drawn.xAxis[0].data, sizes.map(({ size }) => size));
    assert.deepEqual(drawn.series.map(({ data }) => data), [sizes.map(({ reads }) => reads), sizes.map(({ writes }) => writes)]);
    const shares = await option(page, 'shares', 'series');
    const known = jobs().filter((job) => job.io_share !== null);
    assert.equal(sum(shares.series[0].data), known.length);
    assert.equal(shares.series[0].data[5], known.filter((job) => job.io_share >= 0.5).length);
});

test('every chart has a sentence', async () => {
    const sentences = await texts(page, 'figure .message');
    assert.ok(sentences.length >= 5);
    for (const sentence of sentences) assert.ok(/\w.*\.$/.test(sentence), sentence);
});

test('names are text, and a click on any of them finds its jobs', async () => {
    await unharmed();
    const names = ask(db, '--by', 'program').groups.map(({ program }) => program);
    assert.ok(names.length >= 8);
    for (const name of names) {
        const shown = await page.locator('#top-program .name').evaluateAll((buttons) => buttons.map(({ title }) => title));
        const at = names.indexOf(name);
        assert.equal(shown.length, names.length, shown.join(' | '));
        await page.locator('#top-program .name').nth(at).click();
        await showsJobs(jobs().filter(({ program }) => program === name));
        await settled();
        await unharmed();
        await page.goBack();
        await showsJobs(jobs());
        await settled();
    }
    assert.ok(!/[\u202e\u0001\u001b]/.test(await page.evaluate(() => document.body.innerText)));
});

test('fields filter, and a link holds the filter', async () => {
    await page.locator('#filter-program').fill('check*');
    await page.locator('#filter-program').press('Enter');
    await showsJobs(jobs('--program', 'check*'));
    await settled();
    const other = await open(page.url(), {}, withoutWebGL);
    await showsJobs(jobs('--program', 'check*'), other);
    await other.close();
    await page.locator('#filter-finding').fill('no such finding');
    await page.locator('#filter-finding').press('Enter');
    await showsJobs([]);
    await page.getByRole('button', { name: 'Show all jobs' }).click();
    await showsJobs(jobs());
    await settled();
});

test('a click opens the report of a job, from its log', async () => {
    const job = jobs('--program', 'checkpoint')[0];
    await page.locator(`#jobs tr[data-job="${job.id}"] a`).click();
    await page.locator('#job').waitFor();
    assert.ok((await page.locator('header .log-name').textContent()).includes('checkpoint'));
    const { summary } = JSON.parse(ioseer('report', '--json', job.log));
    const [share] = await texts(page, '#number-share .big-value');
    assert.equal(share.trim(), percent(summary.io_share));
    await page.goBack();
    await showsJobs(jobs());
});

test('the log of a job answers questions, too', async () => {
    const job = jobs('--program', 'checkpoint')[1];
    await page.goto(`${address}?job=${job.id}`);
    await page.locator('#sql textarea').waitFor();
    await page.locator('#sql textarea').fill('SELECT count(*) AS calls FROM events');
    await page.locator('#sql').getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('#sql .result td').first().waitFor();
    assert.equal((await texts(page, '#sql .result td'))[0].replaceAll(',', ''), `${JSON.parse(ioseer('info', '--json', job.log)).events}`);
});

test('two jobs stand side by side', async () => {
    const [second, first] = jobs('--program', 'checkpoint');
    await page.goto(address);
    await showsJobs(jobs());
    for (const { id } of [first, second]) await page.locator(`#jobs tr[data-job="${id}"] input`).check();
    await page.getByRole('link', { name: 'Show both side by side' }).click();
    await page.locator('#compare').waitFor();
    const cells = async (name) => texts(page, `#jobs-facts tr:has(th:text-is("${name}")) td`);
    const times = await cells('Run time');
    assert.ok(times[0].startsWith(seconds(first.run_time)) && times[1].startsWith(seconds(second.run_time)), times.join());
    const ratio = second.run_time / first.run_time - 1;
    if (Math.abs(ratio) >= 0.01 && Math.abs(ratio) < 9) assert.ok(times[1].includes(`${Math.abs(ratio * 100).toFixed(0)} %`), times[1]);
    assert.deepEqual((await cells('Written')).map((text) => text.trim()), [first, second].map((job) => bytes(job.bytes_written)));
    await page.locator('#compare').waitFor();
});

test('a log that is gone is said to be gone, with what the catalogue knows', async () => {
    const job = jobs('--program', 'checkpoint')[0];
    const other = await open(await serve('--db', db), {}, withoutWebGL);
    renameSync(job.log, `${job.log}.moved`);
    await other.goto(`${other.url()}?job=${job.id}`);
    await other.locator('.failure').waitFor();
    assert.ok((await other.locator('.failure').textContent()).includes(`job ${job.id}`));
    assert.ok((await texts(other, '#jobs-facts td')).map((text) => text.trim()).includes(seconds(job.run_time)));
    renameSync(`${job.log}.moved`, job.log);
    await other.close();
});

test('nothing is wider than the window', async () => {
    await page.goto(address);
    await settled();
    for (const width of [1400, 600]) {
        await page.setViewportSize({ width, height: 1000 });
        await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth);
    }
    await page.close();
});

test('a list is sorted and read page by page by the server', async () => {
    page = await open(await serve('--db', large), {}, withoutWebGL);
    await settled();
    for (const [title, sort] of [['Bytes', 'bytes'], ['Share', 'share'], ['At stake', 'findings'], ['Start', 'start']]) {
        await page.locator('#jobs thead').getByRole('button', { name: title, exact: true }).click();
        const all = ask(large, '--sort', sort, '--top', `${3 * pageRows}`).jobs;
        await showsJobs(all.slice(0, pageRows));
        for (const from of [pageRows, 2 * pageRows]) {
            await page.getByRole('button', { name: 'Next page' }).click();
            await showsJobs(all.slice(from, from + pageRows));
        }
        assert.equal(await page.locator('#jobs .message').textContent(), `Jobs 51 to 75 of ${count(many)}.`);
        await page.getByRole('button', { name: 'Previous page' }).click();
        await showsJobs(all.slice(pageRows, 2 * pageRows));
    }
});

test('a finding and a month filter every part', async () => {
    const finding = ask(large, '--by', 'finding').groups[0].finding;
    await page.locator('#top-finding').getByRole('button', { name: finding, exact: true }).click();
    await showsJobs(ask(large, '--finding', finding, '--top', `${pageRows}`).jobs);
    await settled();
    await drawAll(page);
    const all = ask(large, '--finding', finding).jobs;
    const { series } = await option(page, 'month-jobs', 'series');
    assert.equal(sum(series[0].data), all.length);
    const users = await page.locator('#top-user tbody tr').first().locator('th, td').allTextContents();
    const own = all.filter(({ user }) => user === users[0]);
    assert.equal(users[1], count(own.length));
    await page.goto(`${page.url()}&since=2025-03-01&until=2025-03-31`);
    await settled();
    await drawAll(page);
    const days = await option(page, 'day-jobs', 'series', 'xAxis');
    const march = all.filter(({ start }) => new Date(start * 1000).toISOString().startsWith('2025-03'));
    assert.equal(sum(days.series[0].data), march.length);
    for (const [at, day] of days.xAxis[0].data.entries()) {
        assert.equal(days.series[0].data[at], march.filter(({ start }) => new Date(start * 1000).toISOString().startsWith(day)).length, day);
    }
    assert.deepEqual(page.complaints, []);
    await page.close();
});

test('users see their own jobs, members of the support group all', async () => {
    if (process.getuid() !== 0) return 'only root can be somebody else';
    const own = join(folder, 'own.db');
    writeFileSync(own, readFileSync(large));
    execFileSync('python3', ['-c', "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute(\"UPDATE names SET name = 'nobody' WHERE name = 'user0'\"); db.commit()", own]);
    const mine = ask(own, '--user', 'nobody').jobs;
    assert.ok(mine.length > 1 && mine.length < many);
    chmodSync(folder, 0o755);
    chmodSync(own, 0o644);
    const conf = join(folder, 'site.conf');
    const nobody = { uid: 65534, gid: 65534 };
    const numberSeen = async (group) => {
        writeFileSync(conf, group ? `support_group = ${group}\n` : '');
        const where = await serve('--db', own, { ...nobody, env: { ...process.env, IOSEER_CONF: conf, HOME: '/nonexistent' } });
        const answer = async (question) => (await fetch(`${where}site/${question}`)).json();
        const found = await answer('statistics');
        const other = ask(own).jobs.find(({ user }) => user !== 'nobody');
        return [found.statistics.jobs, (await answer('jobs?user=*&top=1000')).jobs.length, (await answer(`jobs?id=${other.id}`)).jobs.length, (await fetch(`${where}open/${other.id}`, { method: 'POST', body: '' })).status];
    };
    try {
        execFileSync(join(build, 'ioseer'), ['--version'], nobody);
    } catch {
        return 'nobody else can run this build';
    }
    assert.deepEqual(await numberSeen(null), [mine.length, mine.length, 0, 404]);
    assert.deepEqual((await numberSeen('nogroup')).slice(0, 3), [many, 1000, 1]);
});

test('a report of a month is one file with the same numbers', async () => {
    const path = join(folder, 'month.html');
    ioseer('report', '--db', large, '--month', '2025-03', '-o', path);
    assert.ok(statSync(path).size < 4_000_000);
    const all = ask(large).jobs.filter(({ start }) => new Date(start * 1000).toISOString().startsWith('2025-03'));
    const report = await open(path, {}, withoutWebGL);
    await drawAll(report);
    const [lead] = await texts(report, '#overview .lead');
    assert.ok(lead.startsWith(`${count(all.length)} jobs`) && lead.includes(bytes(sum(all.map(moved)))), lead);
    const days = await option(report, 'day-jobs', 'series');
    assert.equal(sum(days.series[0].data), all.length);
    const months = await option(report, 'month-jobs', 'series', 'xAxis');
    assert.equal(months.xAxis[0].data.length, 12);
    assert.equal(months.series[0].data.at(-1), all.length);
    const stakes = (job) => sum(job.findings.map((finding) => finding.seconds));
    const shown = await ids(report);
    assert.equal(shown.length, 50);
    const byId = new Map(all.map((job) => [job.id, job]));
    for (const [at, id] of shown.entries()) {
        if (at > 0) assert.ok(stakes(byId.get(shown[at - 1])) >= stakes(byId.get(id)) || near(stakes(byId.get(shown[at - 1])), stakes(byId.get(id))));
    }
    assert.equal(report.asked.length, 1);
    assert.deepEqual(report.complaints, []);
    await report.close();
});

test('a monthly report of hostile names does no harm', async () => {
    const path = join(folder, 'hostile.html');
    const [{ month }] = ask(db, '--by', 'month').groups;
    ioseer('report', '--db', db, '--month', month, '-o', path);
    const report = await open(path, {}, withoutWebGL);
    await drawAll(report);
    await unharmed(report);
    const titles = await report.locator('#top-program .name').evaluateAll((names) => names.map(({ title }) => title));
    assert.ok(titles.includes('<img src=x onerror=window.harm=1>'), titles.join(' | '));
    await report.close();
});

await runTests();
