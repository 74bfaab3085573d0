// Environment variables by which `ioseer record` tells the recorder what to do. They are passed on by exec.
#pragma once

#define SETTING_JOB "IOSEER_JOB"         // directory of the job's spill files; if it is not set, nothing is recorded
#define SETTING_LIBRARY "IOSEER_LIBRARY" // path of the preload library; exec passes it on
#define SETTING_FOLLOWER                                                                                               \
    "IOSEER_FOLLOWER" // path of ioseer-follow, for programs that it cannot be loaded into; or "-" and why not
#define SETTING_FOLLOW_ALL "IOSEER_FOLLOW_ALL" // 1: it follows every program, and nothing is preloaded
#define SETTING_TRACE_CAP "IOSEER_TRACE_CAP"   // bytes of trace per process; 0 keeps counters only
#define SETTING_FILE_CAP "IOSEER_FILE_CAP"     // number of files per process that are recorded by name
#define SETTING_INCLUDE "IOSEER_INCLUDE"       // glob patterns, one per line; they override the exclusions
#define SETTING_EXCLUDE "IOSEER_EXCLUDE"       // glob patterns, one per line
#define SETTING_CALLSITES "IOSEER_CALLSITES"   // 1: record the calling code

#define SETTING_SPILL "IOSEER_SPILL" // the user's choice of where `record` puts the job's directory

enum { SETTING_DEFAULT_FILE_CAP = 16384, SETTING_DEFAULT_TRACE_CAP = 256 << 20 };
