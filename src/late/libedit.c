#include "late/libedit.h"

LATE_EXPORTED const struct libedit late_functions = {LATE_LIBEDIT(LATE_ADDRESS)};
