// The arithmetic of emulated storage, on a clock that the tests turn.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "target/emulate/speed.h"

#define MIB (UINT64_C(1) << 20)
#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)

struct client {
    struct speed speed;
    int64_t now_ns;
    uint64_t offset;
};

static struct client client_of(struct speed_settings settings) {
    struct client client = {.now_ns = 1000 * SECOND};
    speed_init(&client.speed, &settings);
    return client;
}

static int64_t admit(struct client *client, struct speed_request request) {
    return speed_admit(&client->speed, &request, client->now_ns);
}

// All clients get their replies, then nothing happens for a second.
static void rest(struct client *client) {
    while (client->speed.under_way) speed_end(&client->speed, client->speed.due_ns);
    client->now_ns = client->speed.due_ns + SECOND;
}

// A request that follows the last one; its client is told `late_ns` after it was done and comes back `gap_ns` later.
// Returns how long it took for the client.
static int64_t request_of(struct client *client, uint64_t bytes, int64_t late_ns, int64_t gap_ns) {
    int64_t began_ns = client->now_ns;
    int64_t done_ns = admit(client, (struct speed_request){true, 1, client->offset, bytes, 0});
    assert_true(done_ns >= began_ns);
    client->offset += bytes;
    client->now_ns = done_ns + late_ns;
    speed_end(&client->speed, client->now_ns);
    int64_t took_ns = client->now_ns - began_ns;
    client->now_ns += gap_ns;
    return took_ns;
}

// Bytes per second of many such requests, by the client's clock.
static double rate_of(struct client *client, uint64_t bytes, int64_t late_ns, int64_t gap_ns) {
    const unsigned count = 10000;
    int64_t began_ns = client->now_ns;
    for (unsigned i = 0; i < count; i++) request_of(client, bytes, late_ns, gap_ns);
    return (double)bytes * count * 1e9 / (double)(client->now_ns - began_ns);
}

static void assert_near(double value, double wanted, double share) {
    if (value < wanted * (1 - share) || value > wanted * (1 + share)) fail_msg("%g instead of %g", value, wanted);
}

static void one_request_takes_latency_or_transfer(void **state) {
    (void)state;
    struct client client = client_of((struct speed_settings){.write_bandwidth = 100 * MIB, .latency_ns = MS});
    assert_int_equal(request_of(&client, 4096, 0, SECOND), MS);
    assert_int_equal(request_of(&client, MIB, 0, SECOND), 10 * MS);
    struct client free_client = client_of((struct speed_settings){0});
    assert_int_equal(request_of(&free_client, MIB, 0, 0), 0);
}

static void a_stream_has_the_bandwidth_exactly(void **state) {
    (void)state;
    const uint64_t sizes[] = {4096, 65536, MIB, 4 * MIB};
    for (unsigned i = 0; i < 4; i++) {
        struct client client = client_of((struct speed_settings){.write_bandwidth = 20 * MIB, .latency_ns = 50 * US});
        assert_near(rate_of(&client, sizes[i], 0, 0), 20. * MIB, 0.0001);
        assert_near(rate_of(&client, sizes[i], 30 * US, 40 * US), 20. * MIB, 0.001); // 4 KiB need 195 us
    }
}

static void late_replies_are_made_good(void **state) {
    (void)state;
    struct client client = client_of((struct speed_settings){.write_bandwidth = 100 * MIB, .latency_ns = 100 * US});
    int64_t began_ns = client.now_ns;
    for (unsigned i = 0; i < 100; i++) request_of(&client, MIB, i % 10 ? 0 : 20 * MS, 10 * US);
    assert_near((double)(client.now_ns - began_ns), 1e9, 0.001);
    for (unsigned i = 0; i < 100; i++)
        assert_true(request_of(&client, MIB, 5 * MS, 0) >= 100 * US); // the latency stays
}

// After half a second of delays, the storage is not twice as fast.
static void what_is_owed_is_made_good_bit_by_bit(void **state) {
    (void)state;
    struct client client = client_of((struct speed_settings){.write_bandwidth = 100 * MIB});
    for (unsigned i = 0; i < 10; i++) request_of(&client, MIB, 50 * MS, 10 * US);
    request_of(&client, MIB, 0, 0);
    for (unsigned i = 0; i < 10; i++) assert_true(request_of(&client, MIB, 0, 0) >= 7 * MS);
}

