// The page: reads the data, makes the sections and connects them.
import { chartById, drawAll, forgetCharts, fromPaper, toPaper } from './chart.mjs';
import { collectivesSection } from './collectives.mjs';
import { compareSection } from './compare.mjs';
import { button, h, replace, select } from './dom.mjs';
import { filesSection } from './files.mjs';
import { findingsSection } from './findings.mjs';
import { baseName, commandLine, percent, shorten } from './format.mjs';
import { jobSection } from './job.mjs';
import { layersSection } from './layers.mjs';
import { librariesSection } from './libraries.mjs';
import { processNames } from './names.mjs';
import { phasesSection } from './phases.mjs';
import { predictionsSection } from './predictions.mjs';
import { followDocument, serverOf } from './server.mjs';
import { summarySection } from './summary.mjs';
import { setPrinting, startTheme, switchTheme, theme } from './theme.mjs';
import { timelineSection } from './timeline.mjs';

const version = 1;
const main = h('main', { id: 'main', tabindex: '-1' });
const links = h('nav', { 'aria-label': 'Sections' });
const choices = h('div', { class: 'logs' });
const name = h('span', { class: 'log-name' });

// Actions connect the parts of the page: each section adds its own, and others call them.
function context(document, server) {
    const nothing = () => {};
    return { server, names: processNames(document), actions: { zoomTo: nothing, showPhase: nothing, showFile: nothing, showCall: nothing } };
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
    collectivesSection,
    filesSection,
    predictionsSection,
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
            main,
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
        main,
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
}

async function showServed(logs) {
    const documents = Array(logs.length).fill(null);
    let chosen = 0;
    const finished = () => documents.filter((document) => document && document.pending === undefined);
    const showChosen = () => documents[chosen] && show(documents[chosen], serverOf(chosen), finished());
    if (logs.length > 1) {
        replace(
            choices,
            select(
                'Log',
                logs.map((log, at) => [at, shorten(log, 40)]),
                0,
                (at) => {
                    chosen = at;
                    showChosen();
                },
            ),
        );
    }
    const follow = (at) =>
        followDocument(at, (document) => {
            documents[at] = document;
            if (at === chosen || finished().length > 1) showChosen();
        });
    // In turn: the server reads one log at a time.
    for (const at of logs.keys()) {
        try {
            await follow(at);
        } catch (error) {
            replace(main, h('p', { class: 'note' }, `${logs[at]} cannot be shown: ${error.message}`));
        }
    }
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
        h('a', { class: 'skip', href: '#main' }, 'Skip to the report'),
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
if (server) showServed(server.logs);
else show(given('ioseer-data'), null);
