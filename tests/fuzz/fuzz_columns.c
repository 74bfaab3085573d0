// Records column by column: reads any bytes as columns. What comes out must become columns again, and the same records.
#include <stdlib.h>
#include <string.h>

#include "fmt/columns.h"
#include "fuzz.h"

enum { MOST_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct bytes records = {0}, columns = {0}, again = {0};
    if (columns_to_records(data, len, MOST_BYTES, &records) == 0) {
        if (columns_from_records(records.data, records.len, &columns) != 0) abort();
        if (columns_to_records(columns.data, columns.len, MOST_BYTES, &again) != 0) abort();
        if (again.len != records.len || (again.len && memcmp(again.data, records.data, again.len) != 0)) abort();
    }
    bytes_free(&records);
    bytes_free(&columns);
    bytes_free(&again);
    return 0;
}
