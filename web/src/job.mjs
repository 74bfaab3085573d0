// The job: how it was run, its processes, what was lost.
import { axis, figure, legend, timeScale, tip, tooltip } from './chart.mjs';
import { h, section } from './dom.mjs';
import { bytes, commandLine, commandWords, count, percent, plural, seconds, unknown } from './format.mjs';
import { facts, table } from './table.mjs';
import { colour, seriesColour } from './theme.mjs';

const parts = [
    ['io', 'I/O', 0],
    ['communication', 'communication', 3],
    ['rest', 'everything else', null],
];

function buildTimes(ranks) {
    return {
        grid: { left: 64, right: 24, top: 34, bottom: 28 },
        legend: legend({ data: parts.map(([, word]) => word) }),
        tooltip: tooltip({
            trigger: 'axis',
            axisPointer: { type: 'shadow' },
            formatter: ([{ dataIndex }]) =>
                tip(rankName(ranks[dataIndex]), [
                    ...parts.map(([key, word]) => [word, seconds(ranks[dataIndex][key])]),
                    ['run time', seconds(ranks[dataIndex].run)],
                ]),
        }),
        xAxis: axis({
            type: 'value',
            axisLine: { show: false },
            ...timeScale(Math.max(...ranks.map(({ run }) => run))),
        }),
        yAxis: axis({
            type: 'category',
            inverse: true,
            data: ranks.map(rankName),
            splitLine: { show: false },
        }),
        series: parts.map(([key, name, index]) => ({
            type: 'bar',
            name,
            stack: 'time',
            barMaxWidth: 20,
            data: ranks.map((rank) => rank[key]),
            itemStyle: { color: index === null ? colour('line-strong') : seriesColour(index) },
        })),
    };
}

// Many ranks that are alike have one entry, with their means.
function rankName({ rank, members }) {
    return rank === null ? `mean of ${members} ranks` : `rank ${rank}`;
}

function timesFigure(ranks) {
    if (!ranks?.length) return null;
    if (ranks.some(({ io, communication }) => io === null || communication === null))
        return [h('h3', {}, 'Time of each rank'), h('p', { class: 'quiet' }, 'Not known: the log does not say how long ranks communicated.')];
    const sum = (key) => ranks.reduce((total, rank) => total + rank[key] * rank.members, 0);
    const share = (key) => percent(sum('run') > 0 ? sum(key) / sum('run') : 0);
    return figure({
        id: 'times',
        title: 'Time of each rank',
        message:
            `${share('io')} in I/O, ${share('communication')} in communication, ` +
            `${share('rest')} in everything else.`,
        height: Math.min(700, 76 + ranks.length * (ranks.length > 24 ? 14 : 20)),
        build: () => buildTimes(ranks),
    }).element;
}

// Darshan's logs are read by ioseer, and recorded by Darshan.
function recorder({ job, import: origin }) {
    return origin ? `${origin.program}, in version ${origin.version} of its format` : `ioseer ${job.version}`;
}

function jobFacts(info) {
    const { job } = info;
    return facts([
        ['Command', h('code', {}, commandWords(commandLine(job.command)))],
        ['Directory', job.cwd && h('code', {}, job.cwd)],
        ['Started', new Date(job.start * 1000).toLocaleString('en-GB', { dateStyle: 'long', timeStyle: 'medium' })],
        ['Run time', seconds(job.end - job.start)],
        ['Host', job.host_count > 1 ? `${job.host} and ${count(job.host_count - 1)} more` : job.host],
        ['MPI', job.mpi],
        ['Ranks', job.mpi ? count(job.nprocs) : null],
        ['Job', job.id],
        ['Exit status', job.exit_status === null ? 'not known' : String(job.exit_status)],
        ['Recorded by', recorder(info)],
    ]);
}

