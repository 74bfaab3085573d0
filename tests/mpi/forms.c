// Every form of reading and writing in MPI-IO, once each, and the other calls on files. With LARGE_COUNTS the calls are
// those of MPI 4 with large counts. truth.py knows what it does.
//
//   forms.dat    a view of blocks that alternate between the ranks: explicit offsets, then individual pointers
//   shared.dat   no view: the shared pointer. All ranks write the same data, because their order is not fixed
#include "common.h"

#include <stdlib.h>

#ifdef LARGE_COUNTS
#define CALL(name) MPI_File_##name##_c
#else
#define CALL(name) MPI_File_##name
#endif

// MIXED_UP is the exit status if OMPIO of Open MPI 4 has mixed up its own messages. On a busy machine it does so in one
// of ten runs, and then hangs or crashes; setting the atomicity is the first call to fail.
enum { COUNT = 12, BLOCK = 8, DISPLACEMENT = 64, MIXED_UP = 75 };

struct run {
    struct example example;
    MPI_File file;
    int data[COUNT];
    int form;                  // number of the transfer, the same in writing and reading
    int rank;                  // in the data
    bool blocking_collectives; // without nonblocking ones, which Open MPI 4 does not have in all its ways
    bool shared_writes;        // the shared pointer is not used for reading, which one of Open MPI's ways cannot do
};

static int value(const struct run *run, int i) { return run->form * 10000 + run->rank * 100 + i; }

static MPI_Offset next(struct run *run) {
    run->form++;
    for (int i = 0; i < COUNT; i++) run->data[i] = value(run, i);
    return (MPI_Offset)(run->form - 1) * COUNT;
}

static MPI_Offset next_in(struct run *run) {
    MPI_Offset position = next(run);
    for (int i = 0; i < COUNT; i++) run->data[i] = -1;
    return position;
}

static void check(struct run *run) {
    for (int i = 0; i < COUNT; i++) {
        if (run->data[i] != value(run, i)) run->example.wrong = true;
    }
}

static void complete(MPI_Request *request) {
    MPI_Status status;
    MUST(MPI_Wait(request, &status));
    must_move(&status, MPI_INT, COUNT, "wait");
}

static void complete_one_of_two(MPI_Request *request) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, *request};
    MPI_Status status;
    int index;
    MUST(MPI_Waitany(2, requests, &index, &status));
    must(index == 1, "waitany");
}

static void complete_all(MPI_Request *request) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, *request};
    MPI_Status statuses[2];
    MUST(MPI_Waitall(2, requests, statuses));
    must_move(&statuses[1], MPI_INT, COUNT, "waitall");
}

static void complete_some(MPI_Request *request) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, *request};
    MPI_Status statuses[2];
    int count, indices[2];
    MUST(MPI_Waitsome(2, requests, &count, indices, statuses));
    must(count == 1 && indices[0] == 1, "waitsome");
}

