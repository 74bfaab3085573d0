"""The programs that are watched. Each runs in an empty folder of its own, prepared by a script.

A script is bash. $P is the folder of the programs built beside this file.
"""

from dataclasses import dataclass

PYTHON = "/usr/bin/python3"  # Debian's: its own files lie in system folders


@dataclass
class Case:
    name: str
    script: str
    prepare: str = ""
    needs: tuple = ()            # programs that the case needs; it is skipped without them
    volatile: tuple = ()         # files whose content differs from run to run
    same_output: bool = True     # False: the output contains times
    traced: bool = True          # is compared with strace too
    root: bool = False
    environment: tuple = ()      # (name, value) pairs
    via: frozenset = frozenset()  # how its processes are recorded, if they are followed
    options: tuple = ()          # of `record`


TREE = """
mkdir -p tree/sub/deep tree/empty
for i in 1 2 3 4 5 6 7 8; do seq $i $((i * 400)) > tree/file.$i; seq 1 $((i * 30)) > tree/sub/deep/file.$i; done
ln -s file.1 tree/link
head -c 300000 /dev/zero | tr '\\0' 'z' > tree/sub/large
"""
FIO = "fio --name=job --directory=. --size=64k --bs=4k --thread --randseed=7 --invalidate=0 --fallocate=none "
SQL = "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX i ON t(b);"
FILL = ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n WHERE x<2000) "
        "INSERT INTO t SELECT x, hex(x*7919) FROM n;")
GIT_VOLATILE = ("*.git/index", "*.git/refs/*", "*.git/logs/*")
GIT = "git init -q repo && cd repo && cp -r ../tree . && git add . && git commit -q -m first"

PYTHON_THREADS = """
import os, threading
shared = os.open('shared', os.O_RDWR | os.O_CREAT)
barrier = threading.Barrier(4)
def work(n):
    barrier.wait()
    own = os.open(f'own.{n}', os.O_RDWR | os.O_CREAT)
    for i in range(50):
        os.write(own, bytes([65 + n]) * (10 + n))
        os.pwrite(shared, bytes([65 + n]) * 100, (i * 4 + n) * 100)
        os.pread(shared, 64, (i * 4 + n) * 100)
    os.close(own)
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
with open('text', 'w') as f:
    for i in range(3000): f.write(f'line {i}\\n')
print(sum(len(l) for l in open('text')), os.fstat(shared).st_size)
"""
PYTHON_POSITION = """
import os, threading
fd = os.open('shared', os.O_RDWR | os.O_CREAT)
def work(n):
    for i in range(100): os.write(fd, bytes([65 + n]) * 10)
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(os.fstat(fd).st_size, os.lseek(fd, 0, os.SEEK_CUR))
"""
PYTHON_PROCESSES = """
import multiprocessing, os
def work(n):
    with open(f'part.{n}', 'wb') as f:
        for i in range(20): f.write(os.path.basename(f.name).encode() * 1000)
    return os.path.getsize(f'part.{n}')
if __name__ == '__main__':
    with multiprocessing.Pool(3) as pool:
        print(pool.map(work, range(6), 2))
"""
PYTHON_SUBPROCESS = """
import subprocess, os
with open('in', 'w') as f: f.write('c\\nb\\na\\n' * 500)
with open('in') as i, open('out', 'w') as o:
    print(subprocess.run(['sort'], stdin=i, stdout=o).returncode)
print(subprocess.check_output('wc -l < out', shell=True).decode().strip())
print(subprocess.run(['cat', 'none'], stderr=subprocess.DEVNULL).returncode)
os.rename('out', 'renamed'); os.remove('in')
"""

CDL = """cat > in.cdl <<'END'
netcdf in { dimensions: x = 50; t = unlimited; variables: float v(t, x); double t(t); int m(x); v:units = "m";
data: t = 1, 2, 3; m = 1, 2, 3; }
END
ncgen -k nc4 -o new.nc in.cdl; ncgen -k classic -o old.nc in.cdl
"""

