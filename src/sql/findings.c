// The table of findings, as `ioseer report --json` has them.
#include "report/page.h"
#include "sql/document.h"

static const struct sql_column columns[] = {
    {"id", SQL_TEXT, "which finding", true},
    {"title", SQL_TEXT, "in words", true},
    {"severity", SQL_TEXT, "high, medium or low", true},
    {"seconds", SQL_REAL, "at stake; no second is in two findings", true},
    {"share", SQL_REAL, "of the run time, 0 to 1", true},
    {"basis", SQL_TEXT, "what the seconds are compared with", true},
    {"reason", SQL_TEXT, "why this costs time", true},
    {"advice", SQL_TEXT, "what to do", true},
    {"command", SQL_TEXT, "that shows the calls", true},
    {"evidence", SQL_TEXT, "JSON list of what was seen: text, phase, file, line, ranks", true},
    {0},
};

static int write_findings(void *page, struct json_out *json) {
    json_object(json);
    json_key(json, "findings");
    page_findings_json(page, json, SIZE_MAX);
    json_close(json);
    return 0;
}

static int gather(struct sql_bound *bound, uint64_t set) {
    struct page page;
    (void)set;
    if (bound->data) return 0;
    int code = page_gather(&page, sql_source(bound->sql), NULL);
    const struct document_rows rows = {.list = "findings"};
    if (code == 0) code = document_gather(bound, &rows, write_findings, &page);
    page_free(&page);
    return code;
}

const struct sql_table sql_table_findings = {
    .about = {"findings", "what is wrong with the I/O, the worst first, as report --json prints it", columns},
    .gather = gather,
    .value = document_value,
    .free = document_free,
};
