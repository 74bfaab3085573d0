// recording begin NAME FOLDER [COMMAND]: records a stack, as `ioseer record --stack` does, runs a shell command and
// collects; recording collect FOLDER: only collects. Prints what fails.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stack/recording.h"

static int failed(const struct problem *problem) {
    printf("%s: %s\n", problem->what, problem->why);
    return 1;
}

int main(int argc, char **argv) {
    struct problem problem = {0};
    bool begins = argc == 5 && !strcmp(argv[1], "begin");
    if (!begins && (argc != 3 || strcmp(argv[1], "collect"))) return 2;
    if (begins && stack_recording_begin(argv[2], argv[3], &problem) < 0) return failed(&problem);
    if (begins && system(argv[4])) printf("the command failed\n");
    return stack_recording_collect(argv[begins ? 3 : 2], &problem) < 0 ? failed(&problem) : 0;
}
