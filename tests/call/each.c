// Every call of the tables, by every name it has, once as it should be and once so that it fails.
#include "each.h"

int main(int argc, char **argv)
{
    return case_main(argc, argv, generated_cases);
}
