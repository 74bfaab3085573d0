// Servers on other hosts. A command such as `ssh {host}` starts ioseer there (stack_remote_run), which greets, gets an
// order on its standard input and answers on its standard output. The one that keeps a server stays as long as the
// connection does, and each side knows from a beat every second that the other one is there. Both sides must be the
// same build: what they send are structs. Nothing waits without a limit for the other side.
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/process.h"
#include "base/scoped.h"
#include "stack/private.h"

enum {
    CONNECT_MS = 20000, // for ioseer to run on a host
    ANSWER_MS = 90000,  // for a server to start there, on storage that has to be made
    PIECE_MS = 30000,   // for a piece of something long
    REACH_MS = 5000,
    LAST_WORDS_MS = 1000,
    NOISE_MOST = 1 << 16, // bytes that a shell may say before ioseer does
};

struct greeting {
    char magic[16];
    char version[32];
    uint32_t bytes; // of the structs that are sent
};

struct order {
    uint32_t kind, server, places;
};

struct answer {
    int32_t code;
    char why[200];
    struct stack_server server; // for ORDER_SERVE
};

static const struct greeting own_greeting = {
    .magic = "\nioseer stack 1",
    .version = IOSEER_VERSION,
    .bytes = sizeof(struct stack) + sizeof(struct stack_place) + sizeof(struct answer),
};

// --- both sides

static int await(int fd, short events, int64_t until_ns) {
    int64_t left_ms = (until_ns - clock_now_ns()) / 1000000;
    int ready = poll(&(struct pollfd){.fd = fd, .events = events}, 1, left_ms < 0 ? 0 : (int)left_ms);
    return ready > 0 ? 0 : ready < 0 && errno != EINTR ? -errno : -ETIMEDOUT;
}

static int read_until(int fd, void *data, size_t len, int64_t until_ns) {
    for (char *at = data; len;) {
        FORWARD(await(fd, POLLIN, until_ns));
        ssize_t got = read(fd, at, len);
        RETURN_IF(got == 0, -ECONNRESET);
        RETURN_IF(got < 0 && errno != EINTR && errno != EAGAIN, -errno);
        if (got > 0) at += got, len -= (size_t)got;
    }
    return 0;
}

static int64_t in_ms(int64_t ms) { return clock_now_ns() + ms * INT64_C(1000000); }

// The limit is for each piece: large answers may take long.
int stack_link_read(int fd, void *data, size_t len) {
    enum { PIECE_BYTES = 1 << 16 };
    for (char *at = data; len;) {
        size_t piece = len < PIECE_BYTES ? len : PIECE_BYTES;
        FORWARD(read_until(fd, at, piece, in_ms(PIECE_MS)));
        at += piece, len -= piece;
    }
    return 0;
}

int stack_link_write(int fd, const void *data, size_t len) {
    for (const char *at = data; len;) {
        FORWARD(await(fd, POLLOUT, in_ms(PIECE_MS)));
        ssize_t put = send(fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && errno == ENOTSOCK) put = write(fd, at, len);
        RETURN_IF(put < 0 && errno != EINTR && errno != EAGAIN, -errno);
        if (put > 0) at += put, len -= (size_t)put;
    }
    return 0;
}

// --- this side

// The address is looked up on this host, where the client is. A host often knows itself by another address that nobody
// else can reach, such as Debian's 127.0.1.1.
int stack_find_addresses(struct stack *stack, struct problem *problem) {
    for (unsigned i = 0; i < stack->servers && stack->remote[0]; i++) {
        struct stack_server *server = &stack->server[i];
        struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_INET}, *found;
        bool is_given = strcmp(server->address, server->host);
        const char *user = strchr(server->address, '@'), *name = user ? user + 1 : server->address;
        int code = getaddrinfo(name, NULL, &hints, &found);
        hints.ai_family = AF_UNSPEC;
        if (code) code = getaddrinfo(name, NULL, &hints, &found);
        if (code)
            return problem_set(problem, -EADDRNOTAVAIL, server->host, "no address of %s is known here: %s%s", name,
                               gai_strerror(code), is_given ? "" : "; HOST=ADDRESS gives one");
        code = getnameinfo(found->ai_addr, found->ai_addrlen, server->address, sizeof server->address, NULL, 0,
                           NI_NUMERICHOST);
        freeaddrinfo(found);
        if (code) return problem_set(problem, -EADDRNOTAVAIL, server->host, "%s", gai_strerror(code));
    }
    return 0;
}

