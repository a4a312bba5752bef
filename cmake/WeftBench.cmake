# SPDX-License-Identifier: Apache-2.0
# Every bench/peers/NAME_peer.{c,cpp,cu} is one program that races a peer library against weft.

if(WEFT_BENCH)
    file(GLOB peers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/peers/*_peer.c)
    include(CheckLanguage)
    check_language(CXX)
    if(CMAKE_CXX_COMPILER)
        enable_language(CXX)
        file(GLOB cxx_peers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/peers/*_peer.cpp)
    endif()
    if(WEFT_CUDA_ON)
        file(GLOB cuda_peers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/peers/*_peer.cu)
    endif()
    foreach(source IN LISTS peers cxx_peers cuda_peers)
        get_filename_component(name ${source} NAME_WE)
        add_executable(${name} ${source} ${WEFT_CLIMB_OBJECTS})
        set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                 ${PROJECT_BINARY_DIR}/bench)
        target_link_libraries(${name} PRIVATE weft_static)
    endforeach()
endif()
