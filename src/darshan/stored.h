// Records of Darshan as ioseer's logs keep them (RECORD_IMPORTED), with all bits.
#pragma once

#include "base/bytes.h"
#include "darshan/record.h"
#include "fmt/fields.h"

// What the log says about a record besides its numbers.
struct darshan_stored {
    uint32_t file;    // the log's number; 0: none
    const char *name; // without a file; NULL: it has none
    size_t name_len;
    bool is_nameless; // the file's name was made up
};

// Bytes that suffice for one.
size_t darshan_stored_room(const struct darshan_record *record, const struct darshan_stored *stored);
void darshan_put_stored(struct fields_out *out, const struct darshan_record *record,
                        const struct darshan_stored *stored);
// record->more points into `words`; the name points into the body and has no zero byte at its end.
int darshan_get_stored(struct fields_in body, struct darshan_record *record, struct darshan_stored *stored,
                       struct bytes *words);

// A module of the imported log (IMPORT_MODULE).
enum darshan_state {
    DARSHAN_READ,    // all its records are in the log
    DARSHAN_UNKNOWN, // its records cannot be read
    DARSHAN_DAMAGED  // only those before the damage
};

struct darshan_part {
    uint64_t module;
    uint64_t version;
    uint64_t bytes; // compressed
    uint64_t state; // enum darshan_state
    uint64_t is_partial;
    uint64_t records;
    uint64_t left_out; // records that count what cannot be told apart
};

enum { DARSHAN_PART_ROOM = 80 };
void darshan_put_part(struct fields_out *out, unsigned key, const struct darshan_part *part);
int darshan_get_part(struct darshan_part *part, const uint8_t *data, size_t len);
