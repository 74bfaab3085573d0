// The questions of IOPro, by fields to fill in: where the latency, throughput and energy of processes, calls and servers
// come from. Each becomes a text for `ioseer query` and a statement of SQL. Only a served page has this section.
import { button, h, replace, section, select } from './dom.mjs';
import { command } from './findings.mjs';
import { commandLine, plural, ranges, shorten } from './format.mjs';
import { chartOf, formatOf, resultOf, waysTo } from './result.mjs';
import { failure, linkTo } from './sql.mjs';

const metrics = [
    ['Latency Breakdown Exclusive', 'Latency in each layer, without those below'],
    ['Latency Breakdown Inclusive', 'Latency in each layer, with those below'],
    ['Latency Operation List', 'Latency of operations'],
    ['Latency Operation Max', 'Longest operations'],
    ['Latency Operation Min', 'Shortest operations'],
    ['Latency Operation Avg', 'Mean latency of operations'],
    ['Throughput', 'Throughput'],
    ['Energy', 'Energy'],
    ['Call', 'Number of calls'],
];
const watts = ['active_watts', 'inactive_watts'];
const fieldsOf = (metric) => [
    ...(metric === 'Energy' ? watts : []),
    ...(metric.includes('Breakdown') ? ['process', 'mpi_call'] : ['process', 'mpi_call', 'pvfs_call', 'server']),
];
const titles = {
    active_watts: 'Watts, active',
    inactive_watts: 'Watts, inactive',
    process: 'Processes',
    mpi_call: 'Calls',
    pvfs_call: 'Parts of a call',
    server: 'Servers',
};

// What a reader has chosen stays when the page is made again for the same log.
const remembered = new Map();
const start = () => ({ metric: metrics[0][0], fields: {}, answer: null });

