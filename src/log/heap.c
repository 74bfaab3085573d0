#include "log/heap.h"

#include "base/array.h"
#include "base/err.h"

int log_heap_push(struct log_heap *heap, struct log_turn turn) {
    FORWARD(array_room(heap->turn, heap->count));
    size_t at = heap->count++;
    for (; at > 0 && log_turn_before(&turn, &heap->turn[(at - 1) / 2]); at = (at - 1) / 2)
        heap->turn[at] = heap->turn[(at - 1) / 2];
    heap->turn[at] = turn;
    return 0;
}

// Moves the hole down to the bottom along the earlier children, then moves the new entry up. The new event is mostly a
// late one, and the way down needs no branch.
void log_heap_replace(struct log_heap *heap, struct log_turn turn) {
    struct log_turn *all = heap->turn;
    size_t at = 0, down = 1;
    for (; down + 1 < heap->count; down = 2 * at + 1) {
        down += log_turn_before(&all[down + 1], &all[down]);
        all[at] = all[down];
        at = down;
    }
    if (down < heap->count) {
        all[at] = all[down];
        at = down;
    }
    for (; at > 0 && log_turn_before(&turn, &all[(at - 1) / 2]); at = (at - 1) / 2) all[at] = all[(at - 1) / 2];
    all[at] = turn;
}

void log_heap_pop(struct log_heap *heap) {
    heap->count--;
    if (heap->count) log_heap_replace(heap, heap->turn[heap->count]);
}
