// A line that somebody typed as the words of a command: quotes and backslashes as in a shell, and nothing else of a
// shell: no variables, no patterns, no commands.
#pragma once

#include "base/text_list.h"

// Appends the words. ERR_USAGE if a quote is not closed, or if a backslash ends the line.
int lab_words(struct text_list *words, const char *line);
