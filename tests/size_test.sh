#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/size.sh says what takes room in the library, and refuses one that is too large; one with
# kernels for the usual architectures, as it is installed, stays below the size it had.
set -euo pipefail
build=${WEFT_BUILD:?} source=${WEFT_SOURCE:?}
most_mb=37

said=$("$source/scripts/size.sh" "$build" 0.001 2>&1) && {
    echo "size_test: a library above the limit was not refused" >&2
    exit 1
}
echo "$said"
grep -q "^size: libweft.so is larger than 0.001 MB" <<<"$said"

# The rows add up to the last one, as far as rounding lets them.
awk '$1 == "all" { wanted = $NF; next }
    $1 != "kB" && NF > 2 && $NF ~ /^[0-9]+$/ { sum += $NF; rows++; scan = scan || $1 == "scan" }
    END { exit !(scan && rows > 10 && sum - wanted < rows && wanted - sum < rows) }' <<<"$said" || {
    echo "size_test: the table does not add up" >&2
    exit 1
}

cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
if [[ $(cached CMAKE_CUDA_COMPILER) =~ ^(.*NOTFOUND)?$ ]]; then
    echo "size_test: passed; there is no nvcc, and no kernels"
    exit
fi
# No kernel has a stub, the function that <<<>>> would call (src/cuda/stubs, for toolkits before 14). A stub
# asks for the configuration of the launch.
toolkit=$(sed -n 's/^set(CMAKE_CUDA_COMPILER_VERSION "\([0-9]*\)\..*/\1/p' "$build"/CMakeFiles/*/CMakeCUDACompiler.cmake)
if [ "$toolkit" -lt 14 ]; then
    objects=$(find "$build"/CMakeFiles/weft_{,ring_}kernels.dir -name '*.cu.o')
    [ -n "$objects" ]
    if xargs nm -A -u <<<"$objects" | grep cudaPopCallConfiguration >&2; then
        echo "size_test: these objects have stubs of kernels, which nothing calls" >&2
        exit 1
    fi
fi
if [ "$(cached CMAKE_CUDA_ARCHITECTURES)" = "80-real;90" ] &&
    [ "$(cached WEFT_QUICK_KERNELS)$(cached CMAKE_BUILD_TYPE)" = OFFRelease ]; then
    "$source/scripts/size.sh" "$build" "$most_mb" >/dev/null
    # The kernel that tells what the library was compiled for has PTX of each architecture.
    grep -q 'arch=compute_90,.*/core/gpu_code\.cu' "$build/compile_commands.json" || {
        echo "size_test: core/gpu_code.cu would tell 8.0 on every device" >&2
        exit 1
    }
fi
if [ "$(cached CMAKE_CUDA_ARCHITECTURES)$(cached WEFT_QUICK_KERNELS)" = 90-virtualON ]; then
    # What has code of its own for 8.0 is assembled for it; else only a usual build would refuse it.
    for kernels in gpu_code select_cuda_bulk scan_cuda_bulk; do
        grep -q "code=\[sm_80\].*arch=compute_90,.*/$kernels\.cu" "$build/compile_commands.json" || {
            echo "size_test: $kernels.cu is not compiled for 8.0 and 9.0" >&2
            exit 1
        }
    done
fi
echo "size_test: passed"
