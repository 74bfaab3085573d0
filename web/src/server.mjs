// The requests of a served page to `ioseer view`. Addresses are relative to that of the page.
import { toBytes } from './format.mjs';
import { argumentsOf, queryOf } from './siteaddress.mjs';

async function ask(address, options = {}) {
    const answer = await fetch(address, { cache: 'no-store', ...options });
    const value = await answer.json().catch(() => ({ error: `status ${answer.status}` }));
    if (!answer.ok) throw Object.assign(new Error(value.error ?? `status ${answer.status}`), { at: value.at, field: value.field });
    return value;
}

// A newer statement of one asker ends the one before; those of others wait for each other.
const askers = crypto.getRandomValues(new Uint32Array(2));

export const pause = (milliseconds) =>
    new Promise((done) => {
        setTimeout(done, milliseconds);
    });

export const askDocument = (log) => ask(`data/${log}`);

// Calls show(document) repeatedly until the whole log has been read.
export async function followDocument(log, show) {
    for (;;) {
        const document = await askDocument(log);
        show(document);
        if (document.pending === undefined) return document;
        await pause(1000);
    }
}

export function serverOf(log) {
    return {
        log,
        tables: () => ask('tables'),
        query: (text) => ask(`query/${log}`, { method: 'POST', body: toBytes(text) }),
        // signal: of an AbortController; asker: 0 or 1.
        sql: (statement, { signal, asker = 0 } = {}) =>
            ask(`sql/${log}?page=${askers[asker]}`, { method: 'POST', body: toBytes(statement), signal }),
        timeline: (from, to, width) =>
            ask(`timeline/${log}?from=${from}&to=${to}&width=${Math.max(50, Math.min(4000, Math.round(width)))}`),
        call: (id, at) => ask(`call/${log}?id=${id}&at=${at}`),
    };
}

// What changes something is a POST. Both answer with the whole state.
export const labServer = {
    state: () => ask('lab'),
    act: (action, body) => ask(`lab/${action}`, { method: 'POST', body: toBytes(JSON.stringify(body)) }),
};

// The answers of `ioseer jobs --json`, for the jobs that a filter (siteaddress.mjs) lets through.
export const siteServer = {
    ask: (question, filter, more = {}, signal = null) => ask(`site/${question}?${queryOf({ ...argumentsOf(filter), ...more })}`, { signal }),
    // Gives the number of the job's log.
    open: (job) => ask(`open/${job}`, { method: 'POST', body: '' }),
};
