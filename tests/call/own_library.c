// A library with functions of its own that are called as some of libc's. It must get what it calls.
double error(double a, int b, double c);
double own_sum(double a, int b, double c);

#pragma GCC visibility push(default)
double error(double a, int b, double c)
{
    return a + b + c;
}

double own_sum(double a, int b, double c)
{
    return error(a, b, c);
}
#pragma GCC visibility pop
