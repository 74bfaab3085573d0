// Does some I/O in threads and in a child, then what a sanitizer reports.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITES = 100, THREADS = 2 };

static int shared;
static void *volatile kept;

static void *do_io(void *number) {
    char name[32], back[8];
    snprintf(name, sizeof name, "file%ld", (long)number);
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    for (int i = 0; i < WRITES; i++) {
        if (pwrite(fd, name, sizeof back, i * 8) != 8 || pread(fd, back, sizeof back, i * 8) != 8) abort();
    }
    close(fd);
    FILE *file = fopen(name, "r");
    if (!file || fread(back, 1, sizeof back, file) != sizeof back) abort();
    fclose(file);
    return NULL;
}

static void *race(void *unused) {
    (void)unused;
    for (int i = 0; i < WRITES; i++) shared++;
    return NULL;
}

// Several, because a pointer to the last may stay in a register.
static __attribute__((noinline)) void lose_memory(void) {
    for (int i = 0; i < THREADS + 1; i++) kept = malloc(10);
    kept = NULL;
}

static void in_threads(void *(*work)(void *)) {
    pthread_t thread[THREADS];
    for (long i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

int main(int argc, char **argv) {
    const char *fault = argc > 1 ? argv[1] : "clean";
    in_threads(do_io);
    if (system("echo child > child") != 0) return 9;
    if (strcmp(fault, "free") == 0) {
        char *text = malloc(10);
        kept = text;
        free(kept);
        return text[argc];
    }
    if (strcmp(fault, "leak") == 0) lose_memory();
    if (strcmp(fault, "shift") == 0) printf("%d\n", 1 << (argc + 40));
    if (strcmp(fault, "race") == 0) in_threads(race);
    if (strcmp(fault, "preload") == 0) return system("echo \"$LD_PRELOAD\"");
    if (strcmp(fault, "exec") == 0) execl(argv[0], argv[0], NULL);
    return 0;
}
