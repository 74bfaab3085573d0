// The findings, the most severe first.
import { bar, button, h, section } from './dom.mjs';
import { commandWords, count, percent, prose, ranges, seconds, shorten, unbroken } from './format.mjs';
import { lacksTrace, needsTrace } from './names.mjs';
import { statementOf } from './statements.mjs';

const severities = { high: 'High', medium: 'Medium', low: 'Low' };

// A page opened from disk may not use the asynchronous clipboard. Then the command is selected instead.
async function copy(text, from, place) {
    let done = false;
    try {
        await navigator.clipboard.writeText(text);
        done = true;
    } catch {
        const range = document.createRange();
        range.selectNodeContents(place);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        done = document.execCommand('copy');
    }
    from.textContent = done ? 'Copied' : 'Selected';
    setTimeout(() => {
        from.textContent = 'Copy';
    }, 1500);
}

export function command(text) {
    const code = h('code', {}, commandWords(text));
    const copier = button('Copy', () => copy(text, copier, code), { class: 'copy', 'aria-label': 'Copy the command' });
    return h('div', { class: 'command' }, code, copier);
}

function evidence(item, actions) {
    const marks = [
        item.phase !== null &&
            item.phase !== undefined &&
            button(`phase ${item.phase}`, () => actions.showPhase(item.phase), { class: 'mark' }),
        item.file &&
            button(shorten(item.file, 40), () => actions.showFile(item.file), { class: 'mark', title: item.file }),
        item.ranks?.length > 0 &&
            h('span', { class: 'mark' }, `${item.ranks.length === 1 ? 'rank' : 'ranks'} ${ranges(item.ranks)}`),
        item.line && h('span', { class: 'mark code' }, item.line),
    ].filter(Boolean);
    return h('li', {}, prose(item.text), marks.length > 0 && h('span', { class: 'marks' }, marks));
}

// Only a server can answer it.
function question(finding, { server, actions }) {
    const statement = server && statementOf(finding);
    return statement && h('div', { class: 'more' }, button('Ask in SQL', () => actions.showSql(statement), { class: 'link' }));
}

function card(finding, index, shared) {
    return h(
        'article',
        { class: `finding ${finding.severity}`, id: `finding-${index}`, 'data-id': finding.id },
        h(
            'header',
            {},
            h(
                'div',
                { class: 'finding-title' },
                h('span', { class: 'severity' }, severities[finding.severity] ?? finding.severity),
                h('h3', {}, unbroken(finding.title)),
            ),
            h(
                'div',
                { class: 'stake' },
                // Some findings are about the run and not about a time.
                finding.seconds > 0 && [
                    h('strong', {}, unbroken(seconds(finding.seconds))),
                    h('span', {}, unbroken(`${percent(finding.share)} of the run time`)),
                    bar([[finding.share, 'part-stake']]),
                ],
            ),
        ),
        h(
            'ul',
            { class: 'evidence' },
            finding.evidence.map((item) => evidence(item, shared.actions)),
        ),
        h(
            'dl',
            { class: 'why' },
            finding.basis &&
                finding.seconds > 0 && [h('dt', {}, 'Measured as'), h('dd', {}, unbroken(finding.basis))],
            h('dt', {}, 'Why'),
            h('dd', {}, prose(finding.reason)),
            h('dt', {}, 'What to do'),
            h('dd', { class: 'advice' }, prose(finding.advice)),
            finding.gain && [h('dt', {}, 'Predicted'), h('dd', { class: 'gain' }, prose(finding.gain))],
            finding.command && [h('dt', {}, 'To check'), h('dd', {}, command(finding.command), question(finding, shared))],
        ),
    );
}

const firstShown = 6;

export function findingsSection(document, shared) {
    const findings = document.findings ?? [];
    if (findings.length === 0) {
        return section(
            'findings',
            'Findings',
            h('p', { class: 'quiet' }, lacksTrace(document) ? needsTrace('findings') : 'Nothing stands out: no known pattern costs time here.'),
        );
    }
    const cards = findings.map((finding, index) => card(finding, index, shared));
    const rest = cards.slice(firstShown);
    return section(
        'findings',
        'Findings',
        h('p', { class: 'intro' }, 'Ordered by severity and the time at stake; no second is in two findings.'),
        cards.slice(0, firstShown),
        rest.length > 0 &&
            h('details', { class: 'rest' }, h('summary', {}, `${count(rest.length)} more, with less time at stake`), rest),
    );
}
