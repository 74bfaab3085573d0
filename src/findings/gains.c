// What the ways of I/O that a finding may advise gain: as recorded and in each way the program's I/O is counted
// (whatif/work.h), and what is counted is estimated here and on other storage. The difference is the gain. Here, what
// was recorded is known: both are scaled so that it is right.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/human.h"
#include "findings/find.h"
#include "findings/here.h"
#include "model/variant.h"
#include "whatif/typical.h"

#define NO_POINTS "the profile has no points for this"

// Storage elsewhere.
struct place {
    const char *name, *where;
    const struct system *system;
    const struct system_mpiio *mpiio; // NULL: as here
};

struct gaining {
    uint32_t program;
    struct library library;
    struct accesses *families;
    struct work recorded;
    double observed; // seconds
    struct system *typical;
    size_t typicals;
    struct place *place;
    size_t places;
};

void find_way(struct finding *finding, const char *variant, const char *subject, const char *advice) {
    if (finding->ways == FINDING_WAYS) return;
    finding->way[finding->ways++] =
        (struct finding_way){.variant = variant, .subject = subject, .advice = advice ? advice : finding->advice};
}

void find_way_spares(struct finding *finding, const char *name, const char *subject, const char *advice,
                     uint64_t bytes) {
    if (finding->ways == FINDING_WAYS) return;
    find_way(finding, name, subject, advice);
    finding->way[finding->ways - 1].is_spared = true;
    finding->way[finding->ways - 1].spares = bytes;
}

// --- what all findings share

static uint32_t count_nodes(const struct facts *facts) {
    uint32_t nodes = 0;
    for (size_t i = 0; i < facts->processes; i++) {
        const struct log_process *process = facts->process[i].process;
        nodes += process->has_rank && process->local_rank == 0;
    }
    return nodes ? nodes : 1;
}

// Time in transfers, without pauses and without waiting for ranks that come late: as what is at stake is counted.
static double observed_of(const struct findings *findings) {
    const struct facts *facts = findings->facts;
    double ns = 0;
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        unsigned kind = grain->traits.kind;
        if (kind <= KIND_WRITE) ns += grain->wall_ns * find_typical_part(findings, grain);
        if (kind == KIND_MPI_READ || kind == KIND_MPI_WRITE) ns += grain->wall_ns - grain->late_ns;
    }
    return find_scale_of_ranks(facts) * ns / 1e9;
}

static int add_typical(struct gaining *g) {
    size_t count = 0;
    while (typical_storage[count].preset) count++;
    g->typical = calloc(count, sizeof *g->typical);
    RETURN_IF(!g->typical, -ENOMEM);
    for (; g->typicals < count; g->typicals++) {
        const struct typical *typical = &typical_storage[g->typicals];
        struct system *system = &g->typical[g->typicals];
        FORWARD(typical_system(&speed_preset_named(typical->preset)->settings, g->library.np, system));
        struct place place = {.name = typical->preset, .where = typical->where, .system = system};
        FORWARD(array_push(g->place, g->places, place));
    }
    return 0;
}

// A name in a sentence: without control characters.
static const char *where_of(struct findings *findings, const char *path) {
    char *text = (char *)find_text(findings, "on the storage of %s", path);
    for (char *at = text; at && *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) *at = '?';
    }
    return text;
}

static int add_profiles(struct findings *findings, struct gaining *g) {
    for (size_t i = 0; findings->profiles && i < findings->profiles->count; i++) {
        const struct finding_profile *profile = &findings->profiles->item[i];
        struct place place = {.name = profile->path, .system = &profile->system};
        double least = INFINITY;
        for (size_t k = 0; k < profile->system.mpiios; k++) {
            double off = fabs(log2((double)profile->system.mpiio[k].np / g->library.np));
            if (off >= least) continue;
            least = off;
            place.mpiio = &profile->system.mpiio[k];
        }
        place.where = where_of(findings, profile->path);
        RETURN_IF(!place.where, -ENOMEM);
        FORWARD(array_push(g->place, g->places, place));
    }
    return 0;
}

// A report must not wait long for this: so many pieces of files are looked at.
static size_t most_accesses(const struct facts *facts) {
    enum { ACCESSES = 1 << 16, PIECES = 1 << 21 };
    double pieces = 0, calls = 0;
    for (size_t i = 0; i < facts->processes; i++) {
        for (unsigned k = 0; k < 2 * FACTS_DIRECTIONS; k++) {
            pieces += (double)facts->process[i].pieces[k / 2][k % 2];
            calls += (double)facts->process[i].mpi[k / 2][k % 2].calls;
        }
    }
    double most = pieces > calls ? PIECES * calls / pieces : ACCESSES;
    return most < ACCESSES ? (size_t)most : ACCESSES;
}

static bool is_too_large(const struct model *model, const struct gaining *g) {
    size_t families = 0;
    for (size_t i = 0; i < model->families; i++) families += model->family[i].program == g->program;
    return families * g->library.np * ACCESSES_LEAST_OF_RANK > ACCESSES_MOST;
}

