# SPDX-License-Identifier: Apache-2.0
# libweft_blas: the names of BLAS, as a library of its own beside libweft, which it uses. It can stand
# in for libblas.so.3 or be preloaded.

file(GLOB blas_c CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/blas/*.c)
list(FILTER blas_c EXCLUDE REGEX "_test\\.c$")
add_library(weft_blas SHARED ${blas_c})
set_target_properties(
    weft_blas PROPERTIES LINKER_LANGUAGE C VERSION ${PROJECT_VERSION}
                         SOVERSION ${PROJECT_VERSION_MAJOR} INSTALL_RPATH "$ORIGIN")
target_compile_definitions(weft_blas PRIVATE $<TARGET_PROPERTY:weft_flags,INTERFACE_COMPILE_DEFINITIONS>)
target_compile_options(weft_blas PRIVATE $<TARGET_PROPERTY:weft_flags,INTERFACE_COMPILE_OPTIONS>)
# Its names are declared by cblas.h, which the system has, or by nobody.
target_compile_options(weft_blas PRIVATE -Wno-missing-prototypes)
target_link_libraries(weft_blas PRIVATE weft_shared Threads::Threads m)
add_library(weft::weft_blas ALIAS weft_blas)
