// What the catalogue knows of one job, or of two side by side: also of those whose logs are gone.
import { change } from './compare.mjs';
import { h, section } from './dom.mjs';
import { bytes, count, moment, percent, seconds, shorten, unknown } from './format.mjs';
import { table } from './table.mjs';

const number = (name, value, format, better) => ({ name, value, format, better });
const word = (name, value) => ({ name, value, format: (text) => (text ? shorten(text, 60) : unknown), isWord: true });

// better: 1 if more is better, -1 if less is, 0 if neither.
const facts = [
    word('User', (job) => job.user),
    word('Program', (job) => job.program),
    word('Command', (job) => job.command),
    word('Host', (job) => job.host),
    word('Layers', (job) => job.layers.join(', ')),
    number('Start', (job) => job.start, moment, null),
    number('Processes', (job) => job.nprocs, count, 0),
    number('Run time', (job) => job.run_time, seconds, -1),
    number('Time in I/O', (job) => job.io_seconds, seconds, -1),
    number('Share of the run time', (job) => job.io_share, percent, -1),
    number('Time in I/O of the process with the most', (job) => job.io_seconds_max, seconds, -1),
    number('Read', (job) => job.bytes_read, bytes, 0),
    number('Written', (job) => job.bytes_written, bytes, 0),
    number('Files', (job) => job.files, count, 0),
    number('Calls', (job) => job.calls, count, 0),
    number('Time at stake', (job) => job.stake_seconds, seconds, -1),
];

function findingRows(jobs) {
    const ids = [...new Set(jobs.flatMap(({ findings }) => findings.map(({ id }) => id)))];
    return ids.map((id) => number(`At stake: ${id}`, (job) => job.findings.find((finding) => finding.id === id)?.seconds ?? null, seconds, -1));
}

function mark({ value, better, isWord }, jobs, at) {
    if (at === 0) return null;
    const [own, other] = [value(jobs[at]), value(jobs[0])];
    if (isWord) return own === other ? null : h('span', { class: 'change' }, 'differs');
    return better === null ? null : change(own, other, better);
}

export function jobFacts(jobs) {
    return section(
        'jobs-facts',
        jobs.length > 1 ? 'Two jobs side by side' : 'What the catalogue knows',
        jobs.length > 1 && h('p', { class: 'message' }, `${sentence(jobs)} Changes are those of the second job against the first.`),
        table(
            [
                { title: '', heading: true, cell: ({ name }) => name },
                ...jobs.map((job, at) => ({
                    title: `Job ${job.id}`,
                    number: false,
                    hint: job.log,
                    cell: (fact) => [h('span', { title: fact.isWord ? fact.value(job) : null }, fact.format(fact.value(job))), ' ', mark(fact, jobs, at)],
                })),
            ],
            [...facts, ...findingRows(jobs)],
            { caption: 'Numbers of the jobs', first: 40 },
        ).element,
    );
}

function sentence([first, second]) {
    if (!(first.run_time > 0) || !(second.run_time > 0)) return '';
    const ratio = second.run_time / first.run_time;
    if (Math.abs(ratio - 1) < 0.02) return 'Both ran about as long.';
    return `Job ${second.id} ran ${ratio > 1 ? `${ratio.toFixed(2)} times as long as` : `${percent(1 - ratio)} shorter than`} job ${first.id}.`;
}
