// What a log says about the stack that the job was recorded with, without reading events.
#include <inttypes.h>

#include "base/human.h"
#include "base/json_keys.h"
#include "base/table.h"
#include "log/describe.h"
#include "summary/stack.h"

static const struct log_server *find_server(const struct log *log, size_t number) {
    for (size_t i = 0; i < log_server_count(log); i++) {
        if (log_server_at(log, i)->id == number) return log_server_at(log, i);
    }
    return NULL;
}

// --- JSON

static void key_times(struct json_out *json, const char *key, const struct log_times *times) {
    key_array(json, key);
    for (size_t i = 0; i < times->count; i++) json_seconds(json, times->ns[i]);
    json_close(json);
}

void stack_json_server(const struct log *log, size_t number, struct json_out *json) {
    static const struct log_server unknown;
    const struct log_server *server = find_server(log, number);
    if (!server) server = &unknown;
    json_members(json, m_text("host", server->host), m_number_if("port", server->port, server->port),
                 m_text("brick", server->brick), m_text("storage", server->storage), m_text("missing", server->missing),
                 m_number_if("pid", server->pid, server->pid),
                 m_seconds_if("clock_offset", server->is_aligned, server->clock_offset_ns),
                 m_seconds_if("clock_error", server->is_aligned, server->clock_error_ns),
                 m_double_if("clock_drift", server->is_aligned, (double)server->clock_drift / 1e9));
    key_times(json, "down", &server->lost);
    key_times(json, "up", &server->back);
}

static void json_sum(struct json_out *json, const struct log_below *below) {
    json_object(json);
    key_text(json, "layer", call_layer_name(below->layer));
    if (below->reason)
        json_members(json, m_text("reason", describe_untied(below->reason)),
                     m_text("why", describe_untied_why(below->reason)));
    json_members(json, m_number("calls", below->calls), m_number("bytes_read", below->bytes[DIRECTION_READ]),
                 m_number("bytes_written", below->bytes[DIRECTION_WRITE]));
    json_close(json);
}

static void key_sums(const struct log *log, const char *key, bool is_tied, struct json_out *json) {
    key_array(json, key);
    for (size_t i = 0; i < log_below_count(log); i++) {
        const struct log_below *below = log_below_at(log, i);
        if ((below->reason == UNTIED_NONE) == is_tied) json_sum(json, below);
    }
    json_close(json);
}

void stack_json_untied(const struct log *log, struct json_out *json) { key_sums(log, "untied", false, json); }

void stack_json_facts(const struct log *log, struct json_out *json) {
    static const struct log_stack unknown;
    const struct log_stack *stack = log_stack(log) ? log_stack(log) : &unknown;
    json_members(json, m_text("name", stack->name), m_text("layout", stack->layout),
                 m_number_if("shard_size", stack->shard_bytes, stack->shard_bytes),
                 m_number_if("redundancy", stack->redundancy, stack->redundancy), m_text("mount", stack->mount),
                 m_text("file_system", stack->file_system), m_text("cache", stack->cache),
                 m_seconds_if("gone", stack->is_gone, stack->gone_ns), m_text("unjoined", stack->unjoined));
    key_array(json, "placed");
    for (size_t i = 0; i < stack->placed.count; i++) json_text(json, stack->placed.word[i]);
    json_close(json);
    key_sums(log, "tied", true, json);
}

// --- words

static void print_connections(const struct log_server *server, FILE *out) {
    for (size_t i = 0; i < server->lost.count; i++) {
        fprintf(out, "  Server %" PRIu32 " was lost at %s", server->id, human_seconds(server->lost.ns[i]).text);
        size_t k = 0;
        while (k < server->back.count && server->back.ns[k] < server->lost.ns[i]) k++;
        bool is_back =
            k < server->back.count && (i + 1 == server->lost.count || server->back.ns[k] <= server->lost.ns[i + 1]);
        if (is_back) fprintf(out, " and back at %s", human_seconds(server->back.ns[k]).text);
        fputc('\n', out);
    }
}

static int untied_text(const struct log *log, FILE *out) {
    static const struct table_column columns[] = {{"NOT TIED", TABLE_TEXT}, {"CALLS", TABLE_NUMBER},
                                                  {"READ", TABLE_UNIT},     {"WRITTEN", TABLE_UNIT},
                                                  {"REASON", TABLE_TEXT},   {0}};
    bool has_some = false;
    for (size_t i = 0; i < log_below_count(log); i++) has_some = has_some || log_below_at(log, i)->reason;
    if (!has_some) return 0;
    struct table table = table_begin(out, columns);
    table.indent = 2;
    for (size_t i = 0; i < log_below_count(log); i++) {
        const struct log_below *below = log_below_at(log, i);
        if (!below->reason) continue;
        table_text(&table, call_layer_name(below->layer));
        table_number(&table, below->calls);
        for (unsigned d = 0; d < DIRECTION_COUNT; d++) table_bytes(&table, below->bytes[d]);
        table_text(&table, describe_untied_why(below->reason));
        table_row(&table);
    }
    return table_end(&table);
}

int stack_text_facts(const struct log *log, FILE *out) {
    const struct log_stack *stack = log_stack(log);
    if (stack) {
        fprintf(out, "  %s: %s, %s", stack->name ? stack->name : "unnamed",
                stack->file_system ? stack->file_system : "?", stack->layout ? stack->layout : "?");
        if (stack->shard_bytes) fprintf(out, " of %s", human_bytes(stack->shard_bytes).text);
        fprintf(out, " over %s", human_count(stack->servers, "server").text);
        if (stack->redundancy && stack->redundancy < stack->servers)
            fprintf(out, ", %" PRIu64 " of them redundant: %.3g bytes written for each", stack->redundancy,
                    (double)stack->servers / (double)(stack->servers - stack->redundancy));
        fprintf(out, ", at %s\n", stack->mount ? stack->mount : "?");
        if (stack->unjoined) fprintf(out, "  Its calls could not be joined with the program's: %s\n", stack->unjoined);
        if (stack->is_gone) fprintf(out, "  It ended at %s, before the job\n", human_seconds(stack->gone_ns).text);
    }
    for (size_t i = 0; i < log_server_count(log); i++) {
        const struct log_server *server = log_server_at(log, i);
        print_connections(server, out);
        if (server->missing)
            fprintf(out, "  What server %" PRIu32 " did is missing: %s\n", server->id, server->missing);
        if (server->is_aligned)
            fprintf(out, "  The clock of server %" PRIu32 " was aligned by %s, exact to %s\n", server->id,
                    human_seconds(server->clock_offset_ns).text, human_seconds(server->clock_error_ns).text);
    }
    return untied_text(log, out);
}
