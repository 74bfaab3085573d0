// Packs a process with records of two probes, a client and one above the network; the log must be readable. The input
// has the beginning of each header, then records, half for each probe.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/test_pack_image.h"
#include "calls.h"
#include "fmt/probe.h"
#include "fuzz_log.h"
#include "pack/pack.h"

enum { FOLDED_HEADER_BYTES = 384 };

_Static_assert(sizeof(struct probe_header) <= FOLDED_HEADER_BYTES, "a folded header is whole");

// Replaces libc's function: nothing has to be on a disk.
int fdatasync(int fd) {
    (void)fd;
    return 0;
}

static void save(const char *directory, const char *name, const void *data, size_t bytes) {
    char path[96];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) return;
    if (write(fd, data, bytes) != (ssize_t)bytes) unlink(path);
    close(fd);
}

static void save_probe(const char *directory, const char *name, unsigned layer, const uint8_t *data, size_t len) {
    uint8_t *file = calloc(1, PROBE_HEADER_BYTES + len);
    struct probe_header *header = (struct probe_header *)file;
    if (!file || len < FOLDED_HEADER_BYTES) {
        free(file);
        return;
    }
    memcpy(file, data, FOLDED_HEADER_BYTES);
    memcpy(file + PROBE_HEADER_BYTES, data + FOLDED_HEADER_BYTES, len - FOLDED_HEADER_BYTES);
    header->magic = PROBE_MAGIC;
    header->version = PROBE_VERSION;
    header->layer = layer;
    header->host[sizeof header->host - 1] = 0;
    save(directory, name, file, PROBE_HEADER_BYTES + len - FOLDED_HEADER_BYTES);
    free(file);
}

static void save_process(const char *directory) {
    struct image image = image_new();
    image_put_file(image_chunk(&image, CHUNK_RECORDS), 1, "/file");
    image_put_run(image_chunk(&image, CHUNK_EVENTS), CALL_pwrite, 1, 20, 100);
    save(directory, "1" SPILL_SUFFIX, image.data, image.len);
    free(image.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    static char directory[] = "/tmp/ioseer-fuzz-XXXXXX";
    struct pack_result result;
    char name[64];
    struct log *log;
    if (len < 2 * FOLDED_HEADER_BYTES || !mkdtemp(directory)) return 0;
    save_process(directory);
    save_probe(directory, "1" PROBE_SUFFIX, LAYER_CLIENT, data, len / 2);
    save_probe(directory, "2" PROBE_SUFFIX, LAYER_NET, data + len / 2, len - len / 2);
    snprintf(name, sizeof name, "%s/log", directory);
    if (pack_directory(NULL, directory, name, NULL, &result) != 0) __builtin_trap();
    if (log_open(&log, name) != 0 || log_health(log)->truncated) __builtin_trap();
    fuzz_read_events(log);
    log_close(log);
    pack_remove_directory(directory);
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    return 0;
}
