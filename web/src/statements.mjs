// The statement of SQL behind a finding: the calls that it is about, to look further.

const transfers = "class IN ('read', 'write')";
const requests = `layer IN ('posix', 'stdio') AND ${transfers}`;
const quoted = (text) => `'${text.replaceAll("'", "''")}'`;

// Each of these gets the conditions on files, which may be empty.
const calls = (condition, order = 'start') => (files) =>
    `SELECT id, rank, pid, op, file, offset, size, start, duration\nFROM events\nWHERE ${condition}${files}\nORDER BY ${order} LIMIT 1000`;
const sums = (columns, condition) => (files) =>
    `SELECT ${columns}, count(*) AS calls, sum(size) AS bytes, sum(duration) AS seconds\nFROM events\nWHERE ${condition}${files}\n` +
    `GROUP BY ${columns}\nORDER BY seconds DESC LIMIT 1000`;
const repeated = (kind) => (files) =>
    `SELECT file, offset, count(*) AS calls, sum(size) AS bytes, sum(duration) AS seconds\nFROM events\n` +
    `WHERE layer IN ('posix', 'stdio') AND class = '${kind}'${files}\nGROUP BY file, offset HAVING calls > 1\n` +
    'ORDER BY bytes DESC LIMIT 1000';
const processes = () =>
    'SELECT rank, pid, io_time, run_time, cpu_wait, calls, bytes_read, bytes_written\nFROM processes\nWHERE NOT launcher\n' +
    'ORDER BY io_time DESC';
const library = sums('op, object', "layer IN ('hdf5', 'pnetcdf', 'netcdf')");
const collective = calls("layer = 'mpiio' AND collective");

const statements = {
    failed: sums('op, error, file', 'errno != 0'),
    processors: processes,
    'overloaded-server': () =>
        'SELECT id, calls, busy, share, latency_mean, latency_max, throughput, overload, lost\nFROM servers\nORDER BY busy DESC',
    'data-sieving': sums('file, class', requests),
    'fill-values': library,
    filters: library,
    chunks: library,
    'shared-metadata': library,
    'library-metadata': library,
    'read-modify-write': calls(requests, 'pid, start'),
    'one-rank': processes,
    'slow-rank': processes,
    waiting: processes,
    'slow-file': sums('file, class', requests),
    contention: sums('file, class, pid', requests),
    syncs: sums('file, pid, op', "class = 'sync'"),
    opens: sums('file, pid, op', "class = 'open'"),
    stats: sums('file, pid, op', "op GLOB '*stat*'"),
    'read-again': repeated('read'),
    'written-again': repeated('write'),
    unaligned: (files) =>
        'SELECT id, rank, pid, op, file, offset, size, block_size, start, duration\nFROM events JOIN files ON files.name = file\n' +
        `WHERE ${requests} AND (offset % block_size OR (offset + size) % block_size)${files}\nORDER BY start LIMIT 1000`,
    'read-write-switching': calls(requests, 'pid, start'),
    random: calls(requests, 'pid, start'),
    independent: sums('file, class, size', requests),
    'small-requests': sums('file, class, size', `${requests} AND size < 65536`),
    metadata: sums('op', "class IN ('open', 'close', 'meta')"),
    'collective-wait': collective,
    collective,
};

// null for a finding that has none.
export function statementOf({ id, evidence }) {
    const files = [...new Set(evidence.map(({ file }) => file).filter(Boolean))].slice(0, 20);
    const condition = files.length > 0 ? ` AND file IN (${files.map(quoted).join(', ')})` : '';
    return statements[id]?.(condition) ?? null;
}
