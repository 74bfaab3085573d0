#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "report/name_list.h"
#include "report/timeline.h"

// --- threads

struct row_order {
    uint32_t row;
    const struct log_process *process;
    int64_t busy_ns; // of all threads of a process without a rank
};

static int compare_rows(const void *a, const void *b) {
    const struct row_order *left = a, *right = b;
    int order = log_process_compare(left->process, right->process);
    if (order) return order;
    if (left->busy_ns != right->busy_ns) return left->busy_ns > right->busy_ns ? -1 : 1;
    if (left->process->start_ns != right->process->start_ns)
        return left->process->start_ns < right->process->start_ns ? -1 : 1;
    if (left->process != right->process) return left->process < right->process ? -1 : 1;
    return left->row < right->row ? -1 : 1;
}

// The program, by the end of its name: "python3 4711".
static const char *program_name(const struct log_process *process) {
    const char *exe = process->exe ? process->exe : "process", *slash = strrchr(exe, '/');
    return slash && slash[1] ? slash + 1 : exe;
}

static void row_json(const struct timeline_row *row, unsigned number_in_process, size_t id, struct json_out *json) {
    char name[128], thread[32] = "";
    const struct log_process *process = row->process;
    if (number_in_process) snprintf(thread, sizeof thread, ", thread %u", number_in_process + 1);
    snprintf(name, sizeof name, "%.64s %lld%s", process->has_rank ? "rank" : program_name(process),
             (long long)(process->has_rank ? process->rank : process->pid), thread);
    json_object_of(json, m_number("id", id), m_signed_if("rank", process->has_rank, process->rank),
                   m_number_if("pid", process->pid, process->pid), m_signed_if("tid", row->tid, row->tid),
                   m_text("host", process->host), m_text("name", name), m_seconds("seconds", row->busy_ns));
}

// Writes the threads in order and returns the index of each.
static int rows_json(const struct timeline *timeline, struct json_out *json, uint32_t *place) {
    struct row_order *order = malloc((timeline->rows + 1) * sizeof *order);
    RETURN_IF(!order, -ENOMEM);
    for (uint32_t i = 0; i < timeline->rows; i++) {
        const struct log_process *process = timeline->row[i].process;
        order[i] = (struct row_order){i, process, 0};
        for (uint32_t k = 0; k < timeline->rows && !process->has_rank; k++)
            order[i].busy_ns += timeline->row[k].process == process ? timeline->row[k].busy_ns : 0;
    }
    if (timeline->rows > 1) qsort(order, timeline->rows, sizeof *order, compare_rows);
    key_array(json, "lanes");
    unsigned number = 0;
    for (size_t i = 0; i < timeline->rows; i++) {
        number = i && order[i].process == order[i - 1].process ? number + 1 : 0;
        place[order[i].row] = (uint32_t)i;
        row_json(&timeline->row[order[i].row], number, i, json);
    }
    json_close(json);
    free(order);
    return 0;
}

// --- spans

static int compare_spans(const void *a, const void *b) {
    const struct timeline_span *left = a, *right = b;
    if (left->row != right->row) return left->row < right->row ? -1 : 1;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return left->end_ns < right->end_ns ? -1 : left->end_ns > right->end_ns;
}

static int compare_lengths(const void *a, const void *b) {
    const struct timeline_span *left = a, *right = b;
    int64_t left_ns = left->end_ns - left->start_ns, right_ns = right->end_ns - right->start_ns;
    return left_ns > right_ns ? -1 : left_ns < right_ns;
}

// Copies all spans to be shown into one array.
static int gather(const struct timeline *timeline, size_t most, struct timeline_spans *out) {
    const struct timeline_spans *from = timeline->too_many ? &timeline->longer : &timeline->alone;
    size_t cells = timeline->too_many ? timeline->rows * timeline->columns : 0;
    out->span = malloc((from->count + cells + 1) * sizeof *out->span);
    RETURN_IF(!out->span, -ENOMEM);
    if (from->count) memcpy(out->span, from->span, from->count * sizeof *out->span);
    out->count = from->count;
    for (size_t i = 0; timeline->too_many && i < timeline->rows; i++) {
        for (size_t column = 0; column < timeline->columns; column++) {
            const struct timeline_span *cell = &timeline->row[i].cell[column];
            if (cell->calls) out->span[out->count++] = *cell;
        }
    }
    if (out->count > most) { // keeps the longest
        qsort(out->span, out->count, sizeof *out->span, compare_lengths);
        out->count = most;
    }
    return 0;
}

