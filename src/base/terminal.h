// What the terminal behind a stream can show. Everything about colour, width and characters is decided here.
#pragma once

#include <stdbool.h>
#include <stdio.h>

bool terminal_is(FILE *out);
unsigned terminal_width(FILE *out); // columns; 0 if `out` is not a terminal: nothing is cut
unsigned terminal_height(FILE *out);
bool terminal_has_utf8(void);
bool terminal_has_keys(void);       // the cursor can be moved: not TERM=dumb
bool terminal_has_color(FILE *out); // a terminal, and the user does not refuse it (NO_COLOR)

// From now on `out` counts as the terminal that standard output is: a pager stands between them, which may not pass
// colour on.
void terminal_lead(FILE *out, bool passes_color);

enum terminal_style { STYLE_NONE, STYLE_HEAD, STYLE_BAD, STYLE_WARNING, STYLE_FOOT };
// The sequence that begins a style, and STYLE_NONE ends it; "" if the stream shows no colour.
const char *terminal_style(FILE *out, enum terminal_style style);
