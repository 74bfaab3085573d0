#include "report/timeline.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/lookup.h"
#include "base/order.h"
#include "log/visit.h"

#define NO_ROW UINT32_MAX
#define NOT_YET (UINT32_MAX - 1)
#define NO_FILE UINT32_MAX

enum { MOST_CELLS = 400000, MOST_COLUMNS = 4000, LEAST_COLUMNS = 20, MOST_LONGER = 12000, MOST_EVENTS_READ = 3000000 };

struct timeline_window timeline_whole(const struct log *log) {
    const struct log_job *job = log_job(log);
    int64_t end_ns = job->end_ns > job->start_ns ? (int64_t)(job->end_ns - job->start_ns) : 0;
    for (size_t i = 0; i < log_place_count(log); i++) {
        const struct log_place *place = log_place_at(log, i);
        if (place->type == BLOCK_EVENTS && place->end_ns < INT64_MAX && (int64_t)place->end_ns > end_ns)
            end_ns = (int64_t)place->end_ns;
    }
    return (struct timeline_window){0, end_ns > 0 ? end_ns : 1, 0};
}

// --- selection of the processes: those with the most time in calls, according to the index

static bool place_counts(const struct log_place *place) {
    return place->type == BLOCK_EVENTS && !place->below && place->process && !place->process->is_launcher;
}

// `time` is by process; -1 for those without events.
static size_t choose_processes(struct timeline *timeline, struct order *time) {
    const struct log *log = timeline->log;
    size_t count = log_process_count(log), shown = 0;
    for (size_t i = 0; i < count; i++) time[i] = (struct order){-1, i};
    for (size_t i = 0; i < log_place_count(log); i++) {
        const struct log_place *place = log_place_at(log, i);
        if (!place_counts(place)) continue;
        int64_t *ns = &time[log_process_index(log, place->process)].key;
        uint64_t sum = *ns < 0 ? 0 : (uint64_t)*ns;
        for (unsigned class = 0; class < CLASS_COUNT; class ++) sum += place->class_ns[class];
        *ns = sum < INT64_MAX ? (int64_t)sum : INT64_MAX;
    }
    order_sort(time, count);
    for (; shown < count && time[shown].key >= 0 && shown < TIMELINE_MAX_ROWS; shown++)
        timeline->process_shown[time[shown].index] = true;
    return shown;
}

// The number of pixels per thread. Processes with several threads get more pixels together.
static void choose_columns(struct timeline *timeline, size_t rows) {
    if (!rows) rows = 1;
    if (!timeline->columns) timeline->columns = TIMELINE_CELLS / rows;
    if (timeline->columns > MOST_CELLS / rows) timeline->columns = MOST_CELLS / rows;
    if (timeline->columns > MOST_COLUMNS) timeline->columns = MOST_COLUMNS;
    if (timeline->columns < LEAST_COLUMNS) timeline->columns = LEAST_COLUMNS;
}

static int prepare_rows(struct timeline *timeline) {
    size_t count = log_process_count(timeline->log);
    struct order *time = malloc((count + 1) * sizeof *time);
    timeline->process_shown = calloc(count + 1, sizeof *timeline->process_shown);
    int code = time && timeline->process_shown ? 0 : -ENOMEM;
    if (!code) choose_columns(timeline, choose_processes(timeline, time));
    free(time);
    return code;
}

int timeline_init(struct timeline *timeline, const struct log *log, const struct timeline_window *window) {
    *timeline =
        (struct timeline){.log = log, .from_ns = window->from_ns, .to_ns = window->to_ns, .columns = window->columns};
    if (timeline->to_ns <= timeline->from_ns) timeline->to_ns = timeline->from_ns + 1;
    for (unsigned i = 0; i < 2; i++) {
        timeline->bytes[i] = calloc(TIMELINE_BINS, sizeof *timeline->bytes[i]);
        RETURN_IF(!timeline->bytes[i], -ENOMEM);
    }
    timeline->others = calloc(TIMELINE_BINS, sizeof *timeline->others);
    RETURN_IF(!timeline->others, -ENOMEM);
    FORWARD(prepare_rows(timeline));
    timeline->column_ns = (timeline->to_ns - timeline->from_ns) / (int64_t)timeline->columns;
    timeline->bin_ns = (double)(timeline->to_ns - timeline->from_ns) / TIMELINE_BINS;
    return 0;
}

void timeline_free(struct timeline *timeline) {
    for (size_t i = 0; i < timeline->rows; i++) free(timeline->row[i].cell);
    free(timeline->row);
    free(timeline->row_of);
    free(timeline->process_shown);
    free(timeline->longer.span);
    free(timeline->alone.span);
    free(timeline->bytes[0]);
    free(timeline->bytes[1]);
    free(timeline->others);
    *timeline = (struct timeline){0};
}

// --- threads

