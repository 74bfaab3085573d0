// Numbers of the model as words of a MODEL file, and back.
#pragma once

#include <stdint.h>

#include "model/op.h"

const char *model_cut_name(enum model_cut cut);
int model_cut_find(const char *name); // or ERR_NOTHING

// The key of a coordinate in operations of this kind.
const char *model_coordinate_name(const struct op_kind *kind, enum op_coordinate coordinate);

// Flags of an open: "O_RDWR|O_CREAT", MPI's "MPI_MODE_RDWR|MPI_MODE_CREATE"; bits without a name as a number.
enum { MODEL_FLAGS_BYTES = 512 };
void model_flags_text(unsigned layer, uint32_t flags, char text[MODEL_FLAGS_BYTES]);
int model_flags_parse(unsigned layer, const char *text, uint32_t *flags);

const char *model_whence_name(uint32_t whence); // or NULL
int model_whence_find(const char *name);        // or ERR_NOTHING
int model_error_find(const char *name);         // number of an errno's name, or ERR_NOTHING
