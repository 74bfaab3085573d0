// Recordings of a stack. While one is under way, a file in the stack's folder of probes (its registration) says from
// which places on it needs the probes' records. Records that no registration needs are freed. A stack that ends keeps
// the folder for the recordings that still run, and the last of them removes it.
#include "stack/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/process.h"
#include "base/scoped.h"
#include "fmt/fields.h"
#include "fmt/records.h"
#include "stack/private.h"

enum {
    PATH_ROOM = PATH_MAX + 64,
    RECORD_ROOM = 1 << 13,
    COPY_BYTES = 1 << 20,
    FILE_MOST = 1 << 24,
    COLLECT_END_MS = 10000
};

static const char registration[] = "recording-";

struct recording {
    struct stack stack;
    struct stack_place *probe;
    unsigned probes;
    const char *except; // while others are asked what they need: a registration that is not
};

static void recording_free(struct recording *recording) {
    stack_forget(&recording->stack);
    free(recording->probe);
    recording->probe = NULL;
}

struct probe_path {
    char text[PATH_ROOM];
};

static struct probe_path probe_file(const char *folder, unsigned number) {
    struct probe_path path;
    snprintf(path.text, sizeof path.text, "%s/%u" PROBE_SUFFIX, folder, number);
    return path;
}

static struct probe_path registration_of(const struct stack *stack) {
    struct probe_path path;
    snprintf(path.text, sizeof path.text, "%s/%s%d-%" PRIu64, stack->probes, registration, (int)stack->recorder,
             stack->recorder_ticks);
    return path;
}

// --- the probes of a stack

static int add_probe(struct recording *recording, unsigned client, unsigned layer, unsigned server) {
    unsigned number = stack_probe_number(&recording->stack, client, layer, server);
    struct stack_place place = {.number = number, .layer = layer, .server = layer == LAYER_CLIENT ? 0 : server + 1};
    return array_push(recording->probe, recording->probes, place);
}

static int list_probes(struct recording *recording) {
    const struct stack *stack = &recording->stack;
    for (unsigned client = 0; client < stack->clients; client++) {
        for (unsigned layer = LAYER_CLIENT; layer <= LAYER_DISK; layer++) {
            for (unsigned server = 0; server < stack->servers; server++) {
                bool is_there = layer == LAYER_CLIENT ? server == 0 : stack_has_server(&stack->client[client], server);
                if (is_there && stack->layers >> layer & 1) FORWARD(add_probe(recording, client, layer, server));
            }
        }
    }
    return 0;
}

// The header of a probe's file; -ENOENT if there is none, as of a server that never started.
static int read_header(int fd, struct probe_header *header) {
    ssize_t got = pread(fd, header, sizeof *header, 0);
    RETURN_IF(got < 0, -errno);
    return got == sizeof *header && header->magic == PROBE_MAGIC && header->version == PROBE_VERSION ? 0 : ERR_FORMAT;
}

void stack_find_places(const char *probes, struct stack_place *places, unsigned count) {
    struct probe_header header;
    for (unsigned i = 0; i < count; i++) {
        int fd = open(probe_file(probes, places[i].number).text, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && read_header(fd, &header) == 0) {
            places[i].first = atomic_load(&header.next);
            places[i].lost = atomic_load(&header.lost);
        }
        if (fd >= 0) close(fd);
    }
}

// The server on whose host a probe is; NULL: this host.
static const struct stack_server *host_of(const struct stack *stack, const struct stack_place *probe) {
    bool is_servers = probe->server && probe->layer != LAYER_NET;
    return is_servers && stack->server[probe->server - 1].link ? &stack->server[probe->server - 1] : NULL;
}

// --- the file that describes a recording

