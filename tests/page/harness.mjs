// What the tests of the page share: recording, reports, a browser, TAP.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const source = process.env.IOSEER_SOURCE ?? fileURLToPath(new URL('../..', import.meta.url));
export const build = process.env.IOSEER_BUILD ?? join(source, 'build');
const ioseerPath = join(build, 'ioseer');
const ranks = 4;
// The page's own colours and 3-D space need no graphics hardware.
const browserArguments = [
    '--no-sandbox',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    '--ignore-gpu-blocklist',
];
const timeout = 60_000; // of any step in the browser, long enough for a busy machine

export const folder = realpathSync(mkdtempSync(join(tmpdir(), 'ioseer-page-')));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

export function which(name) {
    return (process.env.PATH ?? '')
        .split(':')
        .map((place) => join(place, name))
        .find((path) => existsSync(path));
}

export function skipAll(reason) {
    console.log(`1..0 # SKIP ${reason}`);
    process.exit(0);
}

export function ioseer(...words) {
    return execFileSync(ioseerPath, words, { cwd: folder, maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] });
}

export function json(verb, log, ...words) {
    return JSON.parse(ioseer(verb, '--json', ...words, log).toString());
}

// --- logs

export const launchers = { mpich: ['mpiexec.mpich'], openmpi: ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe'] };

export const examples = {
    checkpoint: ['-s', '2', '-n', '16', '-b', '4096'],
    madbench: ['--size', '65536', '--work', '2000'],
    btio: ['--grid', '12', '--steps', '20'],
    s3d: ['--edge', '6', '--mode', 'independent'],
    ior: ['--block', '65536', '--transfer', '16384', '--random'],
    small: ['--files', '40', '--first', '7000', '--second', '400', '--third', '90'],
    metadata: ['--files', '20'],
};

export function recordCommand(name, command) {
    const log = join(folder, `${name}.ioseer`);
    ioseer('record', '-o', log, '--', ...command);
    return log;
}

// The log of an example; null if its MPI is not installed.
export function recordExample(name, ...more) {
    const data = join(folder, `${name}-data`);
    mkdirSync(data, { recursive: true });
    if (name === 'checkpoint') {
        return recordCommand(name, [join(build, 'examples', name), '-d', data, ...examples[name], ...more]);
    }
    for (const [mpi, launcher] of Object.entries(launchers)) {
        const program = join(build, 'examples', `${name}-${mpi}`);
        if (!which(launcher[0]) || !existsSync(program)) continue;
        return recordCommand(name, [
            ...launcher,
            '-n',
            `${ranks}`,
            program,
            '--directory',
            data,
            ...examples[name],
            ...more,
        ]);
    }
    return null;
}

// The log of a program with HDF5, with MPI if there is one; null if there is no HDF5.
export function recordLibrary() {
    const programs = [
        ...Object.entries(launchers).map(([mpi, launcher]) => [mpi, [...launcher, '-n', `${ranks}`]]),
        ['serial', []],
    ];
    for (const [kind, launcher] of programs) {
        const program = join(build, 'tests', 'hdf5', `slabs-${kind}`);
        if (!existsSync(program) || (launcher.length > 0 && !which(launcher[0]))) continue;
        return recordCommand('library', [...launcher, program, join(folder, 'slabs.h5'), '3']);
    }
    return null;
}

export function report(log) {
    const page = log.replace(/\.ioseer$/, '.html');
    ioseer('report', '-o', page, log);
    return page;
}

// The address at which `ioseer view` serves the logs, until the test ends. What is not text is an option of spawn.
export function serve(...words) {
    const options = Object.assign({}, ...words.filter((word) => typeof word !== 'string'));
    const logs = words.filter((word) => typeof word === 'string');
    return new Promise((done, failed) => {
        const server = spawn(ioseerPath, ['view', '--quiet', ...logs], { stdio: ['ignore', 'pipe', 'inherit'], ...options });
        let printed = '';
        server.stdout.on('data', (part) => {
            printed += part;
            const [found] = printed.match(/http:\/\/\S+\n/) ?? [];
            if (found) done(found.trim());
        });
        server.on('exit', () => failed(new Error('ioseer view ended')));
        server.unref();
        server.stdout.unref();
        process.on('exit', () => server.kill());
    });
}

// --- the browser

let browser = null;

export async function startBrowser() {
    const chromium = which('chromium') ?? which('chromium-browser') ?? which('google-chrome');
    if (!chromium) skipAll('there is no Chromium');
    if (!existsSync(join(source, 'web', 'node_modules', 'playwright-core')))
        skipAll('web/node_modules has no playwright-core');
    if (!existsSync(join(build, 'web', 'page.html'))) skipAll('the page was not built');
    const playwright = await import(pathToFileURL(join(source, 'web', 'node_modules', 'playwright-core', 'index.mjs')));
    browser = await playwright.chromium.launch({ executablePath: chromium, args: browserArguments, timeout });
}

// Opens a file or an address; complaints collects what the page should not do. before runs in it before its own script.
export async function open(where, options = {}, before = null) {
    const page = await browser.newPage({ viewport: { width: 1400, height: 1000 }, ...options });
    if (before) await page.addInitScript(before);
    page.setDefaultTimeout(timeout);
    page.complaints = [];
    page.asked = [];
    page.on('console', (message) => {
        if (message.type() === 'error') page.complaints.push(message.text());
    });
    page.on('pageerror', (error) => page.complaints.push(error.stack));
    page.on('dialog', (dialog) => page.complaints.push(`a dialog: ${dialog.message()}`));
    page.on('request', (request) => page.asked.push(request.url()));
    await page.goto(where.startsWith('http') ? where : pathToFileURL(where).href, { timeout });
    return page;
}

// For open: a browser that cannot draw in three dimensions.
export function withoutWebGL() {
    HTMLCanvasElement.prototype.getContext = new Proxy(HTMLCanvasElement.prototype.getContext, {
        apply: (get, canvas, words) => (words[0].startsWith('webgl') ? null : Reflect.apply(get, canvas, words)),
    });
}

// Scrolls to a chart and waits until it is drawn.
export async function see(page, id) {
    await page.locator(`#chart-${id}`).scrollIntoViewIfNeeded();
    await page.waitForFunction((chart) => window.ioseerPage.chart(chart)?.getOption().series?.length > 0, id);
}

// The page makes a chart when it comes near the window; a test needs all charts. They are drawn in the next frame at
// the latest.
export async function drawAll(page) {
    await page.evaluate(
        () =>
            new Promise((done) => {
                window.ioseerPage.drawAll();
                requestAnimationFrame(() => requestAnimationFrame(done));
            }),
    );
}

// What a chart was told to draw, as plain data.
export function option(page, id, ...keys) {
    return page.evaluate(
        ([chart, wanted]) => {
            const all = window.ioseerPage.chart(chart).getOption();
            return JSON.parse(JSON.stringify(Object.fromEntries(wanted.map((key) => [key, all[key]]))));
        },
        [id, keys],
    );
}

// Numbers and their units are joined by spaces that do not break.
export async function texts(page, selector) {
    return (await page.locator(selector).allTextContents()).map((text) => text.replaceAll('\u00a0', ' '));
}

// --- tests

const tests = [];

export function test(name, run) {
    tests.push({ name, run });
}

export async function runTests() {
    await startBrowser();
    console.log(`1..${tests.length}`);
    for (const [index, { name, run }] of tests.entries()) {
        try {
            const skipped = await run();
            console.log(`ok ${index + 1} - ${name}${skipped ? ` # SKIP ${skipped}` : ''}`);
        } catch (error) {
            console.log(`not ok ${index + 1} - ${name}`);
            console.log(String(error.stack ?? error).replace(/^/gm, '# '));
            process.exitCode = 1;
        }
    }
    await browser.close();
}

export { assert };