// The command with each {host} replaced, for a shell; ioseer and its arguments follow.
static char *command_for(const char *command, const char *host) {
    const char mark[] = "{host}";
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    for (const char *at; (at = strstr(command, mark)); command = at + strlen(mark))
        fprintf(out, "%.*s%s", (int)(at - command), command, host);
    fprintf(out, "%s \"$@\"", command);
    return fclose(out) == 0 ? text : NULL;
}

// In a session of its own: nothing can ask the user, and Ctrl-C is not for it.
static void become_remote(const struct stack *stack, unsigned server, int link, int said) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    setenv("SSH_ASKPASS_REQUIRE", "never", 1);
    char *command = command_for(stack->remote, stack->server[server].host);
    if (!command || dup2(link, 0) < 0 || dup2(link, 1) < 0 || dup2(said, 2) < 0) _exit(127);
    execl("/bin/sh", "sh", "-c", command, "ioseer", stack->ioseer, "stack", "remote", (char *)NULL);
    _exit(127);
}

int stack_link_open(struct stack_link *link, const struct stack *stack, unsigned server) {
    int ends[2], said[2];
    RETURN_IF(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0, -errno);
    if (pipe2(said, O_CLOEXEC | O_NONBLOCK) < 0) {
        int code = -errno;
        close(ends[0]), close(ends[1]);
        return code;
    }
    pid_t parent = getpid();
    *link = (struct stack_link){.pid = fork(), .fd = ends[0], .said = said[0], .until_ns = in_ms(CONNECT_MS)};
    int code = link->pid < 0 ? -errno : 0;
    if (!link->pid) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(127);
        become_remote(stack, server, ends[1], said[1]);
    }
    close(ends[1]), close(said[1]);
    if (code < 0) close(ends[0]), close(said[0]);
    return code;
}

// The last line that the command wrote to its standard error; empty if there is none.
static void last_words(const struct stack_link *link, char *line, size_t size) {
    char text[4096];
    size_t length = 0;
    ssize_t got;
    while ((got = read(link->said, text + length, sizeof text - length)) > 0) {
        length += (size_t)got;
        size_t half = length == sizeof text ? length / 2 : 0;
        memmove(text, text + half, length -= half);
    }
    while (length && (unsigned char)text[length - 1] <= ' ') length--;
    size_t start = length;
    while (start && text[start - 1] != '\n' && text[start - 1] != '\r') start--;
    snprintf(line, size, "%.*s", (int)(length - start), text + start);
    for (char *c = line; *c; c++) *c = (unsigned char)*c < ' ' ? ' ' : *c;
}

// What went wrong is known best by the command, which says it and ends.
static int no_connection(const struct stack_link *link, const char *host, int code, struct problem *problem) {
    char line[512];
    int process = (int)syscall(SYS_pidfd_open, link->pid, 0);
    if (process >= 0 && code != -ETIMEDOUT) guard_ends_within(process, LAST_WORDS_MS);
    if (process >= 0) close(process);
    last_words(link, line, sizeof line);
    const char *what = code == -ETIMEDOUT ? "does not answer" : "no connection";
    if (line[0]) return problem_set(problem, code, host, "%s: %s", what, line);
    return problem_set(problem, code, host, "%s%s", what, code == -ETIMEDOUT ? "" : ", or ioseer is not there");
}

// What a login shell prints comes before ioseer's greeting.
static int read_greeting(const struct stack_link *link, struct greeting *greeting) {
    const size_t length = sizeof greeting->magic;
    FORWARD(read_until(link->fd, greeting->magic, length, link->until_ns));
    for (size_t noise = 0; memcmp(greeting->magic, own_greeting.magic, length); noise++) {
        RETURN_IF(noise > NOISE_MOST, -EPROTO);
        memmove(greeting->magic, greeting->magic + 1, length - 1);
        FORWARD(read_until(link->fd, greeting->magic + length - 1, 1, link->until_ns));
    }
    return read_until(link->fd, greeting->version, sizeof *greeting - length, link->until_ns);
}

