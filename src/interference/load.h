// What one program asked of the servers of a stack: every request, and when each server was busy with it.
#pragma once

#include <stdbool.h>

#include "log/log.h"

struct load_request {
    int64_t start_ns; // since the epoch
    int64_t end_ns;
    uint64_t bytes;
    uint32_t fragment; // requests of one call of the client, which go on at the same time
    uint16_t server;
    uint16_t kind; // requests of the same kind are alike: reads or writes of about the same size, or the same call
};

struct load_span {
    int64_t start_ns, end_ns;
};

struct load_server {
    struct load_span *span; // times in which it had requests of this program, in order and apart from each other
    size_t spans;
    uint64_t requests;
    uint64_t bytes;
    int64_t busy_ns;
};

struct load {
    int64_t start_ns;      // of the program, since the epoch
    enum call_layer layer; // of the requests: the highest that was probed below the client; LAYER_NONE: there are none
    struct load_request *request;
    size_t requests;
    uint32_t *process; // by fragment: the index of its process
    size_t fragments;
    struct load_server *server;
    size_t servers;
    bool has_place;
    char place[256]; // the directory of the mount that all its files are in; "" if there is none
};

// Reads a log. The load is empty if the program used no stack. load_free releases it in any case.
int load_read(struct load *load, struct log *log);
void load_free(struct load *load);

unsigned load_kinds(void); // one more than the highest kind

// The part of its bytes that the program has on this server; of its requests if it moves none anywhere. GlusterFS asks
// every server for the names of new files: that alone is no use of a server.
double load_part(const struct load *load, size_t server);

// How much of the time from `start` to `end` the server was busy with this program.
int64_t load_overlap_ns(const struct load *load, size_t server, int64_t start_ns, int64_t end_ns);
