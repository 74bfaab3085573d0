// Numbers as text, in the same form as ioseer prints them in a terminal.
import { h, printable } from './dom.mjs';

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

export const unknown = '–';

export function bytes(value) {
    if (value === null || value === undefined) return unknown;
    let unit = 0;
    while (Math.abs(value) >= 1023.95 && unit + 1 < units.length) {
        value /= 1024;
        unit++;
    }
    return `${unit ? (Math.round(value * 10) / 10).toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function rate(value) {
    return value === null || value === undefined || !Number.isFinite(value) ? unknown : `${bytes(Math.round(value))}/s`;
}

export function seconds(value) {
    if (value === null || value === undefined) return unknown;
    if (value === 0) return '0 s';
    // Three significant digits: times are not measured better than that. Whole nanoseconds, so that halves are exact.
    const all = Math.round(Math.abs(value) * 1e9);
    const [unit, size] = all >= 999500000 ? ['s', 1e9] : all >= 999500 ? ['ms', 1e6] : ['us', 1e3];
    const digits = all >= 99.95 * size ? 0 : all >= 9.995 * size ? 1 : all >= 0.9995 * size ? 2 : 3;
    return `${value < 0 ? '-' : ''}${(Math.round((all * 10 ** digits) / size) / 10 ** digits).toFixed(digits)} ${unit}`;
}

// Times of many jobs together.
export function longTime(value) {
    if (value === null || value === undefined || value < 7200) return seconds(value);
    const hours = value / 3600;
    return hours < 99.95 ? `${hours.toFixed(1)} h` : `${count(hours)} h`;
}

// A moment, in local time.
export function moment(epoch) {
    if (epoch === null) return unknown;
    const date = new Date(epoch * 1000);
    if (!Number.isFinite(date.getTime())) return unknown;
    const two = (value) => String(value).padStart(2, '0');
    const days = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
    return `${days} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function percent(fraction) {
    if (fraction === null || fraction === undefined) return unknown;
    const tenths = Math.round(fraction * 1000);
    return `${((fraction < 1 ? Math.min(tenths, 999) : tenths) / 10).toFixed(1)} %`; // 99.97 % is not 100 %
}

// No line ends between a number and its unit or noun.
export function unbroken(text) {
    return text.replace(/(\d) (?=[a-z%])/gi, '$1\u00a0');
}

// Sentences: no line ends inside an option (--foo) either. Its hyphens must stay what they are, to be copied.
export function prose(text) {
    return unbroken(text)
        .split(/(?<=^|\s)(--?[a-z][\w=-]*)/)
        .map((part, index) => (index % 2 ? h('span', { class: 'option' }, part) : part));
}

// A command whose lines end between words only.
export function commandWords(text) {
    return text.split(' ').map((word) => h('span', { class: 'word' }, `${word} `));
}

export function count(value) {
    return value === null || value === undefined ? unknown : Math.round(value).toLocaleString('en-US');
}

export function plural(number, one, many = `${one}s`) {
    return `${count(number)} ${number === 1 ? one : many}`;
}

// How many times as large as the second number the first is.
export function times(value, other) {
    const ratio = value / other;
    return `${ratio >= 9.95 ? Math.round(ratio) : ratio.toFixed(1)} times`;
}

// Cuts the middle out of a long name: its ends say more.
export function shorten(name, length = 48) {
    const text = printable(name);
    if (text.length <= length) return text;
    const head = Math.floor((length - 1) / 3);
    return `${text.slice(0, head)}…${text.slice(text.length - (length - 1 - head))}`;
}

// A file in two lines: its name and its folder.
export function path(name, length = 40) {
    const at = name.lastIndexOf('/') + 1;
    if (at === 0 || at === name.length) return h('span', { class: 'path', title: name }, shorten(name, length));
    return h(
        'span',
        { class: 'path', title: name },
        shorten(name.slice(at), length),
        h('span', { class: 'folder' }, shorten(name.slice(0, at), length + 8)),
    );
}

// A command as a shell would take it.
export function commandLine(words) {
    return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}

export function baseName(name) {
    return name.slice(name.lastIndexOf('/') + 1) || name;
}

export const capital = (text) => text[0].toUpperCase() + text.slice(1);

// Ranks as ranges: 0-3, 7.
export function ranges(numbers) {
    const sorted = [...numbers].sort((a, b) => a - b);
    const parts = [];
    for (let at = 0; at < sorted.length;) {
        let end = at;
        while (sorted[end + 1] === sorted[end] + 1) end++;
        parts.push(end > at ? `${sorted[at]}–${sorted[end]}` : `${sorted[at]}`);
        at = end + 1;
    }
    return parts.length > 8 ? `${parts.slice(0, 8).join(', ')} … (${count(numbers.length)})` : parts.join(', ');
}

// UTF-8. Bytes of names that are not UTF-8 arrived as U+DC80 to U+DCFF and become themselves again.
export function toBytes(text) {
    const encoder = new TextEncoder();
    const parts = text.split(/([\udc80-\udcff]+)/u).map((part, index) =>
        index % 2 ? Uint8Array.from(part, (unit) => unit.charCodeAt(0) - 0xdc00) : encoder.encode(part),
    );
    const bytes = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
    let at = 0;
    for (const part of parts) {
        bytes.set(part, at);
        at += part.length;
    }
    return bytes;
}
