// One name for one process in all sections: its rank, or without MPI its program and PID.
import { baseName } from './format.mjs';

// A log that another program made may have counters only.
export const lacksTrace = ({ job }) => !job.job.trace;
export const needsTrace = (what) => `Not known: ${what} come from a trace, and this log has none.`;

export function processNames(document) {
    const { processes, job } = document;
    const programs = new Map((job.busiest ?? []).map(({ pid, program }) => [pid, baseName(program)]));
    for (const [pid, program] of processes ?? []) programs.set(pid, program);
    const of = ({ rank, pid }) => (rank === null ? `${programs.get(pid) ?? 'process'} ${pid}` : `rank ${rank}`);
    return {
        of,
        word: job.job.mpi ? 'rank' : 'process',
        words: job.job.mpi ? 'ranks' : 'processes',
        // The place of a process in a chart: its rank, or its place in the order in which the processes started.
        at: (place) =>
            processes ? of({ rank: null, pid: processes[place]?.[0] ?? place }) : of({ rank: place, pid: null }),
    };
}
