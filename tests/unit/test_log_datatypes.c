// Datatypes and hints from the spill files of two processes into one log, and read from it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "log/iter.h"
#include "pack/private.h"
#include "test_log_maker.h"
#include "test_pack_image.h"

// Four times 8 bytes, 32 apart, from byte 16 on: the example of doc/format.md.
static const uint8_t vector_form[] = {0x09, 0x20, 0x40, 0x01, 0x10, 0x00};
static const uint8_t double_form[] = {0x10, 0x00};

static void put_datatype(struct fields_out *out, uint32_t number, const char *name, const uint8_t *form, size_t len,
                         uint64_t bytes, int64_t extent) {
    fields_begin(out, RECORD_DATATYPE);
    fields_number(out, DATATYPE_ID, number);
    fields_number(out, DATATYPE_BYTES, bytes);
    fields_signed(out, DATATYPE_LOWER_BOUND, 0);
    fields_signed(out, DATATYPE_EXTENT, extent);
    if (name) fields_string(out, DATATYPE_NAME, name);
    fields_number(out, DATATYPE_COMBINER, name ? DATATYPE_NAMED : DATATYPE_VECTOR);
    fields_bytes(out, DATATYPE_FORM, form, len);
    fields_end(out);
}

static void put_hints(struct fields_out *out, uint32_t number, const char *value) {
    char hint[64] = "cb_nodes";
    size_t len = strlen(hint) + 1;
    strcpy(hint + len, value);
    len += strlen(value);
    fields_begin(out, RECORD_HINTS);
    fields_number(out, HINTS_ID, number);
    fields_bytes(out, HINTS_ASKED, hint, len);
    fields_bytes(out, HINTS_IN_FORCE, hint, len);
    fields_bytes(out, HINTS_IN_FORCE, "empty", 6);
    fields_end(out);
}

// --- the packer's table

static int add(struct intern *table, uint32_t number, const char *value, uint32_t *global) {
    uint8_t buffer[128];
    struct fields_out out = {.at = buffer, .end = buffer + sizeof buffer};
    fields_begin(&out, RECORD_HINTS);
    if (number) fields_number(&out, HINTS_ID, number);
    if (value) fields_string(&out, HINTS_ASKED, value);
    fields_end(&out);
    struct fields_in in = {.at = buffer, .end = out.at}, body;
    unsigned kind;
    uint32_t local;
    assert_int_equal(fields_next_record(&in, &kind, &body), 1);
    int code = pack_add_unique(table, body, &local, global);
    if (code == 0) assert_int_equal(local, number);
    return code;
}

static void equal_descriptions_are_one(void **state) {
    (void)state;
    struct intern table = {0};
    uint32_t global;
    char value[32];
    assert_int_equal(add(&table, 1, NULL, &global), ERR_FORMAT);
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(value, sizeof value, "value %u", (unsigned)i % 300);
        assert_int_equal(add(&table, i + 1, value, &global), 0);
        assert_int_equal(global, i % 300 + 1);
    }
    size_t bytes = table.bytes.len;
    assert_int_equal(add(&table, 0, "value 1", &global), ERR_FORMAT);
    assert_int_equal(add(&table, 7, "value 1", &global), 0);
    assert_true(table.count == 300 && table.bytes.len == bytes);
    intern_free(&table);
}

// --- from spill files to the log

