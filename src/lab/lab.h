// The lab of `ioseer view --lab`: programs are set up, run and watched from a browser. One run at a time. The state is
// here, not in the page: pages come and go, and there may be several. A run ends with this process, also if that is
// killed. Any thread may call these functions.
#pragma once

#include "lab/ending.h"
#include "lab/setup.h"

struct lab;

struct lab_options {
    const char *folder;            // where logs are made, and where programs run unless something else is typed
    const struct lab_guard *guard; // as lab_guard_start has left it
    // Called with each log that was made; returns its number for the page, or a negative code.
    int (*add_log)(void *context, const char *path);
    void *context;
};

int lab_new(struct lab **lab, const struct lab_options *options);
// Stops a run and returns when it has ended and its log is made.
void lab_end(struct lab *lab);

// What a page shows; doc/page.md describes it. A json_write.
int lab_json(void *lab, struct json_out *json);

// Does what a page asks for: "setup" keeps what is typed, "run" starts it, "stop" ends a run. ERR_NOTHING if there is
// no such action, ERR_USAGE if the body makes no sense, ERR_EXISTS if a run is under way.
bool lab_has_action(const char *action);
int lab_act(struct lab *lab, const char *action, const char *body, size_t len, struct lab_refusal *refusal);
