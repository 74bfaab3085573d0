// What a served page asks `ioseer view` for. Addresses are relative to the page's own.

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

// Calls show(document) again and again until all of the log has been read.
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
