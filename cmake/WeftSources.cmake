# SPDX-License-Identifier: Apache-2.0
# Finds the sources by the naming rules that docs/adding-a-rung.md states, so that a new file is
# picked up by its name alone.

# weft/weft.h includes every public header there is.
file(GLOB public_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include
     ${PROJECT_SOURCE_DIR}/include/weft/*.h)
set(c_headers ${public_headers})
list(TRANSFORM c_headers PREPEND ${PROJECT_SOURCE_DIR}/include/)
list(REMOVE_ITEM public_headers weft/export.h)
list(APPEND public_headers weft/version.h) # made here, like weft.h
list(SORT public_headers)
list(TRANSFORM public_headers REPLACE "(.+)" "#include \"\\1\"")
list(JOIN public_headers "\n" WEFT_INCLUDES)
foreach(header weft.h version.h)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${header}.in
                   ${PROJECT_BINARY_DIR}/include/weft/${header} @ONLY)
endforeach()

file(GLOB slice_c CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/*.c)
file(GLOB slice_cuda CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/*.cu)
list(FILTER slice_c EXCLUDE REGEX "/src/(cli|climb)/[^/]*$")
list(FILTER slice_cuda EXCLUDE REGEX "/src/(cli|climb)/[^/]*$")
file(GLOB climb_c CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/climb/*.c)
file(GLOB WEFT_CLIMB_CUDA CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/climb/*.cu)
file(GLOB WEFT_CLI_C CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.c)
file(GLOB WEFT_CLI_CUDA CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.cu)
file(GLOB WEFT_TEST_C CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_test.c)
file(GLOB WEFT_TEST_SH CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_test.sh)
file(GLOB WEFT_FUZZ_C CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.c)
file(GLOB WEFT_FUZZ_CALLS_C CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/calls/*.c)

set(WEFT_C ${slice_c})
list(FILTER WEFT_C EXCLUDE REGEX "_(test|cases|climb|simd)\\.c$")
set(WEFT_CASES_C ${slice_c}) # for the tests of all calls
list(FILTER WEFT_CASES_C INCLUDE REGEX "_cases\\.c$")
list(FILTER WEFT_C EXCLUDE REGEX "/io/png\\.c$") # needs libpng: for the command and the tests only
set(WEFT_SIMD_C ${slice_c})
list(FILTER WEFT_SIMD_C INCLUDE REGEX "_simd\\.c$")
set(WEFT_CLIMB_SIMD_C ${climb_c})
list(FILTER WEFT_CLIMB_SIMD_C INCLUDE REGEX "_simd\\.c$")
set(WEFT_CLIMB_C ${slice_c})
list(FILTER WEFT_CLIMB_C INCLUDE REGEX "_climb\\.c$")
list(APPEND WEFT_CLIMB_C ${climb_c})
list(FILTER WEFT_CLIMB_C EXCLUDE REGEX "_(test|simd)\\.c$")
set(slice_tests ${slice_c} ${climb_c} ${WEFT_CLI_C})
list(FILTER slice_tests INCLUDE REGEX "_test\\.c$")
list(APPEND WEFT_TEST_C ${slice_tests})
list(FILTER WEFT_CLI_C EXCLUDE REGEX "_test\\.c$")

# Files that stand in for others: one of each pair is compiled.
set(WEFT_NOT_HERE "/comm/comm_mpi(_open|_wait|_test)?\\.c$")
if(WEFT_MPI_ON)
    set(WEFT_NOT_HERE "/comm/comm_mpi_none\\.c$")
endif()
list(FILTER WEFT_C EXCLUDE REGEX ${WEFT_NOT_HERE})
list(FILTER WEFT_TEST_C EXCLUDE REGEX ${WEFT_NOT_HERE})

if(WEFT_CUDA_ON)
    set(WEFT_KERNELS ${slice_cuda})
    list(FILTER WEFT_C EXCLUDE REGEX "/(core/gpu|sparse/chol_device)_none\\.c$")
else()
    set(WEFT_KERNELS)
    set(WEFT_CLI_CUDA)
    set(WEFT_CLIMB_CUDA)
    list(FILTER WEFT_C EXCLUDE REGEX "/core/(gpu_[a-z]+|stage|stage_whole|stage_segments)\\.c$")
    list(APPEND WEFT_C ${PROJECT_SOURCE_DIR}/src/core/gpu_none.c)
endif()
if(NOT WEFT_LADDER)
    list(FILTER WEFT_C EXCLUDE REGEX "_steps\\.c$")
    list(FILTER WEFT_KERNELS EXCLUDE REGEX "_steps\\.cu$")
endif()
set(WEFT_NESTED ${WEFT_KERNELS})
list(FILTER WEFT_NESTED INCLUDE REGEX "_nested_steps\\.cu$")
list(FILTER WEFT_KERNELS EXCLUDE REGEX "_nested_steps\\.cu$")

# What only compute capability 9.0 itself has, none later, is compiled for sm_90a.
set(WEFT_RING_KERNELS ${WEFT_KERNELS})
list(FILTER WEFT_RING_KERNELS INCLUDE REGEX "_ring_[a-z0-9]+\\.cu$")
list(FILTER WEFT_KERNELS EXCLUDE REGEX "_ring_[a-z0-9]+\\.cu$")
if(NOT "${CMAKE_CUDA_ARCHITECTURES}" MATCHES "(^|;)90")
    set(WEFT_RING_KERNELS)
endif()

include(WeftTogether)
foreach(list WEFT_KERNELS WEFT_RING_KERNELS WEFT_CLIMB_CUDA)
    if(WEFT_QUICK_KERNELS)
        weft_together(${list} weft_groups src)
        weft_together(${list} weft_seen_groups seen/src)
    else()
        weft_together(${list} weft_run_groups src)
    endif()
endforeach()

# What is not timed needs no more than this: it saves a third to a half of its compiler's time. With
# -Og it is another third, and of unrolled vector code up to four fifths; what is rarely run at all,
# as in a demo, needs no more than that.
set(WEFT_LITTLE $<$<CONFIG:Release>:$<IF:$<BOOL:${WEFT_DEMO}>,-Og,-O1>>)
set_property(SOURCE ${WEFT_CLI_C} APPEND PROPERTY COMPILE_OPTIONS ${WEFT_LITTLE})

# For a demo, so is every slice that it does not show, which has no climb with a serial loop.
if(WEFT_DEMO)
    set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/cli/info.c APPEND PROPERTY COMPILE_DEFINITIONS
                                                                             WEFT_DEMO=1)
    set(shown core cpu climb)
    foreach(source IN LISTS WEFT_CLIMB_C)
        file(STRINGS ${source} serial REGEX "[.]serial = ")
        if(serial)
            cmake_path(GET source PARENT_PATH folder)
            cmake_path(GET folder FILENAME slice)
            list(APPEND shown ${slice})
        endif()
    endforeach()
    list(JOIN shown "|" shown)
    set(not_shown ${WEFT_C} ${WEFT_SIMD_C} ${WEFT_CLIMB_C})
    list(FILTER not_shown EXCLUDE REGEX "/src/(${shown})/")
    set_property(SOURCE ${not_shown} APPEND PROPERTY COMPILE_OPTIONS ${WEFT_LITTLE})
endif()
