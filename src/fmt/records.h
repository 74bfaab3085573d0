// The kinds of tagged records and their keys. Numbers are never reused; new ones go at the end of a list.
// Times in a spill are clock units (struct spill_moment in spill.h); in a log they are nanoseconds since the job's
// start unless the comment says otherwise.
#pragma once

#include <stdbool.h>

enum record_kind {
    RECORD_JOB = 1,
    RECORD_PROCESS = 2,
    RECORD_FILE = 3,
    RECORD_CALL = 4,
    RECORD_PROCESS_FILE = 5, // log only: a process's own file number -> the log's file number
    RECORD_MODULE = 6,       // an object mapped into a process (call sites)
    RECORD_CALLSITE = 7,
    RECORD_CHILD_END = 8, // a process saw how its child ended
    RECORD_LOSS = 9,
    RECORD_COUNTERS = 10,
    RECORD_BLOCK = 11,   // log's index: where a block lies and what is in it
    RECORD_STREAM = 12,  // log: a stream of events and the process it belongs to
    RECORD_SETTING = 13, // name and value of an environment variable that matters to I/O
    RECORD_DATATYPE = 14,
    RECORD_HINTS = 15,
    RECORD_PROCESS_DATATYPE = 16, // log only, as RECORD_PROCESS_FILE
    RECORD_PROCESS_HINTS = 17,
    RECORD_DEVICE = 18, // a block device, and what it did while the job ran
    RECORD_COMMUNICATOR = 19,
    RECORD_SELECTION = 20,
    RECORD_PROCESS_SELECTION = 21, // log only, as RECORD_PROCESS_FILE
    RECORD_DATASET = 22,
    RECORD_PROCESS_DATASET = 23,
    RECORD_MAPPED = 24, // what a process moved through mappings of a file: an estimate
    RECORD_STACK = 25,
    RECORD_SERVER = 26,    // of a stack
    RECORD_UNTIED = 27,    // what was recorded below the system call and belongs to no call above
    RECORD_PROBE = 28,     // of a stack; not in logs
    RECORD_MOUNT = 29,     // a mounted file system that has files of the job
    RECORD_AGGREGATE = 30, // a file record that stands for several files of a process
    RECORD_HOST = 31,      // log only: how a host's clock was aligned
    RECORD_REDUCTION = 32, // log only: counters of ranks that were added up at MPI_Finalize
    RECORD_CLOCK = 33,     // spill only: messages between first ranks of two hosts, for their clocks
    RECORD_IMPORT = 34,    // log only: it was made from another program's log
    RECORD_IMPORTED = 35,  // log only: a record of that, with all its numbers as they were
};

enum job_key {
    JOB_COMMAND = 1,  // one field per word of the command
    JOB_START_NS = 2, // since the epoch
    JOB_END_NS = 3,   // since the epoch
    JOB_HOST = 4,     // where `record` ran
    JOB_CWD = 5,
    JOB_EXIT_STATUS = 6, // as waitpid gives it
    JOB_VERSION = 7,     // of ioseer, text
    JOB_READ_CHARS = 8,  // rchar of /proc/PID/io, summed over all processes that `record` waited for
    JOB_WRITE_CHARS = 9,
    JOB_CHARS_KNOWN = 10, // 1 if the two above are complete
    JOB_UID = 11,
    JOB_ID = 12,       // of the batch system, text
    JOB_NPROCS = 13,   // a process that execs counts once
    JOB_COMPLETE = 14, // 1 if `record` saw the command end; absent in a rescued log
    JOB_ONLY = 15,     // what was to be recorded, if not everything: text
};

