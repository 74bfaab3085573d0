// Tables. A click on a header sorts by that column. Long tables show their first rows and a button for all.
import { button, h, replace } from './dom.mjs';
import { count } from './format.mjs';

function compare(a, b) {
    if (a === b) return 0;
    if (a === null || a === undefined) return -1;
    if (b === null || b === undefined) return 1;
    return a < b ? -1 : 1;
}

// columns: [{title, cell(row), value(row), number, hint}]; columns without `value` cannot be sorted.
// options: {caption, sort: [column index, descending], first, onChoose(row), rowAttributes(row), search(row)}. With
// `search`, a field above the table keeps the rows whose text has all the words.
export function table(columns, rows, options = {}) {
    const body = h('tbody');
    const more = h('div', { class: 'more' });
    const first = options.first ?? 25;
    let [by, descending] = options.sort ?? [null, false];
    let all = rows.length <= first + 3;
    let chosen = null;
    let words = [];

    function choose(row) {
        chosen = row;
        for (const line of body.rows) line.setAttribute('aria-selected', String(line.ioseerRow === row));
        options.onChoose(row);
    }

    function line(row) {
        const cells = columns.map(({ cell, number, heading }) =>
            h(heading ? 'th' : 'td', { class: number ? 'number' : null, scope: heading ? 'row' : null }, cell(row)),
        );
        const element = h('tr', { ...options.rowAttributes?.(row) }, cells);
        if (options.onChoose) {
            element.ioseerRow = row;
            element.tabIndex = 0;
            element.setAttribute('aria-selected', String(row === chosen));
            element.addEventListener('click', () => choose(row));
            element.addEventListener('keydown', (event) => {
                if (event.target === element && (event.key === 'Enter' || event.key === ' ')) {
                    event.preventDefault();
                    choose(row);
                }
            });
        }
        return element;
    }

    function found(row) {
        const text = options.search(row).toLowerCase();
        return words.every((word) => text.includes(word));
    }

    function show() {
        const kept = words.length > 0 ? rows.filter(found) : rows;
        const sorted =
            by === null
                ? kept
                : [...kept].sort((a, b) => (descending ? -1 : 1) * compare(columns[by].value(a), columns[by].value(b)));
        replace(body, (all ? sorted : sorted.slice(0, first)).map(line));
        replace(
            more,
            words.length > 0 && h('span', { class: 'quiet' }, `${count(kept.length)} of ${count(rows.length)} match. `),
            !all &&
                kept.length > first &&
                h('span', { class: 'on-paper' }, `The first ${count(first)} of ${count(kept.length)}.`),
            !all &&
                kept.length > first &&
                button(`Show all ${count(kept.length)}`, () => {
                    all = true;
                    show();
                }),
        );
        for (const [index, head] of heads.entries()) {
            if (index === by) head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
            else head.removeAttribute('aria-sort');
        }
    }

    const heads = columns.map(({ title, value, number, hint }, index) =>
        h(
            'th',
            { scope: 'col', class: number ? 'number' : null, title: hint },
            value
                ? button(
                      title,
                      () => {
                          descending = by === index ? !descending : Boolean(number);
                          by = index;
                          show();
                      },
                      { class: 'sort' },
                  )
                : title,
        ),
    );
    const field =
        options.search &&
        h('input', { type: 'search', placeholder: 'Search', 'aria-label': `Search ${options.caption.toLowerCase()}` });
    field?.addEventListener('input', () => {
        words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
        show();
    });
    const element = h(
        'div',
        { class: 'table' },
        field && h('div', { class: 'search' }, field),
        h(
            'div',
            { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': options.caption },
            h(
                'table',
                { class: options.onChoose ? 'choosable' : null },
                h('caption', { class: options.captionShown ? null : 'unseen' }, options.caption),
                h('thead', {}, h('tr', {}, heads)),
                body,
            ),
        ),
        more,
    );
    show();
    return {
        element,
        choose,
        update(newRows) {
            rows = newRows;
            all = rows.length <= first + 3;
            show();
        },
    };
}

// A table of names and values.
export function facts(rows) {
    return h(
        'dl',
        { class: 'facts' },
        rows
            .filter(([, value]) => value !== null && value !== undefined && value !== '')
            .map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
    );
}
