// A C++ program: writes 10 times, and once more for each rank below it, into a file of its own, DIRECTORY/NAME.RANK.dat.
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <mpi.h>

class Job
{
public:
    Job(int *argc, char ***argv) { MPI_Init(argc, argv); }
    ~Job() { MPI_Finalize(); }
    Job(const Job &) = delete;
    Job &operator=(const Job &) = delete;

    int rank() const
    {
        int rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        return rank;
    }
};

static void write_file(const std::string &path, int writes)
{
    const std::vector<char> data(100, 'c');
    MPI_File file;
    if (MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file)) {
        throw std::runtime_error(path);
    }
    for (int i = 0; i < writes; i++) {
        MPI_File_write_at(file, static_cast<MPI_Offset>(i) * 100, data.data(), 100, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    Job job(&argc, &argv);
    const std::string stem = std::string(argv[1]) + "/" + argv[2] + "." + std::to_string(job.rank());
    try {
        write_file(stem + "/nowhere", 1); // throws: exceptions pass
        return 1;
    } catch (const std::runtime_error &) {
        write_file(stem + ".dat", 10 + job.rank());
    }
    std::ofstream(stem + ".txt") << "plain\n";
    // As example_end does: in one job with another program all ranks take part.
    int here = 0, anywhere = 0;
    MPI_Allreduce(&here, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return anywhere;
}
