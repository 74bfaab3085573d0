// The list of error codes. Library functions return 0 (or a count) or a negative code from here. System errors are
// -errno; ioseer's own codes are below them and never overlap.
#pragma once

enum err {
    ERR_FORMAT = -1001,    // the bytes are not what the specification says
    ERR_CHECKSUM = -1002,  // a checksum does not match
    ERR_TRUNCATED = -1003, // the data ends too early
    ERR_VERSION = -1004,   // written by a newer ioseer that older readers must not read
    ERR_USAGE = -1005,     // bad option or argument
    ERR_EXISTS = -1006,    // would overwrite
    ERR_NOTHING = -1007,   // nothing there to work on
    ERR_LIMIT = -1008,     // a stated limit is reached
};

// Text for any code, own or -errno. Never NULL; do not free it.
const char *err_text(int code);

#define RETURN_IF(condition, code)                                                                                     \
    do {                                                                                                               \
        if (condition) return (code);                                                                                  \
    } while (0)

// Returns a negative result of a call to the caller.
#define FORWARD(call)                                                                                                  \
    do {                                                                                                               \
        int forward_code_ = (call);                                                                                    \
        if (forward_code_ < 0) return forward_code_;                                                                   \
    } while (0)
