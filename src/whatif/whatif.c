#include "whatif/whatif.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"
#include "replay/replay.h"
#include "whatif/private.h"
#include "whatif/published.h"

enum { COMBINATIONS = 4 };
// What a change must gain, as a fraction: the mean error of the model (doc/accuracy.md). It cannot tell ways apart that
// are nearer.
#define WORTH_IT 0.03
// Ways that are at most so much slower than the best one are measured again: they might be the best.
#define CLOSE 0.3

static const struct model_phase *phase_of(const struct asking *a, size_t place) {
    return &a->model->phase[a->model->program[a->result->program].first + place];
}

static bool is_first_of_family(const struct asking *a, size_t place) { return phase_of(a, place)->ph == 1; }

// --- counting

static struct io_counts *counts_at(const struct counted *counted, size_t option, uint32_t family) {
    return &counted->option[option][family];
}

static void forget_last(struct counted *counted) {
    counted->options--;
    for (uint32_t i = 0; i < counted->families; i++) counts_free(counts_at(counted, counted->options, i));
    free(counted->option[counted->options]);
}

static void free_counted(struct counted *counted) {
    while (counted->options) forget_last(counted);
    free(counted->option);
}

static int count_option(const struct asking *a, const struct variant *variant, const struct library *library,
                        struct counted *counted) {
    FORWARD(array_room(counted->option, counted->options));
    counted->option[counted->options] = calloc(counted->families + 1, sizeof **counted->option);
    RETURN_IF(!counted->option[counted->options], -ENOMEM);
    counted->options++;
    for (size_t i = 0; i < a->result->phases; i++) {
        uint32_t family = phase_of(a, i)->family;
        if (!is_first_of_family(a, i)) continue;
        FORWARD(counts_of(&a->families[family], variant, library, counts_at(counted, counted->options - 1, family)));
    }
    return 0;
}

static bool are_same_requests(const struct request_row *a, const struct request_row *b) {
    return a->write == b->write && a->size == b->size && a->mode == b->mode && a->np == b->np &&
           a->shared == b->shared && a->warm == b->warm && fabs(a->count - b->count) < 1e-6 * b->count;
}

static bool is_same_work(const struct mpiio_counts *a, const struct mpiio_counts *b) {
    return a->calls == b->calls && a->exchanges == b->exchanges && a->rounds == b->rounds && a->pieces == b->pieces &&
           a->crossing == b->crossing && fabs(a->own_calls - b->own_calls) < 0.5 &&
           fabs(a->own_pieces - b->own_pieces) < 0.5;
}

static bool are_equal(const struct counted *counted, size_t one, size_t other) {
    for (uint32_t i = 0; i < counted->families; i++) {
        const struct io_counts *a = counts_at(counted, one, i), *b = counts_at(counted, other, i);
        if (a->rows != b->rows || a->overlapped != b->overlapped) return false;
        for (size_t k = 0; k < a->rows; k++) {
            if (!are_same_requests(&a->row[k], &b->row[k])) return false;
        }
        if (!is_same_work(&a->mpiio[0], &b->mpiio[0]) || !is_same_work(&a->mpiio[1], &b->mpiio[1])) return false;
    }
    return true;
}

static bool is_new(const struct counted *counted, size_t option) {
    for (size_t i = 0; i < option; i++) {
        if (are_equal(counted, i, option)) return false;
    }
    return true;
}

// --- times

static double published_of(const struct asking *a, const struct whatif_target *target, const struct io_counts *counts,
                           uint64_t buffer) {
    const struct system_mpiio *mpiio = target->mpiio;
    double sum = 0;
    if (!mpiio) return NAN;
    const struct system_line *line = mpiio->nodes > 1 && mpiio->between.per_byte > 0 ? &mpiio->between : &mpiio->within;
    for (unsigned write = 0; write < 2; write++) {
        double bytes = (double)counts->all_bytes[write], through = (double)counts->mpiio[write].bytes;
        if (bytes <= 0) continue;
        if (mpiio->sequential[write] <= 0 || mpiio->random[write] <= 0) return NAN;
        struct published p = {.start = line->start,
                              .per_byte = line->per_byte,
                              .message = (double)buffer,
                              .tau = through / bytes,
                              .bytes = bytes,
                              .at_once = (double)a->result->np / mpiio->nodes,
                              .sequential = mpiio->sequential[write],
                              .random = mpiio->random[write]};
        sum += p.tau > 0 ? published_collective(&p) + (1 - p.tau) * published_individual(&p) : published_individual(&p);
    }
    return sum;
}

