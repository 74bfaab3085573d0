// What HDF5 makes of the program's calls: fill values, whole chunks, metadata. Which requests serve which dataset comes
// from the tree of calls (summary/call_tree.h); time is claimed from the grains of its file, in proportion.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/scoped.h"
#include "findings/find.h"

enum { LEAST_FILL_BYTES = 1 << 16, SMALL_METADATA = 4096 };
enum { LAYOUT_CONTIGUOUS = 1, FILL_NEVER = 1 }; // as in HDF5
#define LIMIT_CHUNK_PART 0.25                   // of the chunks that a selection touches

// --- datasets

static bool is_dataset(const struct object_sum *sum) { return sum->dataset && sum->layer == LAYER_HDF5; }

static size_t objects_in(const struct findings *findings) {
    const struct call_tree *tree = findings->facts->tree;
    return tree ? tree->objects : 0;
}

static uint64_t name_key(const struct log_file *file) { return hash_bytes(0, file->name, strlen(file->name)); }

// The files that hold objects, by their names.
static int list_files(const struct findings *findings, struct lookup *by_name) {
    const struct facts *facts = findings->facts;
    for (size_t i = 0; i < facts->files && objects_in(findings); i++) {
        if (facts->file[i] && !facts->file[i]->file->object)
            FORWARD(lookup_set(by_name, name_key(facts->file[i]->file), (uint32_t)i));
    }
    return 0;
}

// The place of the file that holds a dataset of HDF5; LOOKUP_NONE for other objects.
static uint32_t file_of(const struct lookup *by_name, const struct object_sum *sum) {
    return is_dataset(sum) ? lookup_find(by_name, name_key(sum->object)) : LOOKUP_NONE;
}

static uint64_t elements(const uint64_t *dims, unsigned rank) {
    uint64_t all = 1;
    for (unsigned i = 0; i < rank; i++) all *= dims[i];
    return all;
}

static uint64_t bytes_of(const struct log_dataset *dataset) {
    return elements(dataset->dims, dataset->rank) * dataset->bytes;
}

static struct find_name shape_of(const uint64_t *dims, unsigned rank) {
    struct find_name shape = {""};
    for (unsigned i = 0; i < rank; i++) {
        size_t len = strlen(shape.text);
        snprintf(shape.text + len, sizeof shape.text - len, "%s%llu", i ? "x" : "", (unsigned long long)dims[i]);
    }
    return shape;
}

struct find_name find_object_name(const struct object_sum *dataset) {
    struct find_name name;
    snprintf(name.text, sizeof name.text, "%s", dataset->object->object);
    for (char *at = name.text; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) *at = '?';
    }
    return name;
}

// --- the part of a dataset's requests that is lost

static unsigned part_of(unsigned library) {
    switch (library) {
    case IN_LIBRARY_READ: return OBJECT_READ;
    case IN_LIBRARY_WRITE: return OBJECT_WRITE;
    case IN_LIBRARY_OPEN: return OBJECT_OPEN;
    default: return OBJECT_OTHER;
    }
}

// Of the requests of a direction inside the calls of a part; 0 to 1.
typedef double part_lost(const struct object_sum *sum, enum object_part part, unsigned direction);

struct losing { // by file
    double lost_ns[OBJECT_PARTS][FACTS_DIRECTIONS], all_ns[OBJECT_PARTS][FACTS_DIRECTIONS];
};

struct lost {
    const struct object_sum *worst; // NULL: nothing is lost
    double worst_ns;
    const struct facts_file *file; // that holds it
    uint64_t datasets;
};

static double lost_ns(const struct object_sum *sum, part_lost *lost_part, enum object_part part, unsigned direction) {
    return (double)sum->request[part][direction].ns * lost_part(sum, part, direction);
}

static void add_lost(const struct object_sum *sum, part_lost *lost_part, struct losing *of_file,
                     const struct facts_file *file, struct lost *lost) {
    double own_ns = 0;
    for (unsigned part = 0; part < OBJECT_PARTS; part++) {
        for (unsigned d = 0; d < FACTS_DIRECTIONS; d++) {
            double ns = lost_ns(sum, lost_part, part, d);
            of_file->all_ns[part][d] += (double)sum->request[part][d].ns;
            of_file->lost_ns[part][d] += ns;
            own_ns += ns;
        }
    }
    if (own_ns > 0) lost->datasets++;
    if (own_ns <= lost->worst_ns) return;
    lost->worst_ns = own_ns;
    lost->worst = sum;
    lost->file = file;
}

