// The stack that a job was recorded with.
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/varint.h"
#include "log/private.h"

enum { MAX_SERVERS = 1 << 16 };

static int64_t time_of(uint64_t ns) { return ns < INT64_MAX / 4 ? (int64_t)ns : INT64_MAX / 4; }

// "path, a zero byte, numbers" becomes text.
static int parse_placed(struct log *log, struct fields_in body, struct log_strings *placed) {
    FORWARD(log_parse_words(log, body, STACK_PLACED, placed));
    struct field field;
    size_t i = 0;
    while (fields_next(&body, &field) > 0) {
        if (field.key != STACK_PLACED) continue;
        char *text = (char *)placed->word[i++], *zero = memchr(text, 0, field.len);
        if (zero) *zero = ':';
    }
    return 0;
}

int log_parse_stack(struct log *log, struct fields_in body) {
    struct field f[STACK_UNJOINED + 1], field;
    FORWARD(fields_by_key(body, f, STACK_UNJOINED + 1));
    struct log_stack *stack = &log->stack;
    *stack = (struct log_stack){
        .shard_bytes = f[STACK_SHARD_BYTES].number,
        .redundancy = f[STACK_REDUNDANCY].number,
        .servers = f[STACK_SERVERS].number,
        .is_gone = f[STACK_GONE_NS].key,
        .gone_ns = time_of(f[STACK_GONE_NS].number),
    };
    FORWARD(log_parse_text(log, &f[STACK_NAME], &stack->name));
    FORWARD(log_parse_text(log, &f[STACK_LAYOUT], &stack->layout));
    FORWARD(log_parse_text(log, &f[STACK_MOUNT], &stack->mount));
    FORWARD(log_parse_text(log, &f[STACK_FILE_SYSTEM], &stack->file_system));
    FORWARD(log_parse_text(log, &f[STACK_CACHE], &stack->cache));
    FORWARD(log_parse_text(log, &f[STACK_UNJOINED], &stack->unjoined));
    FORWARD(parse_placed(log, body, &stack->placed));
    stack->device = arena_alloc(&log->arena, ((size_t)(body.end - body.at) + 1) * sizeof *stack->device);
    RETURN_IF(!stack->device, -ENOMEM);
    while (fields_next(&body, &field) > 0) {
        if (field.key == STACK_LAYERS && field.number < LAYER_COUNT) stack->layers |= 1u << field.number;
        if (field.key == STACK_DEVICE && field.number) stack->device[stack->devices++] = field.number;
    }
    log->has_stack = true;
    return 0;
}

static int parse_times(struct log *log, struct fields_in body, unsigned key, struct log_times *times) {
    struct fields_in again = body;
    struct field field;
    size_t count = 0;
    while (fields_next(&body, &field) > 0) count += field.key == key;
    if (!count) return 0;
    times->ns = arena_alloc(&log->arena, count * sizeof *times->ns);
    RETURN_IF(!times->ns, -ENOMEM);
    while (fields_next(&again, &field) > 0) {
        if (field.key == key) times->ns[times->count++] = time_of(field.number);
    }
    return 0;
}

int log_parse_server(struct log *log, struct fields_in body) {
    struct field f[SERVER_KEYS];
    FORWARD(fields_by_key(body, f, SERVER_KEYS));
    RETURN_IF(f[SERVER_ID].number >= MAX_SERVERS, ERR_FORMAT);
    struct log_server server = {
        .id = (uint32_t)f[SERVER_ID].number,
        .port = f[SERVER_PORT].number,
        .pid = f[SERVER_PID].number,
        .is_aligned = f[SERVER_CLOCK_OFFSET_NS].key,
        .clock_offset_ns = varint_unfold(f[SERVER_CLOCK_OFFSET_NS].number),
        .clock_error_ns = time_of(f[SERVER_CLOCK_ERROR_NS].number),
        .clock_drift = varint_unfold(f[SERVER_CLOCK_DRIFT].number),
    };
    FORWARD(log_parse_text(log, &f[SERVER_HOST], &server.host));
    FORWARD(log_parse_text(log, &f[SERVER_BRICK], &server.brick));
    FORWARD(log_parse_text(log, &f[SERVER_STORAGE], &server.storage));
    FORWARD(log_parse_text(log, &f[SERVER_MISSING], &server.missing));
    FORWARD(parse_times(log, body, SERVER_DISCONNECTED_NS, &server.lost));
    FORWARD(parse_times(log, body, SERVER_CONNECTED_NS, &server.back));
    return log_put_row(&log->servers, &log->server_by_id, server.id, &server, sizeof server);
}

int log_parse_below(struct log *log, struct fields_in body) {
    struct field f[UNTIED_WRITTEN + 1];
    FORWARD(fields_by_key(body, f, UNTIED_WRITTEN + 1));
    RETURN_IF(!call_layer_is_below((unsigned)f[UNTIED_LAYER].number), ERR_FORMAT);
    struct log_below below = {
        .layer = (unsigned)f[UNTIED_LAYER].number,
        .reason = (unsigned)f[UNTIED_REASON].number,
        .calls = f[UNTIED_CALLS].number,
        .bytes = {f[UNTIED_READ].number, f[UNTIED_WRITTEN].number},
    };
    return log_put_row(&log->below, NULL, 0, &below, sizeof below);
}
