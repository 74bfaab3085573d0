// Who sees whose jobs of a catalogue.
#pragma once

#include <stdbool.h>

#include "base/problem.h"
#include "base/user.h"

// Root and members of `support_group` see all jobs, others those under their own name.
struct site_viewer {
    bool sees_all;
    char name[USER_NAME_BYTES];
};

// Of this process. A group that does not exist is ERR_USAGE with a problem.
int site_viewer(struct site_viewer *viewer, struct problem *problem);
