// The I/O of a flow solver, after BT-IO of the NAS Parallel Benchmarks: on a square number of processes, each process
// has one cell of every layer of the grid, shifted along a diagonal. Every few time steps the solution is written to
// one file in the order of the grid, with a view of nested strides and collective writes at explicit offsets. Between
// the dumps the processes exchange faces. At the end the file is read back. btio.F90 is the same program in Fortran.
#include "common.h"

#include <stdlib.h>

enum { VALUES = 5 }; // per grid point
enum { NEIGHBOURS = 4 };

struct cell {
    int start[3], size[3]; // z, y, x in grid points
};

struct run {
    struct example example;
    long long grid, steps, interval, exchanges;
    int side; // of the square of processes; also the number of cells per process
    int column, row;
    struct cell *cells;
    long long values; // of this process
    double *solution;
    char *path;
};

static void span(const struct run *run, int part, int axis, struct cell *cell) {
    long long from = part * run->grid / run->side, to = (part + 1) * run->grid / run->side;
    cell->start[axis] = (int)from;
    cell->size[axis] = (int)(to - from);
}

static void divide(struct run *run) {
    run->column = run->example.rank % run->side;
    run->row = run->example.rank / run->side;
    run->cells = example_memory((size_t)run->side * sizeof *run->cells);
    run->values = 0;
    for (int layer = 0; layer < run->side; layer++) {
        struct cell *cell = &run->cells[layer];
        span(run, layer, 0, cell);
        span(run, (run->row + run->side - layer) % run->side, 1, cell);
        span(run, (run->column + layer) % run->side, 2, cell);
        run->values += (long long)VALUES * cell->size[0] * cell->size[1] * cell->size[2];
    }
    run->solution = example_memory((size_t)run->values * sizeof *run->solution);
}

// The expected value depends on its place in the grid and on the dump. Sets the values, or compares them.
static void visit(struct run *run, long long dump, bool compare) {
    double *at = run->solution;
    for (int layer = 0; layer < run->side; layer++) {
        const struct cell *cell = &run->cells[layer];
        for (long long z = cell->start[0]; z < cell->start[0] + cell->size[0]; z++) {
            for (long long y = cell->start[1]; y < cell->start[1] + cell->size[1]; y++) {
                long long first = ((z * run->grid + y) * run->grid + cell->start[2]) * VALUES;
                for (long long i = 0; i < (long long)cell->size[2] * VALUES; i++, at++) {
                    double value = (double)(first + i) + (double)dump / 1024;
                    if (compare && *at != value) run->example.wrong = true;
                    if (!compare) *at = value;
                }
            }
        }
    }
}

// The filetype is one dump of the whole grid with this process's cells in it.
static MPI_Datatype grid_type(const struct run *run) {
    int sizes[4] = {(int)run->grid, (int)run->grid, (int)run->grid, VALUES};
    MPI_Datatype *subarrays = example_memory((size_t)run->side * sizeof *subarrays), type;
    MPI_Aint *displacements = calloc((size_t)run->side, sizeof *displacements);
    int *ones = example_memory((size_t)run->side * sizeof *ones);
    must(displacements != NULL, "memory");
    for (int layer = 0; layer < run->side; layer++) {
        const struct cell *cell = &run->cells[layer];
        int part[4] = {cell->size[0], cell->size[1], cell->size[2], VALUES};
        int start[4] = {cell->start[0], cell->start[1], cell->start[2], 0};
        MUST(MPI_Type_create_subarray(4, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &subarrays[layer]));
        ones[layer] = 1;
    }
    MUST(MPI_Type_create_struct(run->side, ones, displacements, subarrays, &type));
    MUST(MPI_Type_commit(&type));
    for (int layer = 0; layer < run->side; layer++) MUST(MPI_Type_free(&subarrays[layer]));
    free(subarrays);
    free(displacements);
    free(ones);
    return type;
}

static MPI_File open_file(const struct run *run, int mode, MPI_Datatype type) {
    MPI_File file;
    MUST(MPI_File_open(MPI_COMM_WORLD, run->path, mode, MPI_INFO_NULL, &file));
    MUST(MPI_File_set_view(file, 0, MPI_DOUBLE, type, "native", MPI_INFO_NULL));
    return file;
}