PROGRAMS = [
    Case("c-calls", "$P/oracle-calls"),
    Case("c-streams", "$P/oracle-streams"),
    Case("c-messages", "$P/oracle-streams messages"),
    Case("c-threads", "$P/oracle-threads 8", volatile=("appended",)),
    Case("c-asynchronous", "$P/oracle-asynchronous"),
    Case("c++-streams", "$P/oracle-streams-cc", needs=("$P/oracle-streams-cc",)),
    Case("fortran-records", "$P/oracle-records", needs=("$P/oracle-records",)),
    Case("fio-psync", FIO + "--ioengine=psync --rw=randrw", needs=("fio",), same_output=False, volatile=("*",)),
    Case("fio-psync-direct", FIO + "--ioengine=psync --rw=write --direct=1 --fsync=4", needs=("fio",),
         same_output=False, volatile=("*",)),
    Case("fio-libaio", FIO + "--ioengine=libaio --rw=randwrite --iodepth=4 --iodepth_batch=2", needs=("fio",),
         same_output=False, volatile=("*",)),
    Case("fio-libaio-direct", FIO + "--ioengine=libaio --rw=read --iodepth=4 --direct=1", needs=("fio",),
         same_output=False, volatile=("*",)),
    Case("fio-mmap", FIO + "--ioengine=mmap --rw=randwrite", needs=("fio",), same_output=False, volatile=("*",)),
    Case("fio-processes", FIO.replace("--thread", "") + "--ioengine=sync --rw=write --numjobs=2", needs=("fio",),
         same_output=False, volatile=("*",)),
    Case("sqlite-create", f"sqlite3 db '{SQL} {FILL} SELECT count(*) FROM t; UPDATE t SET b=b||1 WHERE a%3=0;'",
         needs=("sqlite3",)),
    Case("sqlite-vacuum", "sqlite3 db 'DELETE FROM t WHERE a%2=0; VACUUM; PRAGMA integrity_check;'",
         prepare=f"sqlite3 db '{SQL} {FILL}'", needs=("sqlite3",)),
    Case("sqlite-wal", f"sqlite3 db 'PRAGMA journal_mode=WAL; {SQL} BEGIN; {FILL} COMMIT; PRAGMA wal_checkpoint; "
         "SELECT sum(a) FROM t; DELETE FROM t WHERE a>1000;'", needs=("sqlite3",)),
    Case("tar-create", "tar -cf tree.tar tree && tar -czf tree.tar.gz tree && tar -tf tree.tar.gz", prepare=TREE),
    Case("tar-extract", "tar -xf tree.tar", prepare=TREE + "tar --mtime=@1600000000 -cf tree.tar tree; rm -r tree"),
    Case("python-threads", f"exec {PYTHON} threads.py", prepare=f"cat > threads.py <<'END'\n{PYTHON_THREADS}\nEND",
         needs=(PYTHON,)),
    Case("python-position", f"exec {PYTHON} position.py", volatile=("shared",),
         prepare=f"cat > position.py <<'END'\n{PYTHON_POSITION}\nEND", needs=(PYTHON,)),
    Case("python-multiprocessing", f"exec {PYTHON} processes.py",
         prepare=f"cat > processes.py <<'END'\n{PYTHON_PROCESSES}\nEND", needs=(PYTHON,)),
    Case("python-subprocess", f"exec {PYTHON} subprocesses.py",
         prepare=f"cat > subprocesses.py <<'END'\n{PYTHON_SUBPROCESS}\nEND", needs=(PYTHON,)),
    Case("git-commit", GIT, prepare=TREE, needs=("git",), volatile=GIT_VOLATILE),
    Case("git-clone", "git clone -q repo copy && cd copy && git log --oneline | wc -l && git fsck && git status -s",
         prepare=TREE + GIT, needs=("git",), volatile=GIT_VOLATILE),
    Case("git-gc", "cd repo && git gc -q && git fsck && git log --oneline | wc -l", prepare=TREE + GIT,
         needs=("git",), volatile=GIT_VOLATILE),
    Case("h5repack", "h5import text -dims 20,50 -path data -type TEXTFP -size 64 -o in.h5 && "
         "h5repack -f GZIP=4 -l data:CHUNK=5x10 in.h5 out.h5 && h5diff in.h5 out.h5",
         prepare="for i in $(seq 1000); do echo $i.5; done > text", needs=("h5import", "h5repack"),
         volatile=("*.h5",)),
    Case("h5copy", "for o in data none; do h5copy -i in.h5 -o out.h5 -s /$o -d /copy; done; h5dump out.h5",
         prepare="seq 1000 > text; h5import text -dims 20,50 -path data -type TEXTIN -size 32 -o in.h5",
         needs=("h5import", "h5copy"), volatile=("*.h5",)),
    Case("nccopy", "nccopy -d 1 -c t/1,x/25 new.nc a.nc && nccopy -k cdf5 a.nc b.nc && ncdump b.nc && "
         "nccopy -k nc4 old.nc c.nc", prepare=CDL, needs=("ncgen", "nccopy")),
    Case("ncks", "ncks -h -v v,t new.nc a.nc && ncks -h -A -v m old.nc a.nc && ncks -h -3 a.nc b.nc && ncks -H b.nc",
         prepare=CDL, needs=("ncgen", "ncks")),
    Case("ncap2", "ncap2 -h -s 'w=v*2; u=v.avg($t)' new.nc a.nc && ncra -h old.nc old.nc b.nc", prepare=CDL,
         needs=("ncgen", "ncap2")),
    Case("cp", "cp tree/sub/large copy && cp -a tree tree2 && cp --reflink=never --sparse=always copy sparse",
         prepare=TREE),
    Case("rsync", "rsync -a tree/ copy/ && echo more >> tree/file.1 && rsync -a --checksum tree/ copy/",
         prepare=TREE, needs=("rsync",)),
    Case("dd", "dd if=large of=copy bs=7000 conv=fsync status=none && dd if=large of=copy bs=1000 skip=3 seek=200 "
         "count=5 conv=notrunc,fdatasync status=none && dd if=large of=grown oflag=append conv=notrunc bs=5000 "
         "count=3 status=none", prepare="head -c 100000 /dev/zero > large; echo some > grown"),
    Case("sort", "sort -S 64k -T . numbers -o sorted && sort -rn < numbers > reversed && uniq -c sorted | tail -1",
         prepare="seq 1 20000 > numbers"),
    Case("sed-in-place", "sed -i 's/7/seven/' numbers && sed -n 5p numbers", prepare="seq 1 3000 > numbers"),
    Case("grep", "grep -c 77 numbers; grep -r 99 . | wc -l; grep nothing numbers", prepare="seq 1 9000 > numbers"),
    Case("bash-redirections", """
         exec 5> five; echo to five >&5; echo again >&5; exec 5>&-
         for i in 1 2 3; do echo line $i; done > loop; while read -r a b; do echo $b; done < loop >> result
         cat loop result > both 2> errors; cat <<< here > here; exec 6<> both; read -r x <&6; echo $x; echo over >&6
         (cd / && echo sub) > sub; { echo group; ls none; } > group 2>&1; rm here; [ -s sub ] && mv sub moved
         """),
    Case("bash-pipeline", "seq 1 5000 | sort -r | tee copy | tail -n 5 > top; cat copy | wc -l; tail -n 3 copy | "
         "while read -r n; do echo $n > n.$n; done; ls | sort"),
    Case("find", "find tree -type f -name 'file.*' | sort; find tree -name 'file.[12]' -delete; "
         "find tree -type f -exec cat {} + | wc -c; du -a --apparent-size tree/sub/large", prepare=TREE),
]

