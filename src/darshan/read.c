// Header, job and names of a Darshan log.
#include "darshan/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "darshan/words.h"

enum { MOST_NAME_BYTES = 1 << 30, MOST_MOUNTS = 4096 };

static const char *const versions[] = {"3.00", "3.10", "3.20", "3.21", DARSHAN_NEWEST};

static ssize_t read_at(int fd, void *out, size_t len, off_t at) {
    ssize_t got;
    do got = pread(fd, out, len, at);
    while (got < 0 && errno == EINTR);
    return got;
}

// A version is a digit, a dot and two digits; then the magic number, in either byte order.
static bool is_header(const uint8_t *data, bool *is_swapped) {
    const char *text = (const char *)data;
    uint64_t magic = words_u64(data + DARSHAN_MAGIC_AT, false);
    *is_swapped = magic == __builtin_bswap64((uint64_t)DARSHAN_MAGIC);
    return text[0] >= '1' && text[0] <= '9' && text[1] == '.' && (*is_swapped || magic == (uint64_t)DARSHAN_MAGIC);
}

bool darshan_is_log(const char *path) {
    uint8_t data[DARSHAN_CODEC_AT];
    bool is_swapped;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return false;
    bool is_log = read_at(fd, data, sizeof data, 0) == (ssize_t)sizeof data && is_header(data, &is_swapped);
    close(fd);
    return is_log;
}

static int open_file(struct darshan_log *log, const char *path) {
    struct stat status;
    log->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    RETURN_IF(log->fd < 0, -errno);
    RETURN_IF(fstat(log->fd, &status) != 0, -errno);
    RETURN_IF(!S_ISREG(status.st_mode), S_ISDIR(status.st_mode) ? -EISDIR : ERR_FORMAT);
    log->size = (uint64_t)status.st_size;
    return 0;
}

// --- header

// The number of a module in version 3.41.
static unsigned module_of_slot(const struct darshan_log *log, unsigned slot) {
    if (strcmp(log->version, "3.20") < 0 && slot >= DARSHAN_H5D) slot++;
    if (log->is_old && slot >= DARSHAN_PNETCDF_VAR) slot++;
    return slot;
}

// A region beyond the end of the file is cut; the reader finds out when it comes there.
static struct darshan_place place_at(const struct darshan_log *log, const uint8_t *map) {
    struct darshan_place place = {words_u64(map, log->is_swapped), words_u64(map + 8, log->is_swapped)};
    if (place.len && place.at > log->size) place.at = log->size;
    return place;
}

static void read_maps(struct darshan_log *log, const uint8_t *data) {
    unsigned slots = log->is_old ? DARSHAN_OLD_SLOTS : DARSHAN_SLOTS;
    const uint8_t *maps = data + (log->is_old ? DARSHAN_OLD_MAPS_AT : DARSHAN_MAPS_AT);
    const uint8_t *module_versions = data + (log->is_old ? DARSHAN_OLD_VERSIONS_AT : DARSHAN_VERSIONS_AT);
    uint64_t partial = log->is_old ? words_u32(data + DARSHAN_OLD_PARTIAL_AT, log->is_swapped)
                                   : words_u64(data + DARSHAN_PARTIAL_AT, log->is_swapped);
    log->names_place = place_at(log, data + (log->is_old ? DARSHAN_OLD_NAMES_AT : DARSHAN_NAMES_AT));
    for (unsigned slot = 0; slot < slots; slot++) {
        unsigned id = module_of_slot(log, slot);
        log->place[id] = place_at(log, maps + slot * 16);
        log->module_version[id] = words_u32(module_versions + slot * 4, log->is_swapped);
        // Programs that merge logs set the bit of module 0, which has no records.
        if (partial >> slot & 1 && slot != DARSHAN_NULL) log->partial |= UINT64_C(1) << id;
    }
}

// The job begins right behind the header and ends where something else begins.
static void place_job(struct darshan_log *log, uint64_t header_bytes) {
    uint64_t end = log->names_place.len ? log->names_place.at : 0;
    for (unsigned id = 0; !end && id < DARSHAN_SLOTS; id++) end = log->place[id].len ? log->place[id].at : 0;
    if (!end || end > log->size) end = log->size;
    log->job_place = (struct darshan_place){header_bytes, end > header_bytes ? end - header_bytes : 0};
}

