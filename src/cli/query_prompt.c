#include "cli/query_prompt.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/verb.h"
#ifdef HAVE_LIBEDIT
#include "late/libedit.h"
#endif

struct prompt {
    struct sql *sql;
    FILE *out;
    query_statement *run;
    void *context;
    struct bytes pending; // text of a statement that is not complete; a 0 follows it
    bool is_terminal, is_over;
    char *line; // of getline
    size_t room;
#ifdef HAVE_LIBEDIT
    EditLine *edit;
    History *history;
    char *history_path; // NULL: nowhere to keep it
#endif
};

// --- Ctrl-C

static struct sql *volatile running; // for the handler
static volatile sig_atomic_t was_interrupted;

// A statement may be inside of a function that takes for ever: then the second Ctrl-C ends the program.
static void interrupt(int number) {
    if (running && was_interrupted) {
        signal(number, SIG_DFL);
        raise(number);
    }
    was_interrupted = 1;
    if (running) sql_interrupt(running);
}

// --- commands

static const char help[] = "A statement ends with a semicolon:  SELECT op, count(*) FROM events GROUP BY op;\n"
                           ".tables         the tables\n"
                           ".schema [TABLE] their columns, with types and meanings\n"
                           ".help           this text\n"
                           ".quit           end, as Ctrl-D; Ctrl-C ends a statement that takes too long\n";

// False if there is no such table.
static bool print_schema(FILE *out, const char *wanted) {
    bool is_known = !*wanted;
    for (size_t i = 0; sql_description(i); i++) {
        const struct sql_description *about = sql_description(i);
        if (*wanted && strcmp(wanted, about->name) != 0) continue;
        is_known = true;
        fprintf(out, "CREATE TABLE %s( -- %s\n", about->name, about->meaning);
        for (const struct sql_column *column = about->column; column->name; column++)
            fprintf(out, "  \"%s\" %s%s -- %s\n", column->name, sql_type_name(column->type), column[1].name ? "," : "",
                    column->meaning);
        fputs(");\n", out);
    }
    return is_known;
}

static int complain(const struct prompt *prompt, const char *why) {
    cli_prefix("query");
    fprintf(stderr, "%s\n", why);
    return prompt->is_terminal ? 0 : ERR_USAGE;
}

static int run_command(struct prompt *prompt, char *line) {
    char *save = NULL;
    const char *name = strtok_r(line, " \t\n", &save), *word = strtok_r(NULL, " \t\n;", &save);
    if (!strcmp(name, ".tables")) {
        for (size_t i = 0; sql_description(i); i++)
            fprintf(prompt->out, "%-12s %s\n", sql_description(i)->name, sql_description(i)->meaning);
    } else if (!strcmp(name, ".schema")) {
        if (!print_schema(prompt->out, word ? word : "")) return complain(prompt, "no such table; .tables lists them");
    } else if (!strcmp(name, ".help")) {
        fputs(help, prompt->out);
    } else if (!strcmp(name, ".quit") || !strcmp(name, ".exit")) {
        prompt->is_over = true;
    } else {
        return complain(prompt, "no such command; .help lists them");
    }
    fflush(prompt->out);
    return 0;
}

// --- statements

// Nothing but comments.
static bool is_blank(const char *text) {
    for (;;) {
        while (isspace((unsigned char)*text) || *text == ';') text++;
        const char *end = !strncmp(text, "/*", 2) ? strstr(text + 2, "*/") : NULL;
        if (end)
            text = end + 2;
        else if (!strncmp(text, "--", 2))
            text += strcspn(text, "\n");
        else
            return !*text;
    }
}

static int run_statement(struct prompt *prompt, const char *statement) {
    if (is_blank(statement)) return 0;
    was_interrupted = 0;
    running = prompt->sql;
    int code = prompt->run(prompt->context, statement);
    running = NULL;
    return prompt->is_terminal ? 0 : code;
}

// Runs the statements that are complete; at the end, what is left.
static int run_pending(struct prompt *prompt, bool is_end) {
    char *text = (char *)prompt->pending.data, *at = text;
    int code = 0;
    while (code == 0 && at && !is_blank(at) && (is_end || sql_is_complete(at))) {
        size_t len = sql_first_statement(at);
        char kept = at[len];
        at[len] = '\0';
        code = run_statement(prompt, at);
        at += len;
        *at = kept;
    }
    prompt->pending.len = at && !is_blank(at) ? strlen(at) : 0;
    if (prompt->pending.len) memmove(text, at, prompt->pending.len + 1);
    return code;
}

static int add_line(struct prompt *prompt, char *line) {
    size_t len = strlen(line);
    if (!prompt->pending.len && line[0] == '.') return run_command(prompt, line);
    uint8_t *to = bytes_reserve(&prompt->pending, len + 1);
    RETURN_IF(!to, -ENOMEM);
    memcpy(to, line, len + 1);
    prompt->pending.len += len;
    return run_pending(prompt, false);
}

