// `ioseer stack`: a GlusterFS of its own, with probes in it.
#include "stack/stack.h"

#include <stdio.h>
#include <string.h>

#include "base/json_keys.h"
#include "base/table.h"
#include "cli/option_rows.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "fmt/call.h"
#include "stack/options.h"

static struct {
    struct stack_options stack;
    bool force, json, quiet;
} options;

static const struct option_row rows[] = {
    {"servers", 0, OPTION_COUNT, &options.stack.servers, "N", "up: number of servers (default: 4)"},
    {"layout", 0, OPTION_CHOICE, &options.stack.layout, "distribute|shard|disperse",
     "up: distribute: a file is on one server; shard: its blocks are spread; disperse: erasure-coded over all servers "
     "(default: distribute)"},
    {"shard-size", 0, OPTION_SIZE, &options.stack.shard_bytes, "SIZE", "up: size of a block (default and least: 4M)"},
    {"redundancy", 0, OPTION_COUNT, &options.stack.redundancy, "N",
     "up: servers that disperse can lose (default: 1, from 6 servers on more)"},
    {"mount", 0, OPTION_TEXT, &options.stack.mount, "DIR",
     "up: an empty directory (default: one in the stack's folder)"},
    {"bricks", 0, OPTION_WORDS, &options.stack.bricks, "DIR...",
     "up: where each server keeps its data; it stays, unless with --block (default: in the stack's folder)"},
    {"hosts", 0, OPTION_TEXT, &options.stack.hosts, "LIST",
     "up: server i on host i: HOST[=ADDRESS],... (default: all on this one)"},
    {"remote", 0, OPTION_TEXT, &options.stack.remote, "COMMAND",
     "up: runs a program on {host} (default: ssh -o BatchMode=yes -o ConnectTimeout=10 {host})"},
    {"ports", 0, OPTION_TEXT, &options.stack.ports, "LIST",
     "up: ports of the servers, or that of the first (default: free ones)"},
    {"emulate", 0, OPTION_LIST, &options.stack.emulate, "[SERVER=]PRESET",
     "up: bricks on emulated storage, see ioseer emulate --presets"},
    {"block", 0, OPTION_LIST, &options.stack.block, "[SERVER=]SIZE", "up: bricks on throttled block devices of SIZE"},
    {"read-bw", 0, OPTION_LIST, &options.stack.read_bandwidth, "[SERVER=]SIZE",
     "up: with --emulate or --block, bytes read per second"},
    {"write-bw", 0, OPTION_LIST, &options.stack.write_bandwidth, "[SERVER=]SIZE",
     "up: with --emulate or --block, bytes written per second"},
    {"pin", 0, OPTION_LIST, &options.stack.pin, "DIR=SERVER",
     "up: files in DIR, a directory of the mount, are on this server only"},
    {"avoid", 0, OPTION_LIST, &options.stack.avoid, "DIR=SERVER", "up: files in DIR are not on this server"},
    {"layers", 0, OPTION_CHOICES, &options.stack.layers, "client|net|server|disk",
     "up: layers with probes, client among them (default: all)"},
    {"plain", 0, OPTION_FLAG, &options.stack.plain, NULL, "up: the same without probes"},
    {"cache", 0, OPTION_CHOICE, &options.stack.cache, "none|kernel",
     "up: none: every request reaches the file system; kernel: use the page cache (default: none)"},
    {"while", 0, OPTION_COUNT, &options.stack.owner, "PID",
     "up: only as long as this process runs (default: until stack down)"},
    {"force", 0, OPTION_FLAG, &options.force, NULL, "down: even if the mount is in use"},
    ROW_JSON(&options.json),
    ROW_QUIET(&options.quiet, "suppress ioseer's own messages"),
    {0},
};

static enum status failed(const char *name, struct problem *problem, int code) {
    return cli_problem("stack", name, problem, code);
}

// --- printing

static void print_json(struct json_out *json, const struct stack *stack) {
    struct stack_status status;
    stack_status(stack, &status);
    json_object(json);
    json_members(json, m_text("name", stack->name), m_text("mount", stack->client[0].mount),
                 m_bool("mount_ok", status.mount_ok), m_text("layout", stack_layout_names[stack->layout]),
                 m_number_if("shard_size", stack->layout == LAYOUT_SHARD, stack->shard_bytes),
                 m_number_if("redundancy", stack->layout == LAYOUT_DISPERSE, stack->redundancy),
                 m_text("glusterfs", stack->version), m_text("cache", stack->kernel_cache ? "kernel" : "none"),
                 m_number("recordings", status.recordings));
    key_array(json, "layers");
    for (unsigned i = 0; i < LAYER_COUNT; i++) {
        if (stack->layers >> i & 1) json_text(json, call_layer_name(i));
    }
    json_close(json);
    key_array(json, "placed");
    for (unsigned i = 1; i < stack->clients; i++) {
        json_object(json);
        key_text(json, "directory", stack->client[i].mount);
        key_array(json, "servers");
        for (unsigned j = 0; j < stack->servers; j++) {
            if (stack->client[i].servers >> j & 1) json_unsigned(json, j);
        }
        json_close(json);
        json_close(json);
    }
    json_close(json);
    key_array(json, "servers");
    for (unsigned i = 0; i < stack->servers; i++) {
        const struct stack_server *server = &stack->server[i];
        json_object_of(json, m_number("id", i), m_number("pid", (uint64_t)server->pid), m_text("host", server->host),
                       m_number("port", server->port), m_text("brick", server->brick),
                       m_text("storage", server->storage), m_bool("alive", stack_server_is_alive(server)));
    }
    json_close(json);
    json_close(json);
}

