#include "target/emulate/clients.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "target/clock.h"

void clients_init(struct clients *clients)
{
    *clients = (struct clients){0};
    pthread_mutex_init(&clients->lock, NULL);
}

static void drop(struct client *client)
{
    if (client->thread) close(client->fd);
    client->thread = 0;
}

void clients_free(struct clients *clients)
{
    for (unsigned i = 0; i < CLIENTS_MOST; i++) drop(&clients->slot[i]);
    pthread_mutex_destroy(&clients->lock);
}

// False where the thread is gone.
static bool read_accounts(const struct client *client, struct client_accounts *now)
{
    char text[96], *at = text;
    ssize_t length = pread(client->fd, text, sizeof text - 1, 0);
    if (length <= 0) return false;
    text[length] = 0;
    now->ran_ns = (int64_t)strtoull(at, &at, 10);
    now->waited_ns = (int64_t)strtoull(at, &at, 10);
    now->turns = (int64_t)strtoull(at, &at, 10);
    return true;
}

static void take(struct client *client, pid_t thread)
{
    char path[64];
    drop(client);
    *client = (struct client){0};
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)thread);
    client->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (client->fd < 0) return;
    client->thread = thread;
    read_accounts(client, &client->then);
}

static int64_t server_ns(void)
{
    return (int64_t)clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static struct client_round since(const struct client *client, const struct client_accounts *now, int64_t now_ns)
{
    const struct client_answer *answer = &client->answer;
    struct client_round round = {.waited_ns = now->waited_ns - client->then.waited_ns};
    round.is_plain = !client->under_way && answer->due_ns && now->turns == client->then.turns + 1;
    if (!round.is_plain) return round;
    round.left_ns = answer->left_ns;
    round.late_ns = now_ns - answer->due_ns;
    round.ran_ns = now->ran_ns - client->then.ran_ns;
    round.server_ns = server_ns() - answer->server_ns;
    return round;
}

struct client_round clients_come(struct clients *clients, pid_t thread, int64_t now_ns)
{
    struct client_round round = {0};
    struct client_accounts now;
    if (thread <= 0) return round; // the kernel itself
    struct client *client = &clients->slot[(unsigned)thread % CLIENTS_MOST];
    pthread_mutex_lock(&clients->lock);
    if (client->thread == thread && read_accounts(client, &now)) {
        round = since(client, &now, now_ns);
        client->then = now;
    } else {
        clients->under_way -= client->under_way; // those of another are not known of any more
        take(client, thread);
    }
    if (client->thread == thread) {
        client->had_several = client->under_way++ > 0;
        client->answer.due_ns = 0;
        round.under_way = ++clients->under_way;
    }
    pthread_mutex_unlock(&clients->lock);
    return round;
}

void clients_answer(struct clients *clients, pid_t thread, int64_t due_ns, int64_t left_ns)
{
    if (thread <= 0) return;
    struct client_answer answer = {due_ns, left_ns, server_ns()};
    struct client *client = &clients->slot[(unsigned)thread % CLIENTS_MOST];
    pthread_mutex_lock(&clients->lock);
    if (client->thread == thread && client->under_way) {
        client->under_way--;
        clients->under_way--;
        if (!client->had_several) client->answer = answer;
    }
    pthread_mutex_unlock(&clients->lock);
}