static void add_interval(struct interval *sum, const struct interval *more) {
    sum->middle += more->middle;
    sum->low += more->low;
    sum->high += more->high;
}

static void scale(struct extended *extended, double times) {
    double *value[] = {&extended->seconds.middle, &extended->seconds.low, &extended->seconds.high, &extended->agreeing,
                       &extended->shuffling,      &extended->calling,     &extended->storage,      &extended->waiting};
    for (size_t i = 0; i < sizeof value / sizeof *value; i++) *value[i] *= times;
}

static void add_parts(struct extended *sum, const struct extended *more) {
    add_interval(&sum->seconds, &more->seconds);
    sum->agreeing += more->agreeing;
    sum->shuffling += more->shuffling;
    sum->calling += more->calling;
    sum->storage += more->storage;
    sum->waiting += more->waiting;
    sum->extrapolated |= more->extrapolated;
}

static void add_shares(struct whatif_option *option, const struct io_counts *counts, double *bytes) {
    for (unsigned write = 0; write < 2; write++) {
        option->exchanged += (double)counts->mpiio[write].bytes;
        option->crossing += (double)counts->mpiio[write].crossing;
        *bytes += (double)counts->all_bytes[write];
    }
}

static uint64_t buffer_of(const struct asking *a, const struct variant *variant, const struct library *library) {
    uint64_t usual = library->romio ? 16 << 20 : 32 << 20;
    if (variant->cb_buffer) return variant->cb_buffer;
    for (size_t i = 0; i < a->model->families; i++) {
        if (a->families[i].count) return access_hint_number(&a->families[i].item[0], "cb_buffer_size", usual);
    }
    return usual;
}

static bool asks_otherwise(const struct model *model, const struct variant_hint *hint) {
    for (size_t i = 0; i < model->hints_count; i++) {
        const struct model_hints *hints = &model->hints[i];
        for (size_t k = 0; k < hints->asked_count; k++) {
            if (!strcmp(hints->asked[k].name, hint->name) && strcmp(hints->asked[k].value, hint->value)) return true;
        }
    }
    return false;
}

// A program that makes collective calls makes independent ones of them by these hints.
static void add_hints(const struct model *model, struct whatif_option *option) {
    option->hints = variant_hints(&option->variant, option->hint);
    if (option->variant.interface == VARIANT_INDEPENDENT && option->hints + 2 <= VARIANT_HINTS) {
        option->hint[option->hints++] = (struct variant_hint){"romio_cb_write", "disable"};
        option->hint[option->hints++] = (struct variant_hint){"romio_cb_read", "disable"};
    }
    for (unsigned i = 0; i < option->hints; i++)
        option->overruled |= (unsigned)asks_otherwise(model, &option->hint[i]) << i;
}

// With the points that the target has now.
static int set_times(const struct asking *a, const struct whatif_target *target, const struct counted *counted,
                     size_t number, struct whatif_option *option) {
    struct library library = target_library(a, target);
    struct prices prices = {&target->system, target->mpiio};
    double bytes = 0;
    option->parts = (struct extended){0};
    option->published = option->exchanged = option->crossing = 0;
    for (size_t i = 0; i < a->result->phases; i++) {
        uint32_t family = phase_of(a, i)->family;
        const struct io_counts *counts = counts_at(counted, number, family);
        struct whatif_phase *phase = &option->phase[i];
        FORWARD(extended_estimate(counts, &prices, &phase->extended));
        phase->published =
            published_of(a, target, counts, buffer_of(a, &option->variant, &library)) / a->families[family].share;
        scale(&phase->extended, 1 / a->families[family].share);
        add_parts(&option->parts, &phase->extended);
        option->published += phase->published;
        add_shares(option, counts, &bytes);
    }
    option->total = option->parts.seconds;
    option->exchanged /= fmax(bytes, 1);
    option->crossing /= fmax(bytes, 1);
    return 0;
}

