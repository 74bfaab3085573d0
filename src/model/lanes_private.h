// What the parts of loading lanes share.
#ifndef IOSEER_MODEL_LANES_PRIVATE_H
#define IOSEER_MODEL_LANES_PRIVATE_H

#include "model/lanes.h"

// Gives each lane its program, rank and thread; lanes without operations go.
int lanes_find_programs(struct lanes *lanes, const struct log *log);

#endif
