// Names that both the recorder and a library of the program export.
#include "case.h"

double own_sum(double a, int b, double c);
char *own_text(char *text);

static void own_error(void) {
    case_start();
    double sum = own_sum(1.5, 2, 3.5);
    case_stop((int64_t)(sum * 2));
    CHECK(sum == 7);
}

static void own_nc(void) {
    char text[8];
    case_start();
    char *found = own_text(text);
    case_stop(found - text);
    CHECK(found == text + 4);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"a library's own error()", own_error},
        {"a library's own nc_open()", own_nc},
        {NULL, NULL},
    };
    return case_main(argc, argv, cases);
}
