// Libraries above MPI-IO: what they were asked for and what reached the files, their objects, and which calls made which.
import { h, section } from './dom.mjs';
import { baseName, bytes, count, percent, plural, seconds, shorten, unbroken } from './format.mjs';
import { table } from './table.mjs';

const words = {
    transfers: 'Transfers',
    opens: 'Opens and creations',
    closes: 'Closes and flushes',
    others: 'Other calls',
};
// Two lines.
const over = (first, second) => [first, second && h('span', { class: 'second' }, second)];
const own = ({ time, below }) => Math.max(0, time - below);
const sizes = (dims) => (dims.length === 0 ? 'one' : dims.map((dim) => (dim === null ? '∞' : dim)).join('\u00a0×\u00a0'));

// --- asked for and moved

function libraryMessage(library) {
    const part = (verb, asked, moved) =>
        asked > 0 || moved > 0 ? `${verb} ${bytes(asked)} (${bytes(moved)} in the files)` : null;
    const moved = [
        part('wrote', library.bytes_written, library.file_bytes_written),
        part('read', library.bytes_read, library.file_bytes_read),
    ].filter(Boolean);
    const time = library.time > 0 ? own(library) / library.time : 0;
    return (
        `${library.name} ${moved.join(' and ') || 'moved nothing'}. Its calls took ${seconds(library.time)} in all ` +
        `processes together, ${percent(time)} of that in ${library.name} itself.`
    );
}

function libraryTable(library) {
    const rows = [{ ...library, title: 'All' }, ...library.parts.map((part) => ({ ...part, title: words[part.part] }))];
    const moved = (key) => (row) => over(bytes(row[`bytes_${key}`]), `${bytes(row[`file_bytes_${key}`])} in files`);
    return table(
        [
            { title: 'Kind of call', heading: true, cell: ({ title }) => title },
            { title: 'Calls', number: true, cell: (row) => count(row.calls) },
            { title: 'Time', number: true, cell: (row) => over(seconds(row.time), `${seconds(own(row))} own`) },
            { title: 'Read', number: true, cell: moved('read') },
            { title: 'Written', number: true, cell: moved('written') },
            { title: 'Requests', number: true, cell: (row) => count(row.file_reads + row.file_writes) },
        ],
        rows,
        { caption: `${library.name}: what it was asked for and what reached the files` },
    ).element;
}

// --- objects

function storage({ layout, chunk, filters }) {
    const first = chunk.length > 0 ? `chunks of ${sizes(chunk)}` : (layout ?? '');
    return over(first, filters.length > 0 && filters.map(({ name, id }) => name ?? `filter ${id}`).join(', '));
}

function accesses({ reads, writes, collective }) {
    const found = [reads > 0 && plural(reads, 'read'), writes > 0 && plural(writes, 'write')].filter(Boolean).join(', ');
    return over(unbroken(found || 'none'), collective > 0 && `${count(collective)} collective`);
}

const asked = (row) => row.bytes_read + row.bytes_written;
const time = (row) => row.time_read + row.time_written;

