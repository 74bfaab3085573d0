// The volume files of a stack, and the programs that read them.
//
//   client:  [uncached >] probe > [shard >] distribute [> disperse] > (probe > protocol/client) per server
//   server:  protocol/server > (probe > io-threads > locks > probe > storage/posix) per client
//
// No translator that caches, delays or reads ahead: each call of the program is seen on its way down.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/locate.h"
#include "stack/private.h"

enum { SERVER_THREADS = 16 };

// --- programs

// It is in /usr/sbin, which is not on the PATH of every shell.
static int find_program(const char *name, char path[PATH_MAX], struct problem *problem) {
    if (locate_program(name, path)) return 0;
    snprintf(path, PATH_MAX, "/usr/sbin/%s", name);
    if (access(path, X_OK) == 0) return 0;
    return problem_set(problem, -ENOENT, name, "GlusterFS is missing (packages glusterfs-server and glusterfs-client)");
}

static int read_translator_folder(struct stack_programs *programs, struct problem *problem) {
    char command[PATH_MAX + 32];
    snprintf(command, sizeof command, "'%s' --print-xlatordir", programs->server);
    FILE *said = popen(command, "re");
    if (!said) return problem_code(problem, -errno, programs->server);
    bool got = fgets(programs->folder, sizeof programs->folder, said);
    pclose(said);
    programs->folder[strcspn(programs->folder, "\n")] = 0;
    // .../glusterfs/10.3/xlator
    const char *end = strrchr(programs->folder, '/'),
               *before = end ? memrchr(programs->folder, '/', (size_t)(end - programs->folder)) : NULL;
    if (!got || !before)
        return problem_set(problem, ERR_FORMAT, programs->server, "does not say where its translators are");
    snprintf(programs->version, sizeof programs->version, "%.*s", (int)(end - before - 1), before + 1);
    return 0;
}

// GlusterFS looks for TYPE.so in its own folder: the way from there to a translator of ours.
static int find_translator(const struct stack_programs *programs, const char *file, char type[PATH_MAX],
                           struct problem *problem) {
    char path[PATH_MAX], *at = type, *end = type + PATH_MAX;
    int code = locate_private_file(file, path);
    if (code < 0)
        return problem_set(
            problem, code, file,
            "missing: install ioseer-stack, or build ioseer with libglusterfs-dev, or use --plain --cache kernel");
    *strrchr(path, '.') = 0;
    for (const char *c = programs->folder; *c && end - at > 3; c++) {
        if (*c == '/' && c[1]) at = stpcpy(at, "../");
    }
    snprintf(at, (size_t)(end - at), "%s", path + 1);
    return 0;
}

int stack_find_programs(struct stack_programs *programs, const struct stack *stack, struct problem *problem) {
    FORWARD(find_program("glusterfsd", programs->server, problem));
    FORWARD(find_program("glusterfs", programs->client, problem));
    FORWARD(read_translator_folder(programs, problem));
    if (!stack->kernel_cache) FORWARD(find_translator(programs, "ioseer-uncached.so", programs->uncached, problem));
    return stack->layers ? find_translator(programs, "ioseer-probe.so", programs->probe, problem) : 0;
}

// --- volume files

struct volume_file {
    FILE *out;
    const struct stack *stack;
    const struct stack_programs *programs;
    unsigned client, server;
};

static void begin(const struct volume_file *file, const char *name, const char *type) {
    fprintf(file->out, "volume %s\n    type %s\n", name, type);
}

// Values that come from users are quoted; stack_up() has refused what quotes do not protect.
static void option(const struct volume_file *file, const char *name, const char *format, ...) {
    va_list words;
    fprintf(file->out, "    option %s \"", name);
    va_start(words, format);
    vfprintf(file->out, format, words);
    va_end(words);
    fprintf(file->out, "\"\n");
}

static void end(const struct volume_file *file, const char *subvolumes) {
    if (subvolumes) fprintf(file->out, "    subvolumes %s\n", subvolumes);
    fprintf(file->out, "end-volume\n\n");
}

struct volume_name {
    char text[32];
};

static struct volume_name name_of(const char *kind, unsigned number) {
    struct volume_name name;
    snprintf(name.text, sizeof name.text, "%s-%u", kind, number);
    return name;
}

static bool is_probed(const struct volume_file *file, enum call_layer layer) {
    return file->stack->layers >> layer & 1;
}

static void probe(const struct volume_file *file, enum call_layer layer, const char *name, const char *below) {
    unsigned number = stack_probe_number(file->stack, file->client, layer, file->server);
    begin(file, name, file->programs->probe);
    option(file, "file", "%s/%u" PROBE_SUFFIX, file->stack->probes, number);
    option(file, "control", "%s/control", file->stack->probes);
    option(file, "number", "%u", number);
    option(file, "layer", "%s", call_layer_name(layer));
    if (layer != LAYER_CLIENT) option(file, "server", "%u", file->server);
    end(file, below);
}

struct stack_export stack_export(const struct stack *stack, unsigned client, unsigned server) {
    struct stack_export path;
    const char *brick = stack->server[server].brick;
    // GlusterFS hides its own folder from its users.
    if (client)
        snprintf(path.text, sizeof path.text, "%s/.glusterfs/ioseer-%u", brick, client);
    else
        snprintf(path.text, sizeof path.text, "%s", brick);
    return path;
}

