// threads N: N threads at once write a file of their own, a shared one by offset and a shared one by appending.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITES = 20, BYTES = 512, MAX_THREADS = 256 };

static int shared, appended;

static void *work(void *argument) {
    long number = (long)argument;
    char block[BYTES], name[32];
    memset(block, (int)('A' + number % 26), sizeof(block));
    snprintf(name, sizeof(name), "private.%ld", number);
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    long good = 0;
    for (long i = 0; i < WRITES; i++) {
        good += write(fd, block, sizeof(block)) == BYTES;
        good += pwrite(shared, block, sizeof(block), (number * WRITES + i) * BYTES) == BYTES;
        good += write(appended, block, sizeof(block)) == BYTES;
        good += pread(shared, block, sizeof(block), number * WRITES * BYTES) == BYTES;
    }
    close(fd);
    return (void *)good;
}

int main(int argc, char **argv) {
    pthread_t thread[MAX_THREADS];
    long count = argc > 1 ? atol(argv[1]) : 4, good = 0;
    shared = open("shared", O_RDWR | O_CREAT | O_TRUNC, 0644);
    appended = open("appended", O_WRONLY | O_CREAT | O_APPEND, 0644);
    for (long i = 0; i < count; i++)
        if (pthread_create(&thread[i], NULL, work, (void *)i) != 0) return 1;
    for (long i = 0; i < count; i++) {
        void *result;
        pthread_join(thread[i], &result);
        good += (long)result;
    }
    close(shared);
    close(appended);
    printf("%ld of %ld\n", good, count * WRITES * 4);
    return 0;
}
