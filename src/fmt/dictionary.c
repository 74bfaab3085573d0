// What small blocks of records have in common: names of calls, words of launchers and of mounts, and shapes of records
// (columns.h). Blocks with CODEC_SHARED may refer to it as if it came before them, so it never changes; doc/format.md
// has the same bytes.
#include "fmt/dictionary.h"

const char dictionary[DICTIONARY_BYTES] =
    "MPI_File_set_viewMPI_File_get_sizeMPI_File_set_sizeMPI_File_syncMPI_File_read_allMPI_File_write_allMPI_File_"
    "read_at_allMPI_File_write_at_allMPI_File_read_atMPI_File_write_atMPI_File_closeMPI_File_openfsyncfdatasyncft"
    "runcaterenamermdirmkdirunlinkmmapmunmapdup2fcntlfflushfseekfputsfprintffgetsfreadfwritefclosefopenaccessread"
    "linkopendirreaddirclosedirlstatfstatatstatfstatlseekpwritepreadwritereadcloseopenatopenrw,relatime,errors=re"
    "mount-ro\010/dev/sda\016/dev/nvme0n1p1\004gpfs\006lustre\004nfs4\003xfs\005tmpfs\001/ext4\007python3\004bash"
    "\002sh\002-c/usr/lib/x86_64-linux-gnu/libmpi.so/usr/local/bin/usr/bin/python3Open MPI 4.1.4mpiexec.openmpi/u"
    "sr/bin/orterun\016--control-port--rmk\004user\012--launcher\003ssh\007--demux\004poll\006--pgid\0010\011--re"
    "tries\00210\007--usize\002-2\012--pmi-port\0010\017--gpus-per-proc\002-2\012--proxy-id\0010srun/usr/bin/hydr"
    "a_pmi_proxy\013MPICH 4.0.2/usr/bin/mpiexec.hydra\015mpiexec.mpich\002-n"
    // Shapes.
    "\017\023\010\023\003\003\003\003\003\003\003\003\003\003\003\003\003\003\003\003\003\016\007\010\010\010\010"
    "\013\010\013\013\014\010\010H<\010\010\010\012\010\000\020\000\013\003\010\010H\005\003\010\011\011\005\003"
    "\010\010\010\014\003\010\010\010\020\003\010\010\010\021\003\010\010\010\022\007\010\013\010\013\032\007\004"
    "\035\007\010\013\013\013\013\023\004\023\005\020\010\030\013,\004\005\010\013\010\010\010\003\010\010\013"
    "\011\011\011\031\007\003\010\010\013\010\010\010\030\007\023\003\002\010\013\012\010\010\010\010\230\001\260"
    "\003HB\032\012\012\010\010\010\030\230\002\340\001\"\030\210\001\032 \003\010\010\010\012\"\010\017K\007\002"
    "\"\010\011\012PG\013\023\007\003\003\003\003\360\001\274\001h\010\017}\011)\010q\011\234\001\010)\011\011"
    "\010\011\001\000\011\001\0009,\010q\002-\010\011\012PG\013\023\007\003\003\003\003\003\003\003\003\003\003"
    "\003\003\003\003\003\003\003\003\003\003\360\001\335\001\012)\010q\011\234\001\010)\010\011\010H,\010 @\020"
    "\002\036\010\010\012PG\013\023\007\003\003\003\003\003\003\360\001\334\001\010(\010p\010\234\001\010(\012"
    "\010\010\010\000\000\010\000\000\0008,\010p\001\022\010\003\003\003\003\003\003\003\013\023 \030T\030\020"
    "\010\010\030\010\012#\030+\037\013\350\003 \024 \024 \024 \304\003\030\010H\010\012\012\012\010\010\010\010"
    "\010\030\010\012 P\210\001\010\010\010\010\012\037\030+\037\360\003 \024 \024 \026 \304\003\030\010H\010\012"
    "8\030\010\012 P\210\001\010\010\010\010\240\001\010\010";