function coverageTable({ coverage }) {
    if (!coverage) return null;
    const rows = [];
    const add = (direction, reason, moved, what) => rows.push({ direction, reason, moved, what });
    for (const direction of ['read', 'write']) {
        add(direction, 'in this log', coverage[`captured_${direction}`], 'recorded');
        const uncounted = coverage[`uncounted_${direction}`];
        if (uncounted)
            add(direction, 'asynchronously: the kernel does not count these, so no share above contains them', uncounted, 'recorded');
    }
    for (const { direction, reason, bytes: moved } of coverage.left_out ?? [])
        add(direction, reason, moved, 'left out');
    for (const { direction, reason, bytes: moved } of coverage.unseen ?? []) add(direction, reason, moved, 'not seen');
    return [
        h('h3', {}, 'Coverage'),
        h(
            'p',
            {},
            coverage.read === null && coverage.write === null
                ? 'How many bytes the recorder should have seen is not known.'
                : `Of the bytes that the recorder should see, this log has ${percent(coverage.read)} of those read and ` +
                      `${percent(coverage.write)} of those written.`,
        ),
        table(
            [
                {
                    title: 'Bytes',
                    number: true,
                    cell: ({ moved }) => (moved === null ? 'not known' : bytes(moved)),
                    value: ({ moved }) => moved,
                },
                {
                    title: 'Direction',
                    cell: ({ direction }) => (direction === 'read' ? 'read' : 'written'),
                    value: ({ direction }) => direction,
                },
                { title: 'In the log', cell: ({ what }) => what, value: ({ what }) => what },
                { title: 'Reason', cell: ({ reason }) => reason },
            ],
            rows,
            { caption: 'Bytes that were recorded, left out, and not seen' },
        ).element,
    ];
}

