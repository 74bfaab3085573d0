// Separates what all ranks of a family do from what only some of them do besides: a header by rank 0 must not make its
// part of the data another pattern than that of the others.
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"
#include "model/build/build.h"
#include "model/fit.h"

enum { MOST_ITEMS = 128, MOST_SHAPES = 64 }; // beyond these, a family stays as it is

// What items must have in common.
static uint64_t key_of(const struct loops *item) {
    return hash_add(item->shape, (uint64_t)loops_first(item)->at[AT_SIZE]);
}

// The pieces of one thread number: of transfers, or of others.
struct looking {
    const struct building *b;
    const struct pieces *pieces;
    bool others;
    uint32_t thread;
    uint32_t np;
};

// Items that all pieces have, in order.
struct common {
    uint64_t key[MOST_ITEMS];
    bool after_more[MOST_ITEMS + 1]; // some piece has other items before it
    size_t count;
};

// Keeps the longest sequence of keys that the piece has as well.
static int keep_common(struct common *common, const struct loops_seq *seq) {
    size_t rows = common->count, columns = seq->count, kept = 0;
    SCOPED_FREE uint16_t *longest = calloc((rows + 1) * (columns + 1), sizeof *longest); // from here on
    RETURN_IF(!longest, -ENOMEM);
    for (size_t r = rows; r-- > 0;) {
        for (size_t c = columns; c-- > 0;) {
            uint16_t *here = &longest[r * (columns + 1) + c], down = here[columns + 1], right = here[1];
            bool same = common->key[r] == key_of(&seq->item[c]);
            *here = same ? here[columns + 2] + 1 : down > right ? down : right;
        }
    }
    for (size_t r = 0, c = 0; r < rows && c < columns;) {
        const uint16_t *here = &longest[r * (columns + 1) + c];
        if (common->key[r] == key_of(&seq->item[c])) {
            common->key[kept++] = common->key[r++];
            c++;
        } else if (here[columns + 1] >= here[1]) {
            r++;
        } else {
            c++;
        }
    }
    common->count = kept;
    return 0;
}

static uint64_t hash_keys(const struct loops_seq *seq) {
    uint64_t hash = 1;
    for (size_t i = 0; i < seq->count; i++) hash = hash_add(hash, key_of(&seq->item[i]));
    return hash;
}

// Pieces of one shape are one part already. Of pieces with equal keys one is enough.
static int find_common(const struct looking *l, struct common *common) {
    uint64_t seen[MOST_SHAPES], shape = 0;
    size_t count = 0;
    bool differ = false;
    for (size_t i = 0; i < l->pieces->count; i++) {
        const struct piece *piece = &l->pieces->piece[i];
        if (piece->thread != l->thread) continue;
        const struct loops_seq seq = piece_items(l->b, piece, l->others);
        uint64_t hash = hash_keys(&seq);
        size_t known = 0;
        while (known < count && seen[known] != hash) known++;
        if (known < count) continue;
        if (count && piece->shape != shape) differ = true;
        shape = piece->shape;
        common->count = count ? common->count : seq.count;
        if (count == MOST_SHAPES || seq.count > MOST_ITEMS) common->count = 0;
        if (!common->count) return 0;
        for (size_t k = 0; !count && k < seq.count; k++) common->key[k] = key_of(&seq.item[k]);
        if (count) FORWARD(keep_common(common, &seq));
        seen[count++] = hash;
    }
    if (!differ) common->count = 0;
    return 0;
}

// The first items of a piece that are the common ones, in order. All pieces have them.
static void place_common(const struct common *common, const struct loops_seq *seq, size_t *place) {
    for (size_t i = 0, c = 0; c < common->count; i++) {
        if (key_of(&seq->item[i]) == common->key[c]) place[c++] = i;
    }
}

