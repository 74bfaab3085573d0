// A program with the I/O of a small simulation: two threads write their halves of a checkpoint file step by step, and a
// text log gets one line per step. At the end each thread reads its half back and checks it.
//
//     checkpoint [-d DIRECTORY] [-s STEPS] [-n BLOCKS per step and thread] [-b BYTES per block]
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 2 };

struct shape {
    const char *directory;
    unsigned steps;
    unsigned blocks;
    size_t block_bytes;
};

struct worker {
    const struct shape *shape;
    unsigned index;
    int fd;
    int failed;
    pthread_t thread;
    pthread_barrier_t *step_done;
};

// The steps follow each other in the file; in each step, the parts of the threads are adjacent.
static off_t block_offset(const struct worker *w, unsigned step, unsigned block) {
    const struct shape *shape = w->shape;
    return (off_t)(((size_t)step * THREADS + w->index) * shape->blocks + block) * (off_t)shape->block_bytes;
}

static unsigned char block_value(const struct worker *w, unsigned step, unsigned block) {
    return (unsigned char)(step * 31 + w->index * 7 + block);
}

static int write_step(struct worker *w, unsigned step, unsigned char *block_data) {
    size_t len = w->shape->block_bytes;
    for (unsigned block = 0; block < w->shape->blocks; block++) {
        memset(block_data, block_value(w, step, block), len);
        if (pwrite(w->fd, block_data, len, block_offset(w, step, block)) != (ssize_t)len) return -1;
    }
    return 0;
}

static int check_step(struct worker *w, unsigned step, unsigned char *block_data) {
    size_t len = w->shape->block_bytes;
    for (unsigned block = 0; block < w->shape->blocks; block++) {
        if (pread(w->fd, block_data, len, block_offset(w, step, block)) != (ssize_t)len) return -1;
        if (block_data[0] != block_value(w, step, block) || block_data[len - 1] != block_data[0]) return -1;
    }
    return 0;
}

static void *work(void *argument) {
    struct worker *w = argument;
    unsigned char *block_data = malloc(w->shape->block_bytes);
    w->failed = block_data == NULL;
    // A failed thread still enters the barrier, otherwise the others would wait forever.
    for (unsigned step = 0; step < w->shape->steps; step++) {
        if (!w->failed) w->failed = write_step(w, step, block_data) != 0;
        pthread_barrier_wait(w->step_done);
        pthread_barrier_wait(w->step_done);
    }
    for (unsigned step = 0; step < w->shape->steps && !w->failed; step++)
        w->failed = check_step(w, step, block_data) != 0;
    free(block_data);
    return NULL;
}

// The main thread syncs each step and writes it to the log while the workers wait.
static int run(const struct shape *shape, int fd, FILE *log) {
    struct worker workers[THREADS];
    pthread_barrier_t step_done;
    int failed = 0;
    pthread_barrier_init(&step_done, NULL, THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.shape = shape, .index = i, .fd = fd, .step_done = &step_done};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) exit(EXIT_FAILURE);
    }
    for (unsigned step = 0; step < shape->steps; step++) {
        pthread_barrier_wait(&step_done);
        if (fsync(fd) != 0 || fprintf(log, "step %u: %u blocks\n", step, shape->blocks * THREADS) < 0) failed = 1;
        pthread_barrier_wait(&step_done);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        failed |= workers[i].failed;
    }
    pthread_barrier_destroy(&step_done);
    return failed ? -1 : 0;
}

static int parse(int argc, char **argv, struct shape *shape) {
    for (int letter; (letter = getopt(argc, argv, "d:s:n:b:")) != -1;) {
        switch (letter) {
        case 'd': shape->directory = optarg; break;
        case 's': shape->steps = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'n': shape->blocks = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'b': shape->block_bytes = strtoul(optarg, NULL, 10); break;
        default: return -1;
        }
    }
    return optind == argc && shape->block_bytes > 0 ? 0 : -1;
}

int main(int argc, char **argv) {
    struct shape shape = {.directory = ".", .steps = 4, .blocks = 64, .block_bytes = 65536};
    char data_name[4096], log_name[4096];
    if (parse(argc, argv, &shape) != 0) {
        fprintf(stderr, "usage: %s [-d DIRECTORY] [-s STEPS] [-n BLOCKS] [-b BYTES]\n", argv[0]);
        return 2;
    }
    snprintf(data_name, sizeof data_name, "%s/checkpoint.dat", shape.directory);
    snprintf(log_name, sizeof log_name, "%s/checkpoint.log", shape.directory);
    int fd = open(data_name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    FILE *log = fopen(log_name, "w");
    if (fd < 0 || !log) {
        fprintf(stderr, "checkpoint: %s: %s\n", shape.directory, strerror(errno));
        return EXIT_FAILURE;
    }
    int failed = run(&shape, fd, log);
    if (fclose(log) != 0 || close(fd) != 0) failed = -1;
    if (failed) fprintf(stderr, "checkpoint: the data is not what was written\n");
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
