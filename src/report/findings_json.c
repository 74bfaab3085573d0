#include "report/findings_json.h"

#include "base/json_keys.h"

static void evidence_json(const struct finding_evidence *evidence, struct json_out *json)
{
    json_object(json);
    key_text(json, "text", evidence->text);
    key_signed_if(json, "phase", evidence->phase, evidence->phase);
    key_text(json, "file", evidence->file ? evidence->file->name : NULL);
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
    key_text(json, "id", finding->id);
    key_text(json, "title", finding->title);
    key_seconds(json, "seconds", finding->ns);
    key_text(json, "basis", finding->basis);
    key_double_if(json, "share", true, finding->share);
    key_text(json, "severity", finding_severity_name(finding->severity));
    key_array(json, "evidence");
    for (size_t i = 0; i < finding->evidences; i++) evidence_json(&finding->evidence[i], json);
    json_close(json);
    key_text(json, "reason", finding->reason);
    key_text(json, "advice", finding->advice);
    key_text(json, "command", finding->command);
    key_null(json, "predicted_seconds");
    json_close(json);
}

void findings_json(const struct findings *findings, struct json_out *json, size_t most)
{
    json_array(json);
    for (size_t i = 0; i < findings->count && i < most; i++) finding_json(&findings->finding[i], json);
    json_close(json);
}
