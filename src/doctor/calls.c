// `ioseer doctor --calls`: what is captured, from the generated tables.
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "doctor/doctor.h"
#include "fmt/call.h"

// The other names of a call: those that are not its canonical one.
static const struct call_symbol *next_alias(const struct call_symbol *symbol, unsigned call)
{
    for (; symbol->symbol; symbol++) {
        if (symbol->call == call && strcmp(symbol->symbol, call_table[call].name) != 0) return symbol;
    }
    return NULL;
}

int doctor_calls_text(FILE *out)
{
    fprintf(out, "%-24s %-8s %-6s %s\n", "OPERATION", "LAYER", "CLASS", "ALSO CALLED AS");
    for (unsigned call = 1; call < call_table_len; call++) {
        const struct call_info *info = &call_table[call];
        if (!info->name) continue;
        fprintf(out, "%-24s %-8s %s", info->name, call_layer_name(info->layer), call_class_name(info->class));
        const struct call_symbol *alias = next_alias(call_symbols, call);
        if (alias) fprintf(out, "%*s", 6 - (int)strlen(call_class_name(info->class)), "");
        for (; alias; alias = next_alias(alias + 1, call)) fprintf(out, " %s", alias->symbol);
        fputc('\n', out);
    }
    return 0;
}

int doctor_calls_json(FILE *out)
{
    struct json_out *json = json_out_begin(out, 2);
    RETURN_IF(!json, -ENOMEM);
    json_object(json);
    json_key(json, "calls");
    json_array(json);
    for (unsigned call = 1; call < call_table_len; call++) {
        const struct call_info *info = &call_table[call];
        if (!info->name) continue;
        json_object(json);
        key_text(json, "op", info->name);
        key_text(json, "layer", call_layer_name(info->layer));
        key_text(json, "class", call_class_name(info->class));
        json_key(json, "aliases");
        json_array(json);
        const struct call_symbol *alias = next_alias(call_symbols, call);
        for (; alias; alias = next_alias(alias + 1, call)) json_text(json, alias->symbol);
        json_close(json);
        json_close(json);
    }
    json_close(json);
    json_close(json);
    return json_out_end(json);
}