static int put_probes(const struct recording *recording, struct bytes *out) {
    for (unsigned i = 0; i < recording->probes; i++) {
        const struct stack_place *probe = &recording->probe[i];
        const struct stack_server *where = host_of(&recording->stack, probe);
        const char *folder = where ? where->probes : recording->stack.probes;
        uint8_t *room = bytes_reserve(out, RECORD_ROOM);
        RETURN_IF(!room, -ENOMEM);
        struct fields_out fields = {.at = room, .end = room + RECORD_ROOM};
        fields_begin(&fields, RECORD_PROBE);
        fields_number(&fields, PROBE_NUMBER, probe->number);
        fields_number(&fields, PROBE_LAYER, probe->layer);
        if (probe->server) fields_number(&fields, PROBE_SERVER, probe->server);
        fields_string(&fields, PROBE_FILE, probe_file(folder, probe->number).text);
        fields_number(&fields, PROBE_FIRST, probe->first);
        if (probe->lost) fields_number(&fields, PROBE_LOST, probe->lost);
        if (where) fields_string(&fields, PROBE_HOST, where->host);
        fields_end(&fields);
        out->len += (size_t)(fields.at - room);
    }
    return 0;
}

static int write_description(const struct recording *recording, const char *path) {
    SCOPED(bytes_free) struct bytes text = {0};
    FORWARD(stack_state_put(&recording->stack, &text));
    FORWARD(put_probes(recording, &text));
    struct io_beside beside;
    FORWARD(io_beside_open(&beside, path, 0600));
    return io_beside_close(&beside, path, io_write_all(beside.fd, text.data, text.len));
}

static int get_probes(struct recording *recording, struct fields_in in) {
    struct fields_in body;
    struct field by_key[PROBE_LOST + 1];
    unsigned kind;
    int more;
    while ((more = fields_next_record(&in, &kind, &body)) > 0) {
        if (kind != RECORD_PROBE) continue;
        FORWARD(fields_by_key(body, by_key, PROBE_LOST + 1));
        struct stack_place place = {.number = (unsigned)by_key[PROBE_NUMBER].number,
                                    .layer = (unsigned)by_key[PROBE_LAYER].number,
                                    .server = (unsigned)by_key[PROBE_SERVER].number,
                                    .first = by_key[PROBE_FIRST].number,
                                    .lost = by_key[PROBE_LOST].number};
        RETURN_IF(place.server > recording->stack.servers, ERR_FORMAT);
        FORWARD(array_push(recording->probe, recording->probes, place));
    }
    return more;
}

