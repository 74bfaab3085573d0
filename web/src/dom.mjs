// Elements of the page. Everything that comes from a log goes through here and becomes text, never HTML.

const named = { 9: '\\t', 10: '\\n', 13: '\\r' };

function escaped(character) {
    const code = character.codePointAt(0);
    if (named[code]) return named[code];
    // Bytes of a name that are not UTF-8 arrive as U+DC80 to U+DCFF.
    if (code >= 0xdc80 && code <= 0xdcff) return `\\x${(code - 0xdc00).toString(16)}`;
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
}

// Shows control characters, lone surrogates and characters that change the direction of text as escapes.
const unprintable = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu;

export function printable(text) {
    return String(text).replace(unprintable, escaped);
}

// h('a', {class: 'x', onclick: f}, 'text', child...). Children that are null, undefined or false are left out.
export function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (value === null || value === undefined || value === false) continue;
        if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
        else element.setAttribute(name, value === true ? '' : printable(value));
    }
    return fill(element, ...children);
}

export function fill(element, ...children) {
    for (const child of children.flat(Infinity)) {
        if (child === null || child === undefined || child === false) continue;
        element.append(child instanceof Node ? child : document.createTextNode(printable(child)));
    }
    return element;
}

export function replace(element, ...children) {
    element.replaceChildren();
    return fill(element, ...children);
}

export function button(text, onclick, attributes = {}) {
    return h('button', { type: 'button', onclick, ...attributes }, text);
}

// A group of buttons of which one is pressed. options: [[value, text], ...].
export function choice(label, options, chosen, onchange) {
    const buttons = options.map(([value, text]) =>
        button(
            text,
            () => {
                for (const [index, other] of buttons.entries())
                    other.setAttribute('aria-pressed', options[index][0] === value);
                onchange(value);
            },
            { 'aria-pressed': String(value === chosen) },
        ),
    );
    return h('div', { class: 'choice', role: 'group', 'aria-label': label }, buttons);
}

// A drop-down list. options: [[value, text], ...].
export function select(label, options, chosen, onchange) {
    const list = h(
        'select',
        { onchange: () => onchange(options[list.selectedIndex][0]) },
        options.map(([value, text]) => h('option', { selected: value === chosen }, text)),
    );
    return h('label', { class: 'select' }, h('span', {}, label), list);
}

export function section(id, title, ...children) {
    return h('section', { id, 'aria-labelledby': `${id}-title` }, h('h2', { id: `${id}-title` }, title), children);
}

export function swatch(colour) {
    const element = h('span', { class: 'swatch', 'aria-hidden': 'true' });
    element.style.setProperty('--swatch', colour);
    return element;
}

// A thin bar of parts: [[share, class], ...]; the shares are fractions of 1.
export function bar(parts) {
    return h(
        'span',
        { class: 'bar', 'aria-hidden': 'true' },
        parts.map(([share, kind]) => {
            const part = h('span', { class: kind });
            part.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
            return part;
        }),
    );
}
