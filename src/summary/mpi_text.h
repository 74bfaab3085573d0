// Access modes, datatypes, views and hints of MPI files, in words and as JSON.
#pragma once

#include "base/json_out.h"
#include "log/log.h"

struct mpi_words { // one text; what does not fit is cut off
    size_t len;
    char text[1024];
};

struct mpi_words mpi_text_amode(uint64_t amode); // "MPI_MODE_CREATE|MPI_MODE_RDWR"
// "vector 4 x 8 bytes every 32, extent 104", or the name of a predefined type; "unknown" for NULL.
struct mpi_words mpi_text_datatype(struct log *log, const struct log_datatype *type);

// Objects as in `dump --json` and `info --json`; null for NULL.
void mpi_json_datatype(struct json_out *json, struct log *log, const struct log_datatype *type);
void mpi_json_view(struct json_out *json, struct log *log, uint64_t displacement, const struct log_datatype *etype,
                   const struct log_datatype *filetype);
// `asked`: whether the program gave an info object at all.
void mpi_json_hints(struct json_out *json, const struct log_hints *hints, bool asked);
