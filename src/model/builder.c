#include "model/builder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

void builder_begin(struct model_builder *b, struct model *model) {
    *b = (struct model_builder){.model = model, .calls.arena = &model->arena};
}

void builder_end(struct model_builder *b) {
    string_table_free(&b->calls);
    free(b->added);
}

__attribute__((format(printf, 3, 4))) static int refuse(struct model_builder *b, int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(b->fault, sizeof b->fault, format, arguments);
    va_end(arguments);
    return code;
}

// --- the tables of the model

int builder_add_program(struct model_builder *b, bool is_mpi, uint32_t np) {
    struct model *model = b->model;
    return array_push(model->program, model->programs, (struct model_program){.is_mpi = is_mpi, .np = np});
}

int builder_add_communicator(struct model_builder *b, const struct model_communicator *communicator) {
    struct model *model = b->model;
    FORWARD(array_push(model->communicator, model->communicators, *communicator));
    for (uint32_t rank = 0; rank < model->program[communicator->program].np; rank++) {
        struct model_membership at;
        if (!model_membership(model, (uint32_t)model->communicators - 1, rank, &at)) continue;
        return refuse(b, ERR_FORMAT, "a communicator has no color or key for rank %" PRIu32, rank);
    }
    return 0;
}

int builder_add_file(struct model_builder *b, const struct file_set *set) {
    struct model *model = b->model;
    return array_push(model->file, model->files, (struct model_file){.set = set});
}

int builder_add_kind(struct model_builder *b, const struct op_kind *kind) {
    struct model *model = b->model;
    int code = string_table_add(&b->calls, kind->call);
    if (code && code != ERR_EXISTS) return code;
    FORWARD(array_push(model->kind, model->kinds, *kind));
    struct op_kind *to = &model->kind[model->kinds - 1];
    to->call = b->calls.text[string_table_find(&b->calls, kind->call)];
    if (!to->call_id) to->call_id = call_find(to->call, 0);
    int sync = kind->class == CLASS_NONE ? op_sync_find(kind->call) : SYNC_NONE;
    if (sync < 0) return refuse(b, ERR_FORMAT, "a %s has no class", kind->call);
    to->sync = (uint8_t)sync;
    return 0;
}

int builder_add_family(struct model_builder *b, const struct model_family *family) {
    struct model *model = b->model;
    FORWARD(array_room(b->added, model->families));
    b->added[model->families] = 0;
    b->bytes = 0;
    return array_push(model->family, model->families, *family);
}

int builder_add_phase(struct model_builder *b, uint32_t family) {
    struct model *model = b->model;
    struct model_program *program = &model->program[model->family[family].program];
    if (program->first == program->end) program->first = model->phases;
    FORWARD(array_push(model->phase, model->phases, (struct model_phase){.family = family, .ph = ++b->added[family]}));
    program->end = model->phases;
    return 0;
}

int builder_check_phases(struct model_builder *b, uint32_t family) {
    uint32_t count = b->model->family[family].count;
    if (b->added[family] == count) return 0;
    return refuse(b, ERR_FORMAT, "family %" PRIu32 " has %" PRIu32 " phases, but is %" PRIu32 " times in the order",
                  family + 1, count, b->added[family]);
}

// --- parts

void builder_begin_part(struct model_builder *b, const struct model_part *part, bool others) {
    b->family = &b->model->family[b->model->families - 1];
    b->part = part;
    b->others = others;
    b->tables = part->ranks * part->phs; // of 32 bits each
    b->depth = 0;
    b->times = 1;
}

int builder_make_items(struct model_builder *b, struct model_items *items, size_t count) {
    FORWARD(arena_array(&b->model->arena, items->item, count));
    items->count = count;
    return 0;
}

int builder_begin_loop(struct model_builder *b, uint64_t count) {
    if (b->depth == LOOPS_MAX_DEPTH) {
        return refuse(b, ERR_FORMAT, "more than %d loops inside each other", LOOPS_MAX_DEPTH);
    }
    uint64_t times;
    if (__builtin_mul_overflow(b->times, count, &times) || times > INT64_MAX) {
        return refuse(b, ERR_FORMAT, "more repetitions than 63 bits count");
    }
    b->times = times;
    b->loop[b->depth++] = count;
    return 0;
}

void builder_end_loop(struct model_builder *b) { b->times /= b->loop[--b->depth]; }

int builder_make_op(struct model_builder *b, struct model_item *item, uint32_t kind) {
    *item = (struct model_item){.type = LOOPS_OP, .kind = kind, .count = 1, .ops = 1, .steps = (uint8_t)b->depth};
    return arena_array(&b->model->arena, item->step, b->depth);
}