static int claim_lost(struct findings *findings, part_lost *lost_part, struct lost *lost) {
    const struct facts *facts = findings->facts;
    SCOPED(lookup_free) struct lookup by_name = {0};
    SCOPED_FREE struct losing *of_file = calloc(facts->files + 1, sizeof *of_file);
    *lost = (struct lost){0};
    RETURN_IF(!of_file, -ENOMEM);
    FORWARD(list_files(findings, &by_name));
    for (size_t i = 0; i < objects_in(findings); i++) {
        const struct object_sum *sum = &facts->tree->object[i];
        uint32_t file = file_of(&by_name, sum);
        if (file != LOOKUP_NONE) add_lost(sum, lost_part, &of_file[file], facts->file[file], lost);
    }
    for (size_t i = 0; i < facts->grains && lost->worst; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        if (!find_is_request(grain) || !grain->traits.library) continue;
        const struct losing *losing = &of_file[find_use(findings, grain)->file];
        unsigned part = part_of(grain->traits.library), d = grain->traits.kind;
        if (losing->lost_ns[part][d] <= 0) continue;
        // Without the pauses of a busy machine.
        double typical = facts_part_beyond(find_cell(findings, grain), 0);
        FORWARD(find_claim_part(findings, grain, typical * losing->lost_ns[part][d] / losing->all_ns[part][d]));
    }
    return findings->claims > 0;
}

static bool at_memory_speed(const struct findings *findings) {
    double fast_ns = 0;
    for (size_t i = 0; i < findings->claims; i++) {
        const struct facts_grain *grain = &findings->facts->grain[findings->claim[i].grain];
        if (facts_at_memory_speed(find_cell(findings, grain))) fast_ns += findings->claim[i].ns;
    }
    return fast_ns * 2 > find_taken(findings).ns;
}

static void say_more(struct findings *findings, struct finding *finding, const struct lost *lost) {
    if (lost->datasets > 1)
        find_evidence(findings, finding, (struct find_place){0}, "and the same in %s",
                      human_count(lost->datasets - 1, "other dataset").text);
    if (at_memory_speed(findings)) finding->low = "these calls are served from memory";
}

// --- fill values

static double lost_to_fill(const struct object_sum *sum, enum object_part part, unsigned direction) {
    const struct log_dataset *dataset = sum->dataset;
    uint64_t size = bytes_of(dataset), moved = sum->request[part][FACTS_WRITE].bytes, own = sum->bytes[FACTS_WRITE];
    if (direction != FACTS_WRITE || dataset->fill_time == FILL_NEVER || size < LEAST_FILL_BYTES || own < size / 2)
        return 0;
    if (part == OBJECT_OPEN) return moved >= size / 2 ? 1 : 0;
    // Late allocation: by the first write. What is read to be written again lies in holes of the selections (sieving).
    bool fills = part == OBJECT_WRITE && dataset->layout == LAYOUT_CONTIGUOUS && moved >= own + size / 2 &&
                 sum->request[part][FACTS_READ].bytes * 2 < moved - own;
    return fills ? (double)(moved - own) / (double)moved : 0;
}

int find_filled_files(const struct findings *findings, bool *of_file) {
    SCOPED(lookup_free) struct lookup by_name = {0};
    FORWARD(list_files(findings, &by_name));
    for (size_t i = 0; i < objects_in(findings); i++) {
        const struct object_sum *sum = &findings->facts->tree->object[i];
        uint32_t file = file_of(&by_name, sum);
        if (file == LOOKUP_NONE) continue;
        of_file[file] |=
            lost_to_fill(sum, OBJECT_OPEN, FACTS_WRITE) > 0 || lost_to_fill(sum, OBJECT_WRITE, FACTS_WRITE) > 0;
    }
    return 0;
}

int find_fill_values(struct findings *findings, struct finding *finding) {
    struct lost lost;
    int found = claim_lost(findings, lost_to_fill, &lost);
    if (found <= 0) return found;
    const struct object_sum *sum = lost.worst;
    bool in_open = lost_to_fill(sum, OBJECT_OPEN, FACTS_WRITE) > 0;
    bool in_writes = lost_to_fill(sum, OBJECT_WRITE, FACTS_WRITE) > 0;
    uint64_t own = sum->bytes[FACTS_WRITE], filled = in_open ? sum->request[OBJECT_OPEN][FACTS_WRITE].bytes : 0;
    if (in_writes) filled += sum->request[OBJECT_WRITE][FACTS_WRITE].bytes - own;
    finding->title =
        find_text(findings, "HDF5 writes %s of fill values that the program then replaces", human_bytes(filled).text);
    find_evidence(findings, finding, (struct find_place){.file = lost.file},
                  "dataset %s has %s; its %s wrote %s of fill values, and %s of the program %s",
                  find_object_name(sum).text, human_bytes(bytes_of(sum->dataset)).text,
                  in_open ? "creation" : "first write", human_bytes(filled).text,
                  human_count(sum->calls[FACTS_WRITE], "write").text, human_bytes(own).text);
    say_more(findings, finding, &lost);
    return 1;
}

