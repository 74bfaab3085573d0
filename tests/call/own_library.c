// A library whose functions have names of functions of libc and of NetCDF. Its calls must reach its own functions.
#include <stddef.h>

double error(double a, int b, double c);
double own_sum(double a, int b, double c);
char *nc_open(char *text, size_t at);
char *nc_sync(char *text);
char *own_text(char *text);

#pragma GCC visibility push(default)
double error(double a, int b, double c) { return a + b + c; }

double own_sum(double a, int b, double c) { return error(a, b, c); }

char *nc_open(char *text, size_t at) { return text + at; }

char *nc_sync(char *text) { return text + 1; }

char *own_text(char *text) { return nc_sync(nc_open(text, 3)); }
#pragma GCC visibility pop
