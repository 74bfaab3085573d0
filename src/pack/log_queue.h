// Blocks of events that a thread compresses and writes in their order, while the next ones are decoded.
#pragma once

#include "pack/log_writer.h"

struct log_queue;

typedef int log_queue_store(void *context, struct log_block *block, const struct bytes *raw,
                            const struct log_summary *summary);

// NULL: there is no thread for it.
struct log_queue *log_queue_start(log_queue_store *store, void *context);

// Takes a copy. Waits if several blocks are on their way. An error is the first that `store` has returned.
int log_queue_add(struct log_queue *q, const struct log_block *block, const uint8_t *raw, size_t len,
                  const struct log_summary *summary);

// Waits until all blocks are stored: from then on, until the next one, the context is the caller's.
int log_queue_wait(struct log_queue *q);

// The same, and ends the thread.
void log_queue_stop(struct log_queue *q);
