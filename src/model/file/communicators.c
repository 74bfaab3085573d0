// Communicators of MPI programs.
#include "base/err.h"
#include "model/file/read_private.h"
#include "model/file/write_private.h"

int write_communicators(struct writing *w) {
    struct json_out *json = w->json;
    key_array(json, "communicators");
    for (size_t i = 0; i < w->model->communicators; i++) {
        const struct model_communicator *from = &w->model->communicator[i];
        size_t np = w->model->program[from->program].np;
        json_fold(json);
        json_object(json);
        json_members(json, m_text("communicator", w->communicators.text[i]), m_text("origin", from->origin));
        if (from->program) key_number(json, "program", from->program);
        FORWARD(write_value(w, "color", &from->color, np));
        FORWARD(write_value(w, "key", &from->key, np));
        json_close(json);
    }
    json_close(json);
    return 0;
}

static int read_communicator(struct reading *r, const struct json_value *value) {
    struct model_communicator made = {0};
    const char *name;
    uint64_t program = 0;
    FORWARD(json_in_need_text(value, "communicator", &name, NULL, r->error));
    int code = string_table_add(&r->communicators, name);
    if (code == ERR_EXISTS) return json_in_fail(r->error, value, "a second communicator \"%s\"", name);
    FORWARD(code);
    FORWARD(json_in_need_text(value, "origin", &made.origin, NULL, r->error));
    made.origin = arena_text(&r->model->arena, made.origin);
    RETURN_IF(!made.origin, -ENOMEM);
    if (!r->model->programs) return json_in_fail(r->error, value, "a communicator, and there is no program");
    FORWARD(read_optional_count(r, value, "program", 0, r->model->programs - 1, &program));
    made.program = (uint32_t)program;
    r->b.tables = r->model->program[program].np;
    FORWARD(read_charge(r, value, r->b.tables));
    FORWARD(read_value(r, json_in_member(value, "color"), "color", &made.color));
    code = read_value(r, json_in_member(value, "key"), "key", &made.key);
    if (code) {
        expr_free(made.color.expr);
        return code;
    }
    return read_reason(r, value, builder_add_communicator(&r->b, &made));
}

int read_communicators(struct reading *r) {
    const struct json_value *communicators = NULL;
    FORWARD(read_optional_array(r, r->structure, "communicators", &communicators));
    for (size_t i = 0; i < json_in_length(communicators); i++)
        FORWARD(read_communicator(r, json_in_at(communicators, i)));
    return 0;
}
