// A library whose functions have names of libc functions. Its calls must reach its own functions.
double error(double a, int b, double c);
double own_sum(double a, int b, double c);

#pragma GCC visibility push(default)
double error(double a, int b, double c) { return a + b + c; }

double own_sum(double a, int b, double c) { return error(a, b, c); }
#pragma GCC visibility pop
