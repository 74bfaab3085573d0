#include "rec/callsites.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "fmt/fields.h"
#include "rec/files.h"
#include "rec/recorder.h"
#include "rec/spill.h"

enum { SITES = 4096, MODULES = 256 };

static struct {
    uintptr_t caller;
    uint32_t generation; // of the spill file that has its record
} site[SITES];

static struct {
    const void *base;
    uint32_t generation;
} module[MODULES];

static _Atomic uint32_t lock;

static uint32_t module_number(const Dl_info *info) {
    for (uint32_t i = 0; i < MODULES; i++) {
        if (module[i].base == info->dli_fbase && module[i].generation == recorder.generation + 1) return i + 1;
        if (module[i].base && module[i].generation == recorder.generation + 1) continue;
        module[i].base = info->dli_fbase;
        module[i].generation = recorder.generation + 1;
        uint8_t buffer[FILES_NAME_MAX + 64];
        struct fields_out out = {.at = buffer, .end = buffer + sizeof buffer};
        fields_begin(&out, RECORD_MODULE);
        fields_number(&out, MODULE_ID, i + 1);
        fields_string(&out, MODULE_PATH, info->dli_fname);
        fields_number(&out, MODULE_BASE, (uintptr_t)info->dli_fbase);
        fields_end(&out);
        spill_record(buffer, (size_t)(out.at - buffer));
        return i + 1;
    }
    return 0;
}

static void announce(uint32_t number, uintptr_t caller, const Dl_info *info) {
    uint8_t buffer[64];
    struct fields_out out = {.at = buffer, .end = buffer + sizeof buffer};
    uint32_t in_module = module_number(info);
    fields_begin(&out, RECORD_CALLSITE);
    fields_number(&out, CALLSITE_ID, number);
    fields_number(&out, CALLSITE_MODULE, in_module);
    fields_number(&out, CALLSITE_ADDRESS, caller - (uintptr_t)info->dli_fbase);
    fields_end(&out);
    spill_record(buffer, (size_t)(out.at - buffer));
}

// The row of a caller, or a free row for it; SITES if the table is full.
static uint32_t row_of(uintptr_t caller) {
    uint32_t at = (uint32_t)((caller * 0x9e3779b97f4a7c15u) >> 52);
    for (uint32_t tried = 0; tried < SITES; tried++, at = (at + 1) % SITES) {
        if (!site[at].caller || site[at].caller == caller) return at;
    }
    return SITES;
}

static bool is_known(uintptr_t caller, uint32_t *row) {
    spin_lock(&lock);
    *row = row_of(caller);
    bool known = *row == SITES || site[*row].generation == recorder.generation + 1;
    spin_unlock(&lock);
    return known;
}

// dladdr is called without the lock: a thread that holds the loader's lock in a constructor may wait for this one.
uint32_t callsites_number(uintptr_t caller) {
    uint32_t row;
    Dl_info info;
    if (!caller) return 0;
    if (!is_known(caller, &row)) {
        bool found = dladdr((void *)caller, &info) && info.dli_fname;
        spin_lock(&lock);
        row = row_of(caller);
        if (row < SITES && site[row].generation != recorder.generation + 1) {
            if (found) announce(row + 1, caller, &info);
            site[row].caller = caller;
            site[row].generation = recorder.generation + 1;
        }
        spin_unlock(&lock);
    }
    return row < SITES ? row + 1 : 0;
}
