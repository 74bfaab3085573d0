// The folder of a site's logs. Everybody may write into it, so nothing in it is trusted but what belongs to the user or
// to root.
#pragma once

#include "pack/pack.h"
#include "site/settings.h"

// The path of a log by `log_name`, with all its folders made. A name that is taken gets a number.
int log_tree_name(const struct site_settings *settings, const struct pack_name *name, char path[4096],
                  struct problem *problem);