static void print_placed(FILE *out, const struct stack *stack) {
    for (unsigned i = 1; i < stack->clients; i++) {
        fprintf(out, "%s/: only on servers", strrchr(stack->client[i].mount, '/') + 1);
        for (unsigned j = 0; j < stack->servers; j++) {
            if (stack->client[i].servers >> j & 1) fprintf(out, " %u", j);
        }
        fprintf(out, "\n");
    }
}

static int print_text(FILE *out, const struct stack *stack) {
    static const struct table_column columns[] = {{"SERVER", TABLE_NUMBER},
                                                  {"PROCESS", TABLE_NUMBER},
                                                  {"HOST:PORT", TABLE_TEXT},
                                                  {"STORAGE", TABLE_TEXT},
                                                  {"STATE", TABLE_TEXT},
                                                  {"BRICK", TABLE_NAME},
                                                  {0}};
    struct stack_status status;
    stack_status(stack, &status);
    fprintf(out, "%s: %u server%s, %s%s, GlusterFS %s, mounted at %s%s\n", stack->name, stack->servers,
            stack->servers > 1 ? "s" : "", stack_layout_names[stack->layout], stack->layers ? "" : " without probes",
            stack->version, stack->client[0].mount, status.mount_ok ? "" : ", which does not answer");
    print_placed(out, stack);
    if (status.recordings)
        fprintf(out, "%u recording%s under way\n", status.recordings, status.recordings > 1 ? "s" : "");
    struct table table = table_begin(out, columns);
    for (unsigned i = 0; i < stack->servers; i++) {
        const struct stack_server *server = &stack->server[i];
        table_number(&table, i), table_number(&table, (uint64_t)server->pid);
        table_printf(&table, "%s:%u", server->host, server->port), table_text(&table, server->storage);
        table_text(&table, stack_server_is_alive(server) ? "alive" : "dead"), table_text(&table, server->brick);
        table_row(&table);
    }
    return table_end(&table);
}

static enum status show(const char *name) {
    struct problem problem = {0};
    struct stack stack;
    struct output output;
    int code = stack_find(&stack, name, &problem);
    if (code < 0) return failed(name, &problem, code);
    output_open(&output, "stack", NULL);
    if (options.json)
        print_json(output_json(&output, 3), &stack);
    else
        code = print_text(output.out, &stack);
    stack_forget(&stack);
    return output_end(&output, name, code);
}

// --- the four actions

static enum status up(const char *name) {
    struct problem problem = {0};
    struct stack stack;
    options.stack.name = name;
    int code = stack_from_options(&stack, &options.stack, &problem);
    if (code == 0) code = stack_up(&stack, &problem);
    stack_forget(&stack);
    if (code < 0) return failed(name, &problem, code);
    if (options.json) return show(name);
    if (!options.quiet)
        printf("%s: mounted at %s; to end it: ioseer stack down%s%s\n", name, stack.client[0].mount,
               strcmp(name, STACK_DEFAULT_NAME) ? " " : "", strcmp(name, STACK_DEFAULT_NAME) ? name : "");
    return STATUS_OK;
}

static enum status status(const char *name) { return show(name); }

static enum status down(const char *name) {
    struct problem problem = {0};
    int code = stack_down(name, options.force, &problem);
    if (code < 0) return failed(name, &problem, code);
    if (problem.why[0]) failed(name, &problem, code);
    return STATUS_OK;
}

static int list_one(const struct stack *stack, void *context) {
    struct output *output = context;
    if (output->json)
        print_json(output->json, stack);
    else
        fprintf(output->out, "%s\t%s\n", stack->name, stack->client[0].mount);
    return 0;
}

static enum status list(const char *name) {
    struct output output;
    if (name) return cli_usage("stack", name, "list takes no name");
    output_open(&output, "stack", NULL);
    struct json_out *json = options.json ? output_json(&output, 3) : NULL;
    if (json) json_object(json), key_array(json, "stacks");
    int code = stack_each(list_one, &output);
    if (json) json_close(json), json_close(json);
    return output_end(&output, "list", code);
}

static enum status stack_run(int argc, char **argv) {
    static const struct {
        const char *word;
        enum status (*run)(const char *name);
    } actions[] = {{"up", up}, {"status", status}, {"down", down}, {"list", list}};
    static const struct stack_options none;
    if (argc == 2 && !strcmp(argv[1], "remote"))
        return stack_remote_run() < 0 ? STATUS_FAILURE : STATUS_OK; // by another ioseer
    if (argc < 2) return cli_usage("stack", "up, status, down or list", "is needed");
    if (argc > 3) return cli_usage("stack", argv[3], "only one NAME is expected");
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(argv[1], actions[i].word)) continue;
        if (actions[i].run != up && memcmp(&options.stack, &none, sizeof none))
            return cli_usage("stack", argv[1], "has an option that is for up only");
        if (actions[i].run != down && options.force) return cli_usage("stack", "--force", "is for down only");
        return actions[i].run(argc == 3 ? argv[2] : actions[i].run == list ? NULL : STACK_DEFAULT_NAME);
    }
    return cli_usage("stack", argv[1], "must be up, status, down or list");
}

const struct verb verb_stack = {
    .name = "stack",
    .summary = "start a parallel file system with probes in it",
    .usage = "up [NAME] [OPTION]...\n"
             "status [NAME] [--json]\n"
             "down [NAME] [--force]\n"
             "list [--json]",
    .about = "Starts a GlusterFS of its own on this machine, with probes at the client, at the network and, on each\n"
             "server, at its top and above the disk. record --stack NAME then follows every call of a program down to\n"
             "the disks. NAME is 'default' if it is not given. Only root can start and end a stack.",
    .options = rows,
    .run = stack_run,
};
