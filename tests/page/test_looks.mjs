// How a page looks: in a narrow window, on paper, light and dark.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
    assert,
    drawAll,
    folder,
    open,
    recordCommand,
    recordExample,
    recordLibrary,
    report,
    runTests,
    test,
    withoutWebGL,
} from './harness.mjs';

const paperWidth = 688; // CSS pixels between the margins of A4 paper
const pages = [];

// Elements that stick out to the right, except in what can be scrolled, and in charts, which the test below measures.
const wider = (page, limit) =>
    page.evaluate(
        (most) =>
            [...document.querySelectorAll('body *')]
                .filter((element) => !element.closest('.scroll, .chart, nav, .skip, .unseen'))
                .filter((element) => element.getBoundingClientRect().right > most + 1)
                .map((element) => element.outerHTML.slice(0, 100)),
        limit,
    );

// Texts with less contrast to what is behind them than the guidelines for accessibility demand.
function pale() {
    const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
    const light = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const luminance = ([red, green, blue]) =>
        0.2126 * light(red / 255) + 0.7152 * light(green / 255) + 0.0722 * light(blue / 255);
    const behind = (element) => {
        const colour = numbers(getComputedStyle(element).backgroundColor);
        return colour.length === 3 || colour[3] === 1 ? colour : behind(element.parentElement);
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
        const style = getComputedStyle(element);
        const [a, b] = [numbers(style.color), behind(element)].map(luminance).sort((x, y) => y - x);
        const enough = parseFloat(style.fontSize) >= 24 ? 3 : 4.5;
        if ((a + 0.05) / (b + 0.05) < enough) found.push(`${walker.currentNode.data.trim()}: ${style.color}`);
    }
    return found;
}

test('reports are made', async () => {
    const name = `a file whose name is far too long for any column of any table ${'x'.repeat(100)}.dat`;
    const data = join(folder, 'looks');
    mkdirSync(data);
    const script =
        `cd '${data}'; dd if=/dev/zero of='${name}' bs=4k count=20; ` +
        `for i in $(seq 30); do cp '${name}' $i; done; cat *; dd if=/dev/zero of=many bs=512 count=7000`;
    const logs = [recordCommand('shell', ['sh', '-c', `(${script}) > /dev/null`]), recordExample('btio'), recordLibrary()];
    for (const log of logs.filter(Boolean)) {
        const page = await open(report(log), {}, withoutWebGL);
        await drawAll(page);
        pages.push(page);
    }
});

const onEachPage = (name, run) =>
    test(name, async () => {
        assert.ok(pages.length > 0);
        for (const page of pages) await run(page);
    });

onEachPage('nothing is wider than a narrow window', async (page) => {
    await page.setViewportSize({ width: 600, height: 1000 });
    await page.waitForFunction(() => innerWidth === 600);
    await page.waitForTimeout(500); // for the charts, which follow
    assert.deepEqual(await wider(page, 600), []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 600);
    await page.setViewportSize({ width: 1400, height: 1000 });
});

for (const colorScheme of ['light', 'dark']) {
    onEachPage(`text can be read when it is ${colorScheme}`, async (page) => {
        await page.emulateMedia({ colorScheme });
        await page.waitForFunction((theme) => document.documentElement.dataset.theme === theme, colorScheme);
        assert.deepEqual([...new Set(await page.evaluate(pale))], []);
        const [better, worse] = await page.evaluate(() =>
            ['better', 'worse'].map((kind) => {
                const place = document.body.appendChild(document.createElement('span'));
                place.className = `change ${kind}`;
                const colour = getComputedStyle(place).color.match(/\d+/g).map(Number);
                place.remove();
                return colour;
            }),
        );
        assert.ok(better[1] > better[0] && worse[0] > worse[1], `better: ${better}, worse: ${worse}`);
    });
}