static void not_more_than_the_credit_is_made_good(void **state) {
    (void)state;
    struct client client = client_of((struct speed_settings){.write_bandwidth = 100 * MIB});
    request_of(&client, MIB, 3 * SECOND, 10 * US);
    int64_t began_ns = client.now_ns;
    for (unsigned i = 0; i < 100; i++) request_of(&client, MIB, 0, 0);
    assert_near((double)(client.now_ns - began_ns), 0.9e9, 0.001);
}

static void storage_left_alone_gives_no_credit(void **state) {
    (void)state;
    struct client client = client_of((struct speed_settings){.write_bandwidth = 100 * MIB, .latency_ns = 100 * US});
    for (unsigned i = 0; i < 100; i++) assert_int_equal(request_of(&client, MIB, 0, 2 * MS), 10 * MS);
    for (unsigned i = 0; i < 10; i++) assert_int_equal(request_of(&client, MIB, 0, SECOND), 10 * MS);
    request_of(&client, MIB, 50 * MS, SECOND); // forgotten during the pause
    request_of(&client, MIB, 0, 0);
    assert_int_equal(request_of(&client, MIB, 0, 0), 10 * MS);
}

static void waiting_for_latency_gives_no_credit(void **state) {
    (void)state;
    struct client client = client_of((struct speed_settings){.write_bandwidth = 100 * MIB, .latency_ns = 5 * MS});
    for (unsigned i = 0; i < 1000; i++) assert_int_equal(request_of(&client, 4096, 0, 20 * US), 5 * MS);
    assert_int_equal(request_of(&client, 10 * MIB, 0, 0), 100 * MS - 20 * US); // without the last pause
}

static void reading_and_writing_in_turns_share_no_time(void **state) {
    (void)state;
    struct client client = client_of((struct speed_settings){.read_bandwidth = 100 * MIB, .write_bandwidth = 50 * MIB});
    int64_t began_ns = client.now_ns;
    for (unsigned i = 0; i < 100; i++) {
        client.now_ns = admit(&client, (struct speed_request){i % 2, 1, 0, MIB, 0});
        speed_end(&client.speed, client.now_ns);
    }
    assert_near((double)(client.now_ns - began_ns), 50 * 0.01e9 + 50 * 0.02e9, 0.0001);
}

static void reading_and_writing_at_once_have_their_own_bandwidth(void **state) {
    (void)state;
    struct client client = client_of((struct speed_settings){.read_bandwidth = 100 * MIB, .write_bandwidth = 50 * MIB});
    int64_t read_ns = admit(&client, (struct speed_request){false, 1, 0, MIB, 0});
    int64_t written_ns = admit(&client, (struct speed_request){true, 2, 0, MIB, 0});
    assert_int_equal(read_ns - client.now_ns, 10 * MS);
    assert_int_equal(written_ns - client.now_ns, 20 * MS);
}

static void clients_share_the_bandwidth_but_not_the_latency(void **state) {
    (void)state;
    struct client client = client_of((struct speed_settings){.read_bandwidth = 100 * MIB, .latency_ns = 5 * MS});
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(admit(&client, (struct speed_request){false, i, 0, 4096, 0}) - client.now_ns, 5 * MS);
    }
    rest(&client);
    for (unsigned i = 0; i < 8; i++) {
        int64_t done_ns = admit(&client, (struct speed_request){false, i, 0, MIB, 0});
        assert_int_equal(done_ns - client.now_ns, (i + 1) * 10 * MS);
    }
}

