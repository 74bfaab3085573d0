#include "view/http.h"

#include "base/err.h"

#ifndef HAVE_MICROHTTPD

int view_http_start(struct view_http *http) {
    (void)http;
    return ERR_NOTHING;
}

void view_http_stop(struct view_http *http) { (void)http; }

#else

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/json_keys.h"
#include "late/microhttpd.h"
#include "report/page.h"
#include "sql/sql.h"

enum { MOST_CONNECTIONS = 32, IDLE_SECONDS = 60, HEADER_BYTES = 16 << 10, BODY_SECONDS = 10 };

static const struct microhttpd *mhd; // set when the server starts

// --- answers

static const char json_type[] = "application/json; charset=utf-8", html_type[] = "text/html; charset=utf-8";

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, struct view_answer text,
                              const char *type) {
    static const char *const headers[][2] = {
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Cache-Control", "no-store"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Content-Security-Policy", "frame-ancestors 'none'"},
    };
    struct MHD_Response *response = mhd->MHD_create_response_from_buffer(text.len, text.text, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(text.text);
        return MHD_NO;
    }
    mhd->MHD_add_response_header(response, "Content-Type", type);
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        mhd->MHD_add_response_header(response, headers[i][0], headers[i][1]);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) mhd->MHD_add_response_header(response, "Allow", "GET, POST");
    enum MHD_Result result = mhd->MHD_queue_response(connection, status, response);
    mhd->MHD_destroy_response(response);
    return result;
}

// `why` is a literal of this file: nothing in it needs an escape.
static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *why) {
    struct view_answer text = {0};
    int len = asprintf(&text.text, "{\"error\": \"%s\"}\n", why);
    if (len < 0) return MHD_NO;
    text.len = (size_t)len;
    return answer(connection, status, text, json_type);
}

// --- where a request comes from

static bool is_own_host(const struct view_http *http, const char *host) {
    const char *const names[] = {http->address, "127.0.0.1", "localhost"};
    for (size_t i = 0; host && i < sizeof names / sizeof names[0]; i++) {
        char own[80];
        snprintf(own, sizeof own, "%s:%u", names[i], http->port);
        if (!strcmp(host, own)) return true;
    }
    return false;
}

static bool is_own_origin(const struct view_http *http, struct MHD_Connection *connection) {
    static const char scheme[] = "http://";
    const char *origin = mhd->MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");
    const char *site = mhd->MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site");
    if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0) return false;
    return !origin || (!strncmp(origin, scheme, strlen(scheme)) && is_own_host(http, origin + strlen(scheme)));
}

// Returns what follows the token and a slash, or NULL. Takes the same time wherever the first difference is, so that
// the token cannot be guessed byte by byte.
static const char *after_token(const struct view_http *http, const char *url) {
    unsigned difference = 0;
    if (strlen(url) < VIEW_TOKEN_CHARACTERS + 2 || url[0] != '/' || url[VIEW_TOKEN_CHARACTERS + 1] != '/') return NULL;
    for (size_t i = 0; i < VIEW_TOKEN_CHARACTERS; i++)
        difference |= (unsigned char)url[i + 1] ^ (unsigned char)http->token[i];
    return difference ? NULL : url + VIEW_TOKEN_CHARACTERS + 2;
}

// --- what a request is for

static bool parse_number(const char *text, uint64_t *number) {
    char *end;
    if (!text || *text < '0' || *text > '9') return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *number = value;
    return !errno && !*end;
}

static bool parse_seconds(struct MHD_Connection *connection, const char *key, double otherwise, double *seconds) {
    const char *text = mhd->MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, key);
    char *end;
    *seconds = otherwise;
    if (!text) return otherwise >= 0;
    *seconds = strtod(text, &end);
    return end != text && !*end;
}

// What the page can ask this server for. The logs of a catalogue are opened one by one: the page knows which.
static int write_server(void *context, struct json_out *json) {
    const struct view_http *http = context;
    json_object(json);
    view_logs_names(http->logs, json);
    if (http->lab) key_bool(json, "lab", true);
    if (http->site) json_key(json, "site"), view_site_json(http->site, json);
    json_close(json);
    return 0;
}

