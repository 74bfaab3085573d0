// calls PATTERN COUNT THREADS DIRECTORY: makes COUNT small calls per thread, each thread on its own files. Prints
// nanoseconds per call (median and minimum over batches, mean of the processor time), then the peak memory of the
// process in KiB. The benchmarks time it, and tests/perf counts its instructions, with and without the recorder.
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    CALL_BYTES = 8,
    STRIDE_BYTES = 4096 + CALL_BYTES,
    FILE_BYTES = 4 << 20, // offsets start again there, so that the page cache holds all of it
    FAR_SHIFT = 17,       // of random offsets in a file with holes, 512 GiB long
    BATCH_CALLS = 512,    // about a tenth of a millisecond: most batches are not interrupted
    MAX_THREADS = 64,
};

struct worker {
    char name[2][4096];
    char made[4096]; // and removed again
    int fd[2];
    FILE *stream;
    uint64_t random;
    uint64_t offset;
    uint64_t failed; // calls that did not do what they should
    uint64_t count;
    void (*call)(struct worker *);
    uint64_t *batch_ns; // of each batch
    uint64_t cpu_ns;
    pthread_barrier_t *together;
};

static void expect(struct worker *w, int64_t result, int64_t expected) { w->failed += result != expected; }

static off_t advance(struct worker *w, uint64_t bytes) {
    uint64_t offset = w->offset;
    w->offset += bytes;
    if (w->offset > FILE_BYTES - CALL_BYTES) w->offset = 0;
    return (off_t)offset;
}

static off_t jump(struct worker *w) {
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (off_t)((w->random >> 33) % (FILE_BYTES / CALL_BYTES) * CALL_BYTES);
}

static void call_pread(struct worker *w) {
    uint64_t buffer;
    expect(w, pread(w->fd[0], &buffer, sizeof buffer, advance(w, CALL_BYTES)), CALL_BYTES);
}

static void call_pwrite(struct worker *w) {
    expect(w, pwrite(w->fd[0], &w->random, CALL_BYTES, advance(w, CALL_BYTES)), CALL_BYTES);
}

static void call_pread_random(struct worker *w) {
    uint64_t buffer;
    expect(w, pread(w->fd[0], &buffer, sizeof buffer, jump(w)), CALL_BYTES);
}

static void call_pread_far(struct worker *w) {
    uint64_t buffer;
    expect(w, pread(w->fd[1], &buffer, sizeof buffer, jump(w) << FAR_SHIFT), CALL_BYTES);
}

static void call_pwrite_random(struct worker *w) {
    expect(w, pwrite(w->fd[0], &w->random, CALL_BYTES, jump(w)), CALL_BYTES);
}

static void call_pread_strided(struct worker *w) {
    uint64_t buffer;
    expect(w, pread(w->fd[0], &buffer, sizeof buffer, advance(w, STRIDE_BYTES)), CALL_BYTES);
}

static void call_two_files(struct worker *w) {
    w->random ^= 1;
    off_t offset = w->random & 1 ? (off_t)w->offset : advance(w, CALL_BYTES);
    expect(w, pwrite(w->fd[w->random & 1], &w->random, CALL_BYTES, offset), CALL_BYTES);
}

static void rewind_at_end(struct worker *w) {
    if (advance(w, CALL_BYTES) == 0) expect(w, lseek(w->fd[0], 0, SEEK_SET), 0);
}

static void call_read(struct worker *w) {
    uint64_t buffer;
    rewind_at_end(w);
    expect(w, read(w->fd[0], &buffer, sizeof buffer), CALL_BYTES);
}

static void call_write(struct worker *w) {
    rewind_at_end(w);
    expect(w, write(w->fd[0], &w->random, CALL_BYTES), CALL_BYTES);
}

static void call_lseek(struct worker *w) {
    off_t offset = advance(w, CALL_BYTES);
    expect(w, lseek(w->fd[0], offset, SEEK_SET), offset);
}

static void call_fread(struct worker *w) {
    uint64_t buffer;
    if (advance(w, CALL_BYTES) == 0) rewind(w->stream);
    expect(w, (int64_t)fread(&buffer, CALL_BYTES, 1, w->stream), 1);
}

static void call_fwrite(struct worker *w) {
    if (advance(w, CALL_BYTES) == 0) rewind(w->stream);
    expect(w, (int64_t)fwrite(&w->random, CALL_BYTES, 1, w->stream), 1);
}

static void call_open_close(struct worker *w) {
    int fd = open(w->name[1], O_RDWR);
    expect(w, close(fd), 0);
}

static void call_stat(struct worker *w) {
    struct stat data;
    expect(w, stat(w->name[1], &data), 0);
}

static void call_mkdir_rmdir(struct worker *w) {
    expect(w, mkdir(w->made, 0700), 0);
    expect(w, rmdir(w->made), 0);
}

