#include <string.h>

#include "base/varint.h"
#include "fmt/fields.h"
#include "rec/mpi/plugin.h"

enum { MOST_BYTES = 16 << 10, MOST_HINTS = 256 };

// Writes name, a zero byte, value. Leaves out what does not fit.
static void put_hint(struct fields_out *out, unsigned key, MPI_Info info, int number) {
    char text[MPI_MAX_INFO_KEY + 1 + MPI_MAX_INFO_VAL + 1];
    int found = 0;
    if (plugin.mpi.Info_get_nthkey(info, number, text) != MPI_SUCCESS) return;
    size_t name_len = strlen(text);
    if (plugin.mpi.Info_get(info, text, MPI_MAX_INFO_VAL, text + name_len + 1, &found) != MPI_SUCCESS || !found) return;
    size_t len = name_len + 1 + strlen(text + name_len + 1);
    if (len + 2 * VARINT_MAX_BYTES <= (size_t)(out->end - out->at)) fields_bytes(out, key, text, len);
}

static void put_hints(struct fields_out *out, unsigned key, MPI_Info info) {
    int count = 0;
    if (plugin.mpi.Info_get_nkeys(info, &count) != MPI_SUCCESS) return;
    for (int i = 0; i < count && i < MOST_HINTS; i++) put_hint(out, key, info, i);
}

uint32_t mpi_hints_of(MPI_Info info, const MPI_File *fh) {
    MPI_Info in_force;
    uint8_t *fields = plugin_scratch();
    if (!fields) return 0;
    struct fields_out out = {.at = fields, .end = fields + MOST_BYTES};
    if (info != plugin.no_info) put_hints(&out, HINTS_ASKED, info);
    if (fh && plugin.mpi.File_get_info(*fh, &in_force) == MPI_SUCCESS && in_force != plugin.no_info) {
        put_hints(&out, HINTS_IN_FORCE, in_force);
        plugin.mpi.Info_free(&in_force);
    }
    size_t len = (size_t)(out.at - fields);
    return len ? plugin.core->interned_number(RECORD_HINTS, fields, len) : 0;
}
