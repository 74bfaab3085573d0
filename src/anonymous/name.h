// Texts without what they say. Each function appends to `out` and returns 0 or -ENOMEM. Equal texts become equal ones.
#pragma once

#include <stddef.h>

#include "anonymous/key.h"
#include "base/bytes.h"

// How deep a part of a name lies. The parts at the top name users and projects, also by numbers.
enum { NAME_PUBLIC_DEPTH = 3 };

// A path: each part between two `/` (or `@`, of attributes in a file) becomes twelve letters. Extensions stay; deeper
// than NAME_PUBLIC_DEPTH any short one, above only common ones. So do numbers of parts that lie so deep: those of at
// most four digits, and counters with zeros in front. `depth` is that of the first part.
int anonymous_name(const struct anonymous_key *key, unsigned depth, const void *text, size_t len, struct bytes *out);

// Twelve letters for all of it.
int anonymous_text(const struct anonymous_key *key, const void *text, size_t len, struct bytes *out);

// Words that every site has, such as names of file systems and libraries, and numbers and versions stay; others become
// letters. Words end at spaces, commas, `=` and the like.
int anonymous_words(const struct anonymous_key *key, const void *text, size_t len, struct bytes *out);

// A command: its first word and words that begin with `/` are paths, others letters, as in the list of words of a job.
int anonymous_command(const struct anonymous_key *key, const char *command, struct bytes *out);
