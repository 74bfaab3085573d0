// Folders of jobs without `record` lie where other users may write.
#pragma once

#include <limits.h>
#include <stdbool.h>

// Somebody else who owns the folder, or may write into it without the sticky bit, could replace what is in it. Only
// `own` ones are private.
bool folder_is_safe(const char *path, bool own);

// The user's own folder in `parent`, made if it is missing: nobody can put anything there beforehand.
bool folder_of_user(char path[PATH_MAX], const char *parent);
