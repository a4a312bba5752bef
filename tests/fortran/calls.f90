! SPDX-License-Identifier: Apache-2.0
! Runs the typed calls of module weft, some for every kind, and what they refuse.
program calls
    use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
    use weft
    implicit none
    type(c_ptr) :: ctx
    integer(c_int) :: stat

    call weft_open(ctx, 'nowhere', stat)
    call check(stat == WEFT_EARG .and. index(weft_message(ctx), 'nowhere') > 0, 'a wrong place')
    call weft_open(ctx, 'cpu:2')
    call check(weft_place(ctx) == 'cpu:2' .and. weft_comm(ctx) == '', 'place')
    call check(weft_status_name(WEFT_EARG) == 'WEFT_EARG' .and. weft_type_name(WEFT_F64) == 'f64', 'names')
    call check(len(weft_version()) >= 5, 'version')
    call test_maps
    call test_reductions
    call test_order
    call test_matrices
    call test_pointers
    call test_sparse
    call weft_sync(ctx)
    call weft_close(ctx)
    print '(a)', 'module weft: every call ran'

contains

    subroutine check(holds, what)
        logical, intent(in) :: holds
        character(*), intent(in) :: what
        if (.not. holds) then
            print '(2a)', 'failed: ', what
            error stop 1
        end if
    end subroutine check

    subroutine test_maps
        integer(int8) :: i8(3) = [1_int8, 2_int8, 3_int8]
        integer(int16) :: i16(3) = [1_int16, 2_int16, 3_int16]
        integer(int32) :: i32(3) = [1, 2, 3]
        integer(int64) :: i64(3) = [1_int64, 2_int64, 3_int64]
        real(real32) :: f32(3) = [1., 2., 3.], wide(6)
        real(real64) :: f64(3) = [1., 2., 3.]
        call weft_add(ctx, i8, i8, i8)
        call weft_add(ctx, i16, i16, i16)
        call weft_add(ctx, i32, i32, i32)
        call weft_add(ctx, i64, i64, i64)
        call weft_add(ctx, f32, f32, f32)
        call weft_add(ctx, f64, f64, f64)
        call check(i8(3) == 6 .and. i16(3) == 6 .and. i32(3) == 6 .and. i64(3) == 6 .and. &
                   f32(3) == 6 .and. f64(3) == 6, 'add')
        call weft_axpy(ctx, 0.5_real64, f64, f64, stat)
        call check(stat == WEFT_EARG .or. stat == WEFT_OK, 'axpy in place')
        call weft_fill(ctx, 7_int16, i16)
        call weft_iota(ctx, 10_int64, 5_int64, i64)
        call check(all(i16 == 7) .and. i64(3) == 20, 'fill, iota')
        wide = 0
        call weft_fill(ctx, 1.0_real32, wide(1:6:2)) ! a section with gaps is copied there and back
        call check(all(wide == [1, 0, 1, 0, 1, 0]), 'a section')
        call weft_add(ctx, f32, f32(1:2), f32, stat)
        call check(stat == WEFT_EARG, 'a short array')
        call check(weft_message(ctx) == 'weft_add: y or z has 2 elements; pass at least 3', 'its message')
        call weft_random_uniform(ctx, 7_int64, 0_int64, f32)
        call weft_random_normal(ctx, 7_int64, 0_int64, f64)
        call check(all(f32 >= 0 .and. f32 < 1) .and. all(abs(f64) < 9), 'random')
        call check(weft_type_of(i8) == WEFT_I8 .and. weft_type_of(f64(1)) == WEFT_F64 .and. &
                   weft_type_of(reshape(wide, [2, 3])) == WEFT_F32, 'type_of')
    end subroutine test_maps

    subroutine test_reductions
        integer(int16) :: x(4) = [5_int16, -2_int16, 9_int16, 9_int16]
        real(real32) :: f(2) = [3., 4.], f_value
        real(real64) :: d_value, q(2), many(100001)
        integer(int16) :: small
        integer(int64) :: sum
        type(weft_statistics) :: s
        call weft_reduce(ctx, WEFT_SUM, x, sum)
        call weft_reduce(ctx, WEFT_MAX, x, small)
        call weft_reduce(ctx, WEFT_NRM2, f, f_value)
        call check(sum == 21 .and. small == 9 .and. f_value == 5, 'reduce')
        call weft_reduce(ctx, WEFT_ARGMIN, x, sum)
        call check(sum == 1, 'positions count from 0')
        call weft_reduce(ctx, WEFT_SUM, x, d_value, stat)
        call check(stat == WEFT_EARG .and. index(weft_message(ctx), 'value is of f64; make it of i64') > 0, &
                   'a result of another type')
        many = 0.1_real64
        many(1) = 1e16_real64
        many(100001) = -1e16_real64
        call weft_exact_reduce(ctx, WEFT_SUM, many, d_value)
        call check(abs(d_value - 9999.9_real64) < 1e-8_real64, 'exact sum')
        call weft_exact_reduce(ctx, WEFT_SUM, f, d_value)
        call weft_dot(ctx, f, f, f_value)
        call check(d_value == 7 .and. f_value == 25, 'exact sum in a wider type, dot')
        call weft_summary(ctx, x, s)
        call check(s%count == 4 .and. s%max_at == 2 .and. s%mean == 5.25_real64, 'summary')
        call weft_quantiles(ctx, WEFT_LINEAR, x, [0.0_real64, 0.5_real64], q)
        call check(q(1) == -2 .and. q(2) == 7, 'quantiles')
    end subroutine test_reductions

    subroutine test_order
        real(real64) :: x(4) = [3., 1., 2., 1.], y(4), top(2)
        integer(int32) :: i32(4), cumulated(4)
        integer(int64) :: i64(4), at(2), count
        call weft_scan(ctx, WEFT_INCLUSIVE, WEFT_SUM, [1, 2, 3, 4], cumulated)
        call check(all(cumulated == [1, 3, 6, 10]), 'scan')
        call weft_sort(ctx, WEFT_DESCENDING, x, y)
        call check(all(y == [3, 2, 1, 1]) .and. x(2) == 1, 'sort')
        call weft_sort_indices(ctx, WEFT_ASCENDING, x, i32)
        call weft_sort_indices(ctx, WEFT_ASCENDING, x, i64)
        call check(all(i32 == [1, 3, 2, 0]) .and. all(i64 == i32), 'sort_indices')
        call weft_top_k(ctx, WEFT_DESCENDING, x, top, at)
        call check(all(top == [3, 2]) .and. all(at == [0, 2]), 'top_k')
        call weft_sort(ctx, WEFT_ASCENDING, x)
        call weft_search(ctx, WEFT_LOWER, WEFT_ASCENDING, x, [2.0_real64, 9.0_real64], at)
        call check(all(at == [2, 4]), 'search')
        call weft_unique(ctx, x, y, count)
        call check(count == 3 .and. all(y(1:3) == [1, 2, 3]), 'unique')
        call weft_select(ctx, weft_when(WEFT_BETWEEN, 2.0_real64, 3.0_real64), x, y, count)
        call check(count == 2 .and. all(y(1:2) == [2, 3]), 'select')
        call weft_select(ctx, weft_when(WEFT_GT, 1_int32), x, y, count, stat)
        call check(stat == WEFT_EARG .and. index(weft_message(ctx), 'is of i32; make it of f64') > 0, &
                   'a predicate of another type')
    end subroutine test_order

    subroutine test_matrices
        real(real64) :: a(2, 2), b(2, 1), x(2, 1), one(2), c(2, 3)
        real(real32) :: f(2, 2), y(2)
        integer(int64) :: pivot(2)
        type(weft_report) :: report
        complex(real32) :: z(4) = [1., 2., 3., 4.], w(4)
        a = reshape([real(real64) :: 4, 2, 2, 5], [2, 2])
        b(:, 1) = [8, 9]
        call weft_solve(ctx, 0, a, b, x, report=report)
        call check(close_to(x, 1.375_real64, 1.25_real64) .and. report%backward_error < 1e-15_real64 .and. &
                   report%n == 2, 'solve')
        call weft_solve(ctx, WEFT_TRANSPOSE_A, a, b(:, 1), one)
        call check(abs(one(1) - 1.375_real64) < 1e-14_real64, 'solve of one right-hand side')
        call weft_solve_spd(ctx, 0, a, b, x)
        call check(close_to(x, 1.375_real64, 1.25_real64), 'solve_spd')
        call weft_gemm(ctx, 0, 1.0_real64, a, reshape([real(real64) :: 1, 0, 0, 1, 1, 1], [2, 3]), 0.0_real64, c)
        call check(all(c(:, 3) == [6, 7]), 'gemm')
        call weft_gemm(ctx, 0, 1.0_real64, c, a, 0.0_real64, a, stat)
        call check(stat == WEFT_EARG .and. index(weft_message(ctx), 'inner extent') > 0, 'gemm of wrong shapes')
        call weft_gemm(ctx, WEFT_ROW_MAJOR, 1.0_real64, a, b, 0.0_real64, x, stat)
        call check(stat == WEFT_EARG .and. index(weft_message(ctx), 'by columns') > 0, 'gemm by rows')
        f = reshape([1., 2., 3., 4.], [2, 2])
        call weft_gemv(ctx, WEFT_TRANSPOSE_A, 1.0_real64, f, [1., 1.], 0.0_real64, y)
        call check(all(y == [3, 7]), 'gemv')
        x = b
        call weft_lu_factor(ctx, 0, a, pivot)
        call weft_lu_solve(ctx, 0, a, pivot, x)
        call check(close_to(x, 1.375_real64, 1.25_real64), 'lu')
        a = reshape([real(real64) :: 4, 2, 2, 5], [2, 2])
        x = b
        call weft_cholesky_factor(ctx, 0, a)
        call weft_cholesky_solve(ctx, 0, a, x)
        call check(close_to(x, 1.375_real64, 1.25_real64), 'cholesky')
        call weft_fft(ctx, WEFT_FFT_FORWARD, z, w)
        call check(abs(w(1) - 10) < 1e-5 .and. abs(w(2) - (-2, 2)) < 1e-5, 'fft')
        a = 1
        call weft_solve(ctx, 0, a, b, x, stat)
        call check(stat == WEFT_ESINGULAR .and. index(weft_message(ctx), 'column 1') > 0, 'singular')
    end subroutine test_matrices

    logical function close_to(x, first, second)
        real(real64), intent(in) :: x(2, 1), first, second
        close_to = maxval(abs(x(:, 1) - [first, second])) < 1e-14_real64
    end function close_to

    ! Memory of the place, by the calls of C.
    subroutine test_pointers
        type(c_ptr) :: memory
        real(real32), pointer, contiguous :: x(:)
        real(real32) :: host(3) = [5., 6., 7.], total
        call check(weft_alloc(ctx, memory, 12_c_size_t) == WEFT_OK, 'alloc')
        call c_f_pointer(memory, x, [3])
        call check(weft_copy(ctx, x, host, 12_c_size_t) == WEFT_OK, 'copy')
        call weft_exact_reduce(ctx, WEFT_SUM, x, total)
        call check(total == 18, 'sum of memory of the place')
        call check(weft_free(ctx, memory) == WEFT_OK, 'free')
    end subroutine test_pointers

    ! The functions of module weft_c, for what has no typed call.
    subroutine test_sparse
        type(c_ptr) :: a, plan
        type(weft_chol_report) :: report
        integer(int32) :: row(3) = [0, 1, 1], col(3) = [0, 0, 1]
        real(real64) :: value(3) = [4., 2., 5.], b(2) = [8., 9.]
        call check(weft_sparse_create_triplets(ctx, a, WEFT_SYMMETRIC_LOWER, 2_c_size_t, 2_c_size_t, &
                                               3_c_size_t, WEFT_I32, row, col, value) == WEFT_OK, 'create')
        call check(weft_sparse_entries(a) == 3 .and. weft_sparse_is_symmetric(a) == 1, 'facts')
        call check(weft_chol_analyze(ctx, a, plan=plan) == WEFT_OK, 'analyze, without options')
        call check(weft_chol_factor(ctx, plan, a) == WEFT_OK, 'factor')
        call check(weft_chol_solve(ctx, plan, a, n=1_c_size_t, b=b, ldb=2_c_size_t, x=b, ldx=2_c_size_t) &
                   == WEFT_OK, 'solve')
        report%size = c_sizeof(report)
        call check(weft_chol_get_report(ctx, plan, report) == WEFT_OK .and. report%n == 2, 'report')
        call check(abs(b(1) - 1.375_real64) < 1e-14_real64, 'sparse solution')
        call weft_chol_destroy(plan)
        call weft_sparse_destroy(a)
    end subroutine test_sparse
end program calls