enum process_key {
    PROCESS_ID = 1, // number of the process in the log
    PROCESS_PID = 2,
    PROCESS_PPID = 3,
    PROCESS_HOST = 4,
    PROCESS_EXE = 5,
    PROCESS_ARG = 6, // one field per word
    PROCESS_CWD = 7,
    PROCESS_START_NS = 8,
    PROCESS_END_NS = 9,      // absent if it is not known
    PROCESS_EXIT = 10,       // enum process_exit
    PROCESS_EXIT_VALUE = 11, // status or signal number
    PROCESS_RANK = 12,       // + 1; absent without MPI
    PROCESS_UID = 13,
    PROCESS_CLOCK_UNITS = 14, // log: its clock, see fmt/clock_map.h
    PROCESS_CLOCK_NS = 15,    // signed
    PROCESS_READ_CHARS = 16,  // rchar while it was recorded (children that it waited for included); absent if unknown
    PROCESS_WRITE_CHARS = 17,
    PROCESS_LOAD_READ_CHARS = 18, // before the recorder's start
    PROCESS_LOAD_WRITE_CHARS = 19,
    PROCESS_LEFT_OUT_READ = 20,     // bytes left out, one field for each enum left_out that is not 0, in the form
    PROCESS_LEFT_OUT_WRITE = 21,    // bytes << 4 | enum left_out
    PROCESS_STDIO_KERNEL_READ = 22, // bytes that stdio moved to and from the kernel
    PROCESS_STDIO_KERNEL_WRITE = 23,
    PROCESS_MPI = 24, // name and version, text
    PROCESS_MPI_SIZE = 25,
    PROCESS_LOCAL_RANK = 26,  // + 1
    PROCESS_TRACE_ENDED = 27, // enum loss_reason that ended its trace; counters went on
    PROCESS_LEFT_OUT_CALLS = 28,
    PROCESS_CLOCK_SPAN_UNITS = 29,
    PROCESS_CLOCK_SPAN_NS = 30,
    PROCESS_RAW_RINGS = 31,  // io_urings made without liburing; their transfers are not seen
    PROCESS_COMM_CALLS = 32, // communication that is not in the events: calls, one field for each enum
    PROCESS_COMM_BYTES = 33, // stream_comm_kind that is not 0, in the form calls << 4 | kind; in the same way bytes
    PROCESS_COMM_NS = 34,    // and time
    PROCESS_IO_NS = 35, // time in calls after the end of the trace; absent if it, and communication, was not counted
    PROCESS_CPUS = 36,  // processors that it may run on
    PROCESS_CPU_WAIT_NS = 37,  // how long its main thread was runnable but did not run; absent if unknown
    PROCESS_VIA = 38,          // enum process_via; absent: by the preload library
    PROCESS_JOINED = 39,       // 1: it ran already when its recording began
    PROCESS_COUNTS_ALL = 40,   // 1: its RECORD_COUNTERS count all calls; events are some of these, chosen by triggers
    PROCESS_REDUCED_READ = 48, // bytes in counters that were added up over ranks, one field for each layer that has
    PROCESS_REDUCED_WRITTEN = 49, // some, in the form bytes << 4 | enum call_layer
    // Of a record that stands for several processes, whose numbers above are sums (fmt/group.h):
    PROCESS_MEMBERS = 50, // how many
    PROCESS_RANKS = 51,   // which
    PROCESS_HOSTS = 52,   // where they ran, one field for each struct group_hosts
    PROCESS_SPREAD = 53,  // how their times differ, one field for each enum group_time that is known
    PROCESS_REAPED = 54,  // 1: their parents are in the log, and waited for them
    PROCESS_WITH = 55,    // number of the record that other ranks of the same MPI program have together
};

// How a process was recorded.
enum process_via { VIA_PRELOAD = 0, VIA_PTRACE = 1, VIA_LINK = 2, VIA_IMPORT = 3, VIA_COUNT };

// How a process ended, if that was seen.
enum process_exit {
    EXIT_UNKNOWN = 0, // "vanished"
    EXIT_CLEAN = 1,   // returned from main or called exit
    EXIT_UNDERSCORE = 2,
    EXIT_EXEC = 3,
    EXIT_SIGNAL = 4,
    EXIT_RUNNING = 5, // still running when the log was packed, or when its recording ended
};

