#include "target/clients.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void clients_init(struct clients *clients)
{
    *clients = (struct clients){0};
    pthread_mutex_init(&clients->lock, NULL);
}

static void drop(struct client *client)
{
    if (client->thread) close(client->accounts);
    client->thread = 0;
}

void clients_free(struct clients *clients)
{
    for (unsigned i = 0; i < CLIENTS_MOST; i++) drop(&clients->slot[i]);
    pthread_mutex_destroy(&clients->lock);
}

// Nanoseconds that the thread waited since it began, the second number of three; negative where it is gone.
static int64_t read_accounts(const struct client *client)
{
    char text[96];
    ssize_t length = pread(client->accounts, text, sizeof text - 1, 0);
    if (length <= 0) return -1;
    text[length] = 0;
    char *after;
    strtoull(text, &after, 10);
    return (int64_t)strtoull(after, NULL, 10);
}

static void take(struct client *client, pid_t thread)
{
    char path[64];
    drop(client);
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)thread);
    client->accounts = open(path, O_RDONLY | O_CLOEXEC);
    if (client->accounts < 0) return;
    client->thread = thread;
    client->waited_ns = read_accounts(client);
}

int64_t clients_waited_ns(struct clients *clients, pid_t thread)
{
    if (thread <= 0) return 0; // the kernel itself
    int64_t since_ns = 0;
    struct client *client = &clients->slot[(unsigned)thread % CLIENTS_MOST];
    pthread_mutex_lock(&clients->lock);
    int64_t waited_ns = client->thread == thread ? read_accounts(client) : -1;
    if (waited_ns < 0) {
        take(client, thread);
    } else {
        since_ns = waited_ns - client->waited_ns;
        client->waited_ns = waited_ns;
    }
    pthread_mutex_unlock(&clients->lock);
    return since_ns;
}
