// What is wrong with a job's I/O, sorted by the time at stake. Each finding compares calls of this log with others of
// the same log, or with memory; no finding just says that a number exceeds a threshold. To add one, write a function in
// one of the files and a row in the table of findings.c.
#pragma once

#include "base/text_list.h"
#include "findings/facts.h"
#include "model/model.h"

enum finding_severity { FINDING_LOW, FINDING_MEDIUM, FINDING_HIGH };

enum { FINDING_EVIDENCE = 6, FINDING_RANKS = 16 };

struct finding_evidence {
    const char *text;
    uint32_t phase;              // id as `ioseer phases` prints it; 0: none
    const struct log_file *file; // or NULL
    const char *line;            // or NULL
    int64_t rank[FINDING_RANKS];
    size_t ranks;
};

struct finding {
    const char *id;
    const char *title;
    const char *basis;
    const char *reason;
    const char *advice;
    const char *command;
    int64_t ns; // at stake
    double share;
    enum finding_severity severity;
    struct finding_evidence evidence[FINDING_EVIDENCE];
    size_t evidences;
};

// A phase as the findings see it.
struct finding_phase {
    uint32_t id;
    bool moves[FACTS_DIRECTIONS];
    int64_t ns;
};

struct findings {
    const struct facts *facts;
    struct text_list texts; // all formatted texts
    struct finding *finding;
    size_t count;
    struct finding_phase *phase;
    size_t phases;
};

// `model` may be NULL: then no evidence names a phase. The commands contain the path. Returns 0 or -ENOMEM.
int findings_make(struct findings *findings, const struct facts *facts, const struct model *model,
                  const char *log_path);
void findings_free(struct findings *findings);

const char *finding_severity_name(enum finding_severity severity);