enum file_key {
    FILE_ID = 1,   // log: absent in blocks of counters of several ranks: one more than that of the record before
    FILE_NAME = 2, // absolute; raw bytes
    FILE_DEVICE = 3,
    FILE_INODE = 4,
    FILE_BLOCK_SIZE = 5, // st_blksize, for alignment
    FILE_FS_TYPE = 6,    // statfs f_type, if known
    FILE_MOUNT = 7,
    FILE_TYPE = 8,    // st_mode & S_IFMT, 0 if not known
    FILE_FS_NAME = 9, // log: type of the file system in the list of mounts, "ext4"
    FILE_OBJECT = 10, // path of an object in the file, "/group/dataset"; absent: the file itself
    FILE_STRIPE = 11, // how its parts are spread over servers (fmt/stripe.h), one field per part
};

enum call_key { CALL_ID = 1, CALL_NAME = 2, CALL_LAYER = 3, CALL_CLASS = 4, CALL_TRAITS = 5 };

enum link_key {
    LINK_PROCESS = 1,
    LINK_LOCAL = 2,
    LINK_GLOBAL = 3
}; // of a RECORD_PROCESS_…: the process's number, the log's

enum module_key { MODULE_ID = 1, MODULE_PATH = 2, MODULE_BASE = 3, MODULE_PROCESS = 4 };

// In a spill: module and address; in a log: process and text ("file.c:123", "function+0x1f" or "lib.so+0x1234").
enum callsite_key {
    CALLSITE_ID = 1,
    CALLSITE_MODULE = 2,
    CALLSITE_ADDRESS = 3,
    CALLSITE_LINE = 4,
    CALLSITE_PROCESS = 5
};

enum child_end_key { CHILD_END_PID = 1, CHILD_END_STATUS = 2 };

enum loss_key { LOSS_PROCESS = 1, LOSS_REASON = 2, LOSS_COUNT = 3, LOSS_BYTES = 4, LOSS_TEXT = 5 };

enum loss_reason {
    LOSS_NONE = 0,
    LOSS_SIGNAL = 1,        // a signal handler's call arrived while the recorder was writing
    LOSS_TRACE_CAP = 2,     // the trace cap was reached: from there on only counters
    LOSS_DISK_FULL = 3,     // no room for the trace: from there on only counters
    LOSS_FILE_CAP = 4,      // look-ups of names past the caps of files and counters; their directory has a record
    LOSS_DAMAGED = 5,       // bytes of a spill or log that could not be read
    LOSS_NO_SPILL = 6,      // processes (the count is of these) that could not make a spill file
    LOSS_FD_RANGE = 7,      // a descriptor number over the recorder's table
    LOSS_ASYNC = 8,         // asynchronous transfers whose completion was not seen
    LOSS_COUNTERS_FULL = 9, // no room for a counters record
    LOSS_NO_NAME = 10,      // opened files without a known name; they have one common name
    LOSS_SANDBOX = 11,      // threads that entered a sandbox (seccomp) and were not recorded from there on
    LOSS_MAPPINGS = 12,     // mappings of files that did not fit the recorder's table: syncs and unmaps are not seen
    LOSS_TABLE_FULL = 13,   // datatypes, hints and communicators after their cap: events do not have them
    LOSS_NO_PLUGIN = 14,    // processes with an MPI for which the recorder has no plugin, or one of another build
    LOSS_NOT_FOLLOWED =
        15, // programs that no library can be preloaded into and that were not followed; the text says why
    LOSS_OLD_LIBRARY = 16, // processes with an HDF5 before 1.10, whose calls are not recorded
    LOSS_PROBE = 17,       // calls below the system call that probes had no room for; bytes of their files
    LOSS_AWAY = 18,        // hosts whose records have not arrived; the text is the host's name
    LOSS_REASONS
};

// Whether events of the trace were lost. Other reasons lose only a file's name, or counters, or count processes.
static inline bool loss_is_of_events(unsigned reason) {
    return reason != LOSS_FILE_CAP && reason != LOSS_NO_NAME && reason != LOSS_COUNTERS_FULL &&
           reason != LOSS_NO_SPILL && reason != LOSS_SANDBOX && reason != LOSS_MAPPINGS && reason != LOSS_TABLE_FULL &&
           reason != LOSS_NO_PLUGIN && reason != LOSS_NOT_FOLLOWED && reason != LOSS_OLD_LIBRARY &&
           reason != LOSS_PROBE && reason != LOSS_AWAY;
}