static int read_header(struct darshan_log *log, const char *path, struct problem *problem) {
    uint8_t data[DARSHAN_HEADER_BYTES] = {0};
    ssize_t got = read_at(log->fd, data, sizeof data, 0);
    RETURN_IF(got < 0, -errno);
    RETURN_IF(got < DARSHAN_CODEC_AT || !is_header(data, &log->is_swapped), ERR_FORMAT);
    memcpy(log->version, data, DARSHAN_VERSION_BYTES);
    bool is_known = false;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) is_known |= !strcmp(log->version, versions[i]);
    if (!is_known)
        return problem_set(problem, ERR_VERSION, path,
                           "a Darshan log of version %.8s; ioseer reads 3.00 to " DARSHAN_NEWEST, log->version);
    log->is_old = strcmp(log->version, DARSHAN_NEWEST) < 0;
    uint64_t header_bytes = log->is_old ? DARSHAN_OLD_HEADER_BYTES : DARSHAN_HEADER_BYTES;
    if ((uint64_t)got < header_bytes)
        return problem_set(problem, ERR_TRUNCATED, path, "a Darshan log that ends in its header");
    log->codec = data[DARSHAN_CODEC_AT];
    if (log->codec >= DARSHAN_CODECS)
        return problem_set(problem, ERR_FORMAT, path, "a Darshan log with an unknown compression (%u)", log->codec);
    read_maps(log, data);
    place_job(log, header_bytes);
    return 0;
}

// --- job

// Longer paths first, so that the first match is the best; others keep their order. Few logs have more than a hundred.
static void sort_mounts(struct darshan_mount *mounts, size_t count) {
    for (size_t i = 1; i < count; i++) {
        struct darshan_mount mount = mounts[i];
        size_t at = i;
        for (; at > 0 && strlen(mounts[at - 1].point) < strlen(mount.point); at--) mounts[at] = mounts[at - 1];
        mounts[at] = mount;
    }
}

// The text behind the numbers: the command, then a line TYPE, tab, PATH for each mount.
static int read_mounts(struct darshan_log *log, char *text) {
    size_t count = 0;
    struct darshan_mount *mounts;
    FORWARD(arena_array(&log->arena, mounts, MOST_MOUNTS));
    char *line = strchr(text, '\n');
    while (line && count < MOST_MOUNTS) {
        *line++ = 0;
        char *next = strchr(line, '\n'), *tab = strchr(line, '\t');
        if (tab && (!next || tab < next)) {
            *tab = 0;
            mounts[count++] = (struct darshan_mount){.type = line, .point = tab + 1};
        }
        line = next;
    }
    sort_mounts(mounts, count);
    log->job.mounts = mounts;
    log->job.mount_count = count;
    return 0;
}

static void read_job_numbers(struct darshan_log *log, const uint8_t *data) {
    int64_t n[DARSHAN_JOB_NUMBERS];
    unsigned count = log->is_old ? DARSHAN_OLD_JOB_NUMBERS : DARSHAN_JOB_NUMBERS;
    for (unsigned i = 0; i < count; i++) n[i] = (int64_t)words_u64(data + i * 8, log->is_swapped);
    struct darshan_job *job = &log->job;
    if (log->is_old)
        *job = (struct darshan_job){.user = n[0], .start_s = n[1], .end_s = n[2], .processes = n[3], .id = n[4]};
    else
        *job = (struct darshan_job){n[0], n[1], n[2], n[3], n[4], n[5], n[6], NULL, NULL, NULL, 0};
}

static int read_job(struct darshan_log *log) {
    struct darshan_region *region;
    struct bytes raw = {0};
    size_t numbers_bytes = (log->is_old ? DARSHAN_OLD_JOB_NUMBERS : DARSHAN_JOB_NUMBERS) * 8;
    FORWARD(darshan_region_open(&region, log->fd, &log->job_place, log->codec));
    int code = darshan_region_read_all(region, &raw, DARSHAN_JOB_BYTES);
    darshan_region_close(region);
    // Without compression, other things may follow in the same pages.
    if (code == ERR_LIMIT && log->codec == DARSHAN_PLAIN) code = 0;
    if (code == 0 && raw.len < numbers_bytes + DARSHAN_METADATA_BYTES) code = ERR_TRUNCATED;
    if (code == 0) {
        read_job_numbers(log, raw.data);
        size_t text_at = numbers_bytes + DARSHAN_METADATA_BYTES, text_len = raw.len - text_at;
        char *metadata = arena_alloc(&log->arena, DARSHAN_METADATA_BYTES + 1);
        char *text = arena_alloc(&log->arena, text_len + 1);
        if (metadata && text) {
            memcpy(metadata, raw.data + numbers_bytes, DARSHAN_METADATA_BYTES);
            memcpy(text, raw.data + text_at, text_len);
            log->job.metadata = metadata;
            log->job.command = text;
            code = read_mounts(log, text);
        } else {
            code = -ENOMEM;
        }
    }
    bytes_free(&raw);
    return code;
}

