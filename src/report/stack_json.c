#include "report/stack_json.h"

#include "base/err.h"
#include "base/json_keys.h"
#include "report/layers.h"

// A server's time and bytes in `together` bins each. With many servers there are fewer intervals: the document has a
// limit.
static void server_json(const struct stack_server *server, size_t number, size_t together, struct json_out *json) {
    json_object(json);
    key_number(json, "id", number);
    key_array(json, "busy");
    for (size_t i = 0; i < STACK_BINS; i += together) {
        int64_t ns = 0;
        for (size_t k = i; k < i + together && k < STACK_BINS; k++) ns += server->bin[k].busy_ns;
        json_seconds(json, ns);
    }
    json_close(json);
    key_array(json, "bytes");
    for (size_t i = 0; i < STACK_BINS; i += together) {
        uint64_t bytes = 0;
        for (size_t k = i; k < i + together && k < STACK_BINS; k++) bytes += server->bin[k].bytes;
        json_unsigned(json, bytes);
    }
    json_close(json);
    json_close(json);
}

static void servers_json(const struct summary_stack *stack, struct json_out *json) {
    enum { MOST_BINS = 2400 }; // of all servers
    size_t together = 1 + stack->servers * STACK_BINS / MOST_BINS;
    key_double(json, "bin_seconds", (double)stack->run_ns / 1e9 / STACK_BINS * (double)together);
    key_array(json, "servers");
    for (size_t i = 0; i < stack->servers; i++) server_json(&stack->server[i], i, together, json);
    json_close(json);
}

// One list per call: the page has to hold many.
static int tree_json(const struct summary_stack *stack, const struct stack_call *call, struct json_out *json,
                     size_t most) {
    struct layer_tree tree = {.most = most};
    int code = layer_tree_read(&tree, stack->log, call->id, call->start_ns);
    if (code == ERR_NOTHING) code = 0;
    json_object(json);
    key_number(json, "id", call->id);
    key_array(json, "rows");
    for (size_t i = 0; i < tree.count && !code; i++) {
        const struct log_event *event = &tree.call[i].event;
        uint32_t server = tree.call[i].server;
        bool moves = log_class_moves(event->call->class);
        json_array_of(json, m_signed(NULL, layer_tree_parent(&tree, i)), m_text(NULL, event->call->name),
                      m_text(NULL, call_layer_name(event->call->layer)),
                      m_number_if(NULL, server != LOG_NO_SERVER, server),
                      m_seconds(NULL, event->start_ns - call->start_ns), m_seconds(NULL, event->duration_ns),
                      m_number_if(NULL, moves, log_event_bytes(event)));
    }
    json_close(json);
    key_number(json, "cut", tree.found - tree.count);
    json_close(json);
    layer_tree_free(&tree);
    return code;
}

int stack_page_json(const struct summary_stack *stack, struct json_out *json, size_t most) {
    static const char *const columns[] = {"parent", "op", "layer", "server", "start", "duration", "bytes"};
    if (!stack_has(stack)) {
        json_null(json);
        return 0;
    }
    json_object(json);
    servers_json(stack, json);
    key_texts(json, "columns", columns, sizeof columns / sizeof *columns);
    key_array(json, "trees");
    // The first ones in detail.
    for (size_t i = 0; i < stack->longest_count && most > i; i++)
        FORWARD(tree_json(stack, &stack->longest[i], json, most / (i + 1)));
    json_close(json);
    json_close(json);
    return 0;
}