// Why bytes were left out on purpose.
enum left_out {
    LEFT_OUT_NONE = 0,     // of a handle: it is recorded. Of bytes: by calls that were not to be (--layers, --classes)
    LEFT_OUT_EXCLUDED = 1, // system files and --exclude
    LEFT_OUT_PIPE = 2,
    LEFT_OUT_SOCKET = 3,
    LEFT_OUT_TERMINAL = 4,
    LEFT_OUT_OTHER = 5, // devices, memory files, event descriptors
    LEFT_OUT_COUNT
};

// Bytes of pages that a process has touched through mappings of a file, as the kernel knew them at the end of the
// mapping.
enum mapped_kind {
    MAPPED_READ,  // brought into memory
    MAPPED_DIRTY, // of shared mappings: changed; also what was changed, but not yet written to the file, by other means
    MAPPED_COPIED, // of private mappings: changed in a copy that the file does not get
    MAPPED_MISSED, // not bytes: syncs and ends of mappings without an estimate
    MAPPED_KINDS
};

enum mapped_key {
    MAPPED_FILE = 1, // in a spill the process's own number
    MAPPED_PROCESS = 2,
    MAPPED_SUMS = 3,  // spill only: 8 bytes for each enum mapped_kind
    MAPPED_BYTES = 4, // log only: one number for each enum mapped_kind that is not 0, in the form bytes << 4 | kind
};

enum aggregate_key {
    AGGREGATE_FILE = 1, // in a spill and in a log the process's own number
    AGGREGATE_PROCESS = 2,
    AGGREGATE_MEMBERS = 3, // spill only: 8 bytes, the number of files
    AGGREGATE_FILES = 4,   // log only: the same as a number
};

enum stream_key { STREAM_ID = 1, STREAM_PROCESS = 2, STREAM_LOCAL = 3 }; // the last: the process's own number of it

enum setting_key { SETTING_NAME = 1, SETTING_VALUE = 2 };

enum datatype_key {
    DATATYPE_ID = 1,
    DATATYPE_BYTES = 2,       // that an instance moves
    DATATYPE_LOWER_BOUND = 3, // signed
    DATATYPE_EXTENT = 4,      // signed
    DATATYPE_NAME = 5,        // as MPI has it, "MPI_DOUBLE"; absent without one
    DATATYPE_COMBINER = 6,    // enum datatype_combiner (fmt/datatype.h)
    DATATYPE_FORM = 7,        // flattened (fmt/datatype.h)
    DATATYPE_CUT = 8,         // 1 if the form has only the first pieces
    DATATYPE_HASH = 9,        // with the above: of all that the type was made of
};

// Each pair is one field: name, a zero byte, value.
enum hints_key { HINTS_ID = 1, HINTS_ASKED = 2, HINTS_IN_FORCE = 3 };

// The elements of a dataset that a transfer selects, without their place: that follows from the event's offset. Lists
// have one field per dimension, the slowest first.
enum selection_key {
    SELECTION_ID = 1,
    SELECTION_KIND = 2, // enum selection_kind
    SELECTION_DIMS = 3, // of the dataset; 0: it can grow
    SELECTION_STRIDE = 4,
    SELECTION_COUNT = 5,
    SELECTION_BLOCK = 6,  // irregular, points: extent of the box around all elements
    SELECTION_POINTS = 7, // number of elements
    SELECTION_BLOCKS = 8, // irregular: number of blocks
};

enum selection_kind {
    SELECTION_UNKNOWN = 0,
    SELECTION_NONE = 1,
    SELECTION_ALL = 2,
    SELECTION_REGULAR = 3, // hyperslab
    SELECTION_IRREGULAR = 4,
    SELECTION_ELEMENTS = 5,
    SELECTION_KINDS
};

enum { SELECTION_MAX_RANK = 32 };

