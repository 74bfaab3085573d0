// The event stream decoder. The first bytes of the input are the chunk's start, the rest its payload.
#include <string.h>

#include "fmt/stream.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct stream_start start = {.stream = 1, .tid = 2};
    if (len < sizeof start.base) return 0;
    memcpy(&start.base, data, sizeof start.base);
    struct stream_decoder decoder;
    struct stream_event event;
    stream_decoder_init(&decoder, &start, data + sizeof start.base, len - sizeof start.base);
    while (stream_decode(&decoder, &event) == 1) fuzz_touch((const uint8_t *)&event.attribute_mask, 4);
    return 0;
}