onEachPage('paper shows everything, and nothing to click on', async (page) => {
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'light');
    assert.deepEqual(await wider(page, paperWidth), []);
    // Tables do not scroll on paper.
    const cut = await page.evaluate(() =>
        [...document.querySelectorAll('.scroll')]
            .filter((place) => place.scrollWidth > place.clientWidth + 1)
            .map((place) => `${place.ariaLabel}: ${place.scrollWidth} of ${place.clientWidth}`),
    );
    assert.deepEqual(cut, []);
    // A drawing of another width than its place would be cut off.
    const widths = await page.evaluate(() =>
        [...document.querySelectorAll('.chart canvas')]
            .filter((canvas) => canvas.checkVisibility())
            .map((canvas) => [canvas.clientWidth, canvas.closest('.chart').clientWidth]),
    );
    assert.ok(widths.length > 4);
    for (const [drawn, place] of widths) assert.ok(Math.abs(drawn - place) <= 1, `${drawn} of ${place}`);
    const controls = await page
        .locator('select, input, nav, summary, button:not(.link, .mark, .sort)')
        .evaluateAll((found) => found.filter((one) => one.checkVisibility()).map((one) => one.outerHTML.slice(0, 80)));
    assert.deepEqual(controls, []);
    await page.evaluate(() => dispatchEvent(new Event('afterprint')));
    await page.emulateMedia({ media: null, colorScheme: null });
    const back = await page.evaluate(() => {
        const place = document.querySelector('#chart-timeline');
        return [place.querySelector('canvas').clientWidth, place.clientWidth];
    });
    assert.ok(back[0] > paperWidth && back[0] === back[1], back.join(' of '));
});

// The drawn part of a canvas, in pixels.
function ink(canvas) {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let drawn = 0;
    for (let at = 3; at < data.length; at += 4) drawn += data[at] > 0;
    return drawn;
}

onEachPage('charts on paper are complete at once', async (page) => {
    await page.emulateMedia({ media: 'print' });
    const charts = await page.evaluate(async (text) => {
        const measure = new Function(`return ${text}`)();
        dispatchEvent(new Event('beforeprint'));
        const places = [...document.querySelectorAll('.chart')].filter((place) => place.checkVisibility());
        const shown = places.map((place) =>
            [...place.querySelectorAll('canvas')].filter((canvas) => canvas.checkVisibility()).map(measure),
        );
        await new Promise((done) => setTimeout(done, 1000));
        const later = places.map(({ id }) =>
            measure(window.ioseerPage.chart(id.replace('chart-', '')).renderToCanvas({ pixelRatio: 2 })),
        );
        dispatchEvent(new Event('afterprint'));
        return places.map(({ id }, at) => ({ id, shown: shown[at], later: later[at] }));
    }, ink.toString());
    await page.emulateMedia({ media: null });
    assert.ok(charts.length > 4);
    for (const { id, shown, later } of charts) {
        assert.equal(shown.length, 1, `${id}: Chromium prints one canvas only`);
        assert.ok(later > 0 && Math.abs(shown[0] - later) <= 0.001 * later, `${id}: ${shown[0]} of ${later}`);
    }
});

onEachPage('tables on paper keep their heads, and say what they leave out', async (page) => {
    await page.emulateMedia({ media: 'print' });
    const heads = await page
        .locator('button.sort')
        .evaluateAll((buttons) => [...new Set(buttons.map((button) => getComputedStyle(button).display))]);
    assert.deepEqual(heads, ['contents'], 'Chromium does not repeat buttons in the head of a table');
    const notes = await page.locator('.table').evaluateAll((tables) =>
        tables
            .filter((table) => [...table.querySelectorAll('.more button')].length > 0)
            .map((table) => table.querySelector('.on-paper')?.checkVisibility() && table.innerText),
    );
    assert.ok(notes.every((text) => /The first [\d,]+ of [\d,]+\.$/.test(text.trim())), String(notes));
    await page.emulateMedia({ media: null });
});

onEachPage('nothing went wrong on the way', (page) => assert.deepEqual(page.complaints, []));

await runTests();
