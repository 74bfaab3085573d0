// Words that say nothing about a site: they stay in logs without names. Each has a space on both sides.
#pragma once

// Of file systems, stacks and storage; of libraries; of hints and their values; of NFS and options of mounts; of
// filters of HDF5; of datatypes; of Darshan's descriptions of jobs.
static const char known_words[] =
    " 9p afs autofs beegfs btrfs ceph cifs devtmpfs exfat ext2 ext3 ext4 f2fs fuse fuseblk gfs2 glusterfs GlusterFS "
    "gpfs hugetlbfs iso9660 lustre nfs nfs4 ntfs ocfs2 orangefs overlay panfs proc pvfs2 ramfs s3fs smb3 sshfs sysfs "
    "tmpfs vfat virtiofs wekafs xfs zfs distribute shard disperse none kernel emulated throttled hdd ssd nvme on with "
    "dev Open MPI MPICH MVAPICH MVAPICH2 Intel Intel(R) Library Cray HPE "
    "enable disable enabled disabled automatic true false yes no sequential random "
    "access_style collective_buffering cb_block_size cb_buffer_size cb_config_list cb_nodes direct_read direct_write "
    "ind_rd_buffer_size ind_wr_buffer_size nb_proc num_io_nodes romio_aggregator_list romio_cb_alltoall "
    "romio_cb_ds_threshold romio_cb_fr_alignment romio_cb_fr_type romio_cb_fr_types romio_cb_pfr romio_cb_read "
    "romio_cb_write romio_ds_read romio_ds_write romio_ds_wr_lb romio_filesystem_type romio_lustre_co_ratio "
    "romio_lustre_coll_threshold romio_lustre_ds_in_coll romio_no_indep_rw romio_synchronized_flush "
    "romio_visibility_immediate striping_factor striping_unit start_iodevice shared_fp nc_var_align_size "
    "nc_header_align_size nc_header_read_chunk_size nc_in_place_swap nc_record_align_size UFS NFS LUSTRE ROMIO generic "
    "aar * *:1 ACCESS CLOSE COMMIT CREATE CREATE_SESSION DELEGRETURN DESTROY_SESSION EXCHANGE_ID FSINFO FSSTAT GETACL "
    "GETATTR LAYOUTGET LINK LOCK LOCKU LOOKUP LOOKUP_ROOT MKDIR MKNOD NULL OPEN OPEN_CONFIRM OPEN_DOWNGRADE "
    "OPEN_NOATTR PATHCONF READ READDIR READDIRPLUS READLINK RECLAIM_COMPLETE REMOVE RENAME RMDIR SECINFO_NO_NAME "
    "SEQUENCE SERVER_CAPS SETATTR STATFS SYMLINK TEST_STATEID WRITE "
    "rw ro sync async relatime noatime hard soft rsize wsize vers proto tcp udp rdma timeo retrans nconnect sec sys "
    "krb5 namlen local_lock noac actimeo acregmin acregmax acdirmin acdirmax cto nocto inode64 logbufs logbsize "
    "noquota "
    "discard data ordered writeback stripe barrier nobarrier max_read size flock localflock lazystatfs nouser_xattr "
    "user_xattr errors remount attr2 compress zstd "
    "deflate shuffle fletcher32 szip nbit scaleoffset lzf blosc lz4 bitshuffle "
    "MPI_BYTE MPI_CHAR MPI_SIGNED_CHAR MPI_UNSIGNED_CHAR MPI_SHORT MPI_UNSIGNED_SHORT MPI_INT MPI_UNSIGNED MPI_LONG "
    "MPI_UNSIGNED_LONG MPI_LONG_LONG MPI_LONG_LONG_INT MPI_UNSIGNED_LONG_LONG MPI_FLOAT MPI_DOUBLE MPI_LONG_DOUBLE "
    "MPI_PACKED MPI_INT8_T MPI_INT16_T MPI_INT32_T MPI_INT64_T MPI_UINT8_T MPI_UINT16_T MPI_UINT32_T MPI_UINT64_T "
    "MPI_AINT MPI_COUNT MPI_OFFSET MPI_INTEGER MPI_REAL MPI_DOUBLE_PRECISION MPI_COMPLEX MPI_DOUBLE_COMPLEX "
    "Darshan lib_ver h "
    "MPI_LOGICAL MPI_CHARACTER MPI_INTEGER4 MPI_INTEGER8 MPI_REAL4 MPI_REAL8 MPI_C_BOOL MPI_WCHAR ";

// Extensions that stay at any depth.
static const char known_extensions[] =
    " a bin bp bz2 c cc cdf cfg cgns chk conf cpp csv darshan dat data db exo f f90 gz h h5 hdf hdf5 in ini ioseer jpg "
    "journal json lock log nc nc4 npy npz o old out par parquet part png py pyc raw root sh so sql swp tar tgz tif "
    "tiff "
    "tmp toml txt vtk vtu wal xml xz yaml zip zst ";

// Whole parts of names: those that ioseer itself gives, or that any path may have. Each has a line break on both sides.
static const char known_names[] =
    "\n.\n..\n<STDIN>\n<STDOUT>\n<STDERR>\nheatmap:POSIX\nheatmap:MPIIO\nheatmap:STDIO\n(other files)\n(other "
    "objects)\n(files past the file cap)\n(files without a name)\n(unnamed)\n";
