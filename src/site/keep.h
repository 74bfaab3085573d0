// Removes old logs.
#pragma once

#include "site/settings.h"

// Logs below `log_dir` that are older than `keep_days`: the user's own, or for root those of all users. Nothing without
// `keep_days`. Returns how many it removed, or a negative code.
int site_remove_old(const struct site_settings *settings);
