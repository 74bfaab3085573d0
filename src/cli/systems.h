// Profiles of storage that findings tell gains on.
#pragma once

#include "base/options.h"
#include "cli/verb.h"
#include "findings/findings.h"

// Prints what is wrong with one of the files. Free `profiles` if it succeeds.
enum status systems_read(const char *verb, const struct option_list *paths, struct finding_profiles *profiles);
