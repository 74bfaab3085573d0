// Finds how each process ended: from its spill, else from what `record` and its parent saw.
#include <sys/wait.h>

#include "pack/private.h"

static void read_own_end(struct pack_process *process) {
    const struct spill_header *header = &process->spill.header;
    uint32_t exit = header->exit;
    bool ended = exit == EXIT_CLEAN || exit == EXIT_UNDERSCORE || exit == EXIT_EXEC || exit == EXIT_SIGNAL ||
                 exit == EXIT_RUNNING; // the end of what was recorded
    process->exit = ended ? (enum process_exit)exit : EXIT_UNKNOWN;
    process->exit_value = header->exit_value;
    process->end_known = ended;
    process->end_mono_ns = header->latest.mono_ns;
    process->chars_known = header->chars_known == 3;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t counted = header->chars_end[i] - header->chars_start[i];
        if (process->chars_known && counted <= INT64_MAX) process->chars[i] = counted;
    }
}

// A process that ends by itself notes how, but not its exit status, and it can still be killed while it does so.
static void apply_status(struct pack_process *process, int status) {
    if (process->exit != EXIT_UNKNOWN && process->exit != EXIT_CLEAN) return;
    if (WIFSIGNALED(status)) {
        process->exit = EXIT_SIGNAL;
        process->exit_value = (uint32_t)WTERMSIG(status);
    } else if (WIFEXITED(status)) {
        if (process->exit == EXIT_UNKNOWN) process->exit = EXIT_UNDERSCORE;
        process->exit_value = (uint32_t)WEXITSTATUS(status);
    }
}

static void apply_reaped(struct pack_process *process, const struct pack_child *child) {
    const struct spill_header *header = &process->spill.header;
    apply_status(process, child->status);
    if (!process->end_known) {
        process->end_known = true;
        process->end_mono_ns = child->mono_ns;
    }
    bool start_known = header->chars_known & 1;
    if (process->chars_known || !start_known || !child->chars_known || process->exit == EXIT_EXEC) return;
    process->chars_known = true;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t before = header->chars_start[i];
        process->chars[i] = child->chars[i] > before ? child->chars[i] - before : 0;
    }
}

// Pids are reused: the process is the last one with this pid that began before the moment.
static struct pack_process *find_before(struct pack *pack, const struct lookup *last, uint32_t pid, uint64_t mono_ns) {
    uint32_t place = lookup_find(last, pack_process_key(pack, pack->host, pid));
    while (place != LOOKUP_NONE) {
        struct pack_process *process = &pack->process[place];
        if (process->is_local && process->spill.header.start.mono_ns <= mono_ns) return process;
        place = process->same_pid;
    }
    return NULL;
}

static void apply_child_end(struct pack *pack, const struct lookup *last, const struct pack_child_end *end) {
    const struct pack_process *parent = &pack->process[end->parent - 1];
    uint32_t place = lookup_find(last, pack_process_key(pack, parent->host, end->pid));
    for (; place != LOOKUP_NONE; place = pack->process[place].same_pid) {
        struct pack_process *process = &pack->process[place];
        if (process->spill.header.ppid != parent->spill.header.pid) continue;
        apply_status(process, end->status);
        return;
    }
}

// Bytes in the kernel's count that are not the program's: those before this image was recorded (the loader's reads,
// without the bytes of an earlier image of the same process), and the recorder's own reads later. What a process did
// before it was joined is nobody's concern.
static void set_load_chars(struct pack *pack, struct pack_process *process) {
    const struct spill_header *header = &process->spill.header;
    if (!(header->chars_known & 1) || process->is_joined) return;
    const struct pack_process *before = process->same_pid == LOOKUP_NONE ? NULL : &pack->process[process->same_pid];
    bool continues = before && before->exit == EXIT_EXEC && before->spill.header.chars_known & 2;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t earlier = continues ? before->spill.header.chars_end[i] : 0;
        uint64_t counted = header->chars_start[i];
        process->load_chars[i] = counted > earlier ? counted - earlier : 0;
    }
    process->load_chars[0] += header->own_chars;
}

static void apply_what_others_saw(struct pack *pack, const struct lookup *last) {
    for (size_t i = 0; pack->job && i < pack->job->child_count; i++) {
        const struct pack_child *child = &pack->job->children[i];
        struct pack_process *process = find_before(pack, last, child->pid, child->mono_ns);
        if (process) apply_reaped(process, child);
    }
    for (size_t i = 0; i < pack->child_end_count; i++) apply_child_end(pack, last, &pack->child_end[i]);
    for (size_t i = 0; i < pack->process_count; i++) {
        struct pack_process *process = &pack->process[i];
        uint64_t key = pack_process_key(pack, process->host, process->spill.header.pid);
        bool is_last = lookup_find(last, key) == i;
        if (process->exit == EXIT_UNKNOWN && is_last && process->is_local && spill_is_running(&process->spill.header))
            process->exit = EXIT_RUNNING;
    }
}

int pack_find_ends(struct pack *pack) {
    struct lookup last = {0}; // pack_process_key -> place
    int code = 0;
    for (size_t i = 0; i < pack->process_count && code == 0; i++) {
        struct pack_process *process = &pack->process[i];
        read_own_end(process);
        uint64_t key = pack_process_key(pack, process->host, process->spill.header.pid);
        process->same_pid = lookup_find(&last, key);
        code = lookup_set(&last, key, (uint32_t)i);
        set_load_chars(pack, process);
    }
    if (code == 0) apply_what_others_saw(pack, &last);
    lookup_free(&last);
    return code;
}
