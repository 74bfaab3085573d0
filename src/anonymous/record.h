// A record of a log without what names users, machines, files and programs.
#pragma once

#include "anonymous/key.h"
#include "base/bytes.h"
#include "base/lookup.h"
#include "fmt/fields.h"
#include "log/log.h"

struct anonymous {
    const struct anonymous_key *key;
    const struct log *log;
    struct lookup by_record; // a file's place in the log, by its record id
    uint64_t moved_ns;       // by how much the job begins earlier: at midnight
    uint32_t last_file;      // number of the file record before, in the same block; 0 at its start
};

// A log that stays open and a key that stays. End it with anonymous_end, whatever this returns.
int anonymous_begin(struct anonymous *anonymous, struct log *log, const struct anonymous_key *key);
void anonymous_end(struct anonymous *anonymous);

// Makes the body of the record. Returns 1, 0 if nothing of it may stay, or a negative code: ERR_FORMAT on damage.
int anonymous_record(struct anonymous *anonymous, unsigned kind, struct fields_in in, struct bytes *out);
