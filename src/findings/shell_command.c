// Commands that can be copied into a shell: FILE and LOG are replaced by names.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings/find.h"

static bool is_control(const char *text) {
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) return true;
    }
    return false;
}

// Control characters are escaped in quotes of bash ($'...'), because they must not reach a terminal.
static void put_quoted(FILE *out, const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    bool control = is_control(text);
    if (*text && !text[strspn(text, plain)]) {
        fputs(text, out);
        return;
    }
    fputs(control ? "$'" : "'", out);
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (control && (byte < 0x20 || byte == 0x7f)) {
            fprintf(out, "\\%03o", byte);
        } else if (control && (byte == '\'' || byte == '\\')) {
            fprintf(out, "\\%c", byte);
        } else if (byte == '\'') {
            fputs("'\\''", out);
        } else {
            fputc(byte, out);
        }
    }
    fputc('\'', out);
}

// --file expects a pattern.
static char *as_pattern(const char *name) {
    char *pattern = malloc(2 * strlen(name) + 1), *at = pattern;
    for (; pattern && *name; *at++ = *name++) {
        if (strchr("*?[\\", *name)) *at++ = '\\';
    }
    if (pattern) *at = 0;
    return pattern;
}

static char *known_file(const struct finding *finding) {
    for (size_t i = 0; i < finding->evidences; i++) {
        if (finding->evidence[i].file) return as_pattern(finding->evidence[i].file->name);
    }
    return strdup("FILE");
}

const char *find_command(struct findings *findings, const struct finding *finding, const char *log_path) {
    char *text = NULL, *file = known_file(finding);
    size_t len;
    FILE *out = file ? open_memstream(&text, &len) : NULL;
    for (const char *at = finding->command; out && *at;) {
        size_t word = strcspn(at, " "), space = strspn(at + word, " ");
        if (word == 4 && !strncmp(at, "FILE", word)) {
            put_quoted(out, file);
        } else if (word == 3 && !strncmp(at, "LOG", word)) {
            put_quoted(out, log_path);
        } else {
            fwrite(at, 1, word, out);
        }
        fwrite(at + word, 1, space, out);
        at += word + space;
    }
    free(file);
    if (out && fclose(out)) {
        free(text);
        text = NULL;
    }
    return text_list_take(&findings->texts, text) < 0 ? NULL : text;
}
