// What is known about a client between two requests. The client is another process; its requests go through a pipe.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "target/emulate/clients.h"

enum { ROUNDS = 50, WAIT_NS = 2000000, BETWEEN_NS = 200000 };

static struct clients clients;

static int set_up(void **state) {
    (void)state;
    clients_init(&clients);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    clients_free(&clients);
    return 0;
}

// --- the client

typedef void between(int64_t ns); // what it does between two requests

static void sleep_for(int64_t ns) { clock_sleep_until(clock_now_ns() + ns); }

static void run_for(int64_t ns) {
    int64_t until_ns = clock_now_ns() + ns;
    while (clock_now_ns() < until_ns) continue;
}

static struct {
    pid_t process;
    int requests[2];
    int replies[2];
} client;

static void be_client(between *act) {
    char byte = 0;
    close(client.requests[0]);
    close(client.replies[1]);
    while (write(client.requests[1], &byte, 1) == 1 && read(client.replies[0], &byte, 1) == 1) act(BETWEEN_NS);
    _exit(0);
}

static void start_client(between *act) {
    assert_return_code(pipe(client.requests), 0);
    assert_return_code(pipe(client.replies), 0);
    client.process = fork();
    if (client.process == 0) be_client(act);
    close(client.requests[1]);
    close(client.replies[0]);
}

static void end_client(void) {
    close(client.requests[0]);
    close(client.replies[1]);
    waitpid(client.process, NULL, 0);
}

// Serves one request; returns its client's interval before it.
static struct client_interval serve(void) {
    char byte;
    assert_int_equal(read(client.requests[0], &byte, 1), 1);
    int64_t now_ns = clock_now_ns();
    struct client_interval interval = clients_request_began(&clients, client.process, now_ns);
    clock_sleep_until(now_ns + WAIT_NS);
    clients_request_ended(&clients, client.process, now_ns + WAIT_NS, WAIT_NS);
    assert_int_equal(write(client.replies[1], "", 1), 1);
    return interval;
}

// --- tests

// Counts the clean intervals. A client that loses its processor has none; one that is held up for long may look clean
// though it is not.
static unsigned count_clean(between *act) {
    unsigned clean = 0;
    start_client(act);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct client_interval interval = serve();
        if (!interval.is_clean) continue;
        clean++;
        assert_int_equal(interval.left_ns, WAIT_NS);
        assert_true(interval.late_ns >= BETWEEN_NS && interval.server_ns >= 0 && interval.ran_ns >= 0 &&
                    interval.waited_ns >= 0);
    }
    end_client();
    return clean;
}

static void skip_without_schedstat(void) {
    if (access("/proc/self/schedstat", R_OK) == 0 && sysconf(_SC_NPROCESSORS_ONLN) > 1) return;
    print_message("this machine has no schedstat, or a single processor\n");
    skip();
}

static void one_that_goes_on_at_once(void **state) {
    (void)state;
    skip_without_schedstat();
    unsigned tries = 0, most = 50; // on a busy machine, a client may wait for a processor in every round
    while (!count_clean(run_for)) assert_true(++tries < most);
}

static void one_that_sleeps_between(void **state) {
    (void)state;
    assert_true(count_clean(sleep_for) <= ROUNDS / 10);
}

// First one request that is never answered, then two that are answered before the next one comes.
static void one_with_several_under_way(void **state) {
    (void)state;
    start_client(run_for);
    serve();
    clients_request_began(&clients, client.process, clock_now_ns());
    for (unsigned i = 0; i < ROUNDS; i++) assert_false(serve().is_clean);
    clients_request_ended(&clients, client.process, clock_now_ns(), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        serve();
        clients_request_began(&clients, client.process, clock_now_ns());
        clients_request_began(&clients, client.process, clock_now_ns());
        clients_request_ended(&clients, client.process, clock_now_ns(), 0);
        clients_request_ended(&clients, client.process, clock_now_ns(), 0);
        assert_false(serve().is_clean);
    }
    assert_int_equal(clients.under_way, 0);
    end_client();
}

// The kernel, a thread that has ended, and threads that share a slot.
static void others(void **state) {
    (void)state;
    pid_t gone = fork();
    if (gone == 0) _exit(0);
    waitpid(gone, NULL, 0);
    const pid_t threads[] = {0, -1, gone, 1, 1 + CLIENTS_MOST, getpid(), getpid() + CLIENTS_MOST};
    enum { THREADS = sizeof threads / sizeof *threads };
    for (unsigned i = 0; i < ROUNDS * THREADS; i++) {
        assert_false(clients_request_began(&clients, threads[i % THREADS], clock_now_ns()).is_clean);
        clients_request_ended(&clients, threads[i % THREADS], clock_now_ns(), 0);
        assert_int_equal(clients.under_way, 0);
    }
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        A_TEST(one_that_goes_on_at_once),
        A_TEST(one_that_sleeps_between),
        A_TEST(one_with_several_under_way),
        A_TEST(others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