static int estimate_option(const struct asking *a, struct whatif_target *target, const struct counted *counted,
                           size_t number, const struct variant *variant) {
    struct whatif_option option = {.variant = *variant, .phase = calloc(a->result->phases + 1, sizeof *option.phase)};
    RETURN_IF(!option.phase, -ENOMEM);
    variant_text(variant, option.name);
    add_hints(a->model, &option);
    int code = set_times(a, target, counted, number, &option);
    if (!code) code = array_push(target->option, target->options, option);
    if (code) free(option.phase);
    return code;
}

// --- the best

// Of a phase, or (`phases`) of all.
static double seconds_of(const struct whatif_option *option, size_t phase, size_t phases) {
    return phase < phases ? option->phase[phase].extended.seconds.middle : option->total.middle;
}

// Of the ways that the model cannot tell from the fastest one, that which changes least.
static size_t best_in(const struct whatif_target *target, size_t phase, size_t phases) {
    double least = INFINITY, most;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < target->options; i++) least = fmin(least, seconds_of(&target->option[i], phase, phases));
    most = least * (1 + WORTH_IT);
    for (size_t i = 0; i < target->options; i++) {
        const struct whatif_option *option = &target->option[i], *before = &target->option[best == SIZE_MAX ? 0 : best];
        double seconds = seconds_of(option, phase, phases);
        if (seconds > most) continue;
        int more = (int)variant_changes(&option->variant) - (int)variant_changes(&before->variant);
        if (best == SIZE_MAX || more < 0 || (!more && seconds < seconds_of(before, phase, phases))) best = i;
    }
    return best == SIZE_MAX ? 0 : best;
}

static void choose_best(const struct asking *a, struct whatif_target *target) {
    size_t phases = a->result->phases;
    target->best = best_in(target, phases, phases);
    for (size_t k = 0; k < phases; k++) target->phase_best[k] = best_in(target, k, phases);
    target->within_noise = target->best && target->option[target->best].total.high > target->option[0].total.low;
}

// Adds to the best option what gains most besides, as long as it gains something.
static int combine(const struct asking *a, struct whatif_target *target, struct counted *counted) {
    struct library library = target_library(a, target);
    size_t singles = target->options;
    for (unsigned round = 0; round < COMBINATIONS; round++) {
        choose_best(a, target);
        size_t before = target->best;
        for (size_t i = 1; i < singles; i++) {
            struct variant both = options_both(&target->option[before].variant, &target->option[i].variant);
            const char *why = NULL;
            FORWARD(variant_check(&both, a->model, a->result->program, &why));
            if (why) continue;
            FORWARD(count_option(a, &both, &library, counted));
            if (!is_new(counted, counted->options - 1)) {
                forget_last(counted);
                continue;
            }
            FORWARD(estimate_option(a, target, counted, counted->options - 1, &both));
            struct whatif_option *last = &target->option[target->options - 1];
            if (last->total.middle < (1 - WORTH_IT) * target->option[before].total.middle) continue;
            free(last->phase);
            target->options--;
            forget_last(counted);
        }
        choose_best(a, target);
        if (target->best == before) break;
    }
    return 0;
}

