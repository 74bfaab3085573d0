#include "cli/expand.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "log/describe.h"

struct expanding {
    const struct model *model;
    struct output *output;
    struct json_out *json; // NULL: text
    uint32_t program, rank, thread;
    char *name[2]; // of the operation's files
    size_t room[2];
};

// What is known of an operation, as `dump` would say it.
struct shown {
    const char *file, *file2;
    bool has_offset, has_view, has_size, has_result;
    int64_t offset, view_offset, size, result;
};

// The name of a member of a file set; NULL without a file.
static int name_of(struct expanding *e, unsigned which, uint32_t file, int64_t member, const char **name)
{
    *name = NULL;
    if (file == OP_NO_SET) return 0;
    const struct file_set *set = e->model->file[file].set;
    size_t room = strlen(set->pattern) + 20 * set->number_count + 1; // no number has more digits
    if (room > e->room[which]) {
        char *more = realloc(e->name[which], room);
        RETURN_IF(!more, -ENOMEM);
        e->name[which] = more;
        e->room[which] = room;
    }
    FORWARD(file_set_member_name(set, (size_t)member, e->name[which], room));
    *name = e->name[which];
    return 0;
}

static int look(struct expanding *e, const struct model_step *step, struct shown *shown)
{
    const struct op_kind *kind = step->kind;
    const int64_t *at = step->op->at;
    bool transfers = kind->class == CLASS_READ || kind->class == CLASS_WRITE, seeks = kind->class == CLASS_SEEK;
    *shown = (struct shown){.has_offset = kind->has_offset && !seeks,
                            .has_view = kind->has_view,
                            .has_size = transfers || at[AT_SIZE],
                            .has_result = (transfers && !kind->error) || (seeks && kind->has_offset),
                            .offset = at[AT_OFFSET],
                            .view_offset = at[AT_SECOND],
                            .size = at[AT_SIZE],
                            .result = seeks ? at[AT_OFFSET] : at[AT_SIZE] - at[AT_SHORT]};
    FORWARD(name_of(e, 0, kind->set, at[AT_MEMBER], &shown->file));
    return name_of(e, 1, kind->set2, at[AT_SECOND], &shown->file2);
}

// --- JSON

static void print_json(const struct expanding *e, const struct model_step *step, const struct shown *shown)
{
    const struct op_kind *kind = step->kind;
    struct json_out *json = e->json;
    json_object(json);
    key_number(json, "program", e->program);
    key_number(json, "rank", e->rank);
    key_number(json, "thread", e->thread);
    key_number(json, "phase", step->phase + 1u);
    key_text(json, "layer", call_layer_name(kind->layer));
    key_text(json, "op", kind->call);
    key_text(json, "class", call_class_name(kind->class));
    if (kind->class == CLASS_NONE) {
        key_signed_if(json, "times", true, shown->size);
        json_close(json);
        return;
    }
    key_text(json, "file", shown->file);
    key_signed_if(json, "offset", shown->has_offset, shown->offset);
    if (shown->has_view) key_signed_if(json, "view_offset", true, shown->view_offset);
    key_signed_if(json, "size", shown->has_size, shown->size);
    key_signed_if(json, "result", shown->has_result, shown->result);
    key_signed_if(json, "errno", true, kind->error);
    if (kind->etype_bytes) key_signed_if(json, "type", true, step->op->at[AT_SECOND]);
    if (shown->file2) key_text(json, "file2", shown->file2);
    if (kind->class == CLASS_OPEN) key_number(json, "flags", kind->flags);
    if (kind->whence) key_number(json, "whence", kind->whence);
    json_close(json);
}

// --- text

static void print_number(FILE *out, int width, bool known, int64_t value)
{
    if (known) {
        fprintf(out, " %*" PRId64, width, value);
    } else {
        fprintf(out, " %*s", width, "-");
    }
}

static void print_text(const struct expanding *e, const struct model_step *step, const struct shown *shown)
{
    const struct op_kind *kind = step->kind;
    FILE *out = e->output->out;
    const char *error = kind->error ? strerrorname_np(kind->error) : NULL;
    fprintf(out, "%7" PRIu32 " %6" PRIu32 " %6" PRIu32 " %6" PRIu32 " %-22s", e->program, e->rank, e->thread,
            step->phase + 1, kind->call);
    print_number(out, 14, shown->has_offset, shown->offset);
    print_number(out, 11, shown->has_size, shown->size);
    if (kind->error) {
        fprintf(out, " %12s", error ? error : "error");
    } else {
        print_number(out, 12, shown->has_result, shown->result);
    }
    fputs("  ", out);
    human_print_name(out, shown->file ? shown->file : "-");
    if (shown->file2) {
        fputs(" -> ", out);
        human_print_name(out, shown->file2);
    }
    putc('\n', out);
}

// --- all of them

static int take_step(const struct model_step *step, void *context)
{
    struct expanding *e = context;
    struct shown shown;
    FORWARD(look(e, step, &shown));
    if (e->json) {
        print_json(e, step, &shown);
        return e->json->error;
    }
    print_text(e, step, &shown);
    return output_failed(e->output) ? e->output->error : 0;
}

static int expand_processes(struct expanding *e, uint64_t only_rank)
{
    const struct model *model = e->model;
    for (e->program = 0; e->program < model->programs; e->program++) {
        uint32_t threads = model_threads(model, e->program);
        for (e->rank = 0; e->rank < model->program[e->program].np; e->rank++) {
            if (only_rank != UINT64_MAX && e->rank != only_rank) continue;
            for (e->thread = 0; e->thread < threads; e->thread++) {
                FORWARD(model_expand(model, e->program, e->rank, e->thread, take_step, e));
            }
        }
    }
    return 0;
}

int expand_print(const struct model *model, const struct expand_options *options, struct output *output)
{
    struct expanding e = {.model = model, .output = output};
    if (options->json) {
        e.json = json_out_begin(output->out, 1);
        RETURN_IF(!e.json, -ENOMEM);
        json_array(e.json);
    } else {
        fprintf(output->out, "%7s %6s %6s %6s %-22s %14s %11s %12s  %s\n", "PROGRAM", "RANK", "THREAD", "PHASE", "OP",
                "OFFSET", "SIZE", "RESULT", "FILE");
    }
    int code = expand_processes(&e, options->rank);
    if (e.json) {
        json_close(e.json);
        output->error = json_out_end(e.json);
    }
    free(e.name[0]);
    free(e.name[1]);
    return output->error ? 0 : code;
}