// --- filters

static uint64_t chunks_of(const struct log_dataset *dataset) {
    uint64_t all = 1;
    for (unsigned i = 0; i < dataset->chunk_rank && i < dataset->rank; i++)
        all *= dataset->chunk[i] ? (dataset->dims[i] + dataset->chunk[i] - 1) / dataset->chunk[i] : 1;
    return all;
}

static uint64_t chunk_bytes(const struct log_dataset *dataset) {
    return elements(dataset->chunk, dataset->chunk_rank) * dataset->bytes;
}

// Whether parts of chunks are written, and the reads are about as large as the chunks then written: not of metadata.
static bool reads_chunks(const struct object_sum *sum) {
    enum { LIKE = 4 };
    const struct object_requests *of = sum->request[OBJECT_WRITE];
    if (!of[FACTS_WRITE].calls || sum->regular[FACTS_WRITE] >= sum->chunk_bytes[FACTS_WRITE]) return false;
    double read = (double)of[FACTS_READ].bytes / (double)of[FACTS_READ].calls;
    double written = (double)of[FACTS_WRITE].bytes / (double)of[FACTS_WRITE].calls;
    return read < LIKE * written && written < LIKE * read;
}

static double lost_to_filters(const struct object_sum *sum, enum object_part part, unsigned direction) {
    const struct object_requests *reads = &sum->request[OBJECT_WRITE][FACTS_READ];
    if (part != OBJECT_WRITE || !sum->dataset->filters.count || !sum->calls[FACTS_WRITE]) return 0;
    if (reads->calls < LIMIT_PATTERN_CALLS || !reads_chunks(sum)) return 0;
    if (direction == FACTS_READ) return 1;
    double chunks = (double)chunks_of(sum->dataset), writes = (double)sum->request[part][FACTS_WRITE].calls;
    return writes > 2 * chunks ? 1 - chunks / writes : 0;
}

int find_filters(struct findings *findings, struct finding *finding) {
    struct lost lost;
    int found = claim_lost(findings, lost_to_filters, &lost);
    if (found <= 0) return found;
    const struct object_sum *sum = lost.worst;
    const struct log_dataset *dataset = sum->dataset;
    const struct object_requests *of = sum->request[OBJECT_WRITE];
    struct find_name chunk = shape_of(dataset->chunk, dataset->chunk_rank);
    finding->title = find_text(findings, "To write parts of compressed chunks HDF5 read chunks %s",
                               human_count(of[FACTS_READ].calls, "time").text);
    finding->advice =
        find_text(findings,
                  "Write whole chunks (%s elements), let the chunk cache hold the chunks that are written "
                  "in turn (H5Pset_chunk_cache; the dataset has %s of %s), or compress later with h5repack.",
                  chunk.text, human_count(chunks_of(dataset), "chunk").text, human_bytes(chunk_bytes(dataset)).text);
    find_evidence(findings, finding, (struct find_place){.file = lost.file},
                  "%s of %s on dataset %s made %s of %s and %s", human_count(sum->calls[FACTS_WRITE], "write").text,
                  human_bytes(sum->bytes[FACTS_WRITE] / sum->calls[FACTS_WRITE]).text, find_object_name(sum).text,
                  human_count(of[FACTS_READ].calls, "read").text,
                  human_bytes(of[FACTS_READ].bytes / of[FACTS_READ].calls).text,
                  human_count(of[FACTS_WRITE].calls, "write").text);
    say_more(findings, finding, &lost);
    return 1;
}

// --- chunks against selections

static uint64_t moved_for(const struct object_sum *sum, unsigned direction) {
    return sum->request[direction][FACTS_READ].bytes + sum->request[direction][FACTS_WRITE].bytes;
}

static double lost_to_chunks(const struct object_sum *sum, enum object_part part, unsigned direction) {
    (void)direction;
    if (part > OBJECT_WRITE || sum->calls[part] < LIMIT_PATTERN_CALLS) return 0;
    uint64_t asked = sum->bytes[part], moved = moved_for(sum, part);
    bool is_small = (double)sum->regular[part] < LIMIT_CHUNK_PART * (double)sum->chunk_bytes[part];
    return is_small && sum->regular[part] * 2 >= asked && moved >= 2 * asked ? 1 - (double)asked / (double)moved : 0;
}