# Programs that no library can be preloaded into: they are followed.
PTRACE, BOTH = frozenset({"ptrace"}), frozenset({"preload", "ptrace"})
STATIC = ("$P/oracle-calls-static",)
BUSYBOX = ("/bin/busybox",)
HAS_LINKED = ("$P/oracle-calls-linked",)
FOLLOWED = [
    Case("static-calls", "exec $P/oracle-calls-static", needs=STATIC, via=PTRACE, traced=False),
    Case("static-threads", "exec $P/oracle-threads-static 16", needs=STATIC, volatile=("appended",), via=PTRACE,
         traced=False),
    *(Case("static-" + name, f"exec $P/oracle-processes-static {name}", needs=STATIC, via=PTRACE, traced=False)
      for name in ("close-all", "close-range", "chdir", "vfork", "spawn", "fork", "_exit", "many", "chain 3")),
    Case("static-and-dynamic", "$P/oracle-processes-static fork; $P/oracle-processes fork; cat file > copy",
         prepare="echo text > file", needs=STATIC, via=BOTH, traced=False),
    Case("goroutines", "exec $P/oracle-goroutines", needs=("$P/oracle-goroutines",), via=PTRACE, traced=False),
    Case("static-direct", "exec $P/oracle-direct-static", needs=STATIC, via=PTRACE, traced=False),
    # Nobody sees from its file that it makes calls without libc.
    Case("dynamic-direct", "exec $P/oracle-direct", options=("--ptrace",), via=PTRACE, traced=False),
    Case("busybox-shell", "exec busybox sh -c 'seq 1 9000 > in; cat in | sort -n | busybox head -n 5000 > out; cp in in2;"
         " mv in2 in3; rm in; exit 7'", needs=BUSYBOX, via=BOTH, traced=False),
    Case("busybox-tar", "exec busybox tar cf tree.tar tree", prepare=TREE, needs=BUSYBOX, via=PTRACE, traced=False),
    Case("busybox-linked", "exec busybox sh -c 'seq 9 > in; $P/oracle-processes-linked fork; cat in > out'", via=frozenset({"ptrace", "link"}),
         needs=(*BUSYBOX, *HAS_LINKED), traced=False),
    Case("script-of-busybox", "exec ./script", needs=BUSYBOX, via=PTRACE, traced=False,
         prepare="printf '#!/bin/busybox sh\\necho a > a; read x < a; echo $x > b\\n' > script; chmod +x script"),
]

