// The decoder against the recorder's encoder, and against damage.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "calls.h"
#include "fmt/call.h"
#include "fmt/stream_put.h"

enum { ROOM = 16384, BASE = 1000, FIRST_NUMBER = 10, STREAM = 5, TID = 77 };

struct sample {
    struct stream_writer writer;
    _Atomic uint32_t used;
    uint8_t data[ROOM];
};

static struct sample *sample_new(void) {
    struct sample *sample = calloc(1, sizeof *sample);
    assert_non_null(sample);
    stream_put_start(&sample->writer, sample->data, ROOM, &sample->used, BASE);
    sample->writer.next_number = FIRST_NUMBER;
    return sample;
}

static struct stream_decoder decoder_of(const uint8_t *data, size_t len) {
    const struct stream_start start = {
        .stream = STREAM, .tid = TID, .first_number = FIRST_NUMBER, .base = BASE, .tick = 3};
    struct stream_decoder decoder;
    stream_decoder_init(&decoder, &start, data, len);
    return decoder;
}

static struct stream_event next(struct stream_decoder *decoder) {
    struct stream_event event;
    memset(&event, 0xee, sizeof event);
    assert_int_equal(stream_decode(decoder, &event), 1);
    return event;
}

static void test_run(void **state) {
    (void)state;
    struct sample *sample = sample_new();
    stream_put_slot(&sample->writer, 9, 1, CALL_pwrite, 2, 3, SLOT_UNALIGNED | SLOT_CALLSITE, 44);
    uint64_t now = BASE;
    for (unsigned i = 0; i < 100; i++, now += 30) stream_put_plain(&sample->writer, 9, i * 512, 512, now + 5, now + 20);
    assert_true(sample->used < 100 * 3 + 20); // a head byte and two times each
    struct stream_decoder decoder = decoder_of(sample->data, sample->used);
    now = BASE;
    for (unsigned i = 0; i < 100; i++, now += 30) {
        struct stream_event event = next(&decoder);
        assert_int_equal(event.number, FIRST_NUMBER + i);
        assert_true(event.parent_number == STREAM_NO_PARENT);
        assert_int_equal(event.tid, TID);
        assert_int_equal(event.call, CALL_pwrite);
        assert_true(event.file == 2 && event.handle == 3 && event.callsite == 44 && event.unaligned);
        assert_true(event.has_offset && event.has_result && event.error == 0 && event.tick == 3);
        assert_int_equal(event.offset, i * 512);
        assert_int_equal(event.size, 512);
        assert_int_equal(event.result, 512);
        assert_int_equal(event.start, now + 5);
        assert_int_equal(event.duration, 15);
        assert_int_equal(event.attribute_mask, 0);
    }
    struct stream_event event;
    assert_int_equal(stream_decode(&decoder, &event), 0);
    free(sample);
}

