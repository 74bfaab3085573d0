// Iterates over the events of all streams, or of some, in the order of their starts. Memory is bounded: a block is
// read when its first event is due and freed after its last. To process all events, log/visit.h is faster.
#pragma once

#include "log/event.h"

struct log_iter;

// Copies the filter; what it points to must stay valid.
int log_iter_open(struct log_iter **iter, struct log *log, const struct log_filter *filter);
// Returns 1 with the next event, which is valid until the next call; 0 at the end; a negative code if reading fails.
// Damaged blocks are skipped and counted in log_health.
int log_iter_next(struct log_iter *iter, const struct log_event **event);
// The same for many events at once: returns how many there are, all valid until the next call of either function.
int log_iter_next_batch(struct log_iter *iter, const struct log_event **events);
// From now on a thread of its own decodes the events that come next: for readers that need long for each event. If no
// thread can be started, nothing changes.
void log_iter_read_ahead(struct log_iter *iter);
void log_iter_close(struct log_iter *iter);
