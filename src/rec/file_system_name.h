// ROMIO and PnetCDF accept the kind of file system before a path, in letters of either case: "ufs:/tmp/x". Other names
// may have colons, too: "wrfout_d01_2000-01-24_12:00:00".
#pragma once

#include <string.h>
#include <strings.h>

static inline const char *without_file_system(const char *name) {
    static const char *const kinds[] = {"ufs:", "nfs:",  "lustre:", "gpfs:",   "panfs:",   "pvfs2:",  "pvfs:",
                                        "xfs:", "daos:", "ime:",    "testfs:", "gridftp:", "ntfs:",   "bglockless:",
                                        "bgl:", "pfs:",  "sfs:",    "hfs:",    "piofs:",   "zoidfs:", "quobyte:"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t len = strlen(kinds[i]);
        if (strncasecmp(name, kinds[i], len) == 0) return name + len;
    }
    return name;
}