static void call_link_unlink(struct worker *w) {
    expect(w, link(w->name[1], w->made), 0);
    expect(w, unlink(w->made), 0);
}

static const struct pattern {
    const char *name;
    void (*call)(struct worker *);
} patterns[] = {
    {"pread", call_pread},
    {"pwrite", call_pwrite},
    {"pread-random", call_pread_random},
    {"pread-far", call_pread_far},
    {"pwrite-random", call_pwrite_random},
    {"pread-strided", call_pread_strided},
    {"two-files", call_two_files},
    {"read", call_read},
    {"write", call_write},
    {"lseek", call_lseek},
    {"fread", call_fread},
    {"fwrite", call_fwrite},
    {"open-close", call_open_close},
    {"stat", call_stat},
    {"mkdir-rmdir", call_mkdir_rmdir},
    {"link-unlink", call_link_unlink},
};

static void die(const char *what) {
    perror(what);
    exit(1);
}

static uint64_t now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void make_files(struct worker *w, const char *directory, unsigned thread) {
    char *content = calloc(1, FILE_BYTES);
    if (!content) die("memory");
    for (unsigned i = 0; i < 2; i++) {
        snprintf(w->name[i], sizeof w->name[i], "%s/calls-%u-%u", directory, thread, i);
        w->fd[i] = open(w->name[i], O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (w->fd[i] < 0 || pwrite(w->fd[i], content, FILE_BYTES, 0) != FILE_BYTES) die(w->name[i]);
    }
    free(content);
    snprintf(w->made, sizeof w->made, "%s/made-%u", directory, thread);
    if (w->call == call_pread_far && ftruncate(w->fd[1], (off_t)FILE_BYTES << FAR_SHIFT)) die(w->name[1]);
    w->stream = fopen(w->name[0], "r+");
    if (!w->stream) die(w->name[0]);
}

static void *work(void *argument) {
    struct worker *w = argument;
    pthread_barrier_wait(w->together);
    uint64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t done = 0, batch = 0; done < w->count; batch++) {
        uint64_t start_ns = now_ns(CLOCK_MONOTONIC);
        for (unsigned i = 0; i < BATCH_CALLS && done < w->count; i++, done++) w->call(w);
        w->batch_ns[batch] = now_ns(CLOCK_MONOTONIC) - start_ns;
    }
    w->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    return NULL;
}

static int compare(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static long peak_kib(void) {
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &kib);
    if (status) fclose(status);
    return kib;
}

// The last batch may be short. It is left out if there are others.
static void report(struct worker *workers, unsigned threads) {
    uint64_t count = workers[0].count, batches = count / BATCH_CALLS, cpu_ns = 0, failed = 0;
    uint64_t *all = calloc(batches * threads + 1, sizeof *all);
    if (!all) die("memory");
    for (unsigned i = 0; i < threads; i++) {
        memcpy(all + i * batches, workers[i].batch_ns, batches * sizeof *all);
        cpu_ns += workers[i].cpu_ns;
        failed += workers[i].failed;
    }
    qsort(all, batches * threads, sizeof *all, compare);
    double median = (double)all[batches * threads / 2] / BATCH_CALLS, minimum = (double)all[0] / BATCH_CALLS;
    printf("%.1f %.1f %.1f %ld\n", median, minimum, (double)cpu_ns / (double)(count * threads), peak_kib());
    free(all);
    if (failed) {
        fprintf(stderr, "%" PRIu64 " calls did not do what they should\n", failed);
        exit(1);
    }
}

static void run(const struct pattern *pattern, uint64_t count, unsigned threads, const char *directory) {
    static struct worker workers[MAX_THREADS];
    pthread_t thread[MAX_THREADS];
    pthread_barrier_t together;
    pthread_barrier_init(&together, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        struct worker *w = &workers[i];
        w->random = i;
        w->count = count;
        w->call = pattern->call;
        make_files(w, directory, i);
        w->together = &together;
        w->batch_ns = calloc(count / BATCH_CALLS + 1, sizeof *w->batch_ns);
        if (!w->batch_ns) die("memory");
    }
    for (unsigned i = 1; i < threads; i++) {
        if (pthread_create(&thread[i], NULL, work, &workers[i])) die("thread");
    }
    work(&workers[0]);
    for (unsigned i = 1; i < threads; i++) pthread_join(thread[i], NULL);
    report(workers, threads);
}

int main(int argc, char **argv) {
    unsigned long threads = argc == 5 ? strtoul(argv[3], NULL, 10) : 0;
    for (unsigned i = 0; threads > 0 && threads <= MAX_THREADS && i < sizeof patterns / sizeof *patterns; i++) {
        if (strcmp(argv[1], patterns[i].name)) continue;
        run(&patterns[i], strtoull(argv[2], NULL, 10), (unsigned)threads, argv[4]);
        return 0;
    }
    fprintf(stderr, "usage: calls PATTERN COUNT THREADS DIRECTORY\n");
    return 2;
}
