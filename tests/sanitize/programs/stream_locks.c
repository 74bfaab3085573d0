// TSan does not know that flockfile is a lock and would report whatever it guards. These two, linked into the program,
// come before libc's and tell it.
#include <dlfcn.h>
#include <stdio.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

void flockfile(FILE *stream)
{
    void (*real)(FILE *) = (void (*)(FILE *))dlsym(RTLD_NEXT, "flockfile");
    real(stream);
    __tsan_acquire(stream);
}

void funlockfile(FILE *stream)
{
    void (*real)(FILE *) = (void (*)(FILE *))dlsym(RTLD_NEXT, "funlockfile");
    __tsan_release(stream);
    real(stream);
}
