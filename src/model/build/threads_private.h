// What the parts of loading lanes share.
#pragma once

#include "model/build/threads.h"

// Gives each lane its program, rank and thread; lanes without operations go.
int lanes_find_programs(struct lanes *lanes, const struct log *log);
