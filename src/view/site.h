// The catalogue of a site, for pages: the answers of `ioseer jobs --json`, and logs that are opened when somebody wants
// to see a job.
#pragma once

#include "catalogue/catalogue.h"
#include "view/logs.h"

struct view_site;

// `place` as for catalogue_open; `owner`: show jobs of this user only, NULL: all. Nothing frees it. 0 or a negative
// code with the reason.
int view_site_new(struct view_site **site, const char *place, const char *owner, struct problem *problem);

// {"place": ..., "owner": ...}: what is shown, for the page.
void view_site_json(const struct view_site *site, struct json_out *json);

// The value of a key in an address, or NULL.
typedef const char *view_argument(void *context, const char *key);

// Any thread may call these. `question`: jobs, groups, statistics or slower. ERR_NOTHING for other questions and for
// jobs that are not there, ERR_USAGE for arguments that make no sense; the answer may say why.
int view_site_ask(struct view_site *site, const char *question, view_argument *argument, void *context,
                  struct view_answer *answer);
// {"log": N, "name": ...}: the log of a job, which is opened the first time.
int view_site_open(struct view_site *site, struct view_logs *logs, int64_t job, struct view_answer *answer);
