// The mounted file systems under the job's files, and how files lie on parallel ones: in words and as JSON.
#pragma once

#include <stdio.h>

#include "base/json_out.h"
#include "log/log.h"

const char *stripe_pattern_name(uint64_t pattern); // "raid0" …

// Two tables, indented by 2: the mounts, and what NFS clients did; then what could not be read. Mounts that hosts have
// in common are one row, with the sums of their NFS clients.
int mounts_text(const struct log *log, FILE *out);

// The member "mounts", with at most `most` of them.
void mounts_json(const struct log *log, struct json_out *json, size_t most);

// The member "stripe" of a file: null if nothing is known.
void mounts_json_stripe(const struct log_file *file, struct json_out *json);
