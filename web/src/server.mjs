// The requests of a served page to `ioseer view`. Addresses are relative to that of the page.

async function ask(address) {
    const answer = await fetch(address, { cache: 'no-store' });
    const value = await answer.json().catch(() => ({ error: `status ${answer.status}` }));
    if (!answer.ok) throw new Error(value.error ?? `status ${answer.status}`);
    return value;
}

const pause = (milliseconds) =>
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
        timeline: (from, to, width) =>
            ask(`timeline/${log}?from=${from}&to=${to}&width=${Math.max(50, Math.min(4000, Math.round(width)))}`),
        call: (id, at) => ask(`call/${log}?id=${id}&at=${at}`),
    };
}
