// To be preloaded: the time of day is 0.7 s ahead, as on a host whose clock nobody sets.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { AHEAD_NS = 700000000, SECOND_NS = 1000000000 };

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result || clock != CLOCK_REALTIME) return result;
    now->tv_nsec += AHEAD_NS;
    now->tv_sec += now->tv_nsec / SECOND_NS;
    now->tv_nsec %= SECOND_NS;
    return 0;
}
