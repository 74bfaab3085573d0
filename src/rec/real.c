#include "rec/real.h"

#include <dlfcn.h>
#include <stddef.h>

struct real_functions real;

void real_resolve(void)
{
#define FIND(name) *(void **)&real.name = dlsym(RTLD_NEXT, #name);
#define SKIP(name)
    REAL_FUNCTIONS(FIND, SKIP)
#undef FIND
#undef SKIP
    dlerror(); // a name that this libc lacks must not be the program's next dlerror()
}

void *real_find_late(void **slot, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) found = dlsym(RTLD_DEFAULT, name);
    *slot = found;
    return found;
}
