#include "model/compare/blocks.h"

#include <string.h>

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool same_notes(const struct diff_row *x, const struct diff_row *y)
{
    if (x->notes != y->notes) return false;
    for (size_t i = 0; i < x->notes; i++) {
        const struct diff_note *p = &x->note[i], *q = &y->note[i];
        if (strcmp(p->what, q->what) || !same_text(p->op, q->op) || p->unit != q->unit || p->a != q->a ||
            p->b != q->b || !same_text(p->a_text, q->a_text) || !same_text(p->b_text, q->b_text)) {
            return false;
        }
    }
    return true;
}

static bool follows(const struct model *model, uint32_t phase, uint32_t next)
{
    if (phase == DIFF_NONE || next == DIFF_NONE) return phase == next;
    return next == phase + 1 && model->phase[phase].family == model->phase[next].family;
}

size_t diff_block_end(const struct diff *diff, size_t first)
{
    size_t end = first + 1;
    for (; end < diff->rows; end++) {
        const struct diff_row *row = &diff->row[end - 1], *next = &diff->row[end];
        if (!follows(diff->a, row->a, next->a) || !follows(diff->b, row->b, next->b) || row->change != next->change ||
            !same_notes(row, next)) {
            break;
        }
    }
    return end;
}
