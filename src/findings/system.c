// What runs where: which MPI-IO, which kind of storage, and processes that had to wait for a processor.
#include <errno.h>
#include <string.h>

#include "findings/find.h"

// Hints in force show the implementation; without hints, the MPI library's own one is assumed.
enum mpi_io find_mpi_io(const struct findings *findings) {
    const struct log *log = findings->facts->log;
    for (size_t i = 0; i < log_hints_count(log); i++) {
        const struct log_hint_list *list = &log_hints_at(log, i)->in_force;
        for (size_t k = 0; k < list->count; k++)
            if (!strncmp(list->hint[k].name, "romio_", 6)) return MPI_IO_ROMIO;
    }
    const struct log_world *world = log_largest_world(log);
    if (!world || !world->mpi) return MPI_IO_UNKNOWN;
    if (strstr(world->mpi, "Open MPI")) return MPI_IO_OMPIO;
    return strstr(world->mpi, "MPICH") || strstr(world->mpi, "MVAPICH") || strstr(world->mpi, "Intel") ? MPI_IO_ROMIO
                                                                                                       : MPI_IO_UNKNOWN;
}

bool find_is_remote(const struct facts_file *file) {
    static const char *const names[] = {"nfs",      "cifs",  "smb3",   "lustre",         "gpfs",      "beegfs",
                                        "ceph",     "9p",    "afs",    "pvfs2",          "orangefs",  "panfs",
                                        "gfs2",     "ocfs2", "wekafs", "fuse.glusterfs", "fuse.ceph", "fuse.sshfs",
                                        "fuse.s3fs"};
    const char *fs = file ? file->file->fs_name : NULL;
    for (size_t i = 0; fs && i < sizeof names / sizeof names[0]; i++) {
        if (!strncmp(fs, names[i], strlen(names[i]))) return true;
    }
    return false;
}

bool find_is_local(const struct facts_file *file) {
    const char *fs = file ? file->file->fs_name : NULL;
    return !fs || (!find_is_remote(file) && strncmp(fs, "fuse", 4) != 0);
}

bool find_counts(const struct facts *facts, const struct facts_process *process) {
    return !process->process->is_launcher && (process->process->has_rank || !facts->ranks);
}

int64_t find_run_ns(const struct facts *facts, const struct facts_process *process) {
    return log_process_run_ns(process->process, facts->run_ns);
}

// How long the process waited for a processor while it was in I/O: if it waited there as often as elsewhere, or at
// least, because the time outside is too short for all of it.
static double wait_in_io_ns(const struct facts *facts, const struct facts_process *process, bool at_least) {
    double run_ns = (double)find_run_ns(facts, process), io_ns = (double)process->io_ns;
    double wait_ns = (double)process->process->cpu_wait_ns;
    if (!process->process->cpu_wait_known || run_ns <= 0) return 0;
    return at_least ? wait_ns - (run_ns - io_ns) : wait_ns * (io_ns / run_ns);
}

// Whether most of the claimed time is in calls that sleep.
static bool is_sleep(const struct findings *findings) {
    double ns = 0;
    for (size_t i = 0; i < findings->claims; i++) {
        const struct facts_grain *grain = &findings->facts->grain[findings->claim[i].grain];
        if (!facts_at_memory_speed(find_cell(findings, grain))) ns += findings->claim[i].ns;
    }
    return ns * 2 > find_taken(findings).ns;
}

int find_doubt(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    const struct facts_process *most = NULL;
    double most_ns = find_taken(findings).ns / 2;
    for (size_t i = 0; i < facts->processes; i++) {
        double ns = wait_in_io_ns(facts, &facts->process[i], !finding->is_waiting);
        if (findings->of_process[i] <= 0 || ns < most_ns) continue;
        most_ns = ns;
        most = &facts->process[i];
    }
    if (!most || (!finding->is_waiting && !is_sleep(findings))) return 0;
    finding->low =
        find_text(findings, "in doubt: one of these processes waited %s for a processor, which may be the reason",
                  human_seconds(most->process->cpu_wait_ns).text);
    return finding->low ? 0 : -ENOMEM;
}
