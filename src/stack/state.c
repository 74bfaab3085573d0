// The notes about a stack: records of the kinds RECORD_STACK and RECORD_SERVER (fmt/records.h) in the file `stack` in
// its folder. The folder appears with its notes in it, and the notes are replaced as a whole.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/scoped.h"
#include "fmt/fields.h"
#include "fmt/records.h"
#include "stack/private.h"

static const char all_stacks[] = "/var/lib/ioseer/stack";

enum { NOTES_MOST = 1 << 20, RECORD_ROOM = 1 << 16, FOLDER_TRIES = 100 };

const char *const stack_layout_names[LAYOUT_COUNT] = {"distribute", "shard", "disperse"};

struct stack_path stack_path(const struct stack *stack, const char *format, ...) {
    struct stack_path path;
    va_list words;
    int length = snprintf(path.text, sizeof path.text, "%s/", stack->folder);
    va_start(words, format);
    vsnprintf(path.text + length, sizeof path.text - (size_t)length, format, words);
    va_end(words);
    return path;
}

static bool is_name(const char *name, const char *also) {
    for (const char *c = name; *c; c++) RETURN_IF(!isalnum((unsigned char)*c) && !strchr(also, *c), false);
    return isalnum((unsigned char)name[0]);
}

int stack_state_name(struct stack *stack, const char *name) {
    RETURN_IF(strlen(name) > STACK_NAME_MOST || !is_name(name, "-_."), -EINVAL);
    snprintf(stack->name, sizeof stack->name, "%.*s", STACK_NAME_MOST, name);
    stack_state_locate(stack);
    return 0;
}

// Folders are removed with all that is in them, so their names follow from the stack's and are never read from a file.
void stack_state_locate(struct stack *stack) {
    snprintf(stack->folder, sizeof stack->folder, "%s/%s", all_stacks, stack->name);
    snprintf(stack->probes, sizeof stack->probes, STACK_MEMORY "/" STACK_PROBES "%s-%d", stack->name,
             (int)stack->guard);
}

void stack_forget(struct stack *stack) {
    free(stack->server);
    stack->server = NULL;
    stack->servers = 0;
}

// --- writing

static void put_placed(const struct stack *stack, const struct stack_client *client, struct fields_out *out) {
    char text[PATH_MAX + 4 * STACK_SERVERS_MOST];
    const char *inside = client->mount + strlen(stack->client[0].mount) + 1;
    size_t length = (size_t)snprintf(text, sizeof text, "%s", inside) + 1;
    for (unsigned i = 0, found = 0; i < stack->servers; i++) {
        if (!stack_has_server(client, i)) continue;
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%u", found++ ? " " : "", i);
    }
    fields_bytes(out, STACK_PLACED, text, length);
}

static void put_stack(const struct stack *stack, struct fields_out *out) {
    char file_system[sizeof stack->version + 16];
    snprintf(file_system, sizeof file_system, "GlusterFS %s", stack->version);
    fields_begin(out, RECORD_STACK);
    fields_string(out, STACK_NAME, stack->name);
    fields_string(out, STACK_LAYOUT, stack_layout_names[stack->layout]);
    if (stack->layout == LAYOUT_SHARD) fields_number(out, STACK_SHARD_BYTES, stack->shard_bytes);
    if (stack->layout == LAYOUT_DISPERSE) fields_number(out, STACK_REDUNDANCY, stack->redundancy);
    fields_string(out, STACK_MOUNT, stack->client[0].mount);
    fields_string(out, STACK_FILE_SYSTEM, file_system);
    fields_number(out, STACK_SERVERS, stack->servers);
    for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
        if (stack->layers >> layer & 1) fields_number(out, STACK_LAYERS, layer);
    }
    fields_string(out, STACK_CACHE, stack->kernel_cache ? "kernel" : "none");
    for (unsigned i = 1; i < stack->clients; i++) put_placed(stack, &stack->client[i], out);
    if (stack->gone_ns) fields_number(out, STACK_GONE_NS, stack->gone_ns);
    if (stack->recorder) fields_number(out, STACK_RECORDER, (uint64_t)stack->recorder);
    if (stack->recorder) fields_number(out, STACK_RECORDER_TICKS, stack->recorder_ticks);
    if (stack->spill[0]) fields_string(out, STACK_SPILL, stack->spill);
    fields_number(out, STACK_GUARD, (uint64_t)stack->guard);
    fields_number(out, STACK_GUARD_TICKS, stack->guard_ticks);
    fields_number(out, STACK_KEEPER, (uint64_t)stack->keeper);
    fields_number(out, STACK_KEEPER_TICKS, stack->keeper_ticks);
    fields_bytes(out, STACK_ID, stack->id, sizeof stack->id);
    if (stack->remote[0]) fields_string(out, STACK_REMOTE, stack->remote);
    if (stack->remote[0]) fields_string(out, STACK_IOSEER, stack->ioseer);
    if (stack->only) fields_number(out, STACK_ONLY, stack->only);
    if (stack->made_mount) fields_number(out, STACK_MADE_MOUNT, 1);
    fields_end(out);
}

