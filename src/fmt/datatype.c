#include "fmt/datatype.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/varint.h"

const char *datatype_combiner_name(unsigned combiner) {
    static const char *const names[DATATYPE_COMBINERS] = {
        [DATATYPE_OTHER] = "other",
        [DATATYPE_NAMED] = "named",
        [DATATYPE_DUP] = "dup",
        [DATATYPE_CONTIGUOUS] = "contiguous",
        [DATATYPE_VECTOR] = "vector",
        [DATATYPE_HVECTOR] = "hvector",
        [DATATYPE_INDEXED] = "indexed",
        [DATATYPE_HINDEXED] = "hindexed",
        [DATATYPE_INDEXED_BLOCK] = "indexed_block",
        [DATATYPE_HINDEXED_BLOCK] = "hindexed_block",
        [DATATYPE_STRUCT] = "struct",
        [DATATYPE_SUBARRAY] = "subarray",
        [DATATYPE_DARRAY] = "darray",
        [DATATYPE_RESIZED] = "resized",
        [DATATYPE_F90] = "f90",
    };
    return names[combiner < DATATYPE_COMBINERS ? combiner : DATATYPE_OTHER];
}

// --- sums

// The bytes and the range of some items. The functions return false if a sum exceeds 63 bits.
struct reach {
    uint64_t bytes;
    int64_t low;
    int64_t high;
    uint32_t depth;
};

static bool widen(struct reach *reach, uint64_t bytes, int64_t low, int64_t high) {
    if (reach->bytes == 0 || low < reach->low) reach->low = low;
    if (reach->bytes == 0 || high > reach->high) reach->high = high;
    return !__builtin_add_overflow(reach->bytes, bytes, &reach->bytes) && reach->bytes <= INT64_MAX;
}

static bool add_piece(struct reach *reach, int64_t offset, uint64_t length) {
    int64_t end;
    if (length > INT64_MAX || __builtin_add_overflow(offset, (int64_t)length, &end)) return false;
    return widen(reach, length, offset, end);
}

static bool add_loop(struct reach *reach, const struct datatype_item *loop, const struct reach *body) {
    uint64_t bytes;
    int64_t far, low, high;
    if (loop->count > INT64_MAX || __builtin_mul_overflow(loop->count, body->bytes, &bytes)) return false;
    // The start of the next round must fit, too: the form contains it.
    if (__builtin_mul_overflow((int64_t)loop->count, loop->stride, &far)) return false;
    if (__builtin_add_overflow(far, loop->offset, &far)) return false;
    far -= loop->stride; // the origin of the last round fits, because it lies between two that fit
    if (__builtin_add_overflow(loop->offset < far ? loop->offset : far, body->low, &low)) return false;
    if (__builtin_add_overflow(loop->offset > far ? loop->offset : far, body->high, &high)) return false;
    return widen(reach, bytes, low, high);
}

// Sets bytes and depth of each loop on the way.
static bool measure(struct datatype_item *item, uint32_t items, struct reach *reach) {
    *reach = (struct reach){0};
    for (uint32_t i = 0; i < items; i += item[i].span) {
        struct datatype_item *own = &item[i];
        struct reach body = {0};
        if (datatype_is_loop(own)) {
            if (!measure(own + 1, own->span - 1, &body)) return false;
            own->bytes = body.bytes;
            own->depth = body.depth + 1;
            if (!add_loop(reach, own, &body)) return false;
        } else {
            own->depth = 0;
            if (!add_piece(reach, own->offset, own->bytes)) return false;
        }
        if (own->depth > reach->depth) reach->depth = own->depth;
    }
    return true;
}

void datatype_seal(struct datatype *type) {
    struct reach reach;
    if (!measure(type->item, type->items, &reach)) {
        type->cut = true;
        type->items = 0;
        reach = (struct reach){0};
    }
    type->bytes = reach.bytes;
    type->low = reach.low;
    type->high = reach.high;
}

bool datatype_is_contiguous(const struct datatype *type, int64_t extent) {
    const struct datatype_item *item = type->item;
    if (type->cut || type->items > 1) return false;
    return type->items == 0 || (item->offset == 0 && extent >= 0 && item->bytes == (uint64_t)extent);
}

// --- building a type

void datatype_free(struct datatype *type) {
    free(type->item);
    *type = (struct datatype){0};
}

static uint64_t fold(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 32;
}

