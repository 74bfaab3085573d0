#include "base/err.h"

#include <string.h>

const char *err_text(int code) {
    switch (code) {
    case ERR_FORMAT: return "not in the expected format";
    case ERR_CHECKSUM: return "checksum does not match (damaged)";
    case ERR_TRUNCATED: return "ends too early (truncated)";
    case ERR_VERSION: return "written by a newer version of ioseer";
    case ERR_USAGE: return "bad usage";
    case ERR_EXISTS: return "exists already (--force overwrites it)";
    case ERR_NOTHING: return "nothing there";
    case ERR_LIMIT: return "limit reached";
    default: break;
    }
    // strerror would do; but after it libraries that free a locale at exit hang if the user preloads libasan.
    const char *text = code < 0 ? strerrordesc_np(-code) : NULL;
    return text ? text : "unknown error";
}
