# SPDX-License-Identifier: Apache-2.0
# The library, shared and static, from one set of position-independent objects. Kernels are handed
# on as plain objects, so that everything links as C, without libstdc++.

set(WEFT_OBJECTS)

# In a build with tests these see all names of an object library, through weft_internal; the code stays
# that of hidden names, which nobody else can define. The libraries that users get name their own.
function(weft_for_tests name)
    if(WEFT_TESTS_ON)
        set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET default CUDA_VISIBILITY_PRESET
                                                                             default)
        target_compile_options(${name}
                               PRIVATE $<$<COMPILE_LANGUAGE:C>:-fno-semantic-interposition>)
    endif()
endfunction()

# Compiles `ARGN` once as object library `name` and adds it to what both libraries hold.
function(weft_objects name)
    add_library(${name} OBJECT ${ARGN})
    target_link_libraries(${name} PRIVATE weft_flags)
    weft_for_tests(${name})
    # A caller's thread may have little stack: no function takes more than 16 KiB and a bit of it.
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT WEFT_SANITIZE)
        target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:C>:-Wframe-larger-than=17408>)
    endif()
    set(WEFT_OBJECTS ${WEFT_OBJECTS} $<TARGET_OBJECTS:${name}> PARENT_SCOPE)
endfunction()

if(WEFT_RING_KERNELS) # ahead of the others, as gemm_ring_half.cu takes longest
    weft_objects(weft_ring_kernels ${WEFT_RING_KERNELS})
    target_compile_options(weft_ring_kernels PRIVATE ${WEFT_KERNEL_OPTIONS})
    weft_without_stubs(weft_ring_kernels)
    # Where kernels are only seen to compile these are read, for assembling them takes longer than all
    # others together; conv_ring_half.cu has the products of f16, chol_ring_f64.cu those of f64 and all
    # other instructions of f32's, whose products are plain C.
    foreach(source IN LISTS WEFT_RING_KERNELS)
        set(code --generate-code=arch=compute_90a,code=[sm_90a])
        if(WEFT_CUDA_ONLY_READS AND source MATCHES "/gemm_ring_(half|sent|f64|f32)[.]cu$")
            set(code --generate-code=arch=compute_90a,code=[compute_90a] ${WEFT_CUDA_ONLY_READS})
        endif()
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${code})
    endforeach()
    set_target_properties(weft_ring_kernels PROPERTIES CUDA_ARCHITECTURES OFF)
    target_compile_definitions(weft_flags INTERFACE WEFT_RING=1)
endif()
if(WEFT_KERNELS)
    weft_objects(weft_kernels ${WEFT_KERNELS})
    target_compile_options(weft_kernels PRIVATE ${WEFT_KERNEL_OPTIONS})
    weft_without_stubs(weft_kernels)
    weft_share_ptx(weft_kernels ${WEFT_KERNELS})
endif()
include(WeftNested)

# *_simd.c is compiled once for each instruction set; the library picks at run time.
set(simd_base)
set(simd_avx2 -mavx2 -mfma -mf16c)
set(simd_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512)
set(isas base)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    list(APPEND isas avx2 avx512)
    # Processors without AVX2 are older than 2013: for them -O3 would take half a megabyte more.
    set(simd_base $<$<CONFIG:Release>:-O2>)
endif()
if(WEFT_ISA STREQUAL "NATIVE" OR WEFT_QUICK_KERNELS) # the number of the widest that this processor has
    try_run(
        WEFT_NATIVE_ISA WEFT_NATIVE_COMPILES SOURCE_FROM_CONTENT native.c
        "#include \"cpu/isa.c\"\nint main(void) { return (int)wi_cpu_isa(); }\n"
        CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}/src)
endif()
if(WEFT_ISA STREQUAL "NATIVE")
    list(GET isas ${WEFT_NATIVE_ISA} isas)
    target_compile_definitions(weft_flags INTERFACE WI_ONLY_ISA=${isas})
elseif(NOT WEFT_ISA STREQUAL "ALL")
    message(FATAL_ERROR "WEFT_ISA is \"${WEFT_ISA}\": give ALL or NATIVE")
endif()
# As with kernels that nothing here can run: what this processor cannot run is only seen to compile, for
# which -O1 takes half the time of -O3. (-Og takes a quarter, but refuses to inline functions by pointers.)
if(WEFT_QUICK_KERNELS AND "avx512" IN_LIST isas AND WEFT_NATIVE_ISA LESS 2)
    list(APPEND simd_avx512 $<$<CONFIG:Release>:-O1>)
endif()
function(weft_for_isa name isa)
    target_compile_definitions(${name} PRIVATE WI_ISA=${isa})
    target_compile_options(${name} PRIVATE ${simd_${isa}})
endfunction()
if(WEFT_SIMD_C)
    foreach(isa IN LISTS isas)
        weft_objects(weft_simd_${isa} ${WEFT_SIMD_C})
        weft_for_isa(weft_simd_${isa} ${isa})
        if(simd_${isa} AND NOT CMAKE_C_COMPILER_LAUNCHER) # ccache would not keep such objects
            target_precompile_headers(weft_simd_${isa} PRIVATE <immintrin.h>)
            # For a file with a demo's -Og gcc 13 refuses the header, made with -O3, and reads its text.
            set_target_properties(weft_simd_${isa} PROPERTIES PCH_WARN_INVALID OFF)
        endif()
    endforeach()
