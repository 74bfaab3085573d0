// Whether the verbs work that need more than the recorder: replay, emulate, stack and report.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/locate.h"
#include "doctor/trial.h"
#include "late/late.h"

static const char reinstall[] = "build or install ioseer again";

// Runs ioseer with these words; a failure becomes the check's.
static bool runs(struct doctor_check *check, const struct trial *trial, const char *fix, const char *const *words) {
    char *arguments[16] = {(char *)trial->ioseer}, line[256];
    for (size_t i = 0; words[i]; i++) arguments[i + 1] = (char *)words[i];
    int status = trial_run(trial, arguments, environ);
    if (status == 0) return true;
    trial_message(trial, line);
    doctor_fail(check, fix, "%s", status < 0 ? err_text(status) : line);
    return false;
}

// ioseer records itself as it writes the list of calls to a file.
static bool record(struct doctor_check *check, const struct trial *trial) {
    const char *const words[] = {"record", "-q",      "-o", trial->log,  "--", trial->ioseer,
                                 "doctor", "--calls", "-o", trial->file, NULL};
    return runs(check, trial, "see the check 'recording'", words);
}

void doctor_replay(struct doctor_check *check) {
    struct trial trial;
    if (!trial_prepare(&trial, check)) return;
    const char *const words[] = {"replay", trial.log, "--on", trial.folder, "-o", trial.file, NULL};
    if (record(check, &trial) && runs(check, &trial, reinstall, words))
        doctor_pass(check, "the recording of a trial was replayed");
    trial_remove(&trial);
}

void doctor_page(struct doctor_check *check) {
    struct trial trial;
    if (!trial_prepare(&trial, check)) return;
    const char *const words[] = {"report", trial.log, "--format", "html", "-o", trial.file, NULL};
    if (record(check, &trial) && runs(check, &trial, "install Node.js and build ioseer again", words))
        doctor_pass(check, "report and view make pages");
    trial_remove(&trial);
}

void doctor_libraries(struct doctor_check *check) {
    doctor_pass(check, "what verbs load when they need it is here");
    for (size_t i = 0; late_names[i]; i++) {
        if (late_load(late_names[i])) continue;
        doctor_fail(check, reinstall, "ioseer-%s.so, or a library that it needs, is missing", late_names[i]);
        return;
    }
}

// A file that is written to the mount must be in the directory below.
static void try_mount(struct doctor_check *check, const struct trial *trial, const char *below, const char *above) {
    const char *const start[] = {"emulate", "-q", below, above, NULL}, *const stop[] = {"emulate", "--stop", above,
                                                                                        NULL};
    const char *fix = "see /dev/fuse and fusermount3 (package fuse3); only emulate needs them";
    char path[PATH_MAX + 32];
    if (!runs(check, trial, fix, start)) return;
    snprintf(path, sizeof path, "%s/file", above);
    FILE *file = fopen(path, "we");
    if (file) fclose(file);
    snprintf(path, sizeof path, "%s/file", below);
    bool arrived = access(path, F_OK) == 0;
    if (!runs(check, trial, fix, stop)) return;
    if (arrived)
        doctor_pass(check, "a trial mounted and unmounted storage");
    else
        doctor_fail(check, fix, "a file on the mount of a trial did not arrive");
}

// Why no stack can be here, where nobody did anything wrong; NULL if one can.
static const char *why_no_stack(void) {
    char path[PATH_MAX];
    if (locate_private_file("ioseer-probe.so", path) < 0 && locate_private_file("ioseer-uncached.so", path) < 0)
        return "it needs ioseer-stack, or libglusterfs-dev, liburcu-dev and uuid-dev when ioseer is built";
    if (geteuid()) return "only root can start one";
    if (access("/dev/fuse", R_OK | W_OK) < 0) return "it needs /dev/fuse";
    bool is_here = access("/usr/sbin/glusterfsd", X_OK) == 0 && access("/usr/sbin/glusterfs", X_OK) == 0;
    return is_here ? NULL : "GlusterFS is not here (packages glusterfs-server and glusterfs-client)";
}

void doctor_stack(struct doctor_check *check) {
    struct trial trial;
    const char *why = why_no_stack();
    char name[32], pid[16];
    if (why) {
        doctor_pass(check, "no stack can be started: %s", why);
        return;
    }
    if (!trial_prepare(&trial, check)) return;
    snprintf(name, sizeof name, "doctor-%d", (int)getpid());
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    const char *const up[] = {"stack", "up", name, "-q", "--servers", "1", "--while", pid, NULL};
    const char *const down[] = {"stack", "down", name, NULL};
    if (runs(check, &trial, reinstall, up) && runs(check, &trial, reinstall, down))
        doctor_pass(check, "a trial started a file system with probes, and ended it");
    trial_remove(&trial);
}

void doctor_emulate(struct doctor_check *check) {
    struct trial trial;
    char below[PATH_MAX + 16], above[PATH_MAX + 16];
    if (access("/dev/fuse", R_OK | W_OK) < 0) {
        doctor_pass(check, "/dev/fuse: %s; emulate works with --block only", strerror(errno));
        return;
    }
    if (!trial_prepare(&trial, check)) return;
    snprintf(below, sizeof below, "%s/below", trial.folder);
    snprintf(above, sizeof above, "%s/above", trial.folder);
    if (mkdir(below, 0700) == 0 && mkdir(above, 0700) == 0)
        try_mount(check, &trial, below, above);
    else
        doctor_fail(check, "set TMPDIR to a directory that can be written", "%s: %s", trial.folder, strerror(errno));
    trial_remove(&trial);
}
