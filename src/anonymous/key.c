#include "anonymous/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/siphash.h"

uint64_t anonymous_hash(const struct anonymous_key *key, enum anonymous_domain domain, const void *data, size_t len) {
    // Each domain has a key of its own, which is made of the secret one.
    uint64_t of[2] = {(uint64_t)domain, 0};
    uint64_t own[2];
    own[0] = siphash(key->half, of, sizeof of);
    of[1] = 1;
    own[1] = siphash(key->half, of, sizeof of);
    return siphash(own, data, len);
}

uint64_t anonymous_number(const struct anonymous_key *key, enum anonymous_domain domain, uint64_t value,
                          unsigned bits) {
    uint64_t hash = value ? anonymous_hash(key, domain, &value, sizeof value) & ((UINT64_C(1) << bits) - 1) : 0;
    return value && !hash ? 1 : hash;
}

// --- key

int anonymous_key_make(struct anonymous_key *key) {
    ssize_t got = getrandom(key, sizeof *key, 0);
    RETURN_IF(got < 0, -errno);
    return got == (ssize_t)sizeof *key ? 0 : -EIO;
}

enum { KEY_DIGITS = 32, KEY_LINE = KEY_DIGITS + 1 };

// Returns -ENOENT if there is none.
static int read_key(struct anonymous_key *key, const char *path, struct problem *problem) {
    struct stat status;
    char line[KEY_LINE + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    RETURN_IF(fd < 0, -errno);
    int code = fstat(fd, &status) ? -errno : 0;
    ssize_t len = read(fd, line, sizeof line);
    close(fd);
    RETURN_IF(code < 0, code);
    RETURN_IF(!S_ISREG(status.st_mode), problem_set(problem, ERR_FORMAT, path, "is not a file"));
    RETURN_IF(status.st_mode & 077, problem_set(problem, -EACCES, path, "others may read the key: chmod 600 it"));
    bool is_key = len == KEY_LINE && line[KEY_DIGITS] == '\n';
    line[KEY_DIGITS] = 0;
    RETURN_IF(!is_key || strspn(line, "0123456789abcdef") != KEY_DIGITS,
              problem_set(problem, ERR_FORMAT, path, "is not a key: %d hexadecimal digits and a new line", KEY_DIGITS));
    key->half[1] = strtoull(line + KEY_DIGITS / 2, NULL, 16);
    line[KEY_DIGITS / 2] = 0;
    key->half[0] = strtoull(line, NULL, 16);
    return 0;
}

// Written under another name first: whoever comes at the same time finds a whole key or none.
static int write_key(const struct anonymous_key *key, const char *path) {
    char line[KEY_LINE + 1], *beside;
    snprintf(line, sizeof line, "%016llx%016llx\n", (unsigned long long)key->half[0], (unsigned long long)key->half[1]);
    RETURN_IF(asprintf(&beside, "%s.%ld.new", path, (long)getpid()) < 0, -ENOMEM);
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int code = fd < 0 ? -errno : io_write_all(fd, line, KEY_LINE);
    if (fd >= 0 && close(fd) && code == 0) code = -errno;
    if (code == 0 && link(beside, path)) code = -errno;
    if (fd >= 0) unlink(beside);
    free(beside);
    return code;
}

int anonymous_key_file(struct anonymous_key *key, const char *path, struct problem *problem) {
    int code = read_key(key, path, problem);
    if (code == -ENOENT) {
        code = anonymous_key_make(key);
        if (code == 0) code = write_key(key, path);
        if (code == -EEXIST) code = read_key(key, path, problem);
    }
    return code < 0 ? problem_code(problem, code, path) : 0;
}
