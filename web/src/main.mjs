// The page: reads the data, makes the sections and connects them.
import { chartById, drawAll, forgetCharts, fromPaper, toPaper } from './chart.mjs';
import { collectivesSection } from './collectives.mjs';
import { compareSection } from './compare.mjs';
import { button, h, replace, select } from './dom.mjs';
import { filesSection } from './files.mjs';
import { findingsSection } from './findings.mjs';
import { baseName, commandLine, percent, shorten } from './format.mjs';
import { jobSection } from './job.mjs';
import { labSection } from './lab.mjs';
import { layersSection } from './layers.mjs';
import { librariesSection } from './libraries.mjs';
import { processNames } from './names.mjs';
import { phasesSection } from './phases.mjs';
import { predictionsSection } from './predictions.mjs';
import { querySection } from './query.mjs';
import { followDocument, serverOf, siteServer } from './server.mjs';
import { monthlyReport, servedSite } from './site.mjs';
import { jobsOf } from './siteaddress.mjs';
import { jobFacts } from './sitebeside.mjs';
import { sqlSection } from './sql.mjs';
import { stackSection } from './stack.mjs';
import { summarySection } from './summary.mjs';
import { sweepPage } from './sweep.mjs';
import { setPrinting, startTheme, switchTheme, theme } from './theme.mjs';
import { timelineSection } from './timeline.mjs';

const version = 1;
const main = h('main', { id: 'main', tabindex: '-1' });
const links = h('nav', { 'aria-label': 'Sections' });
const choices = h('div', { class: 'logs' });
const name = h('span', { class: 'log-name' });
// What is shown of a log. With a lab, that is above it and stays.
let place = main;

// Actions connect the parts of the page: each section adds its own, and others call them.
function context(document, server) {
    const nothing = () => {};
    const actions = { zoomTo: nothing, showPhase: nothing, showFile: nothing, showCall: nothing, showSql: nothing, showQuery: nothing };
    return { server, names: processNames(document), actions };
}

// The program and its arguments, without the launcher.
function headline(document) {
    const programs = document.job.processes.filter(({ launcher, command }) => !launcher && command?.length > 0);
    const program = programs.find(({ rank }) => rank === 0) ?? programs[0];
    const [name, ...rest] = program?.command ?? document.job.job.command;
    const words = [baseName(name ?? 'ioseer'), ...rest];
    const shown = words
        .slice(0, 12)
        .map((word) => h('span', { class: !word.includes(' ') && 'word' }, `${shorten(commandLine([word]), 100)} `));
    return h('h1', { title: commandLine(words) }, shown, words.length > 12 && '…');
}

const makers = [
    summarySection,
    findingsSection,
    timelineSection,
    phasesSection,
    librariesSection,
    layersSection,
    stackSection,
    collectivesSection,
    filesSection,
    predictionsSection,
    querySection,
    sqlSection,
    jobSection,
];

function make(maker, document, shared) {
    try {
        return maker(document, shared);
    } catch (error) {
        // A section that fails must not hide the others.
        console.error(error);
        return h('section', { class: 'failed' }, h('p', {}, `This part cannot be shown: ${error.message}`));
    }
}

function showLinks() {
    const sections = [...main.querySelectorAll('section[id]')];
    replace(
        links,
        sections.map((section) => h('a', { href: `#${section.id}` }, section.querySelector('h2').textContent)),
    );
    const watcher = new IntersectionObserver(
        (changes) => {
            for (const { target, isIntersecting } of changes) {
                if (!isIntersecting) continue;
                for (const link of links.children) {
                    if (link.hash !== `#${target.id}`) {
                        link.removeAttribute('aria-current');
                        continue;
                    }
                    link.setAttribute('aria-current', 'true');
                    // In a narrow window the links are one long row.
                    links.scrollTo({ left: link.offsetLeft - 40 });
                }
            }
        },
        { rootMargin: '-20% 0px -70% 0px' },
    );
    for (const section of sections) watcher.observe(section);
}

function pendingNote({ pending }) {
    return pending === undefined
        ? null
        : h(
              'p',
              { class: 'note', role: 'status' },
              `The log is being read: ${percent(pending)} so far. The rest of this page follows.`,
          );
}

// Until a large log has been read, its document has only a summary, a timeline and the job.
const early = [summarySection, timelineSection, jobSection];

function show(document, server, all = [document]) {
    if (document.version !== version) {
        replace(
            place,
            h('p', { class: 'note' }, `This page shows documents of version ${version}, not ${document.version}.`),
        );
        return;
    }
    const shared = context(document, server);
    forgetCharts();
    window.document.title = `${shorten(document.title ?? document.log ?? '', 80)} – ioseer`;
    replace(name, commandLine(document.job.job.command));
    const wanted = document.pending === undefined ? makers : early;
    const [summary, ...others] = wanted.map((maker) => make(maker, document, shared));
    replace(
        place,
        headline(document),
        pendingNote(document),
        summary,
        all.length > 1 && make(() => compareSection(all), document, shared),
        others,
        h(
            'p',
            { class: 'on-paper' },
            'On screen this page also has all rows of the tables, the counters of each file, hints and settings, ' +
                'and it can be zoomed.',
        ),
    );
    showLinks();
    page.actions = shared.actions;
    if (document.pending === undefined) followLink(shared);
}

// What follows # may be a question: somebody sent the link. It is asked once.
let followed = null;
const linked = () => new URLSearchParams(location.hash.slice(1));

