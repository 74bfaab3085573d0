#include "model/phase_list.h"

#include <stdlib.h>

#include "base/err.h"

// Digits only: strtoul also accepts a sign and leading space. A number that is too large is larger than any phase.
static int parse_number(const char **text, size_t *number)
{
    char *end;
    RETURN_IF(**text < '0' || **text > '9', ERR_USAGE);
    *number = strtoul(*text, &end, 10);
    *text = end;
    return *number ? 0 : ERR_USAGE;
}

int phase_list_next(const char **list, size_t *first, size_t *last)
{
    const char *at = *list;
    if (!*at) return 0;
    FORWARD(parse_number(&at, first));
    *last = *first;
    if (*at == '-') {
        at++;
        FORWARD(parse_number(&at, last));
    }
    RETURN_IF(*last < *first || (*at && *at != ',') || (*at && !at[1]), ERR_USAGE);
    *list = *at ? at + 1 : at;
    return 1;
}

bool phase_list_has(const char *list, size_t id)
{
    size_t first, last;
    if (!list) return true;
    while (phase_list_next(&list, &first, &last) == 1) {
        if (first <= id && id <= last) return true;
    }
    return false;
}
