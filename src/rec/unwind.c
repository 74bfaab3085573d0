// A thread that is cancelled inside fread must still release the stream's lock, so the shims have clean-ups that
// unwinding runs. The compiler calls these two functions for them. Linking to libgcc_s would load that library into
// every program at every start. A program that unwinds has loaded it already, so the functions are looked up only then.
#include <dlfcn.h>
#include <stdlib.h>
#include <unwind.h>

typedef _Unwind_Reason_Code personality_function(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                                 struct _Unwind_Exception *exception, struct _Unwind_Context *context);
typedef void resume_function(struct _Unwind_Exception *exception);

_Unwind_Reason_Code __gcc_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                         struct _Unwind_Exception *exception, struct _Unwind_Context *context);

static void *unwinder(const char *name) {
    void *library = dlopen("libgcc_s.so.1", RTLD_LAZY);
    return library ? dlsym(library, name) : NULL;
}

_Unwind_Reason_Code __gcc_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                         struct _Unwind_Exception *exception, struct _Unwind_Context *context) {
    personality_function *real_function = (personality_function *)unwinder("__gcc_personality_v0");
    return real_function ? real_function(version, actions, class, exception, context) : _URC_CONTINUE_UNWIND;
}

void _Unwind_Resume(struct _Unwind_Exception *exception) {
    resume_function *real_function = (resume_function *)unwinder("_Unwind_Resume");
    if (real_function) real_function(exception);
    __builtin_trap();
}
