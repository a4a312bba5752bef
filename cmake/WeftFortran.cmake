# SPDX-License-Identifier: Apache-2.0
# Module weft for Fortran, where there is a compiler: weft_c comes from the C headers, weft from
# templates, once for each kind. docs/languages.md.

set(WEFT_FORTRAN_ON OFF)
if(WEFT_FORTRAN STREQUAL "OFF" OR WEFT_SANITIZE OR WEFT_FUZZ)
    return()
endif()
include(CheckLanguage)
check_language(Fortran)
if(CMAKE_Fortran_COMPILER)
    enable_language(Fortran)
    set(WEFT_FORTRAN_ON ON)
elseif(NOT WEFT_FORTRAN STREQUAL "AUTO")
    message(FATAL_ERROR "WEFT_FORTRAN is ON, but there is no Fortran compiler: install gfortran")
else()
    return()
endif()

set(fortran ${PROJECT_SOURCE_DIR}/fortran)
set(made ${PROJECT_BINARY_DIR}/fortran)
set(every_kind i8 i16 i32 i64 f32 f64)
set(float_kinds f32 f64)
set(kind_i8 "integer(int8)")
set(kind_i16 "integer(int16)")
set(kind_i32 "integer(int32)")
set(kind_i64 "integer(int64)")
set(kind_f32 "real(real32)")
set(kind_f64 "real(real64)")

# Fills a template in for the kinds given, and lists what `weft.f90.in` must say of it: a generic for
# each of its procedures, named NAME_KIND, and the call of C behind it.
set(INCLUDES)
set(GENERICS)
set(PRIVATE)
set(renamed open use sync message place used comm version status_name type_name reduce_type)
function(weft_fortran_kinds template)
    foreach(S IN LISTS ARGN)
        set(KIND ${kind_${S}})
        string(TOUPPER ${S} T)
        string(REGEX REPLACE "real\\((.*)\\)" "\\1" COMPLEX ${KIND})
        configure_file(${fortran}/${template}.f90.in ${made}/${template}_${S}.inc @ONLY)
        string(APPEND INCLUDES "    include '${template}_${S}.inc'\n")
    endforeach()
    file(STRINGS ${fortran}/${template}.f90.in procedures REGEX "^(pure )?(subroutine|function)")
    foreach(line IN LISTS procedures)
        string(REGEX MATCH "[a-z0-9_]+_@S@" procedure ${line})
        string(REPLACE "_@S@" "" procedure ${procedure})
        string(REGEX REPLACE "_(i32|i64|in_place|one)$" "" name ${procedure})
        set(of_kinds)
        foreach(S IN LISTS ARGN)
            list(APPEND of_kinds ${procedure}_${S})
        endforeach()
        list(JOIN of_kinds ", " of_kinds)
        string(APPEND PRIVATE "    private :: ${of_kinds}\n")
        if(NOT name MATCHES "^(type_of|when)$")
            list(APPEND renamed ${name})
        endif()
        string(APPEND GENERICS
               "    interface weft_${name}\n        module procedure ${of_kinds}\n    end interface\n")
    endforeach()
    foreach(list INCLUDES GENERICS PRIVATE renamed)
        set(${list} "${${list}}" PARENT_SCOPE)
    endforeach()
endfunction()
weft_fortran_kinds(typed ${every_kind})
weft_fortran_kinds(floats ${float_kinds})
list(REMOVE_DUPLICATES renamed)
list(TRANSFORM renamed REPLACE "(.+)" "        raw_\\1 => weft_\\1")
list(JOIN renamed ", &\n" RENAMED)
configure_file(${fortran}/weft.f90.in ${made}/weft.f90 @ONLY)

add_custom_command(
    OUTPUT ${made}/weft_c.f90
    COMMAND awk -f ${fortran}/bindings.awk ${c_headers} > ${made}/weft_c.f90
    DEPENDS ${fortran}/bindings.awk ${c_headers}
    COMMENT "Writing the Fortran bindings of the library"
    VERBATIM)
add_library(weft_fortran STATIC ${made}/weft_c.f90 ${made}/weft.f90
                                ${fortran}/refusal.f90 ${fortran}/refusal.c)
set_target_properties(weft_fortran PROPERTIES Fortran_MODULE_DIRECTORY ${made}/modules LINKER_LANGUAGE
                                              Fortran)
target_compile_options(
    weft_fortran PRIVATE $<$<COMPILE_LANG_AND_ID:Fortran,GNU>:-std=f2018 -ffree-line-length-none -Wall
                         $<$<BOOL:${WEFT_WERROR}>:-Werror>>)
target_include_directories(weft_fortran PUBLIC $<BUILD_INTERFACE:${made}/modules>
                                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/weft/fortran>)
target_link_libraries(weft_fortran PUBLIC weft_shared)

# The tests; and the example, built as a user's program would be.
if(WEFT_TESTS_ON)
    enable_testing()
    foreach(program tests/fortran/calls examples/first)
        get_filename_component(name ${program} NAME)
        add_executable(fortran_${name}_test ${PROJECT_SOURCE_DIR}/${program}.f90)
        set_target_properties(
            fortran_${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests
                                            Fortran_MODULE_DIRECTORY ${made}/${name})
        target_link_libraries(fortran_${name}_test PRIVATE weft_fortran)
        add_test(NAME fortran_${name}_test COMMAND fortran_${name}_test)
        set_tests_properties(fortran_${name}_test PROPERTIES TIMEOUT 60)
    endforeach()
    set_tests_properties(
        fortran_first_test
        PROPERTIES PASS_REGULAR_EXPRESSION
                   "sorted:  1.0  1.0  3.0  4.0  5.0   sum: 14.0   3 are 3 or more.*0.800 1.400.*WEFT_ESINGULAR: weft_solve: ")
endif()
