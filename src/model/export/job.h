// A phase as jobs for I/O generators such as fio and IOR, which know less than a model: each process reads or writes a
// number of pieces of one size, at places that follow one rule, and does one job at a time. The notes of a job say how
// it differs from the program.
#pragma once

#include "model/model.h"

enum job_note {
    JOB_SIZES = 1 << 0,  // sizes differ: the mean is used
    JOB_PLACES = 1 << 1, // places follow no simple rule: anywhere between the first and the last byte
    JOB_SHORT = 1 << 2,  // more was asked for than moved: the moved size is used
    JOB_VIEW = 1 << 3,   // a file view scatters the bytes: in one piece
    JOB_COLLECTIVE = 1 << 4,
    JOB_NONBLOCKING = 1 << 5,
    JOB_MEMORY = 1 << 6, // memory is not contiguous: contiguous memory is used
    JOB_STDIO = 1 << 7,
    JOB_MPIIO = 1 << 8,
    JOB_PLACELESS = 1 << 9, // the place is not known: the beginning is used
    JOB_TURNS = 1 << 10,    // of a phase: jobs of a process that took turns follow each other
    JOB_NOTES = 11,
};

struct job {
    unsigned class;             // CLASS_READ or CLASS_WRITE
    const struct op_kind *kind; // of the first transfer
    uint64_t size;              // of a piece
    uint64_t count;             // pieces in each file
    uint64_t run;               // pieces that follow each other without a gap: all, or those before a `jump`
    int64_t jump;               // bytes from the end of these to the next ones
    bool is_random;             // then `run` and `jump` are unused
    int64_t first;              // byte, of the first piece
    int64_t low, high;          // first byte and end of all pieces
    uint32_t *member;           // files of the set that it goes through, one after the other
    size_t members;
    uint64_t syncs;     // after them, in all files
    bool syncs_data;    // and not the attributes
    int64_t think_ns;   // before each piece: mean
    uint32_t rank;      // that does it
    uint32_t processes; // this rank and the next ones do it,
    int64_t increment;  // each this many bytes further on
    uint32_t wave;      // jobs of one wave run at the same time
    size_t order;
    unsigned notes; // enum job_note
};

struct jobs {
    struct job *job; // by wave, then rank
    size_t count;
    unsigned notes;    // of all jobs, and its own
    uint64_t bytes[2]; // read, written
    uint64_t others;   // operations that are not transfers
};

int jobs_make(struct jobs *jobs, const struct model *model, uint32_t phase);
void jobs_free(struct jobs *jobs);

// True if it uses the same pieces again and again.
bool job_repeats(const struct job *job);
int64_t job_end(const struct job *job); // after the last byte of all its processes

// Write comment lines: what the output is about; what a phase is and how it differs from the program.
void job_write_title(const struct model *model, const char *tool, FILE *out);
void job_write_phase(const struct model *model, uint32_t phase, const struct jobs *jobs, FILE *out);

// Write jobs for fio, and command lines for IOR. 0, a negative code, or the first error of the output as -errno.
int job_write_fio(const struct model *model, FILE *out);
int job_write_ior(const struct model *model, FILE *out);