// Makes room for more items; cuts the type at its limits.
static int reserve(struct datatype *type, uint32_t more) {
    type->work += more;
    if (type->items + more > DATATYPE_MAX_ITEMS || type->work > DATATYPE_MAX_WORK) {
        type->cut = true;
        return 0;
    }
    if (type->items + more <= type->capacity) return 0;
    uint32_t capacity = type->capacity ? type->capacity : 8;
    while (capacity < type->items + more) capacity *= 2;
    struct datatype_item *item = realloc(type->item, capacity * sizeof *item);
    RETURN_IF(!item, -ENOMEM);
    type->item = item;
    type->capacity = capacity;
    return 0;
}

// Whether two loops have the same body; their offsets do not matter. A piece has no body.
static bool have_same_inside(const struct datatype_item *one, const struct datatype_item *other) {
    if (one->span != other->span) return false;
    for (uint32_t i = 1; i < one->span; i++) {
        if (one[i].offset != other[i].offset || one[i].count != other[i].count || one[i].stride != other[i].stride ||
            one[i].bytes != other[i].bytes || one[i].span != other[i].span) {
            return false;
        }
    }
    return true;
}

bool datatype_are_alike(const struct datatype_item *one, const struct datatype_item *other) {
    return one->bytes == other->bytes && one->count == other->count && one->stride == other->stride &&
           have_same_inside(one, other);
}

// The number of rounds that an item adds to the loop before it; 0 if it does not continue the loop.
static uint64_t rounds_of(const struct datatype_item *loop, const struct datatype_item *item) {
    int64_t next;
    if (!datatype_is_loop(loop) || __builtin_mul_overflow((int64_t)loop->count, loop->stride, &next)) return 0;
    if (__builtin_add_overflow(next, loop->offset, &next) || next != item->offset) return 0;
    if (loop[1].span == loop->span - 1 && datatype_are_alike(&loop[1], item)) return 1;
    return item->stride == loop->stride && have_same_inside(loop, item) ? item->count : 0;
}

static void drop_last(struct datatype *type) {
    type->items = type->last;
    type->last -= type->item[type->last].back;
}

// Three equal items at equal distances become a loop.
static void make_loop(struct datatype *type) {
    struct datatype_item *last = &type->item[type->last];
    if (!last->back) return;
    struct datatype_item *second = last - last->back;
    if (!second->back) return;
    struct datatype_item *first = second - second->back;
    int64_t stride, other;
    if (__builtin_sub_overflow(last->offset, second->offset, &stride)) return;
    if (__builtin_sub_overflow(second->offset, first->offset, &other) || other != stride) return;
    if (last->depth == DATATYPE_MAX_DEPTH || !datatype_are_alike(last, second) || !datatype_are_alike(second, first))
        return;
    uint32_t span = last->span;
    struct datatype_item loop = {.offset = first->offset,
                                 .count = 3,
                                 .stride = stride,
                                 .bytes = last->bytes * last->count,
                                 .span = span + 1,
                                 .back = first->back,
                                 .depth = last->depth + 1};
    memmove(first + 1, first, span * sizeof *first);
    first[0] = loop;
    first[1].offset = 0;
    first[1].back = 0;
    type->last = (uint32_t)(first - type->item);
    type->items = type->last + loop.span;
}

// Joins the last item with the one before it, if possible.
static void join(struct datatype *type) {
    struct datatype_item *last = &type->item[type->last];
    if (!last->back) return;
    struct datatype_item *before = last - last->back;
    uint64_t rounds = rounds_of(before, last);
    bool are_pieces = !datatype_is_loop(last) && !datatype_is_loop(before);
    int64_t end;
    if (are_pieces && !__builtin_add_overflow(before->offset, (int64_t)before->bytes, &end) && end == last->offset) {
        before->bytes += last->bytes;
        drop_last(type);
    } else if (rounds) {
        before->count += rounds;
        drop_last(type);
    }
    make_loop(type);
}

// Appends an item and what is inside it.
static int push(struct datatype *type, const struct datatype_item *head, const struct datatype_item *inside) {
    if (type->cut) return 0;
    FORWARD(reserve(type, head->span));
    if (type->cut) return 0;
    struct datatype_item *own = &type->item[type->items];
    *own = *head;
    own->back = type->items - type->last;
    if (datatype_is_loop(head)) memcpy(own + 1, inside, (head->span - 1) * sizeof *own);
    type->last = type->items;
    type->items += head->span;
    join(type);
    return 0;
}

