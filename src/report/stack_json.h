// The page's section on a stack: what its servers did over time, and the trees of the longest calls.
#pragma once

#include "base/json_out.h"
#include "summary/stack.h"

// Writes an object, or null if the log has no stack. The first tree has at most `most` calls, the others fewer.
int stack_page_json(const struct summary_stack *stack, struct json_out *json, size_t most);
