#include "report/findings_json.h"

#include "base/json_keys.h"

static void evidence_json(const struct finding_evidence *evidence, struct json_out *json)
{
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

static void finding_json(const struct finding *finding, struct json_out *json)
{
    json_object(json);
    json_members(json, m_text("id", finding->id), m_text("title", finding->title), m_seconds("seconds", finding->ns),
                 m_text("basis", finding->basis), m_double_if("share", true, finding->share),
                 m_text("severity", finding_severity_name(finding->severity)));
    key_array(json, "evidence");
    for (size_t i = 0; i < finding->evidences; i++) evidence_json(&finding->evidence[i], json);
    json_close(json);
    json_members(json, m_text("reason", finding->reason), m_text("advice", finding->advice),
                 m_text("command", finding->command), m_null("predicted_seconds"));
    json_close(json);
}

void findings_json(const struct findings *findings, struct json_out *json, size_t most)
{
    json_array(json);
    for (size_t i = 0; i < findings->count && i < most; i++) finding_json(&findings->finding[i], json);
    json_close(json);
}
