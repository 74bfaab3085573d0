// The processes: how the ranks spent their time, and the application's I/O in a few numbers.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "summary/summary.h"

// --- while the events are read, several processes at a time

// An asynchronous request counts only its time inside calls.
void summary_busy_add(struct summary_busy *busy, const struct log_event *event) {
    int64_t end_ns = event->start_ns + event->duration_ns;
    if (event->call->traits & CALL_ASYNC) {
        busy->ns += log_event_call_ns(event);
    } else if (end_ns > busy->until_ns) {
        busy->ns += end_ns - (event->start_ns < busy->until_ns ? busy->until_ns : event->start_ns);
        busy->until_ns = end_ns;
    }
}

void summary_job_add(struct summary *summary, const struct log_event *event) {
    if (event->process->is_launcher || event->has_parent || event->process->counts_all) return;
    summary_busy_add(&summary->job, event);
}

// A call made inside another is part of it.
static void add_time(struct summary_process *process, const struct log_event *event) {
    int64_t end_ns = event->start_ns + event->duration_ns;
    if (end_ns > process->last_end_ns) process->last_end_ns = end_ns;
    if (event->has_parent || event->process->via == VIA_IMPORT) return; // the counters have all
    process->calls++;
    if (!event->process->counts_all) summary_busy_add(&process->io, event);
}

static void add_bytes(struct summary_process *process, const struct log_event *event) {
    unsigned direction = event->call->class == CLASS_WRITE ? DIRECTION_WRITE : DIRECTION_READ;
    if (event->moves) process->bytes[direction] += log_event_bytes(event);
    bool is_uncounted = event->call->traits & CALL_UNCOUNTED && event->call->layer == LAYER_POSIX;
    if (is_uncounted && log_class_moves(event->call->class) && !event->raw.error)
        process->uncounted[direction] += log_event_bytes(event);
}

static int add_events(void *state, const struct log_event *event, size_t count) {
    struct summary_process *process = state;
    for (size_t i = 0; i < count; i++) {
        add_time(process, &event[i]);
        if (!event[i].process->counts_all) add_bytes(process, &event[i]);
        if (process->summary->rank_count) FORWARD(mpi_files_add(&process->summary->mpi_files, &event[i]));
    }
    return 0;
}

static int add_comm(void *state, const struct log_comm *comm, size_t count) {
    struct summary_process *process = state;
    for (size_t i = 0; i < count; i++) process->comm_ns += comm[i].time_ns;
    return 0;
}

static int begin(void *context, const struct log_process *process, void **state) {
    struct summary *summary = context;
    *state = &summary->process[log_process_index(summary->log, process)];
    return 0;
}

// Ranks by world and rank, then the others in the order of the log's table.
static int compare_processes(const void *a, const void *b) {
    const struct log_process *left = *(const struct log_process *const *)a;
    const struct log_process *right = *(const struct log_process *const *)b;
    int order = log_process_compare(left, right);
    return order ? order : left < right ? -1 : left > right;
}

int summary_begin_processes(struct summary *summary, struct log_consumer *consumer) {
    size_t count = log_process_count(summary->log);
    summary->process = calloc(count + 1, sizeof *summary->process);
    summary->processes = calloc(count + 1, sizeof *summary->processes);
    summary->ranks = calloc(count + 1, sizeof *summary->ranks);
    RETURN_IF(!summary->process || !summary->processes || !summary->ranks, -ENOMEM);
    FORWARD(log_images_find(&summary->images, summary->log));
    for (size_t i = 0; i < count; i++) {
        summary->process[i].summary = summary;
        summary->processes[i] = log_process_at(summary->log, i);
        summary->rank_count += summary->processes[i]->has_rank;
        if (summary->processes[i]->has_rank) summary->rank_total += log_process_members(summary->processes[i]);
    }
    qsort(summary->processes, count, sizeof *summary->processes, compare_processes);
    *consumer = (struct log_consumer){
        .context = summary, .begin = begin, .events = add_events, .comm = summary->rank_count ? add_comm : NULL};
    return 0;
}

// --- afterwards

static const struct summary_process *own_of(const struct summary *summary, const struct log_process *process) {
    return &summary->process[log_process_index(summary->log, process)];
}

