/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of WI_LIMIT (src/cuda/limit.cuh), which a test on emu may change temporarily. */
#ifndef WEFT_LIMITS_H
#define WEFT_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef WEFT_EMU
extern unsigned wi_group;           /* tiles of a group of look-back: 1 ... 32 */
extern uint64_t wi_last_epoch;      /* launches until look-back clears its words: 1 ... */
extern unsigned wi_partition_looks; /* at counts of tiles, after which a block gives up: 1 ... */
extern unsigned wi_search_top;      /* keys of an index that a block keeps: 1 ... 4096 */
extern unsigned wi_search_near;     /* strides of x in which a warp searches together */
extern size_t wi_merge_few_tiles;   /* that find their ends themselves, at most */
extern size_t wi_portion_keys; /* keys that a pass of onesweep takes at a time: at least one tile */
extern size_t wi_large_from;   /* keys that onesweep sorts in large tiles */
extern uint64_t wi_sort_ranges_from; /* elements of each GPU from which on a sort partitions them */
extern unsigned wi_deal_looks;       /* tiles that a look back of it sees at once: 1 ... 32 */
extern double wi_sort_ranges_spare;  /* standard deviations for which a range has room */
extern unsigned wi_first_digit_bits; /* of keys whose first digits are the ranges: 1 ... 8 */
extern double wi_first_digit_most;   /* times the average share, that a digit may have */
extern uint64_t wi_first_digit_from; /* elements of each GPU from which on digits are ranges */
extern uint64_t wi_piece_chunk;      /* elements of such a range that a block counts */
extern unsigned wi_top_k_scanners;   /* threads that scan the tiles' counts: whole warps */
extern size_t wi_sort_gather_first;  /* the number of gather's first word */
extern size_t wi_gemm_panels_from;   /* bytes of host matrices that are multiplied in pieces */
extern size_t wi_gemm_panels_least;  /* rows and columns of a piece, at least */
extern int wi_gemm_only_tile_m;      /* with the next: the only tiles of `ring`; 0: any */
extern int wi_gemm_only_tile_n;
extern int wi_gemm_only_sent;         /* with both: are they sent to C? */
extern int wi_gemm_only_pair;         /* and do blocks work in pairs? */
extern size_t wi_gemm_least_written;  /* k from which on f64 that is only written is not carried */
extern size_t wi_gemm_least_lined;    /* sides and k from which 16-bit lines are aligned to 128 */
extern double wi_gemm_price_by_warps; /* factors of the cost of joining slices of k */
extern double wi_gemm_price_by_kernel;
extern size_t wi_gemm_few_least_steps;           /* of a slice of k, of few columns of f32 */
extern size_t wi_gemm_least_steps;               /* of a slice of k, of tiles */
extern size_t wi_gemm_narrow_least_pieces;       /* of k, of each warp of a slice */
extern size_t wi_gemm_narrow_least_f32_pieces;   /* of k, of a slice */
extern size_t wi_gemm_narrow_least_boxed_pieces; /* the same where the short factor is cut first: */
extern size_t wi_gemm_narrow_least_long;         /* rows of the long one at least, */
extern size_t wi_gemm_narrow_long_times;         /* and for each row of the short one */
extern size_t wi_gemm_narrow_least_deep;         /* k that is long where both are short */
extern size_t wi_gemm_thin_least_steps;          /* of a slice of k */
extern size_t wi_gemm_thin_many_slices;          /* that threads share */
extern size_t wi_gemv_wanted_blocks; /* of a product: with fewer its sums are cut into slices */
extern size_t wi_cholesky_columns_at_once; /* columns taken from the rest at once: panels of 64 */
extern size_t wi_cholesky_width;           /* columns of a block: a multiple of 64 */
extern size_t wi_cholesky_tail;            /* columns left to `flow` alone */
extern unsigned wi_cholesky_boxed;    /* columns before a tile's from which on boxes are used */
extern int wi_chol_flow_least;        /* columns from which on fronts are dense Cholesky's */
extern unsigned wi_cholesky_few;      /* rows of tiles whose pairs leave columns for later */
extern unsigned wi_cholesky_apart;    /* columns at the end of a matrix that go one by one, */
extern unsigned wi_cholesky_last;     /* and at the end of a block */
extern size_t wi_cholesky_chains;     /* that may wait at once: more of their clusters have room */
extern unsigned wi_cholesky_slots;    /* of 32 columns of three tiles: 4 or 2 */
extern size_t wi_gemm_batch_blocks;   /* blocks of a batch of products, which share its turns */
extern unsigned wi_group_scan_group;  /* tiles of a group of scans by segment: 1 ... 256 */
extern size_t wi_stretch_blocks;      /* blocks that walk stretches, at most */
extern size_t wi_mark_blocks;         /* the same with marks */
extern size_t wi_lane_blocks;         /* and with four segments for a lane */
extern size_t wi_places_compared;     /* elements of segments: with more these are merged */
extern unsigned wi_team_tile;         /* elements of what teams share out at a time */
extern size_t wi_end_blocks;          /* and where runs of keys end */
extern size_t wi_path_blocks;         /* blocks that walk paths, at most */
extern bool wi_fft_planes_small;      /* are 256 rows of 512 numbers a plane of one work? */
extern bool wi_fft_tall_small;        /* are 64 and 128 tall columns? */
extern size_t wi_fft_plain_from;      /* numbers of lines whose passes all go through memory */
extern size_t wi_conv_fft_bytes;      /* of spectra at a time: one image's at least */
extern size_t wi_summary_blocks;      /* the same of summary, */
extern size_t wi_expr_most_blocks;    /* and of expr */
extern size_t wi_fft_kept_bytes;      /* of intermediate results of a group of lines */
extern size_t wi_lu_dealt_width;      /* columns of a block that a GPU is dealt if it has many */
extern size_t wi_lu_resident_bytes;   /* of a host matrix: a larger one is streamed; 0: by memory */
extern size_t wi_scan_strip_elements; /* widened before they are scanned */
extern double wi_chol_share_from;     /* the work of a sparse factor that GPUs share */
extern size_t wi_chol_most_bytes;     /* of device memory that a sparse factor may take; 0: any */
extern unsigned wi_quantile_room_percent; /* of the keys that a bracket should hold */
#endif

#endif
