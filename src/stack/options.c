#include "stack/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/locate.h"
#include "base/process.h"
#include "stack/private.h"

enum { DEFAULT_SERVERS = 4, PORT_MOST = 65535 };

// A number that is all of the text, or up to `end`.
static bool number_of(const char *text, const char *end, unsigned long most, unsigned *number) {
    char *after;
    unsigned long value = strtoul(text, &after, 10);
    *number = (unsigned)value;
    return *text >= '0' && *text <= '9' && after == end && value <= most;
}

// --- servers

static unsigned count_hosts(const char *text) {
    unsigned count = 1;
    for (; (text = strchr(text, ',')); text++) count++;
    return count;
}

// It becomes part of a shell command and of a volume file, so it has no characters that mean something there, and is no
// option.
static bool is_host(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        RETURN_IF(!isalnum((unsigned char)text[i]) && !strchr(".-_:@%", text[i]), false);
    return length && *text != '-';
}

// "node1,node2=10.0.0.2": one host for each server.
static int set_hosts(struct stack *stack, const struct stack_options *options, struct problem *problem) {
    const char *at = options->hosts;
    if (!at && options->remote) return problem_set(problem, ERR_USAGE, "--remote", "needs --hosts");
    if (!at) return 0;
    if (count_hosts(at) != stack->servers)
        return problem_set(problem, ERR_USAGE, "--hosts", "%u hosts for %u servers", count_hosts(at), stack->servers);
    for (unsigned i = 0; i < stack->servers; i++) {
        struct stack_server *server = &stack->server[i];
        size_t length = strcspn(at, ","), name = strcspn(at, ",=");
        const char *address = name < length ? at + name + 1 : at;
        int address_length = (int)(at + length - address);
        if (!is_host(at, name) || !is_host(address, (size_t)address_length) || length >= sizeof server->host)
            return problem_set(problem, ERR_USAGE, options->hosts, "must be HOST[=ADDRESS],...");
        snprintf(server->host, sizeof server->host, "%.*s", (int)name, at);
        snprintf(server->address, sizeof server->address, "%.*s", address_length, address);
        at += length + (at[length] == ',');
        if (server->backing[0] && server->backing[0] != '/')
            return problem_set(problem, ERR_USAGE, server->backing, "bricks on other hosts need absolute names");
    }
    const char *remote = options->remote ? options->remote : "ssh -o BatchMode=yes -o ConnectTimeout=10 {host}";
    if (!remote[strspn(remote, " ")]) return problem_set(problem, ERR_USAGE, "--remote", "is empty");
    if (snprintf(stack->remote, sizeof stack->remote, "%s", remote) >= (int)sizeof stack->remote)
        return problem_set(problem, ERR_USAGE, "--remote", "at most %zu bytes", sizeof stack->remote - 1);
    int code = locate_ioseer(stack->ioseer);
    return code < 0 ? problem_code(problem, code, "ioseer") : 0;
}

static int set_servers(struct stack *stack, const struct stack_options *options, struct problem *problem) {
    const struct option_list *bricks = &options->bricks;
    uint64_t count = options->servers ? options->servers
                     : bricks->count  ? bricks->count
                     : options->hosts ? count_hosts(options->hosts)
                                      : DEFAULT_SERVERS;
    if (count > STACK_SERVERS_MOST)
        return problem_set(problem, ERR_USAGE, "--servers", "a stack has at most %d", STACK_SERVERS_MOST);
    if (bricks->count && bricks->count != count)
        return problem_set(problem, ERR_USAGE, "--bricks", "%zu directories for %u servers", bricks->count,
                           (unsigned)count);
    stack->server = calloc(count, sizeof *stack->server);
    if (!stack->server) return problem_code(problem, -ENOMEM, NULL);
    stack->servers = (unsigned)count;
    for (unsigned i = 0; i < count; i++) {
        struct stack_server *server = &stack->server[i];
        snprintf(server->host, sizeof server->host, "127.0.0.1");
        snprintf(server->address, sizeof server->address, "127.0.0.1");
        if (!bricks->count) continue;
        if (!*bricks->item[i]) return problem_set(problem, ERR_USAGE, "--bricks", "a name is empty");
        if (snprintf(server->backing, PATH_MAX, "%s", bricks->item[i]) >= PATH_MAX)
            return problem_code(problem, -ENAMETOOLONG, bricks->item[i]);
    }
    return 0;
}

// "7000,7005,7010", or the first of as many numbers in a row.
static int set_ports(struct stack *stack, const char *text, struct problem *problem) {
    const char *at = text;
    unsigned port = 0;
    for (unsigned i = 0; text && i < stack->servers; i++) {
        const char *end = strchrnul(at, ',');
        bool is_list = strchr(text, ',');
        bool is_good = !is_list && i ? ++port <= PORT_MOST : number_of(at, end, PORT_MOST, &port) && port;
        if (!is_good || (is_list && (*end == ',') != (i + 1 < stack->servers)))
            return problem_set(problem, ERR_USAGE, "--ports", "must be a port, or one for each of %u servers",
                               stack->servers);
        stack->server[i].port = port;
        at = *end ? end + 1 : end;
    }
    return 0;
}

