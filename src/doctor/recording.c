// Makes small recordings to check that the library can be loaded, and that the log contains what a program writes, also
// with MPI-IO.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/follower.h"
#include "base/human.h"
#include "base/locate.h"
#include "doctor/trial.h"
#include "log/iter.h"

static const char reinstall[] = "build or install ioseer again";

// The bytes that calls of a layer (LAYER_NONE: of all layers) wrote into the trial's file.
static int count_written(const struct trial *trial, unsigned layer, uint64_t *bytes, uint64_t *events) {
    struct log *log;
    struct log_iter *iter;
    const struct log_filter filter = {0};
    const struct log_event *event;
    FORWARD(log_open(&log, trial->log));
    int code = log_iter_open(&iter, log, &filter);
    if (code == 0) {
        while ((code = log_iter_next(iter, &event)) > 0) {
            ++*events;
            // `doctor -o FILE` writes beside FILE first, under a longer name.
            bool ours = event->file && !strncmp(event->file->name, trial->file, strlen(trial->file)) &&
                        event->call->class == CLASS_WRITE && (layer == LAYER_NONE || event->call->layer == layer);
            if (ours && event->raw.has_result && event->raw.result > 0) *bytes += (uint64_t)event->raw.result;
        }
        log_iter_close(iter);
    }
    log_close(log);
    return code;
}

// Runs a command that records a program. Compares the bytes that the program wrote with the bytes that calls of a layer
// (LAYER_NONE: of all layers) wrote according to the log.
static void judge(struct doctor_check *check, const struct trial *trial, char **arguments, unsigned layer) {
    bool is_mpi = layer == LAYER_MPIIO;
    const char *with = is_mpi ? " with MPI-IO" : "";
    const char *fix = is_mpi ? "start an MPI program with mpiexec and see what it says"
                             : "run `ioseer record -o test.ioseer -- true` and see what it says";
    char line[256];
    struct stat st;
    uint64_t bytes = 0, events = 0;
    int status = trial_run(trial, arguments, environ);
    if (status == -ETIMEDOUT) {
        doctor_fail(check, fix, "the trial did not end within %d seconds", TRIAL_SECONDS);
    } else if (status < 0) {
        doctor_fail(check, fix, "cannot start: %s", err_text(status));
    } else if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        trial_message(trial, line);
        doctor_fail(check, fix, "recording failed: %s", line);
    } else if (stat(trial->file, &st)) {
        doctor_fail(check, fix, "the recorded program did not write its file");
    } else if ((status = count_written(trial, layer, &bytes, &events)) < 0) {
        doctor_fail(check, fix, "the log cannot be read: %s", err_text(status));
    } else if (bytes != (uint64_t)st.st_size) {
        doctor_fail(check, is_mpi ? reinstall : "the library was not loaded into the program, or did not see it all",
                    "%" PRIu64 " of %lld bytes written%s were recorded", bytes, (long long)st.st_size, with);
    } else {
        doctor_pass(check, "a trial gave %s and all %s written%s", human_count(events, "event").text,
                    human_bytes(bytes).text, with);
    }
}

static int find_part(const char *prefix, const char *name, char path[PATH_MAX]) {
    char file[64];
    snprintf(file, sizeof file, "%s%s", prefix, name);
    return locate_private_file(file, path);
}

static bool is_installed(struct doctor_check *check, const char *prefix, const char *name, char path[PATH_MAX]) {
    int code = find_part(prefix, name, path);
    if (code < 0) doctor_fail(check, reinstall, "%s%s is missing from lib/ioseer: %s", prefix, name, err_text(code));
    return code == 0;
}

// If the loader cannot preload the library, it says so on standard error and continues.
void doctor_library(struct doctor_check *check) {
    struct trial trial;
    char path[PATH_MAX], preload[PATH_MAX + 16], line[256];
    // The last one is the library.
    bool is_complete = is_installed(check, FOLLOWER_NAME, "", path) && is_installed(check, "libioseer", ".so", path);
    if (!is_complete || !trial_prepare(&trial, check)) return;
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", path);
    char *arguments[] = {trial.ioseer, "--version", NULL}, *environment[] = {preload, NULL};
    int status = trial_run(&trial, arguments, environment);
    trial_message(&trial, line);
    if (status == 0 && !strstr(line, "LD_PRELOAD")) {
        doctor_pass(check, "%s can be loaded", path);
    } else {
        doctor_fail(check, reinstall, "cannot be loaded: %s", line);
    }
    trial_remove(&trial);
}

// ioseer records itself as it writes the list of calls to a file.
void doctor_recording(struct doctor_check *check) {
    struct trial trial;
    if (!trial_prepare(&trial, check)) return;
    char *arguments[] = {trial.ioseer, "record", "-q",      "-o", trial.log,  "--",
                         trial.ioseer, "doctor", "--calls", "-o", trial.file, NULL};
    judge(check, &trial, arguments, LAYER_NONE);
    trial_remove(&trial);
}

// Without these variables Open MPI does not start programs for root, or more processes than cores.
static void allow_any_launch(void) {
    static const char *const names[] = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                                        "OMPI_MCA_rmaps_base_oversubscribe"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) setenv(names[i], "1", 0);
}

static void try_mpi(struct doctor_check *check, char *launcher, char *program) {
    struct trial trial;
    if (!trial_prepare(&trial, check)) return;
    allow_any_launch();
    char *arguments[] = {trial.ioseer, "record", "-q", "-o",    trial.log,  "--",
                         launcher,     "-n",     "1",  program, trial.file, NULL};
    judge(check, &trial, arguments, LAYER_MPIIO);
    trial_remove(&trial);
}

// Packages have this part apart from the rest, and a build has it only if it found that MPI.
static void check_mpi(struct doctor_check *check, const char *mpi, const char *fix) {
    char name[32], plugin[32], launcher[PATH_MAX], program[PATH_MAX], path[PATH_MAX];
    snprintf(name, sizeof name, "mpiexec.%s", mpi);
    snprintf(plugin, sizeof plugin, "%s.so", mpi);
    bool has_launcher = locate_program(name, launcher);
    bool is_left_out = find_part("libioseer-", plugin, path) < 0 && find_part("ioseer-replay-", mpi, path) < 0 &&
                       find_part("ioseer-doctor-", mpi, path) < 0;
    if (is_left_out && has_launcher) {
        doctor_fail(check, fix, "ioseer is here without its part for it: its MPI-IO is not recorded");
    } else if (is_left_out) {
        doctor_pass(check, "not here, nor is ioseer's part for it");
    } else if (is_installed(check, "libioseer-", plugin, path) && is_installed(check, "ioseer-replay-", mpi, path) &&
               is_installed(check, "libioseer-", "reduce.so", path) &&
               is_installed(check, "ioseer-doctor-", mpi, program)) {
        doctor_pass(check, "plugin and runner are there; without %s they cannot be tried", name);
        if (has_launcher) try_mpi(check, launcher, program);
    }
}

void doctor_mpich(struct doctor_check *check) {
    check_mpi(check, "mpich", "install ioseer-mpi, or install MPICH's headers (libmpich-dev) and build ioseer again");
}

void doctor_openmpi(struct doctor_check *check) {
    check_mpi(check, "openmpi",
              "install ioseer-mpi, or install Open MPI's headers (libopenmpi-dev) and build ioseer again");
}
