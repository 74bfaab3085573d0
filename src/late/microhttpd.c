#include "late/microhttpd.h"

LATE_EXPORTED const struct microhttpd late_functions = {LATE_MICROHTTPD(LATE_ADDRESS)};
