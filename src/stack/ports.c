// The servers' ports. The keeper holds each of them from the choice to the end of the stack with a socket of its own
// that is bound and does not listen: no other program gets the port, neither before the server listens nor after it has
// ended. Whoever listened there then would be told the password by the client.
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "stack/private.h"

enum { LISTENING = 0xa }; // a state in /proc/net/tcp

// Binds to the server's address. A port that is 0 becomes a free one. As long as both sockets allow it, the server can
// bind to it, too.
static int hold_port(struct stack_server *server, struct problem *problem) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | AI_PASSIVE}, *address;
    char port[16], what[sizeof server->address + 32];
    snprintf(port, sizeof port, "%u", server->port);
    snprintf(what, sizeof what, "%s port %s", server->address, port);
    int code = getaddrinfo(server->address, port, &hints, &address);
    if (code) return problem_set(problem, -EADDRNOTAVAIL, server->address, "%s", gai_strerror(code));
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    code = fd < 0 || bind(fd, address->ai_addr, address->ai_addrlen) < 0 ||
                   getsockname(fd, (struct sockaddr *)&bound, &length) < 0
               ? -errno
               : 0;
    freeaddrinfo(address);
    if (code < 0) {
        if (fd >= 0) close(fd);
        return problem_code(problem, code, what);
    }
    server->port = ntohs(((struct sockaddr_in *)&bound)->sin_port); // at the same place for IPv6
    return fd;
}

int stack_hold_ports(struct stack *stack, int held[STACK_SERVERS_MOST], struct problem *problem) {
    for (unsigned i = 0; i < stack->servers; i++) {
        if (stack_is_here(stack, i)) FORWARD(held[i] = hold_port(&stack->server[i], problem));
    }
    return 0;
}

void stack_close_port(int held) {
    int zero = 0;
    setsockopt(held, SOL_SOCKET, SO_REUSEADDR, &zero, sizeof zero);
}

static bool has_socket(pid_t pid, uint64_t inode) {
    char path[64], wanted[64], link[sizeof path + sizeof((struct dirent *)0)->d_name], target[64];
    const struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    snprintf(wanted, sizeof wanted, "socket:[%" PRIu64 "]", inode);
    DIR *listing = opendir(path);
    bool found = false;
    while (listing && !found && (entry = readdir(listing))) {
        snprintf(link, sizeof link, "%s/%s", path, entry->d_name);
        ssize_t length = readlink(link, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = 0;
        found = !strcmp(target, wanted);
    }
    if (listing) closedir(listing);
    return found;
}

static bool listens_in(const char *list, const struct stack_server *server) {
    char line[256];
    unsigned port, state;
    uint64_t inode;
    FILE *sockets = fopen(list, "re");
    bool found = false;
    while (sockets && !found && fgets(line, sizeof line, sockets)) {
        found = sscanf(line, " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %*s %*s %*s %*s %*s %" SCNu64, &port, &state,
                       &inode) == 3 &&
                state == LISTENING && port == server->port && has_socket(server->pid, inode);
    }
    if (sockets) fclose(sockets);
    return found;
}

bool stack_server_listens(const struct stack_server *server) {
    return listens_in("/proc/net/tcp", server) || listens_in("/proc/net/tcp6", server);
}
