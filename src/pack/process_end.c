// How each process ended: what it said itself, else what was seen of it from outside.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pack/private.h"

#define NS_PER_SECOND INT64_C(1000000000)

static void take_own_word(struct pack_process *process)
{
    const struct spill_header *header = &process->spill.header;
    uint32_t said = header->exit;
    bool ended = said == EXIT_CLEAN || said == EXIT_UNDERSCORE || said == EXIT_EXEC || said == EXIT_SIGNAL;
    process->exit = ended ? (enum process_exit)said : EXIT_UNKNOWN;
    process->exit_value = header->exit_value;
    process->end_known = ended;
    process->end_mono_ns = header->latest.mono_ns;
    process->chars_known = header->chars_known == 3;
    for (unsigned way = 0; way < 2; way++) {
        uint64_t counted = header->chars_end[way] - header->chars_start[way];
        if (process->chars_known && counted <= INT64_MAX) process->chars[way] = counted;
    }
}

// A process that ends by itself notes how, but not with which value, and it can still be killed while it does so.
static void take_status(struct pack_process *process, int status)
{
    if (process->exit != EXIT_UNKNOWN && process->exit != EXIT_CLEAN) return;
    if (WIFSIGNALED(status)) {
        process->exit = EXIT_SIGNAL;
        process->exit_value = (uint32_t)WTERMSIG(status);
    } else if (WIFEXITED(status)) {
        if (process->exit == EXIT_UNKNOWN) process->exit = EXIT_UNDERSCORE;
        process->exit_value = (uint32_t)WEXITSTATUS(status);
    }
}

static void take_reaped(struct pack_process *process, const struct pack_child *child)
{
    const struct spill_header *header = &process->spill.header;
    take_status(process, child->status);
    if (!process->end_known) {
        process->end_known = true;
        process->end_mono_ns = child->mono_ns;
    }
    bool start_known = header->chars_known & 1;
    if (process->chars_known || !start_known || !child->chars_known || process->exit == EXIT_EXEC) return;
    process->chars_known = true;
    for (unsigned way = 0; way < 2; way++) {
        uint64_t before = header->chars_start[way];
        process->chars[way] = child->chars[way] > before ? child->chars[way] - before : 0;
    }
}

// Process numbers come round again: the one that is meant began before the moment, and last of those.
static struct pack_process *find_before(struct pack *pack, const struct lookup *last, uint32_t pid, uint64_t mono_ns)
{
    uint32_t place = lookup_find(last, pack_process_key(pack, pack->host, pid));
    while (place != LOOKUP_NONE) {
        struct pack_process *process = &pack->process[place];
        if (process->is_local && process->spill.header.start.mono_ns <= mono_ns) return process;
        place = process->same_pid;
    }
    return NULL;
}

static void take_child_end(struct pack *pack, const struct lookup *last, const struct pack_child_end *end)
{
    const struct pack_process *parent = &pack->process[end->parent - 1];
    uint32_t place = lookup_find(last, pack_process_key(pack, parent->host, end->pid));
    for (; place != LOOKUP_NONE; place = pack->process[place].same_pid) {
        struct pack_process *process = &pack->process[place];
        if (process->spill.header.ppid != parent->spill.header.pid) continue;
        take_status(process, end->status);
        return;
    }
}

// When a process that is there now was started, on CLOCK_MONOTONIC; negative where there is none or it is a zombie.
static int64_t started_at(uint32_t pid)
{
    char name[64];
    char line[1024];
    snprintf(name, sizeof name, "/proc/%u/stat", (unsigned)pid);
    FILE *file = fopen(name, "re");
    if (!file) return -1;
    size_t len = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[len] = 0;
    // The program's name may hold anything; the rest follows its last parenthesis.
    const char *rest = strrchr(line, ')');
    char state;
    unsigned long long ticks;
    if (!rest || sscanf(rest + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                        &state, &ticks) != 2) {
        return -1;
    }
    if (state == 'Z' || state == 'X') return -1;
    struct timespec boot;
    struct timespec mono;
    clock_gettime(CLOCK_BOOTTIME, &boot);
    clock_gettime(CLOCK_MONOTONIC, &mono);
    int64_t asleep = (boot.tv_sec - mono.tv_sec) * NS_PER_SECOND + (boot.tv_nsec - mono.tv_nsec);
    return (int64_t)ticks * (NS_PER_SECOND / sysconf(_SC_CLK_TCK)) - asleep;
}

static bool is_running(const struct pack_process *process)
{
    const struct spill_header *header = &process->spill.header;
    if (!process->is_local || (int64_t)header->start.mono_ns < 0) return false;
    int64_t started = started_at(header->pid);
    return started >= 0 && started <= (int64_t)header->start.mono_ns + NS_PER_SECOND / 10;
}

// What the kernel had counted before this image was watched: the loader's reading, without what an earlier image of
// the same process already answers for; and what the recorder read for itself later on.
static void find_load_chars(struct pack *pack, struct pack_process *process)
{
    const struct spill_header *header = &process->spill.header;
    if (!(header->chars_known & 1)) return;
    const struct pack_process *before = process->same_pid == LOOKUP_NONE ? NULL : &pack->process[process->same_pid];
    bool continues = before && before->exit == EXIT_EXEC && before->spill.header.chars_known & 2;
    for (unsigned way = 0; way < 2; way++) {
        uint64_t earlier = continues ? before->spill.header.chars_end[way] : 0;
        uint64_t counted = header->chars_start[way];
        process->load_chars[way] = counted > earlier ? counted - earlier : 0;
    }
    process->load_chars[0] += header->own_chars;
}

// What `record` and the processes' parents saw of their ends.
static void take_words_of_others(struct pack *pack, const struct lookup *last)
{
    for (size_t i = 0; pack->job && i < pack->job->child_count; i++) {
        const struct pack_child *child = &pack->job->children[i];
        struct pack_process *process = find_before(pack, last, child->pid, child->mono_ns);
        if (process) take_reaped(process, child);
    }
    for (size_t i = 0; i < pack->child_end_count; i++) take_child_end(pack, last, &pack->child_end[i]);
    for (size_t i = 0; i < pack->process_count; i++) {
        struct pack_process *process = &pack->process[i];
        uint64_t key = pack_process_key(pack, process->host, process->spill.header.pid);
        bool is_last = lookup_find(last, key) == i;
        if (process->exit == EXIT_UNKNOWN && is_last && is_running(process)) process->exit = EXIT_RUNNING;
    }
}

int pack_find_ends(struct pack *pack)
{
    struct lookup last = {0}; // pack_process_key -> place
    int code = 0;
    for (size_t i = 0; i < pack->process_count && code == 0; i++) {
        struct pack_process *process = &pack->process[i];
        take_own_word(process);
        uint64_t key = pack_process_key(pack, process->host, process->spill.header.pid);
        process->same_pid = lookup_find(&last, key);
        code = lookup_set(&last, key, (uint32_t)i);
        find_load_chars(pack, process);
    }
    if (code == 0) take_words_of_others(pack, &last);
    lookup_free(&last);
    return code;
}
