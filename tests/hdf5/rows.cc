// Writes the rows of a dataset with HDF5's C++ interface, one by one, and reads all of it.
#include <H5Cpp.h>
#include <iostream>
#include <numeric>
#include <vector>

int main(int, char **argv) {
    const hsize_t dims[2] = {6, 8}, count[2] = {1, 8};
    std::vector<double> row(8), all(48);
    H5::H5File file(argv[1], H5F_ACC_TRUNC);
    H5::DataSpace space(2, dims), memory(2, count);
    H5::DataSet data = file.createDataSet("data", H5::PredType::NATIVE_DOUBLE, space);
    for (hsize_t i = 0; i < 6; i++) {
        const hsize_t start[2] = {i, 0};
        std::fill(row.begin(), row.end(), double(i));
        space.selectHyperslab(H5S_SELECT_SET, count, start);
        data.write(row.data(), H5::PredType::NATIVE_DOUBLE, memory, space);
    }
    data.read(all.data(), H5::PredType::NATIVE_DOUBLE);
    std::cout << std::accumulate(all.begin(), all.end(), 0.0) << std::endl;
}
