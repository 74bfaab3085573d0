// The log reader on a file of any bytes. Almost every changed byte breaks a checksum, so this target tests the code
// before the checksums and fuzz_blocks.c the code after them.
#include "fuzz_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    fuzz_read_log(data, len);
    return 0;
}
