// Who uses a mount: processes that have a file or directory under it open, mapped, or as their own.
#pragma once

#include <stddef.h>

// Writes "fio (4711), bash (4712) and others" into `text`; an empty string where none is seen, which other users'
// processes may not be. The mount itself is not asked, it may hang.
void mount_users_text(const char *mount, char *text, size_t size);
