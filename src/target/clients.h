// The threads that use a mount, and what each did between two requests, from the kernel's accounts of it. On a busy
// machine a client comes with its next request long after the last one was answered though it did not tarry. One that
// comes back at once shows when it was told.
#ifndef IOSEER_TARGET_CLIENTS_H
#define IOSEER_TARGET_CLIENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { CLIENTS_MOST = 256 };

struct client_accounts {
    int64_t ran_ns;
    int64_t waited_ns; // for a processor
    int64_t turns;     // that it got one
};

struct clients {
    pthread_mutex_t lock;
    struct client {
        pid_t thread;                // 0: unused
        int fd;                      // of /proc/THREAD/schedstat
        struct client_accounts then; // at its last request
        unsigned under_way;          // requests
        int64_t arrived_ns;          // its last request
        int64_t due_ns;              // and when that was to be done, 0: not known
        int64_t served_ns;           // processor time of this process then
    } slot[CLIENTS_MOST];
};

// A thread's time from one request to the next one.
struct client_round {
    int64_t waited_ns; // for a processor; 0 where nothing is known
    bool is_plain;     // one request, answered before the next, and no other sleep; else the rest is 0
    int64_t asked_ns;  // that the first should take
    int64_t late_ns;   // it came with the next one after that
    int64_t ran_ns;    // on a processor
    int64_t served_ns; // this process ran since the answer
};

void clients_init(struct clients *clients);
void clients_free(struct clients *clients);

// Of a request that came, and before it is answered.
struct client_round clients_come(struct clients *clients, pid_t thread, int64_t now_ns);
void clients_answer(struct clients *clients, pid_t thread, int64_t due_ns);

#endif