int builder_set_expression(struct model_builder *b, struct model_value *value, const char *text) {
    *value = (struct model_value){.text = arena_text(&b->model->arena, text)};
    RETURN_IF(!value->text, -ENOMEM);
    int code = expr_parse(text, &value->expr);
    if (code) value->expr = NULL;
    return code;
}

int builder_set_number(struct model_builder *b, struct model_value *value, int64_t number) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, number);
    return builder_set_expression(b, value, digits);
}

int builder_make_list(struct model_builder *b, struct model_item *item, uint64_t count) {
    *item = (struct model_item){.type = LOOPS_LIST, .count = count, .ops = count};
    return arena_array(&b->model->arena, item->list, b->tables);
}

int builder_set_pause(struct model_builder *b, struct model_item *item, const struct model_pause *pause) {
    item->think = arena_copy(&b->model->arena, pause, sizeof *pause);
    return item->think ? 0 : -ENOMEM;
}

// --- checks: whether all coordinates are valid in every repetition of the loops

int builder_check_kind(struct model_builder *b, uint32_t id) {
    const struct op_kind *kind = &b->model->kind[id];
    bool is_whole = !op_kind_moves(kind) || kind->set != OP_NO_SET;
    if (b->others || (!kind->sync && !kind->error && is_whole)) return 0;
    return refuse(b, ERR_FORMAT, "%s among the operations of a phase: it synchronises, has failed or has no file",
                  kind->call);
}

// From the smallest to the largest value over all loops around.
struct span {
    int64_t low, high;
};

// The checks of coordinates apply to the bytes that are moved as well: size less short.
enum { AT_MOVED = AT_COUNT };

static bool value_of(const int64_t at[AT_COUNT], unsigned c, int64_t *value) {
    if (c == AT_MOVED) return !__builtin_sub_overflow(at[AT_SIZE], at[AT_SHORT], value);
    *value = at[c];
    return true;
}

static bool widen(int64_t *end, int64_t step, uint64_t count) {
    int64_t last;
    return !__builtin_mul_overflow(step, count - 1, &last) && !__builtin_add_overflow(*end, last, end);
}

// False if a value does not fit 64 bits.
static bool spread(const struct model_builder *b, const int64_t at[AT_COUNT], const struct loops_step *step, unsigned c,
                   struct span *span) {
    if (!value_of(at, c, &span->low)) return false;
    span->high = span->low;
    for (unsigned s = 0; step && s < b->depth; s++) {
        int64_t by;
        if (!value_of(step[s].at, c, &by)) return false;
        if (!widen(by < 0 ? &span->low : &span->high, by, b->loop[b->depth - 1 - s])) return false;
    }
    return true;
}

static bool is_member(const struct model_builder *b, uint32_t file, const struct span *span) {
    if (file == OP_NO_SET) return span->low == 0 && span->high == 0;
    return span->low >= 0 && (uint64_t)span->high < b->model->file[file].set->member_count;
}

// Says what is wrong with an operation or its repetitions; NULL if nothing is.
static const char *fault_of(const struct model_builder *b, const struct op_kind *kind, const int64_t at[AT_COUNT],
                            const struct loops_step *step) {
    struct span span[AT_COUNT + 1];
    int64_t end;
    for (unsigned c = 0; c <= AT_MOVED; c++) {
        if (!spread(b, at, step, c, &span[c])) return "a number that does not fit 64 bits";
    }
    if (kind->sync) {
        uint32_t np = b->model->program[b->family->program].np;
        if (span[AT_MEMBER].low < 0 || span[AT_MEMBER].high >= (int64_t)np) return "a rank that is not there";
    } else if (!is_member(b, kind->set, &span[AT_MEMBER])) {
        return "a member that its file does not have";
    }
    if (kind->has_view && span[AT_SECOND].low < 0) return "a negative offset in the view";
    if (kind->etype_bytes) {
        bool known = span[AT_SECOND].low >= 0 && (uint64_t)span[AT_SECOND].high < b->model->types.count;
        if (!known) return "a datatype that is not there";
    } else if (!kind->has_view && !is_member(b, kind->set2, &span[AT_SECOND])) {
        return "a member that its second file does not have";
    }
    if (span[AT_OFFSET].low < 0) return "a negative offset";
    if (span[AT_POSITION].low < 0) return "a negative position";
    if (span[AT_SIZE].low < 0) return "a negative size";
    if (span[AT_MOVED].low < 0) return "less than no bytes to move";
    if (__builtin_add_overflow(span[AT_OFFSET].high, span[AT_SIZE].high, &end) ||
        __builtin_add_overflow(span[AT_OFFSET].high, span[AT_MOVED].high, &end)) {
        return "an end past 64 bits";
    }
    return NULL;
}