static void put_server(const struct stack_server *server, unsigned id, struct fields_out *out) {
    fields_begin(out, RECORD_SERVER);
    fields_number(out, SERVER_ID, id);
    fields_string(out, SERVER_HOST, server->host);
    fields_number(out, SERVER_PORT, server->port);
    fields_string(out, SERVER_BRICK, server->brick);
    fields_string(out, SERVER_STORAGE, server->storage);
    fields_number(out, SERVER_PID, (uint64_t)server->pid);
    fields_number(out, SERVER_START_TICKS, server->start_ticks);
    fields_string(out, SERVER_ADDRESS, server->address);
    if (server->link) {
        fields_number(out, SERVER_LINK, (uint64_t)server->link);
        fields_number(out, SERVER_LINK_TICKS, server->link_ticks);
        fields_string(out, SERVER_PROBES, server->probes);
    }
    if (server->missing[0]) fields_string(out, SERVER_MISSING, server->missing);
    fields_string(out, server->is_given ? SERVER_GIVEN : SERVER_BACKING, server->backing);
    fields_end(out);
}

int stack_state_put(const struct stack *stack, struct bytes *out) {
    for (unsigned i = 0; i <= stack->servers; i++) {
        uint8_t *room = bytes_reserve(out, RECORD_ROOM);
        RETURN_IF(!room, -ENOMEM);
        struct fields_out fields = {.at = room, .end = room + RECORD_ROOM};
        if (i == 0)
            put_stack(stack, &fields);
        else
            put_server(&stack->server[i - 1], i - 1, &fields);
        RETURN_IF(fields.overflow, -ENAMETOOLONG);
        out->len += (size_t)(fields.at - room);
    }
    return 0;
}

static int write_notes(const struct stack *stack, const char *folder) {
    SCOPED(bytes_free) struct bytes notes = {0};
    struct io_beside beside;
    char path[PATH_MAX + 32];
    FORWARD(stack_state_put(stack, &notes));
    snprintf(path, sizeof path, "%s/stack", folder);
    FORWARD(io_beside_open(&beside, path, 0644));
    return io_beside_close(&beside, path, io_write_all(beside.fd, notes.data, notes.len));
}

int stack_state_write(const struct stack *stack) { return write_notes(stack, stack->folder); }

static int make_all_stacks(void) {
    char path[sizeof all_stacks];
    for (size_t i = 1; i < sizeof all_stacks; i++) {
        if (all_stacks[i] && all_stacks[i] != '/') continue;
        snprintf(path, sizeof path, "%.*s", (int)i, all_stacks);
        if (mkdir(path, 0755) < 0 && errno != EEXIST) return -errno;
    }
    return 0;
}

// The process that removes the last stack removes the folder of all, too, perhaps just now.
static int make_beside(const char *beside) {
    int code = -ENOENT;
    for (unsigned i = 0; i < FOLDER_TRIES && code == -ENOENT; i++) {
        code = make_all_stacks();
        if (code == 0 && mkdir(beside, 0755) < 0) code = -errno;
    }
    return code;
}

