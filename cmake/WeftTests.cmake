# SPDX-License-Identifier: Apache-2.0
# Every *_test.c is one cmocka program, every tests/*_test.sh one script; ctest runs them all.

add_library(weft_testing OBJECT ${PROJECT_SOURCE_DIR}/tests/testing.c
                                ${PROJECT_SOURCE_DIR}/tests/sweep.c)
target_link_libraries(weft_testing PRIVATE weft_flags PkgConfig::CMOCKA)
target_compile_options(weft_testing PRIVATE ${WEFT_LITTLE})

# What the tests are linked with: one shared library with all names, for a copy of all kernels in each
# of more than a hundred programs takes long to write. It calls its own functions directly.
add_library(weft_internal SHARED ${WEFT_OBJECTS} ${WEFT_CLIMB_OBJECTS}
                                 ${PROJECT_SOURCE_DIR}/src/io/png.c)
set_target_properties(weft_internal PROPERTIES LINKER_LANGUAGE C C_VISIBILITY_PRESET default
                                               LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_link_libraries(weft_internal PUBLIC weft_flags)
target_link_options(weft_internal PRIVATE -Wl,-Bsymbolic-functions)
if(PNG_FOUND)
    target_compile_definitions(weft_internal PRIVATE WEFT_PNG=1)
    target_link_libraries(weft_internal PRIVATE PNG::PNG)
endif()
if(TARGET weft_nested_object)
    add_dependencies(weft_internal weft_nested_object)
endif()
# The usual linker reads all of those names for each program; gold, where it is, takes a third to a half.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=gold WEFT_GOLD)
set(quick_link $<$<AND:$<BOOL:${WEFT_GOLD}>,$<NOT:$<BOOL:${WEFT_SANITIZE}>>>:-fuse-ld=gold>)
# Those that wrap functions of the library hold a copy, and those that call the CUDA runtime
# themselves: there is one runtime in a program.
set(tests_of_copies allocation_test chol_tops_test)

# Allocation failures are injected by wrapping every function that hands out memory.
set(wrapped malloc calloc realloc aligned_alloc posix_memalign free wi_host_map wi_host_unmap)
set(wrapped_cuda cudaMalloc cudaMallocAsync cudaMallocFromPoolAsync cudaMallocHost cudaHostAlloc
                 cudaFree cudaFreeAsync cudaFreeHost)
list(TRANSFORM wrapped PREPEND -Wl,--wrap=)
list(TRANSFORM wrapped_cuda PREPEND -Wl,--wrap=)

# The cases of the slices, SLICE_cases.c, for the two programs that test all calls.
set(declared)
set(listed)
foreach(source IN LISTS WEFT_CASES_C)
    get_filename_component(name ${source} NAME_WE)
    string(APPEND declared "extern const test_cases wi_${name};\n")
    string(APPEND listed "    &wi_${name},\n")
endforeach()
set(all_cases ${PROJECT_BINARY_DIR}/tests/all_cases.c)
file(CONFIGURE OUTPUT ${all_cases} CONTENT
     "#include \"cases.h\"\n${declared}const test_cases *const test_all_cases[] = {\n${listed}    NULL};\n")
set(tests_of_cases arguments_test allocation_test)
add_library(weft_cases OBJECT ${WEFT_CASES_C} ${all_cases})
target_include_directories(weft_cases PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(weft_cases PRIVATE weft_flags PkgConfig::CMOCKA)
target_compile_options(weft_cases PRIVATE ${WEFT_LITTLE})

foreach(source IN LISTS WEFT_TEST_C)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source} $<TARGET_OBJECTS:weft_testing>)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C RUNTIME_OUTPUT_DIRECTORY
                                             ${PROJECT_BINARY_DIR}/tests)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_compile_options(${name} PRIVATE ${WEFT_LITTLE})
    file(STRINGS ${source} runtime REGEX "[^a-z_]cuda[A-Z][A-Za-z]+\\(")
    if(runtime OR name IN_LIST tests_of_copies)
        target_sources(${name} PRIVATE ${WEFT_CLIMB_OBJECTS})
        target_link_libraries(${name} PRIVATE weft_png weft_static PkgConfig::CMOCKA)
    else()
        target_link_libraries(${name} PRIVATE weft_internal PkgConfig::CMOCKA)
        target_link_options(${name} PRIVATE ${quick_link})
    endif()
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 600)
    file(STRINGS ${source} times REGEX "CLOCK_MONOTONIC|wi_now\\(")
    if(times) # it has the machine to itself
        set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
    elseif(name MATCHES "^(chol|ldlt)_") # threads that wait for each other all the time
        set_tests_properties(${name} PROPERTIES PROCESSORS 2 COST 1000) # first, while both are free
    endif()