static int read_description(struct recording *recording, const char *path) {
    SCOPED(bytes_free) struct bytes text = {0};
    struct stat about;
    *recording = (struct recording){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    // It names a command that runs ioseer on other hosts.
    bool is_ours = fstat(fd, &about) == 0 && about.st_uid == geteuid();
    int code = is_ours ? io_read_all(fd, &text, FILE_MOST) : -EPERM;
    close(fd);
    if (code >= 0) code = stack_state_get(&recording->stack, &text);
    if (code == 0) code = get_probes(recording, fields_of(&text));
    if (code < 0) recording_free(recording);
    return code;
}

// --- copying

// Copies the records of places from `first` up to `next`.
static int copy_records(int from, int to, uint64_t first, uint64_t next) {
    const size_t record_bytes = sizeof(struct probe_record);
    SCOPED_FREE char *buffer = malloc(COPY_BYTES);
    RETURN_IF(!buffer, -ENOMEM);
    while (first < next) {
        uint64_t wanted = (next - first) * record_bytes;
        ssize_t got = pread(from, buffer, wanted < COPY_BYTES ? (size_t)wanted : COPY_BYTES,
                            (off_t)(PROBE_HEADER_BYTES + first * record_bytes));
        RETURN_IF(got < 0, -errno);
        if (!got) return 0; // places that were claimed and not written
        FORWARD(io_write_all(to, buffer, (size_t)got));
        first += (size_t)got / record_bytes;
    }
    return 0;
}

static int copy_open_probe(int from, int to, const struct stack_place *place) {
    union {
        struct probe_header header;
        char page[PROBE_HEADER_BYTES];
    } start = {0};
    FORWARD(read_header(from, &start.header));
    start.header.first = place->first;
    start.header.lost -= start.header.lost < place->lost ? start.header.lost : place->lost;
    FORWARD(io_write_all(to, &start, sizeof start));
    return copy_records(from, to, place->first, atomic_load(&start.header.next));
}

static int copy_probe(int from, const char *path, const struct stack_place *place) {
    struct io_beside beside;
    FORWARD(io_beside_open(&beside, path, 0600));
    return io_beside_close(&beside, path, copy_open_probe(from, beside.fd, place));
}

// --- probes on other hosts

// The probes on the host of a server: at most two for each client.
static unsigned places_of(const struct recording *recording, unsigned server,
                          struct stack_place places[2 * STACK_CLIENTS_MOST]) {
    unsigned count = 0;
    for (unsigned i = 0; i < recording->probes && count < 2 * STACK_CLIENTS_MOST; i++) {
        if (host_of(&recording->stack, &recording->probe[i]) == &recording->stack.server[server])
            places[count++] = recording->probe[i];
    }
    return count;
}

static int begin_at(struct recording *recording, unsigned server, struct stack_link *link, struct problem *problem) {
    struct stack_place places[2 * STACK_CLIENTS_MOST];
    struct stack_server about = recording->stack.server[server];
    unsigned count = places_of(recording, server, places);
    struct problem why = {0};
    int code = stack_link_answer(link, &about, &why);
    if (code == -ENOENT) return 0; // it has just died
    if (code == 0) code = stack_link_read(link->fd, places, count * sizeof *places);
    for (unsigned i = 0; i < recording->probes && code == 0; i++) {
        for (unsigned j = 0; j < count; j++) {
            if (recording->probe[i].number != places[j].number) continue;
            recording->probe[i].first = places[j].first;
            recording->probe[i].lost = places[j].lost;
        }
    }
    return code == 0 ? 0 : problem_set(problem, code, about.host, "%s", why.why[0] ? why.why : err_text(code));
}

// What a dead server has recorded is lost.
static int begin_elsewhere(struct recording *recording, struct problem *problem) {
    const struct stack *stack = &recording->stack;
    struct stack_link link[STACK_SERVERS_MOST] = {0};
    struct stack_place places[2 * STACK_CLIENTS_MOST];
    int code = 0;
    for (unsigned i = 0; i < stack->servers && code == 0; i++) {
        if (places_of(recording, i, places) && stack_server_is_alive(&stack->server[i]))
            code = stack_link_open(&link[i], stack, i);
    }
    for (unsigned i = 0; i < stack->servers && code == 0; i++) {
        struct stack_request request = {ORDER_BEGIN, i, places, places_of(recording, i, places)};
        if (link[i].pid) code = stack_link_order(&link[i], stack, &request, problem);
    }
    for (unsigned i = 0; i < stack->servers && code == 0; i++) {
        if (link[i].pid) code = begin_at(recording, i, &link[i], problem);
    }
    for (unsigned i = 0; i < stack->servers; i++) stack_link_close(&link[i], 0);
    return code;
}

// A probe's file: its length, then what it contains; the length is 0 if there is none.
int stack_send_probe(int fd, const char *probes, const struct stack_place *place) {
    SCOPED_FREE char *buffer = malloc(COPY_BYTES);
    int file = memfd_create("probe", MFD_CLOEXEC),
        from = open(probe_file(probes, place->number).text, O_RDONLY | O_CLOEXEC);
    int code = buffer && file >= 0 && from >= 0 ? copy_open_probe(from, file, place) : -ENOENT;
    uint64_t length = code == 0 ? (uint64_t)lseek(file, 0, SEEK_END) : 0;
    code = stack_link_write(fd, &length, sizeof length);
    for (uint64_t at = 0; at < length && code == 0;) {
        ssize_t got = pread(file, buffer, COPY_BYTES, (off_t)at);
        code = got <= 0 ? -EIO : stack_link_write(fd, buffer, (size_t)got);
        at += got > 0 ? (uint64_t)got : 0;
    }
    if (from >= 0) close(from);
    if (file >= 0) close(file);
    return code;
}

static int receive_probe(int fd, const char *path) {
    SCOPED_FREE char *buffer = malloc(COPY_BYTES);
    uint64_t length;
    RETURN_IF(!buffer, -ENOMEM);
    FORWARD(stack_link_read(fd, &length, sizeof length));
    RETURN_IF(!length, 0);
    struct io_beside beside;
    FORWARD(io_beside_open(&beside, path, 0600));
    int code = 0;
    while (length && code == 0) {
        size_t piece = length < COPY_BYTES ? (size_t)length : COPY_BYTES;
        code = stack_link_read(fd, buffer, piece);
        if (code == 0) code = io_write_all(beside.fd, buffer, piece);
        length -= piece;
    }
    return io_beside_close(&beside, path, code);
}

// --- beginning

// The places are noted before the probes record, and while no other recording frees records.
static int enter(struct recording *recording, const char *path, struct problem *problem) {
    struct stack *stack = &recording->stack;
    struct stack_control control;
    FORWARD(stack_control_lock(&control, stack->probes));
    stack_find_places(stack->probes, recording->probe, recording->probes);
    int code = begin_elsewhere(recording, problem);
    if (code == 0) code = write_description(recording, registration_of(stack).text);
    if (code == 0) code = write_description(recording, path);
    if (code == 0) code = stack_control_enter(&control, stack->recorder, stack->recorder_ticks);
    if (code < 0) unlink(registration_of(stack).text);
    stack_control_unlock(&control);
    return code;
}

static int join(const struct stack *stack) {
    struct stack_control control;
    FORWARD(stack_control_lock(&control, stack->probes));
    int code = stack_control_enter(&control, stack->recorder, stack->recorder_ticks);
    stack_control_unlock(&control);
    return code;
}

static int find_stack(struct stack *stack, const char *name, struct problem *problem) {
    FORWARD(stack_find(stack, name, problem));
    if (!stack->layers)
        return problem_set(problem, ERR_NOTHING, name, "this stack has no probes: it was started with --plain");
    return geteuid() ? problem_set(problem, -EPERM, name, "only root can record a stack") : 0;
}

int stack_recording_check(const char *name, char mount[PATH_MAX], struct problem *problem) {
    SCOPED(stack_forget) struct stack stack = {0};
    FORWARD(find_stack(&stack, name, problem));
    strcpy(mount, stack.client[0].mount);
    return 0;
}

int stack_recording_begin(const char *name, const char *spill_dir, struct problem *problem) {
    SCOPED(recording_free) struct recording recording = {0};
    struct stack *stack = &recording.stack;
    char path[PATH_ROOM];
    FORWARD(find_stack(stack, name, problem));
    stack->recorder = getpid();
    stack->recorder_ticks = process_start_ticks(stack->recorder);
    snprintf(path, sizeof path, "%s/%s" STACK_SUFFIX, spill_dir, name);
    int code = realpath(spill_dir, stack->spill) ? list_probes(&recording) : -errno;
    if (code == 0) code = access(path, F_OK) == 0 ? join(stack) : enter(&recording, path, problem);
    if (code == ERR_LIMIT)
        return problem_set(problem, code, name, "%d recordings are under way already", PROBE_RECORDERS);
    return code < 0 ? problem_code(problem, code, name) : 0;
}

// --- freeing records

// Calls `visit` with each registration until it returns true; returns whether one did.
static bool each_registration(const char *probes, bool (*visit)(const char *path, const char *name, void *context),
                              void *context) {
    DIR *listing = opendir(probes);
    const struct dirent *entry;
    bool found = false;
    while (listing && !found && (entry = readdir(listing))) {
        char path[PATH_ROOM + 256];
        snprintf(path, sizeof path, "%s/%s", probes, entry->d_name);
        found = !strncmp(entry->d_name, registration, sizeof registration - 1) && visit(path, entry->d_name, context);
    }
    if (listing) closedir(listing);
    return found;
}

static bool is_of_living(const char *path, const char *name, void *context) {
    (void)path, (void)context;
    int pid;
    uint64_t ticks;
    return sscanf(name + sizeof registration - 1, "%d-%" SCNu64, &pid, &ticks) == 2 && stack_process_runs(pid, ticks);
}

bool stack_is_recorded(const char *probes) { return each_registration(probes, is_of_living, NULL); }

// Lowers the places up to which records may be freed to what a registration needs.
static bool lower(const char *path, const char *name, void *context) {
    (void)name;
    struct recording *free_up_to = context, other;
    if (free_up_to->except && !strcmp(path, free_up_to->except)) return false;
    if (read_description(&other, path) < 0) return false;
    // A recorder that was killed leaves its records to whoever packs its directory.
    bool is_lost = other.stack.spill[0] && access(other.stack.spill, F_OK) < 0 && errno == ENOENT &&
                   !stack_process_runs(other.stack.recorder, other.stack.recorder_ticks);
    if (is_lost) unlink(path);
    for (unsigned i = 0; i < other.probes && i < free_up_to->probes && !is_lost; i++) {
        if (other.probe[i].first < free_up_to->probe[i].first) free_up_to->probe[i].first = other.probe[i].first;
    }
    recording_free(&other);
    return false;
}

static bool is_over(const struct probe_record *record) { return !record->operation || atomic_load(&record->end_ns); }

// Frees whole segments before a place. Not one with a call that is not over: its probe still writes to it.
static void free_segments(const char *path, uint64_t before) {
    SCOPED_FREE struct probe_record *record = malloc(PROBE_SEGMENT_RECORDS * sizeof *record);
    const off_t bytes = PROBE_SEGMENT_RECORDS * sizeof *record;
    int fd = record ? open(path, O_RDWR | O_CLOEXEC) : -1;
    for (uint64_t segment = 0; fd >= 0 && (segment + 1) * PROBE_SEGMENT_RECORDS <= before; segment++) {
        off_t at = PROBE_HEADER_BYTES + (off_t)segment * bytes, data = lseek(fd, at, SEEK_DATA);
        if (data < 0) break;
        if (data >= at + bytes) {
            segment = (uint64_t)(data - PROBE_HEADER_BYTES) / (uint64_t)bytes - 1;
            continue;
        }
        bool done = pread(fd, record, (size_t)bytes, at) == bytes;
        for (unsigned i = 0; i < PROBE_SEGMENT_RECORDS && done; i++) done = is_over(&record[i]);
        if (done) fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, bytes);
    }
    if (fd >= 0) close(fd);
}