static void two_processes(char *log_path) {
    char directory[] = "/tmp/ioseer-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(directory));
    for (uint32_t process = 1; process <= 2; process++) {
        struct image image = image_new();
        image_header(&image)->pid += process;
        struct spill_chunk *chunk = image_chunk(&image, CHUNK_RECORDS);
        struct fields_out out = image_fields(chunk);
        // The second process met them in another order, and has one of its own and a damaged one.
        put_datatype(&out, process == 1 ? 1 : 2, "MPI_DOUBLE", double_form, sizeof double_form, 8, 8);
        put_datatype(&out, process == 1 ? 2 : 1, NULL, vector_form, sizeof vector_form, 32, 128);
        put_hints(&out, process, "4");
        if (process == 2) {
            put_datatype(&out, 3, NULL, vector_form, sizeof vector_form, 32, 256);
            put_datatype(&out, 4, NULL, vector_form, sizeof vector_form - 1, 32, 128);
            put_hints(&out, 3, "5");
        }
        chunk->used = (uint32_t)(out.at - image_payload(chunk));
        snprintf(path, sizeof path, "%s/%u.spill", directory, (unsigned)process);
        FILE *file = fopen(path, "w");
        assert_int_equal(fwrite(image.data, 1, image.len, file), image.len);
        fclose(file);
        free(image.data);
    }
    struct pack_result result;
    assert_int_equal(pack_directory(NULL, directory, log_path, NULL, &result), 0);
    assert_true(result.damaged_bytes > 0);
    pack_remove_directory(directory);
}

static void processes_share_descriptions(void **state) {
    (void)state;
    char path[64];
    struct log *log;
    snprintf(path, sizeof path, "/tmp/ioseer-test-%d.log", (int)getpid());
    two_processes(path);
    assert_int_equal(log_open(&log, path), 0);
    unlink(path);
    assert_int_equal(log_health(log)->records_damaged, 0);
    assert_int_equal(log_datatype_count(log), 3);
    assert_int_equal(log_hints_count(log), 2);
    const struct log_process *one = log_process_at(log, 0), *two = log_process_at(log, 1);
    assert_ptr_equal(log_process_datatype(log, one, 1), log_process_datatype(log, two, 2));
    assert_ptr_equal(log_process_datatype(log, one, 2), log_process_datatype(log, two, 1));
    assert_string_equal(log_process_datatype(log, one, 1)->name, "MPI_DOUBLE");
    assert_int_equal(log_process_datatype(log, two, 3)->extent, 256);
    assert_null(log_process_datatype(log, one, 3));
    assert_null(log_process_datatype(log, two, 4));
    assert_null(log_process_datatype(log, one, 0));
    assert_null(log_process_datatype(log, one, (UINT64_C(1) << 32) + 1));
    const struct log_hints *hints = log_process_hints(log, one, 1);
    assert_ptr_equal(hints, log_process_hints(log, two, 2));
    assert_true(hints->asked.count == 1 && hints->in_force.count == 2);
    assert_string_equal(hints->asked.hint[0].name, "cb_nodes");
    assert_string_equal(hints->asked.hint[0].value, "4");
    assert_string_equal(hints->in_force.hint[1].name, "empty");
    assert_string_equal(hints->in_force.hint[1].value, "");
    log_close(log);
}

// --- out of the log

static void put_view_event(struct log_maker *maker) {
    struct stream_put_extra view = {0}, transfer = {0};
    struct stream_writer *writer = maker_begin(maker, 1, 0, 1000);
    stream_put_slot(writer, 0, 1, CALL_MPI_File_set_view, 1, 1, 0, 0);
    stream_put_slot(writer, 1, 1, CALL_MPI_File_write_at, 1, 1, 0, 0);
    stream_put_attribute(&view, ATTRIBUTE_ETYPE, 1);
    stream_put_attribute(&view, ATTRIBUTE_FILETYPE, 2);
    stream_put_attribute(&view, ATTRIBUTE_HINTS_ID, 1);
    stream_put_extended(writer, 0, 1000, 0, 1010, 1020, &view);
    stream_put_attribute(&transfer, ATTRIBUTE_DATATYPE, 2);
    stream_put_extended(writer, 1, 1016, 32, 1030, 1040, &transfer);
    stream_put_plain(writer, 1, 1048, 32, 1050, 1060);
    maker_end(maker, 3, true, 1010, 1060);
}

