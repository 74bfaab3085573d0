#include "replay/stall.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define LOOK_SECONDS 1.0
#define START_SECONDS 10.0 // a busy machine needs some for MPI_Init, and a launcher some for each process
#define START_SECONDS_EACH 0.01
#define SLOWEST_BYTES_PER_SECOND 1048576.0 // what takes longer, a transfer or reading the model, counts as stuck

// --- what processes wait for

struct text {
    char *at;
    size_t room;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text->at, text->room, format, list);
    va_end(list);
    size_t used = length < 0 ? 0 : (size_t)length < text->room ? (size_t)length : text->room - 1;
    text->at += used;
    text->room -= used;
}

static bool same_place(const struct replay_slot *a, const struct replay_slot *b) {
    return a->started == b->started && !strcmp(a->call, b->call) && !strcmp(a->file, b->file) &&
           !strcmp(a->group, b->group) && !strcmp(a->behind, b->behind);
}

// "ranks 0-2,5": those that wait where `first` does.
static size_t add_ranks(struct text *text, const struct replay_slot *slot, uint32_t np, uint32_t first) {
    size_t count = 0, ranges = 0;
    for (uint32_t i = first; i < np; i++) count += same_place(&slot[i], &slot[first]);
    add(text, count == 1 ? "rank " : "ranks ");
    for (uint32_t i = first, end; i < np; i = end + 1) {
        for (end = i; end < np && same_place(&slot[end], &slot[first]);) end++;
        if (end == i) continue;
        add(text, ranges++ ? ",%u" : "%u", i);
        if (end - i > 1) add(text, "-%u", end - 1);
    }
    return count;
}

static void add_what(struct text *text, const struct replay_slot *slot) {
    add(text, " in %s", slot->call);
    if (*slot->file) add(text, " (file %s", slot->file);
    if (*slot->group) add(text, "%scommunicator %s", *slot->file ? ", " : " (", slot->group);
    if (*slot->file || *slot->group) add(text, ")");
    if (*slot->behind) add(text, " for %s", slot->behind);
}

static void add_places(struct text *text, const struct replay_slot *slot, uint32_t np) {
    for (uint32_t i = 0; i < np; i++) {
        uint32_t before = 0;
        while (before < i && !same_place(&slot[before], &slot[i])) before++;
        if (before < i) continue;
        if (i) add(text, ", ");
        const char *verb = add_ranks(text, slot, np, i) == 1 ? "waits" : "wait";
        add(text, " %s", slot[i].started ? verb : "did not start");
        if (slot[i].started) add_what(text, &slot[i]);
    }
}

// --- looking

static struct replay_slot *read_slots(const struct stall *stall) {
    struct replay_slot *slot = calloc(stall->np, sizeof *slot);
    int fd = open(stall->path, O_RDONLY | O_CLOEXEC); // a network file system has news for those that open
    for (size_t at = 0, bytes = stall->np * sizeof *slot; slot && fd >= 0 && at < bytes;) {
        ssize_t got = read(fd, (char *)slot + at, bytes - at);
        if (got <= 0) break;
        at += (size_t)got;
    }
    if (fd >= 0) close(fd);
    for (uint32_t i = 0; slot && i < stall->np; i++) {
        slot[i].call[sizeof slot[i].call - 1] = slot[i].file[sizeof slot[i].file - 1] = 0;
        slot[i].group[sizeof slot[i].group - 1] = slot[i].behind[sizeof slot[i].behind - 1] = 0;
    }
    return slot;
}

bool stall_found(struct stall *stall, char *why, size_t room) {
    double now = clock_seconds(), bytes = 0;
    uint64_t sum = 0, started = 0, pausing = 0;
    if (!stall->limit || now < stall->looked + LOOK_SECONDS) return false;
    struct replay_slot *slot = read_slots(stall);
    if (!slot) return false;
    for (uint32_t i = 0; i < stall->np; i++) {
        started += slot[i].started;
        pausing += slot[i].pauses;
        sum += slot[i].started + slot[i].ended;
        bytes += (double)slot[i].bytes;
    }
    if (!stall->changed || sum != stall->sum || pausing) stall->changed = now;
    stall->sum = sum;
    stall->looked = now;
    double quiet = now - stall->changed;
    double each = START_SECONDS_EACH + stall->model_bytes / SLOWEST_BYTES_PER_SECOND;
    double starts = started < stall->np ? START_SECONDS + stall->np * each : 0;
    bool found = quiet > stall->limit + starts + bytes / SLOWEST_BYTES_PER_SECOND;
    struct text text = {why, room};
    if (found && !started)
        add(&text, "no process has started for %.0f s", quiet);
    else if (found)
        add(&text, "no operation ended for %.0f s: ", quiet), add_places(&text, slot, stall->np);
    free(slot);
    return found;
}