// Measures again what decides between the ways that may be the best, and calculates all times again.
static int look_again(const struct asking *a, struct whatif_target *target, const struct counted *counted) {
    SCOPED_FREE bool *chosen = calloc(target->options + 1, sizeof *chosen);
    RETURN_IF(!chosen, -ENOMEM);
    for (size_t i = 0; i < target->options; i++)
        chosen[i] = target->option[i].total.middle <= (1 + CLOSE) * target->option[target->best].total.middle;
    FORWARD(target_measure(a, target, counted, chosen));
    for (size_t i = 0; i < target->options; i++) FORWARD(set_times(a, target, counted, i, &target->option[i]));
    choose_best(a, target);
    return 0;
}

// --- crossovers

static const struct whatif_option *option_named(const struct whatif_target *target, const char *name) {
    for (size_t i = 0; i < target->options; i++) {
        if (!strcmp(target->option[i].name, name)) return &target->option[i];
    }
    return NULL;
}

static void make_crossover(const struct asking *a, struct whatif_target *target, const struct counted *counted) {
    const struct whatif_option *collective = option_named(target, "collective"),
                               *independent = option_named(target, "independent");
    const struct system_mpiio *mpiio = target->mpiio;
    struct library library = target_library(a, target);
    double bytes[2] = {0};
    for (size_t i = 0; i < a->result->phases; i++) {
        for (unsigned write = 0; write < 2; write++)
            bytes[write] += (double)counts_at(counted, 0, phase_of(a, i)->family)->all_bytes[write];
    }
    bool write = bytes[1] >= bytes[0];
    double bandwidth = mpiio && mpiio->sequential[write] > 0 ? mpiio->sequential[write]
                       : write                               ? target->system.peak_write
                                                             : target->system.peak_read;
    struct published published = {.message = (double)buffer_of(a, &(struct variant){0}, &library),
                                  .bytes = bytes[write],
                                  .at_once = a->result->np};
    bool is_known = mpiio && mpiio->sequential[write] > 0 && mpiio->random[write] > 0;
    if (is_known) {
        const struct system_line *line =
            mpiio->nodes > 1 && mpiio->between.per_byte > 0 ? &mpiio->between : &mpiio->within;
        published.start = line->start;
        published.per_byte = line->per_byte;
        published.at_once /= mpiio->nodes;
        published.sequential = mpiio->sequential[write];
        published.random = mpiio->random[write];
    }
    crossover_make(&target->crossover, collective ? &collective->parts : NULL, independent ? &independent->parts : NULL,
                   bandwidth, is_known ? &published : NULL);
}

// --- a target

static bool is_basic(const struct variant *variant) {
    struct variant basic = {.interface = variant->interface};
    return !memcmp(&basic, variant, sizeof basic);
}

static int list_chosen(const struct asking *a, struct options_of_program *options) {
    *options = (struct options_of_program){0};
    FORWARD(array_push(options->item, options->count, (struct variant){0}));
    for (size_t i = 0; i < a->settings->variants; i++) {
        struct variant variant = {0};
        const char *why = NULL, *text = a->settings->variant[i];
        int code = variant_parse(&variant, text);
        if (code < 0) return problem_set(a->problem, ERR_USAGE, text, "is no variant");
        code = variant_check(&variant, a->model, a->result->program, &why);
        if (code < 0) return problem_code(a->problem, code, text);
        if (why) return problem_set(a->problem, ERR_USAGE, text, "%s", why);
        FORWARD(array_push(options->item, options->count, variant));
    }
    return 0;
}

static int count_all(const struct asking *a, const struct library *library, struct options_of_program *options,
                     struct counted *counted) {
    size_t kept = 0;
    for (size_t i = 0; i < options->count; i++) {
        FORWARD(count_option(a, &options->item[i], library, counted));
        bool is_wanted = a->settings->variants || is_basic(&options->item[i]);
        if (is_wanted || is_new(counted, counted->options - 1))
            options->item[kept++] = options->item[i];
        else
            forget_last(counted);
    }
    options->count = kept;
    return 0;
}

