// The page of a sweep: its charts and its table have the points of the JSON.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, drawAll, folder, ioseer, open, option, runTests, test, texts } from './harness.mjs';
import { bytes, seconds } from './numbers.mjs';

const path = join(folder, 'sweep.json');
const html = join(folder, 'sweep.html');
const places = ['one', 'two'].map((name) => join(folder, name));
const command = ['sh', '-c', 'dd if=/dev/zero of=$0/x bs=64k count=16 # <b>$1</b>', '{dir}', '{interface}'];
let sweep;
let page;

test('a sweep has a page', async () => {
    for (const place of places) mkdirSync(place);
    const on = places.flatMap((place) => ['--on', place]);
    const words = ['sweep', '-q', '--precision', '99%', ...on, '--interface', 'collective,independent', '-o', path, '--chart', html];
    let limits = ['--page-cache', 'none,512M'];
    try {
        ioseer(...words, ...limits, '--', ...command);
    } catch (error) {
        if (!error.stderr.includes('--page-cache')) throw error;
        limits = []; // no cgroup can be made here
        ioseer(...words, '--', ...command);
    }
    assert.ok(existsSync(html));
    sweep = JSON.parse(readFileSync(path, 'utf8'));
    page = await open(html);
    await drawAll(page);
});

test('the table has all points', async () => {
    const shown = await texts(page, '#points tbody tr');
    assert.equal(shown.length, sweep.points.length);
    for (const [at, point] of sweep.points.entries()) {
        assert.ok(shown[at].includes(point.interface), shown[at]);
        assert.ok(shown[at].includes(seconds(point.time)), `${shown[at]} has no ${seconds(point.time)}`);
        if (point.cache !== null) assert.ok(shown[at].includes(bytes(point.cache)), shown[at]);
    }
});

test('charts have the times', async () => {
    const several = sweep.caches.length > 1;
    const { series } = await option(page, several ? 'targets-0-0' : 'places-0', 'series');
    const wanted = sweep.points.filter((point) => point.interface === 'collective').map(({ time }) => time);
    const drawn = (several ? series.slice(0, places.length).flatMap(({ data }) => data.map(({ value }) => value[1])) : series[0].data.map(({ value }) => value));
    assert.deepEqual([...drawn].sort(), [...wanted].sort());
    if (!several) return;
    assert.deepEqual(series.at(-1).data.map(([place]) => place), Array(2).fill(Math.log2(sweep.working_set)));
});

test('what collective calls save is drawn', async () => {
    const { series } = await option(page, 'difference-all', 'series');
    for (const [at, cache] of sweep.caches.entries()) {
        for (const [place, target] of places.entries()) {
            const of = (way) => sweep.points.find((point) => point.target === target && point.cache === cache && point.interface === way).time;
            assert.equal(series[at].data[place].value, 1 - of('collective') / of('independent'));
        }
    }
});

test('the page is unharmed', async () => {
    assert.deepEqual(page.complaints, []);
    assert.equal(await page.locator('b').count(), 0);
    assert.deepEqual(page.asked.filter((address) => !address.startsWith('file:')), []);
    assert.ok((await page.title()).includes('<b>'));
});

await runTests();
