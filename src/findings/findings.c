#include "findings/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "findings/find.h"

static const struct {
    const char *id;
    find *find;
} table[] = {
    {"small-requests", find_small_requests},
    {"random", find_random},
    {"unaligned", find_unaligned},
    {"read-write-switching", find_switching},
    {"independent", find_independent},
    {"collective", find_collective},
    {"data-sieving", find_sieving},
    {"read-again", find_read_again},
    {"written-again", find_written_again},
    {"cache", find_cache},
    {"one-rank", find_one_rank},
    {"slow-rank", find_slow_rank},
    {"waiting", find_waiting},
    {"slow-file", find_slow_file},
    {"contention", find_contention},
    {"metadata", find_metadata},
    {"opens", find_opens},
    {"stats", find_stats},
    {"syncs", find_syncs},
};

// Less than this part of the run time is not worth anybody's while.
#define LEAST_SHARE 0.005

const char *finding_severity_name(enum finding_severity severity)
{
    static const char *const names[] = {"low", "medium", "high"};
    return names[severity];
}

// --- what the functions share

const char *find_text(struct findings *findings, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    va_end(arguments);
    return text_list_take(&findings->texts, text) < 0 ? NULL : text;
}

struct finding_evidence *find_evidence(struct finding *finding, const char *text)
{
    size_t at = finding->evidences < FINDING_EVIDENCE ? finding->evidences++ : FINDING_EVIDENCE - 1;
    finding->evidence[at] = (struct finding_evidence){.text = text};
    return &finding->evidence[at];
}

uint32_t find_phase(const struct findings *findings, unsigned direction)
{
    const struct finding_phase *best = NULL;
    for (size_t i = 0; i < findings->phases; i++) {
        const struct finding_phase *phase = &findings->phase[i];
        if (phase->moves[direction] && (!best || phase->ns > best->ns)) best = phase;
    }
    return best ? best->id : 0;
}

const char *find_line(const struct findings *findings, unsigned class)
{
    const struct facts_line *best = NULL;
    for (size_t i = 0; i < FACTS_LINES; i++) {
        const struct facts_line *line = &findings->facts->line[i];
        if (line->line && line->class == class && (!best || line->sum.ns > best->sum.ns)) best = line;
    }
    return best ? best->line : NULL;
}

struct find_most find_most_of(const struct facts *facts, find_of_process *of, unsigned direction)
{
    struct find_most most = {.ns = -1};
    for (size_t i = 0; i < facts->processes; i++) {
        const struct facts_sum *sum = of(&facts->process[i], direction);
        if (!sum->calls) continue;
        facts_sum_join(&most.all, sum);
        if (sum->ns <= most.ns) continue;
        most.ns = sum->ns;
        most.process = &facts->process[i];
    }
    return most;
}

const struct facts_file *find_file_of(const struct facts *facts, find_of_file *of, unsigned direction)
{
    const struct facts_file *best = NULL;
    int64_t most_ns = 0;
    for (size_t i = 0; i < facts->files; i++) {
        const struct facts_file *file = facts->file[i];
        if (!file || of(file, direction)->ns <= most_ns) continue;
        most_ns = of(file, direction)->ns;
        best = file;
    }
    return best;
}

// --- phases

static int add_phase(struct findings *findings, const struct model *model, uint32_t place)
{
    const struct model_phase *phase = &model->phase[place];
    struct finding_phase *own = &findings->phase[findings->phases++];
    *own = (struct finding_phase){.id = place + 1, .ns = phase->duration_ns};
    struct op_summary *row;
    size_t rows;
    FORWARD(model_summarise_ops(model, &model->family[phase->family], &row, &rows));
    for (size_t i = 0; i < rows; i++) own->moves[row[i].class == CLASS_WRITE] = true;
    free(row);
    return 0;
}

// Evidence is about phases that take long: the longest ones are enough.
static int take_phases(struct findings *findings, const struct model *model)
{
    enum { MOST = 32 };
    uint32_t longest[MOST];
    size_t count = 0;
    for (uint32_t i = 0; i < model->phases; i++) {
        size_t at = count < MOST ? count : MOST - 1;
        if (count == MOST && model->phase[longest[at]].duration_ns >= model->phase[i].duration_ns) continue;
        for (; at > 0 && model->phase[longest[at - 1]].duration_ns < model->phase[i].duration_ns; at--)
            longest[at] = longest[at - 1];
        longest[at] = i;
        if (count < MOST) count++;
    }
    findings->phase = calloc(count + 1, sizeof *findings->phase);
    RETURN_IF(!findings->phase, -ENOMEM);
    for (size_t i = 0; i < count; i++) FORWARD(add_phase(findings, model, longest[i]));
    return 0;
}

// --- all together

static int compare(const void *a, const void *b)
{
    const struct finding *left = a, *right = b;
    return left->ns > right->ns ? -1 : left->ns < right->ns;
}

static int try_row(struct findings *findings, size_t row, const char *log_path)
{
    FORWARD(array_room(findings->finding, findings->count));
    struct finding *finding = &findings->finding[findings->count];
    *finding = (struct finding){.id = table[row].id};
    int found = table[row].find(findings, finding);
    if (found <= 0) return found;
    int64_t run_ns = findings->facts->run_ns > 0 ? findings->facts->run_ns : 1;
    if (finding->ns > run_ns) finding->ns = run_ns;
    finding->share = (double)finding->ns / (double)run_ns;
    if (finding->share < LEAST_SHARE) return 0;
    finding->severity = finding->share >= 0.1 ? FINDING_HIGH : finding->share >= 0.01 ? FINDING_MEDIUM : FINDING_LOW;
    finding->command = find_command(findings, finding, log_path);
    RETURN_IF(!finding->title || !finding->basis || !finding->reason || !finding->advice || !finding->command, -ENOMEM);
    for (size_t i = 0; i < finding->evidences; i++) RETURN_IF(!finding->evidence[i].text, -ENOMEM);
    findings->count++;
    return 0;
}

int findings_make(struct findings *findings, const struct facts *facts, const struct model *model, const char *log_path)
{
    *findings = (struct findings){.facts = facts};
    if (model) FORWARD(take_phases(findings, model));
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) FORWARD(try_row(findings, i, log_path));
    if (findings->count > 1) qsort(findings->finding, findings->count, sizeof *findings->finding, compare);
    return 0;
}

void findings_free(struct findings *findings)
{
    free(findings->finding);
    free(findings->phase);
    text_list_free(&findings->texts);
}
