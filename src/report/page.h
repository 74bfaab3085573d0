// The data of the page (doc/page.md): what it is made of, and how it is written.
#pragma once

#include <stdio.h>

#include "base/text_list.h"
#include "findings/findings.h"
#include "model/model.h"
#include "report/collect.h"
#include "summary/summary.h"

struct page {
    struct info_source source;
    struct info info;
    struct collect collect;
    struct model model;
    bool has_model;
    struct findings findings;
    struct text_list predictions; // JSON documents, checked
    struct text_list sentences;   // of the summary
    struct text_list not_captured;
    struct text_list cut;
};

// Reads the log. 0 or a negative code; page_free in both cases.
int page_gather(struct page *page, const struct info_source *source);
void page_free(struct page *page);

// Adds a document of `ioseer predict --json`; ERR_FORMAT where it is none.
int page_add_prediction(struct page *page, const char *path);
// The one beside the log, if there is one.
int page_find_prediction(struct page *page);

// What is said of the job in words (page_words.c).
int page_say(struct page *page);

// The whole document.
int page_json(struct page *page, FILE *out);
// While the log is being read: what its index tells. `done` of it, 0 to 1.
int page_pending_json(const struct info_source *source, double done, FILE *out);

// The page with its data (page_html.c). A build without Node and its libraries has no template (web/meson.build).
#define PAGE_MISSING                                                                                                   \
    "this ioseer was built without the page: it needs Node, and web/node_modules, which \"npm ci\" in web/ makes"
bool page_has_template(void);
int page_html(struct page *page, FILE *out);
// The template with JSON in its two places, none of which has a '<'.
int page_fill_template(const char *data, const char *server, FILE *out);

// The same story in a terminal (page_text.c).
int page_text(struct page *page, FILE *out);
