// Names: calls that look up a name wait until another thread or process has made or removed it, or its folder; and
// making or removing it waits for the lookups before it. Where two calls overlap in time, what the lookup saw tells
// which one was first.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "model/build/file_waits.h"

// Whether a lookup that overlaps with a change comes after it.
static bool is_after(enum name_seen seen, enum name_seen changed_to) {
    return seen == NAME_UNKNOWN ? changed_to == NAME_THERE : seen == changed_to;
}

// --- one name

static int look_up(struct file_waits *w, uint32_t user, uint32_t place, enum name_seen seen) {
    struct wait_file *name = &w->file[place];
    struct wait_op self = {user, w->user[user].number};
    bool by_other = name->changed.user != LOOKUP_NONE && name->changed.user != user;
    if (by_other && file_waits_is_under_way(w, name->changed, user) && !is_after(seen, name->name))
        return file_waits_add_late(w, name->changed, user);
    if (by_other) FORWARD(file_waits_add(w, user, name->changed));
    struct name_lookup *last = name->asked ? &w->asked[name->asked - 1] : NULL;
    if (last && last->op.user == user) {
        last->op.number = self.number;
        last->seen = seen;
        return 0;
    }
    FORWARD(array_push(w->asked, w->asks, (struct name_lookup){self, seen, name->asked}));
    name->asked = (uint32_t)w->asks;
    return 0;
}

// What waits for a change later on need not wait for the lookups before it: the change has waited for them.
static int change(struct file_waits *w, uint32_t user, uint32_t place, enum name_seen to) {
    struct wait_file *name = &w->file[place];
    for (uint32_t at = name->asked; at; at = w->asked[at - 1].before) {
        const struct name_lookup *lookup = &w->asked[at - 1];
        if (lookup->op.user == user) continue;
        bool late = file_waits_is_under_way(w, lookup->op, user) && lookup->seen == to;
        FORWARD(late ? file_waits_add_late(w, lookup->op, user) : file_waits_add(w, user, lookup->op));
    }
    name->changed = (struct wait_op){user, w->user[user].number};
    name->name = to;
    name->asked = 0;
    return 0;
}

// --- the names of a call

static int look_up_folder(struct file_waits *w, uint32_t user, uint64_t file, enum name_seen seen) {
    uint32_t folder = lookup_find(&w->names->folder, file), place;
    if (folder == LOOKUP_NONE) return 0;
    const struct file_place *at = &w->recorded->sets.place[folder];
    FORWARD(file_waits_place(w, lookup_pair(at->set, at->member), &place));
    return look_up(w, user, place, seen == NAME_MISSING ? NAME_UNKNOWN : NAME_THERE);
}

static int change_name(struct file_waits *w, uint32_t user, uint64_t file, enum name_seen from, enum name_seen to) {
    uint32_t place;
    FORWARD(file_waits_place(w, file, &place));
    FORWARD(look_up_folder(w, user, file, NAME_THERE));
    FORWARD(look_up(w, user, place, from == NAME_UNKNOWN ? w->file[place].name : from));
    return change(w, user, place, to);
}

static int look_up_name(struct file_waits *w, uint32_t user, uint64_t file, int error) {
    enum name_seen seen = !error || error == EEXIST ? NAME_THERE : error == ENOENT ? NAME_MISSING : NAME_UNKNOWN;
    uint32_t place;
    FORWARD(file_waits_place(w, file, &place));
    FORWARD(look_up_folder(w, user, file, seen));
    return look_up(w, user, place, seen);
}

// Opens that may create are taken to do so unless the file is known to be there.
static bool creates(const struct file_waits *w, const struct op_kind *kind, uint64_t file) {
    uint32_t place = lookup_find(&w->file_of, file);
    if (call_table[kind->call_id].effect == EFFECT_CREATE && kind->class != CLASS_OPEN) return true;
    if (kind->class != CLASS_OPEN || !op_flags_create(kind->flags)) return false;
    return kind->flags & O_EXCL || place == LOOKUP_NONE || w->file[place].name != NAME_THERE;
}

// A file that is renamed while it is open has another name when it is closed.
static int wait_for_close(struct file_waits *w, uint32_t user, uint64_t file) {
    uint32_t place;
    FORWARD(file_waits_place(w, file, &place));
    struct wait_op closed = w->file[place].closed;
    bool by_other = closed.user != LOOKUP_NONE && closed.user != user;
    return by_other && !file_waits_is_under_way(w, closed, user) ? file_waits_add(w, user, closed) : 0;
}

// The size goes with the file to its new name, or ends with it.
static int move_size(struct file_waits *w, uint64_t from, const uint64_t *to) {
    struct file_size ended = {0};
    uint32_t place, second;
    FORWARD(file_waits_place(w, from, &place));
    if (to) FORWARD(file_waits_place(w, *to, &second));
    size_waits_move(to ? &w->file[second].size : &ended, &w->file[place].size);
    free(ended.growth);
    return 0;
}

int name_waits_find(struct file_waits *w, uint32_t user, const struct op *op) {
    const struct op_kind *kind = &w->recorded->kind[op->kind];
    unsigned effect = call_table[kind->call_id].effect;
    if (kind->set == OP_NO_SET || !call_table[kind->call_id].by_name) return 0;
    if (kind->class != CLASS_OPEN && (kind->class != CLASS_META || effect == EFFECT_NONE)) return 0;
    uint64_t file = lookup_pair(kind->set, (uint32_t)op->at[AT_MEMBER]);
    uint64_t second = lookup_pair(kind->set2, (uint32_t)op->at[AT_SECOND]);
    if (kind->error) return look_up_name(w, user, file, kind->error);
    bool makes_second = kind->set2 != OP_NO_SET && (effect == EFFECT_RENAME || effect == EFFECT_LINK);
    if (makes_second) FORWARD(change_name(w, user, second, NAME_UNKNOWN, NAME_THERE));
    if (effect == EFFECT_RENAME) FORWARD(wait_for_close(w, user, file));
    if (effect == EFFECT_REMOVE || effect == EFFECT_RENAME) {
        FORWARD(change_name(w, user, file, NAME_THERE, NAME_MISSING));
        return move_size(w, file, makes_second ? &second : NULL);
    }
    if (!creates(w, kind, file)) return look_up_name(w, user, file, 0);
    bool is_new = kind->class != CLASS_OPEN || kind->flags & O_EXCL;
    return change_name(w, user, file, is_new ? NAME_MISSING : NAME_UNKNOWN, NAME_THERE);
}
