#include "site/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/conf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/options.h"
#include "base/scoped.h"
#include "base/settings.h"

const struct site_row site_rows[SITE_SETTINGS] = {
#define SETTING(NAME, key, kind, otherwise, help) {#NAME, key, SITE_##kind, otherwise, help},
#include "base/settings.def"
#undef SETTING
};

const char *const site_kind_names[] = {
    [SITE_TEXT] = "text",  [SITE_PATH] = "path",         [SITE_NUMBER] = "number",
    [SITE_SIZE] = "bytes", [SITE_SECONDS] = "seconds",   [SITE_MODE] = "permission",
    [SITE_LIST] = "list",  [SITE_DURATION] = "duration", [SITE_RANKS] = "ranks",
};

// --- values

static bool is_number(const char *text, int base, unsigned long long most) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, base);
    return *text >= '0' && *text <= '9' && !*end && !errno && value <= most;
}

// As the recorder reads it.
static bool is_size(const char *text) {
    size_t digits = strspn(text, "0123456789"), rest = strlen(text + digits);
    return digits && digits < 16 && (rest == 0 || (rest == 1 && strchr("kMG", text[digits])));
}

static bool is_duration(const char *text) {
    double seconds;
    return options_duration(text, &seconds) == 0;
}

// NULL, or what is wrong.
static const char *fault_of(enum site_setting setting, const char *value) {
    switch (site_rows[setting].kind) {
    case SITE_PATH: return *value && *value != '/' ? "is not an absolute path" : NULL;
    case SITE_NUMBER:
    case SITE_SECONDS: return is_number(value, 10, 1u << 30) ? NULL : "is not a number";
    case SITE_SIZE: return is_size(value) ? NULL : "is not a number of bytes, such as 64M";
    case SITE_DURATION: return is_duration(value) ? NULL : "is not a duration, such as 10ms";
    case SITE_RANKS: return !*value || options_are_ranks(value) ? NULL : "is not a list of ranks, such as 0,4-7";
    case SITE_MODE: return is_number(value, 8, 0777) ? NULL : "is not an octal number up to 0777";
    default: break;
    }
    if (setting != SITE_RECORD) return NULL;
    bool is_known = !strcmp(value, "all") || !strcmp(value, "batch") || !strcmp(value, "none");
    return is_known ? NULL : "is not all, batch or none";
}

static int set(struct site_settings *settings, enum site_setting setting, const char *value, const char *source) {
    char *old = settings->value[setting], *text = NULL;
    bool adds = site_rows[setting].kind == SITE_LIST && old && *old;
    if (asprintf(&text, "%s%s%s", adds ? old : "", adds ? "\n" : "", value) < 0) return -ENOMEM;
    free(old);
    settings->value[setting] = text;
    settings->source[setting] = source;
    return 0;
}

// --- files

static int find_key(const struct conf_line *line) {
    for (int i = 0; i < SITE_SETTINGS; i++) {
        if (strlen(site_rows[i].key) == line->key_len && !memcmp(site_rows[i].key, line->key, line->key_len)) return i;
    }
    return -1;
}

static int read_line(struct site_settings *settings, const struct conf_line *line, const char *path,
                     struct problem *problem) {
    if (!line->key_len) return problem_set(problem, ERR_USAGE, path, "line %u: not KEY = VALUE", line->number);
    int setting = find_key(line);
    if (setting < 0)
        return problem_set(problem, ERR_USAGE, path, "line %u: there is no setting %.*s", line->number,
                           (int)line->key_len, line->key);
    SCOPED_FREE char *value = strndup(line->value, line->value_len);
    RETURN_IF(!value, -ENOMEM);
    const char *fault = fault_of((enum site_setting)setting, value);
    if (fault)
        return problem_set(problem, ERR_USAGE, path, "line %u: %s: %s %s", line->number, site_rows[setting].key, value,
                           fault);
    return set(settings, (enum site_setting)setting, value, path);
}

// The first fault counts, and what comes after it is read all the same.
static void add_fault(int *fault, int code) {
    if (!*fault) *fault = code;
}

static int read_lines(struct site_settings *settings, struct conf_text text, const char *path,
                      struct problem *problem) {
    struct conf_line line;
    unsigned number = 0;
    int fault = 0;
    while (conf_next(&text.at, text.end, &number, &line)) add_fault(&fault, read_line(settings, &line, path, problem));
    return fault;
}

// A file that is not there says nothing.
static int read_file(struct site_settings *settings, const char *path, struct problem *problem) {
    enum { MOST_BYTES = 64 << 10 };
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT || errno == ENOTDIR ? 0 : problem_code(problem, -errno, path);
    struct bytes bytes = {0};
    int code = io_read_all(fd, &bytes, MOST_BYTES);
    close(fd);
    if (code == 0) code = text_list_add(&settings->paths, "%s", path);
    if (code == 0 && bytes.len) {
        const char *text = (const char *)bytes.data;
        const char *name = settings->paths.text[settings->paths.count - 1];
        code = read_lines(settings, (struct conf_text){text, text + bytes.len}, name, problem);
    }
    bytes_free(&bytes);
    return code < 0 ? problem_code(problem, code, path) : 0;
}

static int read_user_file(struct site_settings *settings, struct problem *problem) {
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    SCOPED_FREE char *path = NULL;
    bool is_named = folder && *folder;
    int len = is_named ? asprintf(&path, "%s/ioseer/ioseer.conf", folder)
                       : asprintf(&path, "%s/.config/ioseer/ioseer.conf", home ? home : "");
    if (len < 0) return -ENOMEM;
    return *path == '/' && (is_named || (home && *home)) ? read_file(settings, path, problem) : 0;
}

static int read_variable(struct site_settings *settings, enum site_setting setting, struct problem *problem) {
    char name[64];
    snprintf(name, sizeof name, "IOSEER_%s", site_rows[setting].name);
    const char *value = getenv(name), *fault = value && *value ? fault_of(setting, value) : NULL;
    if (fault) return problem_set(problem, ERR_USAGE, name, "%s %s", value, fault);
    return value && *value ? set(settings, setting, value, "environment") : 0;
}

int site_settings_read(struct site_settings *settings, struct problem *problem) {
    const char *conf = getenv(SETTING_CONF);
    int fault = 0;
    *settings = (struct site_settings){0};
    for (int i = 0; i < SITE_SETTINGS; i++)
        FORWARD(set(settings, (enum site_setting)i, site_rows[i].otherwise, "default"));
    add_fault(&fault, read_file(settings, conf && *conf ? conf : IOSEER_CONF, problem));
    add_fault(&fault, read_user_file(settings, problem));
    for (int i = 0; i < SITE_SETTINGS; i++) add_fault(&fault, read_variable(settings, (enum site_setting)i, problem));
    return fault;
}

void site_settings_free(struct site_settings *settings) {
    for (int i = 0; i < SITE_SETTINGS; i++) free(settings->value[i]);
    text_list_free(&settings->paths);
    *settings = (struct site_settings){0};
}
