# The tools of HDF5 on a file that has everything.
/usr/bin/python3 "$(dirname "$0")/hdf5_input.py"
h5repack -f GZIP=6 -l CHUNK=20x20 in.h5 packed.h5
h5repack -f NONE -l CONTI in.h5 plain.h5
h5repack -L in.h5 latest.h5
for name in contiguous chunked packed strings records a link; do h5copy -i in.h5 -o copy.h5 -s /$name -d /$name; done
h5diff in.h5 packed.h5
h5dump -d /grows -d /strings -d /records in.h5 > text
h5dump -b LE -d /contiguous -o raw in.h5
