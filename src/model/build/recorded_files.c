// What a log says about the files, besides the operations on them.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"
#include "log/stats.h"
#include "model/build/recorded.h"

// True if the call creates its file.
static bool creates(const struct log_event *event) {
    if (event->call->class == CLASS_OPEN) {
        return !log_event_attribute(event, ATTRIBUTE_FILE_SIZE) &&
               op_flags_create(log_event_attribute(event, ATTRIBUTE_FLAGS));
    }
    return call_table[event->call->build_id].effect == EFFECT_CREATE;
}

// The first call on a name shows whether the file existed before.
static void note_name(struct recorded_file *file, bool existed) {
    if (!file->seen) file->existed = existed;
    file->seen = true;
}

// A call with two names creates the second one.
static void note_names(struct recorded *recorded, const struct log_event *event) {
    struct recorded_file *file = &recorded->file[event->file->index];
    int error = event->raw.error;
    if (event->file2 && !error) note_name(&recorded->file[event->file2->index], false);
    if (!error || error == ENOENT || error == EEXIST) note_name(file, error ? error == EEXIST : !creates(event));
    if (file->existed && !file->sized && !error && event->call->class == CLASS_OPEN) {
        if (!file->reach) file->size_before = log_event_attribute(event, ATTRIBUTE_FILE_SIZE);
        file->sized = true;
    }
}

// The same for each process: which program it belongs to is known in the end.
static int note_use(struct recorded *recorded, const struct log_event *event) {
    int error = event->raw.error;
    bool opens = event->call->class == CLASS_OPEN;
    if (error && error != ENOENT && error != EEXIST) return 0;
    if (event->call->layer >= LAYER_MPIIO || (!opens && event->call->class != CLASS_META)) return 0;
    struct recorded_use use = {.process = event->process->index, .file = event->file->index};
    use.existed = error ? error == EEXIST : !creates(event);
    uint64_t key = lookup_pair(use.process, use.file);
    uint32_t place = lookup_find(&recorded->use_of, key);
    if (place == LOOKUP_NONE) {
        FORWARD(lookup_set(&recorded->use_of, key, place = (uint32_t)recorded->uses));
        FORWARD(array_push(recorded->use, recorded->uses, use));
    }
    struct recorded_use *first = &recorded->use[place];
    if (opens && !error && !first->sized) {
        first->size = log_event_attribute(event, ATTRIBUTE_FILE_SIZE);
        first->sized = true;
    }
    if (!event->file2 || error) return 0;
    use = (struct recorded_use){.process = use.process, .file = event->file2->index};
    key = lookup_pair(use.process, use.file);
    if (lookup_find(&recorded->use_of, key) != LOOKUP_NONE) return 0;
    FORWARD(lookup_set(&recorded->use_of, key, (uint32_t)recorded->uses));
    return array_push(recorded->use, recorded->uses, use);
}

// A read from storage takes at least this long; a faster one was served from memory.
static int64_t memory_ns(uint64_t bytes) {
    return 20000 + (int64_t)bytes; // 1 GB/s
}

// fdopen takes a descriptor that is open.
static bool opens(const struct log_event *event) {
    return event->call->class == CLASS_OPEN && !event->raw.error &&
           call_table[event->call->build_id].count != COUNT_FDOPEN;
}

int recorded_note_file(struct recorded *recorded, const struct log_event *event) {
    if (!event->file) return 0;
    FORWARD(note_use(recorded, event));
    if (opens(event)) recorded->file[event->file->index].is_opened = true;
    if (event->call->layer < LAYER_MPIIO) note_names(recorded, event);
    uint64_t moved = log_event_bytes(event);
    if (event->raw.error || !log_class_moves(event->call->class) || !moved) return 0;
    struct recorded_file *file = &recorded->file[event->file->index];
    bool by_mpi = event->call->layer == LAYER_MPIIO;
    if (by_mpi) file->by_mpi = true;
    if (event->process->counts_all && !event->process->is_launcher) file->counted[by_mpi] += moved;
    if (event->call->layer == LAYER_POSIX && event->call->class == CLASS_READ && event->raw.has_offset &&
        event->raw.offset < file->size_before) {
        file->read_before += moved;
        if (event->duration_ns < memory_ns(moved)) file->read_cached += moved;
    }
    uint64_t end = event->raw.offset + moved;
    if (!event->raw.has_offset || end <= file->reach) return 0;
    // Nobody in the job opened it, so only reads show how long it was.
    if (file->existed && !file->sized && event->call->class == CLASS_READ) file->size_before = end;
    file->reach = end;
    return 0;
}

// --- past the trace

// Bytes of a file that MPI-IO moved, and bytes that the layers below moved.
struct untraced {
    uint64_t mpi;
    uint64_t below;
};

struct counting {
    struct recorded *recorded;
    unsigned layer;
    struct untraced *of; // by file
};

static int add_untraced(const struct log_stats_record *record, void *context) {
    struct counting *counting = context;
    uint64_t bytes = counters_bytes(&record->counters);
    if (call_layer_is_above(record->layer) && record->layer != counting->layer) return 0;
    if (counting->layer && record->layer != counting->layer) return 0;
    if (record->process && record->process->is_launcher) {
        counting->recorded->left.launchers += bytes;
        return 0;
    }
    struct untraced *file = &counting->of[record->file->index];
    *(record->layer == LAYER_MPIIO ? &file->mpi : &file->below) += bytes;
    return 0;
}

// Counters do not say which call caused which. Bytes of the lower layers on a file that MPI-IO used count as MPI-IO's.
int recorded_count_untraced(struct recorded *recorded, struct log *log, unsigned layer) {
    size_t files = log_file_count(log);
    SCOPED_FREE struct untraced *of = calloc(files + 1, sizeof *of);
    RETURN_IF(!of, -ENOMEM);
    FORWARD(log_stats_untraced(log, add_untraced, &(struct counting){recorded, layer, of}));
    for (size_t i = 0; i < files; i++) {
        const uint64_t *counted = recorded->file[i].counted;
        of[i].below -= counted[0] < of[i].below ? counted[0] : of[i].below;
        of[i].mpi -= counted[1] < of[i].mpi ? counted[1] : of[i].mpi;
        bool by_mpi = !layer && (of[i].mpi || recorded->file[i].by_mpi);
        recorded->left.untraced += by_mpi ? of[i].mpi : of[i].mpi + of[i].below;
    }
    return 0;
}
