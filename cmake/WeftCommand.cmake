# SPDX-License-Identifier: Apache-2.0
# The command `weft`, linked with the static library so that it reaches internal symbols.

if(WEFT_CLI_C)
    set(cli_objects)
    if(WEFT_CLI_CUDA)
        add_library(weft_cli_kernels OBJECT ${WEFT_CLI_CUDA})
        target_link_libraries(weft_cli_kernels PRIVATE weft_flags)
        target_compile_options(weft_cli_kernels PRIVATE ${WEFT_KERNEL_OPTIONS})
        set(cli_objects $<TARGET_OBJECTS:weft_cli_kernels>)
    endif()
    add_executable(weft_command ${WEFT_CLI_C} ${WEFT_CLIMB_OBJECTS} ${cli_objects})
    set_target_properties(weft_command PROPERTIES OUTPUT_NAME weft LINKER_LANGUAGE C)
    target_link_libraries(weft_command PRIVATE weft_png weft_static)
endif()
