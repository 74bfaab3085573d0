#include "target/emulate/clients.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

void clients_init(struct clients *clients) {
    *clients = (struct clients){0};
    pthread_mutex_init(&clients->lock, NULL);
}

static void clear(struct client *client) {
    if (client->thread) close(client->fd);
    client->thread = 0;
}

void clients_free(struct clients *clients) {
    for (unsigned i = 0; i < CLIENTS_MOST; i++) clear(&clients->slot[i]);
    pthread_mutex_destroy(&clients->lock);
}

// Returns false if the thread has ended.
static bool read_schedstat(const struct client *client, struct client_schedstat *now) {
    char text[96], *at = text;
    ssize_t length = pread(client->fd, text, sizeof text - 1, 0);
    if (length <= 0) return false;
    text[length] = 0;
    now->ran_ns = (int64_t)strtoull(at, &at, 10);
    now->waited_ns = (int64_t)strtoull(at, &at, 10);
    now->timeslices = (int64_t)strtoull(at, &at, 10);
    return true;
}

static void set_thread(struct client *client, pid_t thread) {
    char path[64];
    clear(client);
    *client = (struct client){0};
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)thread);
    client->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (client->fd < 0) return;
    client->thread = thread;
    read_schedstat(client, &client->then);
}

static int64_t process_cpu_ns(void) { return (int64_t)clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

static struct client_interval interval_of(const struct client *client, const struct client_schedstat *now,
                                          int64_t now_ns) {
    const struct client_reply *reply = &client->reply;
    struct client_interval interval = {.waited_ns = now->waited_ns - client->then.waited_ns};
    interval.is_clean = !client->under_way && reply->due_ns && now->timeslices == client->then.timeslices + 1;
    if (!interval.is_clean) return interval;
    interval.left_ns = reply->left_ns;
    interval.late_ns = now_ns - reply->due_ns;
    interval.ran_ns = now->ran_ns - client->then.ran_ns;
    interval.server_ns = process_cpu_ns() - reply->server_ns;
    return interval;
}

struct client_interval clients_request_began(struct clients *clients, pid_t thread, int64_t now_ns) {
    struct client_interval interval = {0};
    struct client_schedstat now;
    if (thread <= 0) return interval; // a request of the kernel itself
    struct client *client = &clients->slot[(unsigned)thread % CLIENTS_MOST];
    pthread_mutex_lock(&clients->lock);
    if (client->thread == thread && read_schedstat(client, &now)) {
        interval = interval_of(client, &now, now_ns);
        client->then = now;
    } else {
        clients->under_way -= client->under_way; // the slot held another thread, whose requests are no longer counted
        set_thread(client, thread);
    }
    if (client->thread == thread) {
        client->had_several = client->under_way++ > 0;
        client->reply.due_ns = 0;
        interval.under_way = ++clients->under_way;
    }
    pthread_mutex_unlock(&clients->lock);
    return interval;
}

void clients_request_ended(struct clients *clients, pid_t thread, int64_t due_ns, int64_t left_ns) {
    if (thread <= 0) return;
    struct client_reply reply = {due_ns, left_ns, process_cpu_ns()};
    struct client *client = &clients->slot[(unsigned)thread % CLIENTS_MOST];
    pthread_mutex_lock(&clients->lock);
    if (client->thread == thread && client->under_way) {
        client->under_way--;
        clients->under_way--;
        if (!client->had_several) client->reply = reply;
    }
    pthread_mutex_unlock(&clients->lock);
}