// Sends a face to each of the four neighbours in the square and checks the received ones.
static void exchange_faces(struct run *run, long long step) {
    int side = run->side, count = (int)(run->grid * VALUES);
    int peers[NEIGHBOURS] = {
        run->row * side + (run->column + 1) % side, run->row * side + (run->column + side - 1) % side,
        (run->row + 1) % side * side + run->column, (run->row + side - 1) % side * side + run->column};
    double *faces = example_memory(2 * NEIGHBOURS * (size_t)count * sizeof *faces);
    MPI_Request requests[2 * NEIGHBOURS];
    MPI_Status statuses[2 * NEIGHBOURS];
    for (int i = 0; i < NEIGHBOURS * count; i++) faces[i] = (double)(run->example.rank + step);
    for (int i = 0; i < NEIGHBOURS; i++) {
        // What this process sends in one direction, the neighbour receives from the opposite one: 0 and 1, 2 and 3.
        double *in = faces + (NEIGHBOURS + i) * count, *out = faces + i * count;
        MUST(MPI_Irecv(in, count, MPI_DOUBLE, peers[i], i ^ 1, MPI_COMM_WORLD, &requests[i]));
        MUST(MPI_Isend(out, count, MPI_DOUBLE, peers[i], i, MPI_COMM_WORLD, &requests[NEIGHBOURS + i]));
    }
    MUST(MPI_Waitall(2 * NEIGHBOURS, requests, statuses));
    for (int i = 0; i < NEIGHBOURS * count; i++) {
        if (faces[NEIGHBOURS * count + i] != (double)(peers[i / count] + step)) run->example.wrong = true;
    }
    free(faces);
}

static void solve(struct run *run, MPI_Datatype type) {
    MPI_Status status;
    MPI_File file = open_file(run, MPI_MODE_CREATE | MPI_MODE_WRONLY, type);
    for (long long step = 1; step <= run->steps; step++) {
        for (long long i = 0; i < run->exchanges; i++) exchange_faces(run, step);
        if (step % run->interval != 0) continue;
        long long dump = step / run->interval - 1;
        visit(run, dump, false);
        MUST(MPI_File_write_at_all(file, dump * run->values, run->solution, (int)run->values, MPI_DOUBLE, &status));
        must_move(&status, MPI_DOUBLE, run->values, "write_at_all");
    }
    MUST(MPI_File_close(&file));
}

static void verify(struct run *run, MPI_Datatype type) {
    MPI_Status status;
    MPI_File file = open_file(run, MPI_MODE_RDONLY, type);
    for (long long dump = 0; dump < run->steps / run->interval; dump++) {
        MUST(MPI_File_read_at_all(file, dump * run->values, run->solution, (int)run->values, MPI_DOUBLE, &status));
        must_move(&status, MPI_DOUBLE, run->values, "read_at_all");
        visit(run, dump, true);
    }
    MUST(MPI_File_close(&file));
}

int main(int argc, char **argv) {
    struct run run = {.grid = 24, .steps = 40, .interval = 5, .exchanges = 1, .side = 1};
    const struct example_option options[] = {
        {"grid", OPTION_COUNT, &run.grid, "points along an edge of the grid", NULL},
        {"steps", OPTION_COUNT, &run.steps, "time steps", NULL},
        {"interval", OPTION_COUNT, &run.interval, "time steps from one write to the next", NULL},
        {"exchanges", OPTION_COUNT, &run.exchanges, "of faces in a time step", NULL},
        {0}};
    example_start(&run.example, &argc, &argv, "Writes the solution of a flow solver every few steps, then reads it.",
                  options);
    while (run.side * run.side < run.example.ranks) run.side++;
    if (run.side * run.side != run.example.ranks) example_refuse(&run.example, "runs on 1, 4, 9, 16 ... processes");
    if (run.grid < run.side || run.grid > 512 || run.interval < 1) {
        example_refuse(&run.example,
                       "a grid of 512 points or less, one or more for each row of processes, and an interval");
    }
    divide(&run);
    run.path = example_path(&run.example, "btio", -1);
    MPI_Datatype type = grid_type(&run);
    solve(&run, type);
    verify(&run, type);
    MUST(MPI_Type_free(&type));
    free(run.cells);
    free(run.solution);
    free(run.path);
    return example_end(&run.example);
}