static int ask_target(const struct asking *a, struct whatif_target *target, struct options_of_program *options,
                      struct counted *counted) {
    struct library library = target_library(a, target);
    FORWARD(a->settings->variants ? list_chosen(a, options)
                                  : options_list(a->model, a->result->program, &library, options));
    FORWARD(count_all(a, &library, options, counted));
    FORWARD(target_measure(a, target, counted, NULL));
    for (size_t i = 0; i < options->count; i++) FORWARD(estimate_option(a, target, counted, i, &options->item[i]));
    if (!a->settings->variants) FORWARD(combine(a, target, counted));
    choose_best(a, target);
    if (target->is_directory) FORWARD(look_again(a, target, counted));
    make_crossover(a, target, counted);
    return a->settings->verify && target->is_directory ? verify_target(a, target) : 0;
}

static int ask(const struct asking *a, struct whatif_target *target) {
    struct options_of_program options = {0};
    struct counted counted = {.families = a->model->families};
    target->phase_best = calloc(a->result->phases + 1, sizeof *target->phase_best);
    RETURN_IF(!target->phase_best, -ENOMEM);
    FORWARD(target_open(a, target));
    int code = ask_target(a, target, &options, &counted);
    free(options.item);
    free_counted(&counted);
    if (code == ERR_NOTHING) return problem_set(a->problem, code, target->name, "its profile has no points for this");
    return code;
}

// --- all

static int add_targets(const struct whatif_settings *settings, struct whatif *result) {
    result->target = calloc(settings->directories + settings->profiles + 1, sizeof *result->target);
    RETURN_IF(!result->target, -ENOMEM);
    for (size_t i = 0; i < settings->directories + settings->profiles; i++) {
        bool is_directory = i < settings->directories;
        struct whatif_target *target = &result->target[result->targets++];
        target->is_directory = is_directory;
        target->name = strdup(is_directory ? settings->directory[i] : settings->profile[i - settings->directories]);
        RETURN_IF(!target->name, -ENOMEM);
    }
    return 0;
}

static int describe_program(const struct asking *a) {
    struct whatif *result = a->result;
    const struct model_program *program = &a->model->program[result->program];
    double looked = 0, all = 0;
    result->phases = program->end - program->first;
    result->phase = calloc(result->phases + 1, sizeof *result->phase);
    RETURN_IF(!result->phase, -ENOMEM);
    for (size_t i = 0; i < result->phases; i++) {
        const struct model_phase *phase = phase_of(a, i);
        const struct accesses *accesses = &a->families[phase->family];
        result->phase[i] = program->first + i + 1;
        result->recorded += (double)phase->duration_ns / 1e9;
        looked += (double)accesses->bytes;
        all += (double)accesses->bytes / accesses->share;
    }
    result->share = all > 0 ? looked / all : 1;
    return 0;
}

int whatif(struct model *model, const char *name, const struct whatif_settings *settings, struct whatif *result,
           struct problem *problem) {
    struct asking a = {.settings = settings, .problem = problem, .model = model, .result = result};
    *result = (struct whatif){0};
    FORWARD(replay_check_model(model, name, "compare", problem));
    result->program = replay_main_program(model);
    result->np = settings->np ? settings->np : model->program[result->program].np;
    int code = 0;
    if (result->np != model->program[result->program].np) code = model_scale(model, result->program, result->np);
    if (!code) code = accesses_of_program(model, result->program, ACCESSES_MOST, &a.families);
    if (!code) code = describe_program(&a);
    if (!code) code = add_targets(settings, result);
    for (size_t i = 0; i < result->targets && !code; i++) code = ask(&a, &result->target[i]);
    accesses_free(a.families, model->families);
    return code < 0 ? problem_code(problem, code, name) : 0;
}

static void free_target(struct whatif_target *target) {
    for (size_t i = 0; i < target->options; i++) {
        free(target->option[i].phase);
        free(target->option[i].reason);
    }
    free(target->option);
    free(target->phase_best);
    free(target->name);
    system_free(&target->system);
}

void whatif_free(struct whatif *result) {
    for (size_t i = 0; i < result->targets; i++) free_target(&result->target[i]);
    free(result->target);
    free(result->phase);
    *result = (struct whatif){0};
}
