#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scoped.h"
#include "model/loops_folding.h"

enum {
    EVIDENCE_LEAST = 3, // less than this may be chance
    EVIDENCE_MUCH = 8,  // this is enough, even if as much does not follow
    LIST_OF_KIND = 8,   // operations of one kind that are a list
    LIST_OF_KINDS = 16, // items of often changing kinds that are a list
};

// --- how much of an item follows from the rest of it

struct content {
    uint64_t leaves;
    uint64_t given;    // operations and steps that do not follow from others
    uint64_t evidence; // operations that follow from these, and changes of kind, file and size that come again
    uint64_t kinds;    // op_bit of each
    uint64_t changes;
    const struct op *last;
    bool is_of_kind; // just one
    uint32_t kind;
};

static void add_leaf(struct content *content, const struct op *op) {
    const struct op *last = content->last;
    content->kinds |= op_bit(op->kind);
    if (!last) content->kind = op->kind;
    content->is_of_kind = content->kind == op->kind && (content->is_of_kind || !last);
    content->changes += last && (last->kind != op->kind || last->at[AT_SIZE] != op->at[AT_SIZE] ||
                                 last->at[AT_MEMBER] != op->at[AT_MEMBER]);
    content->last = op;
    content->leaves++;
}

static const struct loops *first_leaf(const struct loops *item) {
    while (item->type == LOOPS_LOOP) item = item->body;
    return item;
}

// True if a loop of this level moves everything by one step.
static bool is_alike(const struct loops *item, unsigned level, const struct loops_step *step) {
    if (item->type == LOOPS_OP) {
        return item->steps > level && !memcmp(&item->step[item->steps - 1 - level], step, sizeof *step);
    }
    for (uint32_t i = 0; i < item->length; i++) {
        if (!is_alike(&item->body[i], level, step)) return false;
    }
    return true;
}

static void add_content(struct content *content, const struct loops *item, unsigned level) {
    if (item->type == LOOPS_LIST) {
        for (uint64_t i = 0; i < item->count; i++) add_leaf(content, &item->list[i]);
        content->given += item->count;
    } else if (item->type == LOOPS_OP) {
        add_leaf(content, &item->op);
        content->given++;
    } else {
        uint64_t leaves = content->leaves, changes = content->changes;
        for (uint32_t i = 0; i < item->length; i++) add_content(content, &item->body[i], level + 1);
        const struct loops *leaf = first_leaf(item);
        bool alike = leaf->steps > level && is_alike(item, level, &leaf->step[leaf->steps - 1 - level]);
        content->given += alike ? 1 : content->leaves - leaves;
        content->evidence += (item->count - 1) * (content->changes - changes);
    }
}

static struct content content_of(const struct loops *item) {
    struct content content = {0};
    add_content(&content, item, 0);
    content.evidence += item->ops - content.given;
    return content;
}

static bool is_loose(const struct content *content) {
    return content->evidence < EVIDENCE_LEAST ||
           (content->evidence < EVIDENCE_MUCH && content->evidence <= content->given);
}

bool loops_is_loose(const struct loops *item) {
    struct content content = content_of(item);
    return is_loose(&content);
}

// --- lists

struct listing {
    struct op *ops;
    size_t count;
};

static int append_op(const struct op *op, size_t leaf, void *context) {
    struct listing *listing = context;
    (void)leaf;
    listing->ops[listing->count++] = *op;
    return 0;
}

static void set_list(struct loops *list, struct op *ops, size_t count) {
    *list = (struct loops){.type = LOOPS_LIST, .count = count, .ops = count, .list = ops};
    list->shape = hash_add(hash_add(LOOPS_LIST + 1, count), content_of(list).kinds);
}

static int make_list(struct folding *f, const struct loops *items, size_t count, uint64_t ops, struct loops *list) {
    struct listing listing = {.ops = arena_alloc(f->arena, ops * sizeof(struct op))};
    RETURN_IF(!listing.ops, -ENOMEM);
    struct loops_seq seq = {(struct loops *)items, count};
    loops_walk(&seq, append_op, &listing);
    set_list(list, listing.ops, listing.count);
    return 0;
}

int loops_list_all(struct folding *f, const struct op *ops, size_t count) {
    struct op *copy = arena_copy(f->arena, ops, count * sizeof *ops);
    RETURN_IF(!copy, -ENOMEM);
    set_list(&f->item[0], copy, count);
    f->count = 1;
    return 0;
}

// --- which items become lists

// Items that will be one list, or a single item.
struct group {
    size_t first;
    uint64_t ops;
    uint64_t given; // as in struct content
    uint64_t evidence;
    uint64_t kinds;
    bool is_list;
    bool is_loose;
    bool is_of_kind;
    uint32_t kind;
};

static struct group group_of(const struct loops *item, size_t at) {
    struct content content = content_of(item);
    return (struct group){.first = at,
                          .ops = item->ops,
                          .given = content.given,
                          .evidence = content.evidence,
                          .kinds = content.kinds,
                          .is_loose = is_loose(&content),
                          .is_of_kind = content.is_of_kind,
                          .kind = content.kind};
}

