// What a replay must do though its program did not, so that a recorder does not see it: files that the program had from
// its parent are opened, descriptors go on under another number. Descriptors are never closed so: a recorder would go
// on taking their number for the file.
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum { UNSEEN_FAR = 256 }; // duplicates have numbers from here on, where no other call puts any

// Each as the call that it is named after: -1 on failure; errno stays as it was.
int unseen_open(const char *path, int flags);
int unseen_dup(int fd);
int unseen_dup2(int fd, int to); // `to` is open, and was of the same file
void unseen_close(int fd);       // that nothing has used
off_t unseen_seek(int fd, off_t offset);
FILE *unseen_fdopen(int fd, const char *mode);
bool unseen_exists(const char *path);
