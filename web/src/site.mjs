// The page of a site: all jobs of a catalogue. A server answers for the jobs that a filter lets through; a monthly report
// brings its answers along.
import { button, h, printable, replace, section } from './dom.mjs';
import { bytes, longTime, percent, plural } from './format.mjs';
import { siteServer } from './server.mjs';
import { dateOf, filterOf, queryOf, secondsOf } from './siteaddress.mjs';
import { shareFigure, sizeFigure, timeFigures } from './sitecharts.mjs';
import { jobsList, jobsTable } from './sitejobs.mjs';
import { filesBlock, findingsBlock, habitsBlock, layersBlock, moversBlock, slowerBlock, systemsBlock } from './sitelists.mjs';
import { number } from './summary.mjs';

const topRows = 10;
const suggestions = 200;
const mostDays = 100; // a longer time is shown by months
const mostAdded = 20_000; // jobs that are added up one by one

// --- the parts, from answers

function overview({ statistics }) {
    const { jobs, run_time: runTime, io_seconds: io, io_share: share, bytes_read: read, bytes_written: written } = statistics;
    if (!jobs) return h('p', { class: 'lead' }, 'No jobs.');
    const moved = read + written;
    return [
        h('p', { class: 'lead' }, `${plural(jobs, 'job')} ran for ${longTime(runTime)} in all, ${percent(share)} of it in I/O, and moved ${bytes(moved)}.`),
        h(
            'div',
            { class: 'bigs' },
            number('share', percent(share), 'Time in I/O', `${longTime(io)} of the run time; with all processes the jobs took ${longTime(statistics.core_seconds)}`, [[share ?? 0, 'part-io']]),
            number('bytes', bytes(moved), 'Bytes moved', `${bytes(read)} read, ${bytes(written)} written`, moved > 0 && [[read / moved, 'part-read'], [written / moved, 'part-write']]),
            number('stake', longTime(statistics.stake_seconds), 'At stake in findings', `${plural(statistics.finding_count, 'finding')}; ${percent(runTime > 0 ? statistics.stake_seconds / runTime : null)} of the run time`, runTime > 0 && [[statistics.stake_seconds / runTime, 'part-write']]),
        ),
    ];
}

const nothing = () => h('p', { class: 'quiet' }, 'No jobs.');
const overTime = (groups, key, choose) => (groups.length > 0 ? timeFigures(groups, key, choose) : nothing());

const distributions = ({ statistics }) =>
    statistics.jobs ? [h('div', { class: 'pair' }, shareFigure(statistics), sizeFigure(statistics)), h('div', { class: 'pair' }, habitsBlock(statistics), layersBlock(statistics))] : nothing();

function topLists([{ statistics }, users, programs], choose) {
    if (!statistics.jobs) return nothing();
    return [
        h('div', { class: 'pair' }, moversBlock('user', users.groups, statistics, choose), moversBlock('program', programs.groups, statistics, choose)),
        h('div', { class: 'pair' }, findingsBlock(statistics, choose), systemsBlock(statistics, choose)),
        filesBlock(statistics),
    ];
}

const titles = { overview: 'All together', time: 'Over time', jobs: 'Jobs', top: 'Who and what', slower: 'Got slower', distributions: 'How they do I/O' };

function parts() {
    const places = Object.fromEntries(Object.keys(titles).map((id) => [id, h('div', { class: 'part' })]));
    const sections = Object.entries(titles).map(([id, title]) => section(id, title, places[id]));
    return { places, sections };
}

function heading(title, site) {
    return [
        h('h1', {}, title),
        h('p', { class: 'about' }, `Catalogue ${site.place}`, site.owner !== null && ` · jobs of ${printable(site.owner)} only`),
    ];
}

// --- a report of a month

export function monthlyReport(document) {
    const { site } = document;
    const { places, sections } = parts();
    const name = new Date(site.since * 1000).toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
    replace(places.overview, overview(document.overview));
    replace(places.time, h('p', { class: 'intro' }, 'Days and months are in UTC. Other months are there to compare with.'), overTime(document.days.groups, 'day'), overTime(document.months.groups, 'month'));
    replace(places.jobs, h('p', { class: 'message' }, `The ${plural(document.jobs.jobs.length, 'job')} with the most time at stake in findings.`), jobsTable(document.jobs.jobs));
    replace(places.top, topLists([document.overview, document.users, document.programs], null));
    replace(places.slower, slowerBlock(document.slower.slower, null));
    replace(places.distributions, distributions(document.overview));
    return { title: `Jobs of ${name}`, elements: [heading(`Jobs of ${name}`, site), sections] };
}

// --- with a server

const fields = [
    ['user', 'User'],
    ['program', 'Program'],
    ['fs', 'File system'],
    ['finding', 'Finding'],
];

const periods = [
    [7, 'Last 7 days'],
    [30, 'Last 30 days'],
    [365, 'Last year'],
];

