// The ledger: which finding has which part of the time of which calls.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "findings/find.h"

int find_claims_init(struct findings *findings) {
    findings->of_file = calloc(findings->facts->files + 1, sizeof *findings->of_file);
    findings->of_process = calloc(findings->facts->processes + 1, sizeof *findings->of_process);
    return findings->of_file && findings->of_process ? 0 : -ENOMEM;
}

void find_claims_clear(struct findings *findings) {
    memset(findings->of_file, 0, (findings->facts->files + 1) * sizeof *findings->of_file);
    memset(findings->of_process, 0, (findings->facts->processes + 1) * sizeof *findings->of_process);
    free(findings->claim);
    findings->claim = NULL;
    findings->claims = 0;
}

void find_claims_give_back(struct findings *findings) {
    for (size_t i = 0; i < findings->claims; i++)
        findings->facts->grain[findings->claim[i].grain].left_ns += findings->claim[i].ns;
    find_claims_clear(findings);
}

void find_claims_free(struct findings *findings) {
    free(findings->claim);
    free(findings->of_file);
    free(findings->of_process);
}

int find_claim(struct findings *findings, const struct facts_grain *grain, double wanted_ns) {
    struct facts *facts = findings->facts;
    uint32_t at = (uint32_t)(grain - facts->grain);
    double ns = wanted_ns < grain->left_ns ? wanted_ns : grain->left_ns;
    if (ns <= 0) return 0;
    FORWARD(array_push(findings->claim, findings->claims, (struct finding_claim){at, ns}));
    facts->grain[at].left_ns -= ns;
    findings->of_file[find_use(findings, grain)->file] += ns;
    findings->of_process[find_use(findings, grain)->process] += ns;
    return 0;
}

int find_claim_spread(struct findings *findings, const bool *mark, double wanted_ns) {
    const struct facts *facts = findings->facts;
    double all_ns = 0;
    for (size_t i = 0; i < facts->grains; i++) all_ns += mark[i] ? facts->grain[i].left_ns : 0;
    for (size_t i = 0; all_ns > 0 && i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        if (mark[i]) FORWARD(find_claim(findings, grain, wanted_ns / all_ns * grain->left_ns));
    }
    return 0;
}

struct find_taken find_taken(const struct findings *findings) {
    const struct facts *facts = findings->facts;
    struct find_taken taken = {0};
    double file_ns = 0, process_ns = 0;
    for (size_t i = 0; i < findings->claims; i++) {
        facts_sum_join(&taken.sum, &facts->grain[findings->claim[i].grain].sum);
        taken.ns += findings->claim[i].ns;
    }
    for (size_t i = 0; i < facts->files; i++) {
        taken.files += findings->of_file[i] > 0;
        if (findings->of_file[i] <= file_ns) continue;
        file_ns = findings->of_file[i];
        taken.file = facts->file[i];
    }
    for (size_t i = 0; i < facts->processes; i++) {
        taken.processes += findings->of_process[i] > 0;
        if (findings->of_process[i] <= process_ns) continue;
        process_ns = findings->of_process[i];
        taken.process = &facts->process[i];
    }
    return taken;
}

struct facts_sum find_taken_of(const struct findings *findings, const struct facts_file *file) {
    struct facts_sum sum = {0};
    for (size_t i = 0; i < findings->claims; i++) {
        const struct facts_grain *grain = &findings->facts->grain[findings->claim[i].grain];
        if (find_file(findings, grain) == file) facts_sum_join(&sum, &grain->sum);
    }
    return sum;
}
