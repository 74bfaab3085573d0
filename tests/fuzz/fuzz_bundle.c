// The reader of bundles, and of each spill file in one.
#include <unistd.h>

#include "base/bytes.h"
#include "fuzz.h"
#include "pack/bundle.h"
#include "pack/spill_read.h"

static void read_spill(int fd) {
    struct spill spill;
    struct bytes payload = {0};
    if (spill_read_file(fd, &spill) == 0) {
        for (size_t i = 0; i < spill.count; i++) {
            if (spill_read_payload(&spill, &spill.piece[i], &payload) == 0) fuzz_touch(payload.data, payload.len);
        }
    }
    bytes_free(&payload);
    spill_read_free(&spill);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct bundle_entry entry;
    uint64_t offset = 0;
    int bundle = fuzz_file(data, len);
    if (bundle < 0) return 0;
    while (bundle_next(bundle, &offset, &entry) > 0) {
        fuzz_touch((const uint8_t *)entry.name, sizeof entry.name);
        int spill = bundle_open(bundle, &entry);
        if (spill < 0) continue;
        read_spill(spill);
        close(spill);
    }
    return 0;
}
