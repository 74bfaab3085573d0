#include "pack/unique_records.h"

#include "base/err.h"

enum { KEY_ID = 1, ID_ROOM = 16 };

int unique_records_add(struct unique_records *records, struct fields_in body, uint32_t *local, uint32_t *global)
{
    struct field field;
    int more;
    *local = 0;
    records->body.len = 0;
    for (const uint8_t *from = body.at; (more = fields_next(&body, &field)) > 0; from = body.at) {
        if (field.key != KEY_ID) {
            FORWARD(bytes_append(&records->body, from, (size_t)(body.at - from)));
        } else if (!field.is_bytes && field.number <= UINT32_MAX) {
            *local = (uint32_t)field.number;
        }
    }
    FORWARD(more);
    RETURN_IF(!*local || !records->body.len, ERR_FORMAT);
    return intern_add(&records->bodies, records->body.data, records->body.len, global);
}

void unique_records_write(const struct unique_records *records, struct log_writer *w, unsigned kind)
{
    for (uint32_t number = 1; number <= records->bodies.count; number++) {
        const uint8_t *body = intern_data(&records->bodies, number);
        size_t len = intern_len(&records->bodies, number);
        struct fields_out *out = log_writer_begin(w, kind, ID_ROOM + len);
        fields_number(out, KEY_ID, number);
        fields_copy(out, (struct fields_in){.at = body, .end = body + len});
        log_writer_end(w);
    }
}

void unique_records_free(struct unique_records *records)
{
    intern_free(&records->bodies);
    bytes_free(&records->body);
}
