// The HTTP server of `ioseer view`. It answers a request only if the path begins with the token, Host is the server's
// own address (somebody else's domain name could point here) and Origin is not another page. The method is GET, or POST
// for questions that are too long for an address and for all that changes something: the actions of the lab, and
// opening the log of a job. It never looks a path up in the file system: doc/page.md lists the few paths that exist.
#pragma once

#include <stdint.h>

#include "lab/lab.h"
#include "view/logs.h"
#include "view/site.h"

enum { VIEW_TOKEN_CHARACTERS = 32, VIEW_MAX_URL = 2048, VIEW_MAX_BODY = 64 << 10 };

struct view_http {
    struct view_logs *logs;
    struct lab *lab;        // NULL: there is none
    struct view_site *site; // the same
    char token[VIEW_TOKEN_CHARACTERS + 1];
    char address[64]; // numeric, IPv4
    uint16_t port;    // 0: any free port; view_http_start sets it
    void *daemon;
};

// Chooses the token and starts to serve in its own threads. 0, ERR_NOTHING if this build has no libmicrohttpd, or
// another code.
int view_http_start(struct view_http *http);
void view_http_stop(struct view_http *http);
