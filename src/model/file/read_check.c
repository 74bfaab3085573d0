// Whether the coordinates of operations are such that nothing goes wrong wherever the loops lead.
#include <string.h>

#include "base/err.h"
#include "model/file/read.h"
#include "model/file/reading.h"

static bool transfers(const struct op_kind *kind)
{
    return kind->class == CLASS_READ || kind->class == CLASS_WRITE;
}

int read_check_kind(struct reading *r, const struct json_value *value, uint32_t id)
{
    const struct op_kind *kind = &r->model->kind[id];
    if (r->others || (transfers(kind) && !kind->error && kind->set != OP_NO_SET)) return 0;
    return json_in_fail(r->error, value, "a %s among the transfers, which read or write a file without an error",
                        kind->call);
}

// From the smallest to the largest value over all loops around.
struct span {
    int64_t low, high;
};

// What is asked of each coordinate is asked of the bytes that are moved as well: size and short together.
enum { AT_MOVED = AT_COUNT };

static bool value_of(const int64_t at[AT_COUNT], unsigned c, int64_t *value)
{
    if (c == AT_MOVED) return !__builtin_sub_overflow(at[AT_SIZE], at[AT_SHORT], value);
    *value = at[c];
    return true;
}

static bool widen(int64_t *end, int64_t step, uint64_t count)
{
    int64_t last;
    return !__builtin_mul_overflow(step, count - 1, &last) && !__builtin_add_overflow(*end, last, end);
}

// False where a value does not fit 64 bits.
static bool spread(const struct reading *r, const int64_t at[AT_COUNT], const struct loops_step *step, unsigned c,
                   struct span *span)
{
    if (!value_of(at, c, &span->low)) return false;
    span->high = span->low;
    for (unsigned s = 0; step && s < r->depth; s++) {
        int64_t by;
        if (!value_of(step[s].at, c, &by)) return false;
        if (!widen(by < 0 ? &span->low : &span->high, by, r->loop[r->depth - 1 - s])) return false;
    }
    return true;
}

static bool is_member(const struct reading *r, uint32_t file, const struct span *span)
{
    if (file == OP_NO_SET) return span->low == 0 && span->high == 0;
    return span->low >= 0 && (uint64_t)span->high < r->model->file[file].set->member_count;
}

// What is wrong with an operation and its repetitions, or NULL.
static const char *find_fault(const struct reading *r, const struct op_kind *kind, const int64_t at[AT_COUNT],
                              const struct loops_step *step)
{
    struct span span[AT_COUNT + 1];
    int64_t end;
    for (unsigned c = 0; c <= AT_MOVED; c++) {
        if (!spread(r, at, step, c, &span[c])) return "a number that does not fit 64 bits";
    }
    if (!is_member(r, kind->set, &span[AT_MEMBER])) return "a member that its file does not have";
    if (kind->has_view && span[AT_SECOND].low < 0) return "a negative offset in the view";
    if (kind->etype_bytes) {
        bool known = span[AT_SECOND].low >= 0 && (uint64_t)span[AT_SECOND].high < r->model->types.count;
        if (!known) return "a datatype that is not there";
    } else if (!kind->has_view && !is_member(r, kind->set2, &span[AT_SECOND])) {
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

// Bytes that are moved in all repetitions: so many times those of the first, and for each loop half the way to its
// last. As none is negative or beyond 63 bits, neither is their mean, and the products fit.
static __int128 bytes_moved(const struct reading *r, const int64_t at[AT_COUNT], const struct loops_step *step)
{
    __int128 twice = 2 * ((__int128)at[AT_SIZE] - at[AT_SHORT]), times = r->times;
    for (unsigned s = 0; step && s < r->depth; s++) {
        twice += ((__int128)step[s].at[AT_SIZE] - step[s].at[AT_SHORT]) * (r->loop[r->depth - 1 - s] - 1);
    }
    return times * (twice / 2) + times * (twice % 2) / 2;
}

// One operation of one process in one phase, `tables` times.
static int check(struct reading *r, const struct json_value *value, const struct op_kind *kind,
                 const int64_t at[AT_COUNT], const struct loops_step *step, uint64_t tables)
{
    const char *fault = find_fault(r, kind, at, step);
    if (fault) return json_in_fail(r->error, value, "%s has %s", kind->call, fault);
    if (r->others) return 0;
    __int128 bytes = bytes_moved(r, at, step);
    if (bytes > INT64_MAX || r->bytes > UINT64_MAX) {
        return json_in_fail(r->error, value, "%s moves more bytes than 63 bits count", kind->call);
    }
    r->bytes += (unsigned __int128)bytes * tables;
    return 0;
}

static bool is_constant(const struct model_value *value)
{
    return value->text && value->text[strspn(value->text, "-0123456789")] == '\0';
}

static int check_table(struct reading *r, const struct json_value *value, const struct model_item *item, size_t index,
                       uint64_t tables)
{
    const struct model_part *part = r->part;
    int64_t at[AT_COUNT], logical;
    struct expr_variables variables = {.idp = part->rank[index % part->ranks],
                                       .np = r->model->program[r->family->program].np,
                                       .ph = part->ph[index / part->ranks]};
    int code = model_value_at(&item->at[AT_SIZE], &variables, index, &at[AT_SIZE]);
    variables.rs = at[AT_SIZE];
    for (unsigned c = 0; c < AT_COUNT && !code; c++) {
        if (c != AT_SIZE) code = model_value_at(&item->at[c], &variables, index, &at[c]);
    }
    if (!code) code = model_value_at(&item->logical, &variables, index, &logical);
    if (code) {
        return json_in_fail(r->error, value, "an expression divides by zero or leaves 64 bits at rank %lld, phase %lld",
                            (long long)variables.idp, (long long)variables.ph);
    }
    return check(r, value, &r->model->kind[item->kind], at, item->step, tables);
}

int read_check_op(struct reading *r, const struct json_value *value, const struct model_item *item)
{
    bool constant = !item->logical.text || is_constant(&item->logical);
    for (unsigned c = 0; c < AT_COUNT; c++) constant = constant && is_constant(&item->at[c]);
    if (constant) return check_table(r, value, item, 0, r->tables);
    if (r->tables > MODEL_READ_NUMBERS) {
        json_in_fail(r->error, value, "too many ranks and phases");
        return ERR_LIMIT;
    }
    for (size_t t = 0; t < r->tables; t++) FORWARD(check_table(r, value, item, t, 1));
    return 0;
}

int read_check_list(struct reading *r, const struct json_value *value, const struct op *op, uint64_t count,
                    uint64_t times)
{
    for (uint64_t i = 0; i < count; i++) {
        if (op[i].kind >= r->model->kinds) return json_in_fail(r->error, value, "there is no such kind");
        FORWARD(read_check_kind(r, value, op[i].kind));
        FORWARD(check(r, value, &r->model->kind[op[i].kind], op[i].at, NULL, times));
    }
    return 0;
}
