// Maps a file of 64 MiB, reads 10 MiB of it, changes 3 MiB elsewhere, and ends in one of several ways. "fork": a child
// inherits the mapping and does not touch it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, LENGTH = 64 * MIB, READ = 10 * MIB, WRITE_FROM = 32 * MIB, WRITE_TO = 35 * MIB, PAGE = 4096 };

static void end(const char *how, char *memory) {
    if (strcmp(how, "msync") == 0) msync(memory, LENGTH, MS_SYNC);
    if (strcmp(how, "async") == 0) msync(memory, LENGTH, MS_ASYNC);
    if (strstr(how, "sync") || strcmp(how, "munmap") == 0) munmap(memory, LENGTH);
    if (strcmp(how, "_exit") == 0) _exit(0);
    if (strcmp(how, "fork") == 0 && fork() == 0) {
        close(open("data", O_RDONLY));
        exit(0);
    }
    if (strcmp(how, "fork") == 0) wait(NULL);
    if (strcmp(how, "fail") == 0) execl("/no/such/program", "program", NULL);
    if (strcmp(how, "exec") == 0) execl("/bin/true", "true", NULL);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int kind = strcmp(argv[1], "shared") == 0 ? MAP_SHARED : MAP_PRIVATE;
    int fd = open("data", O_RDWR);
    char *memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, kind, fd, 0);
    if (memory == MAP_FAILED) return 1;
    volatile char seen;
    for (int at = 0; at < READ; at += PAGE) seen = memory[at];
    for (int at = WRITE_FROM; at < WRITE_TO; at += PAGE) memory[at] = 1;
    (void)seen;
    end(argv[2], memory);
    return 0;
}
