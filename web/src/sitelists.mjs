// Lists about many jobs: who and what moves most, what would save most, what got slower, how jobs do their I/O.
import { bar, button, h } from './dom.mjs';
import { bytes, count, longTime, moment, path, percent, plural, seconds, shorten, times, unknown } from './format.mjs';
import { table } from './table.mjs';

const number = (title, cell, value) => ({ title, cell, value, number: true });
const moved = (row) => row.bytes_read + row.bytes_written;

// A name is a button that shows only its jobs, where a server can.
function nameCell(key, choose, width = 40) {
    return (row) =>
        choose
            ? button(shorten(row[key], width), () => choose({ [key]: row[key] }), { class: 'link name', title: row[key] })
            : h('span', { class: 'name', title: row[key] }, shorten(row[key], width));
}

const gauge = (share, kind = 'part-io') => bar([[share, kind]]);
const shareOf = (part, all) => (all > 0 ? part / all : 0);

function block(id, title, message, rows, columns, sort) {
    return h(
        'div',
        { class: 'block', id },
        h('h3', {}, title),
        h('p', { class: 'message' }, message),
        rows.length > 0 && table(columns, rows, { caption: title, first: 10, sort }).element,
    );
}

// Users or programs, those that move most first.
export function moversBlock(key, groups, all, choose) {
    const [first] = groups;
    const title = key === 'user' ? 'Users' : 'Programs';
    const message = first ? `${shorten(first[key], 40)} moves the most: ${percent(shareOf(moved(first), moved(all)))} of all bytes.` : 'There are none.';
    return block(`top-${key}`, title, message, groups, [
        { title: title.slice(0, -1), heading: true, cell: nameCell(key, choose, 24) },
        number('Jobs', (row) => count(row.jobs), (row) => row.jobs),
        number('Bytes', (row) => [bytes(moved(row)), gauge(shareOf(moved(row), moved(first)))], moved),
        number('Run time', (row) => longTime(row.run_time), (row) => row.run_time),
        number('In I/O', (row) => percent(row.io_share), (row) => row.io_share),
        number('At stake', (row) => longTime(row.stake_seconds), (row) => row.stake_seconds),
    ]);
}

export function findingsBlock({ findings, run_time: all }, choose) {
    const [first] = findings;
    const message = first
        ? `${first.finding} would save the most: up to ${longTime(first.stake_seconds)} in ${plural(first.jobs, 'job')}, ${percent(shareOf(first.stake_seconds, all))} of all run time.`
        : 'No job has a finding.';
    return block('top-finding', 'Findings that would save most', message, findings, [
        { title: 'Finding', heading: true, cell: nameCell('finding', choose) },
        number('Jobs', (row) => count(row.jobs), (row) => row.jobs),
        number('At stake', (row) => [longTime(row.stake_seconds), gauge(shareOf(row.stake_seconds, first.stake_seconds), 'part-write')], (row) => row.stake_seconds),
    ]);
}

export function filesBlock({ worst_files: files }) {
    const [first] = files;
    const message = first ? `Most time goes into ${shorten(first.file, 60)}: ${longTime(first.file_seconds)}.` : 'No files are known.';
    return block('top-file', 'Worst files', message, files, [
        { title: 'Files (names without their digits)', heading: true, cell: (row) => path(row.file, 36) },
        number('Jobs', (row) => count(row.jobs), (row) => row.jobs),
        number('Files', (row) => count(row.files), (row) => row.files),
        number('Opens', (row) => count(row.opens), (row) => row.opens),
        number('Bytes', (row) => bytes(moved(row)), moved),
        number('Time', (row) => longTime(row.file_seconds), (row) => row.file_seconds),
    ]);
}

