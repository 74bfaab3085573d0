#include "cli/moment.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/options.h"

static int parse_date(const char *text, int64_t *ns) {
    static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S",
                                          "%Y-%m-%dT%H:%M:%S"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct tm local = {.tm_isdst = -1};
        const char *end = strptime(text, formats[i], &local);
        if (!end || *end) continue;
        *ns = (int64_t)mktime(&local) * 1000000000;
        return 0;
    }
    return ERR_USAGE;
}

// Days and weeks, or what any duration can be.
static int parse_ago(const char *text, double *seconds) {
    char *end;
    double count = strtod(text, &end);
    bool is_days = !strcmp(end, "d") || !strcmp(end, "w");
    if (!is_days) return options_duration(text, seconds);
    RETURN_IF(end == text || !(count >= 0 && count < 100000), ERR_USAGE);
    *seconds = count * 86400 * (*end == 'w' ? 7 : 1);
    return 0;
}

int moment_parse(const char *text, int64_t *ns) {
    double seconds;
    if (parse_date(text, ns) == 0) return 0;
    RETURN_IF(parse_ago(text, &seconds) < 0 || seconds > 1e10, ERR_USAGE);
    *ns = (int64_t)clock_ns(CLOCK_REALTIME) - (int64_t)(seconds * 1e9);
    return 0;
}
