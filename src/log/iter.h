// The log's events in the order of their starts, over all streams or some, in bounded memory: a block is read when its
// first event is due and let go after its last. For one that wants all events log/visit.h is faster.
#pragma once

#include "log/event.h"

struct log_iter;

// The filter is copied; what it points to must stay.
int log_iter_open(struct log_iter **iter, struct log *log, const struct log_filter *filter);
// 1 with the next event, good until the next call; 0 at the end; a negative code where reading fails. Damaged blocks
// are passed over and counted in log_health.
int log_iter_next(struct log_iter *iter, const struct log_event **event);
void log_iter_close(struct log_iter *iter);
