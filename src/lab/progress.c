#include "lab/progress.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json_keys.h"
#include "live/jobs.h"

// A pause of this length ends a phase, as does a direction that had none of its bytes for so long.
static const double pause_seconds = 0.5;
// A phase that is shorter may still get another direction: reads and writes that alternate are one phase.
static const double young_seconds = 0.35;

// --- looking

static int open_live(struct lab_progress *progress, pid_t record) {
    char directory[PATH_MAX];
    struct problem problem = {0};
    if (!live_jobs_directory((uint32_t)record, directory)) return 0; // not yet
    int code = live_open(&progress->live, directory, &problem);
    progress->is_open = code == 0;
    if (code < 0) live_close(&progress->live);
    return code;
}

int lab_progress_look(struct lab_progress *progress, pid_t record) {
    if (!progress->is_open) FORWARD(open_live(progress, record));
    return progress->is_open ? live_look(&progress->live) : 0;
}

// --- phases

// What moved since the last look.
struct step {
    double from, to;
    uint64_t bytes[2];
    uint32_t file;
    size_t files;
};

static struct step find_step(const struct lab_progress *progress, double from, double to) {
    struct step step = {.from = from, .to = to};
    for (size_t i = 0; i < progress->live.files; i++) {
        const struct live_flow *flow = &progress->live.file[i].flow;
        bool moves = false;
        for (unsigned way = 0; way < 2; way++) {
            uint64_t bytes = flow->sums.bytes[way] - flow->marked.bytes[way];
            step.bytes[way] += bytes;
            moves = moves || bytes;
        }
        if (!moves) continue;
        step.file = (uint32_t)i;
        step.files++;
    }
    return step;
}

static bool continues(const struct lab_phase *phase, const struct step *step) {
    bool is_young = phase->to - phase->from < young_seconds;
    for (unsigned way = 0; way < 2; way++) {
        if (step->bytes[way] && !phase->bytes[way] && !is_young) return false;
        if (phase->bytes[way] && step->from - phase->last[way] > pause_seconds) return false;
    }
    return phase->is_several || step->files > 1 || phase->file == step->file;
}

static struct lab_phase *new_phase(struct lab_progress *progress, const struct step *step) {
    if (progress->phases == LAB_PHASES) {
        free(progress->phase[0].name);
        memmove(progress->phase, progress->phase + 1, sizeof progress->phase - sizeof progress->phase[0]);
        progress->phases--;
        progress->phases_before++;
    }
    struct lab_phase *phase = &progress->phase[progress->phases++];
    *phase = (struct lab_phase){
        .from = step->from, .file = step->file, .name = strdup(progress->live.file[step->file].name)};
    return phase;
}

static void add_step(struct lab_progress *progress, const struct step *step) {
    struct lab_phase *phase = progress->phases ? &progress->phase[progress->phases - 1] : NULL;
    if (!step->files) {
        progress->is_in_phase = phase && progress->is_in_phase && step->to - phase->to < pause_seconds;
        return;
    }
    if (!phase || !progress->is_in_phase || !continues(phase, step)) phase = new_phase(progress, step);
    phase->to = step->to;
    phase->is_several = phase->is_several || step->files > 1;
    for (unsigned way = 0; way < 2; way++) {
        phase->bytes[way] += step->bytes[way];
        if (step->bytes[way]) phase->last[way] = step->to;
    }
    progress->is_in_phase = true;
}

// --- samples

// If there are too many, every second one goes.
static void add_sample(struct lab_progress *progress) {
    if (progress->skipped++ < progress->skip) return;
    progress->skipped = 0;
    if (progress->samples == LAB_SAMPLES) {
        for (size_t i = 0; i < LAB_SAMPLES / 2; i++) progress->sample[i] = progress->sample[2 * i];
        progress->samples = LAB_SAMPLES / 2;
        progress->skip = 2 * progress->skip + 1;
    }
    const struct live_sums *sums = &progress->sums;
    progress->sample[progress->samples++] =
        (struct lab_sample){progress->seconds, {sums->bytes[0], sums->bytes[1]}, sums->calls};
}

void lab_progress_take(struct lab_progress *progress) {
    double before = progress->seconds;
    struct live *live = &progress->live;
    progress->seconds = (double)(clock_now_ns() - progress->begun_ns) / 1e9;
    if (!progress->is_open || live->is_behind) return;
    progress->sums = live->total.sums;
    progress->running = live->running;
    progress->ended = live->ended;
    progress->unseen = live->unseen;
    progress->is_over = live->running == 0 && live->ended > 0;
    struct step step = find_step(progress, before, progress->seconds);
    add_step(progress, &step);
    live_mark(live);
    add_sample(progress);
}

void lab_progress_close(struct lab_progress *progress) {
    if (progress->is_open) live_close(&progress->live);
    progress->is_open = progress->is_in_phase = false;
    progress->is_over = true;
}

void lab_progress_free(struct lab_progress *progress) {
    lab_progress_close(progress);
    for (size_t i = 0; i < progress->phases; i++) free(progress->phase[i].name);
    progress->phases = 0;
}

// --- JSON

static void phase_json(const struct lab_phase *phase, bool goes_on, struct json_out *json) {
    json_object_of(json, m_double("start", phase->from), m_double("seconds", phase->to - phase->from),
                   m_number("bytes_read", phase->bytes[0]), m_number("bytes_written", phase->bytes[1]),
                   m_text("file", phase->is_several ? NULL : phase->name), m_bool("ended", !goes_on));
}

void lab_progress_json(const struct lab_progress *progress, struct json_out *json) {
    const struct live_sums *sums = &progress->sums;
    json_members(json, m_double("seconds", progress->seconds), m_number("bytes_read", sums->bytes[0]),
                 m_number("bytes_written", sums->bytes[1]), m_number("calls", sums->calls),
                 m_number("metadata", sums->metadata), m_number("running", progress->running),
                 m_number("ended", progress->ended), m_number("unseen", progress->unseen),
                 m_number("phases_before", progress->phases_before));
    key_array(json, "samples");
    for (size_t i = 0; i < progress->samples; i++) {
        const struct lab_sample *sample = &progress->sample[i];
        json_array_of(json, m_double(NULL, sample->at), m_number(NULL, sample->bytes[0]),
                      m_number(NULL, sample->bytes[1]), m_number(NULL, sample->calls));
    }
    json_close(json);
    key_array(json, "phases");
    for (size_t i = 0; i < progress->phases; i++)
        phase_json(&progress->phase[i], progress->is_in_phase && i + 1 == progress->phases, json);
    json_close(json);
}
