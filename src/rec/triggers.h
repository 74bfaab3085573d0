// Triggers: which calls become events, if not all do. The recorder then counts all calls itself, and events are extra.
#pragma once

#include "rec/emit.h"

void triggers_read(void);  // the settings
bool triggers_exist(void); // one is set
// Decides about the process as a whole: it may get no trace at all, or a trace of chosen calls (recorder.selects).
void triggers_begin(void);
void triggers_note_rank(int rank); // of MPI, as soon as it is known

// Whether a call at this moment can become an event.
bool triggers_are_on(void);
bool triggers_choose(const struct emission *e);