// Any offsets and sizes in any slots come back unchanged.
static void test_random(void **state) {
    (void)state;
    enum { EVENTS = 500 };
    static const uint32_t calls[4] = {CALL_pread, CALL_pwrite, CALL_fsync, CALL_lseek};
    struct {
        unsigned slot;
        uint64_t offset, size, start, end;
        struct stream_put_extra extra;
        bool extended;
    } put[EVENTS];
    struct sample *sample = sample_new();
    srand(1);
    for (unsigned slot = 0; slot < 4; slot++) stream_put_slot(&sample->writer, slot, 1, calls[slot], slot, 0, 0, 0);
    for (unsigned i = 0; i < EVENTS; i++) {
        unsigned slot = put[i].slot = (unsigned)rand() % 4;
        bool has_size = slot < 2, has_offset = slot != 2;
        put[i].offset = has_offset ? (uint64_t)(rand() % 4) << (rand() % 40) : 0;
        put[i].size = has_size ? (uint64_t)(rand() % 3) * 4096 : 0;
        put[i].start = sample->writer.clock + (uint64_t)(rand() % 300);
        put[i].extra = (struct stream_put_extra){0};
        put[i].extended = rand() % 3 == 0;
        if (put[i].extended && rand() % 2) put[i].start -= 200;
        if (put[i].extended && rand() % 2) put[i].extra.flags = EVENT_RESULT, put[i].extra.result = -7;
        if (put[i].extended && rand() % 4 == 0) put[i].extra.flags |= EVENT_NO_OFFSET;
        if (put[i].extended && rand() % 2) stream_put_attribute(&put[i].extra, ATTRIBUTE_FD, 3);
        put[i].end = put[i].start + (uint64_t)(rand() % 1000);
        if (put[i].extended)
            stream_put_extended(&sample->writer, slot, put[i].offset, put[i].size, put[i].start, put[i].end,
                                &put[i].extra);
        else
            stream_put_plain(&sample->writer, slot, put[i].offset, put[i].size, put[i].start, put[i].end);
        assert_false(stream_put_full(&sample->writer));
    }
    struct stream_decoder decoder = decoder_of(sample->data, sample->used);
    for (unsigned i = 0; i < EVENTS; i++) {
        struct stream_event event = next(&decoder);
        bool no_offset = put[i].extra.flags & EVENT_NO_OFFSET;
        assert_int_equal(event.number, FIRST_NUMBER + i);
        assert_int_equal(event.call, calls[put[i].slot]);
        if (!no_offset) assert_int_equal(event.offset, put[i].offset);
        assert_int_equal(event.has_offset, put[i].slot < 2 && !no_offset);
        assert_int_equal(event.size, put[i].size);
        assert_int_equal(event.start, put[i].start);
        assert_int_equal(event.duration, put[i].end - put[i].start);
        assert_int_equal(event.attribute_mask, put[i].extra.attributes ? 1u << ATTRIBUTE_FD : 0);
        if (put[i].extra.flags & EVENT_RESULT)
            assert_int_equal(event.result, -7);
        else if (put[i].slot < 2)
            assert_int_equal(event.result, put[i].size);
        else if (put[i].slot == 3 && !no_offset)
            assert_int_equal(event.result, put[i].offset);
    }
    free(sample);
}

static void test_errors_and_attributes(void **state) {
    (void)state;
    struct sample *sample = sample_new();
    stream_put_slot(&sample->writer, 0, 1, CALL_open, 0, 0, 0, 0);
    struct stream_put_extra extra = {.flags = EVENT_ERROR, .error = 2};
    stream_put_attribute(&extra, ATTRIBUTE_FLAGS, 0x42);
    stream_put_attribute(&extra, ATTRIBUTE_MODE, 0644);
    stream_put_extended(&sample->writer, 0, 0, 0, BASE + 1, BASE + 2, &extra);
    extra = (struct stream_put_extra){.flags = EVENT_NO_RESULT};
    stream_put_extended(&sample->writer, 0, 0, 0, BASE + 3, BASE + 4, &extra);
    stream_put_control(&sample->writer, KIND_THREAD, (uint64_t[]){99}, 1);
    stream_put_control(&sample->writer, KIND_LOST, (uint64_t[]){1, 12}, 2);
    stream_put_plain(&sample->writer, 0, 0, 0, BASE + 5, BASE + 6);

    struct stream_decoder decoder = decoder_of(sample->data, sample->used);
    struct stream_event event = next(&decoder);
    assert_int_equal(event.error, 2);
    assert_int_equal(event.result, -1);
    assert_int_equal(event.attribute_mask, 3);
    assert_int_equal(event.attribute[ATTRIBUTE_FLAGS], 0x42);
    assert_int_equal(event.attribute[ATTRIBUTE_MODE], 0644);
    event = next(&decoder);
    assert_true(!event.has_result && !event.error);
    event = next(&decoder);
    assert_int_equal(event.tid, 99);
    assert_int_equal(decoder.lost, 12);
    free(sample);
}

