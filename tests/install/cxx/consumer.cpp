/* SPDX-License-Identifier: Apache-2.0 */
/* A C++ program that uses an installed weft; the installation test compiles and runs it. */
#include <cstdint>
#include <iostream>
#include <vector>

#include <weft/weft.h>

int main() {
    std::vector<std::int32_t> x(1000, 3), y(1000);
    weft_context *ctx = nullptr;
    weft_status status = weft_open(&ctx, "cpu");
    if (status == WEFT_OK)
        status = weft_add(ctx, WEFT_I32, x.size(), x.data(), x.data(), y.data());
    if (status != WEFT_OK)
        std::cerr << weft_status_name(status) << ": " << weft_message(ctx) << '\n';
    weft_close(ctx);
    std::cout << "weft " << weft_version() << ": y[999] " << y[999] << '\n';
    return status == WEFT_OK && y[999] == 6 ? 0 : 1;
}
