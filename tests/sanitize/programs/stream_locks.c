// TSan does not know that flockfile is a lock and would report the data it protects. These two functions, linked into
// the program, are called before libc's and tell TSan.
#include <dlfcn.h>
#include <stdio.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

void flockfile(FILE *stream) {
    void (*real)(FILE *) = (void (*)(FILE *))dlsym(RTLD_NEXT, "flockfile");
    real(stream);
    __tsan_acquire(stream);
}

void funlockfile(FILE *stream) {
    void (*real)(FILE *) = (void (*)(FILE *))dlsym(RTLD_NEXT, "funlockfile");
    __tsan_release(stream);
    real(stream);
}
