#include "predict/analytic.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "predict/predictor.h"

void analytic_point_text(const struct system_point *point, char out[128]) {
    unsigned shift = point->size >= 1 << 20 ? 20 : point->size >= 1 << 10 ? 10 : 0;
    snprintf(out, 128, "%s %g %s %s, %u process%s%s%s%s", point->write ? "write" : "read",
             (double)point->size / (1 << shift),
             shift == 20   ? "MiB"
             : shift == 10 ? "KiB"
                           : "bytes",
             system_mode_name(point->mode), point->np, point->np == 1 ? "" : "es", point->shared ? ", shared" : "",
             point->collective ? ", collective" : "", point->pause > 0 ? ", after pauses" : "");
}

// Returns the separator for the next point.
static const char *print_point(FILE *out, const char *separator, const struct system_point *point) {
    char text[128];
    analytic_point_text(point, text);
    fprintf(out, "%s%s", separator, text);
    return "; ";
}

static void add_interval(struct interval *sum, const struct interval *more) {
    sum->middle += more->middle;
    sum->low += more->low;
    sum->high += more->high;
}

// --- metadata

// A call takes as long as it took in the measurement, where all processes made calls at the same time.
static const char *add_names(const struct system *system, const struct name_class *class, FILE *out,
                             const char *separator, struct predicted_phase *phase) {
    static const char *const done[] = {"created", "opened", "looked up", "removed"};
    double rate = classes_name_rate(system, class->rate), np = system->metadata.np;
    if (rate <= 0) {
        fprintf(out, "%sno rate of names %s", separator, done[class->rate]);
        phase->extrapolated = true;
        return "; ";
    }
    double seconds = (double)class->count / class->np * np / rate;
    fprintf(out, "%s%.0f names %s per second, %.0f process%s", separator, rate, done[class->rate], np,
            np == 1 ? "" : "es");
    phase->extrapolated |= class->np != np;
    add_interval(&phase->seconds, &(struct interval){.middle = seconds, .low = seconds, .high = seconds});
    return "; ";
}

// The time of a phase, and the points that give it.
static int conclude_phase(const struct predicting *p, const struct system *system, uint32_t family,
                          struct predicted_phase *phase) {
    const char *separator = "";
    size_t length = 0;
    FILE *out = open_memstream(&phase->points, &length);
    RETURN_IF(!out, -ENOMEM);
    for (size_t i = 0; i < p->classes.count; i++) {
        struct estimate e;
        if (p->classes.item[i].family != family || analytic_estimate(system, &p->classes.item[i], &e) < 0) continue;
        if (e.below) separator = print_point(out, separator, e.below);
        if (e.above && e.above != e.below) separator = print_point(out, separator, e.above);
        if (e.rested) separator = print_point(out, separator, e.rested);
        if (e.extrapolated) fprintf(out, " (%s)", e.reason);
        phase->extrapolated |= e.extrapolated;
        add_interval(&phase->seconds, &e.seconds);
    }
    for (size_t i = 0; i < p->classes.names && system->metadata.np; i++) {
        if (p->classes.name[i].family == family)
            separator = add_names(system, &p->classes.name[i], out, separator, phase);
    }
    phase->seconds.low /= 1 + predict_analytic.systematic;
    phase->seconds.high += predict_analytic.systematic * phase->seconds.middle;
    return fclose(out) ? -ENOMEM : 0;
}

static int conclude(const struct predicting *p, const struct predict_target *target, struct predicted_target *to) {
    size_t extrapolated = 0;
    for (size_t i = 0; i < p->phases; i++) {
        if (!to->phase[i].predicted) continue;
        FORWARD(conclude_phase(p, &target->system, predictor_family(p, i), &to->phase[i]));
        add_interval(&to->total, &to->phase[i].seconds);
        extrapolated += to->phase[i].extrapolated;
    }
    to->predictable = true;
    if (!extrapolated) return 0;
    return predictor_reason(to, "%zu phase%s like no point of the profile", extrapolated,
                            extrapolated == 1 ? " is" : "s are");
}

const struct predictor predict_analytic = {
    .name = "analytic",
    .systematic = 0.25,
    .is_default = true,
    .for_profiles = true,
    .needs_bytes = true,
    .with_names = true,
    .conclude = conclude,
};
