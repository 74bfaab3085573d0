// The calls of the clients that may be the job's. A stack serves other programs, too: their calls take no memory.
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mounts.h"
#include "pack/private.h"

// --- the job's threads

// A stream may go from one thread to another anywhere, so all events are read.
static int note_chunk(struct pack *pack, const struct spill *spill, const struct spill_piece *piece) {
    const struct stream_start start = {.tid = piece->chunk.tid, .base = piece->chunk.base, .tick = piece->chunk.tick};
    struct stream_decoder decoder;
    struct stream_event event;
    uint32_t last = 0;
    int code = spill_read_payload(spill, piece, &pack->payload);
    if (code < 0) return code == -ENOMEM ? code : 0; // it is counted as damaged later
    stream_decoder_init(&decoder, &start, pack->payload.data, pack->payload.len);
    while (code == 0 && stream_decode(&decoder, &event) > 0) {
        if (event.tid != last) code = lookup_set(&pack->stack->tids, event.tid, 1);
        last = event.tid;
    }
    return code;
}

// A process whose parent is in another PID namespace does not see it: the parent's number is 0. Processes come in the
// order of their starts.
static int note_namespace(struct pack *pack, struct pack_process *process) {
    const struct spill_header *header = &process->spill.header;
    struct lookup *inside = &pack->stack->inside;
    process->is_inside =
        !header->ppid || lookup_find(inside, pack_process_key(pack, process->host, header->ppid)) != LOOKUP_NONE;
    return process->is_inside ? lookup_set(inside, pack_process_key(pack, process->host, header->pid), 1) : 0;
}

int pack_note_threads(struct pack *pack, struct pack_process *process) {
    const struct spill *spill = &process->spill;
    if (!pack_has_join(pack)) return 0;
    int code = note_namespace(pack, process);
    if (process->is_inside) return pack_join_code(pack, code);
    if (code == 0) code = lookup_set(&pack->stack->tids, spill->header.pid, 1);
    for (size_t i = 0; i < spill->count && code == 0; i++) {
        if (spill->piece[i].chunk.kind == CHUNK_EVENTS) code = note_chunk(pack, spill, &spill->piece[i]);
    }
    return pack_join_code(pack, code);
}

// --- its files

// Where the stack is mounted; empty if that is not known.
static struct field find_mount(const struct pack_stack *stack) {
    struct fields_in records = fields_of(&stack->about), body;
    struct field f[STACK_MOUNT + 1] = {0};
    unsigned kind;
    while (stack->about.len && fields_next_record(&records, &kind, &body) > 0) {
        if (kind == RECORD_STACK && fields_by_key(body, f, STACK_MOUNT + 1) == 0) return f[STACK_MOUNT];
    }
    return (struct field){0};
}

static bool has_device(const struct pack_stack *stack, uint64_t device) {
    for (size_t i = 0; i < stack->devices; i++) {
        if (stack->device[i] == device) return true;
    }
    return false;
}

int pack_note_mount(struct pack *pack, const char *point, size_t len, uint64_t device) {
    if (!pack_has_join(pack) || !device) return 0;
    const struct field mount = find_mount(pack->stack);
    if (!mount.len || !mounts_lies_under(point, len, (const char *)mount.data, mount.len)) return 0;
    if (has_device(pack->stack, device)) return 0;
    return pack_join_code(pack, array_push(pack->stack->device, pack->stack->devices, device));
}

// The hosts' lists of mounts, from when the job ran: the stack may be gone since.
static int note_mounts(struct pack *pack) {
    struct fields_in records = fields_of(&pack->devices), body;
    struct field f[MOUNT_DEVICE + 1];
    unsigned kind;
    while (pack->devices.len && fields_next_record(&records, &kind, &body) > 0) {
        if (kind != RECORD_MOUNT || fields_by_key(body, f, MOUNT_DEVICE + 1) < 0) continue;
        const struct field *point = &f[MOUNT_POINT];
        if (point->len) FORWARD(pack_note_mount(pack, (const char *)point->data, point->len, f[MOUNT_DEVICE].number));
    }
    return 0;
}

