// What `record` or ioseer.conf tell the recorder: through the environment, else from the files themselves.
#include "base/settings.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/preload.h"
#include "rec/fixed_text.h"
#include "rec/memory.h"
#include "rec/recorder.h"
#include "rec/triggers.h"

// libc does not know its environment yet when functions in a program's .preinit_array run, such as a sanitizer's start.
// The kernel has put it behind the program's arguments.
char **recorder_environment(void) {
    extern void *__libc_stack_end;
    if (environ) return environ;
    const long *count = __libc_stack_end;
    return (char **)(count + 1 + *count + 1);
}

char *recorder_variable(const char *name) {
    size_t len = strlen(name);
    for (char **at = recorder_environment(); *at; at++) {
        if (**at == *name && strncmp(*at, name, len) == 0 && (*at)[len] == '=') return *at + len + 1;
    }
    return NULL;
}

// --- ioseer.conf: the user's, then the site's

static struct {
    char *text;
    size_t len;
} conf[2];

static void read_conf(const char *path, unsigned place) {
    enum { MOST_BYTES = 64 << 10 };
    long fd = cpu_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return;
    char *text = memory_alloc(MOST_BYTES);
    long len = text ? cpu_syscall(SYS_read, fd, text, MOST_BYTES) : 0;
    cpu_syscall(SYS_close, fd);
    if (len <= 0) return;
    conf[place].text = text;
    conf[place].len = (size_t)len;
}

static void read_confs(void) {
    char path[PATH_MAX];
    struct fixed_text text = {path, sizeof path, 0};
    const char *folder = recorder_variable("XDG_CONFIG_HOME"), *home = recorder_variable("HOME"),
               *site = recorder_variable(SETTING_CONF);
    fixed_text_add(&text, folder && *folder ? folder : home ? home : "");
    fixed_text_add(&text, folder && *folder ? "/ioseer/ioseer.conf" : "/.config/ioseer/ioseer.conf");
    if (path[0] == '/' && text.len < sizeof path - 1) read_conf(path, 0);
    read_conf(site && *site ? site : IOSEER_CONF, 1);
}

// "IOSEER_LOG_DIR" -> "log_dir"
static void key_of(const char *name, char key[64]) {
    size_t len = 0;
    for (name += strlen("IOSEER_"); *name && len < 63; name++) {
        key[len++] = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
    }
    key[len] = 0;
}

// --- values

const char *recorder_export(const char *name, const char *value, size_t value_len) {
    size_t name_len = strlen(name);
    char *copy = memory_alloc(name_len + value_len + 2);
    unsigned at = 0;
    while (at < recorder.settings &&
           (strncmp(recorder.setting[at], name, name_len) || recorder.setting[at][name_len] != '='))
        at++;
    if (!copy || at == RECORDER_SETTINGS) return NULL;
    memcpy(copy, name, name_len);
    copy[name_len] = '=';
    memcpy(copy + name_len + 1, value, value_len);
    copy[name_len + 1 + value_len] = 0;
    recorder.setting[at] = copy;
    if (at == recorder.settings) recorder.settings++;
    return copy + name_len + 1;
}

const char *recorder_setting(const char *name) {
    const char *value = recorder_variable(name);
    char key[64];
    struct conf_line line;
    if (value && *value) return recorder_export(name, value, strlen(value));
    key_of(name, key);
    for (unsigned i = 0; i < 2; i++) {
        if (conf[i].text && conf_find(conf[i].text, conf[i].text + conf[i].len, key, &line) && line.value_len)
            return recorder_export(name, line.value, line.value_len);
    }
    return NULL;
}

static const char *default_of(const char *name) {
    static const char *const defaults[][2] = {
#define SETTING(NAME, key, kind, otherwise, help) {"IOSEER_" #NAME, otherwise},
#include "base/settings.def"
#undef SETTING
    };
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        if (!strcmp(defaults[i][0], name)) return defaults[i][1];
    }
    return NULL;
}

uint64_t recorder_number(const char *name) {
    const char *text = recorder_setting(name);
    return recorder_number_of(text ? text : default_of(name));
}

uint64_t recorder_number_of(const char *text) {
    uint64_t value = 0;
    if (!text) return 0;
    for (; *text >= '0' && *text <= '9'; text++) value = value * 10 + (uint64_t)(*text - '0');
    unsigned shift = *text == 'k' ? 10 : *text == 'M' ? 20 : *text == 'G' ? 30 : 0;
    return value << shift;
}

