// What the layers above MPI-IO asked for, what reached the files, and where their time went: in words and as JSON.
#pragma once

#include <stdio.h>

#include "base/json_out.h"
#include "summary/call_tree.h"

const char *library_name(unsigned layer); // "HDF5" …

struct library_words { // one text; what does not fit is cut off
    char text[512];
};

// "HDF5 wrote 1.0 GiB; 1.3 GiB reached the files: 1.1 GiB in transfers (…), …". Empty if the layer moved nothing.
struct library_words library_moved(const struct call_tree *tree, unsigned layer, unsigned direction);
// "HDF5's calls took 1.2 s, summed over all processes: 1.0 s in the layers below, 0.2 s in HDF5 itself …". Or empty.
struct library_words library_time(const struct call_tree *tree, unsigned layer, bool with_mpi);

// The next layer above MPI-IO, below `layer`, that the log has calls of; LAYER_NONE: there is none. Begin with
// LAYER_COUNT.
unsigned library_next(const struct call_tree *tree, unsigned layer);

// A table, indented by 2.
int libraries_text(const struct call_tree *tree, FILE *out);

// Members "libraries" and "objects", at most `most` of the latter. The second function writes "call_tree", which has no
// more than `most` calls: those with the most time, with the calls around them.
int libraries_json(const struct call_tree *tree, struct json_out *json, size_t most);
int libraries_json_tree(const struct call_tree *tree, struct json_out *json, size_t most);
