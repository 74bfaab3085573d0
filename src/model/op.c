#include "model/op.h"

#include <string.h>

#include "base/err.h"

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