static int answer_page(struct view_http *http, struct view_answer *text) {
    struct view_answer names = {0};
    FORWARD(json_out_memory(&names.text, &names.len, write_server, http));
    FILE *out = open_memstream(&text->text, &text->len);
    int code = out ? page_fill_template("null", names.text, out) : -ENOMEM;
    if (out && fclose(out) && !code) code = -ENOMEM;
    free(names.text);
    if (code < 0) {
        free(text->text);
        *text = (struct view_answer){0};
    }
    return code;
}

static int answer_timeline(struct view_http *http, struct MHD_Connection *connection, size_t log,
                           struct view_answer *text) {
    double from, to;
    uint64_t width;
    if (!parse_seconds(connection, "from", -1, &from) || !parse_seconds(connection, "to", -1, &to) ||
        !parse_number(mhd->MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "width"), &width))
        return ERR_USAGE;
    return view_logs_timeline(http->logs, log, from, to, width, text);
}

static int answer_call(struct view_http *http, struct MHD_Connection *connection, size_t log,
                       struct view_answer *text) {
    double at;
    uint64_t id;
    if (!parse_seconds(connection, "at", 0, &at) ||
        !parse_number(mhd->MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "id"), &id))
        return ERR_USAGE;
    return view_logs_call(http->logs, log, id, at, text);
}

static int write_tables(void *context, struct json_out *json) {
    (void)context;
    sql_tables_json(json);
    return 0;
}

static const char *find_argument(void *context, const char *key) {
    return mhd->MHD_lookup_connection_value(context, MHD_GET_ARGUMENT_KIND, key);
}

static int answer_path(struct view_http *http, struct MHD_Connection *connection, const char *path,
                       struct view_answer *text, const char **type) {
    static const char data[] = "data/", timeline[] = "timeline/", call[] = "call/", site[] = "site/";
    uint64_t log;
    *type = json_type;
    if (!*path) {
        *type = html_type;
        return answer_page(http, text);
    }
    if (!strcmp(path, "tables")) return json_out_memory(&text->text, &text->len, write_tables, NULL);
    if (http->lab && !strcmp(path, "lab")) return json_out_memory(&text->text, &text->len, lab_json, http->lab);
    if (http->site && !strncmp(path, site, strlen(site)))
        return view_site_ask(http->site, path + strlen(site), find_argument, connection, text);
    const char *slash = strchr(path, '/');
    if (!slash || !parse_number(slash + 1, &log)) return ERR_NOTHING;
    if (!strncmp(path, data, strlen(data))) return view_logs_data(http->logs, log, text);
    if (!strncmp(path, timeline, strlen(timeline))) return answer_timeline(http, connection, log, text);
    if (!strncmp(path, call, strlen(call))) return answer_call(http, connection, log, text);
    return ERR_NOTHING;
}

static bool has_body(struct MHD_Connection *connection, size_t upload_bytes) {
    const char *length = mhd->MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    return upload_bytes || (length && strcmp(length, "0") != 0) ||
           mhd->MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");
}

// Lives from the request's first line to its end.
struct request {
    const char *problem; // of its address; NULL: none
    char *body;          // of a POST
    size_t length, got;  // of the body, in bytes
    time_t begun;
};

// Checks an address before anything in it is decoded. The paths of this server have no escapes.
static void *begin_request(void *context, const char *address, struct MHD_Connection *connection) {
    struct request *request = calloc(1, sizeof *request);
    (void)context;
    (void)connection;
    if (!request) return NULL;
    size_t path = strcspn(address, "?");
    if (strnlen(address, VIEW_MAX_URL + 1) > VIEW_MAX_URL)
        request->problem = "the address is too long";
    else if (memchr(address, '%', path) || memmem(address, path, "..", 2))
        request->problem = "no such address";
    return request;
}