int stack_state_create(const struct stack *stack) {
    char beside[PATH_MAX + 32];
    snprintf(beside, sizeof beside, "%s/.%s.%d", all_stacks, stack->name, (int)stack->guard);
    FORWARD(make_beside(beside));
    int code = write_notes(stack, beside);
    if (code == 0 && rename(beside, stack->folder) < 0) code = errno == ENOTEMPTY ? -EEXIST : -errno;
    if (code < 0) stack_remove_folder(beside);
    return code;
}

// It goes aside first: a folder that has its name but no notes any more would be in the way of everybody.
void stack_state_remove(const struct stack *stack) {
    char aside[PATH_MAX + 32];
    snprintf(aside, sizeof aside, "%s/.%s.%d", all_stacks, stack->name, (int)getpid());
    stack_remove_folder(rename(stack->folder, aside) < 0 ? stack->folder : aside);
    if (rmdir(all_stacks) == 0) rmdir("/var/lib/ioseer"); // it was the last
}

// --- reading

static void get_text(const struct field *field, char *text, size_t size) {
    snprintf(text, size, "%.*s", (int)field->len, field->data ? (const char *)field->data : "");
}

static int get_placed(struct stack *stack, const struct field *field) {
    RETURN_IF(stack->clients == STACK_CLIENTS_MOST || !memchr(field->data, 0, field->len), ERR_FORMAT);
    struct stack_client *client = &stack->client[stack->clients++];
    char text[PATH_MAX + 4 * STACK_SERVERS_MOST];
    get_text(field, text, sizeof text);
    int length = snprintf(client->mount, sizeof client->mount, "%s/%s", stack->client[0].mount, text);
    RETURN_IF(length >= PATH_MAX, ERR_FORMAT);
    char numbers[4 * STACK_SERVERS_MOST], *at = numbers, *end;
    snprintf(numbers, sizeof numbers, "%.*s", (int)(field->len - strlen(text) - 1),
             (const char *)field->data + strlen(text) + 1);
    for (client->servers = 0;; at = end) {
        unsigned long server = strtoul(at, &end, 10);
        if (end == at) return 0;
        if (server < STACK_SERVERS_MOST) client->servers |= UINT64_C(1) << server;
    }
}

static int get_lists(struct stack *stack, struct fields_in body) {
    struct field field;
    while (fields_next(&body, &field) > 0) {
        if (field.key == STACK_LAYERS && field.number < LAYER_COUNT) stack->layers |= 1u << field.number;
        if (field.key == STACK_PLACED && field.data) FORWARD(get_placed(stack, &field));
    }
    return 0;
}

static int get_stack(struct stack *stack, struct fields_in body) {
    struct field by_key[STACK_KEYS];
    char text[64];
    FORWARD(fields_by_key(body, by_key, STACK_KEYS));
    get_text(&by_key[STACK_NAME], stack->name, sizeof stack->name);
    get_text(&by_key[STACK_MOUNT], stack->client[0].mount, sizeof stack->client[0].mount);
    if (by_key[STACK_ID].len == sizeof stack->id) memcpy(stack->id, by_key[STACK_ID].data, sizeof stack->id);
    get_text(&by_key[STACK_REMOTE], stack->remote, sizeof stack->remote);
    get_text(&by_key[STACK_IOSEER], stack->ioseer, sizeof stack->ioseer);
    stack->only = (unsigned)by_key[STACK_ONLY].number;
    get_text(&by_key[STACK_FILE_SYSTEM], text, sizeof text);
    snprintf(stack->version, sizeof stack->version, "%.31s", strchr(text, ' ') ? strchr(text, ' ') + 1 : "");
    get_text(&by_key[STACK_CACHE], text, sizeof text);
    stack->kernel_cache = !strcmp(text, "kernel");
    get_text(&by_key[STACK_LAYOUT], text, sizeof text);
    for (unsigned i = 0; i < LAYOUT_COUNT; i++) {
        if (!strcmp(text, stack_layout_names[i])) stack->layout = i;
    }
    stack->shard_bytes = by_key[STACK_SHARD_BYTES].number;
    stack->redundancy = (unsigned)by_key[STACK_REDUNDANCY].number;
    stack->guard = (pid_t)by_key[STACK_GUARD].number;
    stack->guard_ticks = by_key[STACK_GUARD_TICKS].number;
    stack->keeper = (pid_t)by_key[STACK_KEEPER].number;
    stack->keeper_ticks = by_key[STACK_KEEPER_TICKS].number;
    RETURN_IF(!is_name(stack->name, "-_.@"), ERR_FORMAT);
    stack_state_locate(stack);
    stack->recorder = (pid_t)by_key[STACK_RECORDER].number;
    stack->recorder_ticks = by_key[STACK_RECORDER_TICKS].number;
    get_text(&by_key[STACK_SPILL], stack->spill, sizeof stack->spill);
    stack->gone_ns = by_key[STACK_GONE_NS].number;
    stack->made_mount = by_key[STACK_MADE_MOUNT].number;
    stack->servers = (unsigned)by_key[STACK_SERVERS].number;
    RETURN_IF(stack->server || !stack->servers || stack->servers > STACK_SERVERS_MOST, ERR_FORMAT);
    RETURN_IF(stack->only > stack->servers, ERR_FORMAT);
    stack->server = calloc(stack->servers, sizeof *stack->server);
    RETURN_IF(!stack->server, -ENOMEM);
    stack->clients = 1;
    stack->client[0].servers = UINT64_MAX >> (64 - stack->servers);
    return get_lists(stack, body);
}