static void test_nesting(void **state) {
    (void)state;
    struct sample *sample = sample_new();
    struct stream_writer *writer = &sample->writer;
    const struct stream_put_extra ends = {.flags = EVENT_ENDS_BEGUN};
    stream_put_control(writer, KIND_REOPEN, (uint64_t[]){4}, 1);
    stream_put_slot(writer, 0, 1, CALL_fwrite, 1, 0, 0, 0);
    stream_put_slot(writer, 1, 1, CALL_write, 1, 0, 0, 0);
    assert_int_equal(stream_put_begin(writer), 10);
    stream_put_plain(writer, 1, 0, 8, BASE + 10, BASE + 20);
    stream_put_plain(writer, 1, 8, 8, BASE + 30, BASE + 40);
    stream_put_extended(writer, 0, 0, 16, BASE + 5, BASE + 50, &ends);
    stream_put_extended(writer, 0, 16, 16, BASE, BASE + 60, &ends);
    stream_put_plain(writer, 1, 32, 8, BASE + 70, BASE + 80);

    static const struct {
        uint64_t number, parent, start;
    } expected[] = {{11, 10, BASE + 10},
                    {12, 10, BASE + 30},
                    {10, 4, BASE + 5},
                    {4, STREAM_NO_PARENT, BASE},
                    {13, STREAM_NO_PARENT, BASE + 70}};
    struct stream_decoder decoder = decoder_of(sample->data, sample->used);
    for (unsigned i = 0; i < 5; i++) {
        struct stream_event event = next(&decoder);
        assert_int_equal(event.number, expected[i].number);
        assert_true(event.parent_number == expected[i].parent);
        assert_int_equal(event.parent_stream, STREAM);
        assert_int_equal(event.start, expected[i].start);
    }
    free(sample);
}

// A call that was left open has its event later, in the place where the completion was seen.
static void test_left_open(void **state) {
    (void)state;
    struct sample *sample = sample_new();
    struct stream_writer *writer = &sample->writer;
    stream_put_slot(writer, 0, 1, CALL_aio_write, 1, 0, 0, 0);
    stream_put_slot(writer, 1, 1, CALL_write, 1, 0, 0, 0);
    assert_int_equal(stream_put_begin(writer), 10);
    stream_put_plain(writer, 1, 0, 8, BASE + 10, BASE + 20);
    stream_put_control(writer, KIND_LEAVE, NULL, 0);
    stream_put_plain(writer, 1, 8, 8, BASE + 30, BASE + 40);
    stream_put_begin(writer);
    struct stream_put_extra own = {0};
    stream_put_attribute(&own, ATTRIBUTE_OWN_NUMBER, 10);
    stream_put_extended(writer, 0, 0, 8, BASE + 5, BASE + 50, &own);
    stream_put_attribute(&own, ATTRIBUTE_OWN_STREAM, 8);
    stream_put_attribute(&own, ATTRIBUTE_PARENT_NUMBER, 3);
    stream_put_extended(writer, 0, 0, 8, BASE + 5, BASE + 60, &own);
    stream_put_plain(writer, 1, 16, 8, BASE + 70, BASE + 80);

    static const struct {
        uint64_t number, parent;
        uint32_t stream;
    } expected[] = {
        {11, 10, STREAM}, {12, STREAM_NO_PARENT, STREAM}, {10, STREAM_NO_PARENT, STREAM}, {10, 3, 8}, {14, 13, STREAM}};
    struct stream_decoder decoder = decoder_of(sample->data, sample->used);
    for (unsigned i = 0; i < 5; i++) {
        struct stream_event event = next(&decoder);
        assert_int_equal(event.number, expected[i].number);
        assert_int_equal(event.stream, expected[i].stream);
        assert_true(event.parent_number == expected[i].parent);
        assert_int_equal(event.parent_stream, STREAM);
    }
    free(sample);
}

