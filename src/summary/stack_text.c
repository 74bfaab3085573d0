// What the layers and servers of a stack did, in words and as JSON.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/human.h"
#include "base/json_keys.h"
#include "base/scoped.h"
#include "base/table.h"
#include "summary/stack.h"

static double throughput(const struct stack_server *server) {
    double bytes = (double)(server->bytes[DIRECTION_READ] + server->bytes[DIRECTION_WRITE]);
    return server->busy_ns ? bytes / ((double)server->busy_ns / 1e9) : 0;
}

// Of the bytes at all servers.
static double share_of(const struct summary_stack *stack, const struct stack_server *server) {
    double all = 0;
    for (size_t i = 0; i < stack->servers; i++)
        all += (double)(stack->server[i].bytes[DIRECTION_READ] + stack->server[i].bytes[DIRECTION_WRITE]);
    return all > 0 ? (double)(server->bytes[DIRECTION_READ] + server->bytes[DIRECTION_WRITE]) / all : 0;
}

// Without probes at the disks, how often and how long they were accessed is not known.
static bool has_disks(const struct summary_stack *stack) { return stack->lowest == LAYER_DISK; }

static int64_t mean_ns(int64_t ns, uint64_t calls) { return calls ? ns / (int64_t)calls : 0; }

// --- words

static int layers_text(const struct summary_stack *stack, FILE *out) {
    static const struct table_column columns[] = {{"LAYER", TABLE_TEXT},      {"CALLS", TABLE_NUMBER},
                                                  {"READ", TABLE_UNIT},       {"WRITTEN", TABLE_UNIT},
                                                  {"INCLUSIVE", TABLE_UNIT},  {"EXCLUSIVE", TABLE_UNIT},
                                                  {"CALL: MEAN", TABLE_UNIT}, {"LEAST", TABLE_UNIT},
                                                  {"MOST", TABLE_UNIT},       {0}};
    struct table table = table_begin(out, columns);
    table.indent = 2;
    for (unsigned layer = LAYER_NONE; (layer = stack_next_layer(stack, layer));) {
        const struct stack_layer *of = &stack->layer[layer];
        table_text(&table, call_layer_name(layer));
        table_count(&table, of->calls);
        for (unsigned d = 0; d < DIRECTION_COUNT; d++) table_bytes(&table, of->bytes[d]);
        table_duration(&table, of->time.inclusive_ns);
        table_duration(&table, of->time.exclusive_ns);
        table_duration(&table, mean_ns(of->ns, of->calls));
        table_duration(&table, of->shortest_ns);
        table_duration(&table, of->longest_ns);
        table_row(&table);
    }
    return table_end(&table);
}

static int differences_text(const struct summary_stack *stack, FILE *out) {
    static const struct table_column columns[] = {{"BYTES", TABLE_TEXT},   {"READ", TABLE_UNIT},
                                                  {"WRITTEN", TABLE_UNIT}, {"FILES", TABLE_NUMBER},
                                                  {"REASON", TABLE_TEXT},  {0}};
    struct stack_difference found[STACK_DIFFERENCES];
    size_t count = stack_differences(stack, found);
    if (!count) return 0;
    struct table table = table_begin(out, columns);
    table.indent = 2;
    for (size_t i = 0; i < count; i++) {
        table_printf(&table, "%s at %s", found[i].is_more ? "more" : "fewer", call_layer_name(found[i].layer));
        for (unsigned d = 0; d < DIRECTION_COUNT; d++) table_bytes(&table, found[i].bytes[d]);
        table_count(&table, found[i].files);
        table_text(&table, stack_cause_why(found[i].cause));
        table_row(&table);
    }
    return table_end(&table);
}

static int servers_text(const struct summary_stack *stack, FILE *out) {
    static const struct table_column columns[] = {
        {"SERVER", TABLE_NUMBER},   {"CALLS", TABLE_NUMBER}, {"READ", TABLE_UNIT}, {"WRITTEN", TABLE_UNIT},
        {"SHARE", TABLE_UNIT},      {"BUSY", TABLE_UNIT},    {"MEAN", TABLE_UNIT}, {"MOST", TABLE_UNIT},
        {"THROUGHPUT", TABLE_UNIT}, {"ENERGY", TABLE_UNIT},  {"", TABLE_TEXT},     {0}};
    struct table table = table_begin(out, columns);
    table.indent = 2;
    for (size_t i = 0; i < stack->servers; i++) {
        const struct stack_server *server = &stack->server[i];
        table_number(&table, i);
        table_count(&table, server->calls);
        for (unsigned d = 0; d < DIRECTION_COUNT; d++) table_bytes(&table, server->bytes[d]);
        table_percent(&table, share_of(stack, server));
        table_duration(&table, server->busy_ns);
        table_duration(&table, mean_ns(server->ns, server->calls));
        table_duration(&table, server->longest_ns);
        table_bandwidth(&table, throughput(server));
        if (has_disks(stack))
            table_printf(&table, "%.1f J", stack_energy(stack, server));
        else
            table_text(&table, NULL);
        table_text(&table, server->overload ? "overloaded" : "");
        table_row(&table);
    }
    return table_end(&table);
}