// Under the lock: no recording begins meanwhile.
static void free_records(const struct stack *stack) {
    struct recording free_up_to = {.stack = *stack};
    if (list_probes(&free_up_to) == 0) {
        stack_find_places(stack->probes, free_up_to.probe, free_up_to.probes);
        each_registration(stack->probes, lower, &free_up_to);
        for (unsigned i = 0; i < free_up_to.probes; i++) {
            struct stack_place *probe = &free_up_to.probe[i];
            if (!host_of(stack, probe)) free_segments(probe_file(stack->probes, probe->number).text, probe->first);
        }
    }
    free(free_up_to.probe);
}

void stack_free_unused(const char *probes, const struct stack_place *places, unsigned count) {
    struct stack_place now[2 * STACK_CLIENTS_MOST];
    struct stack_control control;
    if (count > 2 * STACK_CLIENTS_MOST || stack_control_lock(&control, probes) < 0) return;
    memcpy(now, places, count * sizeof *now);
    stack_find_places(probes, now, count);
    for (unsigned i = 0; i < count && !atomic_load(&control.page->recording); i++) {
        uint64_t before = now[i].first < places[i].needed ? now[i].first : places[i].needed;
        free_segments(probe_file(probes, now[i].number).text, before);
    }
    stack_control_unlock(&control);
}

