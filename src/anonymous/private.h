// What the files that make records without names share.
#pragma once

#include "anonymous/record.h"

enum { ANONYMOUS_USER_BITS = 31, ANONYMOUS_RECORD_BITS = 53 };

// The record id that a file has by its new name.
int anonymous_record_id(const struct anonymous_key *key, const struct log_file *file, uint64_t *id);

// Fields of a record.
int anonymous_put_number(struct bytes *out, unsigned key, uint64_t value);
int anonymous_put_bytes(struct bytes *out, unsigned key, const struct bytes *text);

// imported.c: the bodies of RECORD_IMPORT and RECORD_IMPORTED.
int anonymous_import(const struct anonymous *anonymous, struct bytes *out);
int anonymous_imported(const struct anonymous *anonymous, struct fields_in in, struct bytes *out);
