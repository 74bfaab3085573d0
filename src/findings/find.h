// Shared by the functions that find something. Each fills a finding and returns 1, returns 0 if there is none, or
// -ENOMEM. A finding starts with the texts of its row in findings.c; a function replaces those that depend on the log.
//
// A function claims time from grains. The functions are called in the order of the table, the most specific ones first,
// and each grain can be claimed only once: so no second is in two findings. findings.c sets time, share and severity,
// and gives the claims of a finding that is too small to matter back.
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "base/human.h"
#include "findings/findings.h"
#include "findings/limits.h"

typedef int find(struct findings *findings, struct finding *finding);

find find_failed, find_processors, find_overloaded_server;
find find_fill_values, find_filters, find_chunks, find_shared_metadata, find_library_metadata;
find find_sieving, find_rewrites, find_independent, find_collective, find_collective_wait;
find find_one_rank, find_slow_rank, find_waiting;
find find_slow_file, find_contention;
find find_read_again, find_written_again;
find find_syncs, find_opens, find_stats, find_metadata;
find find_unaligned, find_switching, find_random, find_small_requests;

// --- claims (claims.c)

// Claims up to `wanted_ns` of what is left of the grain.
int find_claim(struct findings *findings, const struct facts_grain *grain, double wanted_ns);
// Claims as much that this part of the grain's time is claimed, by this finding and those before.
static inline int find_claim_part(struct findings *findings, const struct facts_grain *grain, double part) {
    return find_claim(findings, grain, grain->left_ns - (1 - part) * grain->wall_ns);
}
// The part of the grain's time without the pauses of a busy machine: what its calls typically take. A pause of other
// calls in its cell does not matter.
static inline double find_typical_part(const struct findings *findings, const struct facts_grain *grain) {
    double typical_ns = (double)facts_typical_ns(&findings->facts->cell[grain->cell]) * (double)grain->sum.calls;
    return typical_ns < (double)grain->sum.ns ? typical_ns / (double)grain->sum.ns : 1;
}
static inline int find_claim_typical(struct findings *findings, const struct facts_grain *grain) {
    return find_claim_part(findings, grain, find_typical_part(findings, grain));
}
// Claims `wanted_ns` from all grains with a true mark, in proportion to what is left of them.
int find_claim_spread(struct findings *findings, const bool *mark, double wanted_ns);

// The calls that the claims of the current finding are about.
struct find_taken {
    struct facts_sum sum;
    double ns;                           // claimed
    const struct facts_file *file;       // with the most claimed time; NULL: none
    const struct facts_process *process; // the same
    uint64_t files, processes;
};
struct find_taken find_taken(const struct findings *findings);
// The same for one file.
struct facts_sum find_taken_of(const struct findings *findings, const struct facts_file *file);

bool find_is_told(const struct findings *findings, const char *id); // a finding before this one

int find_claims_init(struct findings *findings);
void find_claims_clear(struct findings *findings);     // before the next finding
void find_claims_give_back(struct findings *findings); // the finding is none
void find_claims_free(struct findings *findings);

static inline const struct facts_use *find_use(const struct findings *findings, const struct facts_grain *grain) {
    return &findings->facts->use[grain->use];
}
// NULL without a file.
static inline const struct facts_file *find_file(const struct findings *findings, const struct facts_grain *grain) {
    return findings->facts->file[find_use(findings, grain)->file];
}
static inline const struct facts_cell *find_cell(const struct findings *findings, const struct facts_grain *grain) {
    return &findings->facts->cell[grain->cell];
}
static inline bool find_is_request(const struct facts_grain *grain) {
    return grain->traits.kind <= KIND_WRITE && !grain->traits.failed;
}

// The part of the time of these requests that the same bytes would not take in large ones (requests.c). `assumed` is
// set if the log has no large ones to compare with.
double find_small_part(const struct facts *facts, const struct facts_cell *cell, bool *assumed);

// --- what libraries above MPI-IO do (libraries.c)

