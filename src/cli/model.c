// `ioseer model`: a log's model as a MODEL file, as a workload for other tools, or as a list of all operations.
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "cli/argument.h"
#include "cli/dump.h"
#include "cli/verb.h"
#include "model/export/job.h"
#include "model/file/write.h"

static struct {
    struct print_options print;
    struct model_choice model;
    bool expand;
    uint64_t rank;
    const char *format;
} options = {.rank = UINT64_MAX};

static const struct option_row rows[] = {
    ROW_OUTPUT(&options.print.output),
    ROWS_MODEL(options.model),
    {"format", 0, OPTION_CHOICE, &options.format, "model|fio|ior",
     "write a model, a job file for fio, or command lines for IOR (default: model)"},
    {"expand", 0, OPTION_FLAG, &options.expand, NULL, "print every operation of the model instead"},
    {"rank", 0, OPTION_NUMBER, &options.rank, "RANK", "with --expand: print only this rank of each program"},
    {"json", 0, OPTION_FLAG, &options.print.json, NULL, "with --expand: print JSON (a model is always JSON)"},
    ROW_QUIET_LOG(&options.print.quiet),
    {0},
};

// --- every operation

struct expanding {
    const struct model *model;
    struct output *output;
    struct table table; // unless output->json
    uint32_t program, rank, thread;
    struct bytes name[2]; // of the operation's files
};

// What is known about an operation; the fields mean the same as in `dump`.
struct shown {
    const char *file, *file2;
    bool has_offset, has_view, has_size, has_result;
    int64_t offset, view_offset, size, result;
};

// The name of a member of a file set; NULL without a file.
static int name_of(struct expanding *e, unsigned which, uint32_t file, int64_t member, const char **name) {
    *name = NULL;
    if (file == OP_NO_SET) return 0;
    const struct file_set *set = e->model->file[file].set;
    size_t most = strlen(set->pattern) + 20 * set->number_count + 1; // no number has more digits
    char *room = (char *)bytes_reserve(&e->name[which], most);
    RETURN_IF(!room, -ENOMEM);
    *name = room;
    FORWARD(file_set_member_name(set, (size_t)member, room, most));
    return 0;
}