function objectTable({ objects, objects_left_out: left }) {
    if (objects.length === 0) return null;
    return h(
        'div',
        { class: 'trees' },
        h('h3', {}, 'Datasets and variables'),
        table(
            [
                {
                    title: 'Object',
                    heading: true,
                    cell: ({ object, file }) =>
                        h(
                            'span',
                            { class: 'path', title: `${file}: ${object}` },
                            shorten(object, 36),
                            h('span', { class: 'folder' }, shorten(baseName(file), 36)),
                        ),
                    value: ({ object }) => object,
                },
                {
                    title: 'Elements',
                    cell: ({ dataset }) =>
                        over(
                            sizes(dataset.dims),
                            unbroken(`${dataset.type ?? 'element'}, ${plural(dataset.element_size, 'byte')}`),
                        ),
                    value: ({ dataset }) => dataset.dims.reduce((all, dim) => all * (dim ?? 1), dataset.element_size),
                },
                { title: 'Stored as', cell: ({ dataset }) => storage(dataset) },
                { title: 'Transfers', cell: accesses, value: (row) => row.reads + row.writes },
                {
                    title: 'Bytes',
                    number: true,
                    cell: (row) => over(bytes(asked(row)), `${bytes(row.file_bytes_read + row.file_bytes_written)} in files`),
                    value: asked,
                },
                { title: 'Time', number: true, cell: (row) => seconds(time(row)), value: time },
            ],
            objects,
            {
                caption: 'Datasets and variables',
                sort: [5, true],
                first: 12,
                search: objects.length > 12 ? ({ object, file }) => `${object} ${file}` : null,
            },
        ).element,
        left > 0 && h('p', { class: 'quiet' }, `${plural(left, 'object')} with less time not shown.`),
    );
}

// --- the tree of calls

// The rows from the top down, of calls beside each other the longest first.
function treeRows(nodes) {
    const children = new Map();
    for (const node of nodes) {
        if (!children.has(node.parent)) children.set(node.parent, []);
        children.get(node.parent).push(node);
    }
    const rows = [];
    const add = (parent, depth) => {
        for (const node of (children.get(parent) ?? []).sort((a, b) => b.time - a.time)) {
            rows.push({ ...node, depth });
            add(node.id, depth + 1);
        }
    };
    add(null, 0);
    return rows;
}

function timeBar(node, most) {
    const part = h('span');
    part.style.left = '0';
    part.style.width = `${most > 0 ? Math.max(0.5, (node.time / most) * 100) : 0}%`;
    part.style.background = `var(--layer-${node.layer}, var(--class-none))`;
    return h('span', { class: 'gantt', 'aria-hidden': 'true' }, part);
}

function treeTable({ call_tree: nodes, call_tree_cut: cut }) {
    if (!nodes || nodes.length === 0) return null;
    const rows = treeRows(nodes);
    const most = Math.max(...rows.map((node) => node.time));
    const name = ({ op, depth }) => {
        const code = h('code', {}, op);
        code.style.marginLeft = `${depth * 1.25}rem`;
        return code;
    };
    return h(
        'div',
        { class: 'trees' },
        h('h3', {}, 'Which calls made which'),
        h(
            'p',
            { class: 'message' },
            'A call stands below the call that made it. Calls and times are those of all processes; bytes are what each ' +
                'call moved.',
        ),
        table(
            [
                { title: 'Call', heading: true, cell: name },
                { title: 'Layer', cell: ({ layer }) => layer },
                { title: 'Calls', number: true, cell: (node) => count(node.calls) },
                {
                    title: 'Bytes',
                    number: true,
                    cell: (node) => (node.bytes_read + node.bytes_written ? bytes(node.bytes_read + node.bytes_written) : ''),
                },
                { title: 'Time', number: true, cell: (node) => seconds(node.time) },
                { title: 'Itself', number: true, cell: (node) => (node.below > 0 ? seconds(own(node)) : '') },
                { title: 'Share', cell: (node) => timeBar(node, most) },
            ],
            rows,
            { caption: 'Tree of calls', first: 30 },
        ).element,
        cut > 0 && h('p', { class: 'quiet' }, `${plural(cut, 'place')} with less time not shown.`),
    );
}

export function librariesSection(document) {
    const { libraries } = document.job;
    if (!libraries?.length) return null;
    return section(
        'libraries',
        'Libraries',
        h(
            'p',
            { class: 'intro' },
            'What the program asked a library for, and what its calls moved in files: headers, fill values and whole ' +
                'chunks come on top, and what stays in memory comes later.',
        ),
        libraries.map((library) => [h('p', { class: 'message' }, unbroken(libraryMessage(library))), libraryTable(library)]),
        objectTable(document.job),
        document.layers && treeTable(document.layers),
    );
}
