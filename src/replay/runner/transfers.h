// Transfers of a thread, one after the other; nonblocking ones end later.
#pragma once

#include "replay/runner/runner.h"

int transfers_run(struct replay_thread *thread, const struct replay_backend *backend, struct replay_file *file,
                  const struct model_step *step);
// Before each operation: waits for the nonblocking transfers that the program had waited for by now, for all of the
// file `closed` (or NULL), or for `all`.
void transfers_complete(struct replay_thread *thread, const struct replay_file *closed, bool all);
void transfers_free(struct replay_thread *thread);
