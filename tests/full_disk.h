/* SPDX-License-Identifier: Apache-2.0 */
/* A full disk, simulated for this process by a limit on the size of files. */
#ifndef WEFT_FULL_DISK_H
#define WEFT_FULL_DISK_H

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/resource.h>

/* From now on no file grows beyond so many bytes; RLIM_INFINITY: restores the limit. */
static inline void test_limit_files(rlim_t bytes) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    signal(SIGXFSZ, SIG_IGN); /* writes then fail instead of ending the process */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

#endif