// --- names

static int add_name(struct darshan_log *log, uint64_t id, const uint8_t *data, size_t len) {
    uint32_t at = lookup_find(&log->name_by_id, id);
    if (at != LOOKUP_NONE && log->names[at].text[0]) return 0; // only an empty one is replaced
    char *text = arena_alloc(&log->arena, len + 1);
    RETURN_IF(!text, -ENOMEM);
    if (len) memcpy(text, data, len);
    if (at != LOOKUP_NONE) {
        log->names[at].text = text;
        return 0;
    }
    FORWARD(lookup_set(&log->name_by_id, id, (uint32_t)log->name_count));
    return array_push(log->names, log->name_count, (struct darshan_name){id, text});
}

// Version 3.00 has the length before the name, the others a zero byte behind it.
static int parse_names(struct darshan_log *log, const uint8_t *at, const uint8_t *end) {
    bool has_length = !strcmp(log->version, "3.00");
    while (end - at > 8) {
        uint64_t id = words_u64(at, log->is_swapped);
        size_t len;
        at += 8;
        if (has_length) {
            RETURN_IF(end - at < 4, ERR_TRUNCATED);
            len = words_u32(at, log->is_swapped);
            at += 4;
            RETURN_IF(len > (size_t)(end - at), ERR_TRUNCATED);
        } else {
            const uint8_t *zero = memchr(at, 0, (size_t)(end - at));
            RETURN_IF(!zero, ERR_TRUNCATED);
            len = (size_t)(zero - at);
        }
        FORWARD(add_name(log, id, at, len));
        at += len + !has_length;
    }
    return at == end ? 0 : ERR_TRUNCATED;
}

static int read_names(struct darshan_log *log) {
    struct darshan_region *region;
    struct bytes raw = {0};
    if (!log->names_place.len) return 0;
    FORWARD(darshan_region_open(&region, log->fd, &log->names_place, log->codec));
    int code = darshan_region_read_all(region, &raw, MOST_NAME_BYTES), parsed = 0;
    if (raw.len) parsed = parse_names(log, raw.data, raw.data + raw.len);
    darshan_region_close(region);
    bytes_free(&raw);
    RETURN_IF(parsed == -ENOMEM, parsed);
    log->names_damage = code < 0 ? code : parsed;
    return 0;
}

// --- the log

static int read_log(struct darshan_log *log, const char *path, struct problem *problem) {
    static const char *const codecs[DARSHAN_CODECS] = {"zlib", "bzip2", ""};
    FORWARD(open_file(log, path));
    FORWARD(read_header(log, path, problem));
    int code = read_job(log);
    if (code == ERR_USAGE)
        return problem_set(problem, ERR_NOTHING, path, "this build of ioseer has no %s, which compressed the log",
                           codecs[log->codec]);
    if (code == ERR_FORMAT || code == ERR_TRUNCATED || code == ERR_LIMIT)
        return problem_set(problem, code, path, "a Darshan log whose description of the job is damaged");
    FORWARD(code);
    return read_names(log);
}

int darshan_open(struct darshan_log **out, const char *path, struct problem *problem) {
    struct darshan_log *log = calloc(1, sizeof *log);
    *out = NULL;
    RETURN_IF(!log, problem_code(problem, -ENOMEM, path));
    log->fd = -1;
    int code = read_log(log, path, problem);
    if (code < 0) {
        darshan_close(log);
        return problem_code(problem, code, path);
    }
    *out = log;
    return 0;
}

void darshan_close(struct darshan_log *log) {
    if (!log) return;
    if (log->fd >= 0) close(log->fd);
    free(log->names);
    lookup_free(&log->name_by_id);
    arena_free(&log->arena);
    free(log);
}

const char *darshan_name(const struct darshan_log *log, uint64_t id) {
    uint32_t at = lookup_find(&log->name_by_id, id);
    return at == LOOKUP_NONE ? NULL : log->names[at].text;
}