static int64_t end_of(const struct summary *summary, const struct log_process *process) {
    int64_t job_end_ns = log_run_ns(summary->log), last_ns = own_of(summary, process)->last_end_ns;
    return process->has_end ? process->end_ns : job_end_ns > last_ns ? job_end_ns : last_ns;
}

static int64_t io_of(const struct summary *summary, const struct log_process *process) {
    return own_of(summary, process)->io.ns + process->io_ns;
}

static bool knows_io(const struct summary *summary, const struct log_process *process) {
    return !summary->imported.is_shared && (process->io_known || !process->trace_ended);
}

static struct summary_rank rank_of(const struct summary *summary, const struct log_process *process) {
    int64_t members = (int64_t)log_process_members(process);
    int64_t run_ns = log_process_run_ns(process, end_of(summary, process)) / members;
    int64_t io_ns = io_of(summary, process) / members, comm_ns = own_of(summary, process)->comm_ns / members;
    // Threads may do I/O and communicate at the same time.
    int64_t rest_ns = run_ns > io_ns + comm_ns ? run_ns - io_ns - comm_ns : 0;
    return (struct summary_rank){.process = process,
                                 .comm_known =
                                     !summary->imported.is_there && (process->io_known || !process->trace_ended),
                                 .known = knows_io(summary, process),
                                 .ns = {run_ns, io_ns, comm_ns, rest_ns}};
}

int64_t summary_rank_extreme(const struct summary_rank *rank, enum rank_time time, bool is_most) {
    static const enum group_time times[RANK_TIMES] = {
        [RANK_RUN] = GROUP_RUN, [RANK_IO] = GROUP_IO, [RANK_COMMUNICATION] = GROUP_COMM, [RANK_REST] = GROUP_TIMES};
    const struct log_group *group = rank->process->group;
    if (!group || times[time] == GROUP_TIMES || !group->spread[times[time]].is_known) return rank->ns[time];
    return is_most ? group->spread[times[time]].most : group->spread[times[time]].least;
}

bool summary_counts_process(const struct log *log, const struct log_process *process) {
    return !process->is_launcher && (process->has_rank || !log_world_count(log));
}

const char *summary_program(const struct log_process *process) {
    const char *path = process->exe ? process->exe : process->args.count ? process->args.word[0] : "unknown";
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

// --- rows: processes with all their programs

static int add_untraced(const struct log_stats_record *record, void *context) {
    struct summary *summary = context;
    if (record->is_added_up) return 0; // each process has its sum
    uint64_t *bytes = summary->process[log_process_index(summary->log, record->process)].untraced[record->layer];
    bytes[DIRECTION_READ] += record->counters.value[COUNTER_BYTES_READ];
    bytes[DIRECTION_WRITE] += record->counters.value[COUNTER_BYTES_WRITTEN];
    return 0;
}

// MPI-IO moves its bytes through POSIX; stdio moves its own.
static uint64_t bytes_of(const struct summary_process *own, unsigned direction) {
    uint64_t mpiio = own->untraced[LAYER_MPIIO][direction], posix = own->untraced[LAYER_POSIX][direction];
    return own->bytes[direction] + own->untraced[LAYER_STDIO][direction] + (mpiio > posix ? mpiio : posix);
}

void summary_row_add(const struct summary *summary, struct summary_row *row, const struct log_process *image) {
    const struct summary_process *own = own_of(summary, image);
    // A process that leaves its launcher by an exec begins there.
    if (row->images && row->process->is_launcher && !image->is_launcher) row->images = 0;
    if (!row->images++) *row = (struct summary_row){.process = image, .images = 1, .io_known = true};
    if (io_of(summary, image) >= io_of(summary, row->process)) row->process = image;
    row->last = image;
    row->members = log_process_members(image);
    row->run_ns += log_process_run_ns(image, end_of(summary, image));
    row->io_ns += io_of(summary, image);
    row->io_known = row->io_known && knows_io(summary, image);
    row->bytes_known = !summary->imported.is_shared;
    row->calls += own->calls;
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++)
        row->bytes[direction] += bytes_of(own, direction);
    row->counts = row->counts || summary_counts_process(summary->log, image);
}

