// The lab of `ioseer view --lab`: programs are set up, run, watched and stopped in the page.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, build, folder, json, launchers, open, runTests, see, serve, test, texts, which, withoutWebGL } from './harness.mjs';

const mpis = Object.entries(launchers).filter(([mpi, [launcher]]) => which(launcher) && existsSync(join(build, 'examples', `madbench-${mpi}`)));
const data = join(folder, 'lab');
const field = (name) => page.locator(`#lab-${name}`);
const state = () => page.locator('#lab-state');
const rows = () => page.locator('#lab-runs tbody tr');
let address;
let page;

async function setUp(values) {
    for (const [name, value] of Object.entries(values)) {
        const control = field(name);
        const kind = await control.evaluate((element) => element.type);
        if (kind.startsWith('select')) await control.selectOption(value);
        else if (kind === 'checkbox') await control.setChecked(value);
        else await control.fill(value);
    }
}

const start = () => page.locator('#lab button[type=submit]').click();

// A program in Python that writes, waits until it may go on, and reads.
function program(name, text) {
    const file = join(data, name);
    writeFileSync(file, text);
    return { program: 'python3', arguments: `'${file}'`, mpi: 'none' };
}

async function run(values) {
    const before = await rows().count();
    await setUp(values);
    await start();
    await page.waitForFunction((count) => document.querySelectorAll('#lab-runs tbody tr').length > count, before);
}

async function ended(how) {
    await page.waitForFunction((words) => new RegExp(words).test(document.querySelector('#lab-state').textContent), how);
}

const endless = `import os, sys, time
out = open("written", "wb", buffering=0)
while not os.path.exists("go"):
    out.write(bytes(1 << 16))
    time.sleep(0.02)
print("went on", flush=True)
`;

test('a lab without logs shows its form', async () => {
    mkdirSync(data, { recursive: true });
    address = await serve({ cwd: data }, '--lab');
    page = await open(address, {}, withoutWebGL);
    await field('program').waitFor();
    await page.waitForFunction((value) => document.querySelector('#lab-folder').value === value, data);
    assert.deepEqual(await field('mpi').locator('option').allTextContents(), ['none', ...mpis.map(([mpi]) => ({ mpich: 'MPICH', openmpi: 'Open MPI' })[mpi])]);
    assert.equal(await page.locator('#lab-run').isVisible(), false);
    assert.deepEqual(await page.locator('nav a').allTextContents(), ['Lab']);
});

test('each control has a label', async () => {
    const unnamed = await page.locator('#lab input, #lab select').evaluateAll((all) => all.filter((one) => one.labels.length === 0).map((one) => one.id));
    assert.deepEqual(unnamed, []);
});

test('a missing program is an error beside its field', async () => {
    await setUp({ program: './missing' });
    await start();
    await page.locator('#lab-program-wrong', { hasText: 'there is no program ./missing' }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), 'lab-program');
    await setUp({ program: 'true', arguments: '"open' });
    assert.equal(await page.locator('#lab-program-wrong').textContent(), '');
    await start();
    await page.locator('#lab-arguments-wrong', { hasText: 'not closed' }).waitFor();
    assert.equal(await page.locator('#lab-run').isVisible(), false);
    page.complaints = page.complaints.filter((text) => !text.includes('status of 400'));
});

test('fields that do not matter are hidden', async () => {
    await setUp({ arguments: '', storage: 'folder' });
    const shown = async (...names) => Promise.all(names.map((name) => field(name).isVisible()));
    assert.deepEqual(await shown('processes', 'preset', 'servers', 'layout', 'stack'), [false, false, false, false, false]);
    await setUp({ storage: 'emulated' });
    assert.deepEqual(await shown('preset', 'servers'), [true, false]);
    await setUp({ storage: 'folder' });
});

for (const [mpi] of mpis) {
    test(`a program of ${mpi} runs, and its log is shown`, async () => {
        await run({
            program: join(build, 'examples', `madbench-${mpi}`),
            arguments: '--size 65536 --work 2000',
            mpi,
            processes: '4',
        });
        await ended('exit status 0');
        await page.locator('#lab-run .output', { hasText: `madbench-${mpi}: 4 ranks, all data as written` }).waitFor();
        const log = (await rows().first().getByRole('button', { name: 'Open' }).count()) && join(data, `lab-${await rows().count()}-madbench-${mpi}.ioseer`);
        assert.deepEqual(json('info', log).job.nprocs, 4);
        await page.locator('#job').waitFor();
        await page.locator('.document h1', { hasText: `madbench-${mpi}` }).waitFor();
        await see(page, 'timeline');
        const { files } = json('info', log);
        const read = files.find(({ name }) => name.endsWith('madbench.dat')).bytes_read;
        assert.equal(read, 4 * 16 * 65536);
        await page.waitForFunction(() => document.querySelector('#lab-runs tbody tr td:nth-of-type(5)').textContent === '4.0 MiB');
    });
}

