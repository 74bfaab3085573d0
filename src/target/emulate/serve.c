// Threads that serve requests. One of them at a time waits for the next request, notes when it comes, takes it, and
// leaves the waiting to another: a request's time begins before its data is copied, and no request wakes more than one.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "target/emulate/private.h"

enum { THREADS_MOST = 256 };

struct loop {
    struct emulate *emulate;
    int signals;
    pthread_mutex_t receiving; // held by the thread that waits for the next request
    pthread_mutex_t lock;      // of what follows
    pthread_t thread[THREADS_MOST];
    unsigned threads;
    unsigned idle; // threads that wait for a request or for their turn to wait for one
};

static bool has_ended(const struct loop *loop)
{
    return fuse_session_exited(loop->emulate->session);
}

// Gives the bytes of the next request, 0 at the end.
static int receive(struct loop *loop, struct fuse_buf *buffer, int64_t *arrival_ns)
{
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

// Another thread where all are busy. Where there is none to be had those that are there do it all.
static void take_up(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->idle--;
    bool more = !loop->idle && loop->threads < THREADS_MOST;
    if (more && pthread_create(&loop->thread[loop->threads], NULL, work, loop) == 0) {
        loop->threads++;
        loop->idle++;
    }
    pthread_mutex_unlock(&loop->lock);
}

static void be_idle(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->idle++;
    pthread_mutex_unlock(&loop->lock);
}

static void *work(void *context)
{
    struct loop *loop = context;
    struct fuse_buf buffer = {0};
    int64_t arrival_ns;
    pthread_setspecific(loop->emulate->arrival, &arrival_ns);
    for (;;) {
        pthread_mutex_lock(&loop->receiving);
        int got = receive(loop, &buffer, &arrival_ns);
        pthread_mutex_unlock(&loop->receiving);
        if (!got) break;
        take_up(loop);
        fuse_session_process_buf(loop->emulate->session, &buffer);
        be_idle(loop);
    }
    free(buffer.mem);
    return NULL;
}

int emulate_loop(struct emulate *emulate, const sigset_t *signals)
{
    struct loop loop = {.emulate = emulate, .idle = 1};
    int device = fuse_session_fd(emulate->session);
    loop.signals = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
    RETURN_IF(loop.signals < 0, -errno);
    // A request that is taken back between its announcement and its reading must not hold anybody up.
    fcntl(device, F_SETFL, fcntl(device, F_GETFL) | O_NONBLOCK);
    pthread_mutex_init(&loop.receiving, NULL);
    pthread_mutex_init(&loop.lock, NULL);
    pthread_key_create(&emulate->arrival, NULL);
    work(&loop);
    // No thread makes another one once the end was seen, except those that are in the middle of it.
    for (unsigned i = 0; i < loop.threads; i++) pthread_join(loop.thread[i], NULL);
    close(loop.signals);
    return 0;
}
