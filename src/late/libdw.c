#include "late/libdw.h"

LATE_EXPORTED const struct libdw late_functions = {
    LATE_LIBDW(LATE_ADDRESS).callbacks = {.find_elf = dwfl_build_id_find_elf,
                                          .find_debuginfo = dwfl_standard_find_debuginfo,
                                          .section_address = dwfl_offline_section_address}};
