#include "rec/triggers.h"

#include <limits.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/glob.h"
#include "base/settings.h"
#include "rec/asking.h"
#include "rec/event_clock.h"

static struct {
    const char *files[RECORDER_PATTERNS];
    const char *programs[RECORDER_PATTERNS];
    const char *ranks; // "0,4-7", or NULL
    uint64_t smaller;  // bytes; 0: not set, as for all that follow
    uint64_t slower_ns;
    uint64_t from_ns; // since the job's start
    uint64_t for_ns;
    uint64_t one_job_in;
} trigger;

PER_PROCESS static _Atomic bool rank_is_chosen;
PER_PROCESS static uint64_t window_begin_ns, window_end_ns; // since the epoch

// --- settings

void triggers_read(void) {
    recorder_patterns(SETTING_TRACE_FILE, trigger.files);
    recorder_patterns(SETTING_TRACE_PROGRAM, trigger.programs);
    trigger.ranks = recorder_setting(SETTING_TRACE_RANK);
    trigger.smaller = recorder_number(SETTING_TRACE_SMALLER);
    trigger.slower_ns = recorder_duration_ns(SETTING_TRACE_SLOWER);
    trigger.from_ns = recorder_duration_ns(SETTING_TRACE_FROM);
    trigger.for_ns = recorder_duration_ns(SETTING_TRACE_FOR);
    trigger.one_job_in = recorder_number(SETTING_TRACE_SAMPLE);
}

static bool chooses_calls(void) {
    return trigger.files[0] || trigger.ranks || trigger.smaller || trigger.slower_ns || trigger.from_ns ||
           trigger.for_ns;
}

bool triggers_exist(void) { return chooses_calls() || trigger.programs[0] || trigger.one_job_in > 1; }

static bool is_in(const char *const *patterns, const char *text) {
    while (*patterns && !glob_match(*patterns, text)) patterns++;
    return *patterns;
}

// --- the process

static bool is_chosen_program(void) {
    static char path[PATH_MAX];
    if (!trigger.programs[0]) return true;
    long len = cpu_syscall(SYS_readlinkat, AT_FDCWD, ask_path("/exe").text, path, sizeof path - 1);
    path[len > 0 ? len : 0] = 0;
    return is_in(trigger.programs, path);
}

// All processes of a job have the same directory, and each job has another one.
static bool is_chosen_job(void) {
    uint64_t hash = 1469598103934665603u;
    if (trigger.one_job_in <= 1) return true;
    for (const char *at = recorder.job; *at; at++) hash = (hash ^ (uint8_t)*at) * 1099511628211u;
    return (hash ^ hash >> 32) % trigger.one_job_in == 0;
}

static void open_window(void) {
    uint64_t start_ns = recorder_number(SETTING_JOB_START);
    window_begin_ns = (start_ns ? start_ns : clock_ns(CLOCK_REALTIME)) + trigger.from_ns;
    window_end_ns = trigger.for_ns ? window_begin_ns + trigger.for_ns : UINT64_MAX;
}

void triggers_begin(void) {
    if (!recorder.job || !recorder.trace_cap) return;
    if (!is_chosen_program() || !is_chosen_job()) {
        recorder.trace_cap = 0;
        return;
    }
    recorder.selects = chooses_calls();
    open_window();
}

void triggers_note_rank(int rank) {
    const char *at = trigger.ranks;
    while (at && *at) {
        uint64_t first = recorder_number_of(at), last = first;
        at += strspn(at, "0123456789");
        if (*at == '-') {
            last = recorder_number_of(++at);
            at += strspn(at, "0123456789");
        }
        if (rank >= 0 && (uint64_t)rank >= first && (uint64_t)rank <= last) atomic_store(&rank_is_chosen, true);
        if (*at++ != ',') return;
    }
}

// --- calls

bool triggers_are_on(void) {
    if (trigger.ranks && !atomic_load_explicit(&rank_is_chosen, memory_order_relaxed)) return false;
    if (!trigger.from_ns && !trigger.for_ns) return true;
    uint64_t now_ns = clock_ns(CLOCK_REALTIME);
    return now_ns >= window_begin_ns && now_ns < window_end_ns;
}

static bool is_chosen_file(struct file *file) {
    enum { UNDECIDED, CHOSEN, PASSED_OVER };
    if (!file) return false;
    uint32_t is = atomic_load_explicit(&file->choice, memory_order_relaxed);
    if (is == UNDECIDED) {
        is = is_in(trigger.files, file->name) ? CHOSEN : PASSED_OVER;
        atomic_store_explicit(&file->choice, is, memory_order_relaxed);
    }
    return is == CHOSEN;
}

static bool is_small(const struct emission *e) {
    const struct call_info *call = &call_table[e->event.call];
    bool is_access = call->class == CLASS_READ || call->class == CLASS_WRITE;
    return trigger.smaller && is_access && call->traits & CALL_TRANSFERS && e->event.size < trigger.smaller;
}

// How fast the processor's counter is becomes clear while the process runs.
static uint64_t slow_units(void) {
    enum { LONG_ENOUGH_NS = 100000000 };
    PER_PROCESS static _Atomic uint64_t known;
    uint64_t units = atomic_load_explicit(&known, memory_order_relaxed);
    if (units) return units;
    if (event_clock_uses_ns) return trigger.slower_ns >> EVENT_CLOCK_NS_SHIFT;
    const struct spill_moment *start = &recorder.spill->start, now = event_clock_moment();
    uint64_t elapsed_ns = now.mono_ns - start->mono_ns;
    double rate = elapsed_ns ? (double)(now.units - start->units) / (double)elapsed_ns : 1;
    units = (uint64_t)((double)trigger.slower_ns * rate) + 1;
    if (elapsed_ns > LONG_ENOUGH_NS) atomic_store_explicit(&known, units, memory_order_relaxed);
    return units;
}

static bool is_slow(const struct emission *e) {
    return trigger.slower_ns && e->event.end - e->event.start >= slow_units();
}

bool triggers_choose(const struct emission *e) {
    if (!triggers_are_on()) return false;
    if (trigger.files[0] && !is_chosen_file(e->file) && !is_chosen_file(e->file2)) return false;
    return (!trigger.smaller && !trigger.slower_ns) || is_small(e) || is_slow(e);
}
