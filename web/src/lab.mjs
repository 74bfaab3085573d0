// The lab: a program is set up, run with the recorder, and watched. The state is in the server: this page shows what the
// server says, as every other page does, and may be loaded again at any time.
import { h, replace, section } from './dom.mjs';
import { setupForm } from './labform.mjs';
import { isUnderWay, runTable, runView } from './labrun.mjs';
import { labServer, pause } from './server.mjs';

const typing = 300; // milliseconds until what is typed is kept
const often = 500;
const seldom = 2000;

// openLog(log, beside) shows a log, documentOf(log) is what is known of it, chosen() is the one that is shown.
// onLog(log, name, before) is called once for each log that a run has made; `before` is that of the run before, or null.
export function labSection({ openLog, documentOf, chosen, onLog }) {
    let state = null;
    let timer = null;
    const seen = new Set();
    const view = runView((number) => act('stop', { run: number }));
    const past = runTable({ openLog, documentOf, chosen });
    const lost = h('p', { class: 'note failure', role: 'alert', hidden: true });
    const save = () => {
        clearTimeout(timer);
        timer = setTimeout(() => labServer.act('setup', form.values).catch(() => {}), typing);
    };
    // Whether the server did it.
    const act = async (action, body) => {
        clearTimeout(timer);
        try {
            show(await labServer.act(action, body));
            form.complain(null);
            return true;
        } catch (error) {
            form.complain(error);
            return false;
        }
    };
    const form = setupForm(save, async () => {
        if (await act('run', form.values)) view.element.scrollIntoView({ block: 'start' });
    });

    const show = (next) => {
        const isFirst = state === null;
        state = next;
        form.offer(state.choices);
        if (isFirst) form.values = state.setup;
        form.say(isUnderWay(state.run) && `Run ${state.run.number} is under way; one runs at a time.`);
        view.show(state.run);
        for (const { log, log_name: name } of [...state.runs].reverse()) {
            if (log === null || seen.has(log)) continue;
            seen.add(log);
            const before = state.runs.find((other) => other.log !== null && other.log < log)?.log ?? null;
            onLog(log, name, before);
        }
        past.show(state.runs);
    };

    const follow = async () => {
        for (;;) {
            try {
                show(await labServer.state());
                lost.hidden = true;
            } catch (error) {
                lost.hidden = false;
                replace(lost, `The server does not answer: ${error.message}. If it has ended, so has what it ran.`);
            }
            await pause(isUnderWay(state?.run) ? often : seldom);
        }
    };
    follow();
    return section(
        'lab',
        'Lab',
        h(
            'p',
            { class: 'intro' },
            'Set up a program, run it with the recorder, and look at its log beside the last one. It runs on this machine, as the ' +
                'user who started the server, and ends with the server.',
        ),
        lost,
        form.element,
        view.element,
        past.element,
    );
}
