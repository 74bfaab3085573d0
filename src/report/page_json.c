// Writes the page's data (doc/page.md), section by section. Each has a limit in bytes; one that is longer is written
// again with shorter lists, and the summary, which comes last, says so.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/human.h"
#include "base/json_keys.h"
#include "report/devices.h"
#include "report/findings_json.h"
#include "report/page.h"
#include "report/phases_json.h"

enum { KIB = 1024, NAME_BYTES = 100 * KIB };

// Writes a value whose lists have at most `most` members.
typedef int section_write(struct page *page, struct json_out *json, size_t most);

struct section {
    const char *key;
    const char *words; // what is cut, in words
    section_write *write;
    size_t most;
    size_t limit_bytes;
};

static int write_job(struct page *page, struct json_out *json, size_t most)
{
    info_json(&page->info, json, most);
    return 0;
}

static int write_timeline(struct page *page, struct json_out *json, size_t most)
{
    return timeline_json(&page->collect.timeline, json, most, NAME_BYTES);
}

static int write_phases(struct page *page, struct json_out *json, size_t most)
{
    if (page->has_model) return phases_json(&page->model, json, most);
    json_null(json);
    return 0;
}

static int write_space(struct page *page, struct json_out *json, size_t most)
{
    return space_json(&page->collect.space, page->has_model ? &page->model : NULL, json, most, NAME_BYTES);
}

static int write_layers(struct page *page, struct json_out *json, size_t most)
{
    return layers_json(&page->collect.layers, json, most, most / 8, most / 2);
}

static int write_files(struct page *page, struct json_out *json, size_t most)
{
    files_json(&page->collect.files, json, most);
    return 0;
}

static int write_devices(struct page *page, struct json_out *json, size_t most)
{
    devices_json(page->source.log, json, most);
    return 0;
}

static int write_findings(struct page *page, struct json_out *json, size_t most)
{
    findings_json(&page->findings, json, most);
    return 0;
}

static const struct section sections[] = {
    {"findings", "findings: those with the least time", write_findings, 64, 100 * KIB},
    {"job", "job: its lists of processes, ranks and files", write_job, 200, 200 * KIB},
    {"timeline", "timeline: its shortest pieces", write_timeline, 12000, 600 * KIB},
    {"phases", "phases: those after the first ones, or ranks of each", write_phases, 500, 300 * KIB},
    {"space", "space: some of its points", write_space, SPACE_POINTS, 330 * KIB},
    {"layers", "layers: processes with little time, and trees", write_layers, 128, 200 * KIB},
    {"files", "files: those with little time", write_files, FILES_SHOWN, 250 * KIB},
    {"devices", "devices: some samples", write_devices, 500, 80 * KIB},
};

// The value as text; *len bytes.
static int section_text(struct page *page, const struct section *section, size_t most, char **text, size_t *len)
{
    FILE *out = open_memstream(text, len);
    RETURN_IF(!out, -ENOMEM);
    struct json_out *json = json_out_begin(out, 0);
    int code = -ENOMEM, written = 0;
    if (json) {
        json->tight = true;
        code = section->write(page, json, most);
        written = json_out_end(json);
    }
    if (fclose(out) && !written) written = -ENOMEM;
    return code < 0 ? code : written;
}

// As many members as will probably fit.
static size_t shorter(size_t most, size_t limit_bytes, size_t bytes)
{
    size_t fits = (size_t)((double)most * 0.9 * (double)limit_bytes / (double)bytes);
    return fits < most ? fits : most - 1;
}

static int write_section(struct page *page, const struct section *section, FILE *out)
{
    size_t most = section->most;
    for (;;) {
        char *text = NULL;
        size_t len = 0;
        int code = section_text(page, section, most, &text, &len);
        if (code == 0 && (len <= section->limit_bytes || !most))
            fprintf(out, ",\n\"%s\": %s", section->key, len <= section->limit_bytes ? text : "null");
        free(text);
        FORWARD(code);
        if (len <= section->limit_bytes || !most) break;
        most = shorter(most, section->limit_bytes, len);
    }
    return most < section->most ? text_list_add(&page->cut, "%s (at most %zu of each)", section->words, most) : 0;
}

// --- what is short

static void key_texts(struct json_out *json, const char *key, const struct text_list *texts)
{
    json_key(json, key);
    json_array(json);
    for (size_t i = 0; i < texts->count; i++) json_text(json, texts->text[i]);
    json_close(json);
}