int stack_link_order(struct stack_link *link, const struct stack *stack, const struct stack_request *request,
                     struct problem *problem) {
    const char *host = stack->server[request->server].host;
    struct order order = {.kind = request->kind, .server = request->server, .places = request->count};
    struct greeting greeting;
    int code = read_greeting(link, &greeting);
    if (code < 0) return no_connection(link, host, code, problem);
    if (memcmp(&greeting, &own_greeting, sizeof greeting))
        return problem_set(problem, ERR_VERSION, host, "has another version of ioseer");
    link->until_ns = in_ms(ANSWER_MS);
    code = stack_link_write(link->fd, &order, sizeof order);
    if (code == 0) code = stack_link_write(link->fd, stack, sizeof *stack);
    if (code == 0) code = stack_link_write(link->fd, stack->server, stack->servers * sizeof *stack->server);
    if (code == 0) code = stack_link_write(link->fd, request->places, request->count * sizeof *request->places);
    return code < 0 ? no_connection(link, host, code, problem) : 0;
}

int stack_link_answer(struct stack_link *link, struct stack_server *server, struct problem *problem) {
    struct answer answer;
    int code = read_until(link->fd, &answer, sizeof answer, link->until_ns);
    if (code < 0) return no_connection(link, server->host, code, problem);
    answer.why[sizeof answer.why - 1] = 0;
    if (answer.code < 0) return problem_set(problem, answer.code, server->host, "%s", answer.why);
    if (answer.server.port) *server = answer.server;
    return 0;
}

static bool has_ended(const struct stack_link *link) {
    siginfo_t about = {0};
    return waitid(P_PID, (id_t)link->pid, &about, WEXITED | WNOHANG | WNOWAIT) < 0 || about.si_pid;
}

// The address is a number by now.
static int try_to_reach(const struct stack_server *server) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *address;
    char port[16];
    socklen_t length = sizeof(int);
    snprintf(port, sizeof port, "%u", server->port);
    if (getaddrinfo(server->address, port, &hints, &address)) return -EADDRNOTAVAIL;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = fd >= 0 && connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    freeaddrinfo(address);
    if (error == EINPROGRESS && await(fd, POLLOUT, in_ms(REACH_MS)) < 0) error = ETIMEDOUT;
    if (error == EINPROGRESS && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0) error = errno;
    if (fd >= 0) close(fd);
    return -error;
}

int stack_link_check(const struct stack_server *server, struct problem *problem) {
    int code = try_to_reach(server);
    if (code == 0) return 0;
    return problem_set(problem, code, server->host, "its server runs, but %s port %u cannot be reached: %s",
                       server->address, server->port, err_text(code));
}

bool stack_link_close(struct stack_link *link, int64_t until_ns) {
    int status = 1;
    RETURN_IF(link->pid <= 0, true);
    close(link->fd), close(link->said);
    while (!has_ended(link) && clock_now_ns() < until_ns) clock_sleep_until(clock_now_ns() + 5000000);
    kill(-link->pid, SIGKILL); // with what the command may have started
    kill(link->pid, SIGKILL);
    waitpid(link->pid, &status, 0);
    link->pid = 0;
    return WIFEXITED(status) && !WEXITSTATUS(status);
}