// --- collecting

// Recordings that were killed need their records, too: the probes on other hosts do not know of them.
static void set_needed(const struct recording *recording, struct stack_place *places, unsigned count) {
    struct probe_path own = registration_of(&recording->stack);
    struct recording others = {.stack = recording->stack, .except = own.text};
    int code = list_probes(&others);
    for (unsigned i = 0; i < others.probes; i++) others.probe[i].first = UINT64_MAX;
    if (code == 0) each_registration(recording->stack.probes, lower, &others);
    for (unsigned i = 0; i < count; i++) {
        places[i].needed = 0;
        for (unsigned j = 0; j < others.probes && code == 0; j++) {
            if (others.probe[j].number == places[i].number) places[i].needed = others.probe[j].first;
        }
    }
    free(others.probe);
}

static bool has_records(const char *spill_dir, const struct stack_place *places, unsigned count) {
    struct stat about;
    for (unsigned i = 0; i < count; i++)
        RETURN_IF(lstat(probe_file(spill_dir, places[i].number).text, &about) < 0 || about.st_uid != geteuid(), false);
    return true;
}

// What a host does not give is missing, and the description says why. A stack that ends gives it before (save_one).
static void collect_at(struct recording *recording, unsigned server, const char *spill_dir) {
    struct stack_place places[2 * STACK_CLIENTS_MOST];
    struct stack_server *noted = &recording->stack.server[server], about = *noted;
    unsigned count = places_of(recording, server, places);
    struct stack_link link = {0};
    struct problem problem = {0};
    const struct stack_request request = {ORDER_COLLECT, server, places, count};
    if (!count || has_records(spill_dir, places, count)) return;
    int code = stack_server_is_alive(&about) ? stack_link_open(&link, &recording->stack, server) : -ENOTCONN;
    if (code == -ENOTCONN)
        problem_set(&problem, code, "", recording->stack.gone_ns ? "the stack had ended" : "the server had ended");
    set_needed(recording, places, count);
    if (code == 0) code = stack_link_order(&link, &recording->stack, &request, &problem);
    if (code == 0) code = stack_link_answer(&link, &about, &problem);
    for (unsigned i = 0; i < count && code == 0; i++)
        code = receive_probe(link.fd, probe_file(spill_dir, places[i].number).text);
    stack_link_close(&link, clock_now_ns() + COLLECT_END_MS * INT64_C(1000000));
    if (code < 0)
        snprintf(noted->missing, sizeof noted->missing, "%.*s", (int)sizeof noted->missing - 1,
                 problem.why[0] ? problem.why : err_text(code));
}

