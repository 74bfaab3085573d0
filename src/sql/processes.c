// The table of processes: one row for each program that a process executed.
#include <errno.h>
#include <string.h>

#include "log/describe.h"
#include "sql/table.h"

enum process_column {
    PROCESS_ROW_RANK,
    PROCESS_ROW_PID,
    PROCESS_ROW_PPID,
    PROCESS_ROW_HOST,
    PROCESS_ROW_WORLD,
    PROCESS_ROW_LOCAL_RANK,
    PROCESS_ROW_PROGRAM,
    PROCESS_ROW_EXE,
    PROCESS_ROW_COMMAND,
    PROCESS_ROW_LAUNCHER,
    PROCESS_ROW_EXIT,
    PROCESS_ROW_EXIT_STATUS,
    PROCESS_ROW_START,
    PROCESS_ROW_END,
    PROCESS_ROW_CPUS,
    PROCESS_ROW_CPU_WAIT,
    PROCESS_ROW_VIA,
    PROCESS_ROW_MEMBERS,
    PROCESS_ROW_RANKS,
    PROCESS_ROW_SLOWEST_RANK,
    PROCESS_ROW_FASTEST_RANK,
    PROCESS_ROW_RUN_TIME,
    PROCESS_ROW_IO_TIME,
    PROCESS_ROW_CALLS,
    PROCESS_ROW_BYTES_READ,
    PROCESS_ROW_BYTES_WRITTEN,
};

static const struct sql_column columns[] = {
    [PROCESS_ROW_RANK] = {"rank", SQL_INTEGER, "in MPI_COMM_WORLD; NULL without MPI"},
    [PROCESS_ROW_PID] = {"pid", SQL_INTEGER, "number of the process"},
    [PROCESS_ROW_PPID] = {"ppid", SQL_INTEGER, "of its parent"},
    [PROCESS_ROW_HOST] = {"host", SQL_TEXT, "where it ran"},
    [PROCESS_ROW_WORLD] = {"world", SQL_INTEGER, "number of the MPI job that the rank belongs to"},
    [PROCESS_ROW_LOCAL_RANK] = {"local_rank", SQL_INTEGER, "rank among those of its host"},
    [PROCESS_ROW_PROGRAM] = {"program", SQL_TEXT, "name of the program, without its folders"},
    [PROCESS_ROW_EXE] = {"exe", SQL_TEXT, "path of the program"},
    [PROCESS_ROW_COMMAND] = {"command", SQL_TEXT, "its arguments, separated by spaces"},
    [PROCESS_ROW_LAUNCHER] = {"launcher", SQL_INTEGER, "1 for mpiexec and the like, else 0"},
    [PROCESS_ROW_EXIT] = {"exit", SQL_TEXT, "clean, _exit, exec, signal N, vanished"},
    [PROCESS_ROW_EXIT_STATUS] = {"exit_status", SQL_INTEGER, "if it exited by itself"},
    [PROCESS_ROW_START] = {"start", SQL_REAL, "seconds since the job's start"},
    [PROCESS_ROW_END] = {"end", SQL_REAL, "seconds since the job's start"},
    [PROCESS_ROW_CPUS] = {"cpus", SQL_INTEGER, "processors that it may run on"},
    [PROCESS_ROW_CPU_WAIT] = {"cpu_wait", SQL_REAL, "seconds in which its main thread waited for a processor"},
    [PROCESS_ROW_VIA] = {"via", SQL_TEXT, "how it was recorded: preload, ptrace, link, import"},
    [PROCESS_ROW_MEMBERS] = {"members", SQL_INTEGER,
                             "processes that the row stands for; the next columns are their sums"},
    [PROCESS_ROW_RANKS] = {"ranks", SQL_TEXT, "of several that have one record together: 0-32767"},
    [PROCESS_ROW_SLOWEST_RANK] = {"slowest_rank", SQL_INTEGER, "of these, the one with the most time in I/O"},
    [PROCESS_ROW_FASTEST_RANK] = {"fastest_rank", SQL_INTEGER, "of these, the one with the least"},
    [PROCESS_ROW_RUN_TIME] = {"run_time", SQL_REAL, "seconds", .has_pass = true},
    [PROCESS_ROW_IO_TIME] = {"io_time", SQL_REAL, "seconds with a call of the program under way", .has_pass = true},
    [PROCESS_ROW_CALLS] = {"calls", SQL_INTEGER, "that the program made itself", .has_pass = true},
    [PROCESS_ROW_BYTES_READ] = {"bytes_read", SQL_INTEGER, "bytes", .has_pass = true},
    [PROCESS_ROW_BYTES_WRITTEN] = {"bytes_written", SQL_INTEGER, "bytes", .has_pass = true},
    {0},
};

enum { FIRST_WITH_PASS = PROCESS_ROW_RUN_TIME };

struct process_rows {
    const char **command, **exit, **ranks; // by index in the log's table; the last NULL but for groups
    const struct summary *summary;
};

static char *join_words(struct arena *arena, const struct log_strings *words) {
    size_t len = 1;
    for (size_t i = 0; i < words->count; i++) len += strlen(words->word[i]) + 1;
    char *text = arena_alloc(arena, len), *at = text;
    for (size_t i = 0; text && i < words->count; i++) at = stpcpy(stpcpy(at, i ? " " : ""), words->word[i]);
    return text;
}

