// What is wrong with a job's I/O, the worst first. Each finding claims a part of the time in which the job was in I/O
// calls; no second is in two findings. To add one, write a function in one of the files and a row in the table of
// findings.c.
#pragma once

#include "base/problem.h"
#include "base/text_list.h"
#include "findings/facts.h"
#include "model/model.h"
#include "target/system/system.h"

enum finding_severity { FINDING_LOW, FINDING_MEDIUM, FINDING_HIGH };

enum { FINDING_EVIDENCE = 8, FINDING_RANKS = 16, FINDING_WAYS = 3 };

struct finding_evidence {
    const char *text;
    uint32_t phase;              // id as `ioseer phases` prints it; 0: none
    const struct log_file *file; // or NULL
    const char *line;            // or NULL
    int64_t rank[FINDING_RANKS];
    size_t ranks;
};

// Another way of I/O, which a finding may advise.
struct finding_way {
    const char *variant; // as in model/variant.h; or, if `spares` is set, a name of its own
    const char *subject; // of a sentence: "Collective calls"
    const char *advice;
    bool is_spared; // not a variant: what is at stake is spared, and elsewhere a read of `spares` bytes in each claimed
    uint64_t spares; // call
};

// What a way gains on one storage.
struct finding_gain {
    const char *storage; // "here", the name of a typical one, or the path of a profile
    const char *where;   // "here", "on a disk"
    double seconds;      // saved; below 0: it costs. Unless there is a reason why it is not known
    double low, high;
    const char *reason; // or NULL
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
    const char *low;                      // why it is ranked low, whatever its time; NULL: it is not
    bool loses_data;                      // comes first among those of its severity, however little time it takes
    bool without_time;                    // may take no time in I/O at all
    bool is_waiting;                      // about ranks or processes that wait for others
    struct finding_way way[FINDING_WAYS]; // that may be advised, the one that seems best first
    size_t ways;
    const char *variant;   // of the way that is advised; NULL: none is calculated
    const char *gain_text; // what it gains, in a sentence
    struct finding_gain *gain;
    size_t gains;
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

// Profiles of storage that the user wants to know gains of.
struct finding_profiles {
    struct finding_profile {
        char *path;
        struct system system;
    } * item;
    size_t count;
};

struct gaining; // what all gains are calculated from

struct findings {
    struct facts *facts;
    const struct model *model;               // or NULL
    const struct finding_profiles *profiles; // or NULL
    struct gaining *gaining;
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

// `model` may be NULL: then no evidence names a phase, and no gains are predicted. So may `profiles`. The commands
// contain the path. The facts are used up. Returns 0 or -ENOMEM.
int findings_make(struct findings *findings, struct facts *facts, const struct model *model,
                  const struct finding_profiles *profiles, const char *log_path);
void findings_free(struct findings *findings);

int finding_profiles_add(struct finding_profiles *profiles, const char *path, struct problem *problem);
void finding_profiles_free(struct finding_profiles *profiles);

const char *finding_severity_name(enum finding_severity severity);
