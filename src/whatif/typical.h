// Storage and MPI-IO as they typically are: nobody measured them.
#pragma once

#include "target/emulate/speed.h"
#include "target/system/system.h"

struct typical {
    const char *preset; // its name in speed_presets
    const char *where;  // "on a disk"
};
extern const struct typical typical_storage[]; // ends with a row without a preset

// The points of storage with this bandwidth, latency and time to seek, for up to `np` processes at once, without page
// cache. A call costs some time besides. Free the system in any case.
int typical_system(const struct speed_settings *settings, uint32_t np, struct system *system);

// Of ranks that have a processor each. It may be half, or twice as much: so its error says.
struct system_mpiio typical_mpiio(uint32_t np, uint32_t nodes);
