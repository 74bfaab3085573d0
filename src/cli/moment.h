// A moment as people write it in an option.
#pragma once

#include <stdint.h>

// "2026-11-17", "2026-11-17 9:30", "2026-11-17T09:30:12" in local time, or how long ago: "30d", "2w", "12h". Gives
// nanoseconds since 1970. 0, or ERR_USAGE.
int moment_parse(const char *text, int64_t *ns);
#define MOMENT_WRONG "is not a moment, such as 2026-11-17, '2026-11-17 9:30' or 30d (ago)"