static void write_explicit(struct run *run) {
    MPI_Request request;
    MPI_Offset at = next(run);
    MUST(CALL(write_at)(run->file, at, run->data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    at = next(run);
    MUST(CALL(write_at_all)(run->file, at, run->data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    at = next(run);
    MUST(CALL(iwrite_at)(run->file, at, run->data, COUNT, MPI_INT, &request));
    complete(&request);
    if (!run->blocking_collectives) {
        at = next(run);
        MUST(CALL(iwrite_at_all)(run->file, at, run->data, COUNT, MPI_INT, &request));
        complete_one_of_two(&request);
    }
    at = next(run);
    MUST(CALL(write_at_all_begin)(run->file, at, run->data, COUNT, MPI_INT));
    MUST(MPI_File_write_at_all_end(run->file, run->data, MPI_STATUS_IGNORE));
}

static void write_individual(struct run *run) {
    MPI_Request request;
    MUST(MPI_File_seek(run->file, next(run), MPI_SEEK_SET));
    MUST(CALL(write)(run->file, run->data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    next(run);
    MUST(CALL(write_all)(run->file, run->data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    next(run);
    MUST(CALL(iwrite)(run->file, run->data, COUNT, MPI_INT, &request));
    complete_all(&request);
    if (!run->blocking_collectives) {
        next(run);
        MUST(CALL(iwrite_all)(run->file, run->data, COUNT, MPI_INT, &request));
        complete_some(&request);
    }
    next(run);
    MUST(CALL(write_all_begin)(run->file, run->data, COUNT, MPI_INT));
    MUST(MPI_File_write_all_end(run->file, run->data, MPI_STATUS_IGNORE));
}

static void write_shared(struct run *run) {
    MPI_Request request;
    next(run);
    MUST(CALL(write_shared)(run->file, run->data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    next(run);
    MUST(CALL(iwrite_shared)(run->file, run->data, COUNT, MPI_INT, &request));
    complete(&request);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    next(run);
    MUST(CALL(write_ordered)(run->file, run->data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    next(run);
    MUST(CALL(write_ordered_begin)(run->file, run->data, COUNT, MPI_INT));
    MUST(MPI_File_write_ordered_end(run->file, run->data, MPI_STATUS_IGNORE));
}

static void read_explicit(struct run *run) {
    MPI_Request request;
    MPI_Offset at = next_in(run);
    MUST(CALL(read_at)(run->file, at, run->data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    check(run);
    at = next_in(run);
    MUST(CALL(read_at_all)(run->file, at, run->data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    check(run);
    at = next_in(run);
    MUST(CALL(iread_at)(run->file, at, run->data, COUNT, MPI_INT, &request));
    complete(&request);
    check(run);
    if (!run->blocking_collectives) {
        at = next_in(run);
        MUST(CALL(iread_at_all)(run->file, at, run->data, COUNT, MPI_INT, &request));
        complete_one_of_two(&request);
        check(run);
    }
    at = next_in(run);
    MUST(CALL(read_at_all_begin)(run->file, at, run->data, COUNT, MPI_INT));
    MUST(MPI_File_read_at_all_end(run->file, run->data, MPI_STATUS_IGNORE));
    check(run);
}

static void read_individual(struct run *run) {
    MPI_Request request;
    MUST(MPI_File_seek(run->file, next_in(run), MPI_SEEK_SET));
    MUST(CALL(read)(run->file, run->data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    check(run);
    next_in(run);
    MUST(CALL(read_all)(run->file, run->data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    check(run);
    next_in(run);
    MUST(CALL(iread)(run->file, run->data, COUNT, MPI_INT, &request));
    complete_all(&request);
    check(run);
    if (!run->blocking_collectives) {
        next_in(run);
        MUST(CALL(iread_all)(run->file, run->data, COUNT, MPI_INT, &request));
        complete_some(&request);
        check(run);
    }
    next_in(run);
    MUST(CALL(read_all_begin)(run->file, run->data, COUNT, MPI_INT));
    MUST(MPI_File_read_all_end(run->file, run->data, MPI_STATUS_IGNORE));
    check(run);
}

static void read_shared(struct run *run) {
    MPI_Request request;
    next_in(run);
    MUST(CALL(read_shared)(run->file, run->data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    check(run);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    next_in(run);
    MUST(CALL(iread_shared)(run->file, run->data, COUNT, MPI_INT, &request));
    complete(&request);
    check(run);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    next_in(run);
    MUST(CALL(read_ordered)(run->file, run->data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
    check(run);
    next_in(run);
    MUST(CALL(read_ordered_begin)(run->file, run->data, COUNT, MPI_INT));
    MUST(MPI_File_read_ordered_end(run->file, run->data, MPI_STATUS_IGNORE));
    check(run);
}

static void open_file(struct run *run, const char *name) {
    char *path = example_path(&run->example, name, -1);
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &run->file));
    run->form = 0;
    free(path);
}

static void use_view(struct run *run) {
    int all = BLOCK * run->example.ranks, part = BLOCK, start = BLOCK * run->example.rank;
    MPI_Datatype type;
    MUST(MPI_Type_create_subarray(1, &all, &part, &start, MPI_ORDER_C, MPI_INT, &type));
    MUST(MPI_Type_commit(&type));
    MUST(MPI_File_set_view(run->file, DISPLACEMENT, MPI_INT, type, "native", MPI_INFO_NULL));
    MUST(MPI_Type_free(&type));
}

static void use_view_file(struct run *run) {
    run->rank = run->example.rank;
    open_file(run, "forms");
    MUST(MPI_File_set_size(run->file, 4000));
    MUST(MPI_File_preallocate(run->file, 5000));
    use_view(run);
    write_explicit(run);
    write_individual(run);
    MUST(MPI_File_sync(run->file));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_sync(run->file));
    run->form = 0;
    read_explicit(run);
    read_individual(run);
    if (MPI_File_set_atomicity(run->file, 1) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, MIXED_UP);
    MUST(MPI_File_close(&run->file));
}

static void use_shared_file(struct run *run) {
    run->rank = 0;
    open_file(run, "shared");
    write_shared(run);
    MUST(MPI_File_sync(run->file));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (!run->shared_writes) {
        MUST(MPI_File_seek_shared(run->file, 0, MPI_SEEK_SET));
        run->form = 0;
        read_shared(run);
    }
    MUST(MPI_File_close(&run->file));
}

static void delete_file(struct run *run) {
    char *path = example_path(&run->example, "deleted", -1);
    open_file(run, "deleted");
    MUST(MPI_File_close(&run->file));
    if (run->example.rank == 0) MUST(MPI_File_delete(path, MPI_INFO_NULL));
    free(path);
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct example_option options[] = {
        {"blocking-collectives", OPTION_FLAG, &run.blocking_collectives, "without nonblocking ones", NULL},
        {"shared-writes", OPTION_FLAG, &run.shared_writes, "the shared pointer is for writing only", NULL},
        {0},
    };
    example_start(&run.example, &argc, &argv, "Reads and writes in every way.", options);
    use_view_file(&run);
    use_shared_file(&run);
    delete_file(&run);
    return example_end(&run.example);
}