static int make_texts(struct sql_bound *bound) {
    struct arena *arena = sql_arena(bound->sql);
    const struct log *log = sql_log(bound->sql);
    struct process_rows *rows = arena_alloc(arena, sizeof *rows);
    size_t count = log_process_count(log);
    RETURN_IF(!rows, -ENOMEM);
    FORWARD(arena_array(arena, rows->command, count));
    FORWARD(arena_array(arena, rows->exit, count));
    FORWARD(arena_array(arena, rows->ranks, count));
    for (size_t i = 0; i < count; i++) {
        const struct log_process *process = log_process_at(log, i);
        rows->command[i] = join_words(arena, &process->args);
        rows->exit[i] = arena_text(arena, describe_exit(process).text);
        RETURN_IF(!rows->command[i] || !rows->exit[i], -ENOMEM);
        if (process->group && process->has_rank) rows->ranks[i] = arena_text(arena, describe_ranks(process).text);
    }
    bound->data = rows;
    bound->count = count;
    return 0;
}

static int gather(struct sql_bound *bound, uint64_t set) {
    if (!bound->data) FORWARD(make_texts(bound));
    struct process_rows *rows = bound->data;
    bool needs_pass = set << 1 >> 1 >> FIRST_WITH_PASS; // bit 63 stands for no column
    return needs_pass && !rows->summary ? sql_summary(bound->sql, &rows->summary) : 0;
}

static struct sql_value sum_of(const struct summary *summary, const struct log_process *process,
                               enum process_column column) {
    struct summary_row row = {0};
    if (!summary) return SQL_NULL_VALUE;
    summary_row_add(summary, &row, process);
    switch (column) {
    case PROCESS_ROW_RUN_TIME: return sql_seconds(row.run_ns);
    case PROCESS_ROW_IO_TIME: return sql_if(row.io_known, sql_seconds(row.io_ns));
    case PROCESS_ROW_CALLS: return sql_if(row.bytes_known, sql_number(row.calls));
    case PROCESS_ROW_BYTES_READ: return sql_if(row.bytes_known, sql_number(row.bytes[DIRECTION_READ]));
    default: return sql_if(row.bytes_known, sql_number(row.bytes[DIRECTION_WRITE]));
    }
}

static bool has_status(const struct log_process *process) {
    return process->exit == EXIT_CLEAN || process->exit == EXIT_UNDERSCORE;
}

static struct sql_value extreme_of(const struct log_process *process, bool is_most) {
    if (!process->group) return SQL_NULL_VALUE;
    const struct group_spread *io = &process->group->spread[GROUP_IO];
    uint64_t rank = is_most ? io->rank_most : io->rank_least; // + 1
    return sql_if(io->is_known && rank, sql_number(rank - 1));
}

static struct sql_value value_of(const struct process_rows *rows, const struct log_process *process,
                                 enum process_column column) {
    switch (column) {
    case PROCESS_ROW_RANK: return sql_if(process->has_rank && !process->group, sql_integer(process->rank));
    case PROCESS_ROW_PID: return sql_if(process->pid, sql_integer(process->pid));
    case PROCESS_ROW_PPID: return sql_if(process->via != VIA_IMPORT && !process->group, sql_integer(process->ppid));
    case PROCESS_ROW_HOST: return sql_text(process->host);
    case PROCESS_ROW_WORLD: return sql_if(process->has_rank, sql_integer(process->world));
    case PROCESS_ROW_LOCAL_RANK: return sql_if(process->local_rank >= 0, sql_integer(process->local_rank));
    case PROCESS_ROW_PROGRAM: return sql_text(summary_program(process));
    case PROCESS_ROW_EXE: return sql_text(process->exe);
    case PROCESS_ROW_COMMAND: return sql_text(rows->command[process->index]);
    case PROCESS_ROW_LAUNCHER: return sql_integer(process->is_launcher);
    case PROCESS_ROW_EXIT: return sql_if(process->via != VIA_IMPORT, sql_text(rows->exit[process->index]));
    case PROCESS_ROW_EXIT_STATUS: return sql_if(has_status(process), sql_integer(process->exit_value));
    case PROCESS_ROW_START: return sql_seconds(process->start_ns);
    case PROCESS_ROW_END: return sql_if(process->has_end, sql_seconds(process->end_ns));
    case PROCESS_ROW_CPUS: return sql_if(process->cpus, sql_number(process->cpus));
    case PROCESS_ROW_CPU_WAIT: return sql_if(process->cpu_wait_known, sql_seconds(process->cpu_wait_ns));
    case PROCESS_ROW_VIA: return sql_text(describe_via(process->via));
    case PROCESS_ROW_MEMBERS: return sql_number(log_process_members(process));
    case PROCESS_ROW_RANKS: return sql_text(rows->ranks[process->index]);
    case PROCESS_ROW_SLOWEST_RANK: return extreme_of(process, true);
    case PROCESS_ROW_FASTEST_RANK: return extreme_of(process, false);
    default: return sum_of(rows->summary, process, column);
    }
}

static void value(const struct sql_bound *bound, size_t row, unsigned column, struct sql_value *out) {
    *out = value_of(bound->data, log_process_at(sql_log(bound->sql), row), (enum process_column)column);
}

const struct sql_table sql_table_processes = {
    .about = {"processes", "each program that a process of the job executed", columns},
    .gather = gather,
    .value = value,
};