// A process that executes another program stays in its row, which has the name of the last program.
static bool goes_on(struct timeline *timeline, const struct log_process *process, uint32_t tid, uint32_t *row) {
    for (uint32_t i = 0; i < timeline->rows; i++) {
        struct timeline_row *known = &timeline->row[i];
        if (known->tid != tid || known->process == process || !log_process_goes_on(known->process, process)) continue;
        known->process = process;
        *row = i;
        return true;
    }
    return false;
}

static int add_row(struct timeline *timeline, const struct log_process *process, uint32_t tid, uint32_t *row) {
    *row = NO_ROW;
    if (goes_on(timeline, process, tid, row)) return 0;
    if (!timeline->process_shown[log_process_index(timeline->log, process)] || timeline->rows >= TIMELINE_MAX_ROWS) {
        timeline->rows_left_out++;
        return 0;
    }
    FORWARD(array_room(timeline->row, timeline->rows));
    struct timeline_row *new = &timeline->row[timeline->rows];
    *new = (struct timeline_row){process, tid, 0, calloc(timeline->columns, sizeof *new->cell)};
    RETURN_IF(!new->cell, -ENOMEM);
    *row = (uint32_t)timeline->rows++;
    return 0;
}

// Threads are numbered from 0 in the order in which the log has them: the first call of one with a larger number may
// come first.
static int lookup_row(struct timeline *timeline, const struct log_event *event, uint32_t *row) {
    while (timeline->row_of_count <= event->thread)
        FORWARD(array_push(timeline->row_of, timeline->row_of_count, NOT_YET));
    uint32_t *place = &timeline->row_of[event->thread];
    if (*place == NOT_YET) FORWARD(add_row(timeline, event->process, event->raw.tid, place));
    *row = *place;
    return 0;
}

// --- spans

static void merge(struct timeline_span *into, const struct timeline_span *span) {
    if (!into->calls) {
        *into = *span;
        return;
    }
    if (span->start_ns < into->start_ns) into->start_ns = span->start_ns;
    if (span->end_ns > into->end_ns) into->end_ns = span->end_ns;
    into->calls += span->calls;
    into->bytes += span->bytes;
    if (span->best_ns <= into->best_ns) return;
    into->best_ns = span->best_ns;
    into->event = span->event;
    into->call = span->call;
    into->file = span->file;
    into->class = span->class;
}

static int append(struct timeline_spans *spans, const struct timeline_span *span) {
    return array_push(spans->span, spans->count, *span);
}

static void add_longest(struct timeline *timeline, const struct timeline_span *span) {
    struct timeline_span *longest = timeline->longest;
    size_t at = timeline->longest_count;
    if (at == TIMELINE_LONGEST && longest[at - 1].best_ns >= span->best_ns) return;
    if (at == TIMELINE_LONGEST) at--;
    timeline->longest_count = at + 1;
    for (; at > 0 && longest[at - 1].best_ns < span->best_ns; at--) longest[at] = longest[at - 1];
    longest[at] = *span;
}

static int add_span(struct timeline *timeline, const struct timeline_span *span) {
    if (timeline->alone.count < TIMELINE_ALONE) {
        FORWARD(append(&timeline->alone, span));
    } else {
        timeline->too_many = true;
    }
    if (span->end_ns - span->start_ns > timeline->column_ns) {
        if (timeline->longer.count < MOST_LONGER) return append(&timeline->longer, span);
    }
    double at = (double)(span->start_ns - timeline->from_ns) / (double)(timeline->to_ns - timeline->from_ns);
    size_t column = at > 0 ? (size_t)(at * (double)timeline->columns) : 0;
    if (column >= timeline->columns) column = timeline->columns - 1;
    merge(&timeline->row[span->row].cell[column], span);
    return 0;
}

// Distributes bytes over the bins in which the call ran.
void timeline_add_bytes(struct timeline *timeline, unsigned direction, int64_t start_ns, int64_t end_ns,
                        uint64_t bytes) {
    double width = timeline->bin_ns;
    double from = (double)(start_ns - timeline->from_ns) / width, to = (double)(end_ns - timeline->from_ns) / width;
    double *bin = timeline->bytes[direction];
    if (from >= 0 && to < TIMELINE_BINS && (size_t)from == (size_t)to) {
        bin[(size_t)from] += (double)bytes;
        return;
    }
    double each = to > from ? (double)bytes / (to - from) : 0;
    if (from < 0) from = 0;
    if (to > TIMELINE_BINS) to = TIMELINE_BINS;
    if (from >= TIMELINE_BINS || to < 0) return;
    if (each == 0 || (size_t)from == (size_t)to) {
        bin[(size_t)from] += each > 0 ? each * (to - from) : (double)bytes;
        return;
    }
    for (size_t i = (size_t)from; (double)i < to && i < TIMELINE_BINS; i++) {
        double low = (double)i > from ? (double)i : from, high = (double)(i + 1) < to ? (double)(i + 1) : to;
        bin[i] += each * (high - low);
    }
}