# Static programs that are linked with ioseer.
LINK = frozenset({"link"})
LINKED = [
    Case("linked-calls", "exec $P/oracle-calls-linked", needs=HAS_LINKED, via=LINK),
    Case("linked-streams", "exec $P/oracle-streams-linked", needs=HAS_LINKED, via=LINK),
    Case("linked-asynchronous", "exec $P/oracle-asynchronous-linked", needs=HAS_LINKED, via=LINK),
    Case("linked-threads", "exec $P/oracle-threads-linked 16", needs=HAS_LINKED, volatile=("appended",), via=LINK),
    *(Case("linked-" + name, f"ulimit -c 0; exec $P/oracle-processes-linked {name}", needs=HAS_LINKED,
           volatile=("progress", "file") if name == "kill" else ())
      for name in ("close-all", "close-range", "chdir", "vfork", "spawn", "fork", "_exit", "abort", "segv", "kill", "many",
                   "chain 3", "all-fds", "file-limit", "memory-limit", "libc")),
    Case("linked-and-dynamic", "$P/oracle-processes-linked fork; $P/oracle-processes fork; cat file > copy",
         prepare="echo text > file", needs=HAS_LINKED),
]

PROCESS = "$P/oracle-processes "
PROCESSES = [
    Case("close-all", PROCESS + "close-all"),
    Case("close-range", PROCESS + "close-range"),
    Case("chroot", PROCESS + "chroot", root=True, traced=False),
    Case("setuid", PROCESS + "setuid", root=True),
    Case("chdir", PROCESS + "chdir"),
    Case("vfork-exec", PROCESS + "vfork"),
    Case("posix_spawn", PROCESS + "spawn"),
    Case("fork-only", PROCESS + "fork"),
    Case("libc-starts", PROCESS + "libc"),
    Case("_exit", PROCESS + "_exit"),
    Case("abort", "ulimit -c 0; exec " + PROCESS + "abort"),
    Case("segv", "ulimit -c 0; exec " + PROCESS + "segv"),
    Case("killed", "exec " + PROCESS + "kill", volatile=("progress", "file")),
    Case("exec-chain", PROCESS + "chain 5"),
    Case("all-descriptors", PROCESS + "all-fds"),
    Case("ulimit-n", "ulimit -n 16; " + PROCESS + "fork"),
    Case("ulimit-f", PROCESS + "file-limit"),
    Case("ulimit-f-shell", "ulimit -f 4; trap '' XFSZ; " + PROCESS + "fork; seq 1 5000 > out; echo $?"),
    Case("ulimit-v", PROCESS + "memory-limit"),
    Case("ulimit-v-shell", "ulimit -v 100000; " + PROCESS + "fork; seq 1 1000 > numbers; wc -l < numbers"),
    Case("many-processes", PROCESS + "many"),
    Case("many-threads", "$P/oracle-threads 64", volatile=("appended",)),
    Case("own-preload", PROCESS + "fork; cat file", prepare="echo content > file",
         environment=(("LD_PRELOAD", "$P/liboracle-interposer.so"),)),
    Case("own-preload-inside", "LD_PRELOAD=$P/liboracle-interposer.so " + PROCESS + "fork"),
    # Only the recorder's own variables may differ: every exec passes them on.
    Case("empty-environment", "env -i /bin/sh -c 'echo text > file; env | grep -c -v -e ^LD_PRELOAD= -e ^IOSEER_; "
         "exec \"$0\" put more' $P/oracle-processes"),
    Case("environment-shown", "env | grep -v -e '^_=' -e ^LD_PRELOAD= -e ^IOSEER_ | sort > list"),
    Case("dash", "sh -c 'echo a > a; cat a a > b; cat < b | (read x; echo $x > c); (echo d; exit 3) > d; echo $?'"),
]

ALL = PROGRAMS + PROCESSES + LINKED + FOLLOWED
