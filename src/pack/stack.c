// The stack that a job was recorded with: its description, the calls of its clients, and what the log says about both.
#include "pack/stack.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "pack/private.h"

enum { ABOUT_ROOM = 256, MAX_TEXT_BYTES = 4096, CHANGE_ROOM = 16, DEVICE_ROOM = 16 };

static struct pack_stack *stack_of(struct pack *pack) {
    if (!pack->stack) pack->stack = calloc(1, sizeof *pack->stack);
    return pack->stack;
}

int pack_load_stack(struct pack *pack, const char *name) {
    struct pack_stack *stack = stack_of(pack);
    return stack ? pack_join_code(pack, pack_load_records(pack, name, &stack->about)) : -ENOMEM;
}

static int add_probe(struct pack *pack, struct pack_probe *probe) {
    struct pack_stack *stack = pack->stack;
    uint16_t number = probe->file.header.number;
    RETURN_IF(lookup_find(&stack->probe_of, number) != LOOKUP_NONE, ERR_EXISTS);
    FORWARD(lookup_set(&stack->probe_of, number, 0)); // their order is not final
    FORWARD(array_push(stack->probe, stack->probe_count, *probe));
    stack->lost += probe->file.header.lost;
    return 0;
}

int pack_load_probe(struct pack *pack, const char *name) {
    struct pack_stack *stack = stack_of(pack);
    RETURN_IF(!stack, -ENOMEM);
    int fd = pack_open_file(pack, name);
    if (fd == ERR_FORMAT || fd == -ELOOP || fd == -ENOENT) return 0;
    RETURN_IF(fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM, fd);
    struct pack_probe probe = {.name = strdup(name), .file.damaged_bytes = 1}; // at least, if it cannot be opened
    int code = !probe.name ? -ENOMEM : fd < 0 ? fd : probe_read_file(fd, &probe.file);
    if (fd >= 0) close(fd);
    if (code == 0) code = add_probe(pack, &probe);
    if (code == ERR_EXISTS) probe.file.damaged_bytes += probe.file.count * sizeof(struct probe_record);
    if (code != ERR_NOTHING) stack->damaged_bytes += probe.file.damaged_bytes;
    if (code < 0) free(probe.name);
    return code == -ENOMEM ? pack_join_code(pack, code) : 0;
}

// What only the join needs.
static void free_join(struct pack *pack) {
    struct pack_stack *stack = pack->stack;
    for (size_t i = 0; i < stack->probe_count; i++) {
        free(stack->probe[i].tie);
        stack->probe[i].tie = NULL;
    }
    for (size_t i = 0; stack->below && i < pack->process_count; i++) free(stack->below[i]);
    void *arrays[] = {&stack->root,  &stack->start, &stack->thread, &stack->owner,
                      &stack->inode, &stack->async, &stack->below};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        free(*(void **)arrays[i]);
        *(void **)arrays[i] = NULL;
    }
    lookup_free(&stack->probe_of);
    lookup_free(&stack->thread_of);
    lookup_free(&stack->inode_of);
    lookup_free(&stack->inodes);
    lookup_free(&stack->touched);
    lookup_free(&stack->tids);
    lookup_free(&stack->inside);
}

bool pack_has_join(const struct pack *pack) { return pack->stack && !pack->stack->failure; }

int pack_join_code(struct pack *pack, int code) {
    if (code != -ENOMEM && code != ERR_LIMIT) return code;
    pack->stack->failure = code;
    free_join(pack);
    return 0;
}

void pack_free_stack(struct pack *pack) {
    struct pack_stack *stack = pack->stack;
    if (!stack) return;
    free_join(pack);
    for (size_t i = 0; i < stack->probe_count; i++) free(stack->probe[i].name);
    free(stack->probe);
    free(stack->change);
    free(stack->device);
    bytes_free(&stack->about);
    free(stack);
}

// --- what must be known before the events are read

