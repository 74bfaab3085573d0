// The list of jobs. The server sorts it and gives it page by page.
import { button, h, replace } from './dom.mjs';
import { bytes, count, longTime, moment, percent, seconds, shorten, unknown } from './format.mjs';

export const pageRows = 25;
const mostChosen = 2;

const columns = [
    { title: 'Start', sort: 'start', cell: ({ start }) => h('span', { class: 'moment' }, moment(start)) },
    { title: 'User', cell: ({ user }) => h('span', { class: 'name', title: user }, shorten(user, 16)) },
    { title: 'Program', cell: programCell },
    { title: 'Processes', number: true, cell: ({ nprocs }) => count(nprocs) },
    { title: 'Run time', sort: 'time', number: true, cell: ({ run_time: time }) => seconds(time) },
    { title: 'I/O', sort: 'io', number: true, cell: ({ io_seconds: time }) => seconds(time) },
    { title: 'Share', sort: 'share', number: true, cell: ({ io_share: share }) => percent(share) },
    { title: 'Bytes', sort: 'bytes', number: true, cell: ({ bytes_read: read, bytes_written: written }) => h('span', { title: `${bytes(read)} read, ${bytes(written)} written` }, bytes(read + written)) },
    { title: 'Files', sort: 'files', number: true, cell: ({ files }) => count(files) },
    { title: 'At stake', sort: 'findings', number: true, cell: ({ stake_seconds: stake }) => (stake > 0 ? longTime(stake) : unknown) },
    { title: 'First finding', cell: ({ findings }) => findings[0]?.id ?? unknown },
];

function programCell({ id, program, log, isStatic }) {
    const text = shorten(program, 28) || '(no name)';
    return isStatic ? h('span', { class: 'name', title: log }, text) : h('a', { class: 'name', href: `?job=${Number(id)}`, title: log }, text);
}

function row(job, choice) {
    const box = choice && h('input', { type: 'checkbox', 'aria-label': `Compare job ${job.id}`, checked: choice.has(job.id), onchange: () => choice.toggle(job.id) });
    return h(
        'tr',
        { 'data-job': job.id, 'aria-selected': choice && String(choice.has(job.id)) },
        choice && h('td', {}, box),
        columns.map(({ cell, number }) => h('td', { class: number ? 'number' : null }, cell(job))),
    );
}

function frame(heads, body, caption) {
    return h(
        'div',
        { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
        h('table', { class: 'jobs' }, h('caption', { class: 'unseen' }, caption), h('thead', {}, h('tr', {}, heads)), body),
    );
}

// Of a report without a server: the jobs that it has.
export function jobsTable(jobs) {
    const heads = columns.map(({ title, number }) => h('th', { scope: 'col', class: number ? 'number' : null }, title));
    return frame(heads, h('tbody', {}, jobs.map((job) => row({ ...job, isStatic: true }, null))), 'Jobs');
}

// askJobs(arguments) gives {jobs}; show(filter is new) asks again.
export function jobsList(askJobs) {
    let sort = 'start';
    let befores = []; // the job before each page so far; the last one is that of the page that is shown
    let jobs = [];
    let all = null; // how many there are
    let asked = 0;
    const chosen = [];
    const body = h('tbody', {});
    const state = h('p', { class: 'message', role: 'status' });
    const previous = button('Previous', () => turn(befores.slice(0, -1)), { 'aria-label': 'Previous page of jobs' });
    const next = button('Next', () => turn([...befores, jobs[pageRows - 1].id]), { 'aria-label': 'Next page of jobs' });
    const beside = h('a', { class: 'button primary', hidden: true }, 'Show both side by side');
    const hint = h('span', { class: 'quiet' }, 'Choose two jobs to see them side by side; a program opens the report of its job.');

    const choice = {
        has: (id) => chosen.includes(id),
        toggle(id) {
            if (chosen.includes(id)) chosen.splice(chosen.indexOf(id), 1);
            else chosen.push(id);
            if (chosen.length > mostChosen) chosen.shift();
            fillRows();
            sayChosen();
        },
    };

    function sayChosen() {
        beside.hidden = chosen.length < mostChosen;
        if (!beside.hidden) beside.setAttribute('href', `?job=${chosen[0]}&job=${chosen[1]}`);
        hint.textContent =
            chosen.length === 0
                ? 'Choose two jobs to see them side by side; a program opens the report of its job.'
                : `Chosen: ${chosen.map((id) => `job ${id}`).join(' and ')}.`;
    }

    function fillRows() {
        replace(body, jobs.slice(0, pageRows).map((job) => row(job, choice)));
    }

    function say() {
        const from = (befores.length - 1) * pageRows + 1;
        const to = from + Math.min(jobs.length, pageRows) - 1;
        state.textContent = jobs.length === 0 ? 'No jobs.' : `Jobs ${count(from)} to ${count(to)}${all === null ? '' : ` of ${count(all)}`}.`;
        previous.disabled = befores.length < 2;
        next.disabled = jobs.length <= pageRows;
        for (const [at, { sort: key }] of columns.entries()) {
            if (key === sort) heads[at].setAttribute('aria-sort', 'descending');
            else heads[at].removeAttribute('aria-sort');
        }
    }

    // One more than is shown: whether there is a next page.
    async function turn(wanted) {
        const number = ++asked;
        body.setAttribute('aria-busy', 'true');
        try {
            const answer = await askJobs({ sort, top: pageRows + 1, after: wanted.at(-1) });
            if (number !== asked) return;
            jobs = answer.jobs;
            befores = wanted;
            fillRows();
            say();
        } catch (error) {
            if (number === asked && error.name !== 'AbortError') state.textContent = `The jobs cannot be listed: ${error.message}`;
        } finally {
            if (number === asked) body.removeAttribute('aria-busy');
        }
    }

    const heads = columns.map(({ title, sort: key, number }) =>
        h(
            'th',
            { scope: 'col', class: number ? 'number' : null },
            key
                ? button(
                      title,
                      () => {
                          sort = key;
                          turn([null]);
                      },
                      { class: 'sort', title: 'the largest first' },
                  )
                : title,
        ),
    );
    return {
        element: [
            state,
            frame([h('th', { scope: 'col' }, h('span', { class: 'unseen' }, 'Compare')), heads], body, 'Jobs'),
            h('div', { class: 'pages' }, previous, next, beside, hint),
        ],
        show() {
            all = null;
            return turn([null]);
        },
        // Other answers know how many jobs there are.
        sayAll(number) {
            all = number;
            if (befores.length > 0) say();
        },
    };
}
