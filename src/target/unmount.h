// Unmounting, also for those who may only do it through FUSE's helper.
#pragma once

#include <stdbool.h>

// 0 also where nothing is mounted there any more. Lazily: who uses it keeps it, nobody else sees it.
int unmount(const char *mount, bool lazily);

// A use must last a second to count: files are let go a moment after they were closed.
int unmount_patiently(const char *mount);
