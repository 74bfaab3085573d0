// What is wrong whatever the time: calls that fail, and processes that have no processor.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/intern.h"
#include "findings/find.h"

// --- calls that fail

static const char *error_name(int error) {
    const char *name = strerrorname_np(error);
    return name ? name : "an unknown error";
}

static void show_errors(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    struct find_place place = {.file = find_taken(findings).file};
    for (size_t i = 0; i < facts->errors; i++) {
        const struct facts_error *error = &facts->error[i];
        const char *noun = call_class_name((uint8_t)error->class);
        place.line = find_line(findings, error->class);
        if (error->error) {
            find_evidence(findings, finding, place, "%s failed with %s: %s", human_count(error->calls, noun).text,
                          error_name(error->error), strerrordesc_np(error->error));
        } else {
            find_evidence(findings, finding, place, "%s moved fewer bytes than asked for",
                          human_count(error->calls, noun).text);
        }
    }
}

int find_failed(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    uint64_t failed = 0, interrupted = 0;
    bool has_short = false; // calls that moved a part of their data did not fail
    bool are_reads = true;
    for (size_t i = 0; i < facts->errors; i++) {
        are_reads = are_reads && facts->error[i].class == CLASS_READ;
        *(facts->error[i].error == EINTR ? &interrupted : &failed) += facts->error[i].calls;
        has_short = has_short || !facts->error[i].error;
    }
    if (!failed && interrupted < LIMIT_INTERRUPTED) return 0;
    for (size_t i = 0; i < facts->grains; i++) {
        if (facts->grain[i].traits.failed) FORWARD(find_claim_part(findings, &facts->grain[i], 1));
    }
    finding->class = facts->errors == 1 ? facts->error[0].class : CLASS_NONE;
    if (!has_short) finding->command = "ioseer dump --failed CLASS FILES LOG";
    finding->loses_data = failed > 0;
    struct human calls = human_count(failed + interrupted, "call");
    finding->title = !failed
                         ? find_text(findings, "%s were interrupted by signals before they moved anything", calls.text)
                     : has_short ? find_text(findings, "%s failed or moved only a part of %s data", calls.text,
                                             failed + interrupted == 1 ? "its" : "their")
                                 : find_text(findings, "%s failed", calls.text);
    if (!failed) {
        finding->reason = "A signal ends a call that waits. The program then has to call again.";
        finding->advice = "Install the signal's handler with SA_RESTART, block the signal around I/O, or send it less "
                          "often.";
    } else if (are_reads) {
        finding->reason = "The program did not get the data of the file.";
        finding->advice = "Check the results of reads, and the storage: its devices, its servers and the way to them.";
    }
    show_errors(findings, finding);
    return 1;
}

// --- more ranks than processors, or a busy machine

// A bound rank may use only some processors, so the process that may use the most of them counts, which may be the
// launcher.
struct host {
    uint64_t ranks, cpus;
};

struct hosts {
    struct host *host;
    size_t count;
    struct lookup place;
};

static int add_to_host(struct hosts *hosts, const char *name, size_t len, const struct host *more) {
    uint32_t place;
    FORWARD(lookup_intern(&hosts->place, hash_bytes(0, name, len), place, hosts->host, hosts->count, (struct host){0}));
    struct host *host = &hosts->host[place];
    host->ranks += more->ranks;
    if (more->cpus > host->cpus) host->cpus = more->cpus;
    return 0;
}

// Ranks with one record, on each of their hosts.
static int add_group_to_hosts(struct hosts *hosts, const struct log_process *process) {
    const struct log_group *group = process->group;
    struct bytes name = {0};
    int code = 0;
    for (size_t i = 0; i < group->host_count && code == 0; i++) {
        const struct group_hosts *range = &group->hosts[i];
        const struct host more = {process->has_rank ? range->each : 0, process->cpus};
        char *at = (char *)bytes_reserve(&name, range->len + 1);
        if (!at) code = -ENOMEM;
        for (uint64_t k = 0; k < range->hosts && code == 0; k++) {
            group_host_name(range, k, at);
            code = add_to_host(hosts, at, range->len, &more);
        }
    }
    bytes_free(&name);
    return code;
}