// A dataset as it was when it was opened.
enum dataset_key {
    DATASET_ID = 1,
    DATASET_DIMS = 2,     // one field per dimension
    DATASET_MAX_DIMS = 3, // the same; UINT64_MAX: unlimited
    DATASET_LAYOUT = 4,   // + 1: 0 compact, 1 contiguous, 2 chunked, 3 virtual
    DATASET_CHUNK = 5,    // one field per dimension
    DATASET_FILTER = 6,   // one field per filter: number, a space, name
    DATASET_CLASS = 7,    // of its datatype + 1, H5T_class_t
    DATASET_BYTES = 8,    // of an element
    DATASET_ALLOCATION_TIME = 9,
    DATASET_FILL_TIME = 10,      // + 1
    DATASET_ALIGNMENT_FROM = 11, // of its file: objects of at least this size
    DATASET_ALIGNMENT = 12,      // begin at a multiple of this
    DATASET_MPI = 13,            // 1: its file was opened through MPI-IO
    DATASET_COLLECTIVE_READS = 14,
    DATASET_COLLECTIVE_WRITES = 15, // of metadata
    DATASET_OLD_CALL = 16,          // 1: opened by a function that HDF5 has replaced by a newer one
};

enum device_key {
    DEVICE_ID = 1,     // log only
    DEVICE_NAME = 2,   // "sda"
    DEVICE_NUMBER = 3, // as in st_dev
    DEVICE_HOST = 4,
    DEVICE_START_NS = 5, // log only: start of the samples
    DEVICE_SAMPLES = 6,  // fmt/device_samples.h
    DEVICE_UNDER = 7,    // st_dev of the files that lie on it, one field each; in a log only of files that occur there
    DEVICE_MONO_NS = 8,  // spill only: start of the samples
    DEVICE_EPOCH_NS = 9,
};

enum mount_key {
    MOUNT_ID = 1, // log only
    MOUNT_POINT = 2,
    MOUNT_TYPE = 3,    // "nfs4"
    MOUNT_SOURCE = 4,  // "server:/home"
    MOUNT_OPTIONS = 5, // of the file system
    MOUNT_DEVICE = 6,  // st_dev of its files
    MOUNT_HOST = 7,
    MOUNT_NFS_BYTES = 8,     // while the job ran: one number for each enum nfs_bytes that is not 0, bytes << 4 | kind
    MOUNT_NFS_OPERATION = 9, // requests of one kind while the job ran (fmt/nfs_counts.h), one field per kind
    MOUNT_UNREAD = 10,       // log only: files without stripes because they could not be read
    MOUNT_UNREAD_WHY = 11,   // text
};

// Of one process. Members are ranks in MPI_COMM_WORLD (fmt/communicator.h).
enum communicator_key {
    COMMUNICATOR_PROCESS = 1, // log only
    COMMUNICATOR_NUMBER = 2,  // in the process: 1 MPI_COMM_WORLD, 2 MPI_COMM_SELF, then in the order of creation
    COMMUNICATOR_ORIGIN = 3,  // enum comm_origin
    COMMUNICATOR_PARENT = 4,  // number of the communicator that it was made from
    COMMUNICATOR_ORDINAL = 5, // collective creations on the parent before this one
    COMMUNICATOR_SIZE = 6,
    COMMUNICATOR_MEMBERS = 7,
    COMMUNICATOR_HASH = 8,        // of all members; only if the list is cut
    COMMUNICATOR_REMOTE_SIZE = 9, // the other group of an inter-communicator
    COMMUNICATOR_REMOTE_MEMBERS = 10,
    COMMUNICATOR_REMOTE_HASH = 11,
};

