// Environment variables that tell the recorder what to do. They are passed on by exec. Those of settings.def come from
// users and from ioseer.conf, the others from `ioseer record` or from the first process of a job.
#pragma once

#define SETTING_JOB "IOSEER_JOB"           // directory of the job's spill files; if it is not set, nothing is recorded
#define SETTING_JOB_ROOT "IOSEER_JOB_ROOT" // without `record`: PID@HOST of the process that began the job
#define SETTING_JOB_KEY "IOSEER_JOB_KEY"   // and the batch job that it belongs to, or "-"
#define SETTING_JOB_START "IOSEER_JOB_START"     // when the job began, nanoseconds since the epoch
#define SETTING_JOB_COUNTER "IOSEER_JOB_COUNTER" // host whose processor counter is known to be steady
#define SETTING_LIBRARY "IOSEER_LIBRARY"         // path of the preload library; exec passes it on
#define SETTING_FOLLOWER                                                                                               \
    "IOSEER_FOLLOWER" // path of ioseer-follow, for programs that it cannot be loaded into; or "-" and why not
#define SETTING_FOLLOW_ALL "IOSEER_FOLLOW_ALL"           // 1: it follows every program, and nothing is preloaded
#define SETTING_SPILL_VERSION "IOSEER_SPILL_VERSION"     // SPILL_VERSION; a linked recorder with another one stays off
#define SETTING_TRACE_CAP "IOSEER_TRACE_CAP"             // bytes of trace per process; 0 keeps counters only
#define SETTING_FILE_CAP "IOSEER_FILE_CAP"               // number of files per process that are recorded by name
#define SETTING_DIRECTORY_CAP "IOSEER_DIRECTORY_CAP"     // number of directories that stand for files past it
#define SETTING_COUNTER_CAP "IOSEER_COUNTER_CAP"         // bytes of counters per process
#define SETTING_INCLUDE "IOSEER_INCLUDE"                 // glob patterns, one per line; they override the exclusions
#define SETTING_EXCLUDE "IOSEER_EXCLUDE"                 // glob patterns, one per line
#define SETTING_UNWANTED_LAYERS "IOSEER_UNWANTED_LAYERS" // bit n: calls of layer n are not recorded
#define SETTING_UNWANTED_CLASSES "IOSEER_UNWANTED_CLASSES" // the same of classes
#define SETTING_CALLSITES "IOSEER_CALLSITES"               // 1: record the calling code

// Of settings.def
#define SETTING_CONF "IOSEER_CONF" // path of the site's ioseer.conf, instead of the one of the installation
#define SETTING_LOG_DIR "IOSEER_LOG_DIR"
#define SETTING_SPILL "IOSEER_SPILL" // also where `record` puts the job's directory
#define SETTING_RECORD "IOSEER_RECORD"
#define SETTING_SAMPLE "IOSEER_SAMPLE"
#define SETTING_EXCLUDE_PROGRAM "IOSEER_EXCLUDE_PROGRAM"
#define SETTING_EXCLUDE_USER "IOSEER_EXCLUDE_USER"
#define SETTING_TRACE_FILE "IOSEER_TRACE_FILE"
#define SETTING_TRACE_PROGRAM "IOSEER_TRACE_PROGRAM"
#define SETTING_TRACE_RANK "IOSEER_TRACE_RANK"
#define SETTING_TRACE_SMALLER "IOSEER_TRACE_SMALLER"
#define SETTING_TRACE_SLOWER "IOSEER_TRACE_SLOWER"
#define SETTING_TRACE_FROM "IOSEER_TRACE_FROM"
#define SETTING_TRACE_FOR "IOSEER_TRACE_FOR"
#define SETTING_TRACE_SAMPLE "IOSEER_TRACE_SAMPLE"
#define SETTING_PATIENCE "IOSEER_PATIENCE"
#define SETTING_PROGRAM "IOSEER_PROGRAM"

enum { // of `record`
    SETTING_DEFAULT_FILE_CAP = 16384,
    SETTING_DEFAULT_TRACE_CAP = 256 << 20,
    SETTING_DEFAULT_DIRECTORY_CAP = 1024,
    SETTING_DEFAULT_COUNTER_CAP = 48 << 20,
};

enum { SETTING_TRIGGERED_TRACE_CAP = 64 << 20 }; // of jobs without `record` that have a trigger

// Variables that name the job of a batch system. The last is all that a batch script of Flux has.
#define SETTINGS_BATCH_NAMES "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "FLUX_ENCLOSING_ID"

// Variables that change a program's I/O: patterns. Their names and those above are stored in the log; their values may
// be private and are stored only if the user asks for them.
#define SETTINGS_STORED_NAMES                                                                                          \
    "ROMIO_*", "OMPI_MCA_io*", "OMPI_MCA_fs*", "OMPI_MCA_fbtl*", "OMPI_MCA_fcoll*", "OMPI_MCA_sharedfp*",              \
        "MPICH_MPIIO_*", "HDF5_*", "PNETCDF_*"
