// Calls that the program did not make and the replay needs: opening files that the program inherited, using a file
// under another descriptor. They bypass a recorder, so that the recorded replay has the calls of the program. A
// descriptor that a recorder knows must not be closed this way: the recorder would take its number for the file further
// on.
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum { UNRECORDED_FAR = 256 }; // the smallest number of duplicates: other descriptors are below

// Each is like the call that it is named after: -1 on failure; but errno stays as it was.
int unrecorded_open(const char *path, int flags);
int unrecorded_dup(int fd);
int unrecorded_dup2(int fd, int to); // `to` must be open on the same file
void unrecorded_close(int fd);       // of a descriptor that nothing has used
off_t unrecorded_seek(int fd, off_t offset);
FILE *unrecorded_fdopen(int fd, const char *mode);
bool unrecorded_exists(const char *path);
