#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "fmt/fields.h"
#include "rec/mpi/plugin.h"

enum { MOST_BYTES = 16 << 10, MOST_HINTS = 256 };

static struct {
    int (*get_info)(MPI_File, MPI_Info *); // local by the standard
    int (*free)(MPI_Info *);
    int (*key_count)(MPI_Info, int *);
    int (*key_at)(MPI_Info, int, char *);
    int (*get)(MPI_Info, const char *, int, char *, int *);
} mpi;

void mpi_hints_start(void)
{
    const struct mpi_core *core = plugin.core;
    *(void **)&mpi.get_info = core->symbol("PMPI_File_get_info");
    *(void **)&mpi.free = core->symbol("PMPI_Info_free");
    *(void **)&mpi.key_count = core->symbol("PMPI_Info_get_nkeys");
    *(void **)&mpi.key_at = core->symbol("PMPI_Info_get_nthkey");
    *(void **)&mpi.get = core->symbol("PMPI_Info_get");
}

// Writes name, a zero byte, value. Leaves out what does not fit.
static void put_hint(struct fields_out *out, unsigned key, MPI_Info info, int number)
{
    char text[MPI_MAX_INFO_KEY + 1 + MPI_MAX_INFO_VAL + 1];
    int found = 0;
    if (mpi.key_at(info, number, text) != MPI_SUCCESS) return;
    size_t name_len = strlen(text);
    if (mpi.get(info, text, MPI_MAX_INFO_VAL, text + name_len + 1, &found) != MPI_SUCCESS || !found) return;
    size_t len = name_len + 1 + strlen(text + name_len + 1);
    if (len + 2 * VARINT_MAX_BYTES <= (size_t)(out->end - out->at)) fields_bytes(out, key, text, len);
}

static void put_hints(struct fields_out *out, unsigned key, MPI_Info info)
{
    int count = 0;
    if (mpi.key_count(info, &count) != MPI_SUCCESS) return;
    for (int i = 0; i < count && i < MOST_HINTS; i++) put_hint(out, key, info, i);
}

uint32_t mpi_hints_of(MPI_Info info, const MPI_File *fh)
{
    MPI_Info in_force;
    uint8_t *fields = plugin_scratch();
    if (!fields) return 0;
    struct fields_out out = {.at = fields, .end = fields + MOST_BYTES};
    if (info != plugin.no_info) put_hints(&out, HINTS_ASKED, info);
    if (fh && mpi.get_info(*fh, &in_force) == MPI_SUCCESS && in_force != plugin.no_info) {
        put_hints(&out, HINTS_IN_FORCE, in_force);
        mpi.free(&in_force);
    }
    size_t len = (size_t)(out.at - fields);
    return len ? plugin.core->intern(RECORD_HINTS, fields, len) : 0;
}