// --- lines

#ifdef HAVE_LIBEDIT

enum { HISTORY_LINES = 1000 };

static const struct libedit *libedit; // NULL until the prompt begins, and if it is not there

static const char *prompt_text(EditLine *edit) {
    const struct prompt *prompt;
    libedit->el_get(edit, EL_CLIENTDATA, &prompt);
    return prompt->pending.len ? "   ...> " : "ioseer> ";
}

// Makes the folder if it is not there. A user without a writable home has no history.
static char *find_history(void) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    if (state && *state == '/' ? asprintf(&path, "%s/ioseer/query_history", state) < 0
                               : !home || asprintf(&path, "%s/.local/state/ioseer/query_history", home) < 0)
        return NULL;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    return path;
}

static void begin_editing(struct prompt *prompt) {
    HistEvent event;
    libedit = late_load("libedit");
    if (!libedit) return;
    prompt->edit = libedit->el_init("ioseer", stdin, stdout, stderr);
    prompt->history = libedit->history_init();
    if (!prompt->edit || !prompt->history) return;
    prompt->history_path = find_history();
    libedit->history(prompt->history, &event, H_SETSIZE, HISTORY_LINES);
    libedit->history(prompt->history, &event, H_SETUNIQUE, 1);
    if (prompt->history_path) libedit->history(prompt->history, &event, H_LOAD, prompt->history_path);
    libedit->el_set(prompt->edit, EL_CLIENTDATA, prompt);
    libedit->el_set(prompt->edit, EL_PROMPT, prompt_text);
    libedit->el_set(prompt->edit, EL_EDITOR, "emacs");
    libedit->el_set(prompt->edit, EL_HIST, libedit->history, prompt->history);
    libedit->el_set(prompt->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    // The terminal turns a Ctrl-D that comes between two lines into a 0.
    libedit->el_set(prompt->edit, EL_BIND, "^@", "ed-end-of-file", NULL);
    libedit->el_source(prompt->edit, NULL);
}

static void end_editing(struct prompt *prompt) {
    HistEvent event;
    if (!libedit) return;
    if (prompt->history_path) libedit->history(prompt->history, &event, H_SAVE, prompt->history_path);
    if (prompt->edit) libedit->el_end(prompt->edit);
    if (prompt->history) libedit->history_end(prompt->history);
    free(prompt->history_path);
}

// Copies the line: editing keeps its own. Returns NULL at the end, or if Ctrl-C was pressed.
static char *edited_line(struct prompt *prompt) {
    HistEvent event;
    int count = 0;
    const char *line = libedit->el_gets(prompt->edit, &count);
    if (!line || count <= 0) return NULL;
    if (!is_blank(line)) libedit->history(prompt->history, &event, H_ENTER, line);
    free(prompt->line);
    prompt->line = strdup(line);
    prompt->room = 0;
    return prompt->line;
}

#endif

static char *next_line(struct prompt *prompt) {
#ifdef HAVE_LIBEDIT
    if (prompt->edit && prompt->history) return edited_line(prompt);
#endif
    if (prompt->is_terminal) fputs(prompt->pending.len ? "   ...> " : "ioseer> ", stdout), fflush(stdout);
    return getline(&prompt->line, &prompt->room, stdin) < 0 ? NULL : prompt->line;
}

static int read_all(struct prompt *prompt) {
    int code = 0;
    while (code == 0 && !prompt->is_over) {
        was_interrupted = 0;
        char *line = next_line(prompt);
        if (!line && was_interrupted) {
            prompt->pending.len = 0; // what was typed so far is not wanted
            clearerr(stdin);
            fputc('\n', stdout);
            continue;
        }
        if (!line) break;
        code = add_line(prompt, line);
    }
    return code == 0 && prompt->pending.len ? run_pending(prompt, true) : code;
}

int query_prompt(struct sql *sql, FILE *out, query_statement *run, void *context) {
    struct prompt prompt = {
        .sql = sql, .out = out, .run = run, .context = context, .is_terminal = isatty(STDIN_FILENO)};
    struct sigaction before, own = {.sa_handler = interrupt}; // without SA_RESTART: reading a line ends, too
    if (prompt.is_terminal) {
        sigaction(SIGINT, &own, &before);
        fprintf(stdout, "Statements of SQL end with a semicolon. Try .tables, .help; Ctrl-D ends.\n");
    }
#ifdef HAVE_LIBEDIT
    if (prompt.is_terminal) begin_editing(&prompt);
#endif
    int code = read_all(&prompt);
#ifdef HAVE_LIBEDIT
    if (prompt.is_terminal) end_editing(&prompt);
#endif
    if (prompt.is_terminal) {
        fputc('\n', stdout);
        sigaction(SIGINT, &before, NULL);
    }
    bytes_free(&prompt.pending);
    free(prompt.line);
    return code;
}
