# SPDX-License-Identifier: Apache-2.0
# Every tests/fuzz/NAME_fuzz.c is one libFuzzer target; tests/fuzz/NAME/ holds its seeds. Without
# libFuzzer the same source, built with a plain main, makes a fixed number of runs in ctest.
# calls_fuzz, that of the public calls, has no seeds: any bytes are a session of calls.

# Its oracles, and what it shares with the tests, whose object files are named.
function(weft_fuzz_calls name)
    target_sources(${name} PRIVATE ${WEFT_FUZZ_CALLS_C} ${ARGN})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests
                                               ${PROJECT_SOURCE_DIR}/tests/fuzz)
    target_link_libraries(${name} PRIVATE PkgConfig::CMOCKA)
    target_compile_options(${name} PRIVATE ${WEFT_LITTLE})
endfunction()

if(WEFT_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "WEFT_FUZZ needs clang: configure with CC=clang")
    endif()
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
    add_custom_target(weft_fuzzers)
    foreach(source IN LISTS WEFT_FUZZ_C)
        get_filename_component(name ${source} NAME_WE)
        add_executable(${name} ${source})
        set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                 ${PROJECT_BINARY_DIR}/fuzz)
        target_compile_definitions(${name} PRIVATE WEFT_FUZZ=1)
        target_link_libraries(${name} PRIVATE weft_png weft_static)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        if(name STREQUAL "calls_fuzz")
            weft_fuzz_calls(${name} ${PROJECT_SOURCE_DIR}/tests/testing.c
                            ${PROJECT_SOURCE_DIR}/tests/sweep.c)
        endif()
        add_dependencies(weft_fuzzers ${name})
    endforeach()
endif()