// The host with the most ranks per processor.
static int find_crowded(const struct facts *facts, struct host *crowded) {
    struct hosts hosts = {0};
    int code = 0;
    *crowded = (struct host){0};
    for (size_t i = 0; !code && i < facts->processes; i++) {
        const struct log_process *process = facts->process[i].process;
        const struct host more = {process->has_rank, process->cpus};
        const char *name = process->host ? process->host : "";
        code = process->group ? add_group_to_hosts(&hosts, process) : add_to_host(&hosts, name, strlen(name), &more);
    }
    for (size_t i = 0; !code && i < hosts.count; i++) {
        const struct host *host = &hosts.host[i];
        if (host->cpus && (!crowded->cpus || host->ranks * crowded->cpus > crowded->ranks * host->cpus))
            *crowded = *host;
    }
    lookup_free(&hosts.place);
    free(hosts.host);
    return code;
}

// Of the process, or of the one in the group that waited most.
static int64_t cpu_wait_ns(const struct log_process *process) {
    return process->group ? process->group->spread[GROUP_WAIT].most : process->cpu_wait_ns;
}

static double waiting_part(const struct facts *facts, const struct facts_process **most, double *wait_ns) {
    double run_ns = 0;
    *wait_ns = 0;
    *most = NULL;
    for (size_t i = 0; i < facts->processes; i++) {
        const struct facts_process *process = &facts->process[i];
        if (!find_counts(facts, process) || !process->process->cpu_wait_known) continue;
        run_ns += (double)find_run_ns(facts, process);
        *wait_ns += (double)process->process->cpu_wait_ns;
        if (!*most || cpu_wait_ns(process->process) > cpu_wait_ns((*most)->process)) *most = process;
    }
    double part = run_ns > 0 ? *wait_ns / run_ns : 0;
    return part < 1 ? part : 1;
}

// While ranks wait for one that does not run, calls of MPI-IO go on with nothing below them.
static int claim_mpi(struct findings *findings, double part) {
    const struct facts *facts = findings->facts;
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        if (grain->traits.kind >= KIND_MPI_READ && grain->traits.kind <= KIND_MPI_OTHER)
            FORWARD(find_claim_part(findings, grain, part));
    }
    return 0;
}

int find_processors(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    const struct facts_process *most;
    struct host host;
    FORWARD(find_crowded(facts, &host));
    double wait_ns, part = waiting_part(facts, &most, &wait_ns);
    bool is_crowded = host.ranks > host.cpus;
    bool is_busy = part >= LIMIT_BUSY_PART && wait_ns >= LIMIT_MEDIUM_NS;
    bool has_io = facts->wall.any_ns > LIMIT_LEAST_SHARE * (double)facts->run_ns;
    if (!has_io || (!is_crowded && !is_busy)) return 0;
    if (is_crowded && !most) {
        part = 1 - (double)host.cpus / (double)host.ranks;
        finding->basis = "time in calls of MPI-IO while no process moves data, times the share of the ranks without a "
                         "processor (assumed: the log does not say how long they waited)";
    }
    if (is_crowded) FORWARD(claim_mpi(findings, part)); // otherwise it is known how long, but not what waited
    finding->without_time = true;
    if (!is_crowded) finding->low = "which calls waited is not known";
    finding->title = is_crowded
                         ? find_text(findings, "%s share %s", human_count(host.ranks, "rank").text,
                                     human_count(host.cpus, "processor").text)
                         : find_text(findings, "%s of the time was waiting for a processor", human_percent(part).text);
    if (!is_crowded) {
        finding->basis = "none: which calls waited is not known";
        finding->reason = "Other programs, or other processes of this job, used the processors.";
        finding->advice = "Record again on a machine with free processors before you compare times of this log.";
    }
    if (most) {
        find_evidence(findings, finding, (struct find_place){.process = most},
                      "runnable but not running: %s in the process with the most, %s of the time of all",
                      human_seconds(cpu_wait_ns(most->process)).text, human_percent(part).text);
    } else {
        find_evidence(findings, finding, (struct find_place){0},
                      "no process of that node may use more; how long they waited is not known");
    }
    return 1;
}
