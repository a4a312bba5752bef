# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: libraries, headers, command, pkg-config files, CMake package,
# manual pages, shell completions.

include(CMakePackageConfigHelpers)
set(WEFT_CMAKE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

install(TARGETS weft_shared EXPORT weftSharedTargets)
if(TARGET weft_blas)
    install(TARGETS weft_blas EXPORT weftSharedTargets)
endif()
install(TARGETS weft_static EXPORT weftStaticTargets)
set(exports Shared Static)
if(WEFT_FORTRAN_ON)
    install(TARGETS weft_fortran EXPORT weftFortranTargets)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/fortran/modules/
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/fortran FILES_MATCHING PATTERN "*.mod")
    list(APPEND exports Fortran)
endif()
foreach(kind IN LISTS exports)
    install(EXPORT weft${kind}Targets NAMESPACE weft:: DESTINATION ${WEFT_CMAKE_FOLDER})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weft ${PROJECT_BINARY_DIR}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

# The pkg-config files name what the archive needs beside itself.
set(private_libraries -lm -lpthread -ldl)
if(WEFT_METIS_ON)
    list(PREPEND private_libraries -lmetis)
endif()
if(WEFT_OPENACC_ON)
    list(PREPEND private_libraries -lgomp)
endif()
if(WEFT_OPENACC_NVPTX) # a program linked with the archive is where its code for GPUs is made
    list(PREPEND private_libraries ${WEFT_OPENACC_FLAGS})
endif()
if(WEFT_MPI_ON)
    list(PREPEND private_libraries ${MPI_C_LIBRARIES})
endif()
if(WEFT_CUDA_ON)
    list(PREPEND private_libraries -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt)
endif()
list(REMOVE_DUPLICATES private_libraries)
list(JOIN private_libraries " " WEFT_PRIVATE_LIBRARIES)
file(RELATIVE_PATH WEFT_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
     ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" WEFT_PREFIX_FROM_PC "${WEFT_PREFIX_FROM_PC}")
set(packages weft weft-static)
if(TARGET weft_blas)
    list(APPEND packages weft_blas)
endif()
if(WEFT_FORTRAN_ON)
    list(APPEND packages weft_fortran)
endif()
foreach(pc IN LISTS packages)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${pc}.pc.in ${PROJECT_BINARY_DIR}/${pc}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${pc}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/weftConfig.cmake.in ${PROJECT_BINARY_DIR}/weftConfig.cmake
    INSTALL_DESTINATION ${WEFT_CMAKE_FOLDER} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
        DESTINATION ${WEFT_CMAKE_FOLDER})

# What is there to read, and to compile.
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Manual pages of the calls come from the headers, those of the command from the command.
file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/weft/*.h)
set(man_script ${PROJECT_SOURCE_DIR}/scripts/man3.sh)
add_custom_command(
    OUTPUT man/man3/weft.3
    COMMAND ${man_script} man/man3 ${PROJECT_VERSION} ${public_headers}
    DEPENDS ${man_script} ${PROJECT_SOURCE_DIR}/scripts/headers.awk
            ${PROJECT_SOURCE_DIR}/scripts/man3.awk ${public_headers}
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
    COMMENT "Writing the manual pages of the library"
    VERBATIM)
add_custom_target(weft_man3 ALL DEPENDS man/man3/weft.3)
install(DIRECTORY ${PROJECT_BINARY_DIR}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR})

if(TARGET weft_command AND NOT CMAKE_CROSSCOMPILING)
    install(TARGETS weft_command)
    add_custom_command(
        OUTPUT man/man1/weft.1 completions/weft.bash completions/_weft completions/weft.fish
        COMMAND ${CMAKE_COMMAND} -E make_directory man/man1 completions
        COMMAND weft_command help --man > man/man1/weft.1
        COMMAND weft_command help --completion bash > completions/weft.bash
        COMMAND weft_command help --completion zsh > completions/_weft
        COMMAND weft_command help --completion fish > completions/weft.fish
        DEPENDS weft_command
        WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
        COMMENT "Writing the manual page and the completions of the command"
        VERBATIM)
    add_custom_target(weft_command_docs ALL DEPENDS man/man1/weft.1)
    set(completions ${PROJECT_BINARY_DIR}/completions)
    install(FILES ${PROJECT_BINARY_DIR}/man/man1/weft.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${completions}/weft.bash RENAME weft
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${completions}/_weft DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${completions}/weft.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

# `make tarball`: all that is installed, in one archive, to be unpacked anywhere.
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_FILE_NAME weft-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
