# SPDX-License-Identifier: Apache-2.0
# The command `weft`, linked with the static library so that it reaches internal symbols. In a wheel,
# which has no room for all kernels twice, it is a part of the library, and bin/weft calls it there.

if(WEFT_CLI_C)
    set(cli_objects)
    if(WEFT_CLI_CUDA)
        add_library(weft_cli_kernels OBJECT ${WEFT_CLI_CUDA})
        target_link_libraries(weft_cli_kernels PRIVATE weft_flags)
        target_compile_options(weft_cli_kernels PRIVATE ${WEFT_KERNEL_OPTIONS})
        set(cli_objects $<TARGET_OBJECTS:weft_cli_kernels>)
    endif()
    if(SKBUILD)
        target_sources(weft_shared PRIVATE ${WEFT_CLI_C} ${PROJECT_SOURCE_DIR}/src/io/png.c
                                           ${WEFT_CLIMB_OBJECTS} ${cli_objects})
        set_source_files_properties(
            ${PROJECT_SOURCE_DIR}/src/cli/main.c
            PROPERTIES COMPILE_DEFINITIONS main=weft_command_main
                       COMPILE_OPTIONS "-fvisibility=default;-Wno-missing-prototypes")
        add_executable(weft_command ${PROJECT_SOURCE_DIR}/python/src/command/main.c)
        set_target_properties(weft_command PROPERTIES INSTALL_RPATH "$ORIGIN/.."
                                                      BUILD_WITH_INSTALL_RPATH ON)
        target_link_libraries(weft_command PRIVATE weft_shared)
    else()
        add_executable(weft_command ${WEFT_CLI_C} ${WEFT_CLIMB_OBJECTS} ${cli_objects})
        target_link_libraries(weft_command PRIVATE weft_png weft_static)
    endif()
    set_target_properties(weft_command PROPERTIES OUTPUT_NAME weft LINKER_LANGUAGE C)
endif()