static void end_request(void *context, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode code) {
    struct request *request = *state;
    (void)context, (void)connection, (void)code;
    if (request) free(request->body);
    free(request);
}

static enum MHD_Result answer_with(struct MHD_Connection *connection, int code, struct view_answer text,
                                   const char *type) {
    if (code == 0) return answer(connection, MHD_HTTP_OK, text, type);
    unsigned status = code == ERR_USAGE || code == ERR_LIMIT ? MHD_HTTP_BAD_REQUEST
                      : code == ERR_NOTHING                  ? MHD_HTTP_NOT_FOUND
                      : code == -EINTR || code == ERR_EXISTS ? MHD_HTTP_CONFLICT
                      : code == -EBUSY                       ? MHD_HTTP_SERVICE_UNAVAILABLE
                                                             : MHD_HTTP_INTERNAL_SERVER_ERROR;
    if (text.text) return answer(connection, status, text, json_type);
    return refuse(connection, status,
                  code == ERR_USAGE     ? "numbers are missing or make no sense"
                  : code == ERR_NOTHING ? "there is no such log or call"
                  : code == -EINTR      ? "a newer statement has taken its place"
                  : code == -EBUSY      ? "a statement of another page is under way"
                                        : "the log cannot be read");
}

// --- the lab

// The action that a path asks for, or NULL.
static const char *find_action(const struct view_http *http, const char *path) {
    static const char folder[] = "lab/";
    if (!http->lab || strncmp(path, folder, strlen(folder)) != 0) return NULL;
    return lab_has_action(path + strlen(folder)) ? path + strlen(folder) : NULL;
}

static int write_refusal(void *context, struct json_out *json) {
    const struct lab_refusal *refusal = context;
    json_object_of(json, m_text("error", refusal->why), m_text("field", refusal->field));
    return 0;
}

// The answer is what the page shows then.
static enum MHD_Result answer_action(struct view_http *http, struct MHD_Connection *connection, const char *action,
                                     const struct request *request) {
    struct view_answer text = {0};
    struct lab_refusal refusal;
    int code = lab_act(http->lab, action, request->body, request->length, &refusal);
    if (code == 0) code = json_out_memory(&text.text, &text.len, lab_json, http->lab);
    if (code < 0 && *refusal.why) json_out_memory(&text.text, &text.len, write_refusal, &refusal);
    return answer_with(connection, code, text, json_type);
}

// --- questions: a POST, because an address is short

// Whether the path is that of a question in this language, and of which log.
static bool is_in(const char *language, const char *path, uint64_t *log) {
    size_t len = strlen(language);
    return !strncmp(path, language, len) && path[len] == '/' && parse_number(path + len + 1, log);
}

static bool is_question(const struct view_http *http, const char *path, uint64_t *log) {
    return is_in("sql", path, log) || is_in("query", path, log) || (http->site && is_in("open", path, log));
}

static enum MHD_Result answer_question(struct view_http *http, struct MHD_Connection *connection, const char *path,
                                       const struct request *request) {
    uint64_t log;
    struct view_answer text = {0};
    struct view_asker asker;
    const union MHD_ConnectionInfo *info = mhd->MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    int code = ERR_USAGE;
    bool is_text = !memchr(request->body, '\0', request->length);
    if (is_in("open", path, &log)) {
        code = log <= INT64_MAX ? view_site_open(http->site, http->logs, (int64_t)log, &text) : ERR_NOTHING;
    } else if (is_text && is_in("query", path, &log)) {
        code = view_logs_query(http->logs, log, request->body, &text);
    } else if (info && is_text && is_in("sql", path, &log) &&
               parse_number(mhd->MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "page"), &asker.page)) {
        asker.socket = info->connect_fd;
        code = view_logs_sql(http->logs, log, request->body, &asker, &text);
    }
    return answer_with(connection, code, text, json_type);
}

