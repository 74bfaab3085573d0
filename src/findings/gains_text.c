// Gains in words, and the profiles that they may be for.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "findings/find.h"

static void print_gain(FILE *out, const struct finding_gain *gain, bool first) {
    fprintf(out, "%s%s they would ", first ? ": " : ", ", gain->where);
    if (gain->low > 0)
        fprintf(out, "save %s", human_time(gain->seconds).text);
    else if (gain->high < 0)
        fprintf(out, "cost %s more", human_time(-gain->seconds).text);
    else
        fputs("make no clear difference", out);
}

static void print_unknown(FILE *out, const struct finding_gain *gain) {
    fprintf(out, " What they would do %s is not known: %s.", gain->where, gain->reason);
}

const char *find_gain_text(struct findings *findings, const struct finding *finding, const char *subject) {
    char *text = NULL;
    size_t len = 0, known = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out) return NULL;
    for (size_t i = 0; i < finding->gains; i++) {
        if (finding->gain[i].reason) continue;
        if (!known) fputs(subject, out);
        print_gain(out, &finding->gain[i], !known++);
    }
    if (known) fputc('.', out);
    // If nothing is known, all have the same reason.
    if (!known) fprintf(out, "%s: what they would gain is not known: %s.", subject, finding->gain[0].reason);
    for (size_t i = 0; known && i < finding->gains; i++) {
        if (finding->gain[i].reason) print_unknown(out, &finding->gain[i]);
    }
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text_list_take(&findings->texts, text) < 0 ? NULL : text;
}

// --- profiles

int finding_profiles_add(struct finding_profiles *profiles, const char *path, struct problem *problem) {
    struct json_in_error error;
    struct finding_profile profile = {.path = strdup(path)};
    if (!profile.path) return problem_code(problem, -ENOMEM, path);
    int code = system_read(&profile.system, path, &error);
    if (code < 0) {
        free(profile.path);
        return problem_json(problem, code, path, &error);
    }
    code = array_push(profiles->item, profiles->count, profile);
    return code < 0 ? problem_code(problem, code, path) : 0;
}

void finding_profiles_free(struct finding_profiles *profiles) {
    for (size_t i = 0; i < profiles->count; i++) {
        free(profiles->item[i].path);
        system_free(&profiles->item[i].system);
    }
    free(profiles->item);
    *profiles = (struct finding_profiles){0};
}