function lossesOf(job) {
    const damage =
        job.damage === null
            ? 'No damage.'
            : Object.entries(job.damage)
                  .filter(([, value]) => value)
                  .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${value === true ? 'yes' : count(value)}`)
                  .join(', ');
    return [
        h('h3', {}, 'Losses'),
        h(
            'p',
            {},
            `${plural(job.events, 'event')}, ${job.lost_events ? count(job.lost_events) : 'none'} lost. ${damage}`,
        ),
        job.losses?.length > 0 &&
            table(
                [
                    { title: 'Reason', cell: ({ reason }) => reason },
                    {
                        title: 'Events',
                        number: true,
                        cell: ({ events }) => count(events),
                        value: ({ events }) => events,
                    },
                    { title: 'Bytes', number: true, cell: (loss) => bytes(loss.bytes), value: (loss) => loss.bytes },
                    { title: 'Process', cell: ({ pid }) => (pid === null ? 'the whole job' : `PID ${pid}`) },
                    { title: 'Note', cell: ({ text }) => text ?? '' },
                ],
                job.losses,
                { caption: 'Losses' },
            ).element,
    ];
}

function ending({ exit, exit_status: status }) {
    return status ? `${exit}, status ${status}` : exit;
}

function rankCell({ rank, group }) {
    if (rank !== null) return String(rank);
    return group ? group.ranks.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(', ') : '';
}

function processTable(processes) {
    const number = (title, key, text) => ({
        title,
        number: true,
        cell: (process) => text(process[key]),
        value: (process) => process[key],
    });
    const hasRanks = processes.some(({ rank, group }) => rank !== null || group?.ranks.length);
    return [
        h('h3', {}, 'Processes'),
        table(
            [
                {
                    title: 'Program',
                    heading: true,
                    cell: ({ program }) => h('span', { class: 'call-name' }, program),
                    value: ({ program }) => program,
                },
                ...(hasRanks ? [{ ...number('Rank', 'rank'), cell: rankCell }] : []),
                number('PID', 'pid', (pid) => (pid === null ? unknown : String(pid))),
                number('Run time', 'run_time', seconds),
                number('In I/O', 'io_time', seconds),
                number('Of its run time', 'share', percent),
                number('Read', 'bytes_read', bytes),
                number('Written', 'bytes_written', bytes),
                number('Calls', 'calls', count),
                { title: 'End', cell: ending, value: ending },
                {
                    title: 'Command',
                    cell: ({ command, launcher }) => [
                        h('code', { class: 'clip', title: commandLine(command ?? []) }, commandWords(commandLine(command ?? []))),
                        launcher && h('span', { class: 'mark' }, 'launcher'),
                    ],
                },
            ],
            processes,
            { caption: 'Processes, the most time in I/O first; shares are of their own run time', first: 10 },
        ).element,
    ];
}

// MPI hints: one row per file and set in force.
function hintsOf(files) {
    const rows = files.flatMap((file) =>
        (file.mpi?.hints ?? []).flatMap(({ hints }) => [
            ...Object.entries(hints.asked ?? {}).map(([name, value]) => ({
                file: file.name,
                name,
                value,
                kind: 'asked for',
            })),
            ...Object.entries(hints.in_force ?? {}).map(([name, value]) => ({
                file: file.name,
                name,
                value,
                kind: 'in force',
            })),
        ]),
    );
    if (rows.length === 0) return null;
    return h(
        'details',
        {},
        h('summary', {}, `MPI hints (${count(rows.length)})`),
        table(
            [
                { title: 'Hint', heading: true, cell: ({ name }) => h('code', {}, name), value: ({ name }) => name },
                { title: 'Value', cell: ({ value }) => h('code', {}, value), value: ({ value }) => value },
                { title: 'Kind', cell: ({ kind }) => kind, value: ({ kind }) => kind },
                { title: 'File', cell: ({ file }) => h('span', { class: 'path' }, file), value: ({ file }) => file },
            ],
            rows,
            { caption: 'MPI hints', first: 40 },
        ).element,
    );
}

function settingsOf(settings) {
    if (!settings?.length) return null;
    const text = (setting) =>
        typeof setting === 'string'
            ? setting
            : Object.values(setting)
                  .filter((value) => value !== null)
                  .join(' = ');
    return h(
        'details',
        {},
        h('summary', {}, `Environment and settings (${count(settings.length)})`),
        h(
            'ul',
            { class: 'settings' },
            settings.map((setting) => h('li', {}, h('code', {}, text(setting)))),
        ),
    );
}

function devicesOf(devices) {
    if (!devices?.length) return null;
    return [
        h('h3', {}, 'Devices'),
        table(
            [
                { title: 'Device', heading: true, cell: ({ name }) => name, value: ({ name }) => name },
                { title: 'Host', cell: ({ host }) => host, value: ({ host }) => host },
                {
                    title: 'Read',
                    number: true,
                    cell: (device) => bytes(device.bytes_read),
                    value: (device) => device.bytes_read,
                },
                {
                    title: 'Written',
                    number: true,
                    cell: (device) => bytes(device.bytes_written),
                    value: (device) => device.bytes_written,
                },
                {
                    title: 'Busy',
                    number: true,
                    cell: ({ utilisation }) => percent(utilisation),
                    value: ({ utilisation }) => utilisation,
                },
                {
                    title: 'Requests in progress',
                    number: true,
                    cell: ({ queue }) => queue?.toFixed(1) ?? '–',
                    value: ({ queue }) => queue,
                },
            ],
            devices,
            { caption: 'What the whole machine did on these devices while the job ran', captionShown: true },
        ).element,
    ];
}

function mountsOf(mounts) {
    if (!mounts?.length) return null;
    const text = (title, key) => ({ title, cell: (mount) => mount[key] ?? '–', value: (mount) => mount[key] });
    const path = (title, key) => ({
        ...text(title, key),
        cell: (mount) => h('span', { class: 'path' }, mount[key] ?? '–'),
    });
    return [
        h('h3', {}, 'File systems'),
        table(
            [
                { ...path('Mounted at', 'point'), heading: true },
                text('Type', 'type'),
                path('Source', 'source'),
                path('Options', 'options'),
                text('Host', 'host'),
            ],
            mounts,
            { caption: 'The file systems that the job used' },
        ).element,
    ];
}

export function jobSection(document) {
    const { job } = document;
    return section(
        'job',
        'Job, environment, losses',
        jobFacts(job),
        timesFigure(job.ranks),
        lossesOf(job),
        coverageTable(job),
        mountsOf(job.mounts),
        devicesOf(job.devices),
        processTable(job.busiest),
        hintsOf(job.files ?? []),
        settingsOf(job.settings),
    );
}
