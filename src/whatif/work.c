#include "whatif/work.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"

int work_of(const struct model *model, uint32_t program, const struct accesses *families, const struct variant *variant,
            const struct library *library, struct work *work) {
    *work = (struct work){.family = calloc(model->families + 1, sizeof *work->family),
                          .times = calloc(model->families + 1, sizeof *work->times),
                          .families = model->families};
    RETURN_IF(!work->family || !work->times, -ENOMEM);
    for (size_t i = 0; i < model->families; i++) {
        if (model->family[i].program != program) continue;
        work->times[i] = model->family[i].count / families[i].share;
        FORWARD(counts_of(&families[i], variant, library, &work->family[i]));
    }
    return 0;
}

void work_free(struct work *work) {
    for (size_t i = 0; work->family && i < work->families; i++) counts_free(&work->family[i]);
    free(work->family);
    free(work->times);
    *work = (struct work){0};
}

static void add(struct extended *sum, const struct extended *one, double times) {
    sum->seconds.middle += times * one->seconds.middle;
    sum->seconds.low += times * one->seconds.low;
    sum->seconds.high += times * one->seconds.high;
    sum->agreeing += times * one->agreeing;
    sum->shuffling += times * one->shuffling;
    sum->calling += times * one->calling;
    sum->storage += times * one->storage;
    sum->waiting += times * one->waiting;
    sum->extrapolated |= one->extrapolated;
}

int work_estimate(const struct work *work, const struct prices *prices, struct extended *sum) {
    *sum = (struct extended){0};
    for (size_t i = 0; i < work->families; i++) {
        struct extended one;
        FORWARD(extended_estimate(&work->family[i], prices, &one));
        add(sum, &one, work->times[i]);
    }
    return 0;
}
