// What the generated cases need: every type in a prototype, every constant in a value that they pass.
#pragma once

#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"
#include "rec/call_types.h"

extern const struct test_case generated_cases[];
