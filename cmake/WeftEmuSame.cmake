# SPDX-License-Identifier: Apache-2.0
# C files that are the same for place emu as for the library and its tests are compiled once, for both.
# A file is not the same if it, or what it includes, says WEFT_EMU or includes a header of CUDA.

set(other_on_emu "WEFT_EMU|<cuda")
if(NOT WEFT_RING_KERNELS) # emu has kernels in every build
    string(APPEND other_on_emu "|WEFT_CUDA|WEFT_RING")
endif()
set(include_folders ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests
                    ${PROJECT_SOURCE_DIR}/tests/fuzz)

# Sets RESULT to the file that FILE includes as NAMED, or to nothing.
function(weft_included result file named)
    cmake_path(GET file PARENT_PATH beside)
    foreach(folder IN LISTS beside include_folders)
        if(EXISTS ${folder}/${named})
            cmake_path(SET included NORMALIZE ${folder}/${named})
            set(${result} ${included} PARENT_SCOPE)
            return()
        endif()
    endforeach()
    set(${result} PARENT_SCOPE)
endfunction()

# Sets RESULT to whether FILE is another one on emu; each file is read once.
function(weft_differs_on_emu result file)
    get_property(differs GLOBAL PROPERTY WEFT_DIFFERS_${file})
    if("${differs}" STREQUAL "")
        set(differs OFF)
        set_property(GLOBAL PROPERTY WEFT_DIFFERS_${file} OFF) # if files include each other
        file(STRINGS ${file} lines REGEX "^# *include \"|${other_on_emu}")
        foreach(line IN LISTS lines)
            if(line MATCHES "${other_on_emu}")
                set(differs ON)
            elseif(line MATCHES "\"(.+)\"")
                weft_included(included ${file} ${CMAKE_MATCH_1})
                if(included)
                    weft_differs_on_emu(differs ${included})
                endif()
            endif()
            if(differs)
                break()
            endif()
        endforeach()
        set_property(GLOBAL PROPERTY WEFT_DIFFERS_${file} ${differs})
    endif()
    set(${result} ${differs} PARENT_SCOPE)
endfunction()

# Sets RESULT to what an emu target compiles or links for the sources ARGN: those that differ, and the
# objects that TARGET has of the others. In those the name WEFT_EMU is an error (emu/same.h).
function(weft_for_emu result target)
    set(own ${ARGN})
    set(not_ours)
    get_target_property(theirs ${target} SOURCES)
    list(FILTER theirs INCLUDE REGEX "[.]c$")
    foreach(source IN LISTS theirs)
        weft_differs_on_emu(differs ${source})
        if(differs OR NOT source IN_LIST own)
            string(REGEX REPLACE ".*/([^/]+/[^/]+)$" "\\1" name ${source})
            list(APPEND not_ours ${name})
        else()
            list(REMOVE_ITEM own ${source})
            set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS
                                                          -include${emu}/same.h)
        endif()
    endforeach()
    list(LENGTH theirs all)
    list(LENGTH not_ours left_out)
    if(left_out LESS all)
        list(JOIN not_ours "|" not_ours)
        string(REPLACE "." "[.]" not_ours "${not_ours}")
        list(APPEND own "$<FILTER:$<TARGET_OBJECTS:${target}>,EXCLUDE,/(${not_ours})[.]o$>")
    endif()
    set(${result} ${own} PARENT_SCOPE)
endfunction()
