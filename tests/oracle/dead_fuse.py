"""dead_fuse.py FOLDER COMMAND...: runs the command while a FUSE file system that never answers is mounted on FOLDER.

To be run in a mount namespace of its own (unshare -m).
"""

import ctypes
import os
import subprocess
import sys

MNT_DETACH = 2


def main(folder, command):
    libc = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    if libc.mount(b"dead", folder.encode(), b"fuse", 0, options.encode()) != 0:
        print(f"dead_fuse: mount: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
        return 1
    try:
        return subprocess.run(command).returncode
    finally:
        libc.umount2(folder.encode(), MNT_DETACH)


if __name__ == "__main__":
    status = main(sys.argv[1], sys.argv[2:])
    sys.exit(128 - status if status < 0 else status)
