// node build.mjs OUTPUT: makes the page, one HTML file that needs no other. ioseer replaces its two markers by the data
// to show (doc/page.md).
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const libraries = ['echarts', 'echarts-gl', 'zrender', 'claygl', 'tslib'];
const markers = ['@IOSEER_DATA@', '@IOSEER_SERVER@'];

// ECharts GL imports files of ECharts and ZRender without an extension, which their export maps no longer allow.
const withEnding = {
    name: 'with-ending',
    setup(bundler) {
        bundler.onResolve({ filter: /^(echarts|zrender)\/lib\// }, ({ path }) =>
            path.endsWith('.js') ? null : { path: join(here, 'node_modules', `${path}.js`), sideEffects: false },
        );
    },
};

// ClayGL compiles sizes of effects with eval, which the page forbids. The page uses no effects.
const compiled = "new Function('width', 'height', 'dpr', 'return ' + exprRes[1])";
const withoutEval = {
    name: 'without-eval',
    setup(bundler) {
        bundler.onLoad({ filter: /claygl\/src\/createCompositor\.js$/ }, ({ path }) => {
            const source = readFileSync(path, 'utf8');
            if (!source.includes(compiled)) throw new Error(`${path}: not as expected`);
            return { contents: source.replace(compiled, '() => 1'), loader: 'js' };
        });
    },
};

async function bundle(entry, options) {
    const result = await build({
        entryPoints: [join(here, entry)],
        bundle: true,
        minify: true,
        write: false,
        legalComments: 'none',
        target: 'es2020',
        charset: 'utf8',
        logLevel: 'warning',
        ...options,
    });
    return result.outputFiles[0].text;
}

// An HTML comment cannot contain two hyphens in a row.
function licences() {
    const texts = libraries.map((name) => {
        const text = readFileSync(
            join(here, 'node_modules', name, name === 'tslib' ? 'LICENSE.txt' : 'LICENSE'),
            'utf8',
        );
        return `${name}\n\n${text.trim()}`;
    });
    return `The page contains parts of these libraries.\n\n${texts.join('\n\n\n')}`.replace(/--+/g, '==');
}

function fill(template, parts) {
    return template.replace(/\{\{(\w+)\}\}/g, (whole, name) => {
        if (!(name in parts)) throw new Error(`page.html: nothing is known of ${whole}`);
        return parts[name];
    });
}

const script = (await bundle('src/main.mjs', { format: 'iife', plugins: [withEnding, withoutEval] }))
    .trim()
    .replace(/<(?=\/script|!--|script)/gi, '\\x3C');
const page = fill(readFileSync(join(here, 'page.html'), 'utf8'), {
    style: (await bundle('style.css', {})).trim(),
    script,
    // Only this script may run, whatever the data contains.
    hash: createHash('sha256').update(script).digest('base64'),
    licences: licences(),
});
for (const marker of markers) {
    if (page.split(marker).length !== 2) throw new Error(`the page must have ${marker} once`);
}
writeFileSync(process.argv[2], page);
