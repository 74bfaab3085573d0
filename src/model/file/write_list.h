// Writes a list of operations that follow no rule: one by one where they are few, else packed with a summary.
#pragma once

#include "model/file/writing.h"

int write_list(struct writing *w, const struct model_item *item, size_t tables);
