#include "report/offset_space.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/json_keys.h"
#include "report/name_list.h"
#include "summary/summary.h"

enum { ROOM = 2 * SPACE_POINTS };

int space_init(struct space *space, const struct log *log) {
    *space = (struct space){.log = log, .every = 1};
    space->point = malloc(ROOM * sizeof *space->point);
    RETURN_IF(!space->point, -ENOMEM);
    return 0;
}

void space_free(struct space *space) {
    free(space->point);
    free(space->transfers);
}

// Keeps one of `every` transfers, a power of two. Threads begin at different numbers, so that many threads with few
// transfers also get fewer points.
static bool is_kept(uint64_t every, uint32_t thread, uint64_t number) { return ((number + thread) & (every - 1)) == 0; }

static void thin_out(struct space *space) {
    size_t kept = 0;
    space->every *= 2;
    for (size_t i = 0; i < space->count; i++) {
        if (is_kept(space->every, space->point[i].thread, space->point[i].number))
            space->point[kept++] = space->point[i];
    }
    space->count = kept;
}

int space_add(struct space *space, const struct log_event *event) {
    if (!event->moves || !event->file || !event->raw.has_offset) return 0;
    if (!summary_counts_process(space->log, event->process)) return 0;
    while (space->threads <= event->thread) {
        FORWARD(array_push(space->transfers, space->threads, 0));
    }
    uint64_t number = space->transfers[event->thread]++;
    if (!is_kept(space->every, event->thread, number)) return 0;
    while (space->count == ROOM) thin_out(space);
    if (!is_kept(space->every, event->thread, number)) return 0;
    space->point[space->count++] = (struct space_point){
        .process = event->process->id,
        .tid = event->raw.tid,
        .thread = event->thread,
        .number = number,
        .start_ns = event->start_ns,
        .tick = event->raw.tick,
        .offset = event->raw.offset,
        .size = log_event_bytes(event), // a program may ask for more than there is
        .file = (uint32_t)log_file_index(space->log, event->file),
        .is_write = event->call->class == CLASS_WRITE,
    };
    return 0;
}

// The last stay of the thread that began before this moment, or NULL.
static const struct model_stay *lookup_stay(const struct model *model, const struct space_point *point) {
    size_t low = 0, high = model ? model->stays : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct model_stay *stay = &model->stay[middle];
        bool before = stay->process != point->process ? stay->process < point->process
                      : stay->tid != point->tid       ? stay->tid < point->tid
                                                      : stay->start_ns <= point->start_ns;
        if (before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (!low) return NULL;
    const struct model_stay *stay = &model->stay[low - 1];
    return stay->process == point->process && stay->tid == point->tid ? stay : NULL;
}

static void point_json(const struct space_point *point, int64_t rank, const struct model_stay *stay, int file,
                       struct json_out *json) {
    json_array_of(json, m_signed(NULL, stay ? (int64_t)stay->phase + 1 : -1), m_signed(NULL, rank),
                  m_number(NULL, point->tick), m_number(NULL, point->offset), m_number(NULL, point->size),
                  m_number(NULL, point->is_write), m_signed(NULL, file), m_seconds(NULL, point->start_ns));
}

int space_json(const struct space *space, const struct process_places *places, const struct model *model,
               struct json_out *json, size_t most, size_t name_bytes) {
    struct report_names files = {.room_bytes = name_bytes};
    uint64_t every = space->every;
    size_t count = space->count;
    int code = 0;
    while (count > most) {
        every *= 2;
        count = 0;
        for (size_t i = 0; i < space->count; i++)
            count += is_kept(every, space->point[i].thread, space->point[i].number);
    }
    json_object(json);
    key_array(json, "points");
    for (size_t i = 0; i < space->count && !code; i++) {
        const struct space_point *point = &space->point[i];
        if (!is_kept(every, point->thread, point->number)) continue;
        int file = report_names_place(&files, point->file, log_file_at(space->log, point->file)->name);
        if (file == -ENOMEM) code = file;
        const struct log_process *process = log_process_find(space->log, point->process);
        point_json(point, places->place[process->index], lookup_stay(model, point), file, json);
    }
    json_close(json);
    report_names_json(&files, json, "files");
    json_members(json, m_bool("sampled", every > 1), m_number("every", every));
    json_close(json);
    report_names_free(&files);
    return code;
}
