#include "log/heap.h"

#include "base/array.h"
#include "base/err.h"

int log_heap_push(struct log_heap *heap, struct log_turn turn)
{
    FORWARD(array_room(heap->turn, heap->count));
    size_t at = heap->count++;
    for (; at > 0 && log_turn_before(&turn, &heap->turn[(at - 1) / 2]); at = (at - 1) / 2)
        heap->turn[at] = heap->turn[(at - 1) / 2];
    heap->turn[at] = turn;
    return 0;
}

void log_heap_replace(struct log_heap *heap, struct log_turn turn)
{
    size_t at = 0;
    for (size_t down = 1; down < heap->count; at = down, down = 2 * at + 1) {
        if (down + 1 < heap->count && log_turn_before(&heap->turn[down + 1], &heap->turn[down])) down++;
        if (!log_turn_before(&heap->turn[down], &turn)) break;
        heap->turn[at] = heap->turn[down];
    }
    heap->turn[at] = turn;
}

void log_heap_pop(struct log_heap *heap)
{
    heap->count--;
    if (heap->count) log_heap_replace(heap, heap->turn[heap->count]);
}
