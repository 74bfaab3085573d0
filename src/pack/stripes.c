// How the job's files on Lustre are spread over its servers: asked for when the log is made, because the program must
// not wait for it, and with a bound, because the file system may be dead.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text_list.h"
#include "pack/lustre_layout.h"
#include "pack/private.h"
#include "pack/read_attributes.h"

enum { PATIENCE_MS = 1000, LIMIT_MS = 10000, MOST_FILES = 10000 };

// The files of one mount.
struct files_there {
    struct pack *pack;
    struct text_list names;
    uint32_t *number; // of each
    size_t count;
    uint64_t left_out; // after the first MOST_FILES
    struct pack_unread unread;
};

static int list_files(struct files_there *there, uint32_t mount, const char *type) {
    const struct file_table *table = &there->pack->files;
    for (uint32_t file = 1; file <= table->count; file++) {
        if (file_table_mount(table, file, type) != mount) continue;
        if (there->count == MOST_FILES) {
            there->left_out++;
            continue;
        }
        FORWARD(text_list_add(&there->names, "%.*s", (int)intern_len(&table->names, file),
                              (const char *)intern_data(&table->names, file)));
        FORWARD(array_push(there->number, there->count, file));
    }
    return 0;
}

// A file that is gone, or has no layout, is no failure of the file system.
static int take_layout(void *context, size_t file, const uint8_t *value, int len) {
    struct files_there *there = context;
    struct stripe stripes[LUSTRE_LAYOUT_MOST];
    int count = len < 0 ? len : lustre_layout_decode(stripes, value, (size_t)len);
    if (count > 0) return file_table_set_stripes(&there->pack->files, there->number[file], stripes, (size_t)count);
    if (count == -ENOENT || count == -ENODATA || count == 0) return 0;
    there->unread.files++;
    there->unread.why = err_text(count);
    return 0;
}

static int read_there(struct files_there *there) {
    struct attribute_request request = {
        .file = (const char *const *)there->names.text,
        .count = there->count,
        .name = {"lustre.lov", "trusted.lov"},
        .patience_ms = PATIENCE_MS,
        .limit_ms = LIMIT_MS,
    };
    int answers = read_attributes(&request, take_layout, there);
    RETURN_IF(answers == -ENOMEM, answers);
    if (there->left_out) there->unread.why = "too many files";
    if (answers < 0) there->unread.why = err_text(answers);
    if (answers >= 0 && (size_t)answers < there->count) there->unread.why = "the file system did not answer in time";
    there->unread.files += there->left_out + there->count - (size_t)(answers < 0 ? 0 : answers);
    if (!there->unread.files) return 0;
    return array_push(there->pack->unread, there->pack->unread_count, there->unread);
}

int pack_read_stripes(struct pack *pack) {
    int code = 0;
    size_t texts = pack->files.texts.count; // stripes come behind them
    for (uint32_t mount = 1; mount <= texts && code == 0; mount++) {
        struct files_there there = {.pack = pack, .unread.mount = mount};
        code = list_files(&there, mount, "lustre");
        if (code == 0 && there.count) code = read_there(&there);
        text_list_free(&there.names);
        free(there.number);
    }
    return code;
}
