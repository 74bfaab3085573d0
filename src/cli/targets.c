#include "cli/targets.h"

#include <unistd.h>

#include "cli/output.h"

bool targets_show(const struct target_options *targets) { return !targets->quiet && isatty(STDERR_FILENO); }

enum status targets_check(const struct target_options *targets, const char *verb, int argc, char **argv,
                          uint32_t *cache) {
    struct problem problem = {0};
    if (argc != 2) return cli_usage(verb, "MODEL|LOG", argc < 2 ? "is missing" : "give only one");
    if (!targets->on.count && !targets->system.count) return cli_usage(verb, "--on or --system", "is missing");
    int code = replay_check_options(targets->cache, targets->repeat, targets->np, cache, &problem);
    if (code < 0) return cli_problem(verb, argv[1], &problem, code);
    return output_check(verb, targets->output);
}

enum status targets_open(const struct target_options *targets, const char *verb, const char *name,
                         struct argument *argument) {
    enum status status = argument_open_model(argument, verb, name, &targets->model);
    if (status == STATUS_OK && !targets->quiet) argument_warn(argument);
    return status;
}
