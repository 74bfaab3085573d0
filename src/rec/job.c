#include "rec/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include "base/glob.h"
#include "base/settings.h"
#include "fmt/fields.h"
#include "fmt/spill.h"
#include "rec/event_clock.h"
#include "rec/fixed_text.h"
#include "rec/folder.h"
#include "rec/host_folder.h"
#include "rec/real.h"
#include "rec/recorder.h"
#include "rec/spill.h"

// In the job's directory: a byte for each process that has begun the job, and for each of these that has ended.
#define BEGUN "/begun"
#define ENDED "/ended"

// The directory of a job that is not recorded, because others of the sample are.
#define DECLINED "-"

enum { KEY_ROOM = 96, ROOT_ROOM = 96 };

static struct {
    bool is_alone;  // the job has no `record`
    bool is_root;   // the process `pid` has begun it
    bool describes; // and has still to describe it
    bool is_step;   // of Slurm, or a job of Flux: each of its tasks begins it
    uint64_t tasks; // how many these are
    const char *log_dir;
    const char *packer; // path of ioseer
    char key[KEY_ROOM]; // the batch job that it belongs to, or "-"
    const char *id;     // of the batch system, with the step; or NULL
    bool knows_exit;    // what exit() was given
    uint32_t exit_value;
    uint32_t pid;
} job;

// --- who is it?

static bool is_in(const char *const *patterns, const char *text) {
    while (*patterns && !glob_match(*patterns, text)) patterns++;
    return *patterns;
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_left_out(void) {
    static const char *programs[RECORDER_PATTERNS], *users[RECORDER_PATTERNS];
    static char path[PATH_MAX];
    char number[24];
    struct fixed_text user = {number, sizeof number, 0};
    long len = cpu_syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path - 1);
    path[len > 0 ? len : 0] = 0;
    // Commands of a batch system only wait for programs that are recorded where they run.
    static const char *const own[] = {"ioseer*", "srun",     "sbatch", "salloc", "scancel", "squeue",
                                      "sinfo",   "scontrol", "sacct",  "qsub",   "qstat",   "qdel",
                                      "bsub",    "bjobs",    "bkill",  "jsrun",  "flux",    NULL};
    if (is_in(own, last_part(path))) return true;
    recorder_patterns(SETTING_EXCLUDE_PROGRAM, programs);
    recorder_patterns(SETTING_EXCLUDE_USER, users);
    fixed_text_number(&user, (uint64_t)cpu_syscall(SYS_geteuid, 0), 10);
    const char *name = recorder_variable("USER");
    return is_in(programs, path) || is_in(users, number) || (name && is_in(users, name));
}

static void add_id(struct fixed_text *key, const char *id) {
    static const char flux[] = "\xc6\x92"; // Flux's ids begin with this, or with an f where a terminal cannot show it
    bool is_flux = !strncmp(id, flux, sizeof flux - 1);
    fixed_text_add(key, is_flux ? "f" : "");
    fixed_text_add(key, is_flux ? id + sizeof flux - 1 : id);
}

// What tells apart the jobs with this id: the step, or the element of an array. That of Flux is unique in the job
// around.
static void add_part(struct fixed_text *key, const char *name) {
    const char *step = recorder_variable("SLURM_STEP_ID"), *element = recorder_variable("LSB_JOBINDEX");
    if (!strcmp(name, "SLURM_JOB_ID") && step && recorder_variable("SLURM_PROCID")) {
        job.tasks = recorder_number_of(recorder_variable("SLURM_STEP_NUM_TASKS"));
        fixed_text_add(key, job.tasks ? "." : "");
        fixed_text_add(key, job.tasks ? step : "");
    } else if (!strcmp(name, "FLUX_JOB_ID") && recorder_variable("FLUX_TASK_RANK")) {
        job.tasks = recorder_number_of(recorder_variable("FLUX_JOB_SIZE"));
    } else if (!strcmp(name, "LSB_JOBID") && element && strcmp(element, "0") != 0) {
        fixed_text_add(key, "[");
        fixed_text_add(key, element);
        fixed_text_add(key, "]");
    }
    job.is_step = job.tasks;
}

