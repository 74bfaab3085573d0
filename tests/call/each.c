// Every call of the tables, under every name it has: once to succeed and once to fail.
#include "each.h"

int main(int argc, char **argv) { return case_main(argc, argv, generated_cases); }
