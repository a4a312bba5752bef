! SPDX-License-Identifier: Apache-2.0
! weft from Fortran: sorts, sums and solves, on the place that the first argument names.
!     gfortran first.f90 $(pkg-config --cflags --libs weft_fortran) -o first && ./first cpu:2
program first
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use weft
    implicit none
    integer, parameter :: n = 5
    type(c_ptr) :: ctx
    type(weft_report) :: report
    real(real64) :: x(n) = [3, 1, 4, 1, 5], kept(n), total, a(2, 2), b(2)
    integer(int64) :: count
    integer(c_int) :: stat
    character(64) :: place

    place = 'cpu'
    if (command_argument_count() > 0) call get_command_argument(1, place)
    call weft_open(ctx, trim(place))

    call weft_sort(ctx, WEFT_ASCENDING, x)
    call weft_exact_reduce(ctx, WEFT_SUM, x, total)
    call weft_select(ctx, weft_when(WEFT_GE, 3.0_real64), x, kept, count)
    print '(a, 5f5.1, a, f5.1, a, i0, a)', 'sorted:', x, '   sum:', total, '   ', count, ' are 3 or more'

    a = reshape([real(real64) :: 2, 1, 1, 3], [2, 2])
    call weft_solve(ctx, 0, a, [3.0_real64, 5.0_real64], b, report=report)
    print '(a, 2f6.3, a, es8.1)', 'solution:', b, '   backward error:', report%backward_error

    ! A call that may fail gives its status, if it is asked for.
    a = 1
    call weft_solve(ctx, 0, a, [1.0_real64, 2.0_real64], b, stat)
    print '(a, ": ", a)', weft_status_name(stat), weft_message(ctx)
    call weft_close(ctx)
end program first
