// What this job did: sentences, three numbers, and what is not known.
import { bar, h, section } from './dom.mjs';
import { bytes, percent, plural, prose, rate, seconds, unbroken, unknown } from './format.mjs';

export function number(id, value, name, detail, parts) {
    const [digits, ...unit] = value.split(' ');
    return h(
        'div',
        { class: 'big', id: `number-${id}` },
        h('div', { class: 'big-name' }, name),
        h(
            'div',
            { class: 'big-value' },
            h('span', {}, digits),
            unit.length > 0 && h('small', {}, ` ${unit.join(' ')}`),
        ),
        parts && bar(parts),
        h('div', { class: 'big-detail' }, unbroken(detail)),
    );
}

// Darshan's logs do not name the MPI, and have ranks.
function whoseTime({ job, import: origin }, { processes }) {
    if (job.mpi || (origin && processes > 1)) return `; mean of ${plural(processes, 'rank')}`;
    return processes > 1 ? `; with any of ${plural(processes, 'process', 'processes')} in I/O` : '';
}

function numbers({ job, summary }) {
    const all = summary.bytes_read + summary.bytes_written;
    return h(
        'div',
        { class: 'bigs' },
        number(
            'share',
            percent(summary.io_share),
            'Time in I/O',
            `${seconds(summary.io_seconds)} of the run time of ${seconds(summary.run_seconds)}` +
                whoseTime(job, summary),
            [[summary.io_share ?? 0, 'part-io']],
        ),
        number(
            'bytes',
            bytes(all),
            'Bytes moved',
            `${bytes(summary.bytes_read)} read, ${bytes(summary.bytes_written)} written`,
            all > 0 && [
                [summary.bytes_read / all, 'part-read'],
                [summary.bytes_written / all, 'part-write'],
            ],
        ),
        number(
            'bandwidth',
            rate(summary.bandwidth),
            'Effective bandwidth',
            summary.bandwidth === null
                ? all > 0
                    ? 'not known: only a trace says when bytes were moved'
                    : 'no transfers'
                : `of all processes together, in the ${seconds(summary.transfer_seconds)} with any in a transfer`,
            summary.run_seconds > 0 && [[(summary.transfer_seconds ?? 0) / summary.run_seconds, 'part-io']],
        ),
    );
}

function list(title, texts, kind) {
    if (texts.length === 0) return null;
    return h(
        'div',
        { class: `note ${kind}` },
        h('h3', {}, title),
        h(
            'ul',
            {},
            texts.map((text) => h('li', {}, prose(text))),
        ),
    );
}

function about(document) {
    const { job } = document.job;
    const start = new Date(job.start * 1000);
    const parts = [
        Number.isFinite(start.getTime()) && start.toLocaleString('en-GB', { dateStyle: 'long', timeStyle: 'short' }),
        job.host_count > 1 ? plural(job.host_count, 'host') : job.host,
        job.mpi ? `${job.mpi}, ${plural(job.nprocs, 'rank')}` : plural(job.nprocs, 'process', 'processes'),
        job.exit_status ? `ended with status ${job.exit_status}` : null,
    ];
    return h('p', { class: 'about' }, parts.filter(Boolean).join(' · '));
}

export function summarySection(document) {
    const { summary } = document;
    const [first, ...others] = summary.sentences;
    return section(
        'summary',
        'What this job did',
        about(document),
        h('p', { class: 'lead' }, unbroken(first ?? unknown)),
        others.length > 0 && h('p', { class: 'sentences' }, unbroken(others.join(' '))),
        numbers(document),
        summary.not_captured.length === 0
            ? h('p', { class: 'quiet' }, 'Everything that the program moved was recorded.')
            : list('Not recorded', summary.not_captured, 'gap'),
        list('Left out of this page', summary.cut, 'cut'),
    );
}
