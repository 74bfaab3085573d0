// The threads that use a mount, and what each did between two requests, from the kernel's accounts of it. On a busy
// machine a client comes with its next request long after the last one was answered though it did not tarry. One that
// comes back at once shows when it was told.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { CLIENTS_MOST = 1024 };

struct client_accounts {
    int64_t ran_ns;
    int64_t waited_ns; // for a processor
    int64_t turns;     // that it got one
};

// An answer to a request.
struct client_answer {
    int64_t due_ns;    // when it should come; 0: that is not known
    int64_t left_ns;   // until then, when only waiting was left to do
    int64_t server_ns; // processor time that this process had had
};

struct clients {
    pthread_mutex_t lock;
    unsigned under_way; // requests of all
    struct client {
        pid_t thread;                // 0: unused
        int fd;                      // of /proc/THREAD/schedstat
        struct client_accounts then; // at its last request
        unsigned under_way;
        bool had_several; // under way at once, since it last had none
        struct client_answer answer;
    } slot[CLIENTS_MOST];
};

// A thread's time from one request to the next one.
struct client_round {
    int64_t waited_ns;  // for a processor; 0 where nothing is known
    bool is_plain;      // one request, answered before the next, and no other sleep; else the rest is 0
    int64_t left_ns;    // of struct client_answer
    int64_t late_ns;    // the thread came with the next one after the answer was due
    int64_t ran_ns;     // on a processor
    int64_t server_ns;  // so did this process since the answer
    unsigned under_way; // requests of all threads, with this one
};

void clients_init(struct clients *clients);
void clients_free(struct clients *clients);

// For a request that has come; tells of the time before it.
struct client_round clients_come(struct clients *clients, pid_t thread, int64_t now_ns);
// Before it is answered. For one that did not come nothing is noted.
void clients_answer(struct clients *clients, pid_t thread, int64_t due_ns, int64_t left_ns);