static enum MHD_Result begin_body(const struct view_http *http, struct MHD_Connection *connection, const char *path,
                                  struct request *request) {
    uint64_t log, length;
    if (!is_question(http, path, &log) && !find_action(http, path))
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET");
    if (mhd->MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding") ||
        !parse_number(mhd->MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length"), &length) ||
        length > VIEW_MAX_BODY)
        return refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE, "the body has no length, or is too long");
    request->begun = time(NULL);
    request->length = length;
    request->body = calloc(1, length + 1);
    return request->body ? MHD_YES : MHD_NO;
}

// A body that is shorter than announced never comes here: the connection is then closed.
static enum MHD_Result answer_body(struct view_http *http, struct MHD_Connection *connection, const char *path,
                                   const struct request *request) {
    const char *action = find_action(http, path);
    return action ? answer_action(http, connection, action, request) : answer_question(http, connection, path, request);
}

// MHD_NO closes the connection: a client that takes too long keeps it from others.
static enum MHD_Result receive_body(struct request *request, const char *upload, size_t *upload_bytes) {
    if (*upload_bytes > request->length - request->got || time(NULL) - request->begun > BODY_SECONDS) return MHD_NO;
    memcpy(request->body + request->got, upload, *upload_bytes);
    request->got += *upload_bytes;
    *upload_bytes = 0;
    return MHD_YES;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_bytes, void **state) {
    struct view_http *http = context;
    struct request *request = *state;
    (void)version;
    if (!request) return MHD_NO;
    bool is_post = !strcmp(method, "POST");
    if (request->body && *upload_bytes) return receive_body(request, upload, upload_bytes);
    if (request->body) return answer_body(http, connection, after_token(http, url), request);
    if (!is_post && strcmp(method, "GET") != 0) return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET");
    if (!is_post && has_body(connection, *upload_bytes))
        return refuse(connection, MHD_HTTP_BAD_REQUEST, "a request has no body");
    if (request->problem) return refuse(connection, MHD_HTTP_BAD_REQUEST, request->problem);
    if (!is_own_host(http, mhd->MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host")))
        return refuse(connection, MHD_HTTP_FORBIDDEN, "not the server's own address");
    if (!is_own_origin(http, connection)) return refuse(connection, MHD_HTTP_FORBIDDEN, "another origin");
    const char *path = after_token(http, url);
    if (!path) return refuse(connection, MHD_HTTP_FORBIDDEN, "wrong token");
    if (is_post) return begin_body(http, connection, path, request);
    struct view_answer text = {0};
    const char *type;
    int code = answer_path(http, connection, path, &text, &type);
    return answer_with(connection, code, text, type);
}

// --- start and stop

static int make_token(char token[VIEW_TOKEN_CHARACTERS + 1]) {
    uint8_t bytes[VIEW_TOKEN_CHARACTERS / 2];
    ssize_t got = getrandom(bytes, sizeof bytes, 0);
    RETURN_IF(got != (ssize_t)sizeof bytes, got < 0 ? -errno : -EIO);
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

int view_http_start(struct view_http *http) {
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons(http->port)};
    RETURN_IF(inet_pton(AF_INET, http->address, &where.sin_addr) != 1, ERR_USAGE);
    mhd = late_load("microhttpd");
    RETURN_IF(!mhd, ERR_NOTHING);
    FORWARD(make_token(http->token));
    errno = 0;
    struct MHD_Daemon *daemon =
        mhd->MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, handle,
                              http, MHD_OPTION_SOCK_ADDR, &where, MHD_OPTION_CONNECTION_LIMIT,
                              (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
                              MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_URI_LOG_CALLBACK,
                              begin_request, NULL, MHD_OPTION_NOTIFY_COMPLETED, end_request, NULL, MHD_OPTION_END);
    RETURN_IF(!daemon, errno ? -errno : -EADDRINUSE);
    const union MHD_DaemonInfo *info = mhd->MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    if (info) http->port = info->port;
    http->daemon = daemon;
    return 0;
}

void view_http_stop(struct view_http *http) {
    if (http->daemon) mhd->MHD_stop_daemon(http->daemon);
    http->daemon = NULL;
}

#endif
