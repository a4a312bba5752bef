/* SPDX-License-Identifier: Apache-2.0 */
/* cuDNN for the races: its header where there was one when this was compiled, its library loaded
 * when it is first asked for. HAS_CUDNN is 0 without the header. */
#ifndef WEFT_PEER_CUDNN_CUH
#define WEFT_PEER_CUDNN_CUH

#if __has_include(<cudnn.h>)
#    include <cudnn.h>
#    include <dlfcn.h>
#    include <stdio.h>
#    include <stdlib.h>
#    define HAS_CUDNN 1

/* NULL without the library. */
inline void *cudnn_library() {
    static void *const library = dlopen("libcudnn.so.9", RTLD_NOW);
    return library;
}

/* A function of the library, with the type that its header gives it. */
#    define CUDNN(function) ((decltype(&function))dlsym(cudnn_library(), #    function))

inline void check_cudnn(cudnnStatus_t status, const char *doing) {
    if (status == CUDNN_STATUS_SUCCESS)
        return;
    fprintf(stderr, "peer: %s: cuDNN status %d\n", doing, (int)status);
    exit(1);
}
#    define CHECKED(call) check_cudnn(call, #    call)
#else
#    define HAS_CUDNN 0
#endif

#endif
