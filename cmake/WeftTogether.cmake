# SPDX-License-Identifier: Apache-2.0
# Kernel files that are compiled together. A compiler needs half a second and more for a file with
# nothing in it, and what two files share it would compile twice; so each line below is one source,
# which includes these files. Their names at file scope must differ. A file that is in no line is
# compiled by itself.

# Where kernels are only seen to compile, and on place emu. Beside a file with code of its own for 8.0
# (`guarded` in WeftCuda.cmake) nvcc makes code of the whole line, where it would only read the others:
# that suits a few small ones (lu_panel's), and none of fft's eight.
set(weft_groups
    "blend_cuda blend_cuda_steps"
    "cholesky_blocks cholesky_cuda cholesky_cuda_steps cholesky_panel cholesky_panels cholesky_streamed"
    "cholesky_step trsm_chain"
    "links_cuda meter_cuda roof_cuda roof_link_cuda"
    "convolve_cuda convolve_cuda_steps convolve_cuda_tiles"
    "exact_cuda exact_cuda_steps exact_cuda_windows"
    "exact_scan_cuda_begin exact_scan_cuda_wide exact_segments_cuda"
    "exact_scan_cuda_bulk exact_scan_cuda_lanes"
    "expr_cuda expr_cuda_steps expr_reduce_cuda expr_reduce_cuda_steps map_cuda_steps quantile_cuda"
    "fft_any fft_any_large fft_chirp fft_chirp_long fft_cuda_moves fft_cuda_steps fft_cyclic fft_fused fft_known"
    "gather_columns_cuda gather_cuda gather_cuda_steps"
    "gemm_batch_cuda gemm_cuda gemm_cuda_i8 gemm_panels syrk_cuda"
    "gemm_batch_cuda_f32 gemm_cuda_tf32 gemv_cuda_steps syrk_cuda_steps"
    "gemm_batch_cuda_f64 trmm_cuda"
    "gemm_cuda_f32 ger_cuda gemm_thin_tf32"
    "gemm_cuda_f64 trsm_cuda"
    "gemm_cuda_half gemm_cuda_steps gemm_outer"
    "gemm_align gemm_few gemm_small gemm_thin_f32 gemm_thin_half"
    "transpose_cuda ger_cuda_steps syrk_cuda_f32"
    "gemv_cuda transpose_cuda_steps triangle_cuda_steps"
    "gemm_ring_i8 gemm_ring_tf32 gemm_ring_parts"
    "gemm_small_f64 gemm_thin_f64 syrk_cuda_f64"
    "group_cuda_steps group_heads group_scan_cuda"
    "group_runs_bulk group_scan_bulk"
    "histogram_cuda histogram_cuda_cached histogram_cuda_packed histogram_cuda_partitioned"
    "lu_apply lu_columns lu_cuda lu_cuda_steps lu_narrow lu_permute lu_streamed lu_swap_cuda lu_window host_panels"
    "lu_panel lu_substitute lu_update"
    "nbody_cuda nbody_cuda_moves nbody_cuda_steps nbody_cuda_tree"
    "conv_cuda conv_fft conv_implicit_f32 conv_implicit_f64 conv_moves conv_narrow conv_tensor_half conv_tensor_tf32 conv_unrolled"
    "layers_cuda layers_double layers_pixels layers_pool_planes"
    "layers_channels layers_resample"
    "conv_ring_half conv_ring_tf32"
    "random_cuda random_cuda_steps"
    "scan_cuda_lookback scan_cuda_steps"
    "select_cuda select_cuda_lookback select_cuda_steps"
    "solve_batch_cuda solve_batch_f32 solve_batch_f64 solve_cuda solve_exact_cuda solve_mix_cuda solve_residual_cuda solve_streamed solve_survey_cuda"
    "sort_cuda_gather sort_cuda_merge sort_cuda_ranges sort_cuda_search"
    "sort_cuda_onesweep sort_cuda_segments"
    "sort_cuda_records sort_cuda_record_runs sort_cuda_steps sort_cuda_top_k"
    "chol_assemble chol_cuda chol_cuda_steps chol_fronts chol_map chol_panels chol_together"
    "chol_peers chol_solve_cuda chol_stream chol_substitute chol_values ldlt_panels")

