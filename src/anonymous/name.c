#include "anonymous/name.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "log/log.h"

enum {
    HASH_LETTERS = 12,         // 56 bits: a million different names have equal hashes with a chance of 1 : 150,000
    NAME_MAX_BYTES = 16 << 10, // longer ones are one part: they are no paths
    EXTENSION_MAX = 7,
    SHORT_NUMBER = 4,
    COUNTER_MAX = 12,
};

struct text {
    const char *at;
    size_t len;
};

static bool is_in(const char *const *list, struct text text) {
    for (; *list; list++) {
        if (strlen(*list) == text.len && !memcmp(*list, text.at, text.len)) return true;
    }
    return false;
}

int anonymous_text(const struct anonymous_key *key, const void *text, size_t len, struct bytes *out) {
    char letters[HASH_LETTERS];
    uint64_t hash = anonymous_hash(key, DOMAIN_NAME, text, len);
    // Letters only: digits would look like numbers of files.
    for (size_t i = 0; i < sizeof letters; i++, hash /= 26) letters[i] = (char)('a' + hash % 26);
    return bytes_append(out, letters, sizeof letters);
}

// --- names

static bool is_common_extension(struct text text) {
    static const char *const extensions[] = {
        "a",   "bin", "bp",  "bz2", "c",    "cc",  "cfg",  "chk",  "conf",    "cpp",  "csv",     "dat",  "data", "db",
        "f",   "f90", "gz",  "h",   "h5",   "hdf", "in",   "ini",  "ioseer",  "jpg",  "json",    "lock", "log",  "nc",
        "nc4", "npy", "npz", "o",   "old",  "out", "par",  "part", "parquet", "png",  "py",      "pyc",  "raw",  "root",
        "sh",  "so",  "sql", "swp", "tar",  "tgz", "tif",  "tiff", "tmp",     "toml", "txt",     "vtk",  "vtu",  "wal",
        "xml", "xz",  "zip", "zst", "hdf5", "cdf", "cgns", "exo",  "journal", "yaml", "darshan", NULL};
    return is_in(extensions, text);
}

// The part's end that stays, with its dot; empty if there is none. A dot in front does not begin one.
static struct text extension_of(struct text part, bool is_deep) {
    struct text none = {part.at + part.len, 0}, found = none;
    const char *dot = part.len ? memrchr(part.at, '.', part.len) : NULL;
    if (!dot || dot == part.at) return none;
    found = (struct text){dot + 1, (size_t)(part.at + part.len - dot - 1)};
    if (!found.len || found.len > EXTENSION_MAX || !isalpha((unsigned char)*found.at)) return none;
    for (size_t i = 0; i < found.len; i++) {
        if (!isalnum((unsigned char)found.at[i])) return none;
    }
    return is_deep || is_common_extension(found) ? (struct text){dot, found.len + 1} : none;
}

static size_t digits_at(struct text text) {
    size_t len = 0;
    while (len < text.len && isdigit((unsigned char)text.at[len])) len++;
    return len;
}

static bool is_open_number(struct text number) {
    return number.len <= SHORT_NUMBER || (*number.at == '0' && number.len <= COUNTER_MAX);
}

// The name with a zero byte for each number that stays, which goes to `numbers`: so the hash is the same whatever the
// number is.
static int split_numbers(struct text stem, struct bytes *skeleton, struct bytes *numbers) {
    while (stem.len) {
        size_t len = digits_at(stem), step = len ? len : 1;
        if (len && is_open_number((struct text){stem.at, len})) {
            FORWARD(bytes_append(skeleton, "", 1));
            FORWARD(bytes_append(numbers, "-", 1));
            FORWARD(bytes_append(numbers, stem.at, len));
        } else {
            FORWARD(bytes_append(skeleton, stem.at, step));
        }
        stem = (struct text){stem.at + step, stem.len - step};
    }
    return 0;
}

