#include "whatif/options.h"

#include "base/array.h"
#include "base/err.h"

struct listing {
    const struct model *model;
    uint32_t program;
    struct options_of_program *options;
};

static int add(struct listing *l, struct variant variant) {
    const char *why = NULL;
    FORWARD(variant_check(&variant, l->model, l->program, &why));
    return why ? 0 : array_push(l->options->item, l->options->count, variant);
}

// 1, 2, the nodes, the processes.
static int add_aggregators(struct listing *l, const struct library *library) {
    uint32_t number[] = {1, 2, library->nodes, library->np};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        bool is_known = number[i] > library->np;
        for (size_t k = 0; k < i; k++) is_known |= number[k] == number[i];
        if (is_known) continue;
        FORWARD(add(l, (struct variant){.interface = VARIANT_COLLECTIVE, .cb_nodes = number[i]}));
    }
    return 0;
}

int options_list(const struct model *model, uint32_t program, const struct library *library,
                 struct options_of_program *options) {
    static const uint64_t mib = 1 << 20;
    static const uint64_t buffers[] = {1, 4, 16, 64}, requests[] = {1, 4, 16};
    struct listing l = {model, program, options};
    *options = (struct options_of_program){0};
    FORWARD(array_push(options->item, options->count, (struct variant){0}));
    FORWARD(add(&l, (struct variant){.interface = VARIANT_COLLECTIVE}));
    FORWARD(add(&l, (struct variant){.interface = VARIANT_INDEPENDENT}));
    FORWARD(add(&l, (struct variant){.interface = VARIANT_POSIX}));
    FORWARD(add_aggregators(&l, library));
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        FORWARD(add(&l, (struct variant){.interface = VARIANT_COLLECTIVE, .cb_buffer = buffers[i] * mib}));
    FORWARD(add(&l, (struct variant){.interface = VARIANT_INDEPENDENT, .sieving = SIEVING_OFF}));
    FORWARD(add(&l, (struct variant){.interface = VARIANT_INDEPENDENT, .sieving = SIEVING_ON}));
    FORWARD(add(&l, (struct variant){.own_files = true}));
    FORWARD(add(&l, (struct variant){.request_factor = 0.5}));
    FORWARD(add(&l, (struct variant){.request_factor = 2}));
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        FORWARD(add(&l, (struct variant){.request = requests[i] * mib}));
    FORWARD(add(&l, (struct variant){.alignment = mib}));
    return add(&l, (struct variant){.nonblocking = true});
}

struct variant options_both(const struct variant *one, const struct variant *more) {
    struct variant both = *one;
    if (more->interface != VARIANT_SAME) both.interface = more->interface;
    if (more->sieving != SIEVING_SAME) both.sieving = more->sieving;
    if (more->cb_nodes) both.cb_nodes = more->cb_nodes;
    if (more->cb_buffer) both.cb_buffer = more->cb_buffer;
    if (more->request || more->request_factor > 0) {
        both.request = more->request;
        both.request_factor = more->request_factor;
    }
    if (more->alignment) both.alignment = more->alignment;
    both.own_files |= more->own_files;
    both.nonblocking |= more->nonblocking;
    if (more->np) both.np = more->np;
    return both;
}