// Whether the places of a common item follow a rule over all ranks and phases.
static int follows_rule(const struct looking *l, const struct common *common, size_t item, bool *follows) {
    SCOPED_FREE struct fit_point *point = malloc((l->pieces->count + 1) * sizeof *point);
    char text[FIT_TEXT_BYTES];
    RETURN_IF(!point, -ENOMEM);
    *follows = true;
    for (unsigned at = 0; at < AT_COUNT && *follows; at++) {
        struct fit_input input = {.point = point, .np = l->np};
        for (size_t i = 0; i < l->pieces->count; i++) {
            const struct piece *piece = &l->pieces->piece[i];
            if (piece->thread != l->thread) continue;
            const struct loops_seq seq = piece_items(l->b, piece, l->others);
            size_t place[MOST_ITEMS];
            place_common(common, &seq, place);
            point[input.count++] =
                (struct fit_point){piece->rank, piece->ph, loops_first(&seq.item[place[item]])->at[at]};
        }
        *follows = !fit_expression(&input, text);
    }
    return 0;
}

// An item without a rule stays with the other items of its ranks: these may have rules of their own.
static int drop_irregular(const struct looking *l, struct common *common) {
    for (size_t c = 0; c < common->count;) {
        bool follows;
        FORWARD(follows_rule(l, common, c, &follows));
        if (follows) {
            c++;
            continue;
        }
        for (size_t k = c + 1; k < common->count; k++) common->key[k - 1] = common->key[k];
        common->count--;
    }
    return 0;
}

static void find_breaks(const struct looking *l, struct common *common) {
    for (size_t c = 0; c <= common->count; c++) common->after_more[c] = false;
    for (size_t i = 0; i < l->pieces->count; i++) {
        size_t place[MOST_ITEMS];
        if (l->pieces->piece[i].thread != l->thread) continue;
        const struct loops_seq seq = piece_items(l->b, &l->pieces->piece[i], l->others);
        place_common(common, &seq, place);
        for (size_t c = 0; c < common->count; c++)
            if (place[c] != (c ? place[c - 1] + 1 : 0)) common->after_more[c] = true;
    }
}

static int add_run(const struct looking *l, struct pieces *to, const struct piece *whole, size_t first, size_t end,
                   uint32_t slot) {
    struct piece piece = *whole;
    if (first == end) return 0;
    piece.first_item = first;
    piece.items = end - first;
    piece.slot = slot;
    piece.shape = items_shape(piece_items(l->b, &piece, l->others));
    return array_push(to->piece, to->count, piece);
}

// Cuts a piece into common runs of items and what is between them. All pieces have the same slots for common runs.
static int cut_piece(const struct looking *l, struct pieces *to, const struct piece *piece,
                     const struct common *common) {
    const struct loops_seq seq = piece_items(l->b, piece, l->others);
    size_t place[MOST_ITEMS], done = 0;
    uint32_t slot = 0;
    place_common(common, &seq, place);
    for (size_t c = 0, end; c < common->count; c = end) {
        for (end = c + 1; end < common->count && !common->after_more[end];) end++;
        FORWARD(add_run(l, to, piece, done, place[c], slot++));
        FORWARD(add_run(l, to, piece, place[c], place[end - 1] + 1, slot++));
        done = place[end - 1] + 1;
    }
    return add_run(l, to, piece, done, seq.count, slot);
}

int build_common(const struct building *b, struct pieces *pieces, uint32_t np, bool others) {
    uint32_t threads = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        if (pieces->piece[i].thread >= threads) threads = pieces->piece[i].thread + 1;
    }
    struct pieces cut = {0};
    int code = 0;
    for (uint32_t thread = 0; thread < threads && !code; thread++) {
        struct looking l = {b, pieces, others, thread, np};
        struct common common = {.count = 0};
        code = find_common(&l, &common);
        if (!code) code = drop_irregular(&l, &common);
        if (!code) find_breaks(&l, &common);
        for (size_t i = 0; i < pieces->count && !code; i++) {
            if (pieces->piece[i].thread == thread) code = cut_piece(&l, &cut, &pieces->piece[i], &common);
        }
    }
    free(pieces->piece);
    *pieces = cut;
    return code;
}