// Parents come before their children.
static int by_layer(const void *a, const void *b) {
    const struct probe_header *left = &((const struct pack_probe *)a)->file.header;
    const struct probe_header *right = &((const struct pack_probe *)b)->file.header;
    if (left->layer != right->layer) return left->layer < right->layer ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static void find_calls(struct pack_stack *stack) {
    static const char *const operations[] = {NULL,
#define PROBE_OPERATION(name) #name,
                                             PROBE_OPERATIONS(PROBE_OPERATION)
#undef PROBE_OPERATION
    };
    char name[64];
    for (unsigned layer = 0; layer < PACK_LAYERS; layer++) {
        for (unsigned i = 1; i < PROBE_operations; i++) {
            snprintf(name, sizeof name, "%s_%s", call_layer_name(LAYER_CLIENT + layer), operations[i]);
            stack->call[layer][i] = call_find(name, 0);
        }
    }
}

int pack_each_record(struct pack *pack, struct pack_probe *probe, pack_record_work *work) {
    struct probe_record *record = malloc(PROBE_READ_RECORDS * sizeof *record);
    RETURN_IF(!record, -ENOMEM);
    int fd = probe->file.fd = pack_open_file(pack, probe->name), got = fd, code = 0;
    uint64_t at = 0;
    while (fd >= 0 && code == 0 && (got = probe_read_records(&probe->file, at, record)) > 0) {
        for (int i = 0; i < got && code == 0; i++) code = work(pack, probe, at + (uint64_t)i, &record[i]);
        at += (uint64_t)got;
    }
    probe->unread = probe->file.count - at;
    if (fd >= 0) close(fd);
    free(record);
    return got == -ENOMEM ? got : code;
}

bool pack_same_host(const struct pack_probe *probe, const struct pack_process *process) {
    return !process->host[0] || !strcmp(probe->file.header.host, process->host);
}

static int prepare(struct pack *pack) {
    struct pack_stack *stack = pack->stack;
    if (stack->probe_count) qsort(stack->probe, stack->probe_count, sizeof *stack->probe, by_layer);
    stack->below = calloc(pack->process_count + 1, sizeof *stack->below);
    RETURN_IF(!stack->below, -ENOMEM);
    find_calls(stack);
    pack_set_probe_clocks(pack);
    for (size_t i = 0; i < stack->probe_count; i++) {
        struct pack_probe *probe = &stack->probe[i];
        pack->all_bytes += probe->file.count * sizeof(struct probe_record);
        FORWARD(lookup_set(&stack->probe_of, probe->file.header.number, (uint32_t)i));
    }
    FORWARD(pack_read_roots(pack));
    return pack_sort_roots(pack);
}

int pack_prepare_stack(struct pack *pack) { return pack_has_join(pack) ? pack_join_code(pack, prepare(pack)) : 0; }

// --- what the log says

// Copies the fields whose keys are in one of the two sets, if they are of the right type.
static void copy_known(struct fields_out *out, struct fields_in body, unsigned numbers, unsigned texts) {
    struct field field;
    while (fields_next(&body, &field) > 0) {
        if (field.key >= 32) continue;
        if (!field.is_bytes && numbers >> field.key & 1) fields_number(out, field.key, field.number);
        if (field.is_bytes && texts >> field.key & 1 && field.len <= MAX_TEXT_BYTES)
            fields_bytes(out, field.key, field.data, field.len);
    }
}

static void put_stack(struct pack *pack, struct fields_in body) {
    const unsigned numbers =
        1u << STACK_SHARD_BYTES | 1u << STACK_REDUNDANCY | 1u << STACK_SERVERS | 1u << STACK_LAYERS;
    const unsigned texts = 1u << STACK_NAME | 1u << STACK_LAYOUT | 1u << STACK_MOUNT | 1u << STACK_FILE_SYSTEM |
                           1u << STACK_CACHE | 1u << STACK_PLACED;
    struct field f[STACK_GONE_NS + 1];
    if (fields_by_key(body, f, STACK_GONE_NS + 1) < 0) return;
    const struct pack_stack *stack = pack->stack;
    size_t room = ABOUT_ROOM + 2 * (size_t)(body.end - body.at) + DEVICE_ROOM * stack->devices;
    struct fields_out *out = log_writer_begin(&pack->writer, RECORD_STACK, room);
    copy_known(out, body, numbers, texts);
    for (size_t i = 0; i < stack->devices; i++) fields_number(out, STACK_DEVICE, stack->device[i]);
    uint64_t gone = f[STACK_GONE_NS].number;
    if (gone) fields_number(out, STACK_GONE_NS, gone > pack->start_epoch_ns ? gone - pack->start_epoch_ns : 0);
    if (stack->failure) fields_string(out, STACK_UNJOINED, err_text(stack->failure));
    log_writer_end(&pack->writer);
}

// What the client's probes saw of the server, and its clock.
static void put_seen(struct fields_out *out, const struct pack_stack *stack, uint64_t server) {
    for (size_t i = 0; i < stack->change_count; i++) {
        const struct pack_link_change *change = &stack->change[i];
        if (change->server == server)
            fields_number(out, change->is_up ? SERVER_CONNECTED_NS : SERVER_DISCONNECTED_NS, change->ns);
    }
    const struct pack_server_clock *clock = server < PACK_SERVERS ? &stack->clock[server] : NULL;
    if (!clock || !clock->known) return;
    fields_signed(out, SERVER_CLOCK_OFFSET_NS, (int64_t)clock_fit_start(&clock->fit));
    fields_number(out, SERVER_CLOCK_ERROR_NS, (uint64_t)ceil(clock->fit.error_ns));
    fields_signed(out, SERVER_CLOCK_DRIFT, (int64_t)(clock_fit_drift(&clock->fit) * 1e9));
}

static size_t server_room(const struct pack_stack *stack) { return ABOUT_ROOM + CHANGE_ROOM * stack->change_count; }

static void put_server(struct pack *pack, struct fields_in body, bool described[PACK_SERVERS]) {
    const unsigned numbers = 1u << SERVER_ID | 1u << SERVER_PORT | 1u << SERVER_PID;
    const unsigned texts = 1u << SERVER_HOST | 1u << SERVER_BRICK | 1u << SERVER_STORAGE | 1u << SERVER_MISSING;
    const struct pack_stack *stack = pack->stack;
    struct field f[SERVER_ID + 1];
    if (fields_by_key(body, f, SERVER_ID + 1) < 0 || f[SERVER_ID].number >= PACK_SERVERS) return;
    size_t room = server_room(stack) + 2 * (size_t)(body.end - body.at);
    struct fields_out *out = log_writer_begin(&pack->writer, RECORD_SERVER, room);
    copy_known(out, body, numbers, texts);
    put_seen(out, stack, f[SERVER_ID].number);
    described[f[SERVER_ID].number] = true;
    log_writer_end(&pack->writer);
}

// Without a description the probes still know their servers.
static void put_undescribed(struct pack *pack, bool described[PACK_SERVERS]) {
    const struct pack_stack *stack = pack->stack;
    for (size_t i = 0; i < stack->probe_count; i++) {
        uint16_t server = stack->probe[i].file.header.server;
        if (server >= PACK_SERVERS || described[server]) continue;
        described[server] = true;
        struct fields_out *out = log_writer_begin(&pack->writer, RECORD_SERVER, server_room(stack));
        fields_number(out, SERVER_ID, server);
        put_seen(out, stack, server);
        log_writer_end(&pack->writer);
    }
}

static void put_sum(struct pack *pack, unsigned layer, unsigned reason, const struct pack_sum *sum) {
    struct fields_out *out = log_writer_begin(&pack->writer, RECORD_UNTIED, ABOUT_ROOM);
    fields_number(out, UNTIED_LAYER, LAYER_CLIENT + layer);
    fields_number(out, UNTIED_REASON, reason);
    fields_number(out, UNTIED_CALLS, sum->calls);
    fields_number(out, UNTIED_READ, sum->bytes[0]);
    fields_number(out, UNTIED_WRITTEN, sum->bytes[1]);
    log_writer_end(&pack->writer);
}

void pack_write_stack(struct pack *pack) {
    const struct pack_stack *stack = pack->stack;
    bool described[PACK_SERVERS] = {0}, is_said = !stack || !stack->failure;
    if (!stack) return;
    struct fields_in records = fields_of(&stack->about), body;
    unsigned kind;
    while (stack->about.len && fields_next_record(&records, &kind, &body) > 0) {
        if (kind == RECORD_STACK) put_stack(pack, body);
        if (kind == RECORD_SERVER) put_server(pack, body, described);
        is_said |= kind == RECORD_STACK;
    }
    if (!is_said) put_stack(pack, (struct fields_in){0});
    put_undescribed(pack, described);
    for (unsigned layer = 0; layer < PACK_LAYERS; layer++) {
        for (unsigned reason = 0; reason < UNTIED_REASONS; reason++) {
            if (stack->sum[layer][reason].calls) put_sum(pack, layer, reason, &stack->sum[layer][reason]);
        }
    }
    if (stack->lost || stack->damaged_bytes) pack_write_loss(pack, NULL, LOSS_PROBE, stack->lost, stack->damaged_bytes);
}
