// What the page of a site shows, as its address says it: ?user=ada&since=2026-11-01, or ?job=12&job=15. So each view has a
// link, and the browser's Back works. Dates are days in UTC, as the months of the catalogue are.
import { toBytes } from './format.mjs';

export const filterKeys = ['user', 'program', 'fs', 'finding', 'since', 'until'];
const day = /^\d{4}-\d\d-\d\d$/;

// Names are bytes: those that are not UTF-8 become themselves again, which encodeURIComponent cannot do.
export function encode(text) {
    return Array.from(toBytes(text), (byte) => {
        const character = String.fromCharCode(byte);
        return /[\w.~-]/.test(character) ? character : `%${byte.toString(16).padStart(2, '0')}`;
    }).join('');
}

function decodeRun(run) {
    try {
        return decodeURIComponent(run);
    } catch {
        return run.replace(/%(..)/g, (_, hex) => {
            const byte = Number.parseInt(hex, 16);
            return String.fromCharCode(byte < 0x80 ? byte : 0xdc00 + byte);
        });
    }
}

const decode = (text) => text.replace(/\+/g, ' ').replace(/(%[\da-f]{2})+/gi, decodeRun);

function pairs(search) {
    return search
        .slice(1)
        .split('&')
        .filter(Boolean)
        .map((pair) => {
            const at = pair.indexOf('=');
            return at < 0 ? [pair, ''] : [pair.slice(0, at), decode(pair.slice(at + 1))];
        });
}

export function filterOf(search) {
    const found = Object.fromEntries(pairs(search).filter(([key, value]) => filterKeys.includes(key) && value !== ''));
    for (const key of ['since', 'until']) if (found[key] && !day.test(found[key])) delete found[key];
    return found;
}

// At most two.
export function jobsOf(search) {
    const numbers = pairs(search).filter(([key, value]) => key === 'job' && /^\d{1,10}$/.test(value));
    return [...new Set(numbers.map(([, value]) => Number(value)))].slice(0, 2);
}

export function queryOf(values) {
    const known = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== '');
    return known.map(([key, value]) => `${key}=${encode(String(value))}`).join('&');
}

export const secondsOf = (date, days = 0) => Date.parse(`${date}T00:00:00Z`) / 1000 + days * 86400;
export const dateOf = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10);

// As the server takes it: both days belong to the time that is meant.
export function argumentsOf({ since, until, ...names }) {
    return { ...names, since: since && secondsOf(since), until: until && secondsOf(until, 1) };
}
