#include "cli/query_ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static char *join(int count, char **words) {
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    if (!out) return NULL;
    for (int i = 0; i < count; i++) fprintf(out, i ? " %s" : "%s", words[i]);
    return fclose(out) == 0 ? text : NULL;
}

static bool is_control(char byte) { return (unsigned char)byte < ' ' || byte == 127; }

// Bytes of one character after its first have the form 10xxxxxx.
static void put_text(const char *text, size_t len, char instead) {
    for (size_t i = 0; i < len; i++) {
        if (instead && (text[i] & 0xc0) == 0x80) continue;
        fputc(instead ? instead : is_control(text[i]) ? ' ' : text[i], stderr);
    }
}

static enum status point_at(const char *text, const struct query_error *error) {
    enum status status = cli_usage("query", "question", error->why);
    fputs("  ", stderr);
    put_text(text, strlen(text), '\0');
    fputs("\n  ", stderr);
    put_text(text, error->at, ' ');
    put_text(text + error->at, error->len, '^');
    fputs(error->len ? "\n" : "^\n", stderr);
    return status;
}

enum status query_ask(struct query_statement *statement, const struct log *log, int count, char **words) {
    struct query query;
    struct query_error error;
    char *text = join(count, words);
    if (!text) return cli_fail("query", "question", -ENOMEM);
    int code = query_parse(&query, text, &error);
    enum status status = code < 0 ? point_at(text, &error) : STATUS_OK;
    free(text);
    if (status != STATUS_OK) return status;
    code = query_to_sql(statement, &query, log);
    return code < 0 ? cli_fail("query", "question", code) : STATUS_OK;
}
