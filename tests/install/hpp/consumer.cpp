/* SPDX-License-Identifier: Apache-2.0 */
/* A C++ program that uses weft.hpp of an installed weft; the installation test compiles and runs
 * it.
 */
#include <iostream>
#include <vector>

#include <weft/weft.hpp>

int main() {
    try {
        weft::context ctx("cpu");
        std::vector<double> x = {3, 1, 2};
        weft::sort(ctx, WEFT_ASCENDING, x, x);
        std::cout << "weft " << weft::version() << ": the least is " << x[0] << '\n';
        return weft::sum(ctx, x) == 6 && x[0] == 1 ? 0 : 1;
    } catch (const weft::error &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
