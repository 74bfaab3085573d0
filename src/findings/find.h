// What the functions that find something share. Each fills a finding and returns 1, returns 0 where there is none, or
// -ENOMEM. A finding comes with the texts of its row in findings.c, which a function replaces where they depend on the
// log. findings.c fills in share and severity, drops what is too little to matter, and puts the names in the places of
// the words FILE and LOG of `command`.
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

// A text that lives as long as the findings; NULL where memory is out, which text_list_failed tells.
const char *find_text(struct findings *findings, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The phase with the most time that moves data in this direction; 0 where none is known.
uint32_t find_phase(const struct findings *findings, unsigned direction);
// The line of the program with the most time in calls of this class, or NULL.
const char *find_line(const struct findings *findings, unsigned class);

// What evidence points at besides its text; what is not known stays 0.
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

// The finding's command with the file of its evidence and the log in their places (command.c); NULL where memory is
// out.
const char *find_command(struct findings *findings, const struct finding *finding, const char *log_path);

// A sum that each process has: which one is largest, and what all are together.
struct find_most {
    struct facts_sum all;
    const struct facts_process *process; // with the most time, NULL where there is none
    int64_t ns;                          // of that one
};
#define find_most_of(facts, sum) find_most_at(facts, offsetof(struct facts_process, sum))
struct find_most find_most_at(const struct facts *facts, size_t offset);
// The file where this sum has the most time; NULL where none has.
#define find_file_of(facts, sum) find_file_at(facts, offsetof(struct facts_file, sum))
const struct facts_file *find_file_at(const struct facts *facts, size_t offset);

// The share of a whole that the process with the most has.
static inline int64_t find_part_ns(const struct find_most *most, double whole_ns)
{
    return most->all.ns > 0 ? (int64_t)(whole_ns * ((double)most->ns / (double)most->all.ns)) : 0;
}

// What calls without data take beyond what memory would.
static inline int64_t find_beyond_ns(const struct facts_sum *sum)
{
    int64_t ns = sum->ns - (int64_t)sum->calls * facts_memory_ns(0);
    return ns > 0 ? ns : 0;
}

static inline uint64_t find_mean(const struct facts_sum *sum)
{
    return sum->calls ? sum->bytes / sum->calls : 0;
}

// What one of these calls takes on average.
static inline struct human find_each(const struct facts_sum *sum)
{
    return human_seconds(sum->ns / (int64_t)sum->calls);
}

static inline const char *find_verb(unsigned direction)
{
    return direction == FACTS_WRITE ? "write" : "read";
}
