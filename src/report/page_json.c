// Writes the report's document (doc/page.md) section by section. Each section has a limit in bytes. One that is longer
// is written again with shorter lists, and the summary, which comes last, says so.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/human.h"
#include "base/json_keys.h"
#include "base/scoped.h"
#include "report/page.h"
#include "report/phases_json.h"
#include "report/stack_json.h"

enum { KIB = 1024, NAME_BYTES = 100 * KIB };

// --- sections that only the page has; their lists have at most `most` members

static void write_title(const struct page *page, struct json_out *json) {
    enum { LONGEST = 200 };
    const struct log_strings *command = &log_job(page->source.log)->command;
    char title[LONGEST + 1] = "";
    size_t len = 0;
    for (size_t i = 0; i < command->count && len < LONGEST; i++) {
        const char *word = command->word[i], *slash = i ? NULL : strrchr(word, '/');
        int added = snprintf(title + len, sizeof title - len, "%s%s", i ? " " : "", slash ? slash + 1 : word);
        len = added < 0 || (size_t)added > LONGEST - len ? LONGEST : len + (size_t)added;
    }
    json_bytes(json, title, len);
}

static void evidence_json(const struct finding_evidence *evidence, struct json_out *json) {
    json_object(json);
    json_members(json, m_text("text", evidence->text), m_signed_if("phase", evidence->phase, evidence->phase),
                 m_text("file", evidence->file ? evidence->file->name : NULL));
    json_key(json, "ranks");
    if (evidence->ranks) {
        json_array(json);
        for (size_t i = 0; i < evidence->ranks; i++) json_signed(json, evidence->rank[i]);
        json_close(json);
    } else {
        json_null(json);
    }
    key_text(json, "line", evidence->line);
    json_close(json);
}

static void gain_json(const struct finding *finding, const struct finding_gain *gain, struct json_out *json) {
    bool known = !gain->reason;
    json_object(json);
    json_members(json, m_text("storage", gain->storage), m_text("variant", finding->variant),
                 m_double_if("seconds", known, gain->seconds), m_double_if("low", known, gain->low),
                 m_double_if("high", known, gain->high), m_text("reason", gain->reason));
    json_close(json);
}

static void finding_json(const struct finding *finding, struct json_out *json) {
    bool is_known = finding->gains && !finding->gain[0].reason; // here
    json_object(json);
    json_members(json, m_text("id", finding->id), m_text("title", finding->title), m_seconds("seconds", finding->ns),
                 m_text("basis", finding->basis), m_double_if("share", true, finding->share),
                 m_text("severity", finding_severity_name(finding->severity)));
    key_array(json, "evidence");
    for (size_t i = 0; i < finding->evidences; i++) evidence_json(&finding->evidence[i], json);
    json_close(json);
    json_members(json, m_text("reason", finding->reason), m_text("advice", finding->advice),
                 m_text("check", finding->command), m_text("command", finding->command),
                 m_double_if("predicted_seconds", is_known, is_known ? finding->gain[0].seconds : 0),
                 m_text("gain", finding->gain_text));
    key_array(json, "gains");
    for (size_t i = 0; i < finding->gains; i++) gain_json(finding, &finding->gain[i], json);
    json_close(json);
    json_close(json);
}

void page_findings_json(const struct page *page, struct json_out *json, size_t most) {
    json_array(json);
    for (size_t i = 0; i < page->findings.count && i < most; i++) finding_json(&page->findings.finding[i], json);
    json_close(json);
}

static void sample_json(int64_t start_ns, const struct device_sample *sample, struct json_out *json) {
    json_array_of(json, m_seconds(NULL, start_ns), m_seconds(NULL, (int64_t)sample->span_ns),
                  m_number(NULL, sample->count[DEVICE_SECTORS_READ] * DEVICE_SECTOR_BYTES),
                  m_number(NULL, sample->count[DEVICE_SECTORS_WRITTEN] * DEVICE_SECTOR_BYTES),
                  m_number(NULL, sample->count[DEVICE_READS]), m_number(NULL, sample->count[DEVICE_WRITES]),
                  m_double(NULL, device_utilisation(sample)), m_double(NULL, device_queue(sample)));
}

static void samples_json(const struct log_device *device, struct json_out *json, size_t most) {
    struct device_samples_in in = device->samples;
    struct device_sample sum = {0}, sample;
    size_t together = most ? (device->sample_count + most - 1) / most : 1, held = 0;
    int64_t start_ns = device->start_ns;
    while (most && device_samples_next(&in, &sample) > 0) {
        device_sample_add(&sum, &sample);
        if (++held < together) continue;
        sample_json(start_ns, &sum, json);
        start_ns += (int64_t)sum.span_ns;
        sum = (struct device_sample){0};
        held = 0;
    }
    if (held) sample_json(start_ns, &sum, json);
}

