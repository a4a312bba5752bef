! SPDX-License-Identifier: Apache-2.0
! The functions of refusal.c.
module weft_refusal
    implicit none
    interface
        subroutine set_refusal(text) bind(c, name='weft_fortran_set_refusal')
            use, intrinsic :: iso_c_binding, only: c_char
            implicit none
            character(kind=c_char), intent(in) :: text(*)
        end subroutine set_refusal
        function refusal() bind(c, name='weft_fortran_refusal')
            use, intrinsic :: iso_c_binding, only: c_ptr
            implicit none
            type(c_ptr) :: refusal
        end function refusal
    end interface
end module weft_refusal
