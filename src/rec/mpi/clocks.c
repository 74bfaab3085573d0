// How the clocks of a job's hosts run against each other. After MPI_Init and before MPI_Finalize the first ranks of all
// hosts exchange a few messages along a tree: each asks those below it, one after the other, and they answer with the
// times of their own clocks. The packer makes offset, drift and error of that (pack/align_hosts.c). It comes too late
// for the counters that ranks add up at MPI_Finalize, so the last question there has a line: what the one that is asked
// has to add to its clock to get rank 0's.
//
// bounded.h says why a message may be sent only to a rank that has posted its receive before the program can. So a rank
// answers and never begins; the receive for the first message before MPI_Finalize is posted in MPI_Init already; and
// the receive for an answer that does not come in time stays.
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "rec/fixed_text.h"
#include "rec/mpi/bounded.h"
#include "rec/mpi/clock_line.h"
#include "rec/mpi/roll.h"

#define MARK_SUFFIX ".clock"
#define MOST_NS INT64_C(1000000000) // in MPI_Init, and in MPI_Finalize
#define GOOD_NS 50000               // a round trip that is short enough

// After ROUNDS there are more only if none of them was good, as on a busy machine.
enum { BELOW = 8, ROUNDS = 16, ROUNDS_MOST = 64, MOST_HOSTS = 4096, HOST_ROOM = 72 };

enum moment { EARLY, LATE, MOMENTS };

static const enum bounded_tag question_tag[MOMENTS] = {BOUNDED_EARLY_QUESTION, BOUNDED_LATE_QUESTION};
static const enum bounded_tag answer_tag[MOMENTS] = {BOUNDED_EARLY_ANSWER, BOUNDED_LATE_ANSWER};

struct question {
    uint32_t is_last;
    struct clock_line line; // in the last one of MPI_Finalize
};

struct answer {
    uint32_t pid;
    uint64_t received, replied;
    struct clock_map clock; // of these, in MPI_Finalize: ns since the epoch
    char host[HOST_ROOM];
};

// To a first rank below this one. MPI may use the buffers of a link that was given up for ever.
struct link {
    int rank;
    bool is_open;     // it answered in MPI_Init, so its receive for MPI_Finalize is posted
    MPI_Request left; // for an answer in MPI_Init that did not come
    struct question question[MOMENTS];
    struct answer answer[MOMENTS];
    struct clock_sample sample[MOMENTS][ROUNDS_MOST];
    size_t samples[MOMENTS];
};

static struct {
    struct launch launch;
    bool is_first;   // of several hosts
    bool is_running; // between MPI_Init and MPI_Finalize
    int above;       // rank that asks this one; -1: none did
    MPI_Request request[MOMENTS];
    struct question question[MOMENTS];
    struct answer answer[MOMENTS];
    struct link below[BELOW];
    unsigned count;
    struct clock_line line; // of this host
    struct clock_map own;   // in MPI_Finalize
} clocks;

// --- who asks whom

struct host {
    int rank, ranks; // the first one, and how many
};

struct hosts {
    struct host *host; // by rank
    size_t count, ranks;
};

void mpi_clocks_prepare(void) {
    char mark[128];
    struct fixed_text text = {mark, sizeof mark, 0};
    struct launch *launch = &clocks.launch;
    clocks.is_first = plugin.core->launch_find(launch) && launch->local_rank == 0 &&
                      launch->size > launch->local_size && plugin.core->launch_name(launch);
    if (!clocks.is_first) return;
    fixed_text_add(&text, clocks.launch.name);
    fixed_text_add(&text, ".");
    fixed_text_number(&text, (uint64_t)clocks.launch.rank, 10);
    fixed_text_add(&text, ".");
    fixed_text_number(&text, (uint64_t)clocks.launch.local_size, 10);
    fixed_text_add(&text, MARK_SUFFIX);
    plugin.core->launch_leave_mark(mark);
}

static const char *number_before(const char *text, char end, int *number) {
    for (*number = 0; *text >= '0' && *text <= '9' && *number < INT32_MAX / 16; text++)
        *number = *number * 10 + *text - '0';
    return *text == end ? text + 1 : NULL;
}

