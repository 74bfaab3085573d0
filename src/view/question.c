#include "view/question.h"

#include "base/err.h"
#include "base/json_keys.h"
#include "query/query.h"

static int write_statement(void *context, struct json_out *json) {
    static const char *const units[] = {[QUERY_SECONDS] = "seconds",
                                        [QUERY_BYTES_PER_SECOND] = "bytes per second",
                                        [QUERY_JOULES] = "joules",
                                        [QUERY_CALLS] = "calls"};
    const struct query_statement *statement = context;
    json_object_of(json, m_text("sql", statement->text), m_text("chart", statement->chart),
                   m_bool("stacked", statement->is_stacked), m_text("unit", units[statement->unit]),
                   m_text("note", statement->note));
    return 0;
}

int view_question(const struct log *log, const char *text, struct view_answer *answer) {
    struct query query;
    struct query_error error;
    struct query_statement statement;
    int code = query_parse(&query, text, &error);
    if (code < 0) return view_failure(answer, code, error.why, (int)error.at);
    code = query_to_sql(&statement, &query, log);
    if (code == 0) code = json_out_memory(&answer->text, &answer->len, write_statement, &statement);
    query_statement_free(&statement);
    return code;
}