// By its device, which is the same through links and other mounts of the stack; else by its name.
static bool is_on_stack(const struct pack *pack, uint32_t file, const struct field *mount) {
    uint64_t device = file_table_device(&pack->files, file);
    if (has_device(pack->stack, device)) return true;
    return !mount->len || file_table_is_under(&pack->files, file, mount->data, mount->len);
}

static int note_file(struct pack *pack, const struct pack_process *process, const struct pack_link *link,
                     const struct field *mount) {
    struct pack_stack *stack = pack->stack;
    uint64_t inode = file_table_inode(&pack->files, link->global);
    if (!inode || !is_on_stack(pack, link->global, mount)) return 0;
    FORWARD(lookup_set(&stack->inodes, inode, (uint32_t)stack->inode_count));
    FORWARD(lookup_set(&stack->touched, inode, 1));
    FORWARD(lookup_set(&stack->inode_of, lookup_pair(process->id, link->local), (uint32_t)stack->inode_count));
    return array_push(stack->inode, stack->inode_count, inode);
}

static int note_files(struct pack *pack) {
    const struct field mount = find_mount(pack->stack);
    for (size_t i = 0; i < pack->process_count; i++) {
        const struct pack_process *process = &pack->process[i];
        const struct pack_link *link = (const void *)process->files.data;
        for (size_t k = 0; k < process->files.len / sizeof *link; k++)
            FORWARD(note_file(pack, process, &link[k], &mount));
    }
    return 0;
}

// --- the calls

static bool has_thread(const struct pack_stack *stack, const struct probe_record *record) {
    return lookup_find(&stack->tids, record->tid) != LOOKUP_NONE;
}

// A file that was removed and made again has another inode than the log knows: what the job's threads use counts.
static int note_touched(struct pack *pack, struct pack_probe *probe, uint64_t index,
                        const struct probe_record *record) {
    (void)probe, (void)index;
    return record->inode && has_thread(pack->stack, record) ? lookup_set(&pack->stack->touched, record->inode, 1) : 0;
}

static int add_root(struct pack *pack, struct pack_probe *probe, uint64_t index, const struct probe_record *record) {
    struct pack_stack *stack = pack->stack;
    if (!probe_record_is_good(record) || record->operation >= PROBE_operations) return 0;
    if (!has_thread(stack, record) && lookup_find(&stack->touched, record->inode) == LOOKUP_NONE) return 0;
    RETURN_IF(stack->root_count >= UINT32_MAX - 1, ERR_LIMIT);
    struct pack_root root = {
        .index = index,
        .start_ns = pack_probe_ns(stack, probe, record->start_ns),
        .end_ns = pack_probe_ns(stack, probe, record->end_ns),
        .inode = record->inode,
        .offset = record->offset,
        .size = record->size,
        .tid = record->tid,
        .host = probe->host,
        .class = call_table[stack->call[0][record->operation]].class,
        .is_over = record->end_ns != 0,
    };
    return array_push(stack->root, stack->root_count, root);
}

int pack_read_roots(struct pack *pack) {
    struct pack_stack *stack = pack->stack;
    FORWARD(note_mounts(pack));
    FORWARD(note_files(pack));
    size_t clients = 0; // come first
    while (clients < stack->probe_count && stack->probe[clients].file.header.layer == LAYER_CLIENT) clients++;
    for (size_t i = 0; i < clients; i++) FORWARD(pack_each_record(pack, &stack->probe[i], note_touched));
    for (size_t i = 0; i < clients; i++) {
        struct pack_probe *probe = &stack->probe[i];
        probe->next_root = stack->root_count;
        while (strcmp(stack->probe[probe->host].file.header.host, probe->file.header.host)) probe->host++;
        FORWARD(pack_each_record(pack, probe, add_root));
        probe->roots_end = stack->root_count;
    }
    return 0;
}