static int copy_probes(const struct recording *recording, const char *spill_dir) {
    for (unsigned i = 0; i < recording->probes; i++) {
        const struct stack_place *probe = &recording->probe[i];
        if (host_of(&recording->stack, probe)) continue;
        int from = open(probe_file(recording->stack.probes, probe->number).text, O_RDONLY | O_CLOEXEC);
        if (from < 0) continue; // its server never started, or the stack is gone with all its files
        int code = copy_probe(from, probe_file(spill_dir, probe->number).text, probe);
        close(from);
        RETURN_IF(code < 0 && code != ERR_FORMAT, code);
    }
    return 0;
}

// When a probe recorded its last calls, in the machine's time; 0: it has none.
static uint64_t last_seen_ns(const char *path, uint64_t first) {
    SCOPED_FREE struct probe_record *record = malloc(PROBE_SEGMENT_RECORDS * sizeof *record);
    struct probe_header header;
    uint64_t last_ns = 0;
    int fd = record ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    uint64_t next = fd >= 0 && read_header(fd, &header) == 0 ? atomic_load(&header.next) : 0;
    if (next > first + PROBE_SEGMENT_RECORDS) first = next - PROBE_SEGMENT_RECORDS;
    size_t bytes = next > first ? (size_t)(next - first) * sizeof *record : 0;
    ssize_t got = bytes ? pread(fd, record, bytes, (off_t)(PROBE_HEADER_BYTES + first * sizeof *record)) : 0;
    for (size_t i = 0; got > 0 && i < (size_t)got / sizeof *record; i++) {
        uint64_t end_ns = atomic_load(&record[i].end_ns);
        if (end_ns > last_ns) last_ns = end_ns;
    }
    if (fd >= 0) close(fd);
    return last_ns ? last_ns + (header.start.epoch_ns - header.start.mono_ns) : 0;
}

// When the stack ended: its last process noted it. If that was killed, too, the last call of a client is what is known;
// without any, it is now. 0: it is still there.
static uint64_t gone_since_ns(const struct recording *recording) {
    const struct stack *stack = &recording->stack;
    char path[PATH_ROOM];
    struct stat about;
    uint64_t last_ns = 0;
    snprintf(path, sizeof path, "%s/" STACK_GONE, stack->probes);
    if (stat(path, &about) == 0) return (uint64_t)about.st_mtim.tv_sec * 1000000000u + (uint64_t)about.st_mtim.tv_nsec;
    if (stack_guard_runs(stack->guard, stack->guard_ticks)) return 0;
    for (unsigned i = 0; i < recording->probes && stack_is_own_folder(stack->probes); i++) {
        const struct stack_place *probe = &recording->probe[i];
        if (probe->layer != LAYER_CLIENT) continue;
        uint64_t ns = last_seen_ns(probe_file(stack->probes, probe->number).text, probe->first);
        if (ns > last_ns) last_ns = ns;
    }
    return last_ns ? last_ns : clock_ns(CLOCK_REALTIME);
}

static void leave(const struct stack *stack, bool is_gone) {
    struct stack_control control;
    if (stack_control_lock(&control, stack->probes) == 0) {
        unlink(registration_of(stack).text);
        if (!is_gone) free_records(stack);
        stack_control_unlock(&control);
    }
    if (is_gone && !stack_is_recorded(stack->probes)) stack_remove_folder(stack->probes);
}

