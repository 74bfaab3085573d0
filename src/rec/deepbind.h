// Libraries that a program opens with RTLD_DEEPBIND. They find the functions of libraries that they are linked to
// before preloaded ones, and the recorder would not see their calls. The flag must stay: without it they might find
// other functions than they should. Instead, if only one object has a function, references to it are redirected to the
// shim of that name, which calls the same function.
#pragma once

// Call this before such a library is opened.
void deepbind_expect(void);
// Redirects the references of libraries that were opened since then. Called before the program gets a function of a
// library.
void deepbind_apply(void);