// A field with blanks needs brackets to be one word.
function wordOf(value = '') {
    const text = value.trim();
    return /^[^[].*\s/.test(text) ? `[${text}]` : text || '-';
}

// Fields that are missing at the end mean all.
function textOf({ metric, fields }) {
    const words = fieldsOf(metric).map((name) => wordOf(fields[name]));
    while (words.at(-1) === '-') words.pop();
    return [metric, ...words].join(' ');
}

// The fields of a question that was asked by a link; null if it is none.
function choiceOf(text) {
    const metric = metrics.map(([name]) => name).find((name) => text.toLowerCase().startsWith(name.toLowerCase()));
    if (!metric) return null;
    const words = text.slice(metric.length).match(/\[[^\]]*\]?|[^\s[]+/g) ?? [];
    const values = words.map((word) => word.replace(/^\[\s*|\s*\]$/g, '').replace(/^-$/, ''));
    return { metric, fields: Object.fromEntries(fieldsOf(metric).map((name, index) => [name, values[index] ?? ''])) };
}

function hints({ job, processes }) {
    const known = job.job.mpi ? job.processes.map(({ rank }) => rank).filter((rank) => rank !== null) : (processes ?? []).map(([pid]) => pid);
    const servers = (job.stack?.servers ?? []).map(({ id }) => id);
    const all = (numbers) => (numbers.length > 0 ? `all: ${shorten(ranges([...new Set(numbers)]), 24)}` : 'all');
    const assumed = (value) => (value ? `assumed: ${value}` : 'as assumed');
    return {
        active_watts: assumed(job.stack?.watts_active),
        inactive_watts: assumed(job.stack?.watts_inactive),
        process: all(known),
        mpi_call: 'all',
        pvfs_call: 'all',
        server: all(servers),
    };
}

function form(chosen, hint, change) {
    const input = (name) => {
        const field = h('input', {
            type: 'text',
            placeholder: hint[name],
            oninput: () => {
                chosen.fields[name] = field.value;
                change();
            },
        });
        field.value = chosen.fields[name] ?? '';
        return h('label', {}, h('span', {}, titles[name]), field);
    };
    return h('div', { class: 'fields' }, fieldsOf(chosen.metric).map(input));
}

// The statement, its rows and, of a chart, its bars.
async function ask(server, text, signal) {
    const question = await server.query(text);
    const result = await server.sql(question.sql, { asker: 1, signal });
    const bars = await server.sql(question.chart, { asker: 1, signal });
    return { text, question, result, bars };
}

// A row of a call leads to it: it is found by its process and its number.
function waysToCalls({ columns }, { server, actions, hasRanks }) {
    const [process, call] = ['process', 'call'].map((name) => columns.indexOf(name));
    if (call < 0) return null;
    return (row) => {
        if (!Number.isInteger(row[process]) || !Number.isInteger(row[call])) return null;
        return waysTo(actions, true, async () => {
            const { rows } = await server.sql(
                `SELECT id, start, duration FROM calls WHERE ${hasRanks ? 'rank' : 'pid'} = ${row[process]} AND call = ${row[call]} AND id = top`,
                { asker: 1 },
            );
            return rows.length > 0 ? { id: rows[0][0], start: rows[0][1], duration: rows[0][2] } : null;
        });
    };
}

function shownAnswer({ text, question, result, bars }, { server, actions, log, hasRanks }) {
    const chart = chartOf('query', metrics.find(([name]) => text.startsWith(name))?.[1] ?? text);
    if (bars.rows.length > 0) {
        const different = (column) => new Set(bars.rows.map((row) => row[column])).size;
        const isStacked = question.stacked || different(0) === bars.rows.length; // one bar is above its name
        const by = different(1) > 1 ? 1 : null;
        const format = formatOf(question.unit);
        chart.show(bars.rows, { kind: 'bar', x: 0, y: 2, by, isStacked, format, names: ['', question.unit, ''] });
    }
    return [
        question.note && h('p', { class: 'note' }, `${question.note}.`),
        command(`ioseer query ${commandLine([log, text])}`),
        h('p', { class: 'more' }, button('Open as SQL', () => actions.showSql(question.sql), { class: 'link' })),
        chart.element,
        resultOf('query-rows', result, {
            tables: [],
            actions,
            name: 'answer.csv',
            withChart: false,
            way: waysToCalls(result, { server, actions, hasRanks }),
        }),
    ];
}

export function querySection(document, shared) {
    const { server, actions } = shared;
    if (!server) return null;
    if (!remembered.has(server.log)) remembered.set(server.log, start());
    const chosen = remembered.get(server.log);
    const place = h('div', {});
    const text = h('code', { class: 'statement' });
    const result = h('div', { class: 'result', id: 'query-result' });
    const say = () => replace(text, textOf(chosen));
    const hasRanks = document.job.processes?.some(({ rank }) => rank !== null);
    const show = (answer) => replace(result, shownAnswer(answer, { server, actions, log: document.log, hasRanks }));
    const showForm = () => {
        replace(place, form(chosen, hints(document), say));
        say();
    };
    let asking = null;
    const run = async (asked = textOf(chosen)) => {
        const own = new AbortController();
        asking?.abort();
        asking = own;
        history.replaceState(null, '', linkTo(server.log, 'query', asked));
        replace(result, h('p', { class: 'quiet', role: 'status' }, 'The question is being answered …'));
        try {
            const answer = await ask(server, asked, own.signal);
            if (asking !== own) return;
            chosen.answer = answer;
            show(answer);
        } catch (error) {
            if (asking !== own) return;
            chosen.answer = null;
            replace(result, failure(asked, error));
        }
    };
    place.addEventListener('keydown', (event) => event.key === 'Enter' && run());
    showForm();
    if (chosen.answer) show(chosen.answer);
    const metric = select('Question', metrics, chosen.metric, (value) => {
        chosen.metric = value;
        showForm();
    });
    const element = section(
        'query',
        'Questions',
        h(
            'p',
            { class: 'intro' },
            `Where time, throughput and energy go: by process, call, part of a call and server. Fields take numbers, ` +
                `ranges and lists (0-3,7); empty means all. This log has ${plural(document.summary.processes, 'process', 'processes')}.`,
        ),
        metric,
        place,
        text,
        h('div', { class: 'run' }, button('Ask', () => run(), { class: 'primary' })),
        result,
    );
    actions.showQuery = (asked) => {
        Object.assign(chosen, choiceOf(asked));
        metric.querySelector('select').selectedIndex = metrics.findIndex(([name]) => name === chosen.metric);
        showForm();
        element.scrollIntoView({ block: 'start' });
        return run(asked);
    };
    return element;
}
