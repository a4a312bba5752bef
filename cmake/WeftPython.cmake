# SPDX-License-Identifier: Apache-2.0
# The Python package: its extension module, and for a wheel the library and the command beside it.
# WEFT_PYTHON_PACKAGE=ON: `cmake --install` installs the package, too, which uses the library that is
# installed with it. The module knows the library by name only and loads it when it is imported, so that it is built in
# a second, with any build of the library or none.

if(SKBUILD OR WEFT_PYTHON_PACKAGE) # what is asked for must be there
    find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
else()
    # The first python3 with numpy and pytest, which the tests need; else any.
    find_program(WEFT_PYTHON python3)
    mark_as_advanced(WEFT_PYTHON)
    foreach(candidate IN ITEMS ${WEFT_PYTHON} /usr/bin/python3)
        execute_process(COMMAND ${candidate} -c "import numpy, pytest" RESULT_VARIABLE missing
                        OUTPUT_QUIET ERROR_QUIET)
        if(missing EQUAL 0)
            set(Python_EXECUTABLE ${candidate})
            break()
        endif()
    endforeach()
    find_package(Python 3.11 QUIET COMPONENTS Interpreter Development.Module)
endif()
if(NOT Python_Development.Module_FOUND) # WeftSummary tells
    return()
endif()

file(GLOB python_c CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*.c)
add_library(weft_python MODULE EXCLUDE_FROM_ALL ${python_c})
set(python_package ${PROJECT_BINARY_DIR}/python/weft)
set_target_properties(
    weft_python PROPERTIES OUTPUT_NAME _core PREFIX "" SUFFIX .abi3.so LIBRARY_OUTPUT_DIRECTORY
                                                                       ${python_package})
target_include_directories(weft_python PRIVATE ${PROJECT_SOURCE_DIR}/include
                                               ${PROJECT_BINARY_DIR}/include)
target_include_directories(weft_python SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
target_compile_options(weft_python PRIVATE -Wall -Wextra -Wshadow -Wstrict-prototypes
                                           $<$<BOOL:${WEFT_WERROR}>:-Werror>)
target_link_libraries(weft_python PRIVATE ${CMAKE_DL_LIBS})

if(SKBUILD)
    # WEFT_PYTHON_ALONE=ON: a wheel without the library, which is then looked for on the system.
    add_custom_target(weft_wheel DEPENDS weft_python)
    install(TARGETS weft_python COMPONENT python LIBRARY DESTINATION weft)
    if(NOT WEFT_PYTHON_ALONE)
        add_dependencies(weft_wheel weft_shared weft_command)
        install(FILES $<TARGET_FILE:weft_shared> DESTINATION weft COMPONENT python
                RENAME $<TARGET_SONAME_FILE_NAME:weft_shared>)
        install(PROGRAMS $<TARGET_FILE:weft_command> DESTINATION weft/bin COMPONENT python)
    endif()
    return()
endif()

# The package in the build folder: the module, and links to the Python files.
set_target_properties(weft_python PROPERTIES EXCLUDE_FROM_ALL OFF)
file(GLOB python_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/weft/*.py)
foreach(source IN LISTS python_files)
    get_filename_component(name ${source} NAME)
    file(MAKE_DIRECTORY ${python_package})
    file(CREATE_LINK ${source} ${python_package}/${name} SYMBOLIC)
endforeach()

if(WEFT_PYTHON_PACKAGE)
    set(WEFT_PYTHON_FOLDER lib/python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}/site-packages
        CACHE STRING "Where in the prefix the Python package is installed")
    # The system finds libraries in /usr/lib by itself; elsewhere the module knows the way.
    if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
        file(RELATIVE_PATH way /${WEFT_PYTHON_FOLDER}/weft /${CMAKE_INSTALL_LIBDIR})
        set_target_properties(weft_python PROPERTIES INSTALL_RPATH "$ORIGIN/${way}")
    endif()
    install(TARGETS weft_python LIBRARY DESTINATION ${WEFT_PYTHON_FOLDER}/weft)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/weft DESTINATION ${WEFT_PYTHON_FOLDER}
            FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed"
            PATTERN "__pycache__" EXCLUDE)
    # What pip and importlib.metadata know of it
    set(facts ${PROJECT_BINARY_DIR}/python/METADATA)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/METADATA.in ${facts} @ONLY)
    install(FILES ${facts} DESTINATION ${WEFT_PYTHON_FOLDER}/weft-${PROJECT_VERSION}.dist-info)
endif()