endforeach()
# The examples, built as a user's program would be, by public headers alone; run for a few steps. What
# the lessons print is compared by tests/lessons_test.sh.
file(GLOB WEFT_EXAMPLES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.c)
foreach(source IN LISTS WEFT_EXAMPLES)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C RUNTIME_OUTPUT_DIRECTORY
                                             ${PROJECT_BINARY_DIR}/examples)
    target_link_libraries(${name} PRIVATE weft_shared m)
    target_link_options(${name} PRIVATE ${sanitize}) # empty, unless the library is built so
endforeach()
add_test(NAME cnn_example COMMAND cnn --place cpu:2 --steps 60 --least 90)
set_tests_properties(cnn_example PROPERTIES TIMEOUT 600)
if(WEFT_MPI_ON AND MPIEXEC_EXECUTABLE)
    # two processes learn what one does
    add_test(NAME cnn_example_2 COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -np 2
                                        $<TARGET_FILE:cnn> --place mpi:cpu:1 --steps 40 --least 70)
    set_tests_properties(
        cnn_example_2
        PROPERTIES TIMEOUT 600 PROCESSORS 2 ENVIRONMENT
                   "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;ASAN_OPTIONS=detect_leaks=0")
endif()
# examples/job_*.c check their own results
foreach(job groups matrix table)
    add_test(NAME job_${job}_example COMMAND job_${job} cpu:2)
endforeach()

foreach(test IN LISTS tests_of_cases)
    target_sources(${test} PRIVATE $<TARGET_OBJECTS:weft_cases>)
endforeach()
if(TARGET allocation_test)
    target_link_options(allocation_test PRIVATE ${wrapped} $<$<BOOL:${WEFT_CUDA_ON}>:${wrapped_cuda}>)
endif()
if(TARGET chol_tops_test)
    target_link_options(chol_tops_test PRIVATE -Wl,--wrap=wi_dense_forward)
endif()