static int put_deep(const struct anonymous_key *key, struct text stem, struct text extension, struct bytes *out) {
    struct bytes skeleton = {0}, numbers = {0};
    int code = split_numbers(stem, &skeleton, &numbers);
    if (code == 0) code = bytes_append(&skeleton, extension.at, extension.len);
    if (code == 0) code = anonymous_text(key, skeleton.data, skeleton.len, out);
    if (code == 0) code = bytes_append(out, numbers.data, numbers.len);
    bytes_free(&skeleton);
    bytes_free(&numbers);
    return code;
}

// Names that ioseer itself gives, or that a path has anyway.
static bool is_own_name(struct text part) {
    static const char *const names[] = {
        ".",         "..", "(other files)", "(other objects)", "(files past the file cap)", "(files without a name)",
        "(unnamed)", NULL};
    return part.len == 0 || is_in(names, part);
}

// Launchers of MPI are known by their names.
static int put_launcher(struct text part, struct bytes *out) {
    char name[32];
    if (part.len >= sizeof name) return 0;
    memcpy(name, part.at, part.len);
    name[part.len] = 0;
    size_t known = log_launcher_prefix(name);
    if (!known) return 0;
    FORWARD(bytes_append(out, name, known));
    if (known < part.len) FORWARD(bytes_append(out, "-", 1));
    return known == part.len ? 2 : 1;
}

static int put_part(const struct anonymous_key *key, struct text part, bool is_deep, struct bytes *out) {
    if (is_own_name(part)) return bytes_append(out, part.at, part.len);
    int launcher = put_launcher(part, out);
    RETURN_IF(launcher < 0 || launcher == 2, launcher < 0 ? launcher : 0);
    struct text extension = extension_of(part, is_deep), stem = {part.at, part.len - extension.len};
    FORWARD(is_deep ? put_deep(key, stem, extension, out) : anonymous_text(key, part.at, part.len, out));
    return bytes_append(out, extension.at, extension.len);
}

int anonymous_name(const struct anonymous_key *key, unsigned depth, const void *text, size_t len, struct bytes *out) {
    struct text rest = {text, len};
    if (len > NAME_MAX_BYTES) return anonymous_text(key, text, len, out);
    if (len && *rest.at != '/') depth++; // of a path, nothing is above the first `/`
    for (;;) {
        size_t part = 0;
        while (part < rest.len && rest.at[part] != '/' && rest.at[part] != '@') part++;
        FORWARD(put_part(key, (struct text){rest.at, part}, depth > NAME_PUBLIC_DEPTH, out));
        if (part == rest.len) return 0;
        FORWARD(bytes_append(out, rest.at + part, 1));
        rest = (struct text){rest.at + part + 1, rest.len - part - 1};
        depth++;
    }
}

// --- words

