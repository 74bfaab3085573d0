// Tagged records: reads every record and every field of any bytes.
#include "fmt/fields.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct fields_in in = {.at = data, .end = data + len};
    struct fields_in body;
    struct field field;
    unsigned kind;
    while (fields_next_record(&in, &kind, &body) == 1) {
        while (fields_next(&body, &field) == 1) {
            if (field.is_bytes) fuzz_touch(field.data, field.len);
        }
    }
    return 0;
}
