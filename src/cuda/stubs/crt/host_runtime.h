/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in front of CUDA's header of this name, for the library's kernels (cmake/WeftCuda.cmake).
 * nvcc ends the host code of a file with a function for each kernel, which `kernel<<<...>>>` would
 * call, and with calls that register them; macros of that header say what both do. The library
 * launches a kernel by its address (cuda/launch.cuh), so these functions are addresses and no more:
 * two bytes in place of 200. Nobody calls them; who does is stopped. */
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

/* What most arguments are, in one place. */
__attribute__((noinline)) static void wi_register(void **kernels, const void *address,
                                                  const char *name) {
    __cudaRegisterFunction(kernels, (const char *)address, (char *)name, name, -1, nullptr, nullptr,
                           nullptr, nullptr, nullptr);
}
#    undef __cudaRegisterEntry
#    define __cudaRegisterEntry(kernels, address, name, threads)                                   \
        wi_register(kernels, (const void *)address, #name)
#endif
