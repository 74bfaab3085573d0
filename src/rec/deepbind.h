// Libraries that a program opens with RTLD_DEEPBIND: they find the functions of the libraries they are linked to before
// those that are preloaded, and the recorder would not see their calls. The flag is left as it is, because without it
// they might find other functions of the program's than they should. Instead, their references to a function that only
// one object has are turned to our shim of that name, which calls just that function.
#pragma once

// Such a library is about to be opened.
void deepbind_expect(void);
// Before the program gets a function of a library: those that were opened since are dealt with.
void deepbind_apply(void);
