#include "anonymous/write.h"

#include <string.h>

#include "anonymous/record.h"
#include "base/err.h"
#include "pack/log_writer.h"

enum { MAX_RECORD_BYTES = LOG_BLOCK_MAX_RAW / 2 };

struct writing {
    struct anonymous anonymous;
    struct log *log;
    const struct anonymous_options *options;
    struct log_writer writer;
    struct bytes stored, raw, body;
    struct stream_decoder decoder;
    uint64_t events, left_out;
};

static bool is_damage(int code) { return code == ERR_FORMAT || code == ERR_CHECKSUM || code == ERR_TRUNCATED; }

static int write_record(struct writing *w, unsigned kind, struct fields_in in) {
    int some = anonymous_record(&w->anonymous, kind, in, &w->body);
    if (is_damage(some) || (some > 0 && w->body.len > MAX_RECORD_BYTES)) {
        w->left_out++;
        return 0;
    }
    RETURN_IF(some <= 0, some);
    struct fields_out *out = log_writer_begin(&w->writer, kind, w->body.len);
    fields_copy(out, fields_of(&w->body));
    log_writer_end(&w->writer);
    return w->writer.error;
}

static int write_records(struct writing *w, const struct log_place *place) {
    struct log_block block;
    struct fields_in body;
    unsigned kind;
    int more = log_read_block(w->log, place, &block, &w->raw);
    struct fields_in in = fields_of(&w->raw);
    w->anonymous.last_file = 0;
    if (more == 0) {
        while ((more = fields_next_record(&in, &kind, &body)) > 0) FORWARD(write_record(w, kind, body));
    }
    w->left_out += is_damage(more);
    return is_damage(more) ? 0 : more;
}

// Sums up the events that this version understands wholly and returns their bytes: what follows could be anything.
static size_t sum_up(struct writing *w, struct log_block *block, struct log_summary *summary) {
    const uint32_t known = (UINT32_C(2) << ATTRIBUTE_SERVER) - 1;
    struct stream_event event;
    size_t good = 0;
    int more;
    block->events = 0;
    while ((more = stream_decode(&w->decoder, &event)) > 0 && !(event.attribute_mask & ~known)) {
        const struct log_call *call = log_call_find(w->log, event.call);
        log_summary_add(summary, call ? call->class : CLASS_NONE, event.duration,
                        stream_moved(call ? call->traits : 0, &event));
        good = (size_t)(w->decoder.at - w->raw.data);
        block->events++;
    }
    if (more == 0) return w->raw.len;
    w->left_out++;
    return good;
}

static int write_events(struct writing *w, const struct log_place *place) {
    struct log_block block;
    struct log_summary summary = {0};
    int code = place->process ? log_read_events(w->log, place, &block, &w->stored, &w->raw, &w->decoder) : ERR_FORMAT;
    w->left_out += is_damage(code);
    RETURN_IF(code < 0, is_damage(code) ? 0 : code);
    size_t good = sum_up(w, &block, &summary);
    if (!good) return 0;
    summary.process = place->process->id;
    log_summary_end(&summary, &place->process->clock);
    w->events += block.events;
    FORWARD(log_writer_events(&w->writer, &block, w->raw.data, good, &summary));
    return w->options->progress ? w->options->progress(w->options->context, w->events) : 0;
}

static int write_all(struct writing *w) {
    for (size_t i = 0; i < log_place_count(w->log); i++) {
        const struct log_place *place = log_place_at(w->log, i);
        if (place->type == BLOCK_RECORDS) FORWARD(write_records(w, place));
        if (place->type == BLOCK_EVENTS) FORWARD(write_events(w, place));
    }
    return 0;
}

static struct log_header new_header(const struct writing *w) {
    const struct log_header *of = log_header(w->log);
    uint64_t moved_ns = w->anonymous.moved_ns;
    struct log_header header = {
        .version = LOG_VERSION,
        .min_reader = LOG_MIN_READER,
        .features = of->features | FEATURE_SHORT,
        .created_ns = of->created_ns > moved_ns ? of->created_ns - moved_ns : 0,
    };
    for (uint64_t i = 0, half; i < 2; i++) {
        uint8_t id[sizeof of->job_id + 1];
        memcpy(id, of->job_id, sizeof of->job_id);
        id[sizeof of->job_id] = (uint8_t)i;
        half = anonymous_hash(w->anonymous.key, DOMAIN_JOB, id, sizeof id);
        memcpy(header.job_id + i * sizeof half, &half, sizeof half);
    }
    return header;
}

int anonymous_write(struct log *log, const char *path, const struct anonymous_key *key,
                    const struct anonymous_options *options, uint64_t *left_out) {
    struct writing w = {.log = log, .options = options, .writer = {.fd = -1}};
    int code = anonymous_begin(&w.anonymous, log, key);
    const struct log_header header = new_header(&w);
    if (code == 0) code = log_writer_open(&w.writer, path, &header);
    if (code == 0) code = write_all(&w);
    if (code == 0) code = log_writer_publish(&w.writer, options->replace);
    log_writer_abandon(&w.writer);
    anonymous_end(&w.anonymous);
    bytes_free(&w.stored);
    bytes_free(&w.raw);
    bytes_free(&w.body);
    *left_out = w.left_out;
    return code;
}
