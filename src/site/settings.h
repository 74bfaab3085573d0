// The settings of a site (base/settings.def): from the site's ioseer.conf, the user's, and the environment. What comes
// later counts; lists add up.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/problem.h"
#include "base/text_list.h"

enum site_setting {
#define SETTING(NAME, key, kind, otherwise, help) SITE_##NAME,
#include "base/settings.def"
#undef SETTING
    SITE_SETTINGS
};

enum site_kind {
    SITE_TEXT,
    SITE_PATH,
    SITE_NUMBER,
    SITE_SIZE,
    SITE_SECONDS,
    SITE_DURATION,
    SITE_MODE,
    SITE_LIST,
    SITE_RANKS
};

struct site_row {
    const char *name; // "LOG_DIR"
    const char *key;  // "log_dir"
    enum site_kind kind;
    const char *otherwise;
    const char *help;
};
extern const struct site_row site_rows[SITE_SETTINGS];
extern const char *const site_kind_names[];

struct site_settings {
    char *value[SITE_SETTINGS];        // never NULL; lines of a list are separated by newlines
    const char *source[SITE_SETTINGS]; // "default", a path, or "environment"
    struct text_list paths;            // of the files that were read
};

// A bad line or value is ERR_USAGE, and `problem` says where and why. It is left out, and all others are there: a log
// is worth more than a complaint that nobody reads. Only with -ENOMEM values may be missing.
int site_settings_read(struct site_settings *settings, struct problem *problem);
void site_settings_free(struct site_settings *settings);