// "12" or, in a step of Slurm, "12.0": the job of the batch system. False outside of one.
static bool find_key(void) {
    static const char *const names[] = {SETTINGS_BATCH_NAMES};
    const char *id = NULL, *around = recorder_variable("FLUX_ENCLOSING_ID");
    struct fixed_text text = {job.key, KEY_ROOM, 0};
    size_t which = 0;
    while (which < sizeof names / sizeof *names && !(id = recorder_variable(names[which]))) which++;
    if (!id) {
        strcpy(job.key, "-");
        return false;
    }
    if (!strcmp(names[which], "FLUX_JOB_ID") && around) {
        add_id(&text, around);
        fixed_text_add(&text, ".");
    }
    add_id(&text, id);
    add_part(&text, names[which]);
    for (char *at = job.key; *at; at++) {
        bool is_plain = (*at >= '0' && *at <= '9') || (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z');
        if (!is_plain && !strchr(".-_", *at)) *at = '-';
    }
    job.id = job.key;
    return true;
}

// One job in so many. All tasks of a step come to the same answer.
static bool is_chosen(const char *key, uint64_t units) {
    uint64_t one_in = recorder_number(SETTING_SAMPLE), hash = job.is_step ? 1469598103934665603u : units;
    for (; job.is_step && *key; key++) hash = (hash ^ (uint8_t)*key) * 1099511628211u;
    return one_in <= 1 || (hash >> 3) % one_in == 0;
}

static void write_root(char root[ROOT_ROOM], uint32_t pid) {
    struct utsname name = {.nodename = "host"};
    struct fixed_text text = {root, ROOT_ROOM, 0};
    cpu_syscall(SYS_uname, &name);
    fixed_text_number(&text, pid, 10);
    fixed_text_add(&text, "@");
    fixed_text_add(&text, name.nodename);
}

// --- its directory

// KEY.spill-step for all tasks of a step; else PID.spill-TIME.
static bool make_directory(char path[PATH_MAX], const char *key, uint64_t units) {
    struct fixed_text text = {path, PATH_MAX, strlen(path)};
    fixed_text_add(&text, "/");
    if (job.is_step) {
        fixed_text_add(&text, key);
        fixed_text_add(&text, ".spill-step");
    } else {
        fixed_text_number(&text, job.pid, 10);
        fixed_text_add(&text, ".spill-");
        fixed_text_number(&text, units, 16);
    }
    long code = cpu_syscall(SYS_mkdirat, AT_FDCWD, path, 0700);
    return code == 0 || (code == -EEXIST && job.is_step && folder_is_safe(path, true));
}

static void name_in_job(char path[PATH_MAX], const char *name) {
    struct fixed_text text = {path, PATH_MAX, 0};
    fixed_text_add(&text, recorder.job);
    fixed_text_add(&text, name);
}

// Adds a byte to a file of the directory; returns its length, or -1.
static int64_t add_byte(const char *name) {
    char path[PATH_MAX];
    struct stat status;
    name_in_job(path, name);
    long fd = cpu_syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    bool is_done = cpu_syscall(SYS_write, fd, ".", 1) == 1 && cpu_syscall(SYS_fstat, fd, &status) == 0;
    cpu_syscall(SYS_close, fd);
    return is_done ? status.st_size : -1;
}

static int64_t length_of(const char *name) {
    char path[PATH_MAX];
    struct stat status;
    name_in_job(path, name);
    return cpu_syscall(SYS_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_size : -1;
}

// Forked children have a copy of what is said here about their parent.
static bool is_root(void) { return job.is_root && cpu_syscall(SYS_getpid, 0) == (long)job.pid; }

static void export_job(const char *path, const char *key) {
    char root[ROOT_ROOM];
    char start[24];
    struct fixed_text number = {start, sizeof start, 0};
    write_root(root, job.pid);
    fixed_text_number(&number, clock_ns(CLOCK_REALTIME), 10);
    recorder_export(SETTING_JOB_START, start, number.len);
    recorder.job = recorder_export(SETTING_JOB, path, strlen(path));
    recorder_export(SETTING_JOB_KEY, key, strlen(key));
    recorder_export(SETTING_JOB_ROOT, root, strlen(root));
}

static void note_exit(int status, void *unused);

// Not on the stack: that of a forked child's thread may be small.
static void start(void) {
    static char path[PATH_MAX];
    const char *key = job.key;
    uint64_t units = event_clock_now();
    if (!is_chosen(key, units)) { // neither is what this process starts
        export_job(DECLINED, key);
        recorder.declined = true;
        recorder.job = NULL;
        return;
    }
    if (!folder_of_user(path, job.log_dir) || !make_directory(path, key, units)) return;
    export_job(path, key);
    job.is_root = job.describes = recorder.job && add_byte(BEGUN) > 0;
    if (!job.is_root) recorder.job = NULL; // there is no room
}

// The variables that the process inherited name its job, unless it is in another step, or the log has been made
// already, or another user's process started it.
static bool is_in_job(void) {
    const char *known = recorder_variable(SETTING_JOB_KEY);
    if (!recorder.job || !known || strcmp(known, job.key) != 0) return false;
    return !strcmp(recorder.job, DECLINED) || folder_is_safe(recorder.job, true);
}

static bool has_begun_before(void) {
    const char *root = recorder_variable(SETTING_JOB_ROOT);
    char own[ROOT_ROOM];
    write_root(own, job.pid);
    return root && !strcmp(root, own);
}

static bool is_wanted(bool in_batch) {
    const char *which = recorder_setting(SETTING_RECORD);
    if (!which || !strcmp(which, "all")) return true;
    return in_batch && !strcmp(which, "batch");
}

static void join(void) {
    job.is_root = has_begun_before();
    // The process that began the job has to end it, whatever it has become.
    if (!job.is_root && (!is_wanted(true) || is_left_out())) recorder.job = NULL;
}

void job_begin(void) {
    if (recorder.job && !recorder_variable(SETTING_JOB_KEY)) return; // of `record`
    const char *packer = recorder_setting(SETTING_PROGRAM);
    bool in_batch = find_key(), is_known = is_in_job();
    job.log_dir = recorder_setting(SETTING_LOG_DIR);
    recorder.spill_parent = recorder_setting(SETTING_SPILL);
    recorder.declined = is_known && !strcmp(recorder.job, DECLINED);
    if (!is_known || recorder.declined) recorder.job = NULL;
    if (is_known) { // for exec
        recorder_setting(SETTING_JOB_KEY);
        recorder_setting(SETTING_JOB_ROOT);
    }
    if (!job.log_dir || recorder.declined) return;
    job.is_alone = true;
    job.pid = (uint32_t)cpu_syscall(SYS_getpid, 0);
    job.packer = packer ? packer : IOSEER_INSTALLED;
    const char *library = recorder.library ? NULL : real_path();
    if (library) recorder.library = recorder_export(SETTING_LIBRARY, library, strlen(library));
    if (is_known)
        join();
    else if (is_wanted(in_batch) && !is_left_out())
        start();
    if (job.is_root) on_exit(note_exit, NULL);
}

bool job_is_alone(void) { return job.is_alone && recorder.job; }

bool job_begin_again(void) {
    if (!job.is_alone || !recorder.job || folder_is_safe(recorder.job, true)) return false;
    job.pid = (uint32_t)cpu_syscall(SYS_getpid, 0);
    job.is_root = job.knows_exit = false;
    job.tasks = 0; // the others of a step have ended
    start();
    if (job.is_root) on_exit(note_exit, NULL);
    return recorder.job;
}

// --- what the log says about it

static void put_variables(struct fields_out *out) {
    static const char *const patterns[] = {SETTINGS_STORED_NAMES, SETTINGS_BATCH_NAMES, NULL};
    char name[128];
    for (char **at = recorder_environment(); *at; at++) {
        size_t len = strcspn(*at, "=");
        if (len >= sizeof name) continue;
        memcpy(name, *at, len);
        name[len] = 0;
        if (!is_in(patterns, name)) continue;
        fields_begin(out, RECORD_SETTING);
        fields_string(out, SETTING_NAME, name);
        fields_end(out);
    }
}

static void put_command(struct fields_out *out) {
    static char words[4096];
    long fd = cpu_syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    long len = fd < 0 ? 0 : cpu_syscall(SYS_read, fd, words, sizeof words - 1);
    if (fd >= 0) cpu_syscall(SYS_close, fd);
    if (len <= 0) return;
    recorder.spill->own_chars += (uint32_t)len;
    for (long at = 0; at < len; at += (long)strlen(words + at) + 1) fields_string(out, JOB_COMMAND, words + at);
}

void job_describe(void) {
    static uint8_t buffer[16 << 10];
    static char folder[PATH_MAX];
    struct utsname name;
    struct fields_out out = {.at = buffer, .end = buffer + sizeof buffer};
    if (!job.describes) return;
    job.describes = false;
    fields_begin(&out, RECORD_JOB);
    put_command(&out);
    fields_number(&out, JOB_START_NS, recorder.spill->start.epoch_ns);
    if (cpu_syscall(SYS_uname, &name) == 0) fields_string(&out, JOB_HOST, name.nodename);
    if (cpu_syscall(SYS_getcwd, folder, sizeof folder) > 0) fields_string(&out, JOB_CWD, folder);
    fields_string(&out, JOB_VERSION, IOSEER_VERSION);
    fields_number(&out, JOB_UID, (uint64_t)cpu_syscall(SYS_getuid, 0));
    if (job.id) fields_string(&out, JOB_ID, job.id);
    fields_end(&out);
    put_variables(&out);
    spill_record(buffer, (size_t)(out.at - buffer));
}

// --- its end

// Runs on the parent's memory until exec, so it only makes system calls. Terminals and pipes of the program must not
// wait for it, and an interrupt at the terminal is not for it.
static __attribute__((noreturn)) void become_packer(char **words, char **environment) {
    cpu_syscall(SYS_setsid, 0);
    cpu_syscall(SYS_chdir, "/");
    long null = cpu_syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
    for (int fd = 0; fd < 3 && null >= 0; fd++) cpu_syscall(SYS_dup3, null, fd, 0);
    cpu_syscall(SYS_close_range, 3, ~0u, 0);
    uint64_t none = 0;
    cpu_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
    cpu_syscall(SYS_execve, job.packer, words, environment);
    for (;;) cpu_syscall(SYS_exit_group, 127);
}

static void wait_for(long pid) {
    struct timespec pause = {.tv_nsec = 200000};
    uint64_t begin = clock_ns(CLOCK_MONOTONIC), patience_ns = recorder_number(SETTING_PATIENCE) * 1000000000u;
    while (cpu_syscall(SYS_wait4, pid, NULL, WNOHANG | __WALL, NULL) == 0) {
        if (clock_ns(CLOCK_MONOTONIC) - begin > patience_ns) return;
        cpu_syscall(SYS_nanosleep, &pause, NULL);
        if (pause.tv_nsec < 5000000) pause.tv_nsec *= 2;
    }
}

// What the packer must know, and nothing that could keep it from starting.
static void fill_environment(char **out, unsigned room) {
    static const char *const names[] = {"IOSEER_*", "HOME=*", "XDG_CONFIG_HOME=*", "TZ=*", NULL};
    unsigned count = 0;
    out[count++] = SETTING_RECORD "=none";
    for (unsigned i = 0; i < recorder.settings; i++) out[count++] = recorder.setting[i];
    for (char **at = recorder_environment(); *at && count < room - 1; at++) {
        if (is_in(names, *at)) out[count++] = *at;
    }
    out[count] = NULL;
}

// The program's own handlers must not notice the child: the signal of its end is blocked, and taken before it arrives.
static void run_packer(const char *directory) {
    static char *environment[RECORDER_SETTINGS + 64];
    char *words[] = {(char *)job.packer, "pack", "--finish", (char *)directory, NULL};
    uint64_t all = ~UINT64_C(0), before = 0, child_ended = UINT64_C(1) << (SIGCHLD - 1);
    struct timespec at_once = {0};
    fill_environment(environment, sizeof environment / sizeof *environment);
    cpu_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    long pid = cpu_syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, 0);
    if (pid == 0) become_packer(words, environment);
    uint64_t waiting = before | child_ended;
    cpu_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &waiting, NULL, sizeof waiting);
    if (pid > 0) wait_for(pid);
    cpu_syscall(SYS_rt_sigtimedwait, &child_ended, NULL, &at_once, sizeof child_ended);
    cpu_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

// All that began the job have ended; or these ended before, and the log waits for this process.
static bool is_over(void) {
    if (!is_root()) return length_of(SPILL_LATE) >= 0;
    job.is_root = false;
    int64_t ended = add_byte(ENDED), begun = length_of(BEGUN);
    return ended > 0 && ended >= begun && (uint64_t)begun >= job.tasks;
}

// Not in a child that has no spill file or runs on its parent's memory, in a sandbox, or where another root could give
// it another packer.
void job_end(void) {
    bool is_recorded = current_thread && current_thread->ready && cpu_syscall(SYS_getpid, 0) == (long)recorder.pid;
    if (!job.is_alone || !recorder.job || !is_recorded || recorder.new_root) return;
    const char *left = host_folder_leave();
    if (is_over())
        run_packer(recorder.job);
    else if (left)
        run_packer(left);
}

// libc runs this behind the destructors, because it was registered before them; in a program that the recorder is
// linked into, it is the other way round.
static void note_exit(int status, void *unused) {
    (void)unused;
    if (!is_root()) return;
    job.knows_exit = true;
    job.exit_value = (uint32_t)status;
    if (!recorder.spill || atomic_load(&recorder.spill->exit) != EXIT_CLEAN) return;
    recorder.spill->exit_value = job.exit_value;
    job_end();
}

void job_exit(void) {
    if (is_root() && !job.knows_exit) return;
    if (is_root() && recorder.spill) recorder.spill->exit_value = job.exit_value;
    job_end();
}