int datatype_add_piece(struct datatype *type, int64_t offset, uint64_t length) {
    type->hash = fold(fold(type->hash, (uint64_t)offset), length);
    struct datatype_item piece = {.offset = offset, .count = 1, .bytes = length, .span = 1};
    return length ? push(type, &piece, NULL) : 0;
}

static int push_at(struct datatype *type, const struct datatype_item *item, int64_t offset) {
    struct datatype_item head = *item;
    if (__builtin_add_overflow(offset, item->offset, &head.offset)) {
        type->cut = true;
        return 0;
    }
    return push(type, &head, item + 1);
}

// Adds one instance; if it is cut, the type is cut, too.
static int add_once(struct datatype *type, const struct datatype *body, int64_t offset) {
    for (uint32_t i = 0; i < body->items; i += body->item[i].span) FORWARD(push_at(type, &body->item[i], offset));
    if (body->cut) type->cut = true;
    return 0;
}

// If repeating the only item of the body gives a single item again, replaces it by that. Returns whether it did.
static bool repeats_plainly(const struct datatype *body, uint64_t count, int64_t stride, struct datatype_item *item) {
    int64_t round;
    if (body->items != item->span) return false;
    if (!datatype_is_loop(item)) {
        return stride >= 0 && (uint64_t)stride == item->bytes &&
               !__builtin_mul_overflow(item->bytes, count, &item->bytes);
    }
    return !__builtin_mul_overflow((int64_t)item->count, item->stride, &round) && round == stride &&
           !__builtin_mul_overflow(item->count, count, &item->count);
}

// The offset of the body's first item moves to the loop, so that equal bodies compare equal.
static int push_loop(struct datatype *type, const struct datatype *body, uint64_t count, int64_t stride,
                     int64_t offset) {
    int64_t first = body->item[0].offset;
    struct datatype_item head = {.count = count, .stride = stride, .bytes = body->bytes, .span = body->items + 1};
    struct datatype_item *inside = malloc(body->items * sizeof *inside);
    RETURN_IF(!inside, -ENOMEM);
    memcpy(inside, body->item, body->items * sizeof *inside);
    bool fits = !__builtin_add_overflow(offset, first, &head.offset);
    for (uint32_t i = 0; i < body->items; i += inside[i].span) {
        fits &= !__builtin_sub_overflow(inside[i].offset, first, &inside[i].offset);
        if (head.depth <= inside[i].depth) head.depth = inside[i].depth + 1;
    }
    int code = 0;
    if (!fits) {
        type->cut = true;
    } else if (head.depth > DATATYPE_MAX_DEPTH) {
        code = add_once(type, body, offset);
        type->cut = true;
    } else {
        code = push(type, &head, inside);
    }
    free(inside);
    return code;
}

int datatype_add(struct datatype *type, const struct datatype *body, uint64_t count, int64_t stride, int64_t offset) {
    type->hash = fold(fold(fold(fold(type->hash, body->hash), count), (uint64_t)stride), (uint64_t)offset);
    if (type->cut || count == 0) return 0;
    if (count == 1 || body->cut || body->items == 0) return add_once(type, body, offset);
    struct datatype_item head = body->item[0];
    if (!repeats_plainly(body, count, stride, &head)) return push_loop(type, body, count, stride, offset);
    if (__builtin_add_overflow(offset, head.offset, &head.offset)) {
        type->cut = true;
        return 0;
    }
    return push(type, &head, body->item + 1);
}

// --- bytes

struct output {
    uint8_t *at;
    uint8_t *end;
};

static bool put_number(struct output *out, uint64_t value) {
    if (out->end - out->at < VARINT_MAX_BYTES) return false;
    out->at = varint_put(out->at, value);
    return true;
}

// Intermediate sums may wrap; the end of a loop fits 64 bits.
static uint64_t end_of(const struct datatype_item *item) {
    uint64_t len = datatype_is_loop(item) ? item->count * (uint64_t)item->stride : item->bytes;
    return (uint64_t)item->offset + len;
}

static bool put_items(struct output *out, const struct datatype_item *item, uint32_t items);

static bool put_item(struct output *out, const struct datatype_item *item, uint64_t place) {
    uint64_t gap = varint_fold((int64_t)((uint64_t)item->offset - place));
    if (!datatype_is_loop(item)) return put_number(out, item->bytes << 1) && put_number(out, gap);
    return put_number(out, item->count << 1 | 1) && put_number(out, gap) &&
           put_number(out, varint_fold(item->stride)) && put_number(out, item->span - 1) &&
           put_items(out, item + 1, item->span - 1);
}

