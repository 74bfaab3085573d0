// How long the programs that use a mount had to wait for a processor, from the kernel's accounts of each thread. On a
// busy machine a client comes with its next request long after the last one was answered though it did not tarry.
#ifndef IOSEER_TARGET_CLIENTS_H
#define IOSEER_TARGET_CLIENTS_H

#include <pthread.h>
#include <stdint.h>

enum { CLIENTS_MOST = 256 };

struct clients {
    pthread_mutex_t lock;
    struct client {
        pid_t thread; // 0: unused
        int accounts; // descriptor of /proc/THREAD/schedstat
        int64_t waited_ns;
    } slot[CLIENTS_MOST];
};

void clients_init(struct clients *clients);
void clients_free(struct clients *clients);

// Since the last time that this was asked of the thread; 0 at first, and where nothing is known.
int64_t clients_waited_ns(struct clients *clients, pid_t thread);

#endif
