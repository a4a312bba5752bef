/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that launch kernels. Files that include this are compiled as relocatable device code.
 *
 * WEFT_LAUNCH_FORGET(kernel, blocks, threads, shared_bytes, arguments...) (fire and forget) lets
 * the kernel start at once, while its parent runs: it sees what the launching thread wrote before,
 * and nothing waits for it except tail launches and the end of the whole tree of launches.
 * WEFT_LAUNCH_TAIL(...) lets it start when the launching grid, and all that this grid launched with
 * FORGET, has ended; tail launches of one grid run one after another. The stream continues when the
 * whole tree has ended. Kernels with several template arguments go in parentheses.
 *
 * Both are expressions: false if the device refused the launch, which it does when too many are
 * pending (cudaLimitDevRuntimePendingLaunchCount). The kernel then never runs, and no later call
 * reports it: the launching kernel has to do the work itself. */
#ifndef WI_DEVICE_LAUNCH_CUH
#define WI_DEVICE_LAUNCH_CUH

#ifdef WEFT_EMU
template <class... Parameters, class... Arguments>
[[nodiscard]] bool wi_device_launch(void (*kernel)(Parameters...), const char *what, bool tail,
                                    dim3 blocks, dim3 threads, size_t shared_bytes,
                                    Arguments... arguments) {
    return emu_device_launch(
        tail, (const void *)kernel,
        {what, blocks, threads, 1, shared_bytes, [=] { kernel(Parameters(arguments)...); }});
}
#    define WEFT_LAUNCH_TAIL(kernel, ...) wi_device_launch(kernel, #    kernel, true, __VA_ARGS__)
#    define WEFT_LAUNCH_FORGET(kernel, ...) wi_device_launch(kernel, #    kernel, false, __VA_ARGS__)
#else
[[nodiscard]] __device__ inline bool wi_launch_taken() {
    return cudaGetLastError() == cudaSuccess;
}
/* The launch is written out here, not in a function: the device's side of a launch cannot use the
 * address of a kernel. */
#    define WEFT_LAUNCH_TAIL(kernel, blocks, threads, shared_bytes, ...)                           \
        (kernel<<<blocks, threads, shared_bytes, cudaStreamTailLaunch>>>(__VA_ARGS__),             \
         wi_launch_taken())
#    define WEFT_LAUNCH_FORGET(kernel, blocks, threads, shared_bytes, ...)                         \
        (kernel<<<blocks, threads, shared_bytes, cudaStreamFireAndForget>>>(__VA_ARGS__),          \
         wi_launch_taken())
#endif

#endif
