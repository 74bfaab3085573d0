#include "pack/callsites.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#ifdef HAVE_LIBDW
#include "late/libdw.h"
#endif

enum { MAX_LINE_BYTES = 512, MAX_MODULES = 1 << 12 };

struct callsites_module {
    char *path;
    bool tried; // to open
#ifdef HAVE_LIBDW
    Dwfl *dwfl;
    Dwfl_Module *object;
    uint64_t start; // of its image, where libdwfl put it
#endif
};

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

#ifdef HAVE_LIBDW

static const struct libdw *dw; // NULL until the first object, and if it is not there

// The path comes from a spill file: it may name anything, even a pipe.
static int open_regular(const char *path) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    if (fd >= 0 && (fstat(fd, &status) || !S_ISREG(status.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void open_object(struct callsites_module *module) {
    if (!dw) dw = late_load("libdw");
    int fd = dw ? open_regular(module->path) : -1;
    if (fd < 0) return;
    unsetenv("DEBUGINFOD_URLS"); // libdwfl would ask servers, which can take forever
    module->dwfl = dw->dwfl_begin(&dw->callbacks);
    if (!module->dwfl) {
        close(fd);
        return;
    }
    // libdwfl owns the descriptor from here on, unless it fails.
    module->object = dw->dwfl_report_offline(module->dwfl, base_name(module->path), module->path, fd);
    if (!module->object) close(fd);
    dw->dwfl_report_end(module->dwfl, NULL, NULL);
    Dwarf_Addr start = 0;
    if (module->object) dw->dwfl_module_info(module->object, NULL, &start, NULL, NULL, NULL, NULL, NULL);
    module->start = start;
}

// Replaces `out` if the debug information or the symbols say more. A return address may belong to the next line: the
// call itself is before it.
static void describe(const struct callsites_module *module, uint64_t address, char out[MAX_LINE_BYTES]) {
    if (!module->object) return;
    GElf_Addr call = module->start + address - 1;
    Dwfl_Line *line = dw->dwfl_module_getsrc(module->object, call);
    int number = 0;
    const char *file = line ? dw->dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
    if (file && number > 0) {
        snprintf(out, MAX_LINE_BYTES, "%s:%d", base_name(file), number);
        return;
    }
    GElf_Off offset;
    GElf_Sym symbol;
    const char *function = dw->dwfl_module_addrinfo(module->object, call, &offset, &symbol, NULL, NULL, NULL);
    if (function && *function) snprintf(out, MAX_LINE_BYTES, "%s+0x%" PRIx64, function, (uint64_t)offset + 1);
}

#endif

int64_t callsites_module(struct callsites *sites, const uint8_t *path, size_t len) {
    uint32_t number;
    RETURN_IF(len == 0 || memchr(path, 0, len), ERR_FORMAT);
    FORWARD(intern_add(&sites->paths, path, len, &number));
    if (number <= sites->count) return number - 1;
    RETURN_IF(sites->count >= MAX_MODULES, ERR_LIMIT);
    char *copy = strndup((const char *)path, len);
    RETURN_IF(!copy, -ENOMEM);
    FORWARD(array_push(sites->module, sites->count, (struct callsites_module){.path = copy}));
    return number - 1;
}

static int add_line(struct callsites *sites, struct callsites_module *module, uint64_t key, uint64_t address) {
    char line[MAX_LINE_BYTES];
    snprintf(line, sizeof line, "%s+0x%" PRIx64, base_name(module->path), address);
#ifdef HAVE_LIBDW
    if (!module->tried) open_object(module);
    module->tried = true;
    describe(module, address, line);
#endif
    size_t at = sites->text.len;
    RETURN_IF(at >= UINT32_MAX - MAX_LINE_BYTES, ERR_LIMIT);
    FORWARD(bytes_append(&sites->text, line, strlen(line) + 1));
    return lookup_set(&sites->known, key, (uint32_t)at);
}

const char *callsites_line(struct callsites *sites, size_t module, uint64_t address) {
    const uint64_t place[2] = {module, address};
    uint64_t key = hash_bytes(0, place, sizeof place);
    bool known = lookup_find(&sites->known, key) != LOOKUP_NONE;
    if (!known && add_line(sites, &sites->module[module], key, address) < 0) return NULL;
    return (const char *)sites->text.data + lookup_find(&sites->known, key);
}

void callsites_free(struct callsites *sites) {
    for (size_t i = 0; i < sites->count; i++) {
#ifdef HAVE_LIBDW
        if (sites->module[i].dwfl) dw->dwfl_end(sites->module[i].dwfl);
#endif
        free(sites->module[i].path);
    }
    free(sites->module);
    intern_free(&sites->paths);
    bytes_free(&sites->text);
    lookup_free(&sites->known);
    *sites = (struct callsites){0};
}