// The short forms of calls with children; they are read like all others.
static void test_ends(void **state) {
    (void)state;
    enum { TURNS = 40, STRIDE = 8 };
    struct sample *sample = sample_new();
    struct stream_writer *writer = &sample->writer;
    stream_put_slot(writer, 0, 1, CALL_MPI_File_write_at, 1, 0, 0, 0);
    stream_put_slot(writer, 1, 2, CALL_pwrite, 1, 0, 0, 0);
    for (uint64_t i = 0; i < TURNS; i++) {
        uint64_t now = BASE + 100000 * i, offset = i % 10 == 9 ? i << 40 : i * STRIDE;
        bool has_view = i % 3 == 0;
        assert_int_equal(stream_put_next(writer), FIRST_NUMBER + 2 * i);
        stream_put_plain(writer, 1, offset, STRIDE, now + 20, now + 30 + (i << i % 20));
        stream_put_end(writer, 0, offset, now + 10, now + 90000, has_view ? ATTRIBUTE_VIEW_OFFSET : ATTRIBUTE_LIMIT,
                       i << 50, EVENT_ENDS_BEGUN);
    }
    uint32_t used = sample->used;
    stream_put_tick(writer, 300);
    assert_int_equal(stream_put_begin(writer), FIRST_NUMBER + 2 * TURNS);
    stream_put_reopen(writer, 4);
    assert_int_equal(sample->used, used); // readers do not see these yet
    stream_put_plain(writer, 1, 0, STRIDE, writer->clock, writer->clock);

    struct stream_decoder decoder = decoder_of(sample->data, sample->used);
    for (uint64_t i = 0; i < TURNS; i++) {
        uint64_t now = BASE + 100000 * i, offset = i % 10 == 9 ? i << 40 : i * STRIDE;
        struct stream_event event = next(&decoder);
        assert_true(event.call == CALL_pwrite && event.offset == offset && event.start == now + 20);
        assert_true(event.duration == 10 + (i << i % 20) && event.tick == 4 + i);
        assert_true(event.number == FIRST_NUMBER + 2 * i + 1 && event.parent_number == FIRST_NUMBER + 2 * i);
        event = next(&decoder);
        assert_true(event.call == CALL_MPI_File_write_at && event.offset == offset && event.start == now + 10);
        assert_true(event.duration == 89990 && event.tick == 4 + i && event.result == 0 && event.error == 0);
        assert_true(event.number == FIRST_NUMBER + 2 * i && event.parent_number == STREAM_NO_PARENT);
        assert_int_equal(event.attribute_mask, i % 3 ? 0 : 1u << ATTRIBUTE_VIEW_OFFSET);
        if (event.attribute_mask) assert_true(event.attribute[ATTRIBUTE_VIEW_OFFSET] == i << 50);
    }
    struct stream_event event = next(&decoder);
    assert_true(event.parent_number == 4 && event.tick == 3 + TURNS + 300);
    free(sample);
}

