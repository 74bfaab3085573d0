// A rank of a job of any kind: writes 10 times, and once more for each rank below it, to its own file NAME.RANK.dat,
// and reads it back. With --spawn the job starts another one. With --threads several threads do the same at once. With
// --fork every rank also has a child that runs a program.
#include "common.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WRITES = 10, BYTES = 100, THREADS_MAX = 16 };

struct run {
    struct example example;
    const char *name;
    long long spawn, threads;
    bool fork;
};

struct worker {
    struct run *run;
    char *path;
    MPI_Comm comm;
    bool wrong;
};

static void *work(void *argument) {
    struct worker *worker = argument;
    int writes = WRITES + worker->run->example.rank;
    char data[BYTES];
    MPI_File file;
    MUST(MPI_File_open(worker->comm, worker->path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    for (int i = 0; i < writes; i++) {
        pattern_fill(data, sizeof data, (uint64_t)i);
        MUST(MPI_File_write_at(file, (MPI_Offset)i * BYTES, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < writes; i++) {
        MUST(MPI_File_read_at(file, (MPI_Offset)i * BYTES, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
        if (!pattern_matches(data, sizeof data, (uint64_t)i)) worker->wrong = true;
    }
    MUST(MPI_File_close(&file));
    return NULL;
}

// "NAME.RANK.dat", or of several threads "NAME-THREAD.RANK.dat".
static struct worker make_worker(struct run *run, int thread) {
    struct worker worker = {.run = run};
    char name[256];
    snprintf(name, sizeof name, run->threads > 1 ? "%s-%d" : "%s", run->name, thread);
    worker.path = example_path(&run->example, name, run->example.rank);
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &worker.comm));
    return worker;
}

static void work_in_threads(struct run *run) {
    pthread_t thread[THREADS_MAX];
    struct worker worker[THREADS_MAX];
    for (int i = 0; i < run->threads; i++) worker[i] = make_worker(run, i);
    for (int i = 1; i < run->threads; i++) must(!pthread_create(&thread[i], NULL, work, &worker[i]), "thread");
    work(&worker[0]);
    for (int i = 1; i < run->threads; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < run->threads; i++) {
        if (worker[i].wrong) run->example.wrong = true;
        MUST(MPI_Comm_free(&worker[i].comm));
        free(worker[i].path);
    }
}

// The child's own file is NAME.RANK.txt.
static void run_child(const struct run *run) {
    char command[4096];
    int status;
    snprintf(command, sizeof command, "echo child >'%s/%s.%d.txt'", run->example.directory, run->name,
             run->example.rank);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    must(child > 0 && waitpid(child, &status, 0) == child && status == 0, "child");
}

static void spawn(struct run *run, char *program) {
    char *arguments[] = {"--directory", (char *)run->example.directory, "--name", "spawned", NULL};
    MPI_Comm children;
    MUST(MPI_Comm_spawn(program, arguments, (int)run->spawn, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                        MPI_ERRCODES_IGNORE));
    MUST(MPI_Comm_disconnect(&children));
}

static void leave_parent(void) {
    MPI_Comm parent;
    MUST(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) MUST(MPI_Comm_disconnect(&parent));
}

int main(int argc, char **argv) {
    struct run run = {.name = "jobs", .threads = 1};
    const struct example_option options[] = {
        {"name", OPTION_WORD, &run.name, "of the files", NULL},
        {"spawn", OPTION_COUNT, &run.spawn, "ranks of another job to start", NULL},
        {"threads", OPTION_COUNT, &run.threads, "threads of every rank", NULL},
        {"fork", OPTION_FLAG, &run.fork, "every rank has a child", NULL},
        {0},
    };
    int provided;
    MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    example_start(&run.example, &argc, &argv, "Writes and reads back.", options);
    if (run.threads > 1 && provided < MPI_THREAD_MULTIPLE) example_refuse(&run.example, "this MPI takes one thread");
    if (run.threads < 1 || run.threads > THREADS_MAX) example_refuse(&run.example, "--threads: too many");
    if (run.spawn) spawn(&run, argv[0]);
    leave_parent();
    work_in_threads(&run);
    if (run.fork) run_child(&run);
    return example_end(&run.example);
}
