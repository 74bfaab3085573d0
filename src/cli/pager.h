// Long text on a terminal goes through a pager: $IOSEER_PAGER, else $PAGER, else less.
#pragma once

#include <stdio.h>

// A stream for text on standard output, or NULL if there is to be no pager. It holds back what fits on the screen, and
// starts the pager for more. fclose waits until the user leaves the pager; if they leave before the end, writes fail
// with EPIPE.
FILE *pager_open(void);