static struct volume_name write_export(const struct volume_file *file) {
    bool server_probe = is_probed(file, LAYER_SERVER), disk_probe = is_probed(file, LAYER_DISK);
    struct volume_name posix = name_of("posix", file->client), disk = name_of("disk", file->client),
                       locks = name_of("locks", file->client), threads = name_of("threads", file->client),
                       exported = name_of("export", file->client);
    begin(file, posix.text, "storage/posix");
    option(file, "directory", "%s", stack_export(file->stack, file->client, file->server).text);
    end(file, NULL);
    if (disk_probe) probe(file, LAYER_DISK, disk.text, posix.text);
    begin(file, locks.text, "features/locks");
    end(file, disk_probe ? disk.text : posix.text);
    begin(file, server_probe ? threads.text : exported.text, "performance/io-threads");
    option(file, "thread-count", "%d", SERVER_THREADS);
    end(file, locks.text);
    if (server_probe) probe(file, LAYER_SERVER, exported.text, threads.text);
    return exported;
}

static void write_server(struct volume_file *file, unsigned server) {
    const struct stack_server *about = &file->stack->server[server];
    char exports[STACK_CLIENTS_MOST * sizeof(struct volume_name)] = "";
    file->server = server;
    for (file->client = 0; file->client < file->stack->clients; file->client++) {
        if (!stack_has_server(&file->stack->client[file->client], server)) continue;
        size_t length = strlen(exports);
        snprintf(exports + length, sizeof exports - length, "%s%s", length ? " " : "", write_export(file).text);
    }
    begin(file, "tcp", "protocol/server");
    option(file, "transport-type", "tcp");
    option(file, "transport.address-family", "%s", strchr(about->address, ':') ? "inet6" : "inet");
    option(file, "transport.socket.bind-address", "%s", about->address);
    option(file, "transport.socket.listen-port", "%u", about->port);
    // The port is open to every user of the machine.
    for (unsigned i = 0; i < file->stack->clients; i++) {
        char name[64];
        snprintf(name, sizeof name, "auth.login.%s.allow", name_of("export", i).text);
        if (stack_has_server(&file->stack->client[i], server)) option(file, name, "ioseer");
    }
    option(file, "auth.login.ioseer.password", "%s", file->stack->password);
    end(file, exports);
}

static struct volume_name write_connection(const struct volume_file *file) {
    const struct stack_server *about = &file->stack->server[file->server];
    bool is_net_probed = is_probed(file, LAYER_NET);
    struct volume_name tcp = name_of("tcp", file->server), net = name_of("net", file->server);
    begin(file, tcp.text, "protocol/client");
    option(file, "transport-type", "tcp");
    option(file, "transport.address-family", "%s", strchr(about->address, ':') ? "inet6" : "inet");
    option(file, "remote-host", "%s", about->address);
    option(file, "remote-port", "%u", about->port);
    option(file, "remote-subvolume", "%s", name_of("export", file->client).text);
    option(file, "username", "ioseer");
    option(file, "password", "%s", file->stack->password);
    end(file, NULL);
    if (is_net_probed) probe(file, LAYER_NET, net.text, tcp.text);
    return is_net_probed ? net : tcp;
}

static void write_client(struct volume_file *file, unsigned client) {
    const struct stack *stack = file->stack;
    char below[STACK_SERVERS_MOST * sizeof(struct volume_name)] = "";
    const char *top = "distribute";
    unsigned count = 0;
    file->client = client;
    for (file->server = 0; file->server < stack->servers; file->server++) {
        if (!stack_has_server(&stack->client[client], file->server)) continue;
        size_t length = strlen(below);
        snprintf(below + length, sizeof below - length, "%s%s", length ? " " : "", write_connection(file).text);
        count++;
    }
    bool is_dispersed = stack->layout == LAYOUT_DISPERSE && count > 2 * stack->redundancy;
    if (is_dispersed) {
        begin(file, "disperse", "cluster/disperse");
        option(file, "redundancy", "%u", stack->redundancy);
        end(file, below);
    }
    begin(file, "distribute", "cluster/distribute");
    end(file, is_dispersed ? "disperse" : below);
    if (stack->layout == LAYOUT_SHARD) {
        begin(file, "shard", "features/shard");
        option(file, "shard-block-size", "%" PRIu64, stack->shard_bytes);
        end(file, top);
        top = "shard";
    }
    if (is_probed(file, LAYER_CLIENT)) {
        probe(file, LAYER_CLIENT, "client", top);
        top = "client";
    }
    if (stack->kernel_cache) return;
    begin(file, "uncached", file->programs->uncached);
    end(file, top);
}

static int write_volume(struct volume_file *file, const char *kind, unsigned number,
                        void (*write)(struct volume_file *file, unsigned number)) {
    struct stack_path path = stack_path(file->stack, "%s-%u.vol", kind, number);
    int fd = open(path.text, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    file->out = fd < 0 ? NULL : fdopen(fd, "w");
    RETURN_IF(!file->out, -errno);
    write(file, number);
    int code = ferror(file->out) ? -EIO : 0;
    return fclose(file->out) < 0 ? -errno : code;
}

int stack_write_volumes(const struct stack *stack, const struct stack_programs *programs) {
    struct volume_file file = {.stack = stack, .programs = programs};
    for (unsigned i = 0; i < stack->servers; i++) {
        if (stack_is_here(stack, i)) FORWARD(write_volume(&file, "server", i, write_server));
    }
    for (unsigned i = 0; i < stack->clients && !stack->only; i++)
        FORWARD(write_volume(&file, "client", i, write_client));
    return 0;
}