// What the devices under the files did while the job ran.
static void write_devices(const struct page *page, struct json_out *json, size_t most) {
    static const char *const column[] = {"start", "span",   "bytes_read",  "bytes_written",
                                         "reads", "writes", "utilisation", "queue"};
    const struct log *log = page->source.log;
    json_array(json);
    for (size_t i = 0; i < log_device_count(log); i++) {
        const struct log_device *device = log_device_at(log, i);
        json_object(json);
        summary_key_device(json, device);
        key_seconds(json, "start", device->start_ns);
        key_texts(json, "columns", column, sizeof column / sizeof column[0]);
        key_array(json, "samples");
        samples_json(device, json, most);
        json_close(json);
        json_close(json);
    }
    json_close(json);
}

// The processes by their places in charts; with MPI the place is the rank, which is name enough.
static int write_processes(const struct page *page, struct json_out *json, size_t most) {
    const struct process_places *places = &page->collect.files.places;
    const struct summary *summary = &page->summary;
    if (log_world_count(page->source.log)) {
        json_null(json);
        return 0;
    }
    SCOPED_FREE const struct log_process **process = calloc(places->count + 1, sizeof *process);
    RETURN_IF(!process, -ENOMEM);
    for (size_t i = 0; i < summary->row_count; i++) {
        if (summary->rows[i].counts) process[places->place[summary->rows[i].process->index]] = summary->rows[i].process;
    }
    json_array(json);
    for (size_t i = 0; i < places->count && i < most; i++)
        json_array_of(json, m_number_if(NULL, process[i], process[i] ? process[i]->pid : 0),
                      m_text(NULL, process[i] ? summary_program(process[i]) : NULL));
    json_close(json);
    return 0;
}

static void key_list(struct json_out *json, const char *key, const struct text_list *texts) {
    key_texts(json, key, (const char *const *)texts->text, texts->count);
}

static void write_summary(const struct page *page, struct json_out *json) {
    const struct summary_totals *totals = &page->summary.totals;
    uint64_t bytes = totals->bytes[0] + totals->bytes[1];
    double transfer = (double)page->collect.transfers.ns / 1e9;
    json_object(json);
    key_list(json, "sentences", &page->sentences);
    json_members(json, m_double_if("io_share", totals->io_share >= 0, totals->io_share),
                 m_seconds("io_seconds", totals->io_ns),
                 m_seconds_if("io_seconds_max", !page->summary.imported.is_shared,
                              totals->busiest ? summary_row_most_io_ns(totals->busiest) : 0),
                 m_seconds("run_seconds", totals->run_ns), m_number("processes", totals->processes),
                 m_number("calls", totals->calls), m_number("bytes_read", totals->bytes[0]),
                 m_number("bytes_written", totals->bytes[1]),
                 m_double_if("bandwidth", transfer > 0, transfer > 0 ? (double)bytes / transfer : 0),
                 m_seconds("transfer_seconds", page->collect.transfers.ns));
    key_list(json, "not_captured", &page->not_captured);
    key_list(json, "cut", &page->cut);
    json_close(json);
}

// --- the document

static const struct section {
    const char *key;
    enum {
        TITLE,
        LOG,
        FINDINGS,
        JOB,
        TIMELINE,
        PHASES,
        PROCESSES,
        SPACE,
        LAYERS,
        STACK,
        FILES,
        FILE_LIST,
        DEVICES,
        PREDICTIONS,
        SUMMARY
    } id;
    size_t most;
    size_t limit_bytes;
    bool in_index;   // known before the events are read
    const char *cut; // what is left out if the section is too long
} sections[] = {
    {"title", TITLE, 0, 4 * KIB, true, "title"},
    {"log", LOG, 0, 32 * KIB, true, "log"},
    {"findings", FINDINGS, 64, 100 * KIB, false, "findings: those with the least time"},
    {"job", JOB, 200, 200 * KIB, true, "job: its lists of processes, ranks and files"},
    {"timeline", TIMELINE, 12000, 600 * KIB, true, "timeline: its shortest pieces"},
    {"phases", PHASES, 500, 300 * KIB, false, "phases: those after the first ones, and the ranks of large ones"},
    {"processes", PROCESSES, 20000, 200 * KIB, false, "names of processes"},
    {"space", SPACE, SPACE_POINTS, 330 * KIB, false, "space: some of its points"},
    {"layers", LAYERS, 128, 200 * KIB, false, "layers: processes with little time, and trees of calls"},
    {"stack", STACK, 2000, 200 * KIB, false, "stack: trees of calls, and what is far down in them"},
    {"files", FILES, FILES_SHOWN, 250 * KIB, false, NULL},
    {"file_list", FILE_LIST, 5000, 500 * KIB, false, "files: the names of those with little time"},
    {"devices", DEVICES, 500, 80 * KIB, true, "devices: some samples"},
    {"predictions", PREDICTIONS, 0, 0, true, NULL},
    {"summary", SUMMARY, 0, 64 * KIB, true, "summary"},
};

