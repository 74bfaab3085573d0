// A variant of the model (model/variant.h): other calls in place of the recorded transfers. Operations keep their
// numbers, pauses and synchronisations. Nothing here is called without a variant, except variants_begin and
// variants_end.
#pragma once

#include "model/variant_calls.h"

struct runner;
struct replay_thread;
struct replay_file;
struct replay_backend;

struct variants {
    bool changes_calls;
    struct variant variant;
    struct variant_files files;
    struct op_kind **kind; // those of the calls that are made, by recorded kind and form
};

// The calls of a thread that are being made: those of one operation, or of several whose bytes follow each other.
struct variant_making {
    struct replay_file *file;
    const struct op_kind *kind;
    struct op op;
    uint32_t phase;
    bool in_view;
    bool resizes;
    const struct model_pause *think; // until the first call is made
    const struct model_async *async;
    struct variant_stream stream;
};

int variants_begin(struct runner *runner);
void variants_end(struct runner *runner);

// Before each operation: makes the calls that were put off, unless it goes on where they end.
int variants_before(struct replay_thread *thread, const struct model_step *step);
// The same at the end of a phase.
int variants_flush(struct replay_thread *thread);
int variants_transfer(struct replay_thread *thread, const struct replay_backend *backend, struct replay_file *file,
                      const struct model_step *step);
// Before a file is closed by its program.
void variants_close(struct replay_file *file, const struct model_step *step);
// Whether each rank has a file for itself in place of this one.
bool variants_owns(const struct runner *runner, uint32_t set, uint32_t member);
