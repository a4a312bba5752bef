# SPDX-License-Identifier: Apache-2.0
# The tests of weft.hpp, where there is a C++ compiler: as C++17 with exceptions, and as C++20
# without. tests/cxx_calls_test.sh looks at what the first refers to.

include(CheckLanguage)
check_language(CXX)
if(NOT CMAKE_CXX_COMPILER)
    return()
endif()
enable_language(CXX)

file(GLOB cxx_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cxx/*.cpp)
foreach(standard 17 20)
    set(name cxx${standard}_test)
    add_executable(${name} ${cxx_tests})
    set_target_properties(
        ${name} PROPERTIES CXX_STANDARD ${standard} CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
                           RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    # Templates, each used once: optimising them takes longer than running them.
    target_compile_options(${name} PRIVATE -O0 -Wall -Wextra -Wpedantic
                                           $<$<BOOL:${WEFT_WERROR}>:-Werror>)
    target_link_libraries(${name} PRIVATE weft_shared)
    if(NOT CMAKE_CXX_COMPILER_LAUNCHER) # ccache would not keep such objects
        target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include/weft/weft.hpp)
    endif()
    if(WEFT_SANITIZE)
        target_link_options(${name} PRIVATE ${sanitize})
    endif()
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 60)
endforeach()
target_compile_options(cxx20_test PRIVATE -fno-exceptions)