static int write_summary(struct page *page, struct json_out *json, size_t most)
{
    const struct summary *summary = &page->collect.summary;
    uint64_t bytes = summary->bytes[0] + summary->bytes[1];
    double transfer = (double)summary->transfer_ns / 1e9;
    (void)most;
    json_object(json);
    key_texts(json, "sentences", &page->sentences);
    key_double_if(json, "io_share", summary->io_share >= 0, summary->io_share);
    key_seconds(json, "io_seconds", summary->io_mean_ns);
    key_seconds(json, "io_seconds_max", summary->io_most_ns);
    key_seconds(json, "run_seconds", summary->run_ns);
    key_number(json, "processes", summary->processes);
    key_number(json, "calls", summary->calls);
    key_number(json, "bytes_read", summary->bytes[0]);
    key_number(json, "bytes_written", summary->bytes[1]);
    key_double_if(json, "bandwidth", transfer > 0, transfer > 0 ? (double)bytes / transfer : 0);
    key_seconds(json, "transfer_seconds", summary->transfer_ns);
    key_texts(json, "not_captured", &page->not_captured);
    key_texts(json, "cut", &page->cut);
    json_close(json);
    return 0;
}

static int write_title(struct page *page, struct json_out *json, size_t most)
{
    enum { LONGEST = 200 };
    const struct log_strings *command = &log_job(page->source.log)->command;
    char title[LONGEST + 1] = "";
    size_t len = 0;
    (void)most;
    for (size_t i = 0; i < command->count && len < LONGEST; i++) {
        const char *word = command->word[i];
        const char *name = i ? NULL : strrchr(word, '/');
        int added = snprintf(title + len, sizeof title - len, "%s%s", i ? " " : "", name ? name + 1 : word);
        len = added < 0 || (size_t)added > LONGEST - len ? LONGEST : len + (size_t)added;
    }
    json_bytes(json, title, len);
    return 0;
}

static int write_log_name(struct page *page, struct json_out *json, size_t most)
{
    const char *path = page->source.path, *name = strrchr(path, '/');
    (void)most;
    json_text(json, name && name[1] ? name + 1 : path);
    return 0;
}

static void write_predictions(const struct page *page, FILE *out)
{
    fputs(",\n\"predictions\": [", out);
    for (size_t i = 0; i < page->predictions.count; i++)
        fprintf(out, "%s%s", i ? ",\n" : "", page->predictions.text[i]);
    fputc(']', out);
}

static const struct section title_section = {"title", "title", write_title, 0, 4 * KIB};
static const struct section log_section = {"log", "log", write_log_name, 0, 32 * KIB};
static const struct section summary_section = {"summary", "summary", write_summary, 0, 64 * KIB};

// As long as only the index has been read.
static int write_pending(struct page *page, double done, FILE *out)
{
    const struct timeline_window window = timeline_whole(page->source.log);
    FORWARD(summary_init(&page->collect.summary, page->source.log));
    summary_finish(&page->collect.summary);
    FORWARD(timeline_init(&page->collect.timeline, page->source.log, &window));
    FORWARD(timeline_from_index(&page->collect.timeline, page->source.log));
    FORWARD(info_gather_records(&page->info, &page->source));
    FORWARD(text_list_add(&page->sentences, "The log is being read: %s of its %s so far.", human_percent(done).text,
                          human_count(log_events(page->source.log), "event").text));
    fprintf(out, "{\"version\": 1, \"pending\": %.3f", done);
    FORWARD(write_section(page, &title_section, out));
    FORWARD(write_section(page, &log_section, out));
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        section_write *write = sections[i].write;
        if (write == write_job || write == write_timeline || write == write_devices) {
            FORWARD(write_section(page, &sections[i], out));
        } else {
            fprintf(out, ",\n\"%s\": null", sections[i].key);
        }
    }
    write_predictions(page, out);
    FORWARD(write_section(page, &summary_section, out));
    fputs("}\n", out);
    return ferror(out) ? -EIO : 0;
}

int page_pending_json(const struct info_source *source, double done, FILE *out)
{
    struct page page = {.source = *source};
    int code = write_pending(&page, done, out);
    page_free(&page);
    return code;
}

int page_json(struct page *page, FILE *out)
{
    fputs("{\"version\": 1", out);
    FORWARD(write_section(page, &title_section, out));
    FORWARD(write_section(page, &log_section, out));
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) FORWARD(write_section(page, &sections[i], out));
    write_predictions(page, out);
    FORWARD(write_section(page, &summary_section, out));
    fputs("}\n", out);
    return ferror(out) ? -errno : 0;
}