static double lost_in(const struct object_sum *sum, enum object_part part) {
    return lost_ns(sum, lost_to_chunks, part, FACTS_READ) + lost_ns(sum, lost_to_chunks, part, FACTS_WRITE);
}

int find_chunks(struct findings *findings, struct finding *finding) {
    struct lost lost;
    int found = claim_lost(findings, lost_to_chunks, &lost);
    if (found <= 0) return found;
    const struct object_sum *sum = lost.worst;
    const struct log_dataset *dataset = sum->dataset;
    unsigned direction = lost_in(sum, OBJECT_WRITE) > lost_in(sum, OBJECT_READ);
    uint64_t calls = sum->calls[direction], asked = sum->bytes[direction];
    uint64_t chunk = chunk_bytes(dataset);
    uint64_t each = chunk && calls ? sum->chunk_bytes[direction] / chunk / calls : 0;
    finding->title =
        find_text(findings, "Selections use %s of the chunks that they touch: to %s %s HDF5 moved %s",
                  human_percent((double)sum->regular[direction] / (double)sum->chunk_bytes[direction]).text,
                  find_verb(direction), human_bytes(asked).text, human_bytes(moved_for(sum, direction)).text);
    finding->advice = find_text(findings,
                                "Choose chunks with the shape of the selections instead of %s, %s more in one call, or "
                                "let the chunk cache hold the %s that a call touches: H5Pset_chunk_cache with %s.",
                                shape_of(dataset->chunk, dataset->chunk_rank).text, find_verb(direction),
                                human_count(each, "chunk").text, human_bytes(each * chunk).text);
    find_evidence(findings, finding, (struct find_place){.file = lost.file},
                  "%s of %s on dataset %s (%s) touch %s of %s each", human_count(calls, find_verb(direction)).text,
                  human_bytes(calls ? asked / calls : 0).text, find_object_name(sum).text,
                  shape_of(dataset->dims, dataset->rank).text, human_count(each, "chunk").text,
                  human_bytes(chunk).text);
    say_more(findings, finding, &lost);
    return 1;
}

// --- metadata

static bool is_metadata(const struct facts_grain *grain) {
    bool is_open = grain->traits.library == IN_LIBRARY_OPEN, is_close = grain->traits.library == IN_LIBRARY_CLOSE;
    return find_is_request(grain) && (is_open || is_close);
}

// By file: whether it holds datasets of HDF5, and what is known about them.
struct holding {
    bool holds;            // any
    bool reads_alone;      // with MPI-IO, and not collectively for metadata
    uint64_t kept;         // bytes that writes left in memory
    uint64_t closing;      // bytes of small writes in closes and flushes
    const char *last_name; // of a dataset
};

static int list_holding(const struct findings *findings, struct holding *of_file) {
    const struct facts *facts = findings->facts;
    SCOPED(lookup_free) struct lookup by_name = {0};
    FORWARD(list_files(findings, &by_name));
    for (size_t i = 0; i < objects_in(findings); i++) {
        const struct object_sum *sum = &facts->tree->object[i];
        uint32_t file = file_of(&by_name, sum);
        if (file == LOOKUP_NONE) continue;
        struct holding *holding = &of_file[file];
        uint64_t moved = sum->request[OBJECT_WRITE][FACTS_WRITE].bytes, own = sum->bytes[FACTS_WRITE];
        holding->holds = true;
        holding->reads_alone |= sum->dataset->by_mpi && !sum->dataset->collective_reads;
        holding->kept += own > moved ? own - moved : 0;
    }
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        bool closes =
            is_metadata(grain) && grain->traits.kind == KIND_WRITE && grain->traits.library == IN_LIBRARY_CLOSE;
        if (closes) of_file[find_use(findings, grain)->file].closing += grain->sum.bytes;
    }
    return 0;
}

// Of the bytes that were read again, those that another process had read.
static double read_by_others(const struct facts_file *file) {
    uint64_t again = file->again[FACTS_READ];
    return again > file->read_by_itself ? 1 - (double)file->read_by_itself / (double)again : 0;
}

static int count_readers(const struct findings *findings, const struct facts_file *file, uint64_t *readers) {
    const struct facts *facts = findings->facts;
    SCOPED_FREE bool *reads = calloc(facts->processes + 1, sizeof *reads);
    RETURN_IF(!reads, -ENOMEM);
    *readers = 0;
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        bool *own = &reads[find_use(findings, grain)->process];
        if (!is_metadata(grain) || grain->traits.kind != KIND_READ || find_file(findings, grain) != file) continue;
        *readers += !*own;
        *own = true;
    }
    return 0;
}

