// What `record` tells the recorder through the environment.
#include "base/settings.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/preload.h"
#include "rec/memory.h"
#include "rec/recorder.h"

// libc does not know its environment yet when functions in a program's .preinit_array run, such as a sanitizer's start.
// The kernel has put it behind the program's arguments.
static char **environment(void) {
    extern void *__libc_stack_end;
    if (environ) return environ;
    const long *count = __libc_stack_end;
    return (char **)(count + 1 + *count + 1);
}

static char *variable(const char *name) {
    size_t len = strlen(name);
    for (char **at = environment(); *at; at++) {
        if (strncmp(*at, name, len) == 0 && (*at)[len] == '=') return *at + len + 1;
    }
    return NULL;
}

static const char *setting(const char *name) {
    const char *value = variable(name);
    if (!value || !*value) return NULL;
    size_t name_len = strlen(name), value_len = strlen(value);
    char *copy = memory_alloc(name_len + value_len + 2);
    if (!copy || recorder.settings == RECORDER_SETTINGS) return NULL;
    memcpy(copy, name, name_len);
    copy[name_len] = '=';
    memcpy(copy + name_len + 1, value, value_len + 1);
    recorder.setting[recorder.settings++] = copy;
    return copy + name_len + 1;
}

static uint64_t number_setting(const char *name, uint64_t otherwise) {
    const char *text = setting(name);
    if (!text) return otherwise;
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++) value = value * 10 + (uint64_t)(*text - '0');
    return value;
}

// One pattern per line. The setting itself must stay whole for exec, so a copy is cut into lines.
static void read_patterns(const char *name, const char **patterns) {
    const char *text = setting(name);
    size_t bytes = text ? strlen(text) + 1 : 0;
    char *line = text ? memory_alloc(bytes) : NULL;
    if (!line) return;
    memcpy(line, text, bytes);
    for (unsigned count = 0; line && *line && count < RECORDER_PATTERNS - 1;) {
        char *end = strchr(line, '\n');
        if (end) *end++ = 0;
        if (*line) patterns[count++] = line;
        line = end;
    }
}

void recorder_read_settings(void) {
    recorder.job = setting(SETTING_JOB);
    recorder.library = setting(SETTING_LIBRARY);
    recorder.follower = setting(SETTING_FOLLOWER);
    recorder.trace_cap = number_setting(SETTING_TRACE_CAP, SETTING_DEFAULT_TRACE_CAP);
    recorder.file_cap = number_setting(SETTING_FILE_CAP, SETTING_DEFAULT_FILE_CAP);
    recorder.callsites = number_setting(SETTING_CALLSITES, 0) != 0;
    read_patterns(SETTING_INCLUDE, recorder.include);
    read_patterns(SETTING_EXCLUDE, recorder.exclude);
    char *preload = variable("LD_PRELOAD");
    if (preload && recorder.library) preload_forget_runtime(preload, recorder.library);
}

uint64_t recorder_limit(int which) {
    struct rlimit limit;
    long code = cpu_syscall(SYS_prlimit64, 0, which, 0, &limit);
    return code < 0 || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}
