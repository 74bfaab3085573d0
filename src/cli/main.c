// ioseer: finds the verb, parses its options, runs it. What a verb does is in the file of its name.
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/output.h"
#include "cli/verb.h"

static const struct verb *const verbs[] = {
    &verb_record, &verb_info,    &verb_report,  &verb_view,   &verb_dump,    &verb_stats,    &verb_phases, &verb_model,
    &verb_diff,   &verb_emulate, &verb_measure, &verb_replay, &verb_predict, &verb_evaluate, &verb_doctor, &verb_pack,
};

enum { VERB_COUNT = sizeof verbs / sizeof verbs[0], MAX_OPTIONS = 64 };

static const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (!strcmp(verbs[i]->name, name)) return verbs[i];
    }
    return NULL;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

// Number of bytes to insert, drop or change to make one word of the other; long words count as far apart.
static size_t word_distance(const char *a, const char *b)
{
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

static int unknown_verb(const char *name)
{
    const struct verb *nearest = NULL;
    size_t least = 3; // farther words are no likely slip
    for (size_t i = 0; i < VERB_COUNT; i++) {
        size_t distance = word_distance(name, verbs[i]->name);
        if (distance < least) {
            least = distance;
            nearest = verbs[i];
        }
    }
    fprintf(stderr, "ioseer: %s: no such verb; ", name);
    if (nearest) {
        fprintf(stderr, "did you mean '%s'?\n", nearest->name);
    } else {
        fprintf(stderr, "'ioseer --help' lists them\n");
    }
    return STATUS_USAGE;
}

static void print_help(FILE *out)
{
    fprintf(out, "Usage: ioseer VERB [OPTION]... [ARGUMENT]...\n"
                 "Records what a program does to files, and looks into what was recorded.\n\nVerbs:\n");
    for (size_t i = 0; i < VERB_COUNT; i++) fprintf(out, "  %-8s %s\n", verbs[i]->name, verbs[i]->summary);
    fprintf(out, "  %-8s %s\n", "help", "explain a verb: ioseer help VERB, or ioseer VERB --help");
    fprintf(out, "\nOptions:\n      --help     this text\n      --version  the version\n"
                 "\nTry:\n  ioseer record -o run.ioseer -- cp big copy\n  ioseer info run.ioseer\n");
}

static void print_verb_help(const struct verb *verb, const struct option_row *rows, FILE *out)
{
    fprintf(out, "Usage: ioseer %s %s\n\n%s\n\nOptions:\n", verb->name, verb->usage, verb->about);
    options_print(rows, out);
}

// The verb's rows and --help, which every verb has.
static void rows_with_help(const struct verb *verb, struct option_row rows[MAX_OPTIONS], bool *help)
{
    size_t count = 0;
    for (; verb->options[count].name && count + 2 < MAX_OPTIONS; count++) rows[count] = verb->options[count];
    rows[count++] = (struct option_row){"help", 0, OPTION_FLAG, help, NULL, "this text"};
    rows[count] = (struct option_row){0};
}

static int show_verb_help(const struct verb *verb)
{
    struct option_row rows[MAX_OPTIONS];
    bool help;
    struct output output;
    rows_with_help(verb, rows, &help);
    output_open(&output, verb->name, NULL);
    print_verb_help(verb, rows, output.out);
    return output_close(&output, false);
}

static int show_help(int argc, char **argv)
{
    if (argc > 1) {
        const struct verb *verb = verb_find(argv[1]);
        return verb ? show_verb_help(verb) : unknown_verb(argv[1]);
    }
    struct output output;
    output_open(&output, "help", NULL);
    print_help(output.out);
    return output_close(&output, false);
}

static int show_version(void)
{
    struct output output;
    output_open(&output, "version", NULL);
    fprintf(output.out, "ioseer %s\n", IOSEER_VERSION);
    return output_close(&output, false);
}

static int run_verb(const struct verb *verb, int argc, char **argv)
{
    struct option_row rows[MAX_OPTIONS];
    bool help = false;
    char problem[256];
    rows_with_help(verb, rows, &help);
    int left = options_parse(rows, verb->command_follows, argc, argv, problem);
    if (left < 0) {
        fprintf(stderr, "ioseer %s: %s\n", verb->name, problem);
        return STATUS_USAGE;
    }
    return help ? show_verb_help(verb) : verb->run(left, argv);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return STATUS_USAGE;
    }
    const char *word = argv[1];
    if (!strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h")) return show_help(argc - 1, argv + 1);
    if (!strcmp(word, "--version")) return show_version();
    if (word[0] == '-') {
        fprintf(stderr, "ioseer: %s: unknown option\n", word);
        return STATUS_USAGE;
    }
    const struct verb *verb = verb_find(word);
    return verb ? run_verb(verb, argc - 1, argv + 1) : unknown_verb(word);
}
