// The points of a grid, and the file that has what is known of them.
#pragma once

#include "sweep/sweep.h"

extern const char grid_as_recorded[]; // the interface of a program as it is

int grid_make_points(struct sweep *sweep);
void grid_free(struct sweep *sweep);

// Fills in what the file knows of the points. ERR_EXISTS if it is of another grid. A missing file is none.
int store_read(struct sweep *sweep, const char *path, struct problem *problem);
int store_write(const struct sweep *sweep, const char *path); // appears whole