// ERR_LIMIT: the program is too large.
static int begin(struct findings *findings, struct gaining *g) {
    const struct model *model = findings->model;
    g->program = model_main_program(model);
    g->library = (struct library){.romio = find_mpi_io(findings) != MPI_IO_OMPIO,
                                  .nodes = count_nodes(findings->facts),
                                  .np = model->program[g->program].np};
    g->observed = observed_of(findings);
    FORWARD(add_typical(g));
    FORWARD(add_profiles(findings, g));
    RETURN_IF(is_too_large(model, g), ERR_LIMIT);
    FORWARD(accesses_of_program(model, g->program, most_accesses(findings->facts), &g->families));
    return work_of(model, g->program, g->families, &(struct variant){0}, &g->library, &g->recorded);
}

void find_gains_free(struct findings *findings) {
    struct gaining *g = findings->gaining;
    if (!g) return;
    for (size_t i = 0; i < g->typicals; i++) system_free(&g->typical[i]);
    free(g->typical);
    free(g->place);
    if (g->families) accesses_free(g->families, findings->model->families);
    work_free(&g->recorded);
    free(g);
    findings->gaining = NULL;
}

// --- one way

struct weighing {
    struct findings *findings;
    const struct finding *finding;
    const struct finding_way *way;
    struct here *here;
    struct work work; // in this way
    const char *why;  // it cannot be calculated; or NULL
    struct finding_gain *gain;
};

static void set_gain(struct finding_gain *gain, double seconds, double less, double more) {
    gain->seconds = seconds;
    gain->low = seconds - less;
    gain->high = seconds + more;
}

static int compare_work(const struct weighing *w, const struct prices *prices, double observed,
                        struct finding_gain *gain) {
    struct extended recorded, other;
    int code = work_estimate(&w->findings->gaining->recorded, prices, &recorded);
    if (!code) code = work_estimate(&w->work, prices, &other);
    if (code == ERR_NOTHING) gain->reason = observed > 0 ? "the log has too few requests" : NO_POINTS;
    if (code) return code == ERR_NOTHING ? 0 : code;
    const struct interval *a = &recorded.seconds, *b = &other.seconds;
    double scale = observed > 0 && a->middle > 0 ? observed / a->middle : 1;
    set_gain(gain, scale * (a->middle - b->middle), scale * hypot(a->middle - a->low, b->high - b->middle),
             scale * hypot(a->high - a->middle, b->middle - b->low));
    return 0;
}

// Calls that need not be made.
static int spare_calls(const struct weighing *w, const struct prices *prices, struct finding_gain *gain) {
    struct find_taken taken = find_taken(w->findings);
    struct request_row row = {.size = w->way->spares,
                              .mode = MODE_STRIDED,
                              .np = (uint32_t)taken.processes,
                              .shared = taken.processes > 1,
                              .count = (double)taken.sum.calls / (double)taken.processes};
    struct io_counts counts = {.row = &row, .rows = 1, .np = row.np};
    struct extended all;
    if (!row.size) return 0;
    int code = extended_estimate(&counts, prices, &all);
    if (code == ERR_NOTHING) gain->reason = NO_POINTS;
    if (code) return code == ERR_NOTHING ? 0 : code;
    set_gain(gain, all.seconds.middle, all.seconds.middle - all.seconds.low, all.seconds.high - all.seconds.middle);
    return 0;
}

static bool needs_exchange(const struct work *work, bool write) {
    for (size_t i = 0; i < work->families; i++) {
        if (work->family[i].mpiio[write].exchanges) return true;
    }
    return false;
}

// What the log does not show of this way here; NULL if it shows all.
static const char *unknown_here(const struct weighing *w) {
    static const char *const noun[] = {"reads", "writes"};
    struct here_gap gap;
    for (unsigned write = 0; write < 2; write++) {
        if (needs_exchange(&w->work, write) && !w->here->knows[write])
            return find_text(w->findings, "the log has no collective %s", noun[write]);
    }
    if (!here_has_gap(w->here, &w->work, &gap)) return NULL;
    if (!gap.size) return find_text(w->findings, "the log has too few %s", noun[gap.write]);
    if (gap.by_order) return find_text(w->findings, "the log has no %s there that are not in order", noun[gap.write]);
    return find_text(w->findings, "the log has no %s there of about %s", noun[gap.write], human_bytes(gap.size).text);
}

static int weigh_here(const struct weighing *w) {
    const struct gaining *g = w->findings->gaining;
    struct finding_gain *gain = &w->gain[0];
    *gain = (struct finding_gain){.storage = "here", .where = "here", .reason = w->why};
    if (w->way->is_spared) {
        double seconds = (double)w->finding->ns / 1e9; // from times in bins a quarter wide
        set_gain(gain, seconds, 0.2 * seconds, 0.25 * seconds);
        return 0;
    }
    if (!gain->reason) gain->reason = unknown_here(w);
    if (gain->reason) return 0;
    return compare_work(w, &(struct prices){&w->here->system, &w->here->mpiio}, g->observed, gain);
}