// --- layout

static int set_layout(struct stack *stack, const struct stack_options *options, struct problem *problem) {
    const char *name = options->layout ? options->layout : stack_layout_names[LAYOUT_DISTRIBUTE];
    unsigned layout = 0;
    while (layout < LAYOUT_COUNT && strcmp(name, stack_layout_names[layout])) layout++;
    if (layout == LAYOUT_COUNT)
        return problem_set(problem, ERR_USAGE, "--layout", "must be distribute, shard or disperse");
    stack->layout = layout;
    if (options->shard_bytes && layout != LAYOUT_SHARD)
        return problem_set(problem, ERR_USAGE, "--shard-size", "needs --layout shard");
    if (options->redundancy && layout != LAYOUT_DISPERSE)
        return problem_set(problem, ERR_USAGE, "--redundancy", "needs --layout disperse");
    stack->shard_bytes = options->shard_bytes ? options->shard_bytes : STACK_SHARD_LEAST;
    if (stack->shard_bytes < STACK_SHARD_LEAST || stack->shard_bytes % 512)
        return problem_set(problem, ERR_USAGE, "--shard-size", "GlusterFS needs at least 4M, and a multiple of 512");
    stack->redundancy = options->redundancy ? (unsigned)options->redundancy : stack->servers / 6 + 1;
    if (layout == LAYOUT_DISPERSE && stack->servers <= 2 * stack->redundancy)
        return problem_set(problem, ERR_USAGE, "--layout disperse", "needs more than %u servers to lose %u",
                           2 * stack->redundancy, stack->redundancy);
    return 0;
}

static int set_layers(struct stack *stack, const struct stack_options *options, struct problem *problem) {
    const char *at = options->layers ? options->layers : "client,net,server,disk";
    if (options->plain && options->layers)
        return problem_set(problem, ERR_USAGE, "--layers", "there are none with --plain");
    while (!options->plain) {
        size_t length = strcspn(at, ",");
        unsigned layer = LAYER_CLIENT;
        while (layer <= LAYER_DISK &&
               (strlen(call_layer_name(layer)) != length || strncmp(at, call_layer_name(layer), length)))
            layer++;
        if (layer > LAYER_DISK)
            return problem_set(problem, ERR_USAGE, "--layers", "they are client, net, server and disk");
        stack->layers |= 1u << layer;
        if (!at[length]) break;
        at += length + 1;
    }
    if (options->plain || stack->layers >> LAYER_CLIENT & 1) return 0;
    return problem_set(problem, ERR_USAGE, "--layers", "calls below the client are tied by it: client is needed");
}

static int set_owner(struct stack *stack, uint64_t pid, struct problem *problem) {
    stack->owner = (pid_t)pid;
    stack->owner_ticks = pid && pid <= INT_MAX ? process_start_ticks(stack->owner) : 0;
    return !pid || stack->owner_ticks ? 0 : problem_set(problem, ERR_USAGE, "--while", "there is no such process");
}

// --- storage of the bricks

// Calls `set` for one server, "2=hdd", or for all. What is for one comes last, so that it overrides what is for all.
static int for_servers(struct stack *stack, const struct option_list *list, const char *option,
                       int (*set)(struct stack_server *server, const char *value, struct problem *problem),
                       struct problem *problem) {
    for (unsigned turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < list->count; i++) {
            const char *text = list->item[i], *equals = strchr(text, '=');
            unsigned chosen = 0;
            if (!equals != !turn) continue;
            if (equals && !number_of(text, equals, stack->servers - 1, &chosen))
                return problem_set(problem, ERR_USAGE, option, "%s: servers are 0 to %u", text, stack->servers - 1);
            for (unsigned server = 0; server < stack->servers; server++) {
                if (!equals || server == chosen)
                    FORWARD(set(&stack->server[server], equals ? equals + 1 : text, problem));
            }
        }
    }
    return 0;
}

static int set_preset(struct stack_server *server, const char *value, struct problem *problem) {
    const struct speed_preset *preset = speed_preset_named(value);
    if (!preset) return problem_set(problem, ERR_USAGE, value, "no such preset (ioseer emulate --presets lists them)");
#ifndef IOSEER_WITH_FUSE
    return problem_set(problem, ERR_USAGE, "--emulate", "not in this build: libfuse 3.14 was missing");
#endif
    server->kind = STORAGE_EMULATED;
    server->speed = preset->settings;
    snprintf(server->storage, sizeof server->storage, "emulated %s", value);
    return 0;
}

static int set_block(struct stack_server *server, const char *value, struct problem *problem) {
    if (options_size(value, &server->block_bytes) < 0 || !server->block_bytes)
        return problem_set(problem, ERR_USAGE, "--block", "%s is not a size", value);
    server->kind = STORAGE_THROTTLED;
    snprintf(server->storage, sizeof server->storage, "throttled xfs of %s", value);
    return 0;
}

