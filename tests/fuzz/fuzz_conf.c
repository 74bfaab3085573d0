// Lines of ioseer.conf: keys and values lie inside the text, and line numbers rise.
#include <stdlib.h>

#include "base/conf.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    const char *at = (const char *)data, *end = at + len;
    struct conf_line line;
    unsigned number = 0, before = 0;
    if (!len) return 0;
    while (conf_next(&at, end, &number, &line)) {
        if (line.number <= before) abort();
        before = line.number;
        fuzz_touch((const uint8_t *)line.key, line.key_len);
        if (line.value) fuzz_touch((const uint8_t *)line.value, line.value_len);
    }
    conf_find((const char *)data, end, "log_dir", &line);
    return 0;
}
