#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "query/query.h"
#include "summary/stack.h"

enum { MOST_WORDS = 3 };

static const struct form {
    const char *word[MOST_WORDS + 1];
    enum query_kind kind;
    unsigned fields;
    bool has_watts;
} forms[] = {
    {{"Latency", "Breakdown", "Inclusive"}, QUERY_INCLUSIVE, 2, false},
    {{"Latency", "Breakdown", "Exclusive"}, QUERY_EXCLUSIVE, 2, false},
    {{"Latency", "Operation", "List"}, QUERY_LIST, 4, false},
    {{"Latency", "Operation", "Max"}, QUERY_MAX, 4, false},
    {{"Latency", "Operation", "Min"}, QUERY_MIN, 4, false},
    {{"Latency", "Operation", "Avg"}, QUERY_AVG, 4, false},
    {{"Throughput"}, QUERY_THROUGHPUT, 4, false},
    {{"Thru."}, QUERY_THROUGHPUT, 4, false},
    {{"Energy"}, QUERY_ENERGY, 4, true},
    {{"Call"}, QUERY_CALL, 4, false},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static const char *const place_names[] = {"process", "mpi_call", "pvfs_call", "server"};

struct word {
    const char *at; // without brackets
    size_t len;
};

struct parser {
    const char *text, *at;
    struct query_error *error;
};

static int fail(const struct parser *parser, struct word word, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int fail(const struct parser *parser, struct word word, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->error->why, sizeof parser->error->why, format, arguments);
    va_end(arguments);
    parser->error->at = (size_t)(word.at - parser->text);
    parser->error->len = word.len;
    return ERR_USAGE;
}

// --- words

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t\r\n"); }

// Of '-' and of the dashes that a text from a paper has (U+2010 to U+2015, U+2212); 0: it is something else.
static size_t dash_len(const char *at, const char *end) {
    if (at < end && *at == '-') return 1;
    if (end - at < 3) return 0;
    bool is_dash = !memcmp(at, "\xe2\x80", 2) && (unsigned char)at[2] >= 0x90 && (unsigned char)at[2] <= 0x95;
    return is_dash || !memcmp(at, "\xe2\x88\x92", 3) ? 3 : 0;
}

// The next word, or what is between the next brackets. Returns 1, 0 at the end, or ERR_USAGE.
static int next_word(struct parser *parser, struct word *word) {
    const char *at = skip_blanks(parser->at);
    *word = (struct word){at, 0};
    parser->at = at;
    if (!*at) return 0;
    if (*at != '[') {
        word->len = strcspn(at, " \t\r\n[");
        parser->at = at + word->len;
        return 1;
    }
    const char *end = strchr(at, ']');
    if (!end) return fail(parser, (struct word){at, strlen(at)}, "a bracket that opens here must close: [0-4]");
    word->at = skip_blanks(at + 1);
    parser->at = end + 1;
    word->len = word->at < end ? (size_t)(end - word->at) : 0;
    while (word->len && strchr(" \t\r\n", word->at[word->len - 1])) word->len--;
    if (!word->len)
        return fail(parser, (struct word){at, (size_t)(end + 1 - at)}, "nothing is in the brackets: [-] is all");
    return 1;
}

static bool is_word(struct word word, const char *text) {
    return text && strlen(text) == word.len && !strncasecmp(word.at, text, word.len);
}

// --- the form

// Whether the first `depth` words of both are the same.
static bool begins_like(const struct form *form, const struct form *other, unsigned depth) {
    for (unsigned i = 0; i < depth; i++) {
        if (!form->word[i] || !other->word[i] || strcmp(form->word[i], other->word[i])) return false;
    }
    return true;
}

static int fail_word(const struct parser *parser, struct word word, const struct form *like, unsigned depth) {
    char choice[128] = "";
    const char *last = "";
    for (size_t i = 0; i < FORMS; i++) {
        if (!begins_like(&forms[i], like, depth) || !strcmp(forms[i].word[depth], last)) continue;
        last = forms[i].word[depth];
        snprintf(choice + strlen(choice), sizeof choice - strlen(choice), "%s%s", *choice ? ", " : "", last);
    }
    return fail(parser, word, "here may stand: %s", choice);
}

static int parse_form(struct parser *parser, const struct form **found) {
    const struct form *form = forms;
    for (unsigned depth = 0; depth == 0 || form->word[depth]; depth++) {
        struct word word;
        FORWARD(next_word(parser, &word));
        size_t i = 0;
        while (i < FORMS && !(begins_like(&forms[i], form, depth) && is_word(word, forms[i].word[depth]))) i++;
        if (i == FORMS) return fail_word(parser, word, form, depth);
        form = &forms[i];
    }
    *found = form;
    return 0;
}

// --- fields

static bool parse_number(const char **at, const char *end, uint64_t *number) {
    const char *from = *at = skip_blanks(*at);
    *number = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        if (*number >= INT64_MAX / 10) return false;
        *number = *number * 10 + (uint64_t)(**at - '0');
    }
    bool has_digits = *at > from;
    *at = skip_blanks(*at);
    return has_digits;
}

static int parse_list(const struct parser *parser, struct word word, struct query_field *field, const char *name) {
    const char *at = word.at, *end = word.at + word.len;
    if (dash_len(at, end) == word.len) return 0; // all
    for (;; at++) {
        uint64_t from, to;
        bool is_number = parse_number(&at, end, &from);
        size_t dash = dash_len(at, end);
        to = from;
        if (is_number && dash) is_number = parse_number((at += dash, &at), end, &to);
        if (!is_number || (at < end && *at != ','))
            return fail(parser, word, "%s may be a number, a range 0-4, a list 0,3,5-7, or - for all", name);
        if (to < from) return fail(parser, word, "%s: the range ends before it begins", name);
        if (field->ranges == QUERY_MOST_RANGES)
            return fail(parser, word, "%s: the list has more than %d ranges", name, QUERY_MOST_RANGES);
        field->range[field->ranges].from = from;
        field->range[field->ranges++].to = to;
        if (at >= end) return 0;
    }
}

static int parse_watts(struct parser *parser, double *watts, const char *name) {
    struct word word;
    int is_there = next_word(parser, &word);
    if (is_there <= 0 || dash_len(word.at, word.at + word.len) == word.len) return is_there;
    char *end;
    *watts = strtod(word.at, &end);
    bool is_number = *word.at >= '0' && *word.at <= '9' && end == word.at + word.len && *watts <= 1e6;
    return is_number ? 0 : fail(parser, word, "%s may be a number of watts, or - for what is assumed", name);
}

int query_parse(struct query *query, const char *text, struct query_error *error) {
    struct parser parser = {text, text, error};
    const struct form *form = NULL;
    struct word word;
    *query = (struct query){.active_watts = STACK_WATTS.active, .inactive_watts = STACK_WATTS.inactive};
    FORWARD(parse_form(&parser, &form));
    query->kind = form->kind;
    if (form->has_watts) FORWARD(parse_watts(&parser, &query->active_watts, "active_watts"));
    if (form->has_watts) FORWARD(parse_watts(&parser, &query->inactive_watts, "inactive_watts"));
    for (unsigned i = 0; i < form->fields; i++) {
        int is_there = next_word(&parser, &word);
        FORWARD(is_there);
        if (is_there) FORWARD(parse_list(&parser, word, &query->field[i], place_names[i]));
    }
    int is_there = next_word(&parser, &word);
    FORWARD(is_there);
    return is_there ? fail(&parser, word, "nothing may stand here: the last field is %s", place_names[form->fields - 1])
                    : 0;
}