export function systemsBlock({ file_systems: systems }, choose) {
    const all = systems.reduce((sum, row) => sum + moved(row), 0);
    const [first] = systems;
    const message = first ? `${shorten(first.fs, 40)} takes ${percent(shareOf(moved(first), all))} of the bytes of these.` : 'No file systems are known.';
    return block('top-fs', 'File systems', message, systems, [
        { title: 'File system', heading: true, cell: nameCell('fs', choose, 28) },
        number('Jobs', (row) => count(row.jobs), (row) => row.jobs),
        number('Read', (row) => bytes(row.bytes_read), (row) => row.bytes_read),
        number('Written', (row) => bytes(row.bytes_written), (row) => row.bytes_written),
        number('Time', (row) => longTime(row.file_seconds), (row) => row.file_seconds),
    ]);
}

// --- how they do I/O

const habits = [
    ['mpi_jobs', 'use MPI'],
    ['collective_jobs', 'use collective reads or writes'],
    ['mostly_read_jobs', 'read more than they write'],
    ['mostly_written_jobs', 'write more than they read'],
    ['file_per_process_jobs', 'have a file per process'],
    ['shared_file_jobs', 'have files that processes share'],
];

export function habitsBlock(statistics) {
    const rows = habits.map(([key, name]) => ({ name, jobs: statistics[key], share: shareOf(statistics[key], statistics.jobs) }));
    const message = `${percent(rows[0].share)} of the jobs use MPI, ${percent(rows[1].share)} collective I/O.`;
    return block('habits', 'How jobs do their I/O', message, rows, [
        { title: 'Jobs that', heading: true, cell: ({ name }) => name },
        number('Jobs', ({ jobs }) => count(jobs), ({ jobs }) => jobs),
        number('Share', ({ share }) => [percent(share), gauge(share)], ({ share }) => share),
    ]);
}

export function layersBlock({ layers, jobs }) {
    const libraries = layers.filter(({ layer }) => !['posix', 'stdio'].includes(layer));
    const [first] = libraries;
    const message = first ? `Above POSIX, ${first.layer} is used most: in ${percent(shareOf(first.jobs, jobs))} of the jobs.` : 'No library above POSIX and stdio is used.';
    return block('layers-used', 'Layers', message, layers, [
        { title: 'Layer', heading: true, cell: ({ layer }) => layer },
        number('Jobs', (row) => count(row.jobs), (row) => row.jobs),
        number('Read', (row) => bytes(row.bytes_read), (row) => row.bytes_read),
        number('Written', (row) => bytes(row.bytes_written), (row) => row.bytes_written),
        number('Metadata', (row) => longTime(row.meta_seconds), (row) => row.meta_seconds),
    ]);
}

// --- slower

const measures = { run_time: 'run time', io_seconds: 'time in I/O' };

export function slowerBlock(rows, choose) {
    if (rows.length === 0) return h('p', { class: 'quiet' }, 'No program got slower than its own earlier runs.');
    const [first] = rows;
    return [
        h('p', { class: 'intro' }, `${plural(rows.length, 'series of runs', 'series of runs')} got slower. ${shorten(first.program, 40)} of ${shorten(first.user, 30)} costs the most: its ${measures[first.measure]} is ${times(first.after, first.before)} what it was. Each is compared with its own earlier runs; Chance is how likely noise alone looks like this.`),
        table(
            [
                { title: 'Program', heading: true, cell: nameCell('program', choose, 28) },
                { title: 'User', cell: nameCell('user', choose, 20) },
                number('Processes', (row) => count(row.nprocs), (row) => row.nprocs),
                { title: 'What', cell: (row) => measures[row.measure] ?? row.measure },
                number('Before', (row) => seconds(row.before), (row) => row.before),
                number('Now', (row) => seconds(row.after), (row) => row.after),
                number('Factor', (row) => row.factor?.toFixed(2) ?? unknown, (row) => row.factor),
                { title: 'Since', cell: (row) => moment(row.since), value: (row) => row.since },
                number('Chance', ({ chance }) => (chance === null ? unknown : chance.toExponential(1)), (row) => row.chance),
                { title: 'Last job', cell: (row) => (choose ? h('a', { href: `?job=${Number(row.id)}` }, `job ${row.id}`) : `job ${row.id}`) },
            ],
            rows,
            { caption: 'Programs that got slower', first: 10 },
        ).element,
    ];
}
