# SPDX-License-Identifier: Apache-2.0
# The tests on place emu: the library once more, its kernels compiled for the CPU against emu/, which
# stands in for the CUDA runtime and the device language. Never installed.

enable_language(CXX)
set(emu ${PROJECT_SOURCE_DIR}/emu)
set(src ${PROJECT_SOURCE_DIR}/src)
include(WeftEmuSame)

file(GLOB emu_c CONFIGURE_DEPENDS ${src}/*/*.c)
list(FILTER emu_c EXCLUDE REGEX "(/src/cli/[^/]*|_(test|cases|simd)\\.c|/core/gpu_none\\.c|/sparse/chol_device_none\\.c|/io/png\\.c)$")
list(FILTER emu_c EXCLUDE REGEX ${WEFT_NOT_HERE})
file(GLOB emu_kernels CONFIGURE_DEPENDS ${src}/*/*.cu)
list(FILTER emu_kernels EXCLUDE REGEX "/src/cli/[^/]*$")
if(NOT WEFT_LADDER)
    list(FILTER emu_c EXCLUDE REGEX "_steps\\.c$")
    list(FILTER emu_kernels EXCLUDE REGEX "_steps\\.cu$")
endif()
file(GLOB emu_runtime CONFIGURE_DEPENDS ${emu}/*.cpp)

add_library(weft_emu_flags INTERFACE)
target_include_directories(weft_emu_flags BEFORE INTERFACE ${emu}/include)
target_compile_definitions(weft_emu_flags INTERFACE WEFT_CUDA=1 WEFT_EMU=1 WEFT_RING=1)
target_compile_options(
    weft_emu_flags
    INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-std=c++17
              -Wall
              -Wextra
              -ffp-contract=off
              -fno-strict-aliasing>)
if(WEFT_WERROR)
    target_compile_options(weft_emu_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
# Kernels have emu's hooks in place of AddressSanitizer, which cannot stand beside them.
if(WEFT_SANITIZE)
    set(emu_sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -DEMU_ASAN)
    set(emu_sanitize_kernels -fsanitize=undefined -fno-sanitize-recover=all)
endif()

# Kernels are hooked with what the compiler offers for thread sanitizing; emu answers the hooks.
# addr2line takes a wrapper for what it includes, if told in DWARF 5. Reports name lines, not
# variables: GCC need not track where these lie, which is a sixth of its time. (With -Og it would
# take a third less again, but the tests run 9 % longer.)
set(emu_hooks -O1 -g1 -gdwarf-4 -fsanitize=thread -Wno-unknown-pragmas)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    list(APPEND emu_hooks -Wno-pass-failed "SHELL:-mllvm -tsan-distinguish-volatile=1"
         "SHELL:-mllvm -tsan-instrument-func-entry-exit=0")
else()
    list(APPEND emu_hooks -fno-var-tracking "SHELL:--param tsan-distinguish-volatile=1"
         "SHELL:--param tsan-instrument-func-entry-exit=0")
endif()

# Compiles a .cu file as C++; a file of its own includes it, for CMake may know the name as CUDA's.
function(weft_emu_kernels name)
    set(wrappers)
    foreach(source IN LISTS ARGN)
        get_filename_component(stem ${source} NAME_WE)
        set(wrapper ${PROJECT_BINARY_DIR}/emu/${stem}.cpp)
        file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include \"${source}\"\n")
        list(APPEND wrappers ${wrapper})
        # A kernel for each of many operators and types: -Og saves a third of what these files take,
        # far more than their tests take longer. The compiler then cannot tell which variables are set.
        if(stem MATCHES "^((fft|group|histogram|layers|reduce|scan|select|solve_batch|sort|summary)_|gemm_ring_(half|sent)$)"
           AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            set_property(SOURCE ${wrapper} APPEND PROPERTY COMPILE_OPTIONS -Og
                                                           -Wno-maybe-uninitialized)
        endif()
    endforeach()
    add_library(${name} OBJECT ${wrappers})
    target_link_libraries(${name} PRIVATE weft_emu_flags weft_flags)
    target_compile_options(${name} PRIVATE ${emu_hooks} ${emu_sanitize_kernels})
    # What nvcc includes by itself. Compiled once, it is read in a tenth of the time.
    list(LENGTH wrappers many)
    if(many GREATER 1 AND NOT CMAKE_CXX_COMPILER_LAUNCHER) # ccache would not keep such objects
        target_precompile_headers(${name} PRIVATE <cuda_runtime.h>)
    else()
        target_compile_options(${name} PRIVATE "SHELL:-include cuda_runtime.h")
    endif()
endfunction()

weft_together(emu_kernels weft_groups src)
weft_emu_kernels(weft_emu_kernels ${emu_kernels})
if(NOT WEFT_EMU_LINES) # a tenth less of their time, and a third of their size
    target_compile_options(weft_emu_kernels PRIVATE -g0)
endif()
weft_for_emu(emu_c weft_c ${emu_c})
weft_for_emu(emu_c weft_climbs ${emu_c})
set(emu_same_c ${emu_c})
list(FILTER emu_same_c INCLUDE REGEX "TARGET_OBJECTS")
list(FILTER emu_c EXCLUDE REGEX "TARGET_OBJECTS")
add_library(weft_emu_c OBJECT ${emu_c})
target_link_libraries(weft_emu_c PRIVATE weft_emu_flags weft_flags)
set_target_properties(weft_emu_c PROPERTIES C_VISIBILITY_PRESET default)
target_compile_options(weft_emu_c PRIVATE ${WEFT_LITTLE}) # emu's time is that of its kernels
add_library(weft_emu_runtime OBJECT ${emu_runtime})
target_link_libraries(weft_emu_runtime PRIVATE weft_emu_flags)
target_compile_options(weft_emu_runtime PRIVATE -O2 -g1 -ftls-model=initial-exec ${emu_sanitize})
# As one source: every access of a kernel goes through three of its files.
set_target_properties(weft_emu_runtime PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)

set(emu_simd)
foreach(isa IN LISTS isas)
    if(TARGET weft_simd_${isa})
        list(APPEND emu_simd $<TARGET_OBJECTS:weft_simd_${isa}> $<TARGET_OBJECTS:weft_climbs_${isa}>)
    endif()
endforeach()
# One shared library: programs that each hold a copy have 50 MB. The tests see all of its names, and may
# change its limits (tests/limits.h); it calls its own functions directly.
set(emu_objects ${emu_same_c} $<TARGET_OBJECTS:weft_emu_c> $<TARGET_OBJECTS:weft_emu_kernels>
                $<TARGET_OBJECTS:weft_emu_runtime> ${emu_simd})
add_library(weft_emu SHARED ${emu_objects})
set_target_properties(weft_emu PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(weft_emu PUBLIC weft_emu_flags weft_flags)
target_link_options(weft_emu PRIVATE -Wl,-Bsymbolic-functions)

# Every seed chooses its own schedules and its own data; seed modulo 4 is the policy: in_order,
# reversed, random or starve.
add_library(weft_emu_testing OBJECT ${PROJECT_SOURCE_DIR}/tests/testing.c
                                    ${PROJECT_SOURCE_DIR}/tests/sweep.c)
target_link_libraries(weft_emu_testing PRIVATE weft_emu_flags weft_flags PkgConfig::CMOCKA)
target_compile_options(weft_emu_testing PRIVATE ${WEFT_LITTLE})

function(weft_emu_program name)
    add_executable(${name} ${ARGN})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY
                                             ${PROJECT_BINARY_DIR}/tests)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE PkgConfig::CMOCKA)
    target_compile_options(${name} PRIVATE ${WEFT_LITTLE})
    if(name STREQUAL "emu_allocation_test") # it wraps what the library calls
        target_sources(${name} PRIVATE ${emu_objects})
        target_link_libraries(${name} PRIVATE weft_emu_flags weft_flags)
    else()
        target_link_libraries(${name} PRIVATE weft_emu)
        target_link_options(${name} PRIVATE ${quick_link})
    endif()
endfunction()

weft_emu_kernels(weft_emu_bugs ${PROJECT_SOURCE_DIR}/tests/emu_bugs_test.cu)
target_include_directories(weft_emu_bugs PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(weft_emu_bugs PRIVATE PkgConfig::CMOCKA)
weft_emu_program(emu_bugs_test $<TARGET_OBJECTS:weft_emu_bugs>)
add_test(NAME emu_bugs_test COMMAND emu_bugs_test)
set_tests_properties(emu_bugs_test PROPERTIES TIMEOUT 60 LABELS emu ENVIRONMENT
                                              "WEFT_EMU_SEED=2;WEFT_EMU_DEVICES=2")

# Fibres by themselves, switched by hand and by the C library.
foreach(switch CONTEXT UCONTEXT)
    string(TOLOWER emu_${switch}_test name)
    add_executable(${name} ${PROJECT_SOURCE_DIR}/tests/emu_context_test.cpp ${emu}/context.cpp)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_include_directories(${name} PRIVATE ${emu})
    target_compile_definitions(${name} PRIVATE EMU_${switch})
    target_compile_options(${name} PRIVATE ${emu_sanitize})
    target_link_options(${name} PRIVATE ${emu_sanitize})
    target_link_libraries(${name} PRIVATE weft_emu_flags)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 60 LABELS emu)
endforeach()

# Eight seeds for every program, two of each policy. `make test` runs one of them, each round of four
# another policy: label round_K has the runs of round K, and scripts/test.sh chooses the round; the
# other four seeds, of label later, are left to `make test-all`. With WHICH `even` or `odd`, as for one
# program over several numbers of devices or ranks, only rounds of that kind have a seed. With WHICH
# `two`, a round has seeds s and s + 2, one orderly policy and one wild, and four rounds run all
# eight; half of the programs have the two other policies. Labels half_0 and half_1 part the two seeds,
# for eight rounds of one seed each.
set(emu_seeds 0 1 2 3 4 5 6 7)
if(WEFT_SANITIZE)
    set(emu_seeds 2 3)
endif()
set(emu_programs 0)
function(weft_emu_runs_of which name program environment)
    foreach(seed IN LISTS emu_seeds)
        string(REPLACE "@SEED@" ${seed} arguments "${ARGN}")
        math(EXPR round "(${seed} % 2 + ${seed} / 4 * 2 + ${emu_programs}) % 4")
        math(EXPR half "(${seed} / 2 + ${emu_programs}) % 2")
        set(label "round_${round};half_${half}")
        if(NOT which STREQUAL "two" AND NOT WEFT_SANITIZE)
            math(EXPR round "(${seed} + ${emu_programs}) % 4")
            math(EXPR odd "${round} % 2")
            set(label round_${round})
            math(EXPR later "(${seed} / 4 + ${emu_programs}) % 2")
            if(later OR (odd AND which STREQUAL "even") OR (NOT odd AND which STREQUAL "odd"))
                set(label later)
            endif()
        endif()
        add_test(NAME ${name}_${seed} COMMAND ${program} ${arguments})
        set_tests_properties(
            ${name}_${seed} PROPERTIES TIMEOUT 600 LABELS "emu;${label}" ENVIRONMENT
                                       "WEFT_EMU_SEED=${seed};WEFT_TEST_SEED=${seed};${environment}")
    endforeach()
    math(EXPR programs "${emu_programs} + 1")
    set(emu_programs ${programs} PARENT_SCOPE)
endfunction()
macro(weft_emu_runs_as name program environment)
    weft_emu_runs_of(two ${name} ${program} "${environment}" ${ARGN})
endmacro()
macro(weft_emu_runs name environment)
    weft_emu_runs_as(${name} ${name} "${environment}" ${ARGN})
endmacro()

# One seed a round is enough, each round with another policy. Two, one orderly and one wild, have those in
# whose kernels blocks wait for each other's results (scans, select, sort and what is made of them), unless a
# run takes seven seconds and more of a core (sort_test, select_test, sort_limits_test). For climb_test,
# whose data are always the same, every second round has one.
set(emu_two
    group_columns_test
    group_keys_test
    group_test
    kernels_test
    scan_range_test
    scan_special_test
    scan_test
    scan_wide_test
    select_empty_test
    select_shared_test
    select_tiles_test
    sort_calls_test
    sort_depth_test
    sort_records_test
    sort_segments_test
    sort_top_k_test)
function(weft_emu_seeds_of result name)
    set(which one)
    if(name IN_LIST emu_two)
        set(which two)
    elseif(name STREQUAL climb_test)
        set(which odd)
    endif()
    set(${result} ${which} PARENT_SCOPE)
endfunction()

# Every test that opens each place runs here as well, if there are kernels beside it or it tells GPUs
# from other places; tests/kernels_test.cu and tests/faults_test.cu have kernels of their own.
set(emu_environment WEFT_TEST_PLACES=emu WEFT_TEST_MAX=17000 WEFT_TEST_BUDGET=1)
foreach(name kernels_test faults_test)
    weft_emu_kernels(weft_emu_${name} ${PROJECT_SOURCE_DIR}/tests/${name}.cu)
    target_include_directories(weft_emu_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(weft_emu_${name} PRIVATE PkgConfig::CMOCKA)
    weft_emu_program(emu_${name} $<TARGET_OBJECTS:weft_emu_${name}>
                     $<TARGET_OBJECTS:weft_emu_testing>)
    weft_emu_seeds_of(which ${name})
    weft_emu_runs_of(${which} emu_${name} emu_${name} "${emu_environment}")
endforeach()
foreach(source IN LISTS WEFT_TEST_C)
    get_filename_component(folder ${source} DIRECTORY)
    file(GLOB kernels ${folder}/*.cu)
    file(STRINGS ${source} places REGEX "TEST_ON_EACH_PLACE|test_each_place|TEST_GPU")
    file(STRINGS ${source} gpus REGEX "WI_CUDA|TEST_GPU|->gpu|WEFT_EMU")
    if(places AND (kernels OR gpus))
        get_filename_component(name ${source} NAME_WE)
        weft_for_emu(source ${name} ${source})
        weft_emu_program(emu_${name} ${source} $<TARGET_OBJECTS:weft_emu_testing>)
        weft_emu_seeds_of(which ${name})
        weft_emu_runs_of(${which} emu_${name} emu_${name} "${emu_environment}")
    endif()
endforeach()
weft_for_emu(same_program same_program ${same_program})
weft_emu_program(emu_same_program ${same_program})
foreach(source IN LISTS WEFT_EXAMPLES)
    get_filename_component(name ${source} NAME_WE)
    if(name MATCHES "^lesson")
        weft_emu_program(emu_${name} ${source})
    endif()
endforeach()
weft_for_emu(emu_dist_c dist_test ${dist_c})
weft_emu_program(emu_dist_test ${emu_dist_c} $<TARGET_OBJECTS:weft_emu_testing>)
weft_emu_runs_of(even emu_dist_test_1 emu_dist_test ASAN_OPTIONS=detect_leaks=0 mpi:emu)
foreach(seed IN LISTS emu_seeds) # without MPI there is no such place
    set_tests_properties(emu_dist_test_1_${seed} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
foreach(ranks IN LISTS dist_ranks)
    set(rounds odd)
    if(ranks EQUAL 7) # it takes as long as all others
        set(rounds even)
    endif()
    weft_emu_runs_of(${rounds} emu_dist_test_${ranks} ${MPIEXEC_EXECUTABLE} "${mpi_environment}" --oversubscribe
                     --bind-to none -np ${ranks} $<TARGET_FILE:emu_dist_test> mpi:emu)
    foreach(seed IN LISTS emu_seeds)
        set_tests_properties(emu_dist_test_${ranks}_${seed} PROPERTIES PROCESSORS 2)
    endforeach()
endforeach()
weft_dist_kills(emu_dist_test mpi:emu emu "sort;lu")
# Several GPUs in one process: 1 to 4, and 3 that do not reach each other.
set(rounds_of_devices - odd even odd even)
foreach(devices 1 2 3 4)
    list(GET rounds_of_devices ${devices} rounds)
    weft_emu_runs_of(${rounds} emu_dist_test_gpus_${devices} emu_dist_test
                     "WEFT_EMU_DEVICES=${devices}" emus)
endforeach()
# Sparse factors that GPUs share, with and without a way to each other's memory.
foreach(devices 2 3 4)
    list(GET rounds_of_devices ${devices} rounds)
    weft_emu_runs_of(${rounds} emu_chol_spread_test_gpus_${devices} emu_chol_spread_test
                     "${emu_environment};WEFT_EMU_DEVICES=${devices}")
endforeach()
weft_emu_runs_of(odd emu_chol_spread_test_gpus_apart emu_chol_spread_test
                 "${emu_environment};WEFT_EMU_DEVICES=3;WEFT_EMU_PEERS=0")
weft_emu_runs_as(emu_trace_test_gpus emu_trace_test "${emu_environment};WEFT_EMU_DEVICES=2")
weft_emu_runs_as(emu_links_test_gpus emu_links_test "${emu_environment};WEFT_EMU_DEVICES=3")
# Steps between GPUs by mailboxes.
foreach(devices 2 3 4)
    list(GET rounds_of_devices ${devices} rounds)
    weft_emu_runs_of(${rounds} emu_comm_mailbox_test_gpus_${devices} emu_comm_mailbox_test
                     "WEFT_EMU_DEVICES=${devices}")
endforeach()
weft_emu_runs_of(one emu_comm_mailbox_test_gpus_apart emu_comm_mailbox_test
                 "WEFT_EMU_DEVICES=2;WEFT_EMU_PEERS=0")
weft_emu_runs_of(odd emu_dist_test_gpus_mailbox emu_dist_test "WEFT_EMU_DEVICES=3;WEFT_MAILBOX=on" emus)
# Steps between GPUs by NCCL, for which a fake one stands in: in one process, and in three.
add_library(fake_nccl MODULE ${PROJECT_SOURCE_DIR}/tests/fake_nccl.c)
# Not weft_flags itself: it would bring a CUDA runtime of its own, and emu's is meant.
target_link_libraries(fake_nccl PRIVATE weft_emu_flags)
target_compile_options(fake_nccl PRIVATE $<TARGET_PROPERTY:weft_flags,INTERFACE_COMPILE_OPTIONS>)
target_compile_definitions(fake_nccl PRIVATE _POSIX_C_SOURCE=200809L)
target_include_directories(fake_nccl PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
set_target_properties(fake_nccl PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_dependencies(emu_comm_nccl_test fake_nccl)
weft_emu_runs_as(emu_comm_nccl_test_fake emu_comm_nccl_test
                 "WEFT_EMU_DEVICES=3;WEFT_NCCL=$<TARGET_FILE:fake_nccl>")
if(WEFT_MPI_ON AND MPIEXEC_EXECUTABLE)
    add_test(NAME emu_comm_nccl_test_mpi
             COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -np 3
                     $<TARGET_FILE:emu_comm_nccl_test> mpi)
    set_tests_properties(
        emu_comm_nccl_test_mpi
        PROPERTIES
            TIMEOUT 60 PROCESSORS 2 LABELS emu ENVIRONMENT
            "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;ASAN_OPTIONS=detect_leaks=0;WEFT_EMU_DEVICES=3;WEFT_NCCL=$<TARGET_FILE:fake_nccl>"
        )
endif()
weft_emu_runs_of(even emu_dist_test_gpus_apart emu_dist_test "WEFT_EMU_DEVICES=3;WEFT_EMU_PEERS=0" emus)
weft_for_emu(emu_cases weft_cases ${WEFT_CASES_C} ${all_cases})
foreach(test IN LISTS tests_of_cases)
    target_sources(emu_${test} PRIVATE ${emu_cases})
endforeach()

# The fuzzer of the public calls, for a fixed number of sessions.
weft_for_emu(emu_fuzz_c calls_fuzz ${PROJECT_SOURCE_DIR}/tests/fuzz/calls_fuzz.c
             ${PROJECT_SOURCE_DIR}/tests/fuzz/driver.c ${WEFT_FUZZ_CALLS_C})
weft_emu_program(emu_calls_fuzz ${emu_fuzz_c} $<TARGET_OBJECTS:weft_emu_testing>)
target_include_directories(emu_calls_fuzz PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz)
weft_emu_runs(emu_calls_fuzz "" - 5 @SEED@000)
target_link_options(emu_allocation_test PRIVATE ${wrapped} ${wrapped_cuda})
