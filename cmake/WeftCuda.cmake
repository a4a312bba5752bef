# SPDX-License-Identifier: Apache-2.0
# Decides whether this build has GPU places; sets WEFT_CUDA_ON and, if not, WEFT_CUDA_WHY_NOT.

set(WEFT_CUDA_ON OFF)
set(WEFT_CUDA_WHY_NOT "switched off with WEFT_CUDA=OFF")

# Sets CMAKE_CUDA_COMPILER if an nvcc is there and works with the host compiler.
macro(weft_find_nvcc)
    set(WEFT_CUDA_WHY_NOT "no nvcc in PATH, CUDACXX or /usr/local/cuda/bin")
    if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
        find_program(WEFT_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
                     PATH_SUFFIXES bin)
        if(WEFT_NVCC)
            set(ENV{CUDACXX} ${WEFT_NVCC})
        endif()
    endif()
    include(CheckLanguage)
    check_language(CUDA)
    if(WEFT_NVCC AND NOT CMAKE_CUDA_COMPILER)
        set(WEFT_CUDA_WHY_NOT "${WEFT_NVCC} does not work with this host compiler")
    endif()
endmacro()

if(NOT WEFT_CUDA STREQUAL "OFF")
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        # Code for sm_80 and sm_90, and PTX that later devices compile when they load it.
        set(CMAKE_CUDA_ARCHITECTURES "80-real;90" CACHE STRING "Compute capabilities to build for")
    endif()
    weft_find_nvcc()
    if(CMAKE_CUDA_COMPILER)
        enable_language(CUDA)
        find_package(CUDAToolkit)
        if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)
            set(WEFT_CUDA_WHY_NOT "CUDA ${CMAKE_CUDA_COMPILER_VERSION} is older than 12")
        elseif(NOT TARGET CUDA::cudart_static)
            set(WEFT_CUDA_WHY_NOT "the toolkit has no static runtime, libcudart_static.a")
        else()
            set(WEFT_CUDA_ON ON)
        endif()
    endif()
    if(NOT WEFT_CUDA_ON AND NOT WEFT_CUDA STREQUAL "AUTO")
        message(FATAL_ERROR "WEFT_CUDA is ON, but ${WEFT_CUDA_WHY_NOT}")
    endif()
endif()

if(WEFT_CUDA_ON)
    # Every driver for CUDA 13 reads code that is compressed this way; not every driver for 12 does.
    include(CheckCompilerFlag)
    set(compress --compress-mode=size)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
        check_compiler_flag(CUDA ${compress} WEFT_CUDA_COMPRESSES)
    endif()
    if(WEFT_CUDA_COMPRESSES)
        target_compile_options(weft_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:${compress}>)
        target_link_options(weft_flags INTERFACE $<DEVICE_LINK:${compress}>)
    endif()
    set(CMAKE_CUDA_STANDARD 17)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    target_compile_definitions(weft_flags INTERFACE WEFT_CUDA=1)
    target_compile_options(
        weft_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false
                             -Xcompiler=-Wall,-Wextra,-ffp-contract=off>)
    # Without exceptions, RTTI and guarded statics the kernels' host code needs no libstdc++, so C
    # programs link with nothing but the C runtime.
    set(WEFT_KERNEL_OPTIONS -Xcompiler=-fno-exceptions,-fno-rtti,-fno-threadsafe-statics)
    target_include_directories(weft_flags INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
    target_link_libraries(weft_flags INTERFACE CUDA::cudart_static)
endif()
