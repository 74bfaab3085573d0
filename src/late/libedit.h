// The functions of libedit that cli/query_prompt.c calls.
#pragma once

#include <histedit.h>

#include "late/late.h"

// clang-format off
#define LATE_LIBEDIT(X) \
    X(el_end) X(el_get) X(el_gets) X(el_init) X(el_set) X(el_source) X(history) X(history_end) X(history_init)
// clang-format on

struct libedit {
    LATE_LIBEDIT(LATE_MEMBER)
};