function followLink({ server, actions }) {
    const link = linked();
    if (!server || Number(link.get('log') ?? 0) !== server.log || followed === location.hash) return;
    followed = location.hash;
    if (link.has('query')) actions.showQuery(link.get('query'));
    else if (link.has('sql')) actions.showSql(link.get('sql'));
}

// The logs of a server. There may be more of them later: the lab makes some. numbers: of the logs, if they are not just
// those of the server from the first on.
function showServed({ logs, lab, numbers = null }) {
    const names = [...logs];
    const documents = [];
    const numberOf = (at) => numbers?.[at] ?? at;
    const wanted = Number(linked().get('log') ?? numberOf(0));
    let chosen = Math.max(0, names.findIndex((_, at) => numberOf(at) === wanted));
    let beside = null; // in a lab: the log that the chosen one is compared with
    let reading = Promise.resolve();
    const isRead = (document) => document && document.pending === undefined;
    const compared = () => (lab ? (beside === null ? [] : [documents[beside], documents[chosen]]) : documents).filter(isRead);
    const showChosen = () => {
        if (documents[chosen]) show(documents[chosen], serverOf(numberOf(chosen)), compared());
    };
    const open = (at, other = null) => {
        chosen = at;
        beside = other;
        showChoices();
        showChosen();
    };
    const showChoices = () =>
        names.length > 1 &&
        replace(
            choices,
            select(
                'Log',
                names.map((log, at) => [at, shorten(log, 40)]),
                chosen,
                (at) => open(at),
            ),
        );
    const follow = (at) =>
        followDocument(numberOf(at), (document) => {
            documents[at] = document;
            if (at === chosen || (lab ? at === beside : compared().length > 1)) showChosen();
        }).catch((error) => {
            replace(place, h('p', { class: 'note' }, `${names[at]} cannot be shown: ${error.message}`));
        });
    // In turn: the server reads one log at a time.
    const add = (at) => {
        reading = reading.then(() => follow(at));
    };
    showChoices();
    for (const at of names.keys()) add(at);
    if (lab) showLab({ names, add, open, documentOf: (at) => documents[at], chosen: () => (chosen in names ? chosen : null) });
}

// Each log that is made is shown, beside the one before; after a reload that is the last one.
function showLab({ names, add, open, documentOf, chosen }) {
    const showLog = (at, name, before) => {
        if (!(at in names)) {
            names[at] = name;
            add(at);
        }
        if (!linked().has('log')) open(at, before);
    };
    place = h('div', { class: 'document' });
    replace(main, labSection({ openLog: open, documentOf, chosen, onLog: showLog }), place);
    showLinks();
}

// --- the jobs of a site

function showSite({ title, elements }) {
    window.document.title = `${title} – ioseer`;
    replace(main, elements);
    showLinks();
}

// One job, or two side by side. Without their logs there is what the catalogue knows.
async function showJobs(numbers) {
    const facts = h('div', {});
    place = h('div', { class: 'document' });
    replace(main, h('p', { class: 'back' }, h('a', { href: './' }, '← All jobs')), facts, place);
    const rows = await Promise.all(numbers.map((id) => siteServer.ask('jobs', {}, { id })));
    const jobs = rows.flatMap((answer) => answer.jobs);
    const opened = await Promise.allSettled(numbers.map((id) => siteServer.open(id)));
    const logs = opened.filter(({ status }) => status === 'fulfilled').map(({ value }) => value);
    const failures = opened.map(({ reason }, at) => reason && h('p', { class: 'note failure' }, `The report of job ${numbers[at]} cannot be shown: ${reason.message}`)).filter(Boolean);
    const shown = jobs.length > 1 || failures.length > 0 ? jobs : [];
    replace(facts, failures, shown.length > 0 && make(jobFacts, shown));
    window.document.title = `Job ${numbers.join(' and ')} – ioseer`;
    showLinks();
    if (logs.length > 0) showServed({ logs: logs.map((log) => log.name), numbers: logs.map((log) => log.log) });
}

function startSite({ site }) {
    const jobs = jobsOf(location.search);
    if (jobs.length === 0) return showSite(servedSite(site));
    return showJobs(jobs).catch((error) => replace(place, h('p', { class: 'note' }, `The catalogue does not answer: ${error.message}`)));
}

function frame() {
    const themeSwitch = button(
        '',
        () => {
            switchTheme();
            sayTheme();
        },
        { class: 'theme' },
    );
    const sayTheme = () => replace(themeSwitch, theme() === 'dark' ? 'Light' : 'Dark');
    sayTheme();
    document.body.append(
        h('a', { class: 'skip', href: '#main' }, 'Skip to the contents'),
        h('header', { class: 'top' }, h('a', { class: 'brand', href: '#main' }, 'ioseer'), name, choices, themeSwitch),
        links,
        main,
    );
}

// Paper shows all findings.
function print(isPaper) {
    setPrinting(isPaper);
    for (const rest of document.querySelectorAll('.rest')) rest.open = isPaper;
    if (isPaper) toPaper();
    else fromPaper();
}
addEventListener('beforeprint', () => print(true));
addEventListener('afterprint', () => print(false));

// For the tests, and for the browser's console.
const page = { chart: chartById, drawAll, actions: null };
window.ioseerPage = page;

startTheme();
frame();
const given = (id) => JSON.parse(document.getElementById(id).textContent);
const server = given('ioseer-server');
const data = given('ioseer-data');
if (server?.site) startSite(server);
else if (server) showServed(server);
else if (data.site) showSite(monthlyReport(data));
else if (data.sweep) showSite(sweepPage(data.sweep));
else show(data, null);
