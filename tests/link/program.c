// Writes 5000 bytes by three ways, in the process itself or as its first argument says. Then runs the rest of its
// arguments as a program.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char bytes[1000];

static void *write_all(void *unused) {
    int fd = open("data", O_CREAT | O_WRONLY | O_APPEND, 0600);
    FILE *stream = fopen("stream", "a");
    for (int i = 0; i < 3; i++) {
        if (write(fd, bytes, sizeof bytes) != sizeof bytes) _exit(9);
    }
    fwrite(bytes, sizeof bytes, 1, stream);
    for (size_t i = 0; i < sizeof bytes; i++) putc_unlocked(0, stream);
    fclose(stream);
    close(fd);
    return unused;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int status = 0;
    if (!strcmp(how, "fork")) {
        if (fork() == 0) {
            write_all(NULL);
            _exit(3);
        }
        wait(&status);
    } else if (!strcmp(how, "thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, write_all, NULL);
        pthread_join(thread, NULL);
    } else {
        write_all(NULL);
    }
    if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
    if (argc > 2) execv(argv[2], argv + 2);
    return argc > 2 ? 127 : 0;
}
