// ioseer: finds the verb, parses its options and runs it. The verb's own file does the rest.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/human.h"
#include "base/json_keys.h"
#include "base/terminal.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "site/settings.h"

static const struct verb *const verbs[] = {
#define VERB(name) &verb_##name,
#include "cli/verbs.def"
#undef VERB
};

enum { VERB_COUNT = sizeof verbs / sizeof verbs[0], MAX_OPTIONS = 64 };

// Options before the verb.
static struct { bool help, version, no_pager; } options;

static const struct option_row own_rows[] = {
    {"help", 'h', OPTION_FLAG, &options.help, NULL, "print this text"},
    {"version", 0, OPTION_FLAG, &options.version, NULL, "print the version"},
    {"no-pager", 0, OPTION_FLAG, &options.no_pager, NULL, "print long text on the terminal directly"},
    {0},
};

static const struct verb *verb_find(const char *name) {
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (!strcmp(verbs[i]->name, name)) return verbs[i];
    }
    return NULL;
}

static size_t smallest(size_t a, size_t b, size_t c) {
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

// The number of bytes to insert, drop or change to turn one word into the other; long words count as far apart.
static size_t word_distance(const char *a, const char *b) {
    enum { LONGEST = 31 };
    size_t row[LONGEST + 1];
    size_t a_len = strlen(a);
    size_t b_len = strlen(b);
    if (a_len > LONGEST || b_len > LONGEST) return LONGEST;
    for (size_t j = 0; j <= b_len; j++) row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_len];
}

static enum status unknown_verb(const char *name) {
    const struct verb *nearest = NULL;
    size_t least = 3; // a word with three wrong letters is hardly a typing error
    for (size_t i = 0; i < VERB_COUNT; i++) {
        size_t distance = word_distance(name, verbs[i]->name);
        if (distance < least) {
            least = distance;
            nearest = verbs[i];
        }
    }
    cli_prefix(NULL);
    fprintf(stderr, "%s: no such verb; ", name);
    if (nearest) {
        fprintf(stderr, "did you mean '%s'?\n", nearest->name);
    } else {
        fprintf(stderr, "'ioseer --help' lists them\n");
    }
    return STATUS_USAGE;
}

static void print_help(FILE *out) {
    fprintf(out, "Usage: ioseer [OPTION]... VERB [OPTION]... [ARGUMENT]...\n"
                 "Records and analyses the file I/O of programs.\n\nVerbs:\n");
    for (size_t i = 0; i < VERB_COUNT; i++) fprintf(out, "  %-12s %s\n", verbs[i]->name, verbs[i]->summary);
    fprintf(out, "  %-12s %s\n\nOptions:\n", "help", "explain a verb: ioseer help VERB, or ioseer VERB --help");
    options_print(own_rows, out);
    fprintf(out, "\nTry:\n  ioseer record -o run.ioseer -- cp big copy\n  ioseer info run.ioseer\n");
}

static void print_usage(const struct verb *verb, FILE *out) {
    const char *form = verb->usage, *before = "Usage:";
    for (size_t len; *form; form += len + (form[len] == '\n')) {
        len = strcspn(form, "\n");
        fprintf(out, "%s ioseer %s %.*s\n", before, verb->name, (int)len, form);
        before = "      ";
    }
}

// The verb's rows and --help, which every verb has.
static void rows_with_help(const struct verb *verb, struct option_row rows[MAX_OPTIONS], bool *help) {
    size_t count = 0;
    for (; verb->options[count].name && count + 2 < MAX_OPTIONS; count++) rows[count] = verb->options[count];
    rows[count++] = (struct option_row){"help", 0, OPTION_FLAG, help, NULL, "print this text"};
    rows[count] = (struct option_row){0};
}

// Lines that begin with a space stay as they are; a terminal gets the others in lines of its width.
static void print_about(const char *text, FILE *out) {
    char *copy = terminal_width(out) ? strdup(text) : NULL;
    if (!copy) {
        fprintf(out, "%s\n", text);
        return;
    }
    bool is_words = false;
    for (char *at = copy; *at; at++) {
        if (at == copy || at[-1] == '\n') is_words = *at != ' ';
        if (*at == '\n' && is_words && at[1] != ' ') *at = ' ';
    }
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
        if (*line == ' ')
            fprintf(out, "%s\n", line);
        else
            human_paragraph(out, "", line);
    }
    free(copy);
}