static void span_json(const struct timeline_span *span, int call, int file, struct json_out *json) {
    json_array_of(json, m_number(NULL, span->row), m_seconds(NULL, span->start_ns),
                  m_seconds(NULL, span->end_ns - span->start_ns), m_number(NULL, span->class),
                  m_number(NULL, span->calls), m_number(NULL, span->bytes), m_signed(NULL, call), m_signed(NULL, file),
                  m_number(NULL, span->event));
}

struct span_names {
    struct report_names calls;
    struct report_names files;
};

static int list_json(const struct timeline *timeline, struct json_out *json, const struct timeline_spans *spans,
                     struct span_names *names) {
    json_array(json);
    for (size_t i = 0; i < spans->count; i++) {
        const struct timeline_span *span = &spans->span[i];
        const struct log_call *call = log_call_find(timeline->log, span->call);
        int call_place = report_names_place(&names->calls, span->call, call ? call->name : NULL);
        const struct log_file *file =
            span->file < log_file_count(timeline->log) ? log_file_at(timeline->log, span->file) : NULL;
        int file_place = report_names_place(&names->files, span->file, file ? file->name : NULL);
        RETURN_IF(call_place == -ENOMEM || file_place == -ENOMEM, -ENOMEM);
        span_json(span, call_place, file_place, json);
    }
    json_close(json);
    return 0;
}

static int spans_json(const struct timeline *timeline, struct json_out *json, const uint32_t *place, size_t most,
                      size_t name_bytes) {
    struct timeline_spans spans = {0};
    struct timeline_span longest[TIMELINE_LONGEST];
    struct span_names names = {.calls.room_bytes = name_bytes, .files.room_bytes = name_bytes};
    int code = gather(timeline, most, &spans);
    for (size_t i = 0; i < spans.count && !code; i++) spans.span[i].row = place[spans.span[i].row];
    if (spans.count > 1) qsort(spans.span, spans.count, sizeof *spans.span, compare_spans);
    json_key(json, "spans");
    if (!code) code = list_json(timeline, json, &spans, &names);
    for (size_t i = 0; i < timeline->longest_count; i++) {
        longest[i] = timeline->longest[i];
        longest[i].row = place[longest[i].row];
    }
    json_key(json, "longest");
    if (!code) code = list_json(timeline, json, &(struct timeline_spans){longest, timeline->longest_count}, &names);
    report_names_json(&names.calls, json, "call_names");
    report_names_json(&names.files, json, "files");
    key_bool(json, "complete", !timeline->too_many && spans.count == timeline->alone.count && !timeline->rows_left_out);
    report_names_free(&names.calls);
    report_names_free(&names.files);
    free(spans.span);
    return code;
}

static void bins_json(const struct timeline *timeline, struct json_out *json) {
    static const char *const key[2] = {"read_bytes", "write_bytes"};
    bool is_known = timeline->source != TIMELINE_NOTHING;
    key_object(json, "bins");
    json_members(json, m_double("seconds", (double)(timeline->to_ns - timeline->from_ns) / 1e9 / TIMELINE_BINS),
                 m_number("count", is_known ? TIMELINE_BINS : 0));
    for (unsigned i = 0; i < 2; i++) {
        key_array(json, key[i]);
        for (size_t bin = 0; is_known && bin < TIMELINE_BINS; bin++)
            json_unsigned(json, (uint64_t)(timeline->bytes[i][bin] + 0.5));
        json_close(json);
    }
    if (timeline->source == TIMELINE_EVENTS) { // others do not know them
        key_array(json, "other_calls");
        for (size_t bin = 0; bin < TIMELINE_BINS; bin++) json_unsigned(json, (uint64_t)timeline->others[bin]);
        json_close(json);
    }
    json_close(json);
}

int timeline_json(struct timeline *timeline, struct json_out *json, size_t most, size_t name_bytes) {
    static const char *const sources[TIMELINE_SOURCES] = {"events", "index", "heat map", NULL};
    uint32_t *place = calloc(timeline->rows + 1, sizeof *place);
    RETURN_IF(!place, -ENOMEM);
    json_object(json);
    json_members(json, m_seconds("from", timeline->from_ns), m_seconds("to", timeline->to_ns));
    int code = rows_json(timeline, json, place);
    key_number(json, "lanes_left_out", timeline->rows_left_out);
    bins_json(timeline, json);
    key_array(json, "classes");
    for (unsigned class = 0; class < CLASS_COUNT; class ++)
        json_text(json, class == CLASS_NONE ? "none" : call_class_name(class));
    json_close(json);
    if (!code) code = spans_json(timeline, json, place, most, name_bytes);
    key_text(json, "source", sources[timeline->source]);
    json_close(json);
    free(place);
    return code;
}
