// mpi-calls COUNT FILE: one process makes each of the calls below COUNT times, each kind in a function of its own.
// test_mpi_instructions.py asks callgrind what the functions cost, with and without the recorder.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 8, STRIDE_BYTES = 4096 };

static MPI_File file;
static char buffer[BYTES];

#define PATTERN(name) __attribute__((noinline)) static void call_##name(int count)

PATTERN(barrier) {
    for (int i = 0; i < count; i++) MPI_Barrier(MPI_COMM_SELF);
}

PATTERN(bcast) {
    for (int i = 0; i < count; i++) MPI_Bcast(&(int){i}, 1, MPI_INT, 0, MPI_COMM_SELF);
}

PATTERN(allreduce) {
    double sum;
    for (int i = 0; i < count; i++) MPI_Allreduce(&(double){i}, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

PATTERN(send) {
    for (int i = 0; i < count; i++) MPI_Send(&i, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF);
}

PATTERN(recv) {
    int got;
    for (int i = 0; i < count; i++) {
        MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
}

PATTERN(isend_wait) {
    MPI_Request request;
    for (int i = 0; i < count; i++) {
        MPI_Isend(&i, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

PATTERN(irecv_waitall) {
    MPI_Status status;
    MPI_Request request;
    int got;
    for (int i = 0; i < count; i++) {
        MPI_Irecv(&got, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
        MPI_Waitall(1, &request, &status);
    }
}

// Types take turns, as in programs that send numbers of one kind and sum up those of another.
PATTERN(two_types) {
    double sum;
    for (int i = 0; i < count; i++) {
        MPI_Bcast(&(int){i}, 1, MPI_INT, 0, MPI_COMM_SELF);
        MPI_Allreduce(&(double){i}, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    }
}

PATTERN(write_at) {
    for (int i = 0; i < count; i++) {
        MPI_File_write_at(file, (MPI_Offset)i * BYTES, buffer, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    }
}

PATTERN(write_strided) {
    MPI_Status status;
    for (int i = 0; i < count; i++) {
        MPI_File_write_at(file, (MPI_Offset)i * STRIDE_BYTES, buffer, BYTES, MPI_BYTE, &status);
    }
}

PATTERN(write_backwards) {
    for (int i = 0; i < count; i++) {
        MPI_Offset offset = (MPI_Offset)(count - i) * (i % 7 + 1) * BYTES;
        MPI_File_write_at(file, offset, buffer, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    }
}

PATTERN(read_at) {
    MPI_Status status;
    for (int i = 0; i < count; i++) {
        MPI_File_read_at(file, (MPI_Offset)i * BYTES, buffer, BYTES, MPI_BYTE, &status);
    }
}

PATTERN(write) {
    for (int i = 0; i < count; i++) MPI_File_write(file, buffer, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
}

PATTERN(read) {
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    for (int i = 0; i < count; i++) MPI_File_read(file, buffer, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
}

PATTERN(write_at_all) {
    for (int i = 0; i < count; i++) {
        MPI_File_write_at_all(file, (MPI_Offset)i * BYTES, buffer, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    }
}

PATTERN(read_all) {
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    for (int i = 0; i < count; i++) MPI_File_read_all(file, buffer, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
}

PATTERN(barrier_write) {
    for (int i = 0; i < count; i++) {
        MPI_Barrier(MPI_COMM_SELF);
        MPI_File_write_at(file, (MPI_Offset)i * BYTES, buffer, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    }
}

// Through a view that begins further on.
PATTERN(view_write) {
    MPI_File_set_view(file, STRIDE_BYTES, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    for (int i = 0; i < count; i++) {
        MPI_File_write_at(file, (MPI_Offset)i * BYTES, buffer, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    int count = argc == 3 ? atoi(argv[1]) : 0;
    if (count <= 0) {
        fputs("usage: mpi-calls COUNT FILE\n", stderr);
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_File_open(MPI_COMM_SELF, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    call_barrier(count);
    call_bcast(count);
    call_allreduce(count);
    call_send(count);
    call_recv(count);
    call_isend_wait(count);
    call_irecv_waitall(count);
    call_two_types(count);
    call_write_at(count);
    call_write_strided(count);
    call_write_backwards(count);
    call_read_at(count);
    call_write(count);
    call_read(count);
    call_write_at_all(count);
    call_read_all(count);
    call_barrier_write(count);
    call_view_write(count);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