static struct log *open_sample(void) {
    struct log_maker *maker = maker_new();
    maker_process(maker, 1, 11, 1);
    maker_file(maker, 1, "/data/a", 1);
    maker_stream(maker, 1, 1, 1);
    struct fields_out out = maker->records;
    put_datatype(&out, 7, "MPI_DOUBLE", double_form, sizeof double_form, 8, 8);
    put_datatype(&out, 9, NULL, vector_form, sizeof vector_form, 32, 128);
    put_datatype(&out, 10, NULL, vector_form, sizeof vector_form, 33, 128); // another size than the form's
    put_datatype(&out, 11, NULL, vector_form, sizeof vector_form - 1, 32, 128);
    put_hints(&out, 3, "4");
    fields_begin(&out, RECORD_HINTS);
    fields_number(&out, HINTS_ID, 4);
    fields_bytes(&out, HINTS_ASKED, "no value", 8);
    fields_end(&out);
    maker->records = out;
    for (uint64_t local = 1; local <= 4; local++) {
        static const uint64_t number[] = {0, 7, 9, 10, 11};
        maker_numbers(maker, RECORD_PROCESS_DATATYPE, LINK_PROCESS, (uint64_t)1, LINK_LOCAL, local, LINK_GLOBAL,
                      number[local], 0);
    }
    maker_numbers(maker, RECORD_PROCESS_HINTS, LINK_PROCESS, (uint64_t)1, LINK_LOCAL, (uint64_t)1, LINK_GLOBAL,
                  (uint64_t)3, 0);
    maker_flush_records(maker);
    put_view_event(maker);
    return maker_close(maker);
}

static void events_lead_to_descriptions(void **state) {
    (void)state;
    struct log *log = open_sample();
    struct log_iter *iter;
    const struct log_event *event;
    assert_int_equal(log_health(log)->records_damaged, 3);
    assert_int_equal(log_datatype_count(log), 2);
    assert_int_equal(log_iter_open(&iter, log, NULL), 0);
    assert_int_equal(log_iter_next(iter, &event), 1);
    assert_int_equal(event->etype->id, 7);
    assert_int_equal(event->filetype->id, 9);
    assert_null(event->datatype);
    assert_int_equal(event->hints->id, 3);
    assert_int_equal(log_iter_next(iter, &event), 1);
    assert_true(!event->etype && !event->filetype && !event->hints);
    assert_int_equal(event->datatype->id, 9);
    assert_int_equal(log_iter_next(iter, &event), 1);
    assert_null(event->datatype);
    log_iter_close(iter);
    log_close(log);
}

// From bytes of the view to bytes of the file: 24 of the second instance's 32, then 8 of the third's.
static void views_lead_to_the_file(void **state) {
    (void)state;
    static const struct datatype_piece expected[] = {
        {1000 + 128 + 48, 8}, {1000 + 128 + 80, 8}, {1000 + 128 + 112, 8}, {1000 + 256 + 16, 8}};
    struct log *log = open_sample();
    const struct log_datatype *type = log_process_datatype(log, log_process_at(log, 0), 2);
    struct datatype_tiling tiling;
    struct datatype_map map;
    struct datatype_piece piece;
    assert_int_equal(log_datatype_tiling(log, type, 1000, &tiling), 0);
    assert_int_equal(datatype_map_start(&map, &tiling, 32 + 8, 32), 0);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(datatype_map_next(&map, &piece), 1);
        assert_true(piece.offset == expected[i].offset && piece.bytes == expected[i].bytes);
    }
    assert_int_equal(datatype_map_next(&map, &piece), 0);
    const struct datatype *flat;
    assert_int_equal(log_datatype_flat(log, type, &flat), 0);
    assert_ptr_equal(flat, tiling.type); // made once
    log_close(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_descriptions_are_one),
        cmocka_unit_test(processes_share_descriptions),
        cmocka_unit_test(events_lead_to_descriptions),
        cmocka_unit_test(views_lead_to_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