// The probes stop before their records are copied: no call is then missing that the program has seen return.
static void stop_probes(const struct stack *stack) {
    struct stack_control control;
    if (stack_control_lock(&control, stack->probes) < 0) return;
    stack_control_leave(&control, stack->recorder, stack->recorder_ticks);
    stack_control_leave(&control, getpid(), process_start_ticks(getpid()));
    stack_control_unlock(&control);
}

enum collect_why {
    COLLECT_OWN,
    COLLECT_RESCUE,
    COLLECT_ENDING
}; // by the recorder, after its death, before the stack's

// The file in the spill directory may be from anybody. It only tells which registration is meant, and where the probes
// are follows from that. All else is taken from the registration, which root has written.
static int collect_one(const char *path, const char *spill_dir, enum collect_why why) {
    SCOPED(recording_free) struct recording described, recording = {0};
    struct stack *stack = &described.stack;
    FORWARD(read_description(&described, path));
    if (stack->gone_ns || !stack->recorder) return 0; // done before
    if (why == COLLECT_RESCUE && stack_process_runs(stack->recorder, stack->recorder_ticks)) return 0;
    stack->gone_ns = gone_since_ns(&described);
    if (!stack->gone_ns && why == COLLECT_ENDING) stack->gone_ns = clock_ns(CLOCK_REALTIME);
    int code = stack_is_own_folder(stack->probes) ? read_description(&recording, registration_of(stack).text) : -ENOENT;
    if (code == -ENOENT) return stack->gone_ns ? write_description(&described, path) : 0; // done before
    RETURN_IF(code < 0, code);
    recording.stack.gone_ns = stack->gone_ns;
    stack = &recording.stack;
    stop_probes(stack);
    for (unsigned i = 0; i < stack->servers; i++) collect_at(&recording, i, spill_dir);
    FORWARD(copy_probes(&recording, spill_dir));
    struct recording collected = recording;
    collected.stack.recorder = 0;
    FORWARD(write_description(&collected, path));
    leave(stack, stack->gone_ns && why != COLLECT_ENDING); // what ends removes its folder itself
    return 0;
}

static int collect_all(const char *spill_dir, enum collect_why why, struct problem *problem) {
    DIR *listing = opendir(spill_dir);
    const struct dirent *entry;
    int code = 0;
    if (!listing) return problem_code(problem, -errno, spill_dir);
    while (code >= 0 && (entry = readdir(listing))) {
        const char *suffix = strrchr(entry->d_name, '.');
        char path[PATH_ROOM + 256];
        snprintf(path, sizeof path, "%s/%s", spill_dir, entry->d_name);
        if (suffix && !strcmp(suffix, STACK_SUFFIX)) code = collect_one(path, spill_dir, why);
        if (code < 0) problem_code(problem, code, path);
    }
    closedir(listing);
    return code;
}

int stack_recording_collect(const char *spill_dir, struct problem *problem) {
    return collect_all(spill_dir, COLLECT_OWN, problem);
}

int stack_recording_rescue(const char *spill_dir, struct problem *problem) {
    return collect_all(spill_dir, COLLECT_RESCUE, problem);
}

// Nobody can collect from other hosts later. What a living recorder gets from this one it copies itself.
static bool save_one(const char *path, const char *name, void *context) {
    (void)name, (void)context;
    struct recording recording;
    char described[PATH_ROOM + 256];
    if (read_description(&recording, path) < 0) return false;
    const struct stack *stack = &recording.stack;
    snprintf(described, sizeof described, "%s/%s" STACK_SUFFIX, stack->spill, stack->name);
    bool is_there = stack->spill[0] && access(described, F_OK) == 0;
    bool is_alive = stack_process_runs(stack->recorder, stack->recorder_ticks);
    if (is_there && !is_alive) collect_one(described, stack->spill, COLLECT_ENDING);
    for (unsigned i = 0; i < stack->servers && is_there && is_alive; i++) collect_at(&recording, i, stack->spill);
    recording_free(&recording);
    return false;
}

void stack_save_recordings(const char *probes) { each_registration(probes, save_one, NULL); }
