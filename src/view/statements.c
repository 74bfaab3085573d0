#include "view/statements.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "sql/sql.h"

enum {
    MOST_SECONDS = 30,
    MOST_ROWS = 10000,
    MOST_BYTES = 8 << 20, // of values, before anything in them is escaped
    MOST_VALUE_BYTES = 512 << 10,
    VALUE_BYTES = 8, // of a number
    ROUND_MS = 100,
    MOST_ROUNDS = 200, // together with MOST_SECONDS less than the time in which the connection must answer
};

// A statement that waits or runs.
struct turn {
    struct turn *next;
    const struct view_asker *asker;
    bool is_replaced; // atomic
};

struct view_statements {
    struct summary_source source;
    struct sql *sql; // opened by the first statement; its tables are kept for the next
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_busy;
    struct turn *turns;
};

int view_statements_new(struct view_statements **out, const struct summary_source *source) {
    struct view_statements *statements = calloc(1, sizeof *statements);
    RETURN_IF(!statements, -ENOMEM);
    statements->source = *source;
    pthread_mutex_init(&statements->lock, NULL);
    pthread_cond_init(&statements->changed, NULL);
    *out = statements;
    return 0;
}

// --- turns

static bool is_gone(int socket) {
    struct pollfd state = {.fd = socket, .events = POLLRDHUP};
    return poll(&state, 1, 0) > 0 && state.revents;
}

static bool is_unwanted(void *context) {
    struct turn *turn = context;
    return __atomic_load_n(&turn->is_replaced, __ATOMIC_RELAXED) || is_gone(turn->asker->socket);
}

static void wait_a_round(struct view_statements *statements) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ROUND_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&statements->changed, &statements->lock, &until);
}

static int begin_turn(struct view_statements *statements, struct turn *turn) {
    int code = 0;
    pthread_mutex_lock(&statements->lock);
    for (struct turn *other = statements->turns; other; other = other->next) {
        if (other->asker->page == turn->asker->page) __atomic_store_n(&other->is_replaced, true, __ATOMIC_RELAXED);
    }
    turn->next = statements->turns;
    statements->turns = turn;
    for (unsigned round = 0; statements->is_busy && !code; round++) {
        wait_a_round(statements);
        if (round == MOST_ROUNDS) code = -EBUSY;
        if (is_unwanted(turn)) code = -EINTR;
    }
    if (!code) statements->is_busy = true;
    pthread_mutex_unlock(&statements->lock);
    return code;
}

static void end_turn(struct view_statements *statements, struct turn *turn, bool was_running) {
    pthread_mutex_lock(&statements->lock);
    struct turn **at = &statements->turns;
    while (*at != turn) at = &(*at)->next;
    *at = turn->next;
    if (was_running) statements->is_busy = false;
    pthread_cond_broadcast(&statements->changed);
    pthread_mutex_unlock(&statements->lock);
}

// --- results

struct result {
    struct view_statements *statements;
    const char *statement;
    struct turn *turn;
    struct problem *problem;
    struct json_out *json;
    size_t rows, bytes;
    bool is_cut;
};

static int add_columns(void *context, const char *const *name, size_t count) {
    struct result *result = context;
    key_array(result->json, "columns");
    for (size_t i = 0; i < count; i++) json_text(result->json, name[i]);
    json_close(result->json);
    key_array(result->json, "rows");
    return 0;
}

static int add_row(void *context, const struct sql_value *value, size_t count) {
    struct result *result = context;
    for (size_t i = 0; i < count; i++)
        result->bytes += value[i].kind >= SQL_IS_TEXT ? value[i].len : (size_t)VALUE_BYTES;
    result->is_cut = result->rows == MOST_ROWS || result->bytes > MOST_BYTES;
    RETURN_IF(result->is_cut, ERR_LIMIT);
    result->rows++;
    json_array(result->json);
    for (size_t i = 0; i < count; i++) FORWARD(sql_value_json(result->json, &value[i]));
    json_close(result->json);
    return 0;
}

static double seconds_since(const struct timespec *begun) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begun->tv_sec) + (double)(now.tv_nsec - begun->tv_nsec) / 1e9;
}

static int write_result(void *context, struct json_out *json) {
    struct result *result = context;
    struct sql *sql = result->statements->sql;
    struct timespec begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    result->json = json;
    json_object(json);
    sql_limit_seconds(sql, MOST_SECONDS);
    sql_stop_if(sql, is_unwanted, result->turn);
    int code = sql_run(sql, result->statement, &(struct sql_sink){result, add_columns, add_row}, result->problem);
    sql_stop_if(sql, NULL, NULL);
    RETURN_IF(code < 0 && !result->is_cut, code);
    json_close(json);
    json_members(json, m_bool("cut", result->is_cut), m_double("seconds", seconds_since(&begun)));
    json_close(json);
    return 0;
}

struct failure {
    const char *why;
    int at;
};

static int write_failure(void *context, struct json_out *json) {
    const struct failure *failure = context;
    json_object_of(json, m_text("error", failure->why), m_number_if("at", failure->at >= 0, (uint64_t)failure->at));
    return 0;
}

int view_failure(struct view_answer *answer, int code, const char *why, int at) {
    json_out_memory(&answer->text, &answer->len, write_failure, &(struct failure){why, at});
    return code;
}

static int run(struct view_statements *statements, const char *statement, struct turn *turn,
               struct view_answer *answer) {
    struct problem problem = {0};
    struct result result = {.statements = statements, .statement = statement, .turn = turn, .problem = &problem};
    int code = statements->sql ? 0 : sql_open(&statements->sql, &statements->source, &problem);
    if (!code) sql_limit_values(statements->sql, MOST_VALUE_BYTES);
    if (!code) code = json_out_memory(&answer->text, &answer->len, write_result, &result);
    if (!code) return 0;
    return view_failure(answer, code, *problem.why ? problem.why : err_text(code),
                        statements->sql ? sql_error_place(statements->sql) : -1);
}

int view_statements_run(struct view_statements *statements, const char *statement, const struct view_asker *asker,
                        struct view_answer *answer) {
    struct turn turn = {.asker = asker};
    int code = begin_turn(statements, &turn);
    bool is_running = !code;
    if (is_running) code = run(statements, statement, &turn, answer);
    end_turn(statements, &turn, is_running);
    return code;
}
