#include "rec/mpi/roll.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/process.h"
#include "fmt/part.h"
#include "rec/fixed_text.h"
#include "rec/mpi/plugin.h"

// A pid alone could be that of another process by now, and in another PID namespace it always is.
struct entry {
    uint64_t start_ticks;
    uint64_t pid_namespace; // 0: not known
    uint32_t pid;
    uint32_t has_met;
    uint32_t hosts; // enum roll_state: of all hosts, as the first rank of this one knows it
    uint32_t reserved;
    struct clock_line line; // as the first rank of this host knows it
};

static struct {
    struct launch launch;
    struct entry entry;
    char folder[PATH_MAX];
    off_t place; // of the entry in the file
    bool is_signed, is_known;
} roll;

// --- files

static void name_of_launch(struct fixed_text *path) {
    fixed_text_add(path, roll.folder);
    fixed_text_add(path, "/");
    fixed_text_add(path, roll.is_known ? roll.launch.name : PART_NO_LAUNCH);
}

static int open_roll(int flags) {
    char name[PATH_MAX];
    struct utsname host = {.nodename = "host"};
    struct fixed_text path = {name, sizeof name, 0};
    uname(&host);
    name_of_launch(&path);
    fixed_text_add(&path, ".");
    fixed_text_add(&path, host.nodename);
    fixed_text_add(&path, ".roll");
    return open(name, O_NOFOLLOW | O_CLOEXEC | flags, 0600);
}

static void rewrite_entry(void) {
    int fd = roll.is_known ? open_roll(O_WRONLY) : -1;
    if (fd < 0) return;
    if (pwrite(fd, &roll.entry, sizeof roll.entry, roll.place) < 0) roll.is_signed = false;
    close(fd);
}

// Calls the function for each entry until it returns true.
static bool find_entry(bool (*is_it)(const struct entry *entry, void *context), void *context) {
    struct entry some[64];
    bool is_found = false;
    int fd = open_roll(O_RDONLY);
    for (ssize_t len; fd >= 0 && !is_found && (len = read(fd, some, sizeof some)) > 0;) {
        for (size_t i = 0; i < (size_t)len / sizeof *some && !is_found; i++) is_found = is_it(&some[i], context);
    }
    if (fd >= 0) close(fd);
    return is_found;
}

// --- signing

static uint64_t own_namespace(void) {
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

void roll_sign(void) {
    const char *folder = plugin.core->reducer ? plugin.core->hand_over_folder() : NULL;
    if (!folder || roll.is_signed) return; // MPI_Init of a tool calls PMPI_Init
    struct fixed_text text = {roll.folder, sizeof roll.folder, 0};
    fixed_text_add(&text, folder);
    roll.is_known = plugin.core->launch_find(&roll.launch) && plugin.core->launch_name(&roll.launch);
    roll.is_signed = !roll.is_known;
    if (!roll.is_known || roll.launch.size < 2) return;
    roll.entry = (struct entry){
        .pid = (uint32_t)getpid(), .start_ticks = process_start_ticks(getpid()), .pid_namespace = own_namespace()};
    int fd = open_roll(O_WRONLY | O_CREAT | O_APPEND);
    if (fd < 0) return;
    roll.is_signed = write(fd, &roll.entry, sizeof roll.entry) == sizeof roll.entry;
    roll.place = lseek(fd, 0, SEEK_CUR) - (off_t)sizeof roll.entry;
    close(fd);
}

void roll_note_hosts(bool are_all_here) {
    if (!roll.is_signed) return;
    roll.entry.hosts = are_all_here ? ROLL_COMPLETE : ROLL_INCOMPLETE;
    rewrite_entry();
}

// --- what it says

struct counting {
    int waiting; // ranks that have not met
    uint32_t hosts;
};

// One that has met belongs to a program that the same launch has run before.
static bool count_entry(const struct entry *entry, void *context) {
    struct counting *counting = context;
    if (entry->has_met) return false;
    counting->waiting++;
    if (entry->hosts) counting->hosts = entry->hosts;
    return false;
}

enum roll_state roll_state(void) {
    struct counting counting = {0, ROLL_PENDING};
    if (!roll.is_known) return ROLL_UNKNOWN;
    find_entry(count_entry, &counting);
    if (counting.waiting != roll.launch.local_size) return ROLL_INCOMPLETE;
    return roll_is_of_one_host() ? ROLL_COMPLETE : (enum roll_state)counting.hosts;
}

bool roll_is_signed(void) { return roll.is_signed; }

bool roll_is_of_one_host(void) { return roll.is_known && roll.launch.size == roll.launch.local_size; }

// Each rank looks after the next one of those that have not met, and the last one after the first: together they look
// after all, and many ranks are not looked up by many.
struct ring {
    uint64_t pid_namespace;
    struct entry first, next;
    bool has_own; // is behind the own entry
};

static bool find_next(const struct entry *entry, void *context) {
    struct ring *ring = context;
    bool is_own = entry->pid == roll.entry.pid && entry->start_ticks == roll.entry.start_ticks;
    if (entry->has_met || entry->pid_namespace != ring->pid_namespace) return false;
    if (ring->has_own) ring->next = *entry;
    if (!ring->first.pid) ring->first = *entry;
    ring->has_own |= is_own;
    return ring->next.pid;
}

static bool is_gone(const struct entry *entry) {
    struct process_stat stat;
    if (!process_stat((pid_t)entry->pid, &stat)) return true;
    return stat.state == 'Z' || stat.state == 'X' || stat.start_ticks != entry->start_ticks;
}

bool roll_has_gap(void) {
    struct ring ring = {.pid_namespace = own_namespace()};
    if (!roll.is_known || !ring.pid_namespace) return false;
    find_entry(find_next, &ring);
    const struct entry *next = ring.next.pid ? &ring.next : &ring.first;
    return next->pid && is_gone(next);
}

void roll_note_met(void) {
    roll.entry.has_met = true;
    rewrite_entry();
}

void roll_note_line(const struct clock_line *line) {
    if (!roll.is_signed || !line->is_known) return;
    roll.entry.line = *line;
    rewrite_entry();
}

// Of the last program that the same launch has run on this host.
static bool keep_line(const struct entry *entry, void *context) {
    struct clock_line *line = context;
    if (entry->line.is_known) *line = entry->line;
    return false;
}

struct clock_line roll_line(void) {
    struct clock_line line = {0};
    if (roll.is_known) find_entry(keep_line, &line);
    return line;
}

// --- the mark

static void name_mark(char name[PATH_MAX]) {
    struct fixed_text path = {name, PATH_MAX, 0};
    name_of_launch(&path);
    fixed_text_add(&path, PART_GIVEN_UP);
}

bool roll_is_given_up(void) {
    char name[PATH_MAX];
    name_mark(name);
    return access(name, F_OK) == 0;
}

void roll_give_up(void) {
    char name[PATH_MAX];
    name_mark(name);
    int fd = open(name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
}
