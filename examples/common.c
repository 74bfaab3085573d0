#include "common.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// --- options

static void print_help(const struct example *self, const char *summary, const struct example_option *options) {
    printf("usage: %s [OPTION]...\n%s\n\n", self->name, summary);
    printf("  --%-22s %s\n", "directory DIRECTORY", "where its files are made and left (.)");
    for (const struct example_option *row = options; row->name; row++) {
        static const char *const kinds[] = {" COUNT", " SIZE", "", " WORD"};
        char left[64];
        snprintf(left, sizeof left, "%s%s", row->name, kinds[row->kind]);
        printf("  --%-22s %s", left, row->help);
        if (row->kind == OPTION_COUNT || row->kind == OPTION_SIZE) printf(" (%lld)", *(const long long *)row->value);
        for (const char *const *word = row->words; word && *word; word++)
            printf("%s %s", *row->words == *word ? ":" : ",", *word);
        if (row->kind == OPTION_WORD) printf(" (%s)", *(const char *const *)row->value);
        printf("\n");
    }
}

static bool parse_number(const char *text, long long *value) {
    static const char units[] = "kMG";
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (errno || end == text || *value < 0) return false;
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        int shift = 10 * (int)(unit - units + 1);
        if (*value > INT64_MAX >> shift) return false;
        *value <<= shift;
        end++;
    }
    return *end == 0;
}

static bool parse_word(const char *text, const char *const *words, const char **value) {
    *value = text;
    if (!words) return true;
    while (*words && strcmp(*words, text) != 0) words++;
    return *words != NULL;
}

// Parses argv[i] and, if the row has a value, the argument after it. Returns the number of arguments used, 0 if they
// are wrong.
static int parse_option(char *const *argument, const struct example_option *row) {
    if (row->kind == OPTION_FLAG) {
        *(bool *)row->value = true;
        return 1;
    }
    if (!argument[1]) return 0;
    bool ok = row->kind == OPTION_WORD ? parse_word(argument[1], row->words, row->value)
                                       : parse_number(argument[1], row->value);
    return ok ? 2 : 0;
}

static void parse(struct example *self, char *const *argument, const char *summary,
                  const struct example_option *options) {
    const struct example_option directory = {"directory", OPTION_WORD, &self->directory, NULL, NULL};
    while (*argument) {
        const struct example_option *row = options;
        const char *name = strncmp(*argument, "--", 2) == 0 ? *argument + 2 : "";
        if (strcmp(name, "help") == 0) {
            if (self->rank == 0) print_help(self, summary, options);
            MPI_Finalize();
            exit(EXIT_SUCCESS);
        }
        while (row->name && strcmp(row->name, name) != 0) row++;
        if (strcmp(name, directory.name) == 0) row = &directory;
        int used = row->name ? parse_option(argument, row) : 0;
        if (used == 0) {
            char why[256];
            snprintf(why, sizeof why, "%s %s; see --help", *argument,
                     row->name ? "needs another value" : "is no option");
            example_refuse(self, why);
        }
        argument += used;
    }
}

void example_start(struct example *self, int *argc, char ***argv, const char *summary,
                   const struct example_option *options) {
    int started;
    MUST(MPI_Initialized(&started));
    if (!started) MUST(MPI_Init(argc, argv));
    const char *slash = strrchr((*argv)[0], '/');
    *self = (struct example){.name = slash ? slash + 1 : (*argv)[0], .directory = "."};
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &self->rank));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &self->ranks));
    parse(self, *argv + 1, summary, options);
}

void example_refuse(const struct example *self, const char *why) {
    if (self->rank == 0) fprintf(stderr, "%s: %s\n", self->name, why);
    MPI_Finalize();
    exit(2);
}

int example_end(struct example *self) {
    int here = self->wrong, anywhere = 0;
    MUST(MPI_Allreduce(&here, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (self->rank == 0 && !anywhere) printf("%s: %d ranks, all data as written\n", self->name, self->ranks);
    if (self->rank == 0 && anywhere) fprintf(stderr, "%s: the data is not what was written\n", self->name);
    MUST(MPI_Finalize());
    return anywhere ? EXIT_FAILURE : EXIT_SUCCESS;
}

// --- utilities

char *example_path(const struct example *self, const char *name, int number) {
    size_t bytes = strlen(self->directory) + strlen(name) + 32;
    char *path = example_memory(bytes);
    if (number < 0) snprintf(path, bytes, "%s/%s.dat", self->directory, name);
    if (number >= 0) snprintf(path, bytes, "%s/%s.%d.dat", self->directory, name, number);
    return path;
}

// Gives each axis in turn the largest remaining prime factor, from x to z and again.
void example_grid(const struct example *self, int processes[3], int place[3]) {
    int left = self->ranks, axis = 2;
    for (int i = 0; i < 3; i++) processes[i] = 1;
    while (left > 1) {
        int factor = left;
        for (int divisor = 2; divisor * divisor <= factor; divisor++) {
            while (factor % divisor == 0 && factor > divisor) factor /= divisor;
        }
        processes[axis] *= factor;
        left /= factor;
        axis = (axis + 2) % 3;
    }
    place[2] = self->rank % processes[2];
    place[1] = self->rank / processes[2] % processes[1];
    place[0] = self->rank / processes[2] / processes[1];
}

void *example_memory(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    must(memory != NULL, "memory");
    return memory;
}

// Computes instead of sleeping: a working program keeps its processor.
void example_work(long long microseconds) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000LL + (now.tv_nsec - begin.tv_nsec) / 1000 < microseconds);
}

// --- errors

void must(bool ok, const char *what) {
    if (ok) return;
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

void must_mpi(int code, const char *what) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int len = 0;
    if (code == MPI_SUCCESS) return;
    MPI_Error_string(code, text, &len);
    fprintf(stderr, "%s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

void must_move(const MPI_Status *status, MPI_Datatype type, long long count, const char *what) {
    int moved = 0;
    must_mpi(MPI_Get_count(status, type, &moved), what);
    if (moved == count) return;
    fprintf(stderr, "%s: %d elements instead of %lld\n", what, moved, count);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

// --- the data

static uint64_t pattern_word(uint64_t seed, size_t index) {
    uint64_t mixed = (seed + 1) * 0x9e3779b97f4a7c15u + index * 0xd1b54a32d192ed03u;
    return mixed ^ mixed >> 29;
}

void pattern_fill(void *data, size_t bytes, uint64_t seed) {
    unsigned char *at = data;
    for (size_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        uint64_t word = pattern_word(seed, done);
        memcpy(at + done, &word, bytes - done < sizeof word ? bytes - done : sizeof word);
    }
}

bool pattern_matches(const void *data, size_t bytes, uint64_t seed) {
    const unsigned char *at = data;
    for (size_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        uint64_t word = pattern_word(seed, done);
        if (memcmp(at + done, &word, bytes - done < sizeof word ? bytes - done : sizeof word) != 0) return false;
    }
    return true;
}
