// The table of files, as `ioseer info` has them.
#include "sql/table.h"

enum file_row_column {
    FILE_ROW_NAME,
    FILE_ROW_BYTES_READ,
    FILE_ROW_BYTES_WRITTEN,
    FILE_ROW_OPENS,
    FILE_ROW_RANKS,
    FILE_ROW_PROCESSES,
    FILE_ROW_MAPPED_READ,
    FILE_ROW_MAPPED_DIRTY,
    FILE_ROW_MAPPED_COPIED,
    FILE_ROW_MAPPED_MISSED,
    FILE_ROW_MOUNT,
    FILE_ROW_FILE_SYSTEM,
    FILE_ROW_BLOCK_SIZE,
};

static const struct sql_column columns[] = {
    [FILE_ROW_NAME] = {"name", SQL_TEXT, "absolute; events have it as file", true},
    [FILE_ROW_BYTES_READ] = {"bytes_read", SQL_INTEGER, "bytes", true},
    [FILE_ROW_BYTES_WRITTEN] = {"bytes_written", SQL_INTEGER, "bytes", true},
    [FILE_ROW_OPENS] = {"opens", SQL_INTEGER, "by all processes", true},
    [FILE_ROW_RANKS] = {"ranks", SQL_INTEGER, "ranks that used it; NULL without MPI", true},
    [FILE_ROW_PROCESSES] = {"processes", SQL_INTEGER, "processes that used it", true},
    [FILE_ROW_MAPPED_READ] = {"mapped_read", SQL_INTEGER, "bytes read through mappings, an estimate", true},
    [FILE_ROW_MAPPED_DIRTY] = {"mapped_dirty", SQL_INTEGER, "bytes changed through mappings, an estimate", true},
    [FILE_ROW_MAPPED_COPIED] = {"mapped_copied", SQL_INTEGER, "bytes changed in private mappings, an estimate", true},
    [FILE_ROW_MAPPED_MISSED] = {"mapped_missed", SQL_INTEGER, "bytes of mappings without an estimate", true},
    [FILE_ROW_MOUNT] = {"mount", SQL_TEXT, "mount point of its file system", true},
    [FILE_ROW_FILE_SYSTEM] = {"file_system", SQL_TEXT, "type: ext4, lustre ...", true},
    [FILE_ROW_BLOCK_SIZE] = {"block_size", SQL_INTEGER, "bytes", true},
    {0},
};

static int gather(struct sql_bound *bound, uint64_t set) {
    const struct summary *summary;
    (void)set;
    FORWARD(sql_summary(bound->sql, &summary));
    bound->data = (void *)summary;
    bound->count = summary->file_count;
    return 0;
}

static struct sql_value value_of(const struct summary *summary, const struct summary_file *row,
                                 enum file_row_column column) {
    switch (column) {
    case FILE_ROW_NAME: return sql_text(row->file->name);
    case FILE_ROW_BYTES_READ: return sql_number(row->bytes[DIRECTION_READ]);
    case FILE_ROW_BYTES_WRITTEN: return sql_number(row->bytes[DIRECTION_WRITE]);
    case FILE_ROW_OPENS: return sql_number(row->opens);
    case FILE_ROW_RANKS: return sql_if(summary->rank_count, sql_number(row->ranks));
    case FILE_ROW_PROCESSES: return sql_number(row->processes);
    case FILE_ROW_MAPPED_READ: return sql_number(row->mapped[MAPPED_READ]);
    case FILE_ROW_MAPPED_DIRTY: return sql_number(row->mapped[MAPPED_DIRTY]);
    case FILE_ROW_MAPPED_COPIED: return sql_number(row->mapped[MAPPED_COPIED]);
    case FILE_ROW_MAPPED_MISSED: return sql_number(row->mapped[MAPPED_MISSED]);
    case FILE_ROW_MOUNT: return sql_text(row->file->mount);
    case FILE_ROW_FILE_SYSTEM: return sql_text(row->file->fs_name);
    case FILE_ROW_BLOCK_SIZE: return sql_if(row->file->block_size, sql_number(row->file->block_size));
    }
    return SQL_NULL_VALUE;
}

static void value(const struct sql_bound *bound, size_t row, unsigned column, struct sql_value *out) {
    const struct summary *summary = bound->data;
    *out = value_of(summary, &summary->files[row], (enum file_row_column)column);
}

const struct sql_table sql_table_files = {
    .about = {"files", "each file that was used, the most bytes first", columns},
    .gather = gather,
    .value = value,
};