static void test_communication(void **state) {
    (void)state;
    struct sample *sample = sample_new();
    struct stream_writer *writer = &sample->writer;
    stream_put_slot(writer, 0, 1, CALL_write, 1, 0, 0, 0);
    stream_put_control(writer, KIND_COMM, (uint64_t[]){2, 1, 2, 0, 70}, 5);
    stream_put_control(writer, KIND_COMM, (uint64_t[]){3, 3, 1, 0, 5, 2, 800, 9}, 8);
    stream_put_plain(writer, 0, 0, 8, BASE + 100, BASE + 120);
    stream_put_plain(writer, 0, 8, 8, BASE + 130, BASE + 140);
    stream_put_control(writer, KIND_COMM, (uint64_t[]){1, 4, 1, 0, 6}, 5);
    stream_put_begin(writer);
    stream_put_plain(writer, 0, 16, 8, BASE + 150, BASE + 160);
    stream_put_control(writer, KIND_COMM, (uint64_t[]){1, 4, 1, 0, 7}, 5);

    struct stream_decoder decoder = decoder_of(sample->data, sample->used);
    struct stream_event event = next(&decoder);
    assert_true(event.comm_number == STREAM_NO_PARENT);
    assert_int_equal(event.tick, 8);
    assert_int_equal(event.comm_mask, 3);
    assert_true(event.comm[COMM_SYNCHRONISING].count == 3 && event.comm[COMM_SYNCHRONISING].units == 75);
    assert_true(event.comm[COMM_MOVING].bytes == 800 && event.comm[COMM_MOVING].units == 9);
    event = next(&decoder);
    assert_true(event.tick == 8 && event.comm_mask == 0);
    event = next(&decoder);
    assert_true(event.comm_mask == 4 && event.comm[COMM_COMPLETING].units == 6);
    assert_int_equal(event.comm_number, FIRST_NUMBER + 2);
    assert_int_equal(stream_decode(&decoder, &event), 0);
    assert_true(decoder.comm_mask == 4 && decoder.comm[COMM_COMPLETING].units == 7 && decoder.tick == 10);
    free(sample);
}

static void put_partner(struct stream_writer *writer, uint64_t comm, enum partner_role role, uint64_t peer,
                        uint64_t count) {
    stream_put_control(writer, KIND_COMM, (uint64_t[]){1, 1, 1, 0, 5}, 5);
    stream_put_control(writer, KIND_PARTNERS, (uint64_t[]){1, comm << 3 | role, peer, count}, 4);
}

// Partners add up until the next event; those that do not fit become one entry.
static void test_partners(void **state) {
    (void)state;
    struct sample *sample = sample_new();
    struct stream_writer *writer = &sample->writer;
    stream_put_slot(writer, 0, 1, CALL_write, 1, 0, 0, 0);
    put_partner(writer, 3, PARTNER_SEND, 7, 2);
    put_partner(writer, 1, PARTNER_ALL, 0, 1);
    put_partner(writer, 3, PARTNER_SEND, 7, 5);
    put_partner(writer, 3, PARTNER_RECEIVE, 7, 5);
    stream_put_plain(writer, 0, 0, 8, BASE + 100, BASE + 120);
    for (unsigned i = 0; i < 100; i++) put_partner(writer, 1, PARTNER_SEND, i, 1);
    stream_put_plain(writer, 0, 0, 8, BASE + 130, BASE + 140);

    struct stream_decoder decoder = decoder_of(sample->data, sample->used);
    struct stream_event event = next(&decoder);
    const struct stream_partner *partner = event.partners;
    assert_int_equal(event.partner_count, 3);
    assert_true(partner[0].comm == 3 && partner[0].role == PARTNER_SEND && partner[0].peer == 7);
    assert_int_equal(partner[0].count, 7);
    assert_true(partner[1].comm == 1 && partner[1].role == PARTNER_ALL && partner[1].count == 1);
    assert_true(partner[2].role == PARTNER_RECEIVE && partner[2].count == 5);
    event = next(&decoder);
    assert_int_equal(event.partner_count, STREAM_MAX_PARTNERS);
    assert_true(event.partners[62].peer == 62 && event.partners[62].count == 1);
    assert_true(event.partners[63].role == PARTNER_MORE && event.partners[63].count == 37);
    free(sample);
}

static int decode_bytes(const char *bytes, size_t len) {
    struct stream_decoder decoder = decoder_of((const uint8_t *)bytes, len);
    struct stream_event event;
    int more;
    while ((more = stream_decode(&decoder, &event)) > 0) {
    }
    return more;
}

#define COMM "\x03\x06\x01\x01\x01\x00\x05" // one call that synchronises

