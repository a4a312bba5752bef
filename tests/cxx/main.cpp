/* SPDX-License-Identifier: Apache-2.0 */
/* Runs every call of weft.hpp once, beside what it refuses. */
#include <array>
#include <cstring>

#include "check.hpp"

static void test_memory(weft::context &ctx) {
    auto b = OK(weft::buffer<double>::take(ctx, 5));
    CHECK(b.data() && b.size() == 5);
    const double from[] = {1, 2, 3, 4, 5};
    std::array<double, 5> to{};
    OK(weft::copy(ctx, b, from));
    auto moved = std::move(b);
    CHECK(!b.data() && moved.size() == 5);
    OK(weft::copy(ctx, to, moved));
    CHECK(to[0] == 1 && to[4] == 5);
    b = std::move(moved);
    CHECK(b.size() == 5);
    CHECK(OK(weft::buffer<int>::take(ctx, 0)).data() == nullptr);
    REFUSED(ctx, WEFT_ENOMEM, "weft_alloc", weft::buffer<double>::take(ctx, SIZE_MAX / 4));
    std::vector<double> few(4);
    REFUSED(ctx, WEFT_EARG, "weft::copy: to has 4 elements; pass at least 5",
            weft::copy(ctx, few, from));
}

void test_core(weft::context &ctx) {
    CHECK(std::strcmp(ctx.place(), "cpu:2") == 0);
    CHECK(ctx.rank() == 0 && ctx.ranks() == 1 && *ctx.comm() == '\0');
    CHECK(OK(ctx.own_count(7)) == 7);
    CHECK(std::strcmp(weft::name(WEFT_EARG), "WEFT_EARG") == 0);
    CHECK(std::strcmp(weft::name(WEFT_BF16), "bf16") == 0 && weft::size_of(WEFT_BF16) == 2);
    CHECK(weft::to_float(weft::to_f16(1.5F)) == 1.5F && weft::to_float(weft::to_bf16(-2)) == -2);
    CHECK(*weft::version() != '\0');
    static_assert(weft::type_of<const long> == (sizeof(long) == 8 ? WEFT_I64 : WEFT_I32));
    static_assert(weft::type_of<bool> == WEFT_U8 && weft::type_of<weft_f16> == WEFT_F16);

    const std::vector<int> x = {3, 1, 2};
    std::vector<int> y(3);
    OK(ctx.use("sort", "serial_radix"));
    OK(weft::sort(ctx, WEFT_ASCENDING, x, y));
    CHECK(std::strcmp(ctx.used("sort"), "serial_radix") == 0);
    OK(ctx.use("sort", nullptr));
    OK(ctx.set_tuning(nullptr));
    OK(ctx.set_stream(nullptr));
    OK(ctx.trace_begin("/dev/null"));
    OK(ctx.trace_end());
    OK(ctx.sync());
    REFUSED(ctx, WEFT_EARG, "nothing", ctx.use("nothing", "serial"));
    REFUSED(ctx, WEFT_EARG, "y has 3", weft::sort(ctx, WEFT_ASCENDING, std::vector<int>(4), y));
}

static void count_errors(void *user, weft_status, const char *) {
    ++*static_cast<int *>(user);
}

static void test_hooks(weft::context &ctx) {
    int errors = 0;
    OK(ctx.on_error(count_errors, &errors));
    REFUSED(ctx, WEFT_EARG, "nothing", ctx.use("nothing", "serial"));
    CHECK(errors == 1);
    OK(ctx.on_error(nullptr, nullptr));
    weft::context closed;
    REFUSED(closed, WEFT_EARG, "blocks", weft::set_allocator(nullptr));
}

static void test_open() {
    auto ctx = OK(weft::context::open("cpu:1"));
    weft::context moved = std::move(ctx);
    CHECK(ctx.get() == nullptr && moved.get());
    weft_context *const raw = moved; /* as calls of C take it */
    CHECK(std::strcmp(weft_place(raw), "cpu:1") == 0);
    weft::context closed;
    REFUSED(closed, WEFT_EARG, "nowhere", weft::context::open("nowhere"));
    REFUSED(closed, WEFT_EARG, "comm", weft::context::open_mpi("mpi", nullptr));
#ifndef WEFT_NO_EXCEPTIONS
    CHECK(std::strcmp(weft::context("cpu:3").place(), "cpu:3") == 0);
    CHECK(*weft::context(nullptr).place());
#endif
}

int main() {
    test_open();
    auto ctx = OK(weft::context::open("cpu:2"));
    test_memory(ctx);
    test_core(ctx);
    test_hooks(ctx);
    test_elements(ctx);
    test_reduce(ctx);
    test_order(ctx);
    test_dense(ctx);
    test_sparse(ctx);
    test_signals(ctx);
    test_nn(ctx);
    std::printf("weft.hpp: every call ran\n");
    return 0;
}
