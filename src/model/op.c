#include "model/op.h"

#include <fcntl.h>
#include <string.h>

#include "base/err.h"
#include "fmt/call.h"

enum { MPI_CREATE = 1 }; // in both MPIs

static const char *const sync_names[SYNC_COUNT] = {
    [SYNC_NONE] = "",         [SYNC_BARRIER] = "barrier", [SYNC_BCAST] = "bcast",
    [SYNC_REDUCE] = "reduce", [SYNC_SEND] = "send",       [SYNC_RECEIVE] = "receive"};

const char *op_sync_name(enum op_sync sync) { return sync_names[sync]; }

int op_sync_find(const char *name) {
    for (int i = SYNC_BARRIER; i < SYNC_COUNT; i++) {
        if (!strcmp(sync_names[i], name)) return i;
    }
    return ERR_NOTHING;
}

bool op_flags_nameless(uint64_t flags) { return (flags & O_TMPFILE) == O_TMPFILE; }

bool op_flags_create(uint64_t flags) { return flags & O_CREAT || op_flags_nameless(flags); }

static const char *open_name(const struct op_kind *kind) {
    if (kind->layer == LAYER_MPIIO) return kind->flags & MPI_CREATE ? "create" : "open";
    if (call_layer_is_above(kind->layer)) return call_table[kind->call_id].effect == EFFECT_CREATE ? "create" : "open";
    if (op_flags_create(kind->flags)) return "create";
    bool is_directory = call_table[kind->call_id].subject == SUBJECT_DIRECTORY || kind->flags & O_DIRECTORY;
    return is_directory ? "list" : "open";
}

const char *op_kind_name(const struct op_kind *kind) {
    const struct call_info *call = &call_table[kind->call_id];
    bool is_directory = call->subject == SUBJECT_DIRECTORY;
    if (op_kind_moves(kind)) return call_class_name(kind->class);
    if (kind->class == CLASS_OPEN) return open_name(kind);
    switch (call->effect) {
    case EFFECT_LOOKUP: return is_directory ? "list" : "lookup";
    case EFFECT_STAT: return "stat";
    case EFFECT_CREATE: return is_directory ? "mkdir" : "create";
    case EFFECT_REMOVE: return is_directory ? "rmdir" : "remove";
    case EFFECT_RENAME: return "rename";
    case EFFECT_LINK: return "link";
    case EFFECT_CHANGE: return "change";
    default: return NULL;
    }
}

bool op_kind_moves(const struct op_kind *kind) { return kind->class == CLASS_READ || kind->class == CLASS_WRITE; }

bool op_kind_is_metadata(const struct op_kind *kind) {
    return !op_kind_moves(kind) && !kind->error && kind->set != OP_NO_SET && op_kind_name(kind);
}

bool op_kind_asks(const struct op_kind *kind) {
    unsigned effect = call_table[kind->call_id].effect;
    return effect == EFFECT_LOOKUP || effect == EFFECT_ASK || effect == EFFECT_STAT;
}
