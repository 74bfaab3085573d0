// Processes without MPI: rank 0 forks the others, and shares some memory with them.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "replay/runner/world.h"

enum { GATHER_BYTES = 1 << 20 }; // per process and turn

struct world world;

static struct shared {
    pthread_barrier_t barrier;
    unsigned char gathered[];
} * shared;

static struct progress *progress; // shared, too: [rank * threads + thread]
static size_t threads_of_each;

static int share(void **memory, size_t bytes) {
    *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return *memory == MAP_FAILED ? -errno : 0;
}

// The others would wait in a barrier for a process that was killed or failed. They die with rank 0.
static void check_children(int signal) {
    static const char text[] = "ioseer replay: one of its processes was killed\n";
    int status, error = errno;
    (void)signal;
    while (waitpid(-1, &status, WNOHANG) > 0) {
        if (WIFEXITED(status) && !WEXITSTATUS(status)) continue;
        ssize_t ignored = WIFEXITED(status) ? 0 : write(STDERR_FILENO, text, sizeof text - 1);
        (void)ignored;
        _exit(1);
    }
    errno = error;
}

int world_start(int *argc, char ***argv, int np, int threads) {
    (void)argc, (void)argv;
    threads_of_each = (size_t)threads;
    FORWARD(share((void **)&shared, sizeof *shared + (size_t)np * GATHER_BYTES));
    FORWARD(share((void **)&progress, ((size_t)np * threads_of_each + 1) * sizeof *progress));
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attributes, (unsigned)np);
    world.size = np;
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = check_children, .sa_flags = SA_RESTART | SA_NOCLDSTOP}, NULL);
    for (int i = 1; i < np; i++) {
        pid_t child = fork();
        RETURN_IF(child < 0, -errno);
        if (child) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        world.rank = i;
        return 0;
    }
    return 0;
}

struct progress *world_progress(uint32_t rank) {
    return &progress[rank * threads_of_each];
}

void world_barrier(void) { pthread_barrier_wait(&shared->barrier); }

int world_make_communicators(const struct model *model, uint32_t program) {
    (void)model, (void)program;
    return 0;
}

void world_synchronise(const struct op_kind *kind, int rank) {
    (void)rank;
    if (kind->sync == SYNC_BARRIER) world_barrier();
}

void world_gather(const void *mine, size_t bytes, void *all) {
    for (size_t done = 0, part; done < bytes; done += part) {
        part = bytes - done < GATHER_BYTES ? bytes - done : GATHER_BYTES;
        memcpy(shared->gathered + (size_t)world.rank * GATHER_BYTES, (const char *)mine + done, part);
        world_barrier();
        for (size_t i = 0; !world.rank && i < (size_t)world.size; i++)
            memcpy((char *)all + i * bytes + done, shared->gathered + i * GATHER_BYTES, part);
        world_barrier();
    }
}

bool world_exchange(void *data, size_t bytes) {
    (void)data, (void)bytes;
    return false;
}

int exchange_run(const struct replay_job *job) {
    (void)job;
    return ERR_LIMIT;
}

int world_end(int status) {
    int child;
    if (world.rank || status) return status;
    while (wait(&child) > 0) {
        if (!WIFEXITED(child) || WEXITSTATUS(child)) return 1;
    }
    return 0;
}