static void overloads_text(const struct summary_stack *stack, FILE *out) {
    for (size_t i = 0; i < stack->servers; i++) {
        const struct stack_server *server = &stack->server[i];
        if (server->overload == OVERLOAD_SLOW)
            fprintf(out,
                    "  Server %zu is overloaded: its requests take %.1f times as long as requests of the same kind "
                    "and size\n  at the others. That costs %s.\n",
                    i, server->slower, human_seconds(server->lost_ns).text);
        if (server->overload == OVERLOAD_CROWDED)
            fprintf(out,
                    "  Server %zu is overloaded: for %s of the %s in which it had requests, several waited for it\n"
                    "  while the other servers had none. If all servers shared them, that would take %s less.\n",
                    i, human_seconds(server->crowded_ns).text, human_seconds(server->any_ns).text,
                    human_seconds(server->lost_ns).text);
    }
}

int stack_text(const struct summary_stack *stack, FILE *out) {
    if (!stack->layer[stack->lowest].calls) return 0;
    fputs("  Times are sums over all processes; exclusive ones are without the layer below.\n", out);
    FORWARD(layers_text(stack, out));
    FORWARD(differences_text(stack, out));
    fprintf(out, "  %s of the program", human_count(stack->top_calls, "call").text);
    if (has_disks(stack))
        fprintf(out, "; %.1f disk accesses for one that moves data, at most %" PRIu64, stack_mean(&stack->accesses),
                stack->accesses.most);
    fputc('\n', out);
    if (stack->collectives.calls)
        fprintf(out, "  %s that moved data; %.1f servers for one, at most %" PRIu64 "\n",
                human_count(stack->collectives.calls, "collective call").text, stack_mean(&stack->collectives),
                stack->collectives.most);
    FORWARD(servers_text(stack, out));
    if (has_disks(stack))
        fprintf(out, "  Energy of the disks with %.4g W when busy and %.4g W otherwise%s\n", stack->watts.active,
                stack->watts.inactive, stack->watts.is_given ? "" : " (assumed; --watts)");
    overloads_text(stack, out);
    return 0;
}

// --- JSON

static void key_layers(const struct summary_stack *stack, const struct stack_layer *of, struct json_out *json) {
    key_array(json, "layers");
    for (unsigned layer = LAYER_NONE; (layer = stack_next_layer(stack, layer));) {
        const struct stack_layer *one = &of[layer];
        if (!one->calls) continue;
        json_object_of(json, m_text("layer", call_layer_name(layer)), m_number("calls", one->calls),
                       m_number("bytes_read", one->bytes[DIRECTION_READ]),
                       m_number("bytes_written", one->bytes[DIRECTION_WRITE]),
                       m_seconds("inclusive", one->time.inclusive_ns), m_seconds("exclusive", one->time.exclusive_ns),
                       m_seconds("latency_mean", mean_ns(one->ns, one->calls)),
                       m_seconds("latency_min", one->shortest_ns), m_seconds("latency_max", one->longest_ns));
    }
    json_close(json);
}

static void key_differences(const struct summary_stack *stack, struct json_out *json) {
    struct stack_difference found[STACK_DIFFERENCES];
    size_t count = stack_differences(stack, found);
    key_array(json, "differences");
    for (size_t i = 0; i < count; i++)
        json_object_of(json, m_text("layer", call_layer_name(found[i].layer)),
                       m_text("above", found[i].above ? call_layer_name(found[i].above) : "program"),
                       m_bool("more", found[i].is_more), m_number("bytes_read", found[i].bytes[DIRECTION_READ]),
                       m_number("bytes_written", found[i].bytes[DIRECTION_WRITE]), m_number("files", found[i].files),
                       m_text("reason", stack_cause_name(found[i].cause)),
                       m_text("why", stack_cause_why(found[i].cause)));
    json_close(json);
}

static void key_count(struct json_out *json, const char *key, const struct stack_count *count, bool is_known) {
    is_known = is_known && count->calls;
    json_key(json, key);
    json_object_of(json, m_number("calls", count->calls), m_double_if("mean", is_known, stack_mean(count)),
                   m_number_if("max", is_known, count->most));
}

static void process_json(const struct summary_stack *stack, const struct stack_process *of, struct json_out *json) {
    json_object(json);
    json_members(json, m_signed_if("rank", of->process->has_rank, of->process->rank), m_number("pid", of->process->pid),
                 m_number("calls", of->calls));
    key_layers(stack, of->layer, json);
    json_close(json);
}