static void add_host(const char *name, void *context) {
    struct hosts *hosts = context;
    struct host host;
    size_t len = strlen(clocks.launch.name), at;
    if (strncmp(name, clocks.launch.name, len) || name[len] != '.') return;
    const char *rest = number_before(name + len + 1, '.', &host.rank);
    rest = rest ? number_before(rest, '.', &host.ranks) : NULL;
    if (!rest || strcmp(rest, MARK_SUFFIX + 1) || hosts->count >= MOST_HOSTS) return;
    for (at = hosts->count; at && hosts->host[at - 1].rank > host.rank; at--) hosts->host[at] = hosts->host[at - 1];
    hosts->host[at] = host;
    hosts->count++;
    hosts->ranks += (size_t)host.ranks;
}

_Static_assert(MOST_HOSTS * sizeof(struct host) <= PLUGIN_SCRATCH_BYTES, "the hosts of a job fit");

// False if a host is missing: then not all are recorded in this directory.
static bool find_below(int size) {
    struct hosts hosts = {.host = plugin_scratch()};
    size_t own = 0;
    if (!hosts.host) return false;
    plugin.core->launch_each_mark(add_host, &hosts);
    if (hosts.ranks != (size_t)size) return false;
    while (own < hosts.count && hosts.host[own].rank != clocks.launch.rank) own++;
    for (size_t i = own * BELOW + 1; i <= (own + 1) * BELOW && i < hosts.count; i++)
        clocks.below[clocks.count++] = (struct link){.rank = hosts.host[i].rank, .left = plugin.no_request};
    return true;
}

// --- questions and answers

static void name_host(char host[HOST_ROOM]) {
    struct utsname name;
    struct fixed_text text = {host, HOST_ROOM, 0};
    if (uname(&name) == 0) fixed_text_add(&text, name.nodename);
}

// Which is better depends on who else runs: both sides try both.
static bool yields_in(unsigned round) { return round / 4 % 2; }

static void answer_all(struct bounded *all, enum moment moment) {
    struct question *question = &clocks.question[moment];
    struct answer *answer = &clocks.answer[moment];
    MPI_Request *request = &clocks.request[moment];
    bool is_last = false, is_sent = true;
    *answer = (struct answer){.pid = (uint32_t)getpid(), .clock = clocks.own};
    name_host(answer->host);
    for (unsigned i = 0; i < ROUNDS_MOST && !is_last && is_sent; i++) {
        all->yields = yields_in(i);
        if (!bounded_wait(all, request, &clocks.above)) return;
        answer->received = plugin_now();
        is_last = question->is_last;
        if (is_last) clocks.line = question->line;
        if (!is_last && !bounded_post(clocks.above, question_tag[moment], question, sizeof *question, request)) return;
        answer->replied = plugin_now();
        is_sent = bounded_send(all, clocks.above, answer_tag[moment], answer, sizeof *answer);
    }
}

static void note_samples(const struct answer *answer, const struct clock_sample *sample, size_t count) {
    uint8_t buffer[ROUNDS_MOST * sizeof *sample + 128];
    struct fields_out out = {.at = buffer, .end = buffer + sizeof buffer};
    fields_begin(&out, RECORD_CLOCK);
    fields_bytes(&out, CLOCK_HOST, answer->host, strnlen(answer->host, sizeof answer->host));
    fields_number(&out, CLOCK_PID, answer->pid);
    fields_bytes(&out, CLOCK_SAMPLES, sample, count * sizeof *sample);
    fields_end(&out);
    if (!out.overflow) plugin.core->note(buffer, (size_t)(out.at - buffer));
}

static bool ask_once(const struct bounded *all, struct link *link, enum moment moment, struct clock_sample *sample) {
    MPI_Request request;
    struct question *question = &link->question[moment];
    struct answer *answer = &link->answer[moment];
    if (!bounded_post(link->rank, answer_tag[moment], answer, sizeof *answer, &request)) return false;
    sample->sent = plugin_now();
    if (!bounded_send(all, link->rank, question_tag[moment], question, sizeof *question) ||
        !bounded_wait(all, &request, NULL)) {
        if (moment == EARLY) link->left = request; // a late answer must not meet a receive of the program
        if (moment == LATE) bounded_cancel(&request);
        return false;
    }
    sample->answered = plugin_now();
    sample->received = answer->received;
    sample->replied = answer->replied;
    return true;
}