// The stack that the job was recorded with. Beside the spill files, *NAME*.stack has this record and those of its
// servers and probes (src/stack/recording.h); times are nanoseconds since the epoch there.
enum stack_key {
    STACK_NAME = 1,
    STACK_LAYOUT = 2,      // "distribute", "shard" or "disperse"
    STACK_SHARD_BYTES = 3, // of a block; shard only
    STACK_REDUNDANCY = 4,  // servers that may be lost; disperse only
    STACK_MOUNT = 5,
    STACK_FILE_SYSTEM = 6, // "GlusterFS 10.3"
    STACK_SERVERS = 7,     // number of them
    STACK_LAYERS = 8,      // one field per probed layer: enum call_layer
    STACK_CACHE = 9,       // "none" (direct I/O) or "kernel"
    STACK_PLACED = 10,     // one field per directory of the mount whose files are on some of the servers only: its path
                           // below the mount, a zero byte, the numbers of the servers with spaces in between
    STACK_GONE_NS = 11,    // when the stack was found gone before the end of the recording; absent otherwise
    STACK_UNJOINED = 26,   // only in logs: why the calls below the system call are missing, or some of them
    STACK_DEVICE = 27,     // only in logs: st_dev of its files, one field for each mount
    // The rest is not in logs.
    STACK_RECORDER = 13, // the process with the entry in the control page, and when it began (struct probe_recorder)
    STACK_RECORDER_TICKS = 14,
    STACK_GUARD = 15, // process ids
    STACK_KEEPER = 16,
    STACK_MADE_MOUNT = 18,  // 1: its mount point is removed with it
    STACK_ID = 19,          // that its bricks are marked with
    STACK_REMOTE = 20,      // command that runs ioseer on the servers' hosts
    STACK_ONLY = 21,        // on the host of a server: its number + 1
    STACK_IOSEER = 22,      // where it is there
    STACK_GUARD_TICKS = 23, // when the processes began
    STACK_KEEPER_TICKS = 24,
    STACK_SPILL = 25, // the directory that a recording is for
    STACK_KEYS
};

enum server_key {
    SERVER_ID = 1, // from 0
    SERVER_HOST = 2,
    SERVER_PORT = 3,
    SERVER_BRICK = 4,           // directory
    SERVER_STORAGE = 5,         // what the brick lies on, in words: "ext4", "emulated hdd", "throttled xfs"
    SERVER_DISCONNECTED_NS = 6, // one field for each time that the client lost it
    SERVER_CONNECTED_NS = 7,    // and had it again
    SERVER_CLOCK_OFFSET_NS = 8, // signed: what was added to its times; absent if it has the job's clock
    SERVER_CLOCK_ERROR_NS = 9,  // the true offset differs from that by at most this
    SERVER_PID = 10,
    // These are not in logs.
    SERVER_START_TICKS = 11, // when the process began
    SERVER_BACKING = 12,     // where the data is
    SERVER_GIVEN = 13,       // the same, if the user chose the place
    SERVER_ADDRESS = 14,
    SERVER_LINK = 15, // process that keeps the connection to its host, and when that began
    SERVER_LINK_TICKS = 16,
    SERVER_PROBES = 17,      // folder of its probes' files, on its host
    SERVER_CLOCK_DRIFT = 18, // only in logs, signed: what was added for each second since the job's start, ns
    SERVER_MISSING = 19,     // text, also in logs: why what it and its disk did was not recorded; absent: it was
    SERVER_KEYS
};

// A probe's records are in *NUMBER*.probe (fmt/probe.h), from `first` on.
enum probe_key {
    PROBE_NUMBER = 1,
    PROBE_LAYER = 2,  // enum call_layer
    PROBE_SERVER = 3, // + 1; absent: the client
    PROBE_FILE = 4,   // that the probe writes
    PROBE_FIRST = 5,  // the place where the recording began
    PROBE_HOST = 6,   // where the file is; absent: here
    PROBE_LOST = 7,   // calls without a record before the recording began; absent: none
};

// Of the process that sent the first of the messages.
enum clock_key {
    CLOCK_HOST = 1, // of the other process
    CLOCK_PID = 2,
    CLOCK_SAMPLES = 3, // struct clock_sample (fmt/spill.h), one after the other
};

enum host_key {
    HOST_NAME = 1,
    HOST_CLOCK_OFFSET_NS = 2, // signed: what was added to its times, at the job's start
    HOST_CLOCK_DRIFT = 3,     // signed: and for each second since then, ns; absent if it is not known
    HOST_CLOCK_ERROR_NS = 4,  // from the first messages on, its times are wrong by at most this
    HOST_CLOCK_REFERENCE = 5, // the host that this is relative to
};

// Sums over calls of one layer below the system call.
enum untied_key { UNTIED_LAYER = 1, UNTIED_REASON = 2, UNTIED_CALLS = 3, UNTIED_READ = 4, UNTIED_WRITTEN = 5 };

