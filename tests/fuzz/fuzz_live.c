// The follower of spills that are being written, in two looks: the second after the process's end.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "fuzz.h"
#include "live/live.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct live live = {.dir_fd = -1};
    struct live_process process = {.walked = SPILL_HEADER_BYTES, .fd = fuzz_file(data, len)};
    struct live_file others = {.name = strdup("others")};
    if (process.fd < 0 || array_push(live.file, live.files, others) < 0) return 0;
    for (unsigned look = 0; look < 2; look++) {
        live.left = 1 << 20;
        process.has_ended = look;
        if (pread(process.fd, &process.header, sizeof process.header, 0) < 0) break;
        live_follow_process(&live, &process);
        live_mark(&live);
    }
    process.fd = dup(process.fd); // the memory file is used again
    live_forget_process(&process);
    free(process.program);
    live_close(&live);
    return 0;
}
