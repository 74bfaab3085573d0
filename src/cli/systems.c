#include "cli/systems.h"

enum status systems_read(const char *verb, const struct option_list *paths, struct finding_profiles *profiles) {
    struct problem problem = {0};
    int code = 0;
    for (size_t i = 0; i < paths->count && !code; i++) code = finding_profiles_add(profiles, paths->item[i], &problem);
    if (!code) return STATUS_OK;
    finding_profiles_free(profiles);
    return cli_problem(verb, paths->item[0], &problem, code);
}