# A second oracle of exact sums, where it is installed.
find_path(WEFT_MPFR_INCLUDE mpfr.h)
find_library(WEFT_MPFR_LIBRARY mpfr)
mark_as_advanced(WEFT_MPFR_INCLUDE WEFT_MPFR_LIBRARY)
if(TARGET exact_mpfr_test AND WEFT_MPFR_INCLUDE AND WEFT_MPFR_LIBRARY)
    target_compile_definitions(exact_mpfr_test PRIVATE WEFT_MPFR=1)
    # gmp.h includes <limits.h>, which tests/limits.h must not stand for
    set_target_properties(exact_mpfr_test PROPERTIES INCLUDE_DIRECTORIES ${WEFT_MPFR_INCLUDE})
    target_compile_options(exact_mpfr_test PRIVATE "SHELL:-iquote ${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(exact_mpfr_test PRIVATE ${WEFT_MPFR_LIBRARY})
endif()
set_tests_properties(exact_mpfr_test PROPERTIES SKIP_RETURN_CODE 77)

# The calls over ranks: one program, run alone and by mpirun.
file(GLOB dist_c CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/dist/*.c)
set(dist_ranks 2 4 7)
set(mpirun ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none)
set(mpi_environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
                    ASAN_OPTIONS=detect_leaks=0) # MPI keeps some memory to the end
if(NOT WEFT_MPI_ON OR NOT MPIEXEC_EXECUTABLE)
    set(dist_ranks)
endif()
# Runs PROGRAM on place PLACE with a rank that dies in the middle of each of the operations KILLED.
# LABEL is empty or a label of ctest.
function(weft_dist_kills program place label killed)
    if(NOT dist_ranks)
        return()
    endif()
    foreach(op IN LISTS killed)
        add_test(NAME ${program}_killed_${op}
                 COMMAND ${mpirun} --enable-recovery -np 4 $<TARGET_FILE:${program}> ${place} kill
                         ${op})
        set_tests_properties(
            ${program}_killed_${op}
            PROPERTIES TIMEOUT 60 PROCESSORS 2 ENVIRONMENT "${mpi_environment}" LABELS "${label}"
                       PASS_REGULAR_EXPRESSION "survived.*survived.*survived"
                       FAIL_REGULAR_EXPRESSION "FAILED")
    endforeach()
endfunction()
if(WEFT_MPI_ON AND MPIEXEC_EXECUTABLE)
    add_test(NAME comm_mpi_test_3
             COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -np 3
                     $<TARGET_FILE:comm_mpi_test>)
    set_tests_properties(
        comm_mpi_test comm_mpi_test_3
        PROPERTIES TIMEOUT 60 ENVIRONMENT
                   "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;ASAN_OPTIONS=detect_leaks=0")
endif()
add_executable(dist_test ${dist_c} $<TARGET_OBJECTS:weft_testing>)
set_target_properties(dist_test PROPERTIES LINKER_LANGUAGE C RUNTIME_OUTPUT_DIRECTORY
                                           ${PROJECT_BINARY_DIR}/tests)
target_include_directories(dist_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(dist_test PRIVATE weft_internal PkgConfig::CMOCKA)
# alone and with several numbers of ranks, more than there are cores
add_test(NAME dist_test_1 COMMAND dist_test mpi:cpu:1)
set_tests_properties(dist_test_1 PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 ENVIRONMENT
                                            ASAN_OPTIONS=detect_leaks=0)
foreach(ranks IN LISTS dist_ranks)
    add_test(NAME dist_test_${ranks} COMMAND ${mpirun} -np ${ranks} $<TARGET_FILE:dist_test> mpi:cpu:1)
    set_tests_properties(dist_test_${ranks} PROPERTIES TIMEOUT 600 PROCESSORS 2 ENVIRONMENT
                                                       "${mpi_environment}")
endforeach()
weft_dist_kills(dist_test mpi:cpu:1 "" "sort;scan;reduce;gemm;lu;lu_grid;fft;nbody;sparse")
add_test(NAME dist_test_gpus COMMAND dist_test gpus)
set_tests_properties(dist_test_gpus PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)

# One program for all places; same_program_test.sh runs it.
set(same_program ${PROJECT_SOURCE_DIR}/tests/same/same_program.c)
add_executable(same_program ${same_program})
set_target_properties(same_program PROPERTIES LINKER_LANGUAGE C RUNTIME_OUTPUT_DIRECTORY
                                              ${PROJECT_BINARY_DIR}/tests)
target_link_libraries(same_program PRIVATE weft_internal)

# libweft_blas, by its own names.
if(TARGET weft_blas)
    add_executable(blas_test ${PROJECT_SOURCE_DIR}/blas/blas_test.c)
    set_target_properties(blas_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests
                                               ENABLE_EXPORTS ON)
    target_compile_definitions(blas_test PRIVATE _GNU_SOURCE)
    target_compile_options(blas_test PRIVATE -Wno-missing-prototypes)
    target_include_directories(blas_test PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(blas_test PRIVATE weft_blas PkgConfig::CMOCKA Threads::Threads m)
    target_link_options(blas_test PRIVATE ${sanitize})
    add_test(NAME blas_test COMMAND blas_test)
    set_tests_properties(blas_test PROPERTIES TIMEOUT 600 ENVIRONMENT WEFT_BLAS_PLACE=cpu:2)
endif()

# What kernels can do, launches of kernels among it, and how devices fail; on emu WeftEmu.cmake
# builds them once more. Where no GPU can run the latter it is read, as the library's kernels are; the
# former is assembled even there, for it has the instructions of src/cuda.
set(kernel_tests)
if(WEFT_CUDA_ON)
    set(kernel_tests kernels_test faults_test)
endif()
if(WEFT_CUDA_ONLY_READS)
    list(REMOVE_ITEM kernel_tests faults_test)
    add_library(weft_faults_seen OBJECT ${PROJECT_SOURCE_DIR}/tests/faults_test.cu)
    set_target_properties(weft_faults_seen PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
    target_include_directories(weft_faults_seen PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(weft_faults_seen PRIVATE weft_flags PkgConfig::CMOCKA)
    target_compile_options(weft_faults_seen PRIVATE ${WEFT_CUDA_ONLY_READS})
endif()
foreach(name IN LISTS kernel_tests)
    add_executable(${name} ${PROJECT_SOURCE_DIR}/tests/${name}.cu $<TARGET_OBJECTS:weft_testing>)
    set_target_properties(${name} PROPERTIES CUDA_SEPARABLE_COMPILATION ON RUNTIME_OUTPUT_DIRECTORY
                                                                           ${PROJECT_BINARY_DIR}/tests)
    weft_needs_machine_code(${name})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE weft_static PkgConfig::CMOCKA)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 600)
endforeach()

# A fixed number of runs of each fuzz target, without libFuzzer; WeftFuzz.cmake has the endless ones.
if(NOT WEFT_FUZZ)
    foreach(source IN LISTS WEFT_FUZZ_C)
        get_filename_component(name ${source} NAME_WE)
        string(REGEX REPLACE "_fuzz$" "" corpus ${name})
        add_executable(${name} ${source} ${PROJECT_SOURCE_DIR}/tests/fuzz/driver.c)
        set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                 ${PROJECT_BINARY_DIR}/tests)
        target_link_libraries(${name} PRIVATE weft_internal)
        if(name STREQUAL "calls_fuzz")
            weft_fuzz_calls(${name} $<TARGET_OBJECTS:weft_testing>)
            add_test(NAME ${name} COMMAND ${name} - 300)
        else()
            add_test(NAME ${name} COMMAND ${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/${corpus})
        endif()
        set_tests_properties(${name} PROPERTIES TIMEOUT 600)
    endforeach()
endif()

# What the scripts look at terminals with.
add_executable(terminal ${PROJECT_SOURCE_DIR}/tests/terminal.c)
set_target_properties(terminal PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_link_libraries(terminal PRIVATE weft_flags)

# Foreign programs cannot load a library that was built for the sanitizers.
if(WEFT_SANITIZE)
    list(FILTER WEFT_TEST_SH EXCLUDE REGEX "/(install|packaging|recipes|blas_testers|blas_numpy|docs)_test\\.sh$")
endif()
foreach(source IN LISTS WEFT_TEST_SH)
    get_filename_component(name ${source} NAME_WE)
    add_test(NAME ${name} COMMAND bash ${source})
    set_tests_properties(
        ${name}
        PROPERTIES
            TIMEOUT 600
            SKIP_RETURN_CODE 77
            ENVIRONMENT
            "WEFT=${PROJECT_BINARY_DIR}/weft;WEFT_BUILD=${PROJECT_BINARY_DIR};WEFT_SOURCE=${PROJECT_SOURCE_DIR};WEFT_PNG=$<BOOL:${PNG_FOUND}>;WEFT_MPI=$<BOOL:${WEFT_MPI_ON}>;MPIRUN=$<$<BOOL:${WEFT_MPI_ON}>:${MPIEXEC_EXECUTABLE}>;CC=${CMAKE_C_COMPILER};CMAKE=${CMAKE_COMMAND}"
    )
endforeach()

# The Python package, by pytest; and once more on place emu, where arrays are in device memory.
if(TARGET weft_python AND NOT WEFT_SANITIZE)
    function(weft_python_test name library)
        add_test(NAME ${name} COMMAND bash ${PROJECT_SOURCE_DIR}/python/tests/run.sh ${ARGN})
        set_tests_properties(
            ${name}
            PROPERTIES
                TIMEOUT 600
                SKIP_RETURN_CODE 77
                PROCESSORS 2
                ENVIRONMENT
                "PYTHON=${Python_EXECUTABLE};WEFT_LIBRARY=${PROJECT_BINARY_DIR}/${library};WEFT_COMMAND=${PROJECT_BINARY_DIR}/weft;PYTHONPATH=${PROJECT_BINARY_DIR}/python"
        )
    endfunction()
    weft_python_test(python_test libweft.so cpu:2)
    if(WEFT_EMU)
        weft_python_test(emu_python_test libweft_emu.so emu test_package.py)
    endif()
endif()

# Open MPI keeps the sessions of a user in one folder: an mpirun that ends removes it, while another one that
# begins counts on what it found, and fails. So each test has a folder of its own, which Open MPI makes.
function(weft_part_sessions)
    get_property(tests DIRECTORY PROPERTY TESTS)
    foreach(test IN LISTS tests)
        set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT
                     OMPI_MCA_orte_tmpdir_base=${PROJECT_BINARY_DIR}/sessions/${test})
    endforeach()
endfunction()
