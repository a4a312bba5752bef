# SPDX-License-Identifier: Apache-2.0
# Kernels that launch kernels, *_nested_steps.cu: relocatable device code, a device link with CUDA's
# device runtime, and all of that made one plain object that shows nothing but wi_ symbols, and no
# sections that nvcc would link once more. So the other kernels stay as they are, and users of the
# libraries link what they always did.

if(WEFT_NESTED)
    add_library(weft_nested STATIC ${WEFT_NESTED} ${PROJECT_SOURCE_DIR}/src/cuda/nested/guards.c)
    set_target_properties(
        weft_nested PROPERTIES CUDA_SEPARABLE_COMPILATION ON CUDA_RESOLVE_DEVICE_SYMBOLS ON
                               POSITION_INDEPENDENT_CODE ON LINKER_LANGUAGE CUDA)
    weft_needs_machine_code(weft_nested)
    target_link_libraries(weft_nested PRIVATE weft_flags)
    target_compile_options(weft_nested
                           PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:${WEFT_KERNEL_OPTIONS}>)
    find_library(WEFT_DEVICE_RUNTIME cudadevrt HINTS ${CUDAToolkit_LIBRARY_DIR} REQUIRED
                 NO_CMAKE_FIND_ROOT_PATH)
    set(nested_object ${PROJECT_BINARY_DIR}/weft_nested.o)
    # Of the device runtime, which is linked by now, its code for each architecture that there is would
    # stay beside the linked kernels: a megabyte, for devices that these are not compiled for. An empty
    # set of kernels takes its place: sixteen bytes, a mark, a version and the sizes of header and rest.
    set(runtime cuda_device_runtime.o)
    set(none "printf '\\120\\355\\125\\272\\1\\0\\20\\0\\0\\0\\0\\0\\0\\0\\0\\0' >empty.fatbin")
    add_custom_command(
        OUTPUT ${nested_object}
        COMMAND sh -c ${none}
        COMMAND ${CMAKE_AR} x ${WEFT_DEVICE_RUNTIME} ${runtime}
        COMMAND ${CMAKE_OBJCOPY} --update-section __nv_relfatbin=empty.fatbin ${runtime}
        # Without groups: what is local in the end must not take the place of other objects' copies.
        COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${nested_object} --whole-archive
                $<TARGET_FILE:weft_nested> --no-whole-archive ${runtime}
        COMMAND
            ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=wi_* --rename-section
            __nv_relfatbin=wi_relfatbin --rename-section __nv_module_id=wi_module_id
            ${nested_object}
        DEPENDS weft_nested
        COMMENT "Linking the kernels that launch kernels"
        VERBATIM)
    # One target makes it, for both libraries wait for it.
    add_custom_target(weft_nested_object DEPENDS ${nested_object})
    set_source_files_properties(${nested_object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    list(APPEND WEFT_OBJECTS ${nested_object})
endif()