static bool put_items(struct output *out, const struct datatype_item *item, uint32_t items) {
    uint64_t place = 0;
    for (uint32_t i = 0; i < items; i += item[i].span) {
        if (!put_item(out, &item[i], place)) return false;
        place = end_of(&item[i]);
    }
    return true;
}

size_t datatype_put(const struct datatype *type, uint8_t *out, size_t room, bool *whole) {
    struct output output = {out, out + room};
    uint64_t place = 0;
    *whole = !type->cut;
    for (uint32_t i = 0; i < type->items; i += type->item[i].span) {
        uint8_t *from = output.at;
        if (!put_item(&output, &type->item[i], place)) {
            *whole = false;
            return (size_t)(from - out);
        }
        place = end_of(&type->item[i]);
    }
    return (size_t)(output.at - out);
}

struct input {
    const uint8_t *at; // NULL after a truncated number
    const uint8_t *end;
};

static uint64_t get_number(struct input *in) {
    uint64_t value = 0;
    if (in->at) in->at = varint_get(in->at, in->end, &value);
    return value;
}

static int get_items(struct datatype *type, struct input *in, uint32_t items, uint32_t depth);

static int get_item(struct datatype *type, struct input *in, uint64_t place, uint32_t depth) {
    RETURN_IF(type->items == type->capacity, ERR_LIMIT);
    struct datatype_item *item = &type->item[type->items++];
    uint64_t head = get_number(in);
    bool is_loop = head & 1;
    item->offset = (int64_t)(place + (uint64_t)varint_unfold(get_number(in)));
    item->count = is_loop ? head >> 1 : 1;
    item->bytes = is_loop ? 0 : head >> 1;
    item->stride = is_loop ? varint_unfold(get_number(in)) : 0;
    uint64_t inside = is_loop ? get_number(in) : 0;
    RETURN_IF(!in->at || inside > UINT32_MAX - 1 || (is_loop ? !inside || item->count < 2 : !item->bytes), ERR_FORMAT);
    item->span = 1 + (uint32_t)inside;
    if (!is_loop) return 0;
    RETURN_IF(depth == DATATYPE_MAX_DEPTH, ERR_LIMIT);
    FORWARD(get_items(type, in, (uint32_t)inside, depth + 1));
    bool is_one_piece = item->span == 2 && item[1].bytes == (uint64_t)item->stride;
    return is_one_piece ? ERR_FORMAT : 0;
}

// Reads `items` items; UINT32_MAX: all.
static int get_items(struct datatype *type, struct input *in, uint32_t items, uint32_t depth) {
    uint32_t first = type->items;
    uint64_t place = 0;
    bool after_piece = false;
    while (items == UINT32_MAX ? in->at < in->end : type->items - first < items) {
        uint32_t own = type->items;
        FORWARD(get_item(type, in, place, depth));
        const struct datatype_item *item = &type->item[own];
        bool is_piece = !datatype_is_loop(item);
        RETURN_IF(after_piece && is_piece && (uint64_t)item->offset == place, ERR_FORMAT);
        place = end_of(item);
        after_piece = is_piece;
    }
    RETURN_IF(items != UINT32_MAX && type->items - first != items, ERR_FORMAT);
    return 0;
}

// An item has at least two bytes, so the number of items is bounded before the first is read.
int datatype_get(struct datatype *type, const uint8_t *form, size_t len) {
    struct input in = {form, len ? form + len : form};
    uint32_t most = len / 2 < DATATYPE_MAX_ITEMS ? (uint32_t)(len / 2) : DATATYPE_MAX_ITEMS;
    struct reach reach;
    if (most > type->capacity) {
        struct datatype_item *item = realloc(type->item, most * sizeof *item);
        RETURN_IF(!item, -ENOMEM);
        type->item = item;
        type->capacity = most;
    }
    *type = (struct datatype){.item = type->item, .capacity = type->capacity};
    FORWARD(get_items(type, &in, UINT32_MAX, 0));
    RETURN_IF(!measure(type->item, type->items, &reach), ERR_FORMAT);
    type->bytes = reach.bytes;
    type->low = reach.low;
    type->high = reach.high;
    return 0;
}
