#include "model/file/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "model/file/writing.h"

enum { UNFOLD_ALL = JSON_OUT_MAX_DEPTH };

size_t write_directory_len(const struct file_set *set)
{
    size_t len = 0;
    for (size_t i = 0; set->pattern[i]; i++) {
        if (set->pattern[i] == '/' && set->pattern[i + 1]) len = i + 1;
        if (!set->number_count) continue;
        if (set->pattern[i] == '*') break;
        if (set->pattern[i] == '\\') i++;
    }
    return len;
}

// A kind is named after its call and its file.
static int name_kind(struct writing *w, const struct op_kind *kind)
{
    if (kind->set == OP_NO_SET) return string_table_add_unique(&w->kinds, kind->call);
    char *name;
    RETURN_IF(asprintf(&name, "%s %s", kind->call, w->files.text[kind->set]) < 0, -ENOMEM);
    int code = string_table_add_unique(&w->kinds, name);
    free(name);
    return code;
}

int write_names(struct writing *w)
{
    const struct model *model = w->model;
    for (size_t i = 0; i < model->files; i++) {
        const struct file_set *set = model->file[i].set;
        FORWARD(string_table_add_unique(&w->files, set->pattern + write_directory_len(set)));
    }
    for (size_t i = 0; i < model->kinds; i++) FORWARD(name_kind(w, &model->kind[i]));
    return 0;
}

static int write_all(struct writing *w)
{
    struct json_out *json = w->json;
    FORWARD(write_names(w));
    json_object(json);
    key_number(w->json, "ioseer_model", MODEL_VERSION);
    key_object(json, "structure");
    FORWARD(write_structure(w));
    json_close(json);
    key_object(json, "observed");
    FORWARD(write_observed(w));
    json_close(json);
    json_close(json);
    return 0;
}

int model_write(const struct model *model, FILE *out)
{
    struct arena arena = {0};
    struct writing w = {
        .model = model, .json = json_out_begin(out, UNFOLD_ALL), .files.arena = &arena, .kinds.arena = &arena};
    RETURN_IF(!w.json, -ENOMEM);
    int code = write_all(&w), ended = json_out_end(w.json);
    string_table_free(&w.files);
    string_table_free(&w.kinds);
    arena_free(&arena);
    return code ? code : ended;
}