static bool is_known_word(struct text word) {
    // File systems; MPI; stacks; storage; hints; NFS; options of mounts; filters of HDF5; datatypes.
    static const char *const known[] = {"9p",
                                        "afs",
                                        "autofs",
                                        "beegfs",
                                        "btrfs",
                                        "ceph",
                                        "cifs",
                                        "devtmpfs",
                                        "exfat",
                                        "ext2",
                                        "ext3",
                                        "ext4",
                                        "f2fs",
                                        "fuse",
                                        "fuseblk",
                                        "gfs2",
                                        "glusterfs",
                                        "GlusterFS",
                                        "gpfs",
                                        "hugetlbfs",
                                        "iso9660",
                                        "lustre",
                                        "nfs",
                                        "nfs4",
                                        "ntfs",
                                        "ocfs2",
                                        "orangefs",
                                        "overlay",
                                        "panfs",
                                        "proc",
                                        "pvfs2",
                                        "ramfs",
                                        "s3fs",
                                        "smb3",
                                        "sshfs",
                                        "sysfs",
                                        "tmpfs",
                                        "vfat",
                                        "virtiofs",
                                        "wekafs",
                                        "xfs",
                                        "zfs",
                                        "Open",
                                        "MPI",
                                        "MPICH",
                                        "MVAPICH",
                                        "MVAPICH2",
                                        "Intel",
                                        "Intel(R)",
                                        "Library",
                                        "Cray",
                                        "HPE",
                                        "distribute",
                                        "shard",
                                        "disperse",
                                        "none",
                                        "kernel",
                                        "emulated",
                                        "throttled",
                                        "hdd",
                                        "ssd",
                                        "nvme",
                                        "on",
                                        "with",
                                        "enable",
                                        "disable",
                                        "automatic",
                                        "true",
                                        "false",
                                        "yes",
                                        "no",
                                        "0x",
                                        "sequential",
                                        "random",
                                        "*",
                                        "access_style",
                                        "collective_buffering",
                                        "cb_block_size",
                                        "cb_buffer_size",
                                        "cb_config_list",
                                        "cb_nodes",
                                        "direct_read",
                                        "direct_write",
                                        "ind_rd_buffer_size",
                                        "ind_wr_buffer_size",
                                        "nb_proc",
                                        "num_io_nodes",
                                        "romio_aggregator_list",
                                        "romio_cb_alltoall",
                                        "romio_cb_ds_threshold",
                                        "romio_cb_fr_alignment",
                                        "romio_cb_fr_type",
                                        "romio_cb_fr_types",
                                        "romio_cb_pfr",
                                        "romio_cb_read",
                                        "romio_cb_write",
                                        "romio_ds_read",
                                        "romio_ds_write",
                                        "romio_ds_wr_lb",
                                        "romio_filesystem_type",
                                        "romio_lustre_co_ratio",
                                        "romio_lustre_coll_threshold",
                                        "romio_lustre_ds_in_coll",
                                        "romio_no_indep_rw",
                                        "romio_synchronized_flush",
                                        "romio_visibility_immediate",
                                        "striping_factor",
                                        "striping_unit",
                                        "start_iodevice",
                                        "shared_fp",
                                        "nc_var_align_size",
                                        "nc_header_align_size",
                                        "nc_header_read_chunk_size",
                                        "nc_in_place_swap",
                                        "nc_record_align_size",
                                        "dev",
                                        "UFS",
                                        "NFS",
                                        "LUSTRE",
                                        "ROMIO",
                                        "generic",
                                        "ACCESS",
                                        "CLOSE",
                                        "COMMIT",
                                        "CREATE",
                                        "DELEGRETURN",
                                        "EXCHANGE_ID",
                                        "FSINFO",
                                        "FSSTAT",
                                        "GETACL",
                                        "GETATTR",
                                        "LAYOUTGET",
                                        "LINK",
                                        "LOCK",
                                        "LOCKU",
                                        "LOOKUP",
                                        "LOOKUP_ROOT",
                                        "MKDIR",
                                        "MKNOD",
                                        "NULL",
                                        "OPEN",
                                        "OPEN_CONFIRM",
                                        "OPEN_DOWNGRADE",
                                        "OPEN_NOATTR",
                                        "PATHCONF",
                                        "READ",
                                        "READDIR",
                                        "READDIRPLUS",
                                        "READLINK",
                                        "REMOVE",
                                        "RENAME",
                                        "RMDIR",
                                        "SEQUENCE",
                                        "SERVER_CAPS",
                                        "SETATTR",
                                        "STATFS",
                                        "SYMLINK",
                                        "WRITE",
                                        "TEST_STATEID",
                                        "CREATE_SESSION",
                                        "DESTROY_SESSION",
                                        "RECLAIM_COMPLETE",
                                        "SECINFO_NO_NAME",
                                        "rw",
                                        "ro",
                                        "sync",
                                        "async",
                                        "relatime",
                                        "noatime",
                                        "hard",
                                        "soft",
                                        "rsize",
                                        "wsize",
                                        "vers",
                                        "proto",
                                        "tcp",
                                        "udp",
                                        "rdma",
                                        "timeo",
                                        "retrans",
                                        "nconnect",
                                        "sec",
                                        "sys",
                                        "krb5",
                                        "namlen",
                                        "local_lock",
                                        "noac",
                                        "actimeo",
                                        "acregmin",
                                        "acregmax",
                                        "acdirmin",
                                        "acdirmax",
                                        "cto",
                                        "nocto",
                                        "inode64",
                                        "logbufs",
                                        "logbsize",
                                        "noquota",
                                        "discard",
                                        "data",
                                        "ordered",
                                        "writeback",
                                        "stripe",
                                        "barrier",
                                        "nobarrier",
                                        "max_read",
                                        "size",
                                        "flock",
                                        "localflock",
                                        "lazystatfs",
                                        "nouser_xattr",
                                        "user_xattr",
                                        "errors",
                                        "remount",
                                        "attr2",
                                        "compress",
                                        "zstd",
                                        "deflate",
                                        "shuffle",
                                        "fletcher32",
                                        "szip",
                                        "nbit",
                                        "scaleoffset",
                                        "lzf",
                                        "blosc",
                                        "lz4",
                                        "bitshuffle",
                                        "MPI_BYTE",
                                        "MPI_CHAR",
                                        "MPI_SIGNED_CHAR",
                                        "MPI_UNSIGNED_CHAR",
                                        "MPI_SHORT",
                                        "MPI_UNSIGNED_SHORT",
                                        "MPI_INT",
                                        "MPI_UNSIGNED",
                                        "MPI_LONG",
                                        "MPI_UNSIGNED_LONG",
                                        "MPI_LONG_LONG",
                                        "MPI_LONG_LONG_INT",
                                        "MPI_UNSIGNED_LONG_LONG",
                                        "MPI_FLOAT",
                                        "MPI_DOUBLE",
                                        "MPI_LONG_DOUBLE",
                                        "MPI_PACKED",
                                        "MPI_INT8_T",
                                        "MPI_INT16_T",
                                        "MPI_INT32_T",
                                        "MPI_INT64_T",
                                        "MPI_UINT8_T",
                                        "MPI_UINT16_T",
                                        "MPI_UINT32_T",
                                        "MPI_UINT64_T",
                                        "MPI_AINT",
                                        "MPI_COUNT",
                                        "MPI_OFFSET",
                                        "MPI_INTEGER",
                                        "MPI_REAL",
                                        "MPI_DOUBLE_PRECISION",
                                        "MPI_COMPLEX",
                                        "MPI_DOUBLE_COMPLEX",
                                        "MPI_LOGICAL",
                                        "MPI_CHARACTER",
                                        "MPI_INTEGER4",
                                        "MPI_INTEGER8",
                                        "MPI_REAL4",
                                        "MPI_REAL8",
                                        "MPI_C_BOOL",
                                        "MPI_WCHAR",
                                        NULL};
    return is_in(known, word);
}

