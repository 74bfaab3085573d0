// A program that is not linked to MPI and loads it at run time: `late HOW LIBRARY …`. HOW is a list of the flags local,
// global, deep. Either LIBRARY is MPI itself: `late HOW LIBRARY DIRECTORY` looks its functions up by name and writes as
// jobs.c does. Or LIBRARY is a plugin with its own main function, which gets the remaining arguments.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRITES = 10, BYTES = 100 };

static void *library;

static void *find(const char *name) {
    void *found = dlsym(library, name);
    if (!found) fprintf(stderr, "late: %s\n", dlerror());
    if (!found) exit(1);
    return found;
}

// A function of MPI's: CALL(MPI_Barrier)(comm).
#define CALL(name) ((__typeof__(&name))find(#name))

// What mpi.h calls a handle is a number under MPICH and the address of a variable under Open MPI.
#ifdef OPEN_MPI
#define HANDLE(type, name, variable) ((type)find(#variable))
#else
#define HANDLE(type, name, variable) (name)
#endif

static int work(const char *directory) {
    MPI_Comm world = HANDLE(MPI_Comm, MPI_COMM_WORLD, ompi_mpi_comm_world);
    MPI_Comm self = HANDLE(MPI_Comm, MPI_COMM_SELF, ompi_mpi_comm_self);
    MPI_Info none = HANDLE(MPI_Info, MPI_INFO_NULL, ompi_mpi_info_null);
    MPI_Datatype byte = HANDLE(MPI_Datatype, MPI_BYTE, ompi_mpi_byte);
    char path[4096], data[BYTES] = "late";
    MPI_File file;
    int rank, wrong = 0;
    CALL(MPI_Init)(NULL, NULL);
    CALL(MPI_Comm_rank)(world, &rank);
    snprintf(path, sizeof path, "%s/late.%d.dat", directory, rank);
    wrong |= CALL(MPI_File_open)(self, path, MPI_MODE_CREATE | MPI_MODE_RDWR, none, &file);
    for (int i = 0; i < WRITES + rank && !wrong; i++) {
        wrong |= CALL(MPI_File_write_at)(file, (MPI_Offset)i * BYTES, data, BYTES, byte, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < WRITES + rank && !wrong; i++) {
        wrong |= CALL(PMPI_File_read_at)(file, (MPI_Offset)i * BYTES, data, BYTES, byte, MPI_STATUS_IGNORE);
    }
    if (!wrong) wrong |= CALL(MPI_File_close)(&file);
    CALL(MPI_Barrier)(world);
    CALL(MPI_Finalize)();
    return wrong || strcmp(data, "late") != 0;
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    int flags = RTLD_LAZY;
    if (strstr(argv[1], "global")) flags |= RTLD_GLOBAL;
    if (strstr(argv[1], "deep")) flags |= RTLD_DEEPBIND;
    library = dlopen(argv[2], flags);
    if (!library) fprintf(stderr, "late: %s\n", dlerror());
    if (!library) return 1;
    int (*plugin)(int, char **) = (int (*)(int, char **))dlsym(library, "main");
    return plugin ? plugin(argc - 2, argv + 2) : work(argv[3]);
}