enum untied_reason {
    UNTIED_NONE = 0,       // these belong to a call above, and are events
    UNTIED_NO_THREAD = 1,  // the kernel's own work: writeback, readahead
    UNTIED_OTHER = 2,      // of a thread that was not recorded, on a file of the job
    UNTIED_AFTER_END = 3,  // of a thread whose recorder had ended: libc's flush at exit
    UNTIED_NO_CALL = 4,    // of a recorded thread, outside of its recorded calls
    UNTIED_INTERNAL = 5,   // the file system's own work
    UNTIED_LATE = 6,       // it went on after the call above it had returned
    UNTIED_UNFINISHED = 7, // it, or the call above it, had not returned when the recording ended
    UNTIED_LOST = 8,       // the record of the call above it is missing
    UNTIED_RECORDER = 9,   // the recorder's own question what a file is; in older logs
    UNTIED_CLOCK = 10,     // of a server whose clock could not be aligned
    UNTIED_NAMESPACE = 11, // on a file of the job, which has processes whose thread ids are of another PID namespace
    UNTIED_REASONS
};

// Counters without a process are those of ranks together.
enum reduction_key {
    REDUCTION_RANKS = 1,    // size of their MPI_COMM_WORLD
    REDUCTION_START_NS = 2, // signed: their moments count from here
    REDUCTION_PROCESS = 3,  // one of the ranks; absent if none is known
};

// The index holds one of these per block; the summary of an event block lets a viewer draw it without reading it.
enum index_key {
    INDEX_OFFSET = 1,
    INDEX_TYPE = 2,
    INDEX_STREAM = 3,
    INDEX_PROCESS = 4,
    INDEX_EVENTS = 5,
    INDEX_START_NS = 6,
    INDEX_END_NS = 7,
    INDEX_CLASS_COUNT = 8, // three fields per class that occurs, each value << 4 | enum call_class
    INDEX_CLASS_BYTES = 9,
    INDEX_CLASS_NS = 10,
    INDEX_STORED_LEN = 11,
    INDEX_FLAGS = 12, // enum log_block_flag
};

// What the log was made from. Keys from 5 on are of Darshan's logs.
enum import_key {
    IMPORT_PROGRAM = 1, // "Darshan"
    IMPORT_VERSION = 2, // of its log format, text
    IMPORT_CODEC = 3,   // how its log was compressed: enum darshan_codec
    IMPORT_SWAPPED = 4, // 1: written by a machine of the other byte order
    IMPORT_USER = 5,    // this and the next six: signed, as in its description of the job
    IMPORT_START_S = 6,
    IMPORT_START_NS = 7,
    IMPORT_END_S = 8,
    IMPORT_END_NS = 9,
    IMPORT_PROCESSES = 10,
    IMPORT_JOB = 11,
    IMPORT_METADATA = 12,  // text
    IMPORT_COMMAND = 13,   // text
    IMPORT_MOUNT = 14,     // one field per mount, longest path first: path, a zero byte, type
    IMPORT_JOB_BYTES = 15, // this and the next: of its regions, compressed
    IMPORT_NAMES_BYTES = 16,
    IMPORT_MODULE = 17, // one field per module that has records or is incomplete: varints (darshan/stored.h)
};

// A record of a module.
enum imported_key {
    IMPORTED_MODULE = 1, // enum darshan_module_id
    IMPORTED_VERSION = 2,
    IMPORTED_RANK = 3,      // signed; -1: of all ranks together
    IMPORTED_RECORD = 4,    // its id
    IMPORTED_FILE = 5,      // the log's number; absent: the record is not of a file that ioseer knows
    IMPORTED_NAME = 6,      // without a file: name of the record; absent: it has none
    IMPORTED_NUMBERS = 7,   // bytes: varints, folded
    IMPORTED_REALS = 8,     // bytes: 8 for each, little-endian
    IMPORTED_OF_FILE = 9,   // record id of the file that has the object
    IMPORTED_MORE = 10,     // bytes: varints, folded; what it means depends on the module
    IMPORTED_NAMELESS = 11, // 1: the name of the file was made up
};
