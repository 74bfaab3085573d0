// The functions of libdw that pack/callsites.c calls.
#pragma once

#include <elfutils/libdwfl.h>

#include "late/late.h"

// clang-format off
#define LATE_LIBDW(X) \
    X(dwfl_begin) X(dwfl_end) X(dwfl_lineinfo) X(dwfl_module_addrinfo) X(dwfl_module_getsrc) X(dwfl_module_info) \
    X(dwfl_report_end) X(dwfl_report_offline)
// clang-format on

struct libdw {
    LATE_LIBDW(LATE_MEMBER)
    Dwfl_Callbacks callbacks; // of its own functions
};
