// Shared by the functions that find something. Each fills a finding and returns 1, returns 0 if there is none, or
// -ENOMEM. A finding starts with the texts of its row in findings.c; a function replaces those that depend on the log.
// findings.c sets share and severity, drops findings that are too small to matter, and replaces FILE and LOG in
// `command`.
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/human.h"
#include "findings/findings.h"

typedef int find(struct findings *findings, struct finding *finding);

find find_small_requests, find_unaligned, find_random, find_switching;
find find_independent, find_collective, find_sieving;
find find_read_again, find_written_again, find_cache;
find find_one_rank, find_slow_rank, find_waiting;
find find_slow_file, find_contention;
find find_metadata, find_opens, find_stats, find_syncs;

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

// The finding's command with the file of its evidence and the log inserted (shell_command.c); NULL if there is no
// memory.
const char *find_command(struct findings *findings, const struct finding *finding, const char *log_path);

// A sum that every process has: the process with the largest time, and the total.
struct find_most {
    struct facts_sum all;
    const struct facts_process *process; // with the most time; NULL: none
    int64_t ns;                          // time of that process
};
#define find_most_of(facts, sum) find_most_at(facts, offsetof(struct facts_process, sum))
struct find_most find_most_at(const struct facts *facts, size_t offset);
// The file for which this sum has the most time; NULL if there is none.
#define find_file_of(facts, sum) find_file_at(facts, offsetof(struct facts_file, sum))
const struct facts_file *find_file_at(const struct facts *facts, size_t offset);

// The part of the whole that the process with the most time has.
static inline int64_t find_part_ns(const struct find_most *most, double whole_ns) {
    return most->all.ns > 0 ? (int64_t)(whole_ns * ((double)most->ns / (double)most->all.ns)) : 0;
}

// Time of calls without data beyond the time in memory.
static inline int64_t find_beyond_ns(const struct facts_sum *sum) {
    int64_t ns = sum->ns - (int64_t)sum->calls * facts_memory_ns(0);
    return ns > 0 ? ns : 0;
}

static inline uint64_t find_mean(const struct facts_sum *sum) { return sum->calls ? sum->bytes / sum->calls : 0; }

// Mean time of one of these calls.
static inline struct human find_each(const struct facts_sum *sum) {
    return human_seconds(sum->ns / (int64_t)sum->calls);
}

static inline const char *find_verb(unsigned direction) { return direction == FACTS_WRITE ? "write" : "read"; }
