#include "log/iter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "log/source.h"

enum { ITER_EVENTS = 64 };

struct log_iter {
    struct log_matcher matcher;
    struct log_source source;
    struct log_batch batch;
    size_t at; // index of the next event in the batch
};

static int open_iter(struct log_iter *iter, struct log *log, const struct log_filter *filter) {
    const struct log_place *const *places;
    FORWARD(log_matcher_init(&iter->matcher, log, filter));
    FORWARD(log_batch_init(&iter->batch, ITER_EVENTS));
    size_t count = log_event_places(log, iter->matcher.filter.process, &places);
    return log_source_open(&iter->source, log, &iter->matcher, places, count, (struct log_source_options){0});
}

int log_iter_open(struct log_iter **out, struct log *log, const struct log_filter *filter) {
    struct log_iter *iter = calloc(1, sizeof *iter);
    *out = NULL;
    RETURN_IF(!iter, -ENOMEM);
    int code = open_iter(iter, log, filter);
    if (code < 0) {
        log_iter_close(iter);
        return code;
    }
    *out = iter;
    return 0;
}

int log_iter_next(struct log_iter *iter, const struct log_event **event) {
    if (iter->at == iter->batch.count) {
        iter->at = 0;
        int more = log_source_fill(&iter->source, &iter->batch);
        if (more <= 0) return more;
    }
    *event = &iter->batch.event[iter->at++];
    return 1;
}

void log_iter_close(struct log_iter *iter) {
    if (!iter) return;
    log_source_close(&iter->source);
    log_batch_free(&iter->batch);
    log_matcher_free(&iter->matcher);
    free(iter);
}
