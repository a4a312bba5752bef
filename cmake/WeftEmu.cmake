# SPDX-License-Identifier: Apache-2.0
# The tests on place emu: the library once more, its kernels compiled for the CPU against emu/, which
# stands in for the CUDA runtime and the device language. Never installed.

enable_language(CXX)
set(emu ${PROJECT_SOURCE_DIR}/emu)
set(src ${PROJECT_SOURCE_DIR}/src)

file(GLOB emu_c CONFIGURE_DEPENDS ${src}/*/*.c)
list(FILTER emu_c EXCLUDE REGEX "(/src/cli/[^/]*|_(test|simd)\\.c|/core/gpu_none\\.c|/io/png\\.c)$")
file(GLOB emu_kernels CONFIGURE_DEPENDS ${src}/*/*.cu)
list(FILTER emu_kernels EXCLUDE REGEX "/src/cli/[^/]*$")
if(NOT WEFT_LADDER)
    list(FILTER emu_c EXCLUDE REGEX "_steps\\.c$")
    list(FILTER emu_kernels EXCLUDE REGEX "_steps\\.cu$")
endif()
file(GLOB emu_runtime CONFIGURE_DEPENDS ${emu}/*.cpp)

add_library(weft_emu_flags INTERFACE)
target_include_directories(weft_emu_flags BEFORE INTERFACE ${emu}/include)
target_compile_definitions(weft_emu_flags INTERFACE WEFT_CUDA=1 WEFT_EMU=1)
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
# addr2line takes a wrapper for what it includes, if told in DWARF 5.
set(emu_hooks "SHELL:-include cuda_runtime.h" -O1 -g1 -gdwarf-4 -fsanitize=thread
              -Wno-unknown-pragmas)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    list(APPEND emu_hooks -Wno-pass-failed "SHELL:-mllvm -tsan-distinguish-volatile=1"
         "SHELL:-mllvm -tsan-instrument-func-entry-exit=0")
else()
    list(APPEND emu_hooks "SHELL:--param tsan-distinguish-volatile=1"
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
    endforeach()
    add_library(${name} OBJECT ${wrappers})
    target_link_libraries(${name} PRIVATE weft_emu_flags weft_flags)
    target_compile_options(${name} PRIVATE ${emu_hooks} ${emu_sanitize_kernels})
endfunction()

weft_emu_kernels(weft_emu_kernels ${emu_kernels})
add_library(weft_emu_c OBJECT ${emu_c})
target_link_libraries(weft_emu_c PRIVATE weft_emu_flags weft_flags)
add_library(weft_emu_runtime OBJECT ${emu_runtime})
target_link_libraries(weft_emu_runtime PRIVATE weft_emu_flags)
target_compile_options(weft_emu_runtime PRIVATE -O2 -g1 ${emu_sanitize})

set(emu_simd)
foreach(isa IN LISTS isas)
    if(TARGET weft_simd_${isa})
        list(APPEND emu_simd $<TARGET_OBJECTS:weft_simd_${isa}> $<TARGET_OBJECTS:weft_climbs_${isa}>)
    endif()
endforeach()
add_library(weft_emu STATIC $<TARGET_OBJECTS:weft_emu_c> $<TARGET_OBJECTS:weft_emu_kernels>
                            $<TARGET_OBJECTS:weft_emu_runtime> ${emu_simd})
set_target_properties(weft_emu PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(weft_emu INTERFACE weft_emu_flags weft_flags)

# Every seed chooses its own schedules and its own data; four of them in turn take the policies
# in_order, reversed, random and starve.
add_library(weft_emu_testing OBJECT ${PROJECT_SOURCE_DIR}/tests/testing.c)
target_link_libraries(weft_emu_testing PRIVATE weft_emu_flags weft_flags PkgConfig::CMOCKA)

function(weft_emu_program name)
    add_executable(${name} ${ARGN})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY
                                             ${PROJECT_BINARY_DIR}/tests)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE weft_emu PkgConfig::CMOCKA)
endfunction()

weft_emu_kernels(weft_emu_bugs ${PROJECT_SOURCE_DIR}/tests/emu_bugs_test.cu)
target_include_directories(weft_emu_bugs PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(weft_emu_bugs PRIVATE PkgConfig::CMOCKA)
weft_emu_program(emu_bugs_test $<TARGET_OBJECTS:weft_emu_bugs>)
add_test(NAME emu_bugs_test COMMAND emu_bugs_test)
set_tests_properties(emu_bugs_test PROPERTIES TIMEOUT 60 LABELS emu ENVIRONMENT WEFT_EMU_SEED=2)

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

set(emu_seeds 0 1 2 3 4 5 6 7)
if(WEFT_SANITIZE)
    set(emu_seeds 2 3)
endif()
foreach(name kernels_test faults_test)
    weft_emu_kernels(weft_emu_${name} ${PROJECT_SOURCE_DIR}/tests/${name}.cu)
    target_include_directories(weft_emu_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(weft_emu_${name} PRIVATE PkgConfig::CMOCKA)
endforeach()
set(emu_tests
    kernels_test
    faults_test
    histogram/histogram_test
    map/map_test
    map/map_limits_test
    reduce/reduce_test
    reduce/reduce_special_test
    scan/scan_test
    scan/scan_special_test
    scan/scan_range_test
    select/select_test
    select/select_shared_test
    select/select_empty_test
    sort/sort_test
    sort/sort_arguments_test
    sort/sort_calls_test
    sort/sort_depth_test
    sort/sort_limits_test
    sparse/sparse_refusal_test
    core/stage_test
    core/call_test
    core/core_test
    core/gpu_test
    climb/climb_test
    ../tests/allocation_test
    ../tests/arguments_test
    ../tests/concurrency_test
    ../tests/disorder_test)
# One case in so many is run; tests that have few, or quick ones, run more of them.
set(emu_one_in 60)
set(emu_one_in_sort_test 30)
set(emu_one_in_sort_calls_test 4)
set(emu_one_in_allocation_test 100)
set(emu_one_in_disorder_test 4)
set(emu_one_in_select_shared_test 8)
foreach(test IN LISTS emu_tests)
    get_filename_component(name ${test} NAME)
    set(one_in ${emu_one_in})
    if(DEFINED emu_one_in_${name})
        set(one_in ${emu_one_in_${name}})
    endif()
    if(TARGET weft_emu_${name})
        set(source $<TARGET_OBJECTS:weft_emu_${name}>)
    else()
        set(source ${src}/${test}.c)
    endif()
    weft_emu_program(emu_${name} ${source} $<TARGET_OBJECTS:weft_emu_testing>)
    foreach(seed IN LISTS emu_seeds)
        add_test(NAME emu_${name}_${seed} COMMAND emu_${name})
        set_tests_properties(
            emu_${name}_${seed}
            PROPERTIES
                TIMEOUT 600
                LABELS emu
                ENVIRONMENT
                "WEFT_TEST_PLACES=emu;WEFT_EMU_SEED=${seed};WEFT_TEST_SEED=${seed};WEFT_TEST_MAX=10000;WEFT_TEST_ONE_IN=${one_in}"
        )
    endforeach()
endforeach()

# The fuzzer of the public calls, for a fixed number of sessions.
weft_emu_program(emu_calls_fuzz ${PROJECT_SOURCE_DIR}/tests/fuzz/calls_fuzz.c
                 ${PROJECT_SOURCE_DIR}/tests/fuzz/driver.c $<TARGET_OBJECTS:weft_emu_testing>)
weft_fuzz_calls(emu_calls_fuzz)
foreach(seed IN LISTS emu_seeds)
    add_test(NAME emu_calls_fuzz_${seed} COMMAND emu_calls_fuzz - 5 ${seed}000)
    set_tests_properties(emu_calls_fuzz_${seed} PROPERTIES TIMEOUT 600 LABELS emu ENVIRONMENT
                                                           WEFT_EMU_SEED=${seed})
endforeach()
target_link_options(emu_allocation_test PRIVATE ${wrapped} ${wrapped_cuda})
