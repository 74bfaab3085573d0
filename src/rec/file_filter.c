// Which files are left out of the record: system files, files of MPI itself, --include and --exclude.
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "base/glob.h"
#include "rec/files.h"
#include "rec/fixed_text.h"
#include "rec/recorder.h"

// What is behind the start of a name; NULL if it starts otherwise, which one of the first bytes mostly shows.
static const char *behind(const char *name, const char *start) {
    for (; *start; name++, start++) {
        if (*name != *start) return NULL;
    }
    return name;
}

static bool starts_with(const char *name, const char *start) { return behind(name, start); }

static bool is_under(const char *name, const char *directory) {
    const char *rest = behind(name, directory);
    return rest && (*rest == '/' || !*rest);
}

static bool is_system_file(const char *name) {
    static const char *const out[] = {"/proc", "/sys", "/usr",  "/etc", "/bin",     "/sbin",    "/boot",
                                      "/run",  "/dev", "/snap", "/nix", "/var/lib", "/var/run", "/var/cache"};
    static const char *const in[] = {"/dev/shm", "/run/user", "/run/media", "/run/shm"};
    const char *rest = behind(name, "/lib");
    if (rest) {
        rest += strspn(rest, "x0123456789");
        return *rest == '/' || !*rest;
    }
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
        if (is_under(name, in[i])) return false;
    }
    for (size_t i = 0; i < sizeof out / sizeof *out; i++) {
        if (is_under(name, out[i])) return true;
    }
    return false;
}

// Whether a name is ".HOST.UID", with or without the domain of the host.
static bool names_host_and_user(const char *name) {
    struct utsname host;
    char wanted[sizeof host.nodename + 16];
    struct fixed_text text = {wanted, sizeof wanted, 0};
    size_t len = strcspn(name, "/");
    if (cpu_syscall(SYS_uname, &host) < 0) return false;
    fixed_text_add(&text, ".");
    fixed_text_bytes(&text, host.nodename, strcspn(host.nodename, "."));
    fixed_text_add(&text, ".");
    if (!starts_with(name, wanted)) return false;
    text.len = 0;
    fixed_text_add(&text, ".");
    fixed_text_number(&text, (uint64_t)cpu_syscall(SYS_geteuid, 0), 10);
    return len >= text.len && starts_with(name + len - text.len, wanted);
}

// Session directories of Open MPI and PMIx, in any directory for temporary files.
static bool is_session_folder(const char *name) {
    static const char *const owners[] = {"ompi.", "prte.", "prterun."};
    if (*name != 'o' && *name != 'p') return false; // this decides most names
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
        if (starts_with(name, owners[i])) return names_host_and_user(name + strlen(owners[i]) - 1);
    }
    return starts_with(name, "pmix_dstor_");
}

// Memory that MPI and its transports share between processes looks like files. Neither that nor the settings of UCX are
// files of the program.
static bool is_transport_file(const char *name) {
    static const char *const shared[] = {"ucx_",      "mpich_shar_tmp", "vader_segment.", "open_mpi.", "sm_segment.",
                                         "psm2_shm.", "ompi.",          "osc_rdma.",      "osc_sm."};
    const char *in_memory = behind(name, "/dev/shm/"), *last;
    for (size_t i = 0; in_memory && i < sizeof shared / sizeof *shared; i++) {
        if (starts_with(in_memory, shared[i])) return true;
    }
    for (const char *at = last = name; *at; at++) {
        if (*at != '/') continue;
        last = at + 1;
        if (is_session_folder(last)) return true;
    }
    return strcmp(last, "ucx.conf") == 0;
}

static bool matches_any(const char *const *patterns, const char *name) {
    for (; *patterns; patterns++) {
        if (glob_match(*patterns, name)) return true;
    }
    return false;
}

bool files_is_left_out(const char *name) {
    if (is_under(name, recorder.job) || (recorder.host_folder && is_under(name, recorder.host_folder))) return true;
    if (matches_any(recorder.include, name)) return false;
    return is_system_file(name) || is_transport_file(name) || matches_any(recorder.exclude, name);
}