double summary_row_share(const struct summary_row *row) {
    double share = row->run_ns > 0 ? (double)row->io_ns / (double)row->run_ns : 0;
    return share < 1 ? share : 1;
}

static int compare_rows(const void *a, const void *b) {
    const struct summary_row *left = a, *right = b;
    if (left->counts != right->counts) return left->counts ? -1 : 1;
    if (left->process->is_launcher != right->process->is_launcher) return left->process->is_launcher ? 1 : -1;
    if (left->io_ns != right->io_ns) return left->io_ns > right->io_ns ? -1 : 1;
    return left->process < right->process ? -1 : 1;
}

static void add_reduced(struct summary *summary) {
    for (size_t i = 0; i < log_process_count(summary->log); i++) {
        const struct log_process *process = log_process_at(summary->log, i);
        for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
            uint64_t *bytes = summary->process[i].untraced[layer];
            for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++)
                bytes[direction] += process->reduced_bytes[layer][direction];
        }
    }
}

static int make_rows(struct summary *summary) {
    const struct log_images *images = &summary->images;
    size_t count = log_process_count(summary->log);
    summary->rows = calloc(count + 1, sizeof *summary->rows);
    RETURN_IF(!summary->rows, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        const struct log_process *image = images->image[i];
        summary->row_count += images->first[image->index] == image->index;
        summary_row_add(summary, &summary->rows[summary->row_count - 1], image);
    }
    qsort(summary->rows, summary->row_count, sizeof *summary->rows, compare_rows);
    return 0;
}

// --- totals

// What follows the end of a trace is known per process only: the job's time has at least the longest of these.
static int64_t job_io(const struct summary *summary) {
    int64_t untraced_ns = 0;
    for (size_t i = 0; i < log_process_count(summary->log); i++) {
        const struct log_process *process = log_process_at(summary->log, i);
        if (summary_counts_process(summary->log, process) && process->io_ns > untraced_ns) untraced_ns = process->io_ns;
    }
    return summary->job.ns + untraced_ns;
}

int64_t summary_row_most_io_ns(const struct summary_row *row) {
    return row->process->group ? row->process->group->spread[GROUP_IO].most : row->io_ns;
}

static void add_totals(struct summary *summary) {
    struct summary_totals *totals = &summary->totals;
    double sum_ns = 0;
    for (size_t i = 0; i < summary->row_count; i++) {
        const struct summary_row *row = &summary->rows[i];
        bool did_io = row->counts && (row->calls || row->io_ns);
        if (row->process->is_launcher) continue;
        for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++)
            totals->bytes[direction] += row->bytes[direction];
        totals->calls += row->calls;
        if (did_io) totals->processes += row->members;
        if (row->counts) sum_ns += (double)row->io_ns;
        bool is_busiest = !totals->busiest || summary_row_most_io_ns(row) > summary_row_most_io_ns(totals->busiest);
        if (did_io && is_busiest) totals->busiest = row;
    }
    totals->run_ns = log_run_ns(summary->log);
    totals->io_share = -1;
    if (summary->imported.is_there) summary_imported_totals(summary, totals);
    if (!totals->processes) return;
    if (!summary->imported.is_shared)
        totals->io_ns = log_world_count(summary->log) ? (int64_t)(sum_ns / (double)totals->processes) : job_io(summary);
    if (totals->run_ns <= 0) return;
    double share = (double)totals->io_ns / (double)totals->run_ns;
    totals->io_share = share < 1 ? share : 1;
}

int summary_finish_processes(struct summary *summary) {
    FORWARD(summary_add_imported(summary));
    for (size_t i = 0; i < summary->rank_count; i++) summary->ranks[i] = rank_of(summary, summary->processes[i]);
    for (size_t i = 0; i < log_process_count(summary->log); i++)
        coverage_subtract(&summary->coverage, summary->process[i].uncounted);
    mpi_files_sort(&summary->mpi_files);
    FORWARD(log_stats_untraced(summary->log, add_untraced, summary));
    add_reduced(summary);
    FORWARD(make_rows(summary));
    add_totals(summary);
    return 0;
}
