// Who may ask `ioseer view` for what. Only GET; the path begins with the token; the Host is the server's own address,
// so that no name which somebody else controls leads here; another page's script (Origin) is refused. Nothing is looked
// up in the file system: a path is one of the few that doc/page.md lists.
#pragma once

#include <stdint.h>

#include "view/logs.h"

enum { VIEW_TOKEN_CHARACTERS = 32, VIEW_MAX_URL = 2048 };

struct view_http {
    struct view_logs *logs;
    char token[VIEW_TOKEN_CHARACTERS + 1];
    char address[64]; // numeric, IPv4
    uint16_t port;    // 0: any; then the one that was found
    void *daemon;
};

// Chooses the token and begins to serve. 0 or a negative code; ERR_NOTHING where this build has no libmicrohttpd.
int view_http_start(struct view_http *http);
void view_http_stop(struct view_http *http);
