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
    return `${value.toFixed(unit ? 1 : 0)} ${units[unit]}`;
}

export function rate(value) {
    return value === null || value === undefined || !Number.isFinite(value) ? unknown : `${bytes(value)}/s`;
}

export function seconds(value) {
    if (value === null || value === undefined) return unknown;
    if (value === 0) return '0 s';
    // Three significant digits: times are not measured better than that.
    let unit = 0;
    for (; Math.abs(value) < 0.9995 && unit < 2; unit++) value *= 1e3;
    const magnitude = Math.abs(value);
    const digits = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : magnitude >= 0.9995 ? 2 : 3;
    return `${value.toFixed(digits)} ${['s', 'ms', 'us'][unit]}`;
}

export function percent(fraction) {
    if (fraction === null || fraction === undefined) return unknown;
    const value = fraction * 100;
    return `${(value < 100 ? Math.floor(value * 10) / 10 : value).toFixed(1)} %`; // rounded down: 99.97 % is not 100 %
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
    return parts.length > 8 ? `${parts.slice(0, 8).join(', ')} … (${numbers.length})` : parts.join(', ');
}