static void many_clients_have_the_bandwidth_exactly(void **state) {
    (void)state;
    enum { CLIENTS = 5, ROUNDS = 2000 };
    struct client client = client_of((struct speed_settings){.read_bandwidth = 100 * MIB, .latency_ns = 200 * US});
    int64_t began_ns = client.now_ns, told_ns[CLIENTS];
    for (unsigned i = 0; i < CLIENTS; i++) told_ns[i] = began_ns;
    for (unsigned i = 0; i < ROUNDS * CLIENTS; i++) {
        unsigned first = 0; // the client that was told first comes next
        for (unsigned k = 1; k < CLIENTS; k++) first = told_ns[k] < told_ns[first] ? k : first;
        client.now_ns = told_ns[first];
        if (i >= CLIENTS) speed_end(&client.speed, client.now_ns);
        told_ns[first] = admit(&client, (struct speed_request){false, first, i, 65536, 0}) + (i % 7) * 50 * US;
    }
    double rate = 65536. * ROUNDS * CLIENTS * 1e9 / (double)(client.now_ns - began_ns);
    assert_near(rate, 100. * MIB, 0.002);
}

static void waiting_for_a_processor_is_not_a_rest(void **state) {
    (void)state;
    struct client client = client_of((struct speed_settings){.write_bandwidth = 100 * MIB});
    int64_t began_ns = client.now_ns;
    for (unsigned i = 0; i < 100; i++) { // back after 4 ms, 3.8 of which the client was ready to go on
        int64_t done_ns = admit(&client, (struct speed_request){true, 1, i * MIB, MIB, i ? 3800 * US : 0});
        speed_end(&client.speed, done_ns);
        client.now_ns = done_ns + 4 * MS;
    }
    assert_near((double)(client.now_ns - began_ns), 1e9, 0.005);
    for (unsigned i = 0; i < 10; i++) { // the client worked for 50 ms on a busy machine: the storage owes nothing
        int64_t done_ns = admit(&client, (struct speed_request){true, 1, i * MIB, MIB, i ? 40 * MS : 0});
        if (i) assert_int_equal(done_ns - client.now_ns, 10 * MS);
        speed_end(&client.speed, done_ns);
        client.now_ns = done_ns + 90 * MS;
    }
}

static void seeks_take_the_whole_storage(void **state) {
    (void)state;
    struct client client = client_of((struct speed_settings){
        .read_bandwidth = 100 * MIB, .write_bandwidth = 100 * MIB, .latency_ns = 200 * US, .seek_latency_ns = 8 * MS});
    assert_int_equal(admit(&client, (struct speed_request){false, 1, 0, MIB, 0}) - client.now_ns, 18 * MS);
    rest(&client);
    assert_int_equal(admit(&client, (struct speed_request){false, 1, MIB, MIB, 0}) - client.now_ns, 10 * MS);
    rest(&client);
    for (unsigned i = 1; i <= 4; i++) { // four clients wait for one head, also to write
        int64_t done_ns = admit(&client, (struct speed_request){i % 2, i, 12345, 4096, 0});
        assert_near((double)(done_ns - client.now_ns), i * 8e6 + 0.2e6, 0.02);
    }
}

static void presets_are_found(void **state) {
    (void)state;
    const char *const names[] = {"hdd", "ssd", "nvme", "nvm", "nfs-1g"};
    for (unsigned i = 0; i < 5; i++) {
        const struct speed_preset *preset = speed_preset_named(names[i]);
        assert_non_null(preset);
        assert_true(preset->settings.read_bandwidth && preset->settings.write_bandwidth);
    }
    assert_null(speed_preset_named("floppy"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_request_takes_latency_or_transfer),
        cmocka_unit_test(a_stream_has_the_bandwidth_exactly),
        cmocka_unit_test(late_replies_are_made_good),
        cmocka_unit_test(what_is_owed_is_made_good_bit_by_bit),
        cmocka_unit_test(not_more_than_the_credit_is_made_good),
        cmocka_unit_test(storage_left_alone_gives_no_credit),
        cmocka_unit_test(waiting_for_latency_gives_no_credit),
        cmocka_unit_test(reading_and_writing_in_turns_share_no_time),
        cmocka_unit_test(reading_and_writing_at_once_have_their_own_bandwidth),
        cmocka_unit_test(clients_share_the_bandwidth_but_not_the_latency),
        cmocka_unit_test(many_clients_have_the_bandwidth_exactly),
        cmocka_unit_test(waiting_for_a_processor_is_not_a_rest),
        cmocka_unit_test(seeks_take_the_whole_storage),
        cmocka_unit_test(presets_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
