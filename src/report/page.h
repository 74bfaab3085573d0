// The report of a log: its contents, and how it is written as JSON (doc/page.md), as an HTML page and as text.
#pragma once

#include <stdio.h>

#include "base/text_list.h"
#include "findings/findings.h"
#include "model/model.h"
#include "report/files.h"
#include "report/layers.h"
#include "report/offset_space.h"
#include "report/timeline.h"
#include "summary/summary.h"

// What one visit of the log collects from events and counters. Memory depends on the number of processes and files,
// not on the number of events.
struct collect {
    struct log *log;
    struct summary *summary;
    struct summary_busy transfers; // time with at least one process in a transfer
    struct timeline timeline;
    struct layers layers;
    struct space space;
    struct files files;
    struct facts *facts;
    struct building *building; // NULL: the log is too large for a model
    uint64_t seen;             // events so far, for other threads
};

struct page {
    struct summary_source source;
    bool is_pending; // made from the log's index, because the log is still being read
    double done;     // if is_pending: the part of the log that has been read, 0 to 1
    struct summary summary;
    struct collect collect;
    struct model model;
    bool has_model;
    struct findings findings;
    struct text_list predictions; // JSON documents, checked
    struct text_list sentences;   // what the job did
    struct text_list not_captured;
    struct text_list cut; // what the document leaves out to limit its size
};

// Reads the log; `profiles` (or NULL) are of storage that findings tell gains on. Returns 0 or a negative code; call
// page_free in either case.
int page_gather(struct page *page, const struct summary_source *source, const struct finding_profiles *profiles);
// The same from the log's index, while `done` of the log has been read.
int page_gather_index(struct page *page, const struct summary_source *source, double done);
void page_free(struct page *page);

// Adds a document of `ioseer predict --json`. ERR_FORMAT if the file is something else.
int page_add_prediction(struct page *page, const char *path);
// Adds the document beside the log, LOG.predict.json, if it exists.
int page_add_own_prediction(struct page *page);

// Fills sentences, not_captured and cut (sentences.c).
int page_add_sentences(struct page *page);

// A path without its folders.
const char *page_base_name(const char *path);

// The whole document. page_json_memory writes it to memory of malloc: *text with *len bytes, NULL on failure.
int page_json(struct page *page, FILE *out);
int page_json_memory(struct page *page, char **text, size_t *len);
// Its list of findings, at most so many.
void page_findings_json(const struct page *page, struct json_out *json, size_t most);

// The HTML page with its data. A build without Node and its libraries has no template (web/meson.build).
#define PAGE_MISSING                                                                                                   \
    "this ioseer was built without the page: it needs Node, and web/node_modules, which \"npm ci\" in web/ makes"
bool page_has_template(void);
int page_html(struct page *page, FILE *out);
// The template with JSON in its two places. The JSON must not contain '<'.
int page_fill_template(const char *data, const char *server, FILE *out);

// The text for a terminal.
int page_text(struct page *page, FILE *out);
