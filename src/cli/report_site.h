// `ioseer report --month`: the jobs of a month.
#pragma once

#include <stdbool.h>

#include "cli/verb.h"

enum status report_site(const char *db, const char *month, bool is_html, const char *output);