struct section_part {
    struct page *page;
    const struct section *section;
    size_t most;
};

static int write_part(void *context, struct json_out *json) {
    const struct section_part *part = context;
    struct page *page = part->page;
    const struct model *model = page->has_model ? &page->model : NULL;
    size_t most = part->most;
    switch (part->section->id) {
    case TITLE: write_title(page, json); break;
    case LOG: json_text(json, page_base_name(page->source.path)); break;
    case FINDINGS: page_findings_json(page, json, most); break;
    case JOB: return summary_json(&page->summary, json, most);
    case TIMELINE: return timeline_json(&page->collect.timeline, json, most, NAME_BYTES);
    case PHASES:
        if (model) return phases_json(model, json, most);
        json_null(json);
        break;
    case PROCESSES: return write_processes(page, json, most);
    case SPACE: return space_json(&page->collect.space, &page->collect.files.places, model, json, most, NAME_BYTES);
    case LAYERS: return layers_json(&page->collect.layers, &page->summary.tree, json, most);
    case STACK: return stack_page_json(&page->summary.stack, json, most);
    case FILES: files_json(&page->collect.files, json, most); break;
    case FILE_LIST: return file_list_json(&page->collect.files, &page->summary, json, most);
    case DEVICES: write_devices(page, json, most); break;
    case PREDICTIONS: break; // JSON already: write_predictions
    case SUMMARY: write_summary(page, json); break;
    }
    return 0;
}

// As many members as will probably fit.
static size_t shorter(size_t most, size_t limit_bytes, size_t bytes) {
    size_t fits = (size_t)((double)most * 0.9 * (double)limit_bytes / (double)bytes);
    return fits < most ? fits : most - 1;
}

static int add_cut(struct page *page, const struct section *section, size_t shown) {
    const struct files *files = &page->collect.files;
    uint64_t left_out = files->left_out + (files->rows > shown ? files->rows - shown : 0);
    if (section->id != FILES)
        return shown < section->most
                   ? text_list_add(&page->cut, "%s; at most %s are shown", section->cut, human_count(shown, "").text)
                   : 0;
    return left_out
               ? text_list_add(&page->cut, "files: details of %s with little time", human_count(left_out, "file").text)
               : 0;
}

static int write_section(struct page *page, const struct section *section, FILE *out) {
    struct section_part part = {page, section, section->most};
    for (;;) {
        char *text;
        size_t len;
        FORWARD(json_out_memory(&text, &len, write_part, &part));
        bool fits = len <= section->limit_bytes, is_last = fits || !part.most;
        if (is_last) fputs(fits ? text : "null", out);
        free(text);
        if (is_last) break;
        part.most = shorter(part.most, section->limit_bytes, len);
    }
    return add_cut(page, section, part.most);
}

static void write_predictions(const struct page *page, FILE *out) {
    fputc('[', out);
    for (size_t i = 0; i < page->predictions.count; i++)
        fprintf(out, "%s%s", i ? ",\n" : "", page->predictions.text[i]);
    fputc(']', out);
}

int page_json(struct page *page, FILE *out) {
    fputs("{\"version\": 1", out);
    if (page->is_pending) fprintf(out, ", \"pending\": %.3f", page->done);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        const struct section *section = &sections[i];
        fprintf(out, ",\n\"%s\": ", section->key);
        if (page->is_pending && !section->in_index) {
            fputs("null", out);
        } else if (section->id == PREDICTIONS) {
            write_predictions(page, out);
        } else {
            FORWARD(write_section(page, section, out));
        }
    }
    fputs("}\n", out);
    return ferror(out) ? -errno : 0;
}

int page_json_memory(struct page *page, char **text, size_t *len) {
    *text = NULL;
    FILE *out = open_memstream(text, len);
    RETURN_IF(!out, -ENOMEM);
    int code = page_json(page, out);
    if (fclose(out) && !code) code = -ENOMEM;
    if (!code) return 0;
    free(*text);
    *text = NULL;
    return code;
}
