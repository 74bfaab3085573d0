// The model of collective and individual I/O of Wei Liu's thesis (2017), equations 4.1 to 4.5, as it is published.
#pragma once

struct published {
    double start;      // T_s, seconds of a message however small
    double per_byte;   // T_w
    double message;    // msg_size: bytes of an iteration, the buffer of an aggregator
    double tau;        // share of the data that ranks exchange
    double bytes;      // of all processes in all iterations
    double at_once;    // iterations that overlap: the thesis divides T_comm by the processes of a node (equation 4.6)
    double sequential; // bdw_seq and bdw_ran: bytes per second, end to end
    double random;
    double other; // T_other
};

double published_iterations(const struct published *p);
double published_communication(const struct published *p); // T_comm, equation 4.2
double published_collective_io(const struct published *p); // T_IO, equation 4.3
double published_collective(const struct published *p);    // T_collective, equation 4.1
double published_individual(const struct published *p);    // T_individual, equations 4.4 and 4.5
