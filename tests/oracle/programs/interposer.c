// A preload library of the program's own: counts the opens that pass through it and says so at the end.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

static int opens;

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    va_list list;
    va_start(list, flags);
    int mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(list, int) : 0;
    va_end(list);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "open");
    opens++;
    return next(path, flags, mode);
}

__attribute__((destructor)) static void report(void)
{
    fprintf(stderr, "%d opens\n", opens);
}
