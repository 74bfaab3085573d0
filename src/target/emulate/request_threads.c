// The threads that serve FUSE requests. One thread at a time waits for the next request. It notes when the request
// comes, reads it, and leaves the waiting to another thread. So the time of a request begins before its data is copied,
// and a request wakes one thread only.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "target/emulate/server.h"

enum { THREADS_MOST = 256 };

struct loop {
    struct emulate *emulate;
    int signals;
    pthread_mutex_t receiving; // held by the thread that waits for the next request
    pthread_mutex_t lock;      // of what follows
    pthread_t thread[THREADS_MOST];
    unsigned threads;
    unsigned idle; // threads that wait for a request, or for the lock `receiving`
};

static bool has_ended(const struct loop *loop) { return fuse_session_exited(loop->emulate->session); }

// Returns the bytes of the next request, 0 at the end.
static int receive(struct loop *loop, struct fuse_buf *buffer, int64_t *arrival_ns) {
    struct fuse_session *session = loop->emulate->session;
    struct pollfd events[] = {{.fd = fuse_session_fd(session), .events = POLLIN},
                              {.fd = loop->signals, .events = POLLIN}};
    int got = -EAGAIN;
    while (!has_ended(loop) && (got == -EAGAIN || got == -EINTR)) {
        if (poll(events, 2, -1) < 0) continue;
        *arrival_ns = clock_now_ns();
        if (events[1].revents) fuse_session_exit(session);
        got = events[1].revents ? 0 : fuse_session_receive_buf(session, buffer);
    }
    if (got > 0) return got;
    fuse_session_exit(session);
    return 0;
}

static void *work(void *context);

// Starts another thread if all are busy. If that fails, the existing threads serve all requests.
static void leave_idle(struct loop *loop) {
    pthread_mutex_lock(&loop->lock);
    loop->idle--;
    bool more = !loop->idle && loop->threads < THREADS_MOST;
    if (more && pthread_create(&loop->thread[loop->threads], NULL, work, loop) == 0) {
        loop->threads++;
        loop->idle++;
    }
    pthread_mutex_unlock(&loop->lock);
}

static void be_idle(struct loop *loop) {
    pthread_mutex_lock(&loop->lock);
    loop->idle++;
    pthread_mutex_unlock(&loop->lock);
}

static void *work(void *context) {
    struct loop *loop = context;
    struct fuse_buf buffer = {0};
    int64_t arrival_ns;
    pthread_setspecific(loop->emulate->arrival, &arrival_ns);
    for (;;) {
        pthread_mutex_lock(&loop->receiving);
        int got = receive(loop, &buffer, &arrival_ns);
        pthread_mutex_unlock(&loop->receiving);
        if (!got) break;
        leave_idle(loop);
        fuse_session_process_buf(loop->emulate->session, &buffer);
        be_idle(loop);
    }
    free(buffer.mem);
    return NULL;
}

int emulate_request_threads(struct emulate *emulate, const sigset_t *signals) {
    struct loop loop = {.emulate = emulate, .idle = 1};
    int device = fuse_session_fd(emulate->session);
    loop.signals = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
    RETURN_IF(loop.signals < 0, -errno);
    // A request may be withdrawn between poll and read: the read must not block.
    fcntl(device, F_SETFL, fcntl(device, F_GETFL) | O_NONBLOCK);
    pthread_mutex_init(&loop.receiving, NULL);
    pthread_mutex_init(&loop.lock, NULL);
    pthread_key_create(&emulate->arrival, NULL);
    work(&loop);
    // Threads that were just starting another one are joined too: the count grows before they end.
    for (unsigned i = 0; i < loop.threads; i++) pthread_join(loop.thread[i], NULL);
    close(loop.signals);
    return 0;
}
