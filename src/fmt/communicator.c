#include "fmt/communicator.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/varint.h"
#include "fmt/records.h"

void members_start(struct members_out *out, uint8_t *buffer) {
    *out = (struct members_out){.at = buffer, .end = buffer + MEMBERS_MAX_BYTES};
}

static void put_run(struct members_out *out) {
    uint8_t bytes[3 * VARINT_MAX_BYTES];
    if (!out->run.count) return;
    uint8_t *end = varint_put(bytes, (uint64_t)(out->run.first + 1));
    end = varint_put(end, varint_fold(out->run.step));
    end = varint_put(end, out->run.count);
    if (out->cut || end - bytes > out->end - out->at) {
        out->cut = true;
        return;
    }
    for (const uint8_t *byte = bytes; byte < end; byte++) *out->at++ = *byte;
}

static bool continues(const struct members_run *run, int64_t rank) {
    if (run->first == MEMBERS_UNKNOWN || rank == MEMBERS_UNKNOWN) return run->first == rank;
    return run->count == 1 || rank == run->first + run->step * (int64_t)run->count;
}

void members_add(struct members_out *out, int64_t rank) {
    out->size++;
    out->hash = hash_add(out->hash, (uint64_t)rank);
    if (out->run.count && continues(&out->run, rank)) {
        if (out->run.count == 1) out->run.step = rank - out->run.first;
        out->run.count++;
        return;
    }
    put_run(out);
    out->run = (struct members_run){.first = rank, .count = 1};
}

void members_end(struct members_out *out) { put_run(out); }

int members_next(struct members_in *in, struct members_run *run) {
    const int64_t limit = INT32_MAX;
    uint64_t first, step, count;
    if (in->at == in->end) return 0;
    const uint8_t *at = varint_get(in->at, in->end, &first);
    if (at) at = varint_get(at, in->end, &step);
    if (at) at = varint_get(at, in->end, &count);
    RETURN_IF(!at || first > (uint64_t)limit + 1 || count == 0 || count > (uint64_t)limit, ERR_FORMAT);
    *run = (struct members_run){(int64_t)first - 1, varint_unfold(step), count};
    RETURN_IF(run->step > limit || run->step < -limit, ERR_FORMAT);
    int64_t last = run->first + run->step * (int64_t)(count - 1);
    bool is_unknown = run->first == MEMBERS_UNKNOWN;
    RETURN_IF(is_unknown ? run->step != 0 : last < 0 || last > limit, ERR_FORMAT);
    in->at = at;
    return 1;
}

int64_t members_rank(struct members_in in, uint64_t rank) {
    struct members_run run;
    for (; members_next(&in, &run) > 0; rank -= run.count) {
        if (rank < run.count)
            return run.first == MEMBERS_UNKNOWN ? MEMBERS_UNKNOWN : run.first + run.step * (int64_t)rank;
    }
    return MEMBERS_UNKNOWN;
}

int members_check(struct members_in in, uint64_t size, bool cut) {
    struct members_run run;
    uint64_t sum = 0;
    int more;
    while ((more = members_next(&in, &run)) > 0) {
        sum += run.count;
        RETURN_IF(sum > size, ERR_FORMAT);
    }
    FORWARD(more);
    return cut || sum == size ? 0 : ERR_FORMAT;
}

static int get_group(struct comm_group *group, const struct field *size, const struct field *members,
                     const struct field *hash) {
    *group = (struct comm_group){.size = size->number, .cut = hash->key, .hash = hash->number};
    RETURN_IF(size->number > INT32_MAX || (members->key && !members->is_bytes), ERR_FORMAT);
    if (members->len) group->members = (struct members_in){members->data, members->data + members->len};
    return members_check(group->members, group->size, group->cut);
}

int communicator_get(struct fields_in body, struct communicator *out) {
    struct field f[COMMUNICATOR_REMOTE_HASH + 1];
    FORWARD(fields_by_key(body, f, COMMUNICATOR_REMOTE_HASH + 1));
    uint64_t process = f[COMMUNICATOR_PROCESS].number, number = f[COMMUNICATOR_NUMBER].number,
             parent = f[COMMUNICATOR_PARENT].number, origin = f[COMMUNICATOR_ORIGIN].number;
    RETURN_IF(number == 0 || (process | number | parent) > UINT32_MAX, ERR_FORMAT);
    *out = (struct communicator){
        .process = (uint32_t)process,
        .number = (uint32_t)number,
        .origin = origin < ORIGIN_COUNT ? (uint32_t)origin : ORIGIN_UNKNOWN,
        .parent = (uint32_t)parent,
        .ordinal = f[COMMUNICATOR_ORDINAL].number,
        .is_inter = f[COMMUNICATOR_REMOTE_SIZE].key,
    };
    FORWARD(get_group(&out->local, &f[COMMUNICATOR_SIZE], &f[COMMUNICATOR_MEMBERS], &f[COMMUNICATOR_HASH]));
    return get_group(&out->remote, &f[COMMUNICATOR_REMOTE_SIZE], &f[COMMUNICATOR_REMOTE_MEMBERS],
                     &f[COMMUNICATOR_REMOTE_HASH]);
}

const char *comm_origin_name(unsigned origin) {
    static const char *const names[ORIGIN_COUNT] = {"unknown", "world",    "self",  "dup",   "split", "create", "group",
                                                    "shared",  "topology", "inter", "merge", "spawn", "connect"};
    return names[origin < ORIGIN_COUNT ? origin : ORIGIN_UNKNOWN];
}

const char *partner_role_name(unsigned role) {
    static const char *const names[PARTNER_ROLES] = {"all", "from_root", "to_root", "send", "receive", "more"};
    return names[role < PARTNER_ROLES ? role : PARTNER_MORE];
}
