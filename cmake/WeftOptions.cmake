# SPDX-License-Identifier: Apache-2.0
# What the person who configures may choose, and the flags that every file gets.

set(WEFT_CUDA AUTO CACHE STRING "GPU places: ON, OFF, or AUTO (on if CUDA 12 or later is found)")
set_property(CACHE WEFT_CUDA PROPERTY STRINGS AUTO ON OFF)
set(WEFT_TESTS AUTO CACHE STRING "Tests: ON, OFF, or AUTO (on if cmocka is found)")
set_property(CACHE WEFT_TESTS PROPERTY STRINGS AUTO ON OFF)
set(WEFT_METIS AUTO CACHE STRING "Nested dissection by METIS: ON, OFF, or AUTO (on if found)")
set_property(CACHE WEFT_METIS PROPERTY STRINGS AUTO ON OFF)
set(WEFT_MPI AUTO CACHE STRING "Places over ranks: ON, OFF, or AUTO (on if MPI is found)")
set_property(CACHE WEFT_MPI PROPERTY STRINGS AUTO ON OFF)
set(WEFT_OPENACC AUTO CACHE STRING "Rungs under directives: ON, OFF, or AUTO (on if GCC has OpenACC)")
set_property(CACHE WEFT_OPENACC PROPERTY STRINGS AUTO ON OFF)
set(WEFT_FORTRAN AUTO CACHE STRING "Module weft for Fortran: ON, OFF, or AUTO (on if a compiler is found)")
set_property(CACHE WEFT_FORTRAN PROPERTY STRINGS AUTO ON OFF)
set(WEFT_ISA ALL CACHE STRING "CPU code: ALL, for any processor, or NATIVE, for this one alone")
set_property(CACHE WEFT_ISA PROPERTY STRINGS ALL NATIVE)
option(WEFT_LADDER "Carry the teaching rungs, which the library itself never chooses" ON)
option(WEFT_EMU "With the tests, build those on place emu, kernels without a GPU" OFF)
option(WEFT_EMU_LINES "Reports of place emu name lines of the library's kernels" ON)
option(WEFT_WERROR "Treat compiler warnings as errors" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(WEFT_FUZZ "Build the fuzz targets with libFuzzer (needs clang)" OFF)
option(WEFT_QUICK_KERNELS "Compile kernels to see that they compile: quickly, and slow to run" OFF)
option(WEFT_DEMO "Optimise fully what `weft demo` shows, and the rest little, to build it quickly" OFF)
option(WEFT_BLAS "Build libweft_blas, the names of BLAS on top of the library" ON)
option(WEFT_PYTHON_PACKAGE "Install the Python package, which uses the library installed with it" OFF)
option(WEFT_BENCH "Build bench/peers, the libraries raced against weft" OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

find_package(Threads REQUIRED)
find_package(PkgConfig)
if(PkgConfig_FOUND AND NOT WEFT_TESTS STREQUAL "OFF")
    pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
endif()
if(WEFT_TESTS STREQUAL "AUTO")
    set(WEFT_TESTS_ON ${CMOCKA_FOUND})
elseif(WEFT_TESTS AND NOT CMOCKA_FOUND)
    message(FATAL_ERROR "WEFT_TESTS is ON, but pkg-config finds no cmocka: "
                        "install libcmocka-dev and pkg-config (scripts/setup.sh does)")
else()
    set(WEFT_TESTS_ON ${WEFT_TESTS})
endif()

set(WEFT_METIS_ON OFF)
if(NOT WEFT_METIS STREQUAL "OFF")
    find_path(WEFT_METIS_INCLUDE metis.h)
    find_library(WEFT_METIS_LIBRARY metis)
    mark_as_advanced(WEFT_METIS_INCLUDE WEFT_METIS_LIBRARY)
    if(WEFT_METIS_INCLUDE AND WEFT_METIS_LIBRARY)
        set(WEFT_METIS_ON ON)
    elseif(NOT WEFT_METIS STREQUAL "AUTO")
        message(FATAL_ERROR "WEFT_METIS is ON, but there is no metis.h or no libmetis: "
                            "install libmetis-dev")
    endif()
endif()

set(WEFT_MPI_ON OFF)
if(NOT WEFT_MPI STREQUAL "OFF")
    find_package(MPI QUIET COMPONENTS C)
    if(MPI_C_FOUND AND MPI_C_VERSION VERSION_GREATER_EQUAL 3.0)
        set(WEFT_MPI_ON ON)
    elseif(NOT WEFT_MPI STREQUAL "AUTO")
        message(FATAL_ERROR "WEFT_MPI is ON, but there is no MPI of standard 3 or later: "
                            "install libopenmpi-dev (make setup-mpi does)")
    endif()
endif()

# OpenACC of GCC. Loops are also compiled for NVIDIA GPUs if the back end is there; for 8.0, as the
# assembler of CUDA 13 knows nothing older.
set(WEFT_OPENACC_ON OFF)
if(NOT WEFT_OPENACC STREQUAL "OFF" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    include(CheckCSourceCompiles)
    set(CMAKE_REQUIRED_FLAGS "-fopenacc -foffload=nvptx-none -foffload-options=nvptx-none=-misa=sm_80")
    set(openacc_source "#include <openacc.h>
int main(void) {
    int n = 0;
#pragma acc parallel loop reduction(+ : n)
    for (int i = 0; i < 9; i++)
        n += i;
    return n - 36 + acc_get_num_devices(acc_device_host) * 0;
}")
    check_c_source_compiles("${openacc_source}" WEFT_OPENACC_NVPTX)
    set(WEFT_OPENACC_FLAGS -fopenacc -foffload=nvptx-none -foffload-options=nvptx-none=-misa=sm_80)
    if(NOT WEFT_OPENACC_NVPTX)
        set(CMAKE_REQUIRED_FLAGS "-fopenacc -foffload=disable")
        check_c_source_compiles("${openacc_source}" WEFT_OPENACC_HOST)
        set(WEFT_OPENACC_FLAGS -fopenacc -foffload=disable)
    endif()
    unset(CMAKE_REQUIRED_FLAGS)
    if(WEFT_OPENACC_NVPTX OR WEFT_OPENACC_HOST)
        set(WEFT_OPENACC_ON ON)
    endif()
endif()
if(NOT WEFT_OPENACC_ON AND NOT WEFT_OPENACC MATCHES "^(AUTO|OFF)$")
    message(FATAL_ERROR "WEFT_OPENACC is ON, but the compiler is not a GCC with OpenACC")
endif()

# weft_flags: what every object of this project is compiled with. Fused multiply-add only where the
# source says fma(), so that results do not depend on the compiler's taste; of OpenMP only its word
# that a loop may be vectorized, which takes no library.
add_library(weft_flags INTERFACE)
target_include_directories(weft_flags INTERFACE ${PROJECT_SOURCE_DIR}/include
                                                ${PROJECT_BINARY_DIR}/include
                                                ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(
    weft_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE> WEFT_VERSION="${PROJECT_VERSION}"
                         WEFT_LADDER=$<BOOL:${WEFT_LADDER}>)
target_compile_options(
    weft_flags
    INTERFACE $<$<COMPILE_LANGUAGE:C>:-ffp-contract=off
              -fopenmp-simd
              -Wall
              -Wextra
              -Wshadow
              -Wstrict-prototypes
              -Wmissing-prototypes>)
if(CMAKE_C_COMPILER_ID MATCHES "Clang") # a loop that stays scalar is slow there, not wrong
    target_compile_options(weft_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-Wno-pass-failed>)
endif()
if(WEFT_WERROR)
    target_compile_options(weft_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-Werror>
                                                $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
target_link_libraries(weft_flags INTERFACE Threads::Threads m ${CMAKE_DL_LIBS})

if(WEFT_METIS_ON)
    target_include_directories(weft_flags SYSTEM INTERFACE ${WEFT_METIS_INCLUDE})
    target_compile_definitions(weft_flags INTERFACE WEFT_METIS=1)
    target_link_libraries(weft_flags INTERFACE ${WEFT_METIS_LIBRARY})
endif()

if(WEFT_OPENACC_ON)
    file(GLOB openacc_c CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/*_acc.c
         ${PROJECT_SOURCE_DIR}/src/*/*_acc_test.c)
    set_source_files_properties(${openacc_c} PROPERTIES COMPILE_OPTIONS "${WEFT_OPENACC_FLAGS}")
    set_source_files_properties(
        ${openacc_c} ${PROJECT_SOURCE_DIR}/src/blend/blend.c ${PROJECT_SOURCE_DIR}/src/cli/info.c
        PROPERTIES COMPILE_DEFINITIONS WEFT_OPENACC=1)
    # The linker asks for code for GPUs, too, if GCC's back end for them was installed since.
    target_link_options(weft_flags INTERFACE $<$<LINK_LANGUAGE:C>:${WEFT_OPENACC_FLAGS}>)
    target_link_libraries(weft_flags INTERFACE gomp)
endif()

if(WEFT_MPI_ON)
    target_include_directories(weft_flags SYSTEM INTERFACE ${MPI_C_INCLUDE_DIRS})
    target_link_libraries(weft_flags INTERFACE ${MPI_C_LIBRARIES})
endif()

if(WEFT_SANITIZE OR WEFT_FUZZ)
    set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    if(WEFT_FUZZ)
        list(APPEND sanitize -fsanitize=fuzzer-no-link)
    endif()
    target_compile_options(weft_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:${sanitize}>)
    target_link_options(weft_flags INTERFACE ${sanitize})
endif()
