// Layouts of Lustre: decodes any bytes, and what comes out survives the log's form.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "pack/lustre_layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct stripe stripes[LUSTRE_LAYOUT_MOST], again;
    int count = lustre_layout_decode(stripes, data, len);
    for (int i = 0; i < count; i++) {
        uint8_t stored[STRIPE_MAX_BYTES];
        size_t stored_len = (size_t)(stripe_put(stored, &stripes[i]) - stored);
        if (stripe_get(&again, stored, stored_len) != 0 || memcmp(&again, &stripes[i], sizeof again) != 0) abort();
    }
    return 0;
}
