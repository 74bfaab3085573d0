// `ioseer doctor`: checks whether recording works here, and says how to repair it.
#include "doctor/doctor.h"

#include <string.h>

#include "base/json_keys.h"
#include "base/scoped.h"
#include "base/table.h"
#include "base/terminal.h"
#include "cli/option_rows.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "fmt/call.h"
#include "site/settings.h"

static struct {
    bool json;
    bool calls;
    bool settings;
    const char *output;
} options;

static const struct option_row rows[] = {
    {"calls", 0, OPTION_FLAG, &options.calls, NULL, "print the captured calls instead"},
    {"settings", 0, OPTION_FLAG, &options.settings, NULL,
     "print the settings of ioseer.conf and where they come from instead"},
    ROW_JSON(&options.json),
    ROW_OUTPUT(&options.output),
    {0},
};

// The other names of a call: those that are not its canonical one.
static const struct call_symbol *next_alias(const struct call_symbol *symbol, unsigned call) {
    for (; symbol->symbol; symbol++) {
        if (symbol->call == call && strcmp(symbol->symbol, call_names[call]) != 0) return symbol;
    }
    return NULL;
}

static void print_calls(FILE *out) {
    static const struct table_column columns[] = {
        {"OPERATION", TABLE_TEXT}, {"LAYER", TABLE_TEXT}, {"CLASS", TABLE_TEXT}, {"ALSO CALLED AS", TABLE_TEXT}, {0}};
    struct table table = table_begin(out, columns);
    for (unsigned call = 1; call < call_table_len; call++) {
        const struct call_info *info = &call_table[call];
        if (!call_names[call]) continue;
        table_text(&table, call_names[call]);
        table_text(&table, call_layer_name(info->layer));
        table_text(&table, call_class_name(info->class));
        table_text(&table, "");
        const struct call_symbol *first = next_alias(call_symbols, call), *alias = first;
        for (; alias; alias = next_alias(alias + 1, call))
            table_append(&table, "%s%s", alias == first ? "" : " ", alias->symbol);
        table_row(&table);
    }
    table_end(&table);
}

static void print_calls_json(struct json_out *json) {
    json_object(json);
    key_array(json, "calls");
    for (unsigned call = 1; call < call_table_len; call++) {
        const struct call_info *info = &call_table[call];
        if (!call_names[call]) continue;
        json_object(json);
        json_members(json, m_text("op", call_names[call]), m_text("layer", call_layer_name(info->layer)),
                     m_text("class", call_class_name(info->class)));
        key_array(json, "aliases");
        const struct call_symbol *alias = next_alias(call_symbols, call);
        for (; alias; alias = next_alias(alias + 1, call)) json_text(json, alias->symbol);
        json_close(json);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

static void print_checks_json(const struct doctor_check *checks, size_t count, struct json_out *json) {
    json_object(json);
    key_array(json, "checks");
    for (size_t i = 0; i < count; i++) {
        json_object_of(json, m_text("name", checks[i].name), m_bool("ok", checks[i].ok),
                       m_text("detail", checks[i].detail), m_text("fix", checks[i].fix));
    }
    json_close(json);
    json_close(json);
}

static void print_checks(const struct doctor_check *checks, size_t count, FILE *out) {
    for (size_t i = 0; i < count; i++) {
        const char *style = checks[i].ok ? "" : terminal_style(out, STYLE_BAD);
        fprintf(out, "%s%-4s%s  %-13s ", style, checks[i].ok ? "ok" : "FAIL",
                *style ? terminal_style(out, STYLE_NONE) : "", checks[i].name);
        human_print_name(out, checks[i].detail);
        if (checks[i].fix) fprintf(out, "\n      %-13s %s", "", checks[i].fix);
        fputc('\n', out);
    }
}

static void print_settings(const struct site_settings *settings, FILE *out) {
    static const struct table_column columns[] = {
        {"SETTING", TABLE_TEXT}, {"VALUE", TABLE_TEXT}, {"FROM", TABLE_TEXT}, {"MEANING", TABLE_TEXT}, {0}};
    struct table table = table_begin(out, columns);
    for (int i = 0; i < SITE_SETTINGS; i++) {
        table_text(&table, site_rows[i].key);
        table_text(&table, *settings->value[i] ? settings->value[i] : "-");
        table_text(&table, settings->source[i]);
        table_text(&table, site_rows[i].help);
        table_row(&table);
    }
    table_end(&table);
}

static void print_settings_json(const struct site_settings *settings, struct json_out *json) {
    json_object(json);
    key_array(json, "settings");
    for (int i = 0; i < SITE_SETTINGS; i++) {
        json_object_of(json, m_text("name", site_rows[i].key), m_text("kind", site_kind_names[site_rows[i].kind]),
                       m_text("value", settings->value[i]), m_text("default", site_rows[i].otherwise),
                       m_text("source", settings->source[i]), m_text("help", site_rows[i].help));
    }
    json_close(json);
    json_close(json);
}

static enum status show_settings(void) {
    SCOPED(site_settings_free) struct site_settings settings = {0};
    struct problem problem = {0};
    struct output output;
    int code = site_settings_read(&settings, &problem);
    if (code < 0) return cli_problem("doctor", "ioseer.conf", &problem, code);
    enum status status = output_open(&output, "doctor", options.output);
    if (status != STATUS_OK) return status;
    options.json ? print_settings_json(&settings, output_json(&output, 2)) : print_settings(&settings, output.out);
    return output_close(&output, false);
}

static enum status run(int argc, char **argv) {
    struct doctor_check checks[DOCTOR_MAX_CHECKS] = {0};
    struct output output;
    bool all_ok = true;
    size_t count = 0;
    if (argc > 2) return cli_usage("doctor", argv[2], "unexpected argument: give only one PROGRAM");
    if (options.settings && (argc > 1 || options.calls)) return cli_usage("doctor", "--settings", "takes no PROGRAM");
    if (options.settings) return show_settings();
    if (options.calls && argc > 1) return cli_usage("doctor", argv[1], "--calls takes no PROGRAM");
    if (!options.calls) count = doctor_run(checks, argv[1]);
    for (size_t i = 0; i < count; i++) all_ok = all_ok && checks[i].ok;
    enum status status = output_open(&output, "doctor", options.output);
    if (status != STATUS_OK) return status;
    if (options.calls) {
        options.json ? print_calls_json(output_json(&output, 2)) : print_calls(output.out);
    } else {
        options.json ? print_checks_json(checks, count, output_json(&output, 2))
                     : print_checks(checks, count, output.out);
    }
    status = output_close(&output, false);
    return status == STATUS_OK && !all_ok ? STATUS_FAILURE : status;
}

const struct verb verb_doctor = {
    .name = "doctor",
    .summary = "check whether recording works here",
    .usage = "[OPTION]... [PROGRAM]",
    .about =
        "Checks whether ioseer can record on this machine (and PROGRAM, if given), and says how to repair what does\n"
        "not work. With --calls, prints the captured calls instead.",
    .options = rows,
    .run = run,
};