// The dataset whose transfers took the most time in requests of the file; NULL if most of the claimed time is not in
// transfers of a library.
const struct object_sum *find_dataset(const struct findings *findings);
// Its name in a text: without control characters, and not too long.
struct find_name {
    char text[96];
};
struct find_name find_object_name(const struct object_sum *dataset);
// Marks the files into which HDF5 writes fill values that the program replaces. `of_file` has a place for each.
int find_filled_files(const struct findings *findings, bool *of_file);

// Ranks do I/O at the same time or one after the other: of the wall-clock time in their calls this part counts.
double find_scale_of_ranks(const struct facts *facts);

// --- texts

// A text that lives as long as the findings. NULL if there is no memory; text_list_failed then returns true.
const char *find_text(struct findings *findings, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The phase with the most time in transfers of this direction; 0 if unknown.
uint32_t find_phase(const struct findings *findings, unsigned direction);
// The line of the program with the most time in calls of this class, or NULL.
const char *find_line(const struct findings *findings, unsigned class);

// Where the evidence is, besides its text; unknown members stay 0.
struct find_place {
    const struct facts_file *file;
    const struct facts_process *process; // its rank
    uint32_t phase;
    const char *line;
};
// The phase and the line with the most time in transfers of this direction.
struct find_place find_transfers(const struct findings *findings, unsigned direction);
void find_evidence(struct findings *findings, struct finding *finding, struct find_place place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// If the time may come from a busy machine, because a process with claims waited for a processor for about as long,
// says so, and the finding stays low. A call that does not sleep seldom waits for a processor: then few calls are much
// slower, which typical times leave out. A call that sleeps, for the storage or for another process, may wait at each
// wake-up.
int find_doubt(struct findings *findings, struct finding *finding);

// --- gains of other ways of I/O (gains.c)

// Adds a way that the finding may advise. `advice`: NULL for that of the finding.
void find_way(struct finding *finding, const char *variant, const char *subject, const char *advice);
// The same if nothing but the time at stake is spared: elsewhere a read of so many bytes in each claimed call.
void find_way_spares(struct finding *finding, const char *name, const char *subject, const char *advice,
                     uint64_t bytes);
// Calculates what the ways gain on this and other storage, and advises the best one. If none gains anything anywhere,
// the finding is low. The claims must be complete.
int find_gains(struct findings *findings, struct finding *finding);
void find_gains_free(struct findings *findings);
// The sentence about gains, and why none is advised (gains_text.c). NULL if there is no memory.
const char *find_gain_text(struct findings *findings, const struct finding *finding, const char *subject);

// The finding's command with its words in capitals replaced (shell_command.c): LOG; FILES by the files of the claims;
// CLASS and WHO by the class and the process of the finding. NULL if there is no memory.
const char *find_command(struct findings *findings, const struct finding *finding, const char *log_path);

static inline uint64_t find_mean(const struct facts_sum *sum) { return sum->calls ? sum->bytes / sum->calls : 0; }

// Mean time of one of these calls. What is at stake is less: judge() in findings.c tells that of all findings.
static inline struct human find_each(const struct facts_sum *sum) {
    struct human each = human_seconds(sum->calls ? sum->ns / (int64_t)sum->calls : 0);
    strcat(each.text, sum->calls == 1 ? "" : " each on average");
    return each;
}

static inline const char *find_verb(unsigned direction) { return direction == FACTS_WRITE ? "write" : "read"; }

// --- what runs where (system.c)

enum mpi_io { MPI_IO_UNKNOWN, MPI_IO_ROMIO, MPI_IO_OMPIO };
enum mpi_io find_mpi_io(const struct findings *findings);
// Whether the file system of this file is reached over a network; or surely is on this machine. Neither is known of
// file systems in user space.
bool find_is_remote(const struct facts_file *file);
bool find_is_local(const struct facts_file *file);
// Whether the process belongs to the program: with MPI its ranks do.
bool find_counts(const struct facts *facts, const struct facts_process *process);
// How long the process ran.
int64_t find_run_ns(const struct facts *facts, const struct facts_process *process);