endif()

weft_objects(weft_c ${WEFT_C}) # behind what takes longer, so that nobody waits for that at the end

set(version_script ${PROJECT_SOURCE_DIR}/src/core/weft.map)
add_library(weft_shared SHARED ${WEFT_OBJECTS})
set_target_properties(
    weft_shared
    PROPERTIES OUTPUT_NAME weft
               EXPORT_NAME weft
               LINKER_LANGUAGE C
               VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}
               LINK_DEPENDS ${version_script})
target_link_options(weft_shared PRIVATE -Wl,--version-script=${version_script})
if(CMAKE_BUILD_TYPE STREQUAL "Release") # users need the names of its calls only
    target_link_options(weft_shared PRIVATE -Wl,-s)
endif()
if(NOT WEFT_SANITIZE AND NOT WEFT_FUZZ) # clang leaves the sanitizers' symbols to the program
    target_link_options(weft_shared PRIVATE -Wl,-z,defs)
endif()
target_link_libraries(weft_shared PRIVATE $<BUILD_INTERFACE:weft_flags>)

add_library(weft_static STATIC ${WEFT_OBJECTS})
set_target_properties(weft_static PROPERTIES OUTPUT_NAME weft LINKER_LANGUAGE C)
# By plain names, so that a user of the installed archive needs no find module for them.
target_link_libraries(
    weft_static INTERFACE $<BUILD_INTERFACE:weft_flags> $<INSTALL_INTERFACE:pthread> $<INSTALL_INTERFACE:m>
                          $<INSTALL_INTERFACE:${CMAKE_DL_LIBS}>)
if(WEFT_METIS_ON)
    target_link_libraries(weft_static INTERFACE $<INSTALL_INTERFACE:metis>)
endif()
if(WEFT_OPENACC_ON)
    target_link_libraries(weft_static INTERFACE $<INSTALL_INTERFACE:gomp>)
endif()
if(WEFT_OPENACC_NVPTX) # the link of a program makes the code for GPUs of what is in the archive
    foreach(language C CXX)
        target_link_options(
            weft_static INTERFACE
            "$<INSTALL_INTERFACE:$<$<LINK_LANG_AND_ID:${language},GNU>:${WEFT_OPENACC_FLAGS}>>")
    endforeach()
endif()
if(WEFT_MPI_ON)
    target_link_libraries(weft_static INTERFACE $<INSTALL_INTERFACE:${MPI_C_LIBRARIES}>)
endif()
if(WEFT_CUDA_ON) # weftConfig.cmake finds it again
    target_link_libraries(weft_static INTERFACE $<INSTALL_INTERFACE:CUDA::cudart_static>)
endif()

foreach(library weft_shared weft_static)
    if(TARGET weft_nested_object)
        add_dependencies(${library} weft_nested_object)
    endif()
    target_include_directories(
        ${library} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                             $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
add_library(weft::weft ALIAS weft_shared)
add_library(weft::weft_static ALIAS weft_static)

# What `weft climb` and the benchmarks know about each slice; not part of the library.
if(WEFT_CLIMB_C)
    add_library(weft_climbs OBJECT ${WEFT_CLIMB_C})
    target_link_libraries(weft_climbs PRIVATE weft_flags)
    weft_for_tests(weft_climbs)
    set(WEFT_CLIMB_OBJECTS $<TARGET_OBJECTS:weft_climbs>)
    foreach(isa IN LISTS isas)
        add_library(weft_climbs_${isa} OBJECT ${WEFT_CLIMB_SIMD_C})
        target_link_libraries(weft_climbs_${isa} PRIVATE weft_flags)
        weft_for_tests(weft_climbs_${isa})
        weft_for_isa(weft_climbs_${isa} ${isa})
        list(APPEND WEFT_CLIMB_OBJECTS $<TARGET_OBJECTS:weft_climbs_${isa}>)
    endforeach()
    if(WEFT_CLIMB_CUDA)
        add_library(weft_climb_kernels OBJECT ${WEFT_CLIMB_CUDA})
        target_link_libraries(weft_climb_kernels PRIVATE weft_flags)
        weft_for_tests(weft_climb_kernels)
        target_compile_options(weft_climb_kernels PRIVATE ${WEFT_KERNEL_OPTIONS})
        weft_share_ptx(weft_climb_kernels ${WEFT_CLIMB_CUDA})
        list(APPEND WEFT_CLIMB_OBJECTS $<TARGET_OBJECTS:weft_climb_kernels>)
    endif()
endif()

# PNG files, through libpng if it is there: linked to the command and the tests, so that users of the
# library need no libpng.
find_package(PNG)
add_library(weft_png STATIC ${PROJECT_SOURCE_DIR}/src/io/png.c)
target_link_libraries(weft_png PRIVATE weft_flags PUBLIC weft_static)
if(PNG_FOUND)
    target_compile_definitions(weft_png PRIVATE WEFT_PNG=1)
    target_link_libraries(weft_png PUBLIC PNG::PNG)
endif()