static int describe(struct expanding *e, const struct model_step *step, struct shown *shown) {
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

static void print_json(struct expanding *e, const struct model_step *step, const struct shown *shown) {
    const struct op_kind *kind = step->kind;
    struct json_out *json = e->output->json;
    json_object(json);
    json_members(json, m_number("program", e->program), m_number("rank", e->rank), m_number("thread", e->thread),
                 m_number("phase", step->phase + 1u), m_text("layer", call_layer_name(kind->layer)),
                 m_text("op", kind->call), m_text("class", call_class_name(kind->class)));
    if (kind->communicator) key_number(json, "communicator", kind->communicator - 1u);
    if (kind->sync) {
        key_signed(json, "times", shown->size);
        if (kind->sync != SYNC_BARRIER) key_signed(json, kind->communicator ? "root" : "with", step->op->at[AT_MEMBER]);
        json_close(json);
        return;
    }
    json_members(json, m_text("file", shown->file), m_signed_if("offset", shown->has_offset, shown->offset));
    if (shown->has_view) key_signed(json, "view_offset", shown->view_offset);
    json_members(json, m_signed_if("size", shown->has_size, shown->size),
                 m_signed_if("result", shown->has_result, shown->result), m_signed("errno", kind->error));
    if (kind->etype_bytes) key_signed(json, "type", step->op->at[AT_SECOND]);
    if (shown->file2) key_text(json, "file2", shown->file2);
    if (kind->class == CLASS_OPEN) key_number(json, "flags", kind->flags);
    if (kind->whence) key_number(json, "whence", kind->whence);
    json_close(json);
}

// --- text

static void add_signed(struct table *table, bool known, int64_t value) { dump_result(table, NULL, known, value); }

static void print_text(struct expanding *e, const struct model_step *step, const struct shown *shown) {
    struct table *table = &e->table;
    table_number(table, e->program);
    table_number(table, e->rank);
    table_number(table, e->thread);
    table_number(table, step->phase + 1);
    table_text(table, step->kind->call);
    add_signed(table, shown->has_offset, shown->offset);
    add_signed(table, shown->has_size, shown->size);
    const char *error = step->kind->error ? strerrorname_np(step->kind->error) : NULL;
    dump_result(table, step->kind->error && !error ? "error" : error, shown->has_result, shown->result);
    table_text(table, shown->file);
    if (shown->file2) table_append(table, " -> %s", shown->file2);
    table_row(table);
}

// --- all of them

static int print_step(const struct model_step *step, void *context) {
    struct expanding *e = context;
    struct shown shown;
    FORWARD(describe(e, step, &shown));
    if (e->output->json)
        print_json(e, step, &shown);
    else
        print_text(e, step, &shown);
    return output_failed(e->output) ? e->output->error : 0;
}

static int expand_processes(struct expanding *e) {
    const struct model *model = e->model;
    for (e->program = 0; e->program < model->programs; e->program++) {
        uint32_t threads = model_threads(model, e->program);
        for (e->rank = 0; e->rank < model->program[e->program].np; e->rank++) {
            if (options.rank != UINT64_MAX && e->rank != options.rank) continue;
            for (e->thread = 0; e->thread < threads; e->thread++) {
                FORWARD(model_expand(model, e->program, e->rank, e->thread, print_step, e));
            }
        }
    }
    return 0;
}

static int print_operations(const struct model *model, struct output *output) {
    static const struct table_column columns[] = {{"PROGRAM", TABLE_NUMBER}, {"RANK", TABLE_NUMBER},
                                                  {"THREAD", TABLE_NUMBER},  {"PHASE", TABLE_NUMBER},
                                                  {"OP", TABLE_TEXT},        {"OFFSET", TABLE_NUMBER},
                                                  {"SIZE", TABLE_NUMBER},    {"RESULT", TABLE_NUMBER},
                                                  {"FILE", TABLE_NAME},      {0}};
    static const unsigned width[] = {7, 6, 6, 6, 22, 14, 11, 12, 0};
    struct expanding e = {.model = model, .output = output};
    if (options.print.json)
        json_array(output_json(output, 1));
    else
        e.table = table_begin_stream(output->out, columns, width);
    int code = expand_processes(&e), ended = 0;
    if (options.print.json)
        json_close(output->json);
    else
        ended = table_end(&e.table);
    bytes_free(&e.name[0]);
    bytes_free(&e.name[1]);
    return code < 0 ? code : ended;
}

// --- the verb

static const struct format {
    const char *name;
    int (*write)(const struct model *model, FILE *out);
} formats[] = {{"model", model_write}, {"fio", job_write_fio}, {"ior", job_write_ior}};

static const struct format *find_format(void) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!options.format || !strcmp(options.format, formats[i].name)) return &formats[i];
    }
    return NULL;
}

static int print(const struct argument *argument, struct output *output) {
    const struct model *model = &argument->model;
    if (!options.expand) return find_format()->write(model, output->out);
    return print_operations(model, output);
}

static enum status model_run(int argc, char **argv) {
    if (options.rank != UINT64_MAX && !options.expand) return cli_usage("model", "--rank", "needs --expand");
    if (options.expand && options.format) return cli_usage("model", "--format", "cannot be combined with --expand");
    return argument_print("model", argc, argv, &options.print, &options.model, print);
}

const struct verb verb_model = {
    .name = "model",
    .summary = "write the model of a program's I/O",
    .usage = "[OPTION]... LOG|MODEL",
    .about =
        "Writes the model of the program's I/O as JSON. Its part structure describes every operation in every phase,\n"
        "independent of the machine. Its part observed has times and sizes of this run.\n"
        "With --format, writes a workload for fio or IOR. Comments in it say what these cannot express.\n"
        "With --expand, prints every operation from the model alone.",
    .options = rows,
    .run = model_run,
};
