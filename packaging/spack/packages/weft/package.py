# SPDX-License-Identifier: Apache-2.0
"""The Spack recipe of weft."""

from spack.package import *


class Weft(CMakePackage, CudaPackage):
    """Data-parallel algorithms and linear systems on CPU cores, GPUs and clusters, from C."""

    homepage = "https://weft.example.org"
    git = "https://weft.example.org/weft.git"

    license("Apache-2.0")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("mpi", default=True, description="Places over ranks")
    variant("metis", default=True, description="Nested dissection by METIS")
    variant("fortran", default=True, description="Module weft for Fortran")
    variant("python", default=False, description="The Python package, numpy's names")
    variant("blas", default=True, description="libweft_blas, the names of BLAS")
    variant("ladder", default=True, description="The teaching rungs, for `weft climb`")
    variant("native", default=False, description="Code for this processor alone")

    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libpng")
    depends_on("metis", when="+metis")
    depends_on("mpi@3:", when="+mpi")
    depends_on("cuda@12:", when="+cuda")
    depends_on("cmocka", type="test")

    extends("python@3.11:", when="+python")
    depends_on("py-numpy@1.24:", type=("build", "run"), when="+python")

    def cmake_args(self):
        args = [
            self.define_from_variant("WEFT_MPI", "mpi"),
            self.define_from_variant("WEFT_METIS", "metis"),
            self.define_from_variant("WEFT_FORTRAN", "fortran"),
            self.define_from_variant("WEFT_BLAS", "blas"),
            self.define_from_variant("WEFT_LADDER", "ladder"),
            self.define_from_variant("WEFT_CUDA", "cuda"),
            self.define_from_variant("WEFT_PYTHON_PACKAGE", "python"),
            self.define("WEFT_ISA", "NATIVE" if "+native" in self.spec else "ALL"),
            self.define("WEFT_TESTS", self.run_tests),
            self.define("WEFT_WERROR", False),
        ]
        if "+python" in self.spec:
            args.append(self.define("WEFT_PYTHON_FOLDER", self.spec["python"].package.platlib))
        if "+cuda" in self.spec and self.spec.variants["cuda_arch"].value[0] != "none":
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args
