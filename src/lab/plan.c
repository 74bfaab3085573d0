// From the form to the commands.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/locate.h"
#include "lab/setup.h"
#include "lab/words.h"
#include "stack/options.h"
#include "target/emulate/speed.h"

enum { MOST_PROCESSES = 1024, MOST_RUNS = 100000 };

const struct lab_mpi lab_mpis[] = {
    {"mpich", "MPICH", "mpiexec.mpich"},
    {"openmpi", "Open MPI", "mpiexec.openmpi"},
    {0},
};

static int add(struct text_list *words, const char *const *word) {
    for (; *word; word++) FORWARD(text_list_add(words, "%s", *word));
    return 0;
}
#define ADD(words, ...) FORWARD(add(words, (const char *const[]){__VA_ARGS__, NULL}))

static int finish(struct text_list *words) {
    FORWARD(array_room(words->text, words->count));
    words->text[words->count] = NULL;
    return 0;
}

// --- program and folder

static int find_folder(struct lab_plan *plan, const struct lab_setup *setup, struct lab_refusal *refusal) {
    struct stat status;
    if (setup->folder[0] != '/')
        return lab_refuse(refusal, ERR_USAGE, "folder", "a whole name, which begins with /, is expected");
    if (!realpath(setup->folder, plan->folder) || stat(plan->folder, &status))
        return lab_refuse(refusal, ERR_USAGE, "folder", "%s", strerror(errno));
    if (!S_ISDIR(status.st_mode)) return lab_refuse(refusal, ERR_USAGE, "folder", "not a directory");
    if (access(plan->folder, X_OK)) return lab_refuse(refusal, ERR_USAGE, "folder", "%s", strerror(errno));
    return 0;
}

// A name with a slash is relative to the folder, as for a shell there.
static int find_program(struct lab_plan *plan, const struct lab_setup *setup, struct lab_refusal *refusal) {
    char name[PATH_MAX];
    struct stat status;
    const char *program = setup->program;
    if (!*program) return lab_refuse(refusal, ERR_USAGE, "program", "is missing");
    bool is_relative = strchr(program, '/') && program[0] != '/';
    int len = snprintf(name, sizeof name, "%s%s%s", is_relative ? plan->folder : "", is_relative ? "/" : "", program);
    if (len >= (int)sizeof name) return lab_refuse(refusal, ERR_USAGE, "program", "the name is too long");
    errno = ENOENT;
    if (!locate_program(name, plan->program))
        return errno == EACCES ? lab_refuse(refusal, ERR_USAGE, "program", "%s cannot be executed", program)
                               : lab_refuse(refusal, ERR_USAGE, "program", "there is no program %s", program);
    if (stat(plan->program, &status) == 0 && S_ISDIR(status.st_mode))
        return lab_refuse(refusal, ERR_USAGE, "program", "%s is a directory", program);
    return 0;
}

// --- what is recorded

static int add_patterns(struct text_list *words, const char *option, const char *field, const char *line,
                        struct lab_refusal *refusal) {
    struct text_list patterns = {0};
    int code = lab_words(&patterns, line);
    if (code == ERR_USAGE) lab_refuse(refusal, code, field, "a quote is not closed");
    for (size_t i = 0; i < patterns.count && code == 0; i++)
        code = add(words, (const char *const[]){option, patterns.text[i], NULL});
    text_list_free(&patterns);
    return code;
}

static int add_launcher(struct text_list *words, const struct lab_setup *setup, struct lab_refusal *refusal) {
    char path[PATH_MAX];
    const struct lab_mpi *mpi = lab_mpis;
    if (!strcmp(setup->mpi, "none")) return 0;
    while (mpi->name && strcmp(mpi->name, setup->mpi)) mpi++;
    if (!mpi->name || !locate_program(mpi->launcher, path))
        return lab_refuse(refusal, ERR_USAGE, "mpi", "this MPI is not installed");
    if (setup->processes < 1 || setup->processes > MOST_PROCESSES)
        return lab_refuse(refusal, ERR_USAGE, "processes", "between 1 and %d are possible", MOST_PROCESSES);
    ADD(words, mpi->launcher);
    if (!strcmp(mpi->name, "openmpi")) ADD(words, "--oversubscribe");
    if (!strcmp(mpi->name, "openmpi") && geteuid() == 0) ADD(words, "--allow-run-as-root");
    ADD(words, "-n");
    return text_list_add(words, "%lu", (unsigned long)setup->processes);
}

