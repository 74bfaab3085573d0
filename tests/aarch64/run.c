// run PROGRAM ARGUMENT…: runs a program for ARM under QEMU. The kernel calls it in the same way if it is registered for
// such programs (binfmt_misc). What is preloaded is for the program: QEMU, which is not for ARM, must not see it.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *preload = getenv("LD_PRELOAD");
    char **words = calloc((size_t)argc + 6, sizeof *words), **word = words, *variable;
    if (argc < 2 || !words || asprintf(&variable, "LD_PRELOAD=%s", preload ? preload : "") < 0) return 126;
    *word++ = "qemu-aarch64";
    *word++ = "-L";
    *word++ = LOADER;
    if (preload) {
        *word++ = "-E";
        *word++ = variable;
        unsetenv("LD_PRELOAD");
    }
    for (int i = 1; i < argc; i++) *word++ = argv[i];
    execv(QEMU, words);
    return 127;
}
