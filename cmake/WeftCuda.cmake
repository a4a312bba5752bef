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

set(WEFT_CUDA_ARCHITECTURES "80-real;90")
if(NOT WEFT_CUDA STREQUAL "OFF")
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        # Code for sm_80 and sm_90, and PTX that later devices compile when they load it.
        set(CMAKE_CUDA_ARCHITECTURES ${WEFT_CUDA_ARCHITECTURES}
            CACHE STRING "Compute capabilities to build for")
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
    include(CheckCompilerFlag)
    set(compress --compress-mode=size)
    set(quick --Ofast-compile=max)
    if(WEFT_QUICK_KERNELS)
        check_compiler_flag(CUDA ${quick} WEFT_CUDA_IS_QUICK)
        if(WEFT_CUDA_IS_QUICK)
            target_compile_options(weft_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:${quick}>)
        endif()
        check_compiler_flag(CUDA -fdevice-syntax-only WEFT_CUDA_READS)
        if(WEFT_CUDA_READS)
            set(WEFT_CUDA_ONLY_READS -fdevice-syntax-only)
        endif()
    elseif(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
        # Every driver for CUDA 13 reads code that is compressed this way; not every driver for 12.
        check_compiler_flag(CUDA ${compress} WEFT_CUDA_COMPRESSES)
        if(WEFT_CUDA_COMPRESSES)
            target_compile_options(weft_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:${compress}>)
            target_link_options(weft_flags INTERFACE $<DEVICE_LINK:${compress}>)
        endif()
    endif()
    set(CMAKE_CUDA_STANDARD 17)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    target_compile_definitions(weft_flags INTERFACE WEFT_CUDA=1)
    # nvcc includes cmath by itself, which from C++17 on brings the special functions: 7000 lines that
    # four passes read, a third of the time of a file with nothing in it. Their header counts as read.
    target_compile_definitions(weft_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:_GLIBCXX_BITS_SPECFUN_H=1>)
    target_compile_options(
        weft_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false
                             -Xcompiler=-Wall,-Wextra,-ffp-contract=off>)
    # Without exceptions, RTTI and guarded statics the kernels' host code needs no libstdc++, so C
    # programs link with nothing but the C runtime.
    set(WEFT_KERNEL_OPTIONS -Xcompiler=-fno-exceptions,-fno-rtti,-fno-threadsafe-statics)
    # nvcc's own level is for the host code alone, which launches kernels: the library's is compiled
    # for its size, as it is there for each kernel; where nothing runs it, it needs no level.
    string(REGEX REPLACE "(^| )-O[0-9s]" "" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
    if(NOT WEFT_QUICK_KERNELS)
        list(APPEND WEFT_KERNEL_OPTIONS -Xcompiler=-Os)
    endif()
    target_include_directories(weft_flags INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
    target_link_libraries(weft_flags INTERFACE CUDA::cudart_static)
endif()

# Kernels of these targets are launched by address, never by <<<>>>, so the stubs that nvcc makes for <<<>>>
# are left out (src/cuda/stubs/crt/host_runtime.h). Only with toolkits on which this has been tried.
function(weft_without_stubs)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 14)
        foreach(target IN LISTS ARGN)
            target_include_directories(${target} BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/src/cuda/stubs)
        endforeach()
    endif()
endfunction()

# What is linked as device code cannot stay PTX: with an architecture NN-virtual it is made for NN.
function(weft_needs_machine_code)
    string(REPLACE "-virtual" "-real" real "${CMAKE_CUDA_ARCHITECTURES}")
    set_target_properties(${ARGN} PROPERTIES CUDA_ARCHITECTURES "${real}")
endfunction()

# nvcc compiles a source to PTX, for each architecture anew, and PTX to machine code. The PTX for 8.0
# is as good for 9.0 as its own: the machine code has the same bytes. So with the usual
# architectures it is made once, which saves a quarter of the time. A source that includes what only
# 9.0 has, or that says __CUDA_ARCH__, is compiled for each architecture by itself; so is the one that
# asks which PTX it was made from (ptxVersion), to know what the library has on this device. Rungs
# that teach, *_steps.cu, which the library does not choose, have no machine code for 8.0: there the
# driver compiles their PTX when one is first run. With 90-real in place of 90 there is no PTX, and all
# have machine code for both.
#
# Where kernels are only seen to compile, nvcc reads them for the same architectures and makes no code
# of them, a half to a quarter of the time. But sources with code of their own for 8.0 (`guarded`) are
# also assembled for it: the assembler is what refuses an instruction that 8.0 does not have. The
# headers of `guarding` leave it out by themselves.
set(guarding "cuda/(ahead|prefetch|tensor_f64)[.]cuh")
set(guarded "__CUDA_ARCH__|ptxVersion|WEFT_CLUSTER|cuda/(bulk|ring|cluster)[.]cuh")
function(weft_share_ptx target)
    set(only_seen OFF)
    set(stored80 compute_80,)
    set(stored90 compute_90,)
    if(WEFT_QUICK_KERNELS AND "${CMAKE_CUDA_ARCHITECTURES}" STREQUAL 90-virtual)
        set(only_seen ON)
    elseif("${CMAKE_CUDA_ARCHITECTURES}" STREQUAL "80-real;90-real")
        set(stored80)
        set(stored90)
    elseif(NOT "${CMAKE_CUDA_ARCHITECTURES}" STREQUAL "${WEFT_CUDA_ARCHITECTURES}")
        return()
    endif()
    foreach(source IN LISTS ARGN)
        get_property(files GLOBAL PROPERTY WEFT_TOGETHER_${source})
        if(NOT files)
            set(files ${source})
        endif()
        set(apart)
        set(own)
        foreach(file IN LISTS files)
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
            file(STRINGS ${file} reasons REGEX "${guarded}|${guarding}")
            list(APPEND apart ${reasons})
            list(FILTER reasons INCLUDE REGEX "${guarded}")
            list(APPEND own ${reasons})
        endforeach()
        set(ptx80 --generate-code=arch=compute_80,code=[compute_80])
        set(ptx90 --generate-code=arch=compute_90,code=[compute_90])
        if(only_seen AND own)
            set(code --generate-code=arch=compute_80,code=[sm_80] ${ptx90})
        elseif(only_seen AND apart)
            set(code ${ptx80} ${ptx90} ${WEFT_CUDA_ONLY_READS})
        elseif(only_seen)
            set(code ${ptx80} -DWI_SHARED_PTX ${WEFT_CUDA_ONLY_READS})
        elseif(apart)
            set(code --generate-code=arch=compute_80,code=[sm_80]
                     --generate-code=arch=compute_90,code=[${stored90}sm_90])
        elseif(stored80 AND source MATCHES "_steps[.]cu$")
            set(code --generate-code=arch=compute_80,code=[compute_80,sm_90] -DWI_SHARED_PTX)
        else()
            set(code --generate-code=arch=compute_80,code=[${stored80}sm_80,sm_90] -DWI_SHARED_PTX)
        endif()
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${code})
    endforeach()
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES OFF)
endfunction()
