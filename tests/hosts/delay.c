// To be preloaded: the rank in DELAYED comes two seconds late to the recorder's questions in MPI_Init, as on a machine
// that is very busy. The recorder asks for its host's name there.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static int is_delayed(void) {
    const char *delayed = getenv("DELAYED"), *rank = getenv("PMI_RANK");
    if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
    return delayed && rank && !strcmp(delayed, rank);
}

int uname(struct utsname *name) {
    Dl_info caller;
    static int calls;
    const void *address = __builtin_return_address(0);
    int is_plugin = dladdr(address, &caller) && caller.dli_fname && strstr(caller.dli_fname, "libioseer-");
    if (is_plugin && calls++ == 0 && is_delayed()) sleep(2);
    return (int)syscall(SYS_uname, name);
}