bool stack_link_beat(struct stack_link *link, char order) {
    char answers[16];
    ssize_t got;
    if (!link->is_beating) link->until_ns = in_ms(STACK_SILENT_MS);
    link->is_beating = true;
    send(link->fd, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    while ((got = recv(link->fd, answers, sizeof answers, MSG_DONTWAIT)) > 0) link->until_ns = in_ms(STACK_SILENT_MS);
    bool is_open = got < 0 && (errno == EAGAIN || errno == EINTR);
    return is_open && clock_now_ns() < link->until_ns && !has_ended(link);
}

// --- the other side

static int send_answer(int code, const char *why, const struct stack_server *server) {
    struct answer answer = {.code = code};
    snprintf(answer.why, sizeof answer.why, "%.*s", (int)sizeof answer.why - 1, why);
    if (server) answer.server = *server;
    return stack_link_write(STDOUT_FILENO, &answer, sizeof answer);
}

// In the guard. Its keeper noted what became of the server.
static int report(const struct target_outcome *outcome, void *context) {
    const struct stack *stack = context;
    struct stack noted;
    if (outcome->code < 0)
        return send_answer(outcome->code, outcome->why[0] ? outcome->why : err_text(outcome->code), NULL);
    FORWARD(stack_state_read(&noted, stack->folder));
    struct stack_server *server = &noted.server[stack->only - 1];
    snprintf(server->probes, sizeof server->probes, "%s", noted.probes);
    int code = send_answer(0, "", server);
    stack_forget(&noted);
    return code;
}

static int serve(struct stack *stack, unsigned server) {
    struct problem problem = {0};
    char name[sizeof stack->name];
    snprintf(name, sizeof name, "%.*s@%u", STACK_NAME_MOST, stack->name, server);
    memcpy(stack->name, name, sizeof name);
    stack->only = server + 1;
    int code = stack_start_here(stack, report, &problem);
    char why[sizeof problem.what + sizeof problem.why + 4];
    snprintf(why, sizeof why, "%s%s%s", problem.what, *problem.what ? ": " : "", problem.why);
    return code < 0 && *problem.why ? send_answer(code, why, NULL) : code;
}

static int begin(const struct stack *stack, unsigned server, struct stack_place *places, unsigned count) {
    const struct stack_server *about = &stack->server[server];
    struct stack_control control;
    int code = stack_control_lock(&control, about->probes);
    if (code == 0) {
        stack_find_places(about->probes, places, count);
        code = stack_control_enter(&control, about->pid, about->start_ticks);
        stack_control_unlock(&control);
    }
    FORWARD(send_answer(code, code < 0 ? err_text(code) : "", NULL));
    return code < 0 ? code : stack_link_write(STDOUT_FILENO, places, count * sizeof *places);
}

static int collect(const struct stack *stack, unsigned server, const struct stack_place *places, unsigned count) {
    const struct stack_server *about = &stack->server[server];
    struct stack_control control;
    int code = stack_control_lock(&control, about->probes);
    if (code == 0) {
        stack_control_leave(&control, about->pid, about->start_ticks);
        stack_control_unlock(&control);
    }
    FORWARD(send_answer(code, code == -ENOENT ? "the server had ended" : code < 0 ? err_text(code) : "", NULL));
    for (unsigned i = 0; i < count && code == 0; i++) code = stack_send_probe(STDOUT_FILENO, about->probes, &places[i]);
    if (code == 0) stack_free_unused(about->probes, places, count);
    return code;
}

bool stack_remote_obey(const struct stack *stack) {
    char order;
    ssize_t got = read(STDIN_FILENO, &order, 1);
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    if (got == 1 && order == STACK_NOBODY_RECORDS) stack_control_clear(stack->probes);
    if (got == 1 && await(STDOUT_FILENO, POLLOUT, 0) == 0) got = write(STDOUT_FILENO, &order, 1);
    return got == 1;
}

int stack_remote_run(void) {
    static struct stack stack;
    struct order order;
    signal(SIGPIPE, SIG_IGN); // a lost connection is an end as any other
    FORWARD(stack_link_write(STDOUT_FILENO, &own_greeting, sizeof own_greeting));
    FORWARD(stack_link_read(STDIN_FILENO, &order, sizeof order));
    FORWARD(stack_link_read(STDIN_FILENO, &stack, sizeof stack));
    RETURN_IF(!stack.servers || stack.servers > STACK_SERVERS_MOST || order.server >= stack.servers, ERR_FORMAT);
    RETURN_IF(order.places > STACK_CLIENTS_MOST * 2, ERR_FORMAT);
    SCOPED_FREE struct stack_server *servers = stack.server = calloc(stack.servers, sizeof *stack.server);
    SCOPED_FREE struct stack_place *places = calloc(order.places + 1, sizeof *places);
    RETURN_IF(!servers || !places, -ENOMEM);
    FORWARD(stack_link_read(STDIN_FILENO, servers, stack.servers * sizeof *servers));
    FORWARD(stack_link_read(STDIN_FILENO, places, order.places * sizeof *places));
    if (order.kind == ORDER_SERVE) return serve(&stack, order.server);
    if (order.kind == ORDER_BEGIN) return begin(&stack, order.server, places, order.places);
    return collect(&stack, order.server, places, order.places);
}
