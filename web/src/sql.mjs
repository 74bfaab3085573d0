// Statements of SQL over the log. Only a served page has this section: a report has no server to ask.
import { button, h, replace, section } from './dom.mjs';
import { count, seconds } from './format.mjs';
import { resultOf } from './result.mjs';

const mostRemembered = 50;
const first = `SELECT file, op, count(*) AS calls, sum(duration) AS seconds
FROM events WHERE parent IS NULL AND file IS NOT NULL
GROUP BY file, op ORDER BY seconds DESC LIMIT 20`;

// What a reader has written stays when the page is made again for the same log.
const remembered = new Map();

function memoryOf(log) {
    if (!remembered.has(log)) remembered.set(log, { text: first, history: [], shown: null });
    return remembered.get(log);
}

// --- what can be asked for

function insert(area, text) {
    const [from, to] = [area.selectionStart, area.selectionEnd];
    const before = area.value.slice(0, from);
    area.setRangeText(`${before && !/[\s(.,]$/.test(before) ? ' ' : ''}${text}`, from, to, 'end');
    area.focus();
    area.dispatchEvent(new Event('input'));
}

function tableList(tables, area) {
    return tables.map(({ name, meaning, columns }) =>
        h(
            'details',
            {},
            h('summary', { title: meaning }, name),
            h('p', { class: 'quiet' }, meaning, ' ', button('Insert', () => insert(area, name), { class: 'link' })),
            h(
                'ul',
                {},
                columns.map((column) =>
                    h(
                        'li',
                        {},
                        button(column.name, () => insert(area, column.name), {
                            class: 'column',
                            title: `${column.type}: ${column.meaning}`,
                        }),
                    ),
                ),
            ),
        ),
    );
}

// --- errors

// The place is in bytes of UTF-8.
function placeIn(text, at) {
    return new TextDecoder().decode(new TextEncoder().encode(text).slice(0, at)).length;
}

export function failure(statement, error) {
    const box = (...parts) => h('div', { class: 'note failure', role: 'alert' }, h('p', {}, error.message), parts);
    if (typeof error.at !== 'number') return box();
    const at = placeIn(statement, error.at);
    const begin = statement.lastIndexOf('\n', at - 1) + 1;
    const end = statement.indexOf('\n', at) < 0 ? statement.length : statement.indexOf('\n', at);
    const wrong = /^(\w+|\S|)/.exec(statement.slice(at, end))[0];
    return box(
        h(
            'code',
            { class: 'statement' },
            statement.slice(begin, at),
            h('mark', {}, wrong || ' '),
            statement.slice(at + wrong.length, end),
        ),
    );
}

// --- the link

export const linkTo = (log, key, text) => `#${new URLSearchParams({ log, [key]: text })}`;

// --- the section

function runner({ server, actions }, memory, parts) {
    const { area, result, stop, history } = parts;
    let asking = null;
    const showHistory = () =>
        replace(
            history,
            memory.history.length > 0 && [
                h('summary', {}, `History (${count(memory.history.length)})`),
                h(
                    'ol',
                    {},
                    memory.history.map(({ text, took, rows }) =>
                        h(
                            'li',
                            {},
                            button(text.replace(/\s+/g, ' '), () => actions.showSql(text), { class: 'past' }),
                            h('span', { class: 'quiet' }, rows === null ? 'failed' : `${count(rows)} rows, ${seconds(took)}`),
                        ),
                    ),
                ),
            ],
        );
    const remember = (text, answer) => {
        memory.history = memory.history.filter((past) => past.text !== text);
        memory.history.unshift({ text, took: answer?.seconds, rows: answer?.rows.length ?? null });
        memory.history.length = Math.min(memory.history.length, mostRemembered);
        showHistory();
    };
    const show = (answer) => {
        memory.shown = answer;
        replace(result, resultOf('sql', answer, { tables: memory.tables ?? [], actions, name: 'result.csv' }));
    };
    showHistory();
    if (memory.shown) show(memory.shown);
    return {
        stop: () => asking?.abort(),
        async run() {
            const text = area.value;
            const own = new AbortController();
            asking?.abort();
            asking = own;
            window.history.replaceState(null, '', linkTo(server.log, 'sql', text));
            replace(result, h('p', { class: 'quiet', role: 'status' }, 'The statement is running …'));
            stop.hidden = false;
            try {
                const answer = await server.sql(text, { signal: own.signal });
                if (asking !== own) return;
                show(answer);
                remember(text, answer);
            } catch (error) {
                if (asking !== own) return;
                memory.shown = null;
                replace(result, own.signal.aborted ? h('p', { class: 'quiet', role: 'status' }, 'Stopped.') : failure(text, error));
                if (!own.signal.aborted) remember(text, null);
                if (typeof error.at === 'number') area.setSelectionRange(placeIn(text, error.at), placeIn(text, error.at));
            }
            stop.hidden = true;
        },
    };
}

export function sqlSection(document, shared) {
    const { server, actions } = shared;
    if (!server) return null;
    const memory = memoryOf(server.log);
    const area = h('textarea', { rows: 8, spellcheck: 'false', autocapitalize: 'off', 'aria-label': 'Statement of SQL' });
    const tables = h('div', { class: 'sql-tables', role: 'group', 'aria-label': 'Tables and columns' });
    const stop = button('Stop', () => asked.stop());
    const result = h('div', { class: 'result', id: 'sql-result' });
    const history = h('details', { class: 'history' });
    const asked = runner(shared, memory, { area, result, stop, history });
    stop.hidden = true;
    area.value = memory.text;
    area.addEventListener('input', () => {
        memory.text = area.value;
    });
    area.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        asked.run();
    });
    server
        .tables()
        .then((known) => {
            memory.tables = known;
            replace(tables, h('h3', {}, 'Tables'), tableList(known, area));
        })
        .catch((error) => replace(tables, h('p', { class: 'quiet' }, error.message)));
    const element = section(
        'sql',
        'SQL',
        h(
            'p',
            { class: 'intro' },
            'Any question about this log, as one SELECT statement of SQLite. Nothing can be changed. A result has at most ' +
                '10,000 rows, a statement at most 30 seconds.',
        ),
        h(
            'div',
            { class: 'sql' },
            h('div', {}, area, h('div', { class: 'run' }, button('Run', () => asked.run(), { class: 'primary' }), stop, h('span', { class: 'quiet' }, 'Ctrl-Enter')), history),
            tables,
        ),
        result,
    );
    actions.showSql = (text) => {
        area.value = memory.text = text;
        element.scrollIntoView({ block: 'start' });
        return asked.run();
    };
    return element;
}
