/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of planted bugs share: a bug, and how its kernels are launched. */
#ifndef EMU_BUGS_CUH
#define EMU_BUGS_CUH

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

extern "C" {
#include <cmocka.h>
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/async.cuh"
#include "cuda/bulk.cuh"
#include "cuda/cluster.cuh"
#include "cuda/device_launch.cuh"
#include "cuda/launch.cuh"
#include "cuda/memory.cuh"
#include "cuda/system.cuh"

namespace {

constexpr int threads = 128;

/* Launches on a stream, without a context. */
template <class... Parameters, class... Arguments>
void launch(const char *name, void (*kernel)(Parameters...), unsigned cluster, unsigned blocks,
            unsigned per_block, cudaStream_t stream, Arguments... arguments) {
    const cudaError_t error =
        emu_launch((const void *)kernel, stream,
                   {name, blocks, per_block, cluster, 0, [=] { kernel(arguments...); }});
    assert_int_equal(error, cudaSuccess);
}
#define LAUNCH(kernel, ...) launch(#kernel, kernel, 1, __VA_ARGS__)
#define LAUNCH_PAIRS(kernel, ...) launch(#kernel, kernel, 2, __VA_ARGS__)

int *device_ints(size_t n) {
    void *p = nullptr;
    assert_int_equal(cudaMalloc(&p, n * sizeof(int)), cudaSuccess);
    return (int *)p;
}

int *zeroed_ints(size_t n) {
    int *const p = device_ints(n);
    cudaMemsetAsync(p, 0, n * sizeof(int), nullptr);
    return p;
}

void finish() {
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
}

struct Bug {
    const char *file, *name;
    const char *diagnosis; /* words of the report */
    void (*wrong)(), (*right)();
};

#define BUG(name, diagnosis)                                                                       \
    { __FILE__, #name, diagnosis, run_##name<true>, run_##name<false> }

} // namespace

#endif