int find_shared_metadata(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    SCOPED_FREE struct holding *of_file = calloc(facts->files + 1, sizeof *of_file);
    RETURN_IF(!of_file, -ENOMEM);
    if (facts->ranks < 2 || !objects_in(findings)) return 0;
    FORWARD(list_holding(findings, of_file));
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        bool is_again = is_metadata(grain) && grain->traits.kind == KIND_READ && grain->traits.again;
        if (!is_again || !of_file[find_use(findings, grain)->file].reads_alone) continue;
        double part = find_typical_part(findings, grain) * read_by_others(find_file(findings, grain));
        FORWARD(find_claim_part(findings, grain, part));
    }
    struct find_taken taken = find_taken(findings);
    if (!taken.file || taken.processes < 2 || taken.sum.calls < LIMIT_PATTERN_CALLS) return 0;
    struct facts_sum sum = find_taken_of(findings, taken.file);
    uint64_t readers;
    FORWARD(count_readers(findings, taken.file, &readers));
    finding->class = CLASS_READ;
    finding->title =
        find_text(findings, "%s read the same metadata of a file: %s of %s", human_count(readers, "process").text,
                  human_count(sum.calls, "read").text, human_bytes(find_mean(&sum)).text);
    find_evidence(findings, finding, (struct find_place){.file = taken.file},
                  "%s when objects are opened, %s, of bytes that had been read before",
                  human_count(sum.calls, "read").text, find_each(&sum).text);
    if (at_memory_speed(findings)) finding->low = "these calls are served from memory";
    return 1;
}

int find_library_metadata(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    SCOPED_FREE struct holding *of_file = calloc(facts->files + 1, sizeof *of_file);
    bool any_assumed = false;
    RETURN_IF(!of_file, -ENOMEM);
    if (!objects_in(findings)) return 0;
    FORWARD(list_holding(findings, of_file));
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        const struct holding *holding = &of_file[find_use(findings, grain)->file];
        if (!is_metadata(grain) || !holding->holds || grain->traits.size >= FACTS_SMALL_SIZE) continue;
        // Elements that were kept in memory until the close are not metadata.
        bool may_be_data = grain->traits.library == IN_LIBRARY_CLOSE && grain->traits.kind == KIND_WRITE;
        if (may_be_data && holding->kept * 2 > holding->closing) continue;
        bool assumed = false;
        FORWARD(find_claim_part(findings, grain, find_small_part(facts, find_cell(findings, grain), &assumed)));
        any_assumed = any_assumed || assumed;
    }
    struct find_taken taken = find_taken(findings);
    if (!taken.file || taken.sum.calls < 2 * LIMIT_PATTERN_CALLS || find_mean(&taken.sum) > SMALL_METADATA) return 0;
    if (any_assumed)
        finding->basis = "time of these calls beyond an assumed copy in memory (1 ns per byte); the log has no large "
                         "requests to compare with";
    struct facts_sum sum = find_taken_of(findings, taken.file);
    finding->title =
        find_text(findings, "HDF5 makes %s of %s for metadata", human_count(taken.sum.calls, "small request").text,
                  human_bytes(find_mean(&taken.sum)).text);
    find_evidence(findings, finding, (struct find_place){.file = taken.file},
                  "%s when objects are created, opened and closed, %s", human_count(sum.calls, "request").text,
                  find_each(&sum).text);
    if (at_memory_speed(findings)) finding->low = "these calls are served from memory";
    return 1;
}

// --- for findings about requests in general

const struct object_sum *find_dataset(const struct findings *findings) {
    const struct facts_file *file = find_taken(findings).file;
    const struct object_sum *best = NULL;
    double ns = 0;
    for (size_t i = 0; i < findings->claims; i++) {
        unsigned library = findings->facts->grain[findings->claim[i].grain].traits.library;
        if (library == IN_LIBRARY_READ || library == IN_LIBRARY_WRITE) ns += findings->claim[i].ns;
    }
    if (ns * 2 < find_taken(findings).ns) return NULL;
    for (size_t i = 0; file && i < objects_in(findings); i++) {
        const struct object_sum *sum = &findings->facts->tree->object[i];
        if (!is_dataset(sum) || strcmp(sum->object->name, file->file->name) != 0) continue;
        struct object_requests own = object_moved(sum, FACTS_WRITE), most = {0};
        if (best) most = object_moved(best, FACTS_WRITE);
        own.ns += object_moved(sum, FACTS_READ).ns;
        if (best) most.ns += object_moved(best, FACTS_READ).ns;
        if (!best || own.ns > most.ns) best = sum;
    }
    return best;
}
