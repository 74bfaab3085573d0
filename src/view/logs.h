// The logs that `ioseer view` shows. One thread reads them one after the other; until a log is read, its index answers.
// All answers are JSON in memory from malloc.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_out.h"
#include "base/problem.h"
#include "view/statements.h"

struct view_logs;

struct finding_profiles;

// Starts the thread that reads. Nothing stops it: it, its memory and the profiles (of storage that findings tell gains
// on) live until the process ends. 0 or -errno.
int view_logs_start(struct view_logs **logs, const struct finding_profiles *profiles);

// Opens a log and has it read. Returns its number, from 0, or a negative code with the reason.
int view_logs_add(struct view_logs *logs, const char *path, struct problem *problem);

// The member "logs": their names.
void view_logs_names(struct view_logs *logs, struct json_out *json);

// Any thread may call these. They return 0, ERR_NOTHING for a log or call that does not exist, ERR_USAGE for numbers
// that make no sense, or another code.
int view_logs_data(struct view_logs *logs, size_t number, struct view_answer *answer);
int view_logs_timeline(struct view_logs *logs, size_t number, double from, double to, uint64_t width,
                       struct view_answer *answer);
int view_logs_call(struct view_logs *logs, size_t number, uint64_t id, double at, struct view_answer *answer);
// If these fail, the answer may say why.
int view_logs_query(struct view_logs *logs, size_t number, const char *text, struct view_answer *answer);
int view_logs_sql(struct view_logs *logs, size_t number, const char *statement, const struct view_asker *asker,
                  struct view_answer *answer);