static enum status show_verb_help(const struct verb *verb) {
    struct option_row rows[MAX_OPTIONS];
    bool help;
    struct output output;
    rows_with_help(verb, rows, &help);
    output_open(&output, verb->name, NULL);
    print_usage(verb, output.out);
    fputc('\n', output.out);
    print_about(verb->about, output.out);
    fputs("\nOptions:\n", output.out);
    options_print(rows, output.out);
    return output_close(&output, false);
}

static void row_json(const struct option_row *row, struct json_out *json) {
    char letter[2] = {row->letter};
    const char *choice = row->type == OPTION_CHOICE ? "one" : row->type == OPTION_CHOICES ? "some" : NULL;
    json_object_of(json, m_text("name", row->name), m_text("letter", *letter ? letter : NULL),
                   m_text("argument", row->argument), m_text("choice", choice), m_text("help", row->help));
}

static void rows_json(const struct option_row *rows, struct json_out *json) {
    key_array(json, "options");
    for (const struct option_row *row = rows; row->name; row++) row_json(row, json);
    json_close(json);
}

static void verb_json(const struct verb *verb, struct json_out *json) {
    struct option_row rows[MAX_OPTIONS];
    bool help;
    rows_with_help(verb, rows, &help);
    json_object(json);
    json_members(json, m_text("name", verb->name), m_text("summary", verb->summary), m_text("usage", verb->usage),
                 m_text("about", verb->about));
    rows_json(rows, json);
    json_close(json);
}

// Everything that the man pages, the completions of shells and the tests of usage need.
static void help_json(struct json_out *json) {
    json_object(json);
    key_text(json, "version", IOSEER_VERSION);
    rows_json(own_rows, json);
    key_array(json, "verbs");
    for (size_t i = 0; i < VERB_COUNT; i++) verb_json(verbs[i], json);
    json_close(json);
    key_array(json, "settings");
    for (int i = 0; i < SITE_SETTINGS; i++) {
        json_object_of(json, m_text("name", site_rows[i].key), m_text("kind", site_kind_names[site_rows[i].kind]),
                       m_text("default", site_rows[i].otherwise), m_text("help", site_rows[i].help));
    }
    json_close(json);
    json_close(json);
}

static enum status show_help(const char *word) {
    bool as_json = word && !strcmp(word, "--json");
    if (word && !as_json) {
        const struct verb *verb = verb_find(word);
        return verb ? show_verb_help(verb) : unknown_verb(word);
    }
    struct output output;
    output_open(&output, "help", NULL);
    if (as_json)
        help_json(output_json(&output, 5));
    else
        print_help(output.out);
    return output_close(&output, false);
}

static enum status show_version(void) {
    struct output output;
    output_open(&output, "version", NULL);
    fprintf(output.out, "ioseer %s\n", IOSEER_VERSION);
    return output_close(&output, false);
}

static enum status run_verb(const struct verb *verb, int argc, char **argv) {
    struct option_row rows[MAX_OPTIONS];
    bool help = false;
    char problem[256];
    rows_with_help(verb, rows, &help);
    int left = options_parse(rows, verb->command_follows, argc, argv, problem);
    if (left < 0) {
        cli_prefix(verb->name);
        fprintf(stderr, "%s\n", problem);
        return STATUS_USAGE;
    }
    return help ? show_verb_help(verb) : verb->run(left, argv);
}

// A file that is opened where a standard stream is closed would become that stream. What is opened here instead fails
// as the closed stream would, and a recorded command finds it closed.
static void fill_standard_streams(void) {
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    }
}

int main(int argc, char **argv) {
    char problem[256];
    fill_standard_streams();
    argc = options_parse(own_rows, true, argc, argv, problem);
    if (argc < 0) {
        cli_prefix(NULL);
        fprintf(stderr, "%s\n", problem);
        return STATUS_USAGE;
    }
    if (options.no_pager) setenv("IOSEER_PAGER", "", 1);
    if (options.help) return show_help(argv[1]);
    if (options.version) return show_version();
    if (argc < 2) {
        print_help(stderr);
        return STATUS_USAGE;
    }
    if (!strcmp(argv[1], "help")) return show_help(argv[2]);
    const struct verb *verb = verb_find(argv[1]);
    return verb ? run_verb(verb, argc - 1, argv + 1) : unknown_verb(argv[1]);
}
