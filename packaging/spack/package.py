# SPDX-License-Identifier: BSD-3-Clause
from spack.package import *


class Ioseer(MesonPackage):
    """Records what programs do to files, tells why their I/O was slow, and predicts how long it takes on other storage."""

    # Until there are releases: spack develop --path TREE ioseer@0.1.0, or a source mirror with a tarball of the tree.
    manual_download = True
    license("BSD-3-Clause AND LGPL-3.0-or-later", checked_by="ioseer")

    version("0.1.0")

    variant("mpi", default=True, description="MPI-IO of programs with MPICH or Open MPI")
    variant("callsites", default=True, description="Source lines of calls (record --callsites)")
    variant("emulate", default=True, description="Storage of a given speed (emulate)")
    variant("view", default=True, description="The server of the viewer (view)")
    variant("sql", default=True, description="Questions in SQL (query, export)")
    variant("postgresql", default=True, description="Catalogues in PostgreSQL (index, jobs)")
    variant("prompt", default=True, when="+sql", description="Editing and history at the prompt of query")
    variant("darshan", default=True, description="Logs of Darshan (import, export)")
    variant("bzip2", default=True, when="+darshan", description="Logs of Darshan that bzip2 compressed (import)")
    variant("otf2", default=False, description="Traces for Vampir and the like (export)")

    depends_on("c", type="build")
    depends_on("meson@1.0.0:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")

    depends_on("zstd")
    depends_on("xxhash")
    depends_on("mpi", when="+mpi")
    depends_on("elfutils", when="+callsites")
    depends_on("libfuse@3.14:", when="+emulate")
    depends_on("libmicrohttpd", when="+view")
    depends_on("sqlite@3.38:", when="+sql")
    depends_on("postgresql@14:", when="+postgresql")
    depends_on("libedit", when="+prompt")
    depends_on("zlib-api", when="+darshan")
    depends_on("bzip2", when="+bzip2")
    depends_on("otf2@3.0:", when="+otf2")

    def meson_args(self):
        return ["-Dtests=false"]

    def setup_run_environment(self, env):
        # Logs of jobs are made by the program that the recorder finds here.
        env.set("IOSEER_PROGRAM", self.prefix.bin.ioseer)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def records_itself(self):
        ioseer = Executable(self.prefix.bin.ioseer)
        ioseer("record", "-q", "-o", "trial.ioseer", "--", self.prefix.bin.ioseer, "--version")
        ioseer("info", "trial.ioseer")
