#include "late/libpq.h"

LATE_EXPORTED const struct libpq late_functions = {LATE_LIBPQ(LATE_ADDRESS)};
