// iterate LOG: reads all events of a log in the order of their starts and prints their number and a sum over them.
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "log/iter.h"

int main(int argc, char **argv) {
    struct log *log;
    struct log_iter *iter;
    const struct log_event *event;
    if (argc != 2) return 2;
    int code = log_open(&log, argv[1]);
    if (code == 0) code = log_iter_open(&iter, log, NULL);
    if (code < 0) {
        fprintf(stderr, "iterate: %s: %s\n", argv[1], err_text(code));
        return 1;
    }
    uint64_t events = 0, sum = 0;
    while ((code = log_iter_next(iter, &event)) > 0) {
        events++;
        sum += event->raw.offset + (uint64_t)event->duration_ns;
    }
    printf("%" PRIu64 " %" PRIu64 "\n", events, sum);
    log_iter_close(iter);
    log_close(log);
    return code < 0;
}