// The form of the filter. What a field shows is text; what is asked for are the bytes of a name that was clicked.
function filterForm(change) {
    const inputs = Object.fromEntries(
        fields.map(([key, title]) => [key, h('input', { type: 'search', id: `filter-${key}`, list: `names-${key}`, autocomplete: 'off', spellcheck: 'false', placeholder: 'all', title: 'a name, or a pattern with *, ? and [a-z]', 'aria-label': title })]),
    );
    const days = Object.fromEntries(['since', 'until'].map((key) => [key, h('input', { type: 'date', id: `filter-${key}`, 'aria-label': key === 'since' ? 'From' : 'To' })]));
    const lists = Object.fromEntries(fields.map(([key]) => [key, h('datalist', { id: `names-${key}` })]));
    for (const [key, input] of Object.entries({ ...inputs, ...days })) input.addEventListener('change', () => change({ [key]: input.value || null }));
    const field = (title, control, list) => h('label', {}, h('span', {}, title), control, list);
    const element = h(
        'form',
        { class: 'filter', role: 'search', 'aria-label': 'Which jobs', onsubmit: (event) => event.preventDefault() },
        h(
            'div',
            { class: 'fields' },
            fields.map(([key, title]) => field(title, inputs[key], lists[key])),
            field('From (UTC)', days.since),
            field('To (UTC)', days.until),
        ),
        h(
            'div',
            { class: 'run' },
            periods.map(([number, title]) => button(title, () => change({ since: dateOf(Date.now() / 1000 - number * 86400), until: null }))),
            button('Show all jobs', () => change(Object.fromEntries([...Object.keys(inputs), ...Object.keys(days)].map((key) => [key, null])))),
        ),
    );
    return {
        element,
        show(filter) {
            for (const [key, input] of Object.entries({ ...inputs, ...days })) input.value = printable(filter[key] ?? '');
        },
        // Names that can be typed.
        suggest(key, names) {
            replace(lists[key], names.filter((name) => printable(name) === name).map((name) => h('option', { value: name })));
        },
    };
}

function isShort({ since, until }) {
    if (!since) return false;
    return (until ? secondsOf(until) : Date.now() / 1000) - secondsOf(since) <= mostDays * 86400;
}

// A click on a month or a day shows only that.
function choosePeriod(change) {
    return (name) => {
        if (name.length > 7) return change({ since: name, until: name });
        const [year, month] = name.split('-').map(Number);
        return change({ since: `${name}-01`, until: new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10) });
    };
}

export function servedSite(site) {
    const { places, sections } = parts();
    let filter = filterOf(location.search);
    let asking = new AbortController();
    const ask = (question, more) => siteServer.ask(question, filter, more, asking.signal);
    const jobs = jobsList((more) => ask('jobs', more));
    const form = filterForm(change);
    replace(places.jobs, jobs.element);

    function change(values) {
        filter = Object.fromEntries(Object.entries({ ...filter, ...values }).filter(([, value]) => value));
        history.pushState(null, '', `${location.pathname}?${queryOf(filter)}`);
        show();
    }

    async function put(id, answers, make) {
        const place = places[id];
        const { signal } = asking;
        place.setAttribute('aria-busy', 'true');
        try {
            const values = await answers;
            if (signal.aborted) return;
            replace(place, make(values));
        } catch (error) {
            if (signal.aborted) return;
            replace(place, h('p', { class: error.isLimit ? 'quiet' : 'note' }, error.isLimit ? error.message : `The catalogue does not answer: ${error.message}`));
        }
        place.removeAttribute('aria-busy');
    }

    // Sums are kept by month, user and program, and for one file system or finding by month. Other jobs are added up one
    // by one, which takes long if they are many: the list of them does not.
    async function checkNumber() {
        const { signal } = asking;
        const { fs, finding, ...others } = filter;
        const choices = [fs && [{ ...others, fs }, 'fs'], finding && [{ ...others, finding }, 'finding']].filter(Boolean);
        const answers = await Promise.all(choices.map(([own, by]) => siteServer.ask('groups', own, { by }, signal)));
        const number = Math.min(...answers.map(({ groups }) => groups.reduce((sum, { jobs: some }) => sum + some, 0)));
        const isOne = answers.length === 1 && answers[0].groups.length === 1;
        const isKept = isOne && !others.user && !others.program && !site.owner && !isShort(filter);
        if (answers.length === 0 || isKept || number <= mostAdded) return;
        throw Object.assign(new Error(`There are ${answers.length > 1 ? 'up to ' : ''}${plural(number, 'such job')}. Sums of so many take long: choose fewer, by time, user or program. The list has all of them.`), { isLimit: true });
    }

    function show() {
        asking.abort();
        asking = new AbortController();
        form.show(filter);
        jobs.show();
        const isChecked = checkNumber();
        const sums = (...question) => isChecked.then(() => ask(...question));
        const statistics = sums('statistics');
        const groups = (by) => sums('groups', { by, top: topRows });
        const inDays = isShort(filter);
        put('overview', statistics, overview);
        statistics.then(({ statistics: found }) => jobs.sayAll(found.jobs), () => {});
        put('time', inDays ? sums('groups', { by: 'day' }) : statistics, (found) => [
            h('p', { class: 'intro' }, `In UTC. A click shows one ${inDays ? 'day' : 'month'}.`),
            overTime(inDays ? found.groups : found.statistics.months, inDays ? 'day' : 'month', choosePeriod(change)),
        ]);
        put('top', Promise.all([statistics, groups('user'), groups('program')]), (found) => topLists(found, change));
        put('slower', ask('slower', { top: 100 }), (found) => slowerBlock(found.slower, change));
        put('distributions', statistics, distributions);
    }

    // Also fired by links within the page, which change nothing.
    addEventListener('popstate', () => {
        if (queryOf(filterOf(location.search)) === queryOf(filter)) return;
        filter = filterOf(location.search);
        show();
    });
    for (const [key] of fields) {
        siteServer
            .ask('groups', {}, { by: key, top: suggestions })
            .then((found) => form.suggest(key, found.groups.map((group) => group[key])))
            .catch(() => {}); // they are only help
    }
    show();
    return { title: 'Jobs', elements: [heading('Jobs', site), form.element, sections] };
}