static void test_refused(void **state) {
    (void)state;
    assert_int_equal(decode_bytes("", 0), 0);
    assert_int_equal(decode_bytes("\x00\x01\x01", 3), ERR_FORMAT);         // a run in a slot that is not defined
    assert_int_equal(decode_bytes("\x03\x00\x00\x01\x01", 5), ERR_FORMAT); // an event there
    assert_int_equal(decode_bytes("\x03\x09", 2), ERR_FORMAT);             // a kind that is not known
    assert_int_equal(decode_bytes("\x03\x08\x00", 3), ERR_FORMAT);         // partners without communication
    assert_int_equal(decode_bytes(COMM "\x03\x08\x01\x08\x00\x01", 13), 0);
    assert_int_equal(decode_bytes(COMM "\x03\x08\x01\x0e\x00\x01", 13), ERR_FORMAT); // a role that is not known
    assert_int_equal(decode_bytes(COMM "\x03\x08\x02\x08\x00\x01", 13), ERR_FORMAT); // a partner is cut off
    assert_int_equal(decode_bytes(COMM "\x03\x08\x41", 10), ERR_FORMAT);             // too many partners
    assert_int_equal(decode_bytes("\x03\x06\x01\x08", 4), ERR_FORMAT);               // a kind of communication neither
    assert_int_equal(decode_bytes("\x03\x06\x01\x01\x01", 5), ERR_FORMAT);           // communication, cut off
    assert_int_equal(decode_bytes("\x03\x07", 2), ERR_FORMAT);                       // leaves nothing
    assert_int_equal(decode_bytes("\x03", 1), ERR_FORMAT);                           // cut off
    assert_int_equal(decode_bytes("\x03\x01\x01\x01\x01\x04", 6), ERR_FORMAT);       // a flag that is not known
    assert_int_equal(decode_bytes("\x03\x01\x01\x01\x01\x00\x03\x00\x20\x00\x00", 11), ERR_FORMAT); // ends nothing
    char deep[2 * (STREAM_MAX_DEPTH + 1)];
    for (unsigned i = 0; i < sizeof deep; i += 2) deep[i] = 3, deep[i + 1] = KIND_BEGIN;
    assert_int_equal(decode_bytes(deep, sizeof deep - 2), 0);
    assert_int_equal(decode_bytes(deep, sizeof deep), ERR_FORMAT);
}

// Every prefix and every changed bit of a stream: no crash, and it ends.
static void test_damage(void **state) {
    (void)state;
    struct sample *sample = sample_new();
    struct stream_put_extra extra = {.flags = EVENT_ERROR | EVENT_RESULT, .error = 5, .result = 7};
    stream_put_attribute(&extra, ATTRIBUTE_FILE2, 1 << 20);
    stream_put_slot(&sample->writer, 0, 1, CALL_pwrite, 1000, 2000, SLOT_CALLSITE, 3000);
    for (unsigned i = 0; i < 8; i++) {
        stream_put_plain(&sample->writer, 0, i * i * 1000, 100 * (i / 2), BASE + 1000 * i + 1000,
                         BASE + 1000 * i + 1500);
        stream_put_begin(&sample->writer);
        stream_put_extended(&sample->writer, 0, i, 1, BASE, BASE + 1000 * i + 1600, &extra);
    }
    for (size_t i = 0; i < sample->used; i++) {
        uint8_t *exact = malloc(i + 1); // so that a read past the end is seen
        memcpy(exact, sample->data, i);
        decode_bytes((char *)exact, i);
        free(exact);
        for (unsigned bit = 0; bit < 8; bit++) {
            sample->data[i] ^= (uint8_t)(1 << bit);
            decode_bytes((char *)sample->data, sample->used);
            sample->data[i] ^= (uint8_t)(1 << bit);
        }
    }
    free(sample);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run),      cmocka_unit_test(test_random),    cmocka_unit_test(test_errors_and_attributes),
        cmocka_unit_test(test_nesting),  cmocka_unit_test(test_left_open), cmocka_unit_test(test_communication),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_damage),    cmocka_unit_test(test_ends),
        cmocka_unit_test(test_partners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
