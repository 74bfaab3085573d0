// The threads that use a mount, and what the kernel's scheduler statistics (/proc/THREAD/schedstat) say about each of
// them between two requests.
//
// On a busy machine a client sends its next request long after the last reply though it did nothing in between: it
// waited for a processor. A client that goes on at once shows when the reply reached it.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { CLIENTS_MOST = 1024 };

struct client_schedstat {
    int64_t ran_ns;
    int64_t waited_ns;  // for a processor
    int64_t timeslices; // number of times it got one
};

// The reply to a request.
struct client_reply {
    int64_t due_ns;    // when it should reach the client; 0: not known
    int64_t left_ns;   // from the moment when only the wait was left, until `due_ns`
    int64_t server_ns; // processor time of this process so far
};

struct clients {
    pthread_mutex_t lock;
    unsigned under_way; // requests of all clients
    struct client {
        pid_t thread;                 // 0: unused
        int fd;                       // of /proc/THREAD/schedstat
        struct client_schedstat then; // at its last request
        unsigned under_way;
        bool had_several; // requests under way at once, since it last had none
        struct client_reply reply;
    } slot[CLIENTS_MOST];
};

// A thread's time from one request to the next.
struct client_interval {
    int64_t waited_ns; // for a processor; 0 if nothing is known
    bool is_clean;     // one request, answered before the next one, and no other sleep; if not, the members below are 0
    int64_t left_ns;   // of struct client_reply
    int64_t late_ns;   // from the time the reply was due to the next request
    int64_t ran_ns;    // on a processor
    int64_t server_ns; // that this process ran since the reply
    unsigned under_way; // requests of all threads, this one included
};

void clients_init(struct clients *clients);
void clients_free(struct clients *clients);

// Call it when a request has come. Describes the time before it.
struct client_interval clients_request_began(struct clients *clients, pid_t thread, int64_t now_ns);
// Call it before the reply. Does nothing for a request that did not begin.
void clients_request_ended(struct clients *clients, pid_t thread, int64_t due_ns, int64_t left_ns);
