// `ioseer env`: variables with which programs are recorded without `record`.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "base/locate.h"
#include "base/scoped.h"
#include "base/settings.h"
#include "cli/option_rows.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "fmt/spill.h"
#include "site/settings.h"

static struct {
    const char *log_dir;
    const char *shell;
    bool off;
    bool json;
} options;

static const struct option_row rows[] = {
    {"log-dir", 0, OPTION_TEXT, &options.log_dir, "DIR", "folder for the logs (default: log_dir of ioseer.conf)"},
    {"shell", 0, OPTION_TEXT, &options.shell, "SHELL",
     "sh, csh, fish, or slurm for the output of a TaskProlog (default: that of $SHELL)"},
    {"off", 0, OPTION_FLAG, &options.off, NULL, "print the lines that end it"},
    ROW_JSON(&options.json),
    {0},
};

enum shell { SHELL_SH, SHELL_CSH, SHELL_FISH, SHELL_SLURM, SHELL_UNKNOWN };

static enum shell shell_of(const char *name) {
    const char *slash = strrchr(name, '/');
    if (slash) name = slash + 1;
    static const char *const names[] = {"sh", "bash", "zsh", "dash", "ksh"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(name, names[i])) return SHELL_SH;
    }
    if (!strcmp(name, "csh") || !strcmp(name, "tcsh")) return SHELL_CSH;
    if (!strcmp(name, "slurm")) return SHELL_SLURM;
    return strcmp(name, "fish") ? SHELL_UNKNOWN : SHELL_FISH;
}

struct variable {
    const char *name;
    char value[PATH_MAX];
};
enum { VARIABLES = 5 };

// For all three shells: between single quotes only these characters have a meaning to one of them, and outside of
// quotes a backslash takes it from them.
static void print_quoted(const char *text) {
    putchar('\'');
    for (; *text; text++) printf(strchr("'!\\", *text) ? "'\\%c'" : "%c", *text);
    putchar('\'');
}

static void print_set(enum shell shell, const struct variable *variable) {
    static const char *const forms[] = {"export %s=", "setenv %s ", "set -gx %s ", "export %s="};
    printf(forms[shell], variable->name);
    if (shell == SHELL_SLURM) { // takes the rest of the line as it is
        puts(variable->value);
        return;
    }
    print_quoted(variable->value);
    puts(shell == SHELL_FISH ? "" : ";");
}

static void print_unset(enum shell shell, const char *name) {
    static const char *const forms[] = {"unset %s;\n", "unsetenv %s;\n", "set -e %s\n", "unset %s\n"};
    printf(forms[shell], name);
}

// Without this ioseer's library; other libraries of the user stay.
static void other_preloads(const char *library, char out[PATH_MAX]) {
    const char *at = getenv("LD_PRELOAD");
    out[0] = 0;
    while (at && *at) {
        size_t len = strcspn(at, ": ");
        bool is_ours = len == strlen(library) && !strncmp(at, library, len);
        if (len && !is_ours)
            snprintf(out + strlen(out), PATH_MAX - strlen(out), "%s%.*s", *out ? ":" : "", (int)len, at);
        at += len + (at[len] != 0);
    }
}

static enum status collect(struct variable variables[VARIABLES], char library[PATH_MAX], char others[PATH_MAX]) {
    char program[PATH_MAX], folder[PATH_MAX] = "";
    const char *preload = getenv("LD_PRELOAD");
    SCOPED(site_settings_free) struct site_settings settings = {0};
    struct problem problem = {0};
    int code = site_settings_read(&settings, &problem);
    if (code < 0 && !options.off) return cli_problem("env", "ioseer.conf", &problem, code);
    if (preload && strlen(preload) >= PATH_MAX / 2) return cli_usage("env", "LD_PRELOAD", "is too long");
    const char *log_dir = options.log_dir ? options.log_dir : settings.value[SITE_LOG_DIR];
    if ((code = locate_private_file("libioseer.so", library)) < 0) return cli_fail("env", "libioseer.so", code);
    if (strpbrk(library, ": ") || strlen(library) >= PATH_MAX / 2)
        return cli_usage("env", library, "LD_PRELOAD takes no such path: it has a space or colon, or is too long");
    if ((code = locate_ioseer(program)) < 0) return cli_fail("env", "ioseer", code);
    if (!options.off && !*log_dir) return cli_usage("env", "--log-dir", "is missing, and ioseer.conf has no log_dir");
    if (!options.off && !realpath(log_dir, folder)) return cli_fail("env", log_dir, -errno);
    other_preloads(library, others);
    const char *const values[VARIABLES] = {folder, library, program, NULL, NULL};
    static const char *const names[VARIABLES] = {SETTING_LOG_DIR, SETTING_LIBRARY, SETTING_PROGRAM,
                                                 SETTING_SPILL_VERSION, "LD_PRELOAD"};
    for (int i = 0; i < VARIABLES; i++) {
        variables[i].name = names[i];
        if (values[i]) snprintf(variables[i].value, sizeof variables[i].value, "%s", values[i]);
    }
    snprintf(variables[3].value, sizeof variables[3].value, "%d", SPILL_VERSION);
    snprintf(variables[4].value, sizeof variables[4].value, "%.2047s%s%.2047s", others, *others ? ":" : "", library);
    return STATUS_OK;
}

static void print_json(const struct variable *variables, struct json_out *json) {
    json_object(json);
    key_object(json, "variables");
    for (int i = 0; i < VARIABLES; i++) json_members(json, m_text(variables[i].name, variables[i].value));
    json_close(json);
    json_close(json);
}

static void print_off(enum shell shell, const struct variable *variables, const char *others) {
    for (int i = 0; i < VARIABLES - 1; i++) print_unset(shell, variables[i].name);
    struct variable preload = {.name = "LD_PRELOAD"};
    snprintf(preload.value, sizeof preload.value, "%s", others);
    *others ? print_set(shell, &preload) : print_unset(shell, preload.name);
}

static enum status run(int argc, char **argv) {
    struct variable variables[VARIABLES] = {0};
    char library[PATH_MAX], others[PATH_MAX];
    const char *name = options.shell ? options.shell : getenv("SHELL");
    enum shell shell = name && *name ? shell_of(name) : SHELL_SH;
    if (argc > 1) return cli_usage("env", argv[1], "unexpected argument");
    if (shell == SHELL_UNKNOWN && options.shell)
        return cli_usage("env", options.shell, "is not sh, csh, fish or slurm");
    if (shell == SHELL_UNKNOWN) shell = SHELL_SH;
    enum status status = collect(variables, library, others);
    if (status != STATUS_OK) return status;
    struct output output;
    if ((status = output_open(&output, "env", NULL)) != STATUS_OK) return status;
    if (options.json) print_json(variables, output_json(&output, 2));
    if (!options.json && options.off) print_off(shell, variables, others);
    for (int i = 0; i < VARIABLES && !options.json && !options.off; i++) print_set(shell, &variables[i]);
    return output_close(&output, false);
}

const struct verb verb_env = {
    .name = "env",
    .summary = "record everything that a shell starts",
    .usage = "[OPTION]...",
    .about = "Prints variables for a shell: after `eval \"$(ioseer env --log-dir DIR)\"` each program that the shell "
             "starts\n"
             "is recorded, and its log is below DIR when it has ended. Only counters are kept, unless ioseer.conf says "
             "more.",
    .options = rows,
    .run = run,
};