static struct clock_line line_of(const struct link *link) {
    const struct clock_map *theirs = &link->answer[LATE].clock;
    return clock_line_of(&clocks.line, &clocks.own, theirs,
                         (struct clock_seen){link->sample[EARLY], link->samples[EARLY]},
                         (struct clock_seen){link->sample[LATE], link->samples[LATE]});
}

// More than one question only until a time, so that others below get theirs.
static void ask_all(struct bounded *all, struct link *link, enum moment moment, int64_t until_ns) {
    struct clock_sample *sample = link->sample[moment];
    int64_t best_ns = INT64_MAX;
    unsigned done = 0;
    bool is_last = false;
    while (!is_last) {
        int64_t start_ns = clock_now_ns();
        if (start_ns >= all->deadline_ns) break;
        all->yields = yields_in(done);
        is_last =
            done + 1 == ROUNDS_MOST || (done + 1 >= ROUNDS && best_ns < GOOD_NS) || (done && start_ns >= until_ns);
        link->samples[moment] = done;
        link->question[moment].is_last = is_last;
        if (is_last && moment == LATE) link->question[LATE].line = line_of(link);
        if (!ask_once(all, link, moment, &sample[done])) break;
        int64_t trip_ns = clock_now_ns() - start_ns;
        if (trip_ns < best_ns) best_ns = trip_ns;
        done++;
    }
    link->is_open = done;
    if (done) note_samples(&link->answer[moment], sample, done);
}

static void ask_below(struct bounded *all, enum moment moment) {
    for (unsigned i = 0; i < clocks.count; i++) {
        int64_t now_ns = clock_now_ns(), share_ns = (all->deadline_ns - now_ns) / (clocks.count - i + 1);
        if (moment == EARLY || clocks.below[i].is_open) ask_all(all, &clocks.below[i], moment, now_ns + share_ns);
    }
}

// --- the two moments

static void post_question(int from, enum moment moment) {
    struct question *question = &clocks.question[moment];
    bounded_post(from, question_tag[moment], question, sizeof *question, &clocks.request[moment]);
}

void mpi_clocks_early(void) {
    struct bounded all;
    int size = 0, rank = 0, error = errno;
    if (!clocks.is_first || clocks.is_running) return; // MPI_Init of a tool calls PMPI_Init
    clocks.is_running = true;
    clocks.above = -1;
    for (int i = 0; i < MOMENTS; i++) clocks.request[i] = plugin.no_request;
    plugin.mpi.Comm_size(plugin.world, &size);
    plugin.mpi.Comm_rank(plugin.world, &rank);
    bounded_begin(&all, MOST_NS);
    if (rank) post_question(MPI_ANY_SOURCE, EARLY); // whatever this rank finds in the directory: others may ask it
    bool are_all_here = rank == clocks.launch.rank && find_below(size);
    roll_note_hosts(are_all_here);
    if (are_all_here) {
        if (rank) answer_all(&all, EARLY);
        ask_below(&all, EARLY);
    }
    if (clocks.above >= 0) post_question(clocks.above, LATE);
    bounded_end(&all);
    errno = error;
}

void mpi_clocks_late(void) {
    struct bounded all;
    int error = errno;
    if (!clocks.is_running) return;
    clocks.is_running = false;
    bounded_begin(&all, MOST_NS);
    clocks.own = plugin.core->hand_over_clock();
    clocks.line = (struct clock_line){.is_known = clocks.above < 0 && clocks.launch.rank == 0};
    if (clocks.above >= 0) answer_all(&all, LATE);
    ask_below(&all, LATE);
    for (int i = 0; i < MOMENTS; i++) bounded_cancel(&clocks.request[i]);
    for (unsigned i = 0; i < clocks.count; i++) bounded_cancel(&clocks.below[i].left);
    bounded_end(&all);
    roll_note_line(&clocks.line);
    errno = error;
}