static int add_command(struct lab_plan *plan, const struct lab_setup *setup, struct lab_refusal *refusal) {
    FORWARD(add_launcher(&plan->record, setup, refusal));
    ADD(&plan->record, plan->program);
    int code = lab_words(&plan->record, setup->arguments);
    return code == ERR_USAGE ? lab_refuse(refusal, code, "arguments", "a quote or a backslash at the end is not closed")
                             : code;
}

// The next free name: the runs of several labs may be in one folder.
static int name_log(struct lab_plan *plan, const struct lab_places *places, struct lab_refusal *refusal) {
    const char *logs = places->logs;
    const char *base = strrchr(plan->program, '/') + 1;
    if (access(logs, W_OK | X_OK)) return lab_refuse(refusal, ERR_USAGE, NULL, "%s: %s", logs, strerror(errno));
    for (unsigned number = places->number; number < MOST_RUNS; number++) {
        int len = snprintf(plan->log, sizeof plan->log, "%s/lab-%u-%.100s.ioseer", logs, number, base);
        if (len >= (int)sizeof plan->log) return lab_refuse(refusal, ERR_USAGE, NULL, "%s: the name is too long", logs);
        if (access(plan->log, F_OK)) return 0;
    }
    return lab_refuse(refusal, ERR_USAGE, NULL, "%s has too many logs", logs);
}

// `names` is some of `all`, in the same order.
static int add_choice(struct text_list *words, const char *option, const char *field, const char *names,
                      const char *all, struct lab_refusal *refusal) {
    if (!strcmp(names, all)) return 0;
    if (!*names) return lab_refuse(refusal, ERR_USAGE, field, "nothing would be recorded: choose at least one");
    return add(words, (const char *const[]){option, names, NULL});
}

static int plan_record(struct lab_plan *plan, const struct lab_setup *setup, const char *ioseer,
                       struct lab_refusal *refusal) {
    struct text_list *words = &plan->record;
    // A run lasts as long as anything of it: what a program leaves behind could not be stopped otherwise.
    ADD(words, ioseer, "record", "-o", plan->log, "--wait", "1000h");
    if (setup->callsites) ADD(words, "--callsites");
    if (setup->counters_only) ADD(words, "--no-trace");
    if (setup->follow) ADD(words, "--ptrace");
    if (plan->stack[0]) ADD(words, "--stack", plan->stack);
    FORWARD(add_choice(words, "--layers", "calls_of", setup->calls_of, LAB_ALL_LAYERS, refusal));
    FORWARD(add_choice(words, "--classes", "classes", setup->classes, LAB_ALL_CLASSES, refusal));
    FORWARD(add_patterns(words, "--include", "include", setup->include, refusal));
    FORWARD(add_patterns(words, "--exclude", "exclude", setup->exclude, refusal));
    ADD(words, "--");
    FORWARD(add_command(plan, setup, refusal));
    return finish(words);
}

// --- storage

static int check_preset(const char *preset, struct lab_refusal *refusal) {
    if (speed_preset_named(preset)) return 0;
    return lab_refuse(refusal, ERR_USAGE, "preset", "there is no such storage");
}

static int plan_emulated(struct lab_plan *plan, const struct lab_setup *setup, const char *work, const char *ioseer,
                         struct lab_refusal *refusal) {
    FORWARD(check_preset(setup->preset, refusal));
    snprintf(plan->words, sizeof plan->words, "%s", setup->preset);
    snprintf(plan->mount, sizeof plan->mount, "%s", work);
    ADD(&plan->prepare, ioseer, "emulate", "--foreground", "--preset", setup->preset, plan->folder, work);
    return 0;
}