# Where nvcc only sees kernels to compile, these sources are joined once more, each named by its first
# file: it takes 2 to 3 s for what all of them include. The files of a line need have no more in
# common than that they are of one kind: read for 8.0 alone, read for both, or with code of their own.
set(weft_seen_groups
    # read for 8.0
    "group_cuda sort_cuda_onesweep summary_cuda"
    "convolve_cuda_rows reduce_cuda"
    "solve_batch_cuda layers_windows"
    "sort_cuda_gather sort_cuda_pieces"
    "exact_cuda gather_columns_cuda"
    # read for 8.0 and 9.0
    "fft_any gemm_cuda_f32 gemm_batch_cuda_f64"
    "gemm_align gemm_cuda_f64 fft_cuda"
    "layers_channels gpu_words"
    "gemm_small_f64 cholesky_step"
    # with code of their own for 8.0
    "cholesky_flow fft_whole group_runs_bulk"
    "scan_cuda_bulk fft_clusters fft_filling"
    "select_cuda_bulk fft_tall fft_columns"
    # for 9.0a
    "gemm_ring_i8 conv_ring_half gemm_ring_narrow")

# Where kernels are run: small files whose kernels one call runs together. A driver that has no machine
# code for a device compiles all of a source when a kernel of it is first run, so large files, and
# those of different calls, stay by themselves; so do rungs that teach. All files of a line are of one
# kind, with or without code of their own for 9.0 (weft_share_ptx), and have the machine code that
# they would have alone.
set(weft_run_groups
    "cholesky_blocks cholesky_cuda cholesky_panels cholesky_streamed"
    "lu_apply lu_columns lu_cuda lu_narrow lu_permute lu_streamed lu_swap_cuda lu_window host_panels"
    "solve_cuda solve_streamed solve_survey_cuda")

# In the list named `list`, puts one source, in the folder `into`, in place of the files of each line of `lines`.
function(weft_together list lines into)
    set(sources ${${list}})
    foreach(source IN LISTS sources)
        string(REGEX REPLACE "^.*/|\\.cu$" "" stem ${source})
        set(source_of_${stem} ${source})
    endforeach()
    foreach(line IN LISTS ${lines})
        separate_arguments(stems UNIX_COMMAND ${line})
        set(group)
        foreach(stem IN LISTS stems)
            list(APPEND group ${source_of_${stem}}) # nothing, if the list has no such file
        endforeach()
        list(LENGTH group many)
        if(many GREATER 1)
            list(SORT group)
            list(TRANSFORM group REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE content)
            list(JOIN content "" content)
            list(GET stems 0 first)
            list(GET group 0 folder)
            cmake_path(GET folder PARENT_PATH folder)
            cmake_path(GET folder FILENAME slice)
            set(joined ${PROJECT_BINARY_DIR}/together/${into}/${slice}/${first}.cu) # as size.sh wants it
            file(CONFIGURE OUTPUT ${joined} CONTENT "${content}")
            list(REMOVE_ITEM sources ${group})
            set(files)
            foreach(source IN LISTS group) # some of which may have been joined before
                get_property(parts GLOBAL PROPERTY WEFT_TOGETHER_${source})
                if(NOT parts)
                    set(parts ${source})
                endif()
                list(APPEND files ${parts})
            endforeach()
            set_property(GLOBAL PROPERTY WEFT_TOGETHER_${joined} "${files}")
            list(APPEND sources ${joined})
        endif()
    endforeach()
    set(${list} ${sources} PARENT_SCOPE)
endfunction()