static void join(struct group *group, const struct group *next) {
    group->ops += next->ops;
    group->given += next->given;
    group->evidence += next->evidence;
    group->kinds |= next->kinds;
    group->is_of_kind = group->is_of_kind && next->is_of_kind && group->kind == next->kind;
    group->is_list = true;
}

static bool same_kind(const struct group *a, const struct group *b) {
    return a->is_of_kind && b->is_of_kind && a->kind == b->kind;
}

static size_t same_kinds_from(const struct group *group, size_t count) {
    size_t n = 1;
    while (n < count && same_kind(&group[0], &group[n])) n++;
    return n;
}

// True if kinds change so often that runs of one kind mean nothing.
static bool is_mixed(const struct group *group, size_t count) {
    size_t changes = 0;
    for (size_t i = 0; i < count; i += same_kinds_from(group + i, count - i)) changes++;
    return count >= LIST_OF_KINDS && changes * LIST_OF_KIND > count;
}

// Makes one group of the first ones if they are enough for a list. Returns how many groups are left of them.
static size_t make_row(struct group *to, const struct group *from, size_t count, bool mixed) {
    struct group row = *from;
    for (size_t i = 1; i < count; i++) join(&row, &from[i]);
    if (mixed || (row.is_of_kind && row.ops >= LIST_OF_KIND && row.evidence < row.given)) {
        row.is_list = true;
        *to = row;
        return 1;
    }
    memmove(to, from, count * sizeof *to);
    return count;
}

// Long rows of loose items become lists. Returns the number of groups left.
static size_t list_rows(struct group *group, size_t count) {
    size_t to = 0;
    for (size_t from = 0, end; from < count; from = end) {
        for (end = from; end < count && group[end].is_loose;) end++;
        if (end == from) {
            group[to++] = group[end++];
            continue;
        }
        bool mixed = is_mixed(&group[from], end - from);
        for (size_t n; from < end; from += n) {
            n = mixed ? end - from : same_kinds_from(&group[from], end - from);
            to += make_row(&group[to], &group[from], n, mixed);
        }
    }
    return to;
}

static unsigned bits_of(uint64_t number) { return number ? 64u - (unsigned)__builtin_clzll(number) : 0; }

// Chance makes short loops, of the same kinds as the list.
static bool takes_in(const struct group *list, const struct group *other) {
    if (!list->is_list || other->kinds & ~list->kinds) return false;
    return other->is_list ? other->kinds == list->kinds || other->ops * LIST_OF_KIND <= list->ops
                          : other->evidence <= 2 + bits_of(list->ops);
}

static size_t absorb(struct group *group, size_t count) {
    size_t groups = 0;
    for (size_t i = 0; i < count; i++) {
        group[groups++] = group[i];
        for (; groups > 1; groups--) {
            struct group *top = &group[groups - 1], *below = top - 1;
            if (!takes_in(top, below) && !takes_in(below, top)) break;
            join(below, top);
        }
    }
    return groups;
}

// Two similar operations without a third are a loop.
static bool is_pair(const struct folding *f, const struct group *group, size_t count, size_t at) {
    const struct loops *items = f->item;
    for (size_t i = 0; i < 2; i++) {
        if (at + i >= count || group[at + i].is_list || items[group[at + i].first].type != LOOPS_OP) return false;
    }
    const struct loops *a = &items[group[at].first], *b = &items[group[at + 1].first];
    if (a->shape != b->shape || a->op.at[AT_SIZE] != b->op.at[AT_SIZE]) return false;
    bool after = at + 2 < count && group[at + 2].ops == 1 && same_kind(&group[at + 2], &group[at]);
    bool before = at > 0 && group[at - 1].ops == 1 && same_kind(&group[at - 1], &group[at]);
    return !after && !before;
}

static int make_groups(struct folding *f, const struct group *group, size_t count) {
    size_t items = f->count, to = 0;
    for (size_t g = 0; g < count; g++, to++) {
        size_t first = group[g].first, end = g + 1 < count ? group[g + 1].first : items;
        struct loops made = f->item[first];
        if (is_pair(f, group, count, g)) {
            FORWARD(loops_make_loop(f, first, 1, 2, &made));
            g++;
        } else if (group[g].is_list) {
            FORWARD(make_list(f, &f->item[first], end - first, group[g].ops, &made));
        }
        f->item[to] = made;
    }
    f->count = to;
    return 0;
}

int loops_list_loose(struct folding *f) {
    SCOPED_FREE struct group *group = malloc((f->count + 1) * sizeof *group);
    RETURN_IF(!group, -ENOMEM);
    for (size_t i = 0; i < f->count; i++) group[i] = group_of(&f->item[i], i);
    size_t count = absorb(group, list_rows(group, f->count));
    return make_groups(f, group, count);
}