static int plan_new_stack(struct lab_plan *plan, const struct lab_setup *setup, const char *ioseer,
                          struct lab_refusal *refusal) {
    struct problem problem = {0};
    struct stack stack;
    bool is_emulated = strcmp(setup->preset, "none") != 0;
    if (is_emulated) FORWARD(check_preset(setup->preset, refusal));
    if (setup->servers < 1 || setup->servers > STACK_SERVERS_MOST)
        return lab_refuse(refusal, ERR_USAGE, "servers", "between 1 and %d are possible", STACK_SERVERS_MOST);
    snprintf(plan->stack, sizeof plan->stack, "lab-%d", (int)getpid());
    snprintf(plan->words, sizeof plan->words, "stack, %u servers, %s%s%s", (unsigned)setup->servers, setup->layout,
             is_emulated ? ", " : "", is_emulated ? setup->preset : "");
    struct stack_options options = {
        .name = plan->stack, .layout = setup->layout, .layers = setup->layers, .servers = setup->servers};
    int code = stack_from_options(&stack, &options, &problem);
    stack_forget(&stack);
    if (code < 0)
        return lab_refuse(refusal, ERR_USAGE, "layout", "%.200s%s%.200s", problem.what, *problem.what ? ": " : "",
                          *problem.why ? problem.why : err_text(code));
    ADD(&plan->prepare, ioseer, "stack", "up", plan->stack, "--quiet", "--layout", setup->layout, "--layers",
        setup->layers, "--servers");
    FORWARD(text_list_add(&plan->prepare, "%lu", (unsigned long)setup->servers));
    if (is_emulated) ADD(&plan->prepare, "--emulate", setup->preset);
    ADD(&plan->prepare, "--while");
    FORWARD(text_list_add(&plan->prepare, "%d", (int)getpid()));
    ADD(&plan->end, ioseer, "stack", "down", plan->stack, "--force");
    return 0;
}

static int plan_storage(struct lab_plan *plan, const struct lab_setup *setup, const char *work, const char *ioseer,
                        struct lab_refusal *refusal) {
    static const char *const kinds[] = {
        [LAB_FOLDER] = "folder", [LAB_EMULATED] = "emulated", [LAB_STACK] = "stack", [LAB_NEW_STACK] = "new-stack"};
    size_t kind = 0;
    while (kind < sizeof kinds / sizeof *kinds && strcmp(kinds[kind], setup->storage)) kind++;
    plan->storage = (enum lab_storage)kind;
    switch (kind) {
    case LAB_FOLDER: snprintf(plan->words, sizeof plan->words, "the folder"); return lab_plan_find_place(plan, refusal);
    case LAB_EMULATED: return plan_emulated(plan, setup, work, ioseer, refusal);
    case LAB_STACK:
        if (!*setup->stack || strlen(setup->stack) >= sizeof plan->stack)
            return lab_refuse(refusal, ERR_USAGE, "stack", "choose one");
        snprintf(plan->stack, sizeof plan->stack, "%s", setup->stack);
        snprintf(plan->words, sizeof plan->words, "stack %s", setup->stack);
        return lab_plan_find_place(plan, refusal);
    case LAB_NEW_STACK: return plan_new_stack(plan, setup, ioseer, refusal);
    default: return lab_refuse(refusal, ERR_USAGE, "storage", "there is no such choice");
    }
}

static bool is_inside(const char *path, const char *folder) {
    size_t len = strlen(folder);
    return !strncmp(path, folder, len) && (path[len] == '/' || !path[len]);
}

// Of a stack the program uses the mount, or a folder in it that was typed.
int lab_plan_find_place(struct lab_plan *plan, struct lab_refusal *refusal) {
    if (plan->stack[0]) {
        struct problem problem = {0};
        struct stack stack;
        int code = stack_find(&stack, plan->stack, &problem);
        if (code == 0) snprintf(plan->mount, sizeof plan->mount, "%s", stack.client[0].mount);
        stack_forget(&stack);
        if (code < 0) return lab_refuse(refusal, ERR_USAGE, "stack", "there is no stack %s", plan->stack);
    }
    bool is_own = plan->storage == LAB_FOLDER || (plan->stack[0] && is_inside(plan->folder, plan->mount));
    snprintf(plan->place, sizeof plan->place, "%s", is_own ? plan->folder : plan->mount);
    return 0;
}

int lab_plan_make(struct lab_plan *plan, const struct lab_setup *setup, const struct lab_places *places,
                  struct lab_refusal *refusal) {
    char ioseer[PATH_MAX];
    *plan = (struct lab_plan){0};
    FORWARD(locate_ioseer(ioseer));
    FORWARD(find_folder(plan, setup, refusal));
    FORWARD(find_program(plan, setup, refusal));
    FORWARD(plan_storage(plan, setup, places->work, ioseer, refusal));
    FORWARD(name_log(plan, places, refusal));
    FORWARD(plan_record(plan, setup, ioseer, refusal));
    FORWARD(finish(&plan->prepare));
    return finish(&plan->end);
}

void lab_plan_free(struct lab_plan *plan) {
    text_list_free(&plan->prepare);
    text_list_free(&plan->record);
    text_list_free(&plan->end);
}