static int set_bandwidth(struct stack_server *server, const char *value, uint64_t *bandwidth, const char *word,
                         struct problem *problem) {
    size_t length = strlen(server->storage);
    if (options_size(value, bandwidth) < 0 || !*bandwidth)
        return problem_set(problem, ERR_USAGE, value, "is not a bandwidth");
    if (server->kind == STORAGE_PLAIN)
        return problem_set(problem, ERR_USAGE, "--read-bw, --write-bw", "need --emulate or --block for that server");
    snprintf(server->storage + length, sizeof server->storage - length, ", %s %s/s", word, value);
    return 0;
}

static int set_read(struct stack_server *server, const char *value, struct problem *problem) {
    return set_bandwidth(server, value, &server->speed.read_bandwidth, "read", problem);
}

static int set_write(struct stack_server *server, const char *value, struct problem *problem) {
    return set_bandwidth(server, value, &server->speed.write_bandwidth, "write", problem);
}

static int set_storage(struct stack *stack, const struct stack_options *options, struct problem *problem) {
    FORWARD(for_servers(stack, &options->emulate, "--emulate", set_preset, problem));
    FORWARD(for_servers(stack, &options->block, "--block", set_block, problem));
    FORWARD(for_servers(stack, &options->read_bandwidth, "--read-bw", set_read, problem));
    return for_servers(stack, &options->write_bandwidth, "--write-bw", set_write, problem);
}

// --- directories on some of the servers

// The client of a directory; a new one has no servers yet. `inside` is its path below the mount point.
static struct stack_client *client_of(struct stack *stack, const char *inside) {
    for (unsigned i = 1; i < stack->clients; i++) {
        if (!strcmp(stack->client[i].mount, inside)) return &stack->client[i];
    }
    if (stack->clients == STACK_CLIENTS_MOST) return NULL;
    struct stack_client *client = &stack->client[stack->clients++];
    snprintf(client->mount, sizeof client->mount, "%s", inside);
    return client;
}

static int place(struct stack *stack, const char *option, const char *text, bool is_pin, struct problem *problem) {
    const char *equals = strrchr(text, '=');
    unsigned server;
    char inside[PATH_MAX];
    if (!equals || !number_of(equals + 1, strchr(equals, 0), stack->servers - 1, &server))
        return problem_set(problem, ERR_USAGE, option, "%s: must be DIR=SERVER with a server of 0 to %u", text,
                           stack->servers - 1);
    snprintf(inside, sizeof inside, "%.*s", (int)(equals - text), text);
    for (size_t length = strlen(inside); length && inside[length - 1] == '/';) inside[--length] = 0;
    if (!inside[0] || strchr(inside, '/') || !strcmp(inside, ".") || !strcmp(inside, ".."))
        return problem_set(problem, ERR_USAGE, option, "%s: must name a directory right below the mount point", text);
    struct stack_client *client = client_of(stack, inside);
    if (!client) return problem_set(problem, ERR_USAGE, option, "at most %d directories", STACK_CLIENTS_MOST - 1);
    uint64_t bit = UINT64_C(1) << server;
    if (!is_pin && !client->servers) client->servers = stack->client[0].servers;
    client->servers = is_pin ? client->servers | bit : client->servers & ~bit;
    if (client->servers) return 0;
    return problem_set(problem, ERR_USAGE, option, "%s: no server is left for that directory", text);
}

static int set_places(struct stack *stack, const struct stack_options *options, struct problem *problem) {
    stack->client[0].servers = UINT64_MAX >> (64 - stack->servers);
    stack->clients = 1;
    for (size_t i = 0; i < options->pin.count; i++) FORWARD(place(stack, "--pin", options->pin.item[i], true, problem));
    for (size_t i = 0; i < options->avoid.count; i++)
        FORWARD(place(stack, "--avoid", options->avoid.item[i], false, problem));
    return 0;
}

int stack_from_options(struct stack *stack, const struct stack_options *options, struct problem *problem) {
    *stack = (struct stack){0};
    if (stack_state_name(stack, options->name) < 0)
        return problem_set(problem, ERR_USAGE, *options->name ? options->name : "NAME",
                           "a name has at most %d letters, digits, '-', '_' and '.', and begins with a letter or digit",
                           STACK_NAME_MOST);
    if (options->mount && !*options->mount) return problem_set(problem, ERR_USAGE, "--mount", "its name is empty");
    if (options->mount && snprintf(stack->client[0].mount, PATH_MAX, "%s", options->mount) >= PATH_MAX)
        return problem_code(problem, -ENAMETOOLONG, options->mount);
    FORWARD(set_servers(stack, options, problem));
    FORWARD(set_hosts(stack, options, problem));
    FORWARD(set_ports(stack, options->ports, problem));
    FORWARD(set_layout(stack, options, problem));
    FORWARD(set_layers(stack, options, problem));
    stack->kernel_cache = options->cache && !strcmp(options->cache, "kernel");
    FORWARD(set_owner(stack, options->owner, problem));
    FORWARD(set_storage(stack, options, problem));
    return set_places(stack, options, problem);
}
