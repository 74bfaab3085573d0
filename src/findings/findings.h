// What is wrong with a job's I/O, the worst first. Each finding claims a part of the time in which the job was in I/O
// calls; no second is in two findings. To add one, write a function in one of the files and a row in the table of
// findings.c.
#pragma once

#include "base/text_list.h"
#include "findings/facts.h"
#include "model/model.h"

enum finding_severity { FINDING_LOW, FINDING_MEDIUM, FINDING_HIGH };

enum { FINDING_EVIDENCE = 8, FINDING_RANKS = 16 };

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
    const char *low;                   // why it is ranked low, whatever its time; NULL: it is not
    bool loses_data;                   // comes first among those of its severity, however little time it takes
    bool without_time;                 // may take no time in I/O at all
    bool is_waiting;                   // about ranks or processes that wait for others
    unsigned class;                    // of its calls, for the command; CLASS_NONE: several
    const struct facts_process *whose; // the calls are all of this process; NULL: of several
};

// A phase as the findings see it.
struct finding_phase {
    uint32_t id;
    bool moves[FACTS_DIRECTIONS];
    int64_t ns;
};

struct finding_claim {
    uint32_t grain;
    double ns;
};

struct findings {
    struct facts *facts;
    struct text_list texts; // all formatted texts
    struct finding *finding;
    size_t count;
    struct finding_phase *phase;
    size_t phases;
    // Claims of the current finding, and their sums by file and process (the last file is none).
    struct finding_claim *claim;
    size_t claims;
    double *of_file, *of_process;
};

// `model` may be NULL: then no evidence names a phase. The commands contain the path. The facts are used up. Returns 0
// or -ENOMEM.
int findings_make(struct findings *findings, struct facts *facts, const struct model *model, const char *log_path);
void findings_free(struct findings *findings);

const char *finding_severity_name(enum finding_severity severity);
