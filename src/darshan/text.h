// The counters of a record under the names and in the order of Darshan's text output.
#pragma once

#include "darshan/record.h"

// Receives each counter.
typedef void darshan_value(const char *counter, const char *value, void *context);

// Also where Darshan's parser misreads what is there: then the text has what the parser prints. `is_swapped`: the log
// was written by a machine of the other byte order.
void darshan_print_record(const struct darshan_record *record, bool is_swapped, darshan_value *print, void *context);

// Records of DAOS have their own place and name; empty for others.
struct darshan_place_text {
    char name[48];
    char mount[80];
};
struct darshan_place_text darshan_place_text(const struct darshan_record *record);

// What stands for the name of a record that has none.
const char *darshan_no_name(unsigned module);
