// C++ streams on files.
#include <fstream>
#include <iostream>
#include <string>

int main()
{
    {
        std::ofstream out("numbers");
        for (int i = 0; i < 5000; i++) out << "number " << i << '\n';
    }
    {
        std::ofstream out("numbers", std::ios::app | std::ios::binary);
        std::string block(100000, 'b');
        out.write(block.data(), static_cast<std::streamsize>(block.size()));
    }
    std::ifstream in("numbers");
    std::string line;
    size_t bytes = 0;
    while (std::getline(in, line)) bytes += line.size();
    std::fstream both("numbers", std::ios::in | std::ios::out);
    both.seekp(5000);
    both << "changed";
    std::cout << bytes << '\n';
    return both.good() ? 0 : 1;
}
