#include "whatif/published.h"

// The last iteration may have less than a buffer: the number of iterations is no integer in the thesis either.
double published_iterations(const struct published *p) { return p->message > 0 ? p->bytes / p->message : 0; }

double published_communication(const struct published *p) {
    return published_iterations(p) * (p->start + p->per_byte * p->message * p->tau) / p->at_once;
}

double published_collective_io(const struct published *p) { return p->bytes * p->tau / p->sequential; }

double published_collective(const struct published *p) {
    return published_communication(p) + published_collective_io(p) + p->other;
}

double published_individual(const struct published *p) { return p->bytes / p->random + p->other; }