// "1.5ms"; without a unit: seconds.
static uint64_t duration_of(const char *text) {
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"min", 60e9}, {"h", 3600e9}};
    double value = 0, place = 1;
    bool is_fraction = false;
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && !is_fraction); text++) {
        if (*text == '.')
            is_fraction = true;
        else
            value = value * 10 + (*text - '0');
        if (is_fraction && *text != '.') place *= 10;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double ns = value / place * units[i].ns;
        if (!strcmp(text, units[i].name)) return ns < 1e18 ? (uint64_t)ns : UINT64_C(1000000000000000000);
    }
    return 0;
}

uint64_t recorder_duration_ns(const char *name) {
    const char *text = recorder_setting(name);
    return text ? duration_of(text) : 0;
}

// All lines of the files and of the environment, because lists add up.
static const char *list_setting(const char *name) {
    enum { MOST_BYTES = 16 << 10 };
    const char *given = recorder_variable(name);
    char key[64], *room = given || conf[0].text || conf[1].text ? memory_alloc(MOST_BYTES) : NULL;
    if (!room) return NULL;
    struct fixed_text all = {room, MOST_BYTES, 0};
    room[0] = 0;
    if (given) fixed_text_add(&all, given);
    key_of(name, key);
    for (unsigned i = 0; i < 2; i++) {
        const char *at = conf[i].text, *end = at + conf[i].len;
        struct conf_line line;
        unsigned number = 0;
        while (at && conf_next(&at, end, &number, &line)) {
            if (line.key_len != strlen(key) || memcmp(line.key, key, line.key_len) != 0) continue;
            if (all.len) fixed_text_add(&all, "\n");
            fixed_text_bytes(&all, line.value, line.value_len);
        }
    }
    return all.len ? recorder_export(name, room, all.len) : NULL;
}

// One pattern per line. The setting itself must stay whole for exec, so a copy is cut into lines.
void recorder_patterns(const char *name, const char **patterns) {
    const char *text = list_setting(name);
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

// The defaults of base/settings.def are for jobs without `record`.
static uint64_t cap(const char *name, uint64_t of_record) {
    bool is_recorded = recorder.job && !recorder_variable(SETTING_JOB_KEY);
    return is_recorded && !recorder_variable(name) ? of_record : recorder_number(name);
}

void recorder_read_settings(void) {
    recorder.job = recorder_setting(SETTING_JOB);
    if (!recorder.job) read_confs();
    recorder.library = recorder_setting(SETTING_LIBRARY);
    recorder.follower = recorder_setting(SETTING_FOLLOWER);
    recorder_setting(SETTING_SPILL_VERSION); // for exec
    triggers_read();
    recorder.trace_cap = cap(SETTING_TRACE_CAP, SETTING_DEFAULT_TRACE_CAP);
    if (triggers_exist() && !recorder_setting(SETTING_TRACE_CAP) && !recorder.trace_cap)
        recorder.trace_cap = SETTING_TRIGGERED_TRACE_CAP;
    recorder_setting(SETTING_JOB_START);
    recorder.file_cap = cap(SETTING_FILE_CAP, SETTING_DEFAULT_FILE_CAP);
    recorder.directory_cap = cap(SETTING_DIRECTORY_CAP, SETTING_DEFAULT_DIRECTORY_CAP);
    recorder.counter_cap = cap(SETTING_COUNTER_CAP, SETTING_DEFAULT_COUNTER_CAP);
    recorder.unwanted_layers = (uint32_t)recorder_number(SETTING_UNWANTED_LAYERS);
    recorder.unwanted_classes = (uint32_t)recorder_number(SETTING_UNWANTED_CLASSES);
    recorder.callsites = recorder_number(SETTING_CALLSITES) != 0;
    recorder_patterns(SETTING_INCLUDE, recorder.include);
    recorder_patterns(SETTING_EXCLUDE, recorder.exclude);
    char *preload = recorder_variable("LD_PRELOAD");
    if (preload && recorder.library) preload_forget_runtime(preload, recorder.library);
}

uint64_t recorder_limit(int which) {
    struct rlimit limit;
    long code = cpu_syscall(SYS_prlimit64, 0, which, 0, &limit);
    return code < 0 || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}
