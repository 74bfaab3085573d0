#include "whatif/typical.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

// Assumed: seconds of a system call.
#define CALL 2e-6
// Assumed: seconds of a message between processes of one node, and between nodes; of a byte that is exchanged and
// copied; of a piece of it; of an independent call of MPI-IO.
#define MESSAGE_WITHIN 1e-6
#define MESSAGE_BETWEEN 5e-6
#define BYTE 1e-9
#define PIECE 1e-7
#define INDEPENDENT_CALL 3e-6

const struct typical typical_storage[] = {
    {"hdd", "on a disk"}, {"ssd", "on SATA flash"}, {"nvm", "in non-volatile memory"}, {0}};

// --- storage, as target/emulate/speed.c has it

struct request {
    bool write;
    uint64_t size;
    enum system_mode mode;
    uint32_t np; // as many at once
    bool shared;
};

static double bandwidth_of(const struct speed_settings *settings, bool write) {
    return (double)(write ? settings->write_bandwidth : settings->read_bandwidth);
}

// Until the last one is done. Requests of several processes come in turns, and so are never in order.
static double seconds_of(const struct speed_settings *settings, const struct request *r) {
    double bandwidth = bandwidth_of(settings, r->write), latency = (double)settings->latency_ns / 1e9;
    double moving = bandwidth > 0 ? (double)r->size / bandwidth : 0, np = r->np;
    bool seeks = settings->seek_latency_ns && (r->mode != MODE_SEQUENTIAL || r->np > 1);
    if (!seeks) return CALL + fmax(latency, np * moving);
    return CALL + np * (double)settings->seek_latency_ns / 1e9 + (np - 1) * moving + fmax(latency, moving);
}

static int add_point(const struct speed_settings *settings, const struct request *r, struct system *system) {
    struct system_point point = {.write = r->write,
                                 .size = r->size,
                                 .mode = r->mode,
                                 .np = r->np,
                                 .shared = r->shared,
                                 .latency_p50 = seconds_of(settings, r),
                                 .stable = true};
    point.bandwidth = (double)r->size * r->np / point.latency_p50;
    return array_push(system->point, system->points, point);
}

// Times between two sizes are interpolated: one point lies where the bandwidth begins to matter more than the latency.
static int add_sizes(const struct speed_settings *settings, struct request r, struct system *system) {
    double corner = bandwidth_of(settings, r.write) * (double)settings->latency_ns / 1e9 / r.np;
    uint64_t size[] = {1, 4 << 10, 64 << 10, 1 << 20, 16 << 20, (uint64_t)corner};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        r.size = size[i];
        if (r.size) FORWARD(add_point(settings, &r, system));
    }
    return 0;
}

static int add_modes(const struct speed_settings *settings, struct request r, struct system *system) {
    for (r.mode = 0; r.mode < MODE_COUNT; r.mode++) {
        for (unsigned write = 0; write < 2; write++) {
            r.write = write;
            FORWARD(add_sizes(settings, r, system));
        }
    }
    return 0;
}

int typical_system(const struct speed_settings *settings, uint32_t np, struct system *system) {
    *system = (struct system){0};
    for (uint32_t some = 1;; some = some < np / 2 ? some * 2 : np) {
        FORWARD(add_modes(settings, (struct request){.np = some}, system));
        if (some > 1) FORWARD(add_modes(settings, (struct request){.np = some, .shared = true}, system));
        if (some >= np) break;
    }
    system_set_peaks(system);
    return 0;
}

// --- MPI-IO

// A call agrees on who wants what, and then goes on in rounds. Ranks exchange messages in as many steps as the number
// of ranks has bits.
struct system_mpiio typical_mpiio(uint32_t np, uint32_t nodes) {
    double message = nodes > 1 ? MESSAGE_BETWEEN : MESSAGE_WITHIN, steps = fmax(1, ceil(log2(np ? np : 1)));
    struct system_collective collective = {.per_call = 4 * steps * message + MESSAGE_WITHIN * np,
                                           .per_round = 2 * steps * message + MESSAGE_WITHIN * np,
                                           .per_byte = BYTE,
                                           .per_piece = PIECE,
                                           .error = 1};
    struct system_mpiio mpiio = {.name = "typical", .np = np, .nodes = nodes};
    for (unsigned write = 0; write < 2; write++) {
        mpiio.collective[write] = collective;
        mpiio.per_call[write] = INDEPENDENT_CALL;
        mpiio.per_piece[write] = PIECE;
    }
    return mpiio;
}