static int weigh_place(const struct weighing *w, const struct place *place, struct finding_gain *gain) {
    *gain = (struct finding_gain){.storage = place->name, .where = place->where, .reason = w->why};
    struct prices prices = {place->system, place->mpiio ? place->mpiio : &w->here->mpiio};
    if (w->why) return 0;
    return w->way->is_spared ? spare_calls(w, &prices, gain) : compare_work(w, &prices, 0, gain);
}

static int count_way(struct weighing *w) {
    const struct gaining *g = w->findings->gaining;
    const struct model *model = w->findings->model;
    struct variant variant = {0};
    if (w->way->is_spared) return 0;
    FORWARD(variant_parse(&variant, w->way->variant));
    FORWARD(variant_check(&variant, model, g->program, &w->why));
    if (w->why) return 0;
    int code = work_of(model, g->program, g->families, &variant, &g->library, &w->work);
    if (code == ERR_LIMIT) w->why = "the program has too many pieces to calculate it";
    return code == ERR_LIMIT ? 0 : code;
}

static int weigh(struct findings *findings, const struct finding *finding, const struct finding_way *way,
                 struct here *here, struct finding_gain *gain) {
    struct weighing w = {.findings = findings, .finding = finding, .way = way, .here = here, .gain = gain};
    const struct gaining *g = findings->gaining;
    int code = count_way(&w);
    if (!code) code = weigh_here(&w);
    for (size_t i = 0; i < g->places && !code; i++) code = weigh_place(&w, &g->place[i], &gain[1 + i]);
    work_free(&w.work);
    return code;
}

// --- the best way

static bool is_clear(const struct finding_gain *gain) { return !gain->reason && gain->low > 0; }

// The first one that gains something here, or else anywhere; the number of ways if there is none.
static size_t choose(const struct finding *finding, const struct finding_gain *gain, size_t places) {
    for (size_t i = 0; i < finding->ways; i++) {
        if (is_clear(&gain[i * places])) return i;
    }
    for (size_t i = 0; i < finding->ways * places; i++) {
        if (is_clear(&gain[i])) return i / places;
    }
    return finding->ways;
}

static bool is_any_known(const struct finding_gain *gain, size_t places) {
    for (size_t i = 0; i < places; i++) {
        if (!gain[i].reason) return true;
    }
    return false;
}

static int conclude(struct findings *findings, struct finding *finding, const struct finding_gain *gain,
                    size_t places) {
    size_t chosen = choose(finding, gain, places);
    bool gains = chosen < finding->ways;
    const struct finding_way *way = &finding->way[gains ? chosen : 0];
    finding->gain = malloc(places * sizeof *finding->gain);
    RETURN_IF(!finding->gain, -ENOMEM);
    memcpy(finding->gain, gain + (size_t)(way - finding->way) * places, places * sizeof *gain);
    finding->gains = places;
    finding->variant = way->variant;
    if (gains || !is_any_known(finding->gain, places)) {
        finding->advice = way->advice;
    } else {
        finding->advice = "Leave these calls as they are: no other way that ioseer can calculate is clearly faster, "
                          "here or on typical storage.";
        if (!finding->low) finding->low = "what could be done instead gains nothing that is certain";
    }
    if (gains && !finding->gain[0].reason && finding->gain[0].high <= 0 && !finding->low)
        finding->low = "what could be done instead would cost time here";
    finding->gain_text = find_gain_text(findings, finding, way->subject);
    return finding->gain_text ? 0 : -ENOMEM;
}

static int weigh_all(struct findings *findings, struct finding *finding, struct here *here) {
    const struct gaining *g = findings->gaining;
    size_t places = 1 + g->places;
    struct finding_gain *gain = calloc(finding->ways * places, sizeof *gain);
    RETURN_IF(!gain, -ENOMEM);
    int code = 0;
    for (size_t i = 0; i < finding->ways && !code; i++)
        code = weigh(findings, finding, &finding->way[i], here, gain + i * places);
    if (!code) code = conclude(findings, finding, gain, places);
    free(gain);
    return code;
}

int find_gains(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    struct here here;
    int code = 0;
    if (!finding->ways || !findings->model || !findings->model->programs) return 0;
    if (!findings->gaining) {
        findings->gaining = calloc(1, sizeof *findings->gaining);
        RETURN_IF(!findings->gaining, -ENOMEM);
        code = begin(findings, findings->gaining);
    }
    struct gaining *g = findings->gaining;
    if (code == -ENOMEM) return code;
    if (code || !g->recorded.family) { // what was recorded cannot be counted: then nothing can
        work_free(&g->recorded);
        return 0;
    }
    const struct facts_file *file = find_taken(findings).file;
    code = here_points(facts, file ? file->storage + 1 : 0, g->library.np, &here);
    if (!code) {
        here_mpiio(facts, &g->recorded, &g->library, &here);
        code = weigh_all(findings, finding, &here);
    }
    system_free(&here.system);
    return code;
}