static int get_server(struct stack *stack, struct fields_in body) {
    struct field by_key[SERVER_KEYS];
    FORWARD(fields_by_key(body, by_key, SERVER_KEYS));
    RETURN_IF(by_key[SERVER_ID].number >= stack->servers, ERR_FORMAT);
    struct stack_server *server = &stack->server[by_key[SERVER_ID].number];
    get_text(&by_key[SERVER_HOST], server->host, sizeof server->host);
    get_text(&by_key[SERVER_ADDRESS], server->address, sizeof server->address);
    get_text(&by_key[SERVER_PROBES], server->probes, sizeof server->probes);
    get_text(&by_key[SERVER_MISSING], server->missing, sizeof server->missing);
    get_text(&by_key[SERVER_BRICK], server->brick, sizeof server->brick);
    get_text(&by_key[SERVER_STORAGE], server->storage, sizeof server->storage);
    server->is_given = by_key[SERVER_GIVEN].data;
    get_text(&by_key[server->is_given ? SERVER_GIVEN : SERVER_BACKING], server->backing, sizeof server->backing);
    server->port = (unsigned)by_key[SERVER_PORT].number;
    server->pid = (pid_t)by_key[SERVER_PID].number;
    server->link = (pid_t)by_key[SERVER_LINK].number;
    server->link_ticks = by_key[SERVER_LINK_TICKS].number;
    server->start_ticks = by_key[SERVER_START_TICKS].number;
    return 0;
}

int stack_state_get(struct stack *stack, const struct bytes *notes) {
    *stack = (struct stack){0};
    struct fields_in in = fields_of(notes), body;
    unsigned kind;
    int more;
    while ((more = fields_next_record(&in, &kind, &body)) > 0) {
        if (kind == RECORD_STACK) FORWARD(get_stack(stack, body));
        if (kind == RECORD_SERVER) FORWARD(get_server(stack, body));
    }
    int code = more < 0 ? more : stack->servers ? 0 : ERR_FORMAT;
    if (code < 0) stack_forget(stack);
    return code;
}

int stack_state_read(struct stack *stack, const char *folder) {
    SCOPED(bytes_free) struct bytes notes = {0};
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/stack", folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int code = fd < 0 ? -errno : io_read_all(fd, &notes, NOTES_MOST);
    if (fd < 0) return code == -ENOENT && access(folder, F_OK) < 0 ? ERR_NOTHING : code;
    close(fd);
    return code < 0 ? code : stack_state_get(stack, &notes);
}

void stack_state_each(void (*visit)(const char *folder, void *context), void *context) {
    struct dirent **entry;
    char folder[PATH_MAX];
    int count = scandir(all_stacks, &entry, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(folder, sizeof folder, "%s/%s", all_stacks, entry[i]->d_name);
        if (strcmp(entry[i]->d_name, ".") && strcmp(entry[i]->d_name, "..")) visit(folder, context);
        free(entry[i]);
    }
    if (count >= 0) free(entry);
}
