// Names that both the recorder and a library of the program export.
#include "case.h"

double own_sum(double a, int b, double c);

static void own_error(void) {
    case_start();
    double sum = own_sum(1.5, 2, 3.5);
    case_stop((int64_t)(sum * 2));
    CHECK(sum == 7);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"a library's own error()", own_error},
        {NULL, NULL},
    };
    return case_main(argc, argv, cases);
}