static void longest_json(const struct summary_stack *stack, const struct stack_call *call, struct json_out *json) {
    json_object(json);
    json_members(json, m_number("id", call->id), m_text("op", call->call->name),
                 m_text("layer", call_layer_name(call->call->layer)),
                 m_signed_if("rank", call->process->has_rank, call->process->rank), m_number("pid", call->process->pid),
                 m_text("file", call->file ? call->file->name : NULL), m_seconds("start", call->start_ns),
                 m_seconds("duration", call->duration_ns), m_number("bytes", call->bytes),
                 m_number_if("disk_accesses", has_disks(stack), call->disk_accesses),
                 m_number("servers", call->servers));
    key_array(json, "layers");
    for (unsigned layer = LAYER_NONE; (layer = stack_next_layer(stack, layer));) {
        const struct stack_latency *time = &call->time[layer];
        if (time->inclusive_ns)
            json_object_of(json, m_text("layer", call_layer_name(layer)), m_seconds("inclusive", time->inclusive_ns),
                           m_seconds("exclusive", time->exclusive_ns));
    }
    json_close(json);
    json_close(json);
}

static void server_json(const struct summary_stack *stack, size_t number, struct json_out *json) {
    const struct stack_server *server = &stack->server[number];
    json_object(json);
    key_number(json, "id", number);
    stack_json_server(stack->log, number, json);
    json_members(json, m_number("calls", server->calls), m_number("bytes_read", server->bytes[DIRECTION_READ]),
                 m_number("bytes_written", server->bytes[DIRECTION_WRITE]), m_double("share", share_of(stack, server)),
                 m_seconds("busy", server->busy_ns), m_seconds("latency_mean", mean_ns(server->ns, server->calls)),
                 m_seconds("latency_max", server->longest_ns), m_double("throughput", throughput(server)),
                 m_double_if("energy", has_disks(stack), stack_energy(stack, server)),
                 m_bool("overloaded", server->overload), m_text("overload", stack_overload_name(server->overload)));
    json_members(json, m_seconds_if("lost", server->overload, server->lost_ns), m_number("requests", server->requests),
                 m_seconds("waited", server->any_ns), m_seconds("crowded", server->crowded_ns),
                 m_double_if("slower", server->slower > 0, server->slower));
    json_close(json);
}

static void key_energy(const struct summary_stack *stack, struct json_out *json) {
    double energy = 0, rate = 0;
    for (size_t i = 0; i < stack->servers; i++) {
        energy += stack_energy(stack, &stack->server[i]);
        rate += throughput(&stack->server[i]);
    }
    json_members(json, m_double("throughput", rate), m_double_if("energy", has_disks(stack), energy),
                 m_double("watts_active", stack->watts.active), m_double("watts_inactive", stack->watts.inactive),
                 m_bool("watts_assumed", !stack->watts.is_given));
}

static int by_rank(const void *a, const void *b) {
    const struct log_process *left = (*(const struct stack_process *const *)a)->process,
                             *right = (*(const struct stack_process *const *)b)->process;
    int order = log_process_compare(left, right);
    return order ? order : left < right ? -1 : left > right;
}

static int processes_json(const struct summary_stack *stack, struct json_out *json, size_t most) {
    size_t all = stack->process ? log_process_count(stack->log) : 0, count = 0;
    SCOPED_FREE const struct stack_process **order = malloc((all + 1) * sizeof *order);
    RETURN_IF(!order, -ENOMEM);
    for (size_t i = 0; i < all; i++) {
        if (stack->process[i].process) order[count++] = &stack->process[i];
    }
    qsort(order, count, sizeof *order, by_rank);
    key_array(json, "processes");
    for (size_t i = 0; i < count && i < most; i++) process_json(stack, order[i], json);
    json_close(json);
    return 0;
}

int stack_json(const struct summary_stack *stack, struct json_out *json, size_t most) {
    key_layers(stack, stack->layer, json);
    key_differences(stack, json);
    key_object(json, "calls");
    key_number(json, "count", stack->top_calls);
    key_count(json, "disk_accesses", &stack->accesses, has_disks(stack));
    key_count(json, "servers_per_collective", &stack->collectives, true);
    key_number(json, "unmatched", stack->unmatched);
    json_close(json);
    key_array(json, "servers");
    for (size_t i = 0; i < stack->servers; i++) server_json(stack, i, json);
    json_close(json);
    key_energy(stack, json);
    FORWARD(processes_json(stack, json, most));
    key_array(json, "longest");
    for (size_t i = 0; i < stack->longest_count && i < most; i++) longest_json(stack, &stack->longest[i], json);
    json_close(json);
    return 0;
}

bool stack_watts_parse(const char *text, struct stack_watts *watts) {
    int end = 0;
    struct stack_watts given = {.is_given = true};
    if (sscanf(text, "%lf,%lf%n", &given.active, &given.inactive, &end) != 2 || text[end]) return false;
    if (!(given.active >= 0 && given.inactive >= 0 && given.active < 1e6 && given.inactive < 1e6)) return false;
    *watts = given;
    return true;
}