static void add_other(struct timeline *timeline, int64_t start_ns) {
    double at = (double)(start_ns - timeline->from_ns) / timeline->bin_ns;
    if (at >= 0 && at <= TIMELINE_BINS) timeline->others[at < TIMELINE_BINS ? (size_t)at : TIMELINE_BINS - 1]++;
}

int timeline_add(struct timeline *timeline, const struct log_event *event) {
    int64_t end_ns = event->start_ns + event->duration_ns;
    if (event->process->is_launcher) return 0;
    if (event->moves)
        timeline_add_bytes(timeline, event->call->class == CLASS_WRITE, event->start_ns, end_ns,
                           log_event_bytes(event));
    if (event->has_parent) return 0;
    if (!log_class_moves(event->call->class)) add_other(timeline, event->start_ns);
    uint32_t row;
    FORWARD(lookup_row(timeline, event, &row));
    if (row == NO_ROW) return 0;
    timeline->row[row].busy_ns += log_event_busy_ns(event);
    const struct timeline_span span = {
        .start_ns = event->start_ns,
        .end_ns = end_ns,
        .best_ns = event->duration_ns,
        .event = event->id,
        .call = event->call->id,
        .file = event->file ? (uint32_t)log_file_index(timeline->log, event->file) : NO_FILE,
        .row = row,
        .class = event->call->class,
        .calls = 1,
        .bytes = log_class_moves(event->call->class) ? log_event_bytes(event) : 0,
    };
    add_longest(timeline, &span);
    return add_span(timeline, &span);
}

// --- from the index

static int add_block(struct timeline *timeline, const struct log_place *place, struct lookup *rows) {
    uint64_t key = lookup_pair((uint32_t)log_process_index(timeline->log, place->process), place->stream);
    uint32_t row = lookup_find(rows, key);
    struct timeline_span span = {.start_ns = (int64_t)place->start_ns,
                                 .end_ns = (int64_t)place->end_ns,
                                 .file = NO_FILE,
                                 .call = UINT32_MAX,
                                 .calls = place->events};
    if (row == LOOKUP_NONE) {
        FORWARD(add_row(timeline, place->process, 0, &row));
        FORWARD(lookup_set(rows, key, row == NO_ROW ? NO_ROW - 1 : row));
    }
    for (unsigned class = 0; class < CLASS_COUNT; class ++) {
        if ((int64_t)place->class_ns[class] < span.best_ns) continue;
        span.best_ns = (int64_t)place->class_ns[class];
        span.class = (uint8_t) class;
    }
    for (unsigned i = 0; i < 2; i++) {
        uint64_t bytes = place->class_bytes[i ? CLASS_WRITE : CLASS_READ];
        timeline_add_bytes(timeline, i, span.start_ns, span.end_ns, bytes);
        span.bytes += bytes;
    }
    if (row >= NO_ROW - 1) return 0;
    span.row = row;
    for (unsigned class = 0; class < CLASS_COUNT; class ++)
        timeline->row[row].busy_ns += (int64_t)place->class_ns[class];
    return add_span(timeline, &span);
}

static bool overlaps(const struct timeline *timeline, const struct log_place *place) {
    return place_counts(place) && place->end_ns < INT64_MAX && (int64_t)place->end_ns >= timeline->from_ns &&
           place->start_ns <= (uint64_t)timeline->to_ns;
}

int timeline_from_index(struct timeline *timeline, struct log *log) {
    struct lookup rows = {0};
    int code = 0;
    timeline->source = TIMELINE_INDEX;
    timeline->too_many = true; // a span is a block of many calls
    for (size_t i = 0; i < log_place_count(log) && !code; i++) {
        const struct log_place *place = log_place_at(log, i);
        if (overlaps(timeline, place)) code = add_block(timeline, place, &rows);
    }
    lookup_free(&rows);
    return code;
}

// --- a window of a log

static uint64_t events_in(const struct timeline *timeline, const struct log *log) {
    uint64_t events = 0;
    for (size_t i = 0; i < log_place_count(log); i++) {
        const struct log_place *place = log_place_at(log, i);
        if (overlaps(timeline, place)) events += place->events;
    }
    return events;
}

static int add_events(void *context, const struct log_event *const *event, size_t count) {
    for (size_t i = 0; i < count; i++) FORWARD(timeline_add(context, event[i]));
    return 0;
}

int timeline_read(struct timeline *timeline, struct log *log) {
    FORWARD(timeline_add_heat(timeline, log));
    if (events_in(timeline, log) > MOST_EVENTS_READ) return timeline_from_index(timeline, log);
    const struct log_filter filter = {
        .has_from = true, .from_ns = timeline->from_ns, .under_way = true, .has_to = true, .to_ns = timeline->to_ns};
    const struct log_consumer consumer = {.context = timeline, .ordered = add_events};
    return log_visit(&(struct log_visit){.log = log, .filter = &filter, .consumer = &consumer, .consumers = 1});
}
