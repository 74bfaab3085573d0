// Commands that can be copied into a shell: words in capitals are replaced.
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

// --file expects a pattern: the first `len` bytes of the name as they are, and then whatever.
static void put_pattern(FILE *out, const char *name, size_t len, bool is_open) {
    char *pattern = malloc(2 * len + 2), *at = pattern;
    for (size_t i = 0; pattern && i < len; *at++ = name[i++]) {
        if (strchr("*?[\\", name[i])) *at++ = '\\';
    }
    if (!pattern) return;
    if (is_open) *at++ = '*';
    *at = 0;
    put_quoted(out, pattern);
    free(pattern);
}

// The part of the claimed time that belongs to files whose names begin like this.
static double part_below(const struct findings *findings, const char *name, size_t len) {
    double below = 0, all = 0;
    for (size_t i = 0; i <= findings->facts->files; i++) {
        const struct facts_file *file = findings->facts->file[i];
        bool is_one = file && !strncmp(file->file->name, name, len) && (name[len - 1] == '/' || !file->file->name[len]);
        all += findings->of_file[i];
        if (is_one) below += findings->of_file[i];
    }
    return all > 0 ? below / all : 0;
}

// The file of the claims, or the smallest folder around it that holds nearly all of them.
static void put_files(FILE *out, const struct findings *findings) {
    const struct facts_file *file = find_taken(findings).file;
    if (!file) return;
    const char *name = file->file->name;
    size_t len = strlen(name);
    while (len > 1 && part_below(findings, name, len) < LIMIT_SHOWN_PART) {
        do len--;
        while (len > 1 && name[len - 1] != '/');
    }
    if (len <= 1) return;
    fputs("--file ", out);
    put_pattern(out, name, len, name[len - 1] == '/');
    fputc(' ', out);
}

static void put_word(FILE *out, const struct findings *findings, const struct finding *finding, const char *word,
                     size_t len, const char *log_path) {
    const struct log_process *process = finding->whose ? finding->whose->process : NULL;
    if (len == 3 && !strncmp(word, "LOG", len)) {
        put_quoted(out, log_path);
    } else if (len == 5 && !strncmp(word, "FILES", len)) {
        put_files(out, findings);
    } else if (len == 5 && !strncmp(word, "CLASS", len)) {
        if (finding->class) fprintf(out, "--class %s ", call_class_name((uint8_t)finding->class));
    } else if (len == 3 && !strncmp(word, "WHO", len)) {
        if (process && process->has_rank) fprintf(out, "--rank %lld ", (long long)process->rank);
    } else {
        fprintf(out, "%.*s ", (int)len, word);
    }
}

const char *find_command(struct findings *findings, const struct finding *finding, const char *log_path) {
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    for (const char *at = finding->command; out && *at;) {
        size_t word = strcspn(at, " ");
        put_word(out, findings, finding, at, word, log_path);
        at += word + strspn(at + word, " ");
    }
    if (out && fclose(out)) {
        free(text);
        text = NULL;
    }
    return text_list_take(&findings->texts, text) < 0 ? NULL : text;
}
