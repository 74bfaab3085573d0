#include <errno.h>
#include <unistd.h>

#include "base/err.h"
#include "pack/bundle.h"
#include "pack/private.h"

// A spill that is damaged costs nothing but itself, a bundle that is cut off what is missing.
int pack_load_bundle(struct pack *pack, const char *name) {
    struct bundle_entry entry;
    uint64_t offset = 0, before = 0;
    int bundle = pack_open_file(pack, name), more = 0, code = 0;
    if (bundle == ERR_FORMAT || bundle == -ELOOP || bundle == -ENOENT) return 0;
    RETURN_IF(bundle < 0, bundle);
    while (code == 0 && (more = bundle_next(bundle, &offset, &entry)) > 0) {
        code = pack->process_count >= UINT32_MAX - 1 ? ERR_LIMIT : bundle_open(bundle, &entry);
        if (code != ERR_LIMIT) code = pack_add_spill(pack, code, entry.name, name, before);
        before = offset;
    }
    if (more < 0) pack->unreadable_bytes++;
    close(bundle);
    return code;
}

static int open_in_bundle(const struct pack *pack, const struct pack_process *process) {
    struct bundle_entry entry;
    uint64_t offset = process->bundle_offset;
    int bundle = pack_open_file(pack, process->bundle);
    RETURN_IF(bundle < 0, bundle);
    int code = bundle_next(bundle, &offset, &entry);
    if (code == 0) code = ERR_FORMAT;
    if (code > 0) code = bundle_open(bundle, &entry);
    close(bundle);
    return code;
}

int pack_open_spill(const struct pack *pack, const struct pack_process *process) {
    return process->bundle ? open_in_bundle(pack, process) : pack_open_file(pack, process->name);
}
