// The spill reader: header, chunks and every payload.
#include "base/bytes.h"
#include "fuzz.h"
#include "pack/spill_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct spill spill;
    struct bytes payload = {0};
    int fd = fuzz_file(data, len);
    if (fd < 0) return 0;
    if (spill_read_file(fd, &spill) == 0) {
        for (size_t i = 0; i < spill.count; i++) {
            if (spill_read_payload(&spill, &spill.piece[i], &payload) == 0) fuzz_touch(payload.data, payload.len);
        }
        spill_read_records_again(&spill);
    }
    bytes_free(&payload);
    spill_read_free(&spill);
    return 0;
}