// Bytes that are moved in all repetitions: those of the first, as often as there are repetitions, and for each loop
// half the way to its last. As none is negative or beyond 63 bits, neither is their mean, and the products fit.
static __int128 bytes_moved(const struct model_builder *b, const int64_t at[AT_COUNT], const struct loops_step *step) {
    __int128 twice = 2 * ((__int128)at[AT_SIZE] - at[AT_SHORT]), times = b->times;
    for (unsigned s = 0; step && s < b->depth; s++) {
        twice += ((__int128)step[s].at[AT_SIZE] - step[s].at[AT_SHORT]) * (b->loop[b->depth - 1 - s] - 1);
    }
    return times * (twice / 2) + times * (twice % 2) / 2;
}

// One operation of one process in one phase, `tables` times.
static int check(struct model_builder *b, const struct op_kind *kind, const int64_t at[AT_COUNT],
                 const struct loops_step *step, uint64_t tables) {
    const char *fault = fault_of(b, kind, at, step);
    if (fault) return refuse(b, ERR_FORMAT, "%s has %s", kind->call, fault);
    if (b->others || !op_kind_moves(kind)) return 0;
    __int128 bytes = bytes_moved(b, at, step);
    if (bytes > INT64_MAX || b->bytes > UINT64_MAX) {
        return refuse(b, ERR_FORMAT, "%s moves more bytes than 63 bits count", kind->call);
    }
    b->bytes += (unsigned __int128)bytes * tables;
    return 0;
}

static bool is_constant(const struct model_value *value) {
    return value->text && value->text[strspn(value->text, "-0123456789")] == '\0';
}

static int check_table(struct model_builder *b, const struct model_item *item, size_t index, uint64_t tables) {
    const struct model_part *part = b->part;
    int64_t at[AT_COUNT], logical;
    struct expr_variables variables = {.idp = part->rank[index % part->ranks],
                                       .np = b->model->program[b->family->program].np,
                                       .ph = part->ph[index / part->ranks]};
    int code = model_value_at(&item->at[AT_SIZE], &variables, index, &at[AT_SIZE]);
    variables.rs = at[AT_SIZE];
    for (unsigned c = 0; c < AT_COUNT && !code; c++) {
        if (c != AT_SIZE) code = model_value_at(&item->at[c], &variables, index, &at[c]);
    }
    if (!code) code = model_value_at(&item->logical, &variables, index, &logical);
    if (code) {
        return refuse(b, ERR_FORMAT,
                      "an expression divides by zero or leaves 64 bits at rank %" PRId64 ", phase %" PRId64,
                      variables.idp, variables.ph);
    }
    return check(b, &b->model->kind[item->kind], at, item->step, tables);
}

int builder_check_op(struct model_builder *b, const struct model_item *item) {
    bool constant = !item->logical.text || is_constant(&item->logical);
    for (unsigned c = 0; c < AT_COUNT; c++) constant = constant && is_constant(&item->at[c]);
    FORWARD(builder_check_kind(b, item->kind));
    if (constant) return check_table(b, item, 0, b->tables);
    if (b->tables > BUILDER_MOST_TABLES) return refuse(b, ERR_LIMIT, "too many ranks and phases");
    for (size_t t = 0; t < b->tables; t++) FORWARD(check_table(b, item, t, 1));
    return 0;
}

int builder_check_list(struct model_builder *b, const struct op *op, uint64_t count, uint64_t ranks_and_phases) {
    for (uint64_t i = 0; i < count; i++) {
        if (op[i].kind >= b->model->kinds) return refuse(b, ERR_FORMAT, "there is no such kind");
        FORWARD(builder_check_kind(b, op[i].kind));
        FORWARD(check(b, &b->model->kind[op[i].kind], op[i].at, NULL, ranks_and_phases));
    }
    return 0;
}

int builder_count_ops(struct model_builder *b, const struct model_items *items, uint64_t times, uint64_t *ops) {
    *ops = 0;
    for (size_t i = 0; i < items->count; i++) {
        uint64_t all;
        bool overflows = __builtin_mul_overflow(items->item[i].ops, times, &all) ||
                         __builtin_add_overflow(*ops, all, ops) || *ops > INT64_MAX;
        if (overflows) return refuse(b, ERR_FORMAT, "more operations than 63 bits count");
    }
    return 0;
}

int builder_end_family(struct model_builder *b) {
    struct model *model = b->model;
    const struct model_family *family = &model->family[model->families - 1];
    if (b->bytes != (unsigned __int128)family->weight * family->count) {
        return refuse(b, ERR_FORMAT,
                      "the weight is %" PRIu64 " bytes, but the operations of the %" PRIu32
                      " phases do not move so many",
                      family->weight, family->count);
    }
    bool overflows = __builtin_add_overflow(model->bytes, (uint64_t)b->bytes, &model->bytes);
    if (overflows || b->bytes > UINT64_MAX) return refuse(b, ERR_FORMAT, "too many bytes for 64 bits");
    return 0;
}
