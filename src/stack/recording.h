// What `record` asks of a running stack: that its probes record, and what they recorded.
#pragma once

#include <limits.h>

#include "base/problem.h"

// Whether a stack of this name can be recorded. Sets where it is mounted.
int stack_recording_check(const char *name, char mount[PATH_MAX], struct problem *problem);

// Lets the probes of a stack record until this process ends or stack_recording_collect() is called. Writes
// *NAME*.stack into the spill directory: records of the kinds RECORD_STACK, RECORD_SERVER and RECORD_PROBE
// (fmt/records.h), the last with the place at which each probe's file stands now. If the file is there already (several
// `record`s share a directory), this process joins that recording.
int stack_recording_begin(const char *name, const char *spill_dir, struct problem *problem);

// Ends the recording and copies what every probe recorded since its beginning into the spill directory, as
// *NUMBER*.probe: struct probe_header with `first` set, then the records from `first` on (fmt/probe.h). Needs the spill
// directory only, so any process can do it, and do it again. A directory without a .stack file is no error, and neither
// is a stack that is gone: STACK_GONE_NS in the .stack file tells, and what is left of its records is copied.
int stack_recording_collect(const char *spill_dir, struct problem *problem);

// The same, unless the process that began the recording still runs: it will collect the records itself.
int stack_recording_rescue(const char *spill_dir, struct problem *problem);
