/* SPDX-License-Identifier: Apache-2.0 */
/* Found before CUDA's header of the same name when the library's kernels are compiled
 * (cmake/WeftCuda.cmake). At the end of a file's host code nvcc adds a stub for each kernel, a
 * function that `kernel<<<...>>>` would call, and a call that registers the kernel under the stub's
 * address. What stubs and registration do is said by macros of CUDA's header, which are replaced
 * here. The library launches kernels by these addresses (cuda/launch.cuh) and never calls a stub,
 * so a stub need only trap: two bytes in place of 240. */
#include_next "crt/host_runtime.h"

#if defined(__cudaLaunch) && !defined(WI_STUBS)
#    define WI_STUBS

#    undef __cudaLaunchPrologue
#    define __cudaLaunchPrologue(arguments)
#    undef __cudaSetupArg
#    define __cudaSetupArg(argument, offset) (void)argument
#    undef __cudaSetupArgSimple
#    define __cudaSetupArgSimple(argument, offset) (void)argument
#    undef __cudaLaunch
#    define __cudaLaunch(...) __builtin_trap()

/* The arguments that are the same for all kernels are set here once. */
__attribute__((noinline)) static void wi_register(void **kernels, const void *address,
                                                  const char *name) {
    __cudaRegisterFunction(kernels, (const char *)address, (char *)name, name, -1, nullptr, nullptr,
                           nullptr, nullptr, nullptr);
}
#    undef __cudaRegisterEntry
#    define __cudaRegisterEntry(kernels, address, name, threads)                                   \
        wi_register(kernels, (const void *)address, #name)
#endif
