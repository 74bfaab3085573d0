// The log reader on a file of whatever bytes. Almost every changed byte breaks a checksum: this one is about what comes
// before them, fuzz_blocks.c about what comes behind.
#include "fuzz_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_read_log(data, len);
    return 0;
}
