// The functions of libmicrohttpd that view/http.c calls.
#pragma once

#include <microhttpd.h>

#include "late/late.h"

// clang-format off
#define LATE_MICROHTTPD(X) \
    X(MHD_add_response_header) X(MHD_create_response_from_buffer) X(MHD_destroy_response) \
    X(MHD_get_connection_info) X(MHD_get_daemon_info) X(MHD_lookup_connection_value) X(MHD_queue_response) \
    X(MHD_start_daemon) X(MHD_stop_daemon)
// clang-format on

struct microhttpd {
    LATE_MICROHTTPD(LATE_MEMBER)
};