// "4", "4.1.4": not an address, which has more dots.
static bool is_number(struct text word) {
    enum { MAX_DIGITS = 20, MAX_DOTS = 2 };
    size_t dots = 0;
    for (size_t i = 0; i < word.len; i++) {
        if (!isdigit((unsigned char)word.at[i]) && word.at[i] != '.') return false;
        dots += word.at[i] == '.';
    }
    return word.len <= MAX_DIGITS && dots <= MAX_DOTS;
}

int anonymous_words(const struct anonymous_key *key, const void *text, size_t len, struct bytes *out) {
    struct text rest = {text, len};
    if (len > NAME_MAX_BYTES) return anonymous_text(key, text, len, out);
    while (rest.len) {
        struct text word = {rest.at, 0};
        // A dot ends a word but not a number: "fuse.sshfs" is two words, "4.1" is one.
        while (word.len < rest.len && !strchr(" ,=:-", rest.at[word.len]) &&
               !(rest.at[word.len] == '.' && word.len && !isdigit((unsigned char)rest.at[0])))
            word.len++;
        bool stays = is_number(word) || is_known_word(word);
        FORWARD(stays ? bytes_append(out, word.at, word.len) : anonymous_text(key, word.at, word.len, out));
        if (word.len == rest.len) return 0;
        FORWARD(bytes_append(out, rest.at + word.len, 1));
        rest = (struct text){rest.at + word.len + 1, rest.len - word.len - 1};
    }
    return 0;
}