test('the log is beside that of the run before', async () => {
    if (mpis.length === 0) return 'there is no MPI';
    await run({});
    await ended('exit status 0');
    await page.locator('#compare').waitFor();
    await see(page, 'compare');
    const heads = await page.locator('#compare table').first().locator('thead th').allTextContents();
    const count = await rows().count();
    const [, before, last] = heads;
    assert.ok(before.includes(`lab-${count - 1}-`) && last.includes(`lab-${count}-`), heads.join());
    if (count < 3) return null;
    await rows().nth(2).getByRole('button', { name: 'Show the log' }).click();
    await page.locator('#compare table').first().locator('thead th', { hasText: `lab-${count - 2}-` }).waitFor();
    return null;
});

test('progress is shown while it runs, and a reload changes nothing', async () => {
    await run(program('endless.py', endless));
    await page.locator('#lab-state', { hasText: 'Running' }).waitFor();
    const written = () => page.evaluate(() => [...document.querySelectorAll('#lab-facts dt')].find((dt) => dt.textContent === 'Written').nextSibling.textContent);
    await page.waitForFunction(() => !/Written0 B/.test(document.querySelector('#lab-facts').textContent));
    const first = await written();
    await page.waitForFunction((before) => !document.querySelector('#lab-facts').textContent.includes(`Written${before}C`), first);
    assert.notEqual(await written(), first);
    await see(page, 'lab');
    await page.waitForFunction(() => window.ioseerPage.chart('lab').getOption().series[1].data.some(([, value]) => value > 0));
    await page.locator('#lab-phases tbody tr', { hasText: 'written' }).first().waitFor();
    await page.reload();
    await page.locator('#lab-state', { hasText: 'Running' }).waitFor();
    assert.equal(await field('program').inputValue(), 'python3');
    assert.equal(await field('arguments').inputValue(), `'${join(data, 'endless.py')}'`);
    await see(page, 'lab');
});

test('a second tab shows the same run and cannot start another', async () => {
    const other = await open(address, {}, withoutWebGL);
    await other.locator('#lab-state', { hasText: 'Running' }).waitFor();
    await other.locator('#lab button[type=submit]').click();
    await other.locator('#lab-wrong', { hasText: /Run \d+ is under way/ }).waitFor();
    writeFileSync(join(data, 'go'), '');
    for (const tab of [page, other]) {
        await tab.locator('#lab-state', { hasText: 'exit status 0' }).waitFor();
        await tab.locator('#lab-run .output', { hasText: 'went on' }).waitFor();
    }
    assert.equal(await other.locator('#lab-runs tbody tr').count(), await rows().count());
    await other.close();
});

test('a run is stopped', async () => {
    await run(program('forever.py', 'import time\nopen("begun", "w").write("x")\ntime.sleep(1000)\n'));
    await page.waitForFunction(() => /Calls[1-9]/.test(document.querySelector('#lab-facts').textContent));
    await page.locator('#lab-run').getByRole('button', { name: 'Stop' }).click();
    await ended('^stopped');
    assert.equal(await page.locator('#lab-run').getByRole('button', { name: 'Stop' }).isVisible(), false);
    const count = await rows().count();
    const ends = json('info', join(data, `lab-${count}-python3.ioseer`)).processes.map(({ exit }) => exit);
    assert.ok(ends.includes('signal 15'), ends.join());
});

test('failures are told', async () => {
    await run(program('fails.py', 'import sys\nprint("<b>bad</b> \\033[31mred\\033[0m", file=sys.stderr)\nsys.exit(3)\n'));
    await ended('exit status 3');
    assert.ok((await state().getAttribute('class')).includes('wrong'));
    const [errors] = await texts(page, '#lab-run .output >> nth=1');
    assert.ok(errors.startsWith('<b>bad</b> red'), errors);
    await run(program('dies.py', 'import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n'));
    await ended('SIGSEGV');
});

test('what is typed survives a reload', async () => {
    const kept = page.waitForResponse((answer) => answer.url().endsWith('/lab/setup'));
    await setUp({ program: 'half typ', callsites: true });
    await kept;
    await page.waitForTimeout(500);
    await page.reload();
    await page.waitForFunction(() => document.querySelector('#lab-program')?.value === 'half typ');
    assert.equal(await field('callsites').isChecked(), true);
    await setUp({ callsites: false });
});

test('older runs can be opened', async () => {
    const count = await rows().count();
    await rows().nth(count - 1).getByRole('button', { name: 'Open' }).click();
    await page.waitForFunction(() => document.querySelector('#lab-runs tbody tr:last-child').getAttribute('aria-current') === 'true' || document.querySelector('#compare') === null);
    await page.locator('#job').waitFor();
    assert.equal(await page.locator('#compare').count(), 0);
});

test('a narrow window has no sideways scrolling, and the keyboard reaches all', async () => {
    await page.setViewportSize({ width: 600, height: 900 });
    await page.waitForTimeout(300);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 600);
    await page.setViewportSize({ width: 1400, height: 1000 });
    await field('program').focus();
    const reached = new Set();
    for (let at = 0; at < 40; at++) {
        reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.textContent));
        await page.keyboard.press('Tab');
    }
    for (const id of ['lab-program', 'lab-arguments', 'lab-folder', 'lab-mpi', 'lab-callsites', 'lab-exclude', 'lab-storage', 'Run']) assert.ok(reached.has(id), id);
});

test('the page complains of nothing', () => {
    assert.deepEqual(page.complaints.filter((text) => !/status of (400|409)/.test(text)), []);
});

await runTests();
