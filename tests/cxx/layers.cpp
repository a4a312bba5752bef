/* SPDX-License-Identifier: Apache-2.0 */
/* weft.hpp: transforms, filters, bodies and the layers of networks. */
#include <complex>
#include <cstdint>

#include "check.hpp"

using std::vector;

static void test_fft(weft::context &ctx) {
    weft_fft_description d = {};
    d.rank = 1;
    d.n[0] = 4;
    d.batch = 1;
    const vector<std::complex<float>> x = {1, 2, 3, 4};
    vector<std::complex<float>> y(4);
    OK(weft::fft(ctx, d, x, y));
    CHECK(near(y[0].real(), 10) && near(y[1].imag(), 2));
    OK(weft::fft(ctx, d, y, y));
    CHECK(near(y[1].real(), 16));
    d.kind = WEFT_FFT_REAL_TO_COMPLEX;
    const vector<double> real = {1, 2, 3, 4};
    vector<std::complex<double>> half(3);
    OK(weft::fft(ctx, d, real, half));
    CHECK(near(half[2].real(), -2));
    REFUSED(ctx, WEFT_EARG, "y has 2 elements; pass at least 3",
            weft::fft(ctx, d, real, vector<std::complex<double>>(2)));
    REFUSED(ctx, WEFT_EARG, "y has 1 numbers in an element",
            weft::fft(ctx, d, real, vector<double>(9)));
    d.type = WEFT_F64;
    OK(weft::fft_prepare(ctx, d));
    CHECK(OK(weft::fft_bytes(ctx, d)).y_bytes == 48);
}

static void test_images(weft::context &ctx) {
    weft_convolution c = {};
    c.width = 3;
    c.height = 1;
    c.channels = c.images = 1;
    const double box[] = {1, 1, 1};
    c.filter_width = 3;
    c.filter_height = 1;
    c.filter = box;
    const vector<std::uint8_t> x = {1, 2, 3};
    vector<float> y(3);
    OK(weft::convolve(ctx, c, x, y));
    CHECK(y[0] == 3 && y[1] == 6 && y[2] == 5);
    c.height = 2;
    c.ldy = 4;
    REFUSED(ctx, WEFT_EARG, "x has 3 elements; pass at least 6", weft::convolve(ctx, c, x, y));
    vector<float> rows(7);
    REFUSED(ctx, WEFT_EARG, "y has 6 elements; pass at least 7",
            weft::convolve(ctx, c, vector<std::uint8_t>(6), vector<float>(6)));
    OK(weft::convolve(ctx, c, vector<std::uint8_t>(6), rows));
    c.border = WEFT_BORDER_VALID; /* a column is left */
    c.images = 2;
    c.apart_y = 3;
    REFUSED(ctx, WEFT_EARG, "y has 16 elements; pass at least 17",
            weft::convolve(ctx, c, vector<std::uint8_t>(12), vector<float>(16)));
    OK(weft::convolve(ctx, c, vector<std::uint8_t>(12), vector<float>(17)));
    weft_blending b = {};
    b.width = 3;
    b.height = b.channels = 1;
    b.weight_a = 2;
    b.weight_b = -1;
    vector<float> z(3);
    OK(weft::blend(ctx, b, y, y, weft::none, z));
    CHECK(z == y);
    OK(weft::blend(ctx, b, y, vector<float>{1, 1, 1}, vector<float>{0, 1, 0.5F}, z));
    CHECK(z[0] == 1 && z[1] == 6 && z[2] == 3);
    const vector<float> few(2);
    REFUSED(ctx, WEFT_EARG, "a has 2 elements; pass at least 3",
            weft::blend(ctx, b, few, y, weft::none, z));
    REFUSED(ctx, WEFT_EARG, "b has 2", weft::blend(ctx, b, y, few, weft::none, z));
    REFUSED(ctx, WEFT_EARG, "mask has 2", weft::blend(ctx, b, y, y, few, z));
    b.ldout = 9;
    b.height = 2;
    REFUSED(ctx, WEFT_EARG, "out has 11 elements; pass at least 12",
            weft::blend(ctx, b, vector<float>(6), vector<float>(6), weft::none, vector<float>(11)));
}

static void test_bodies(weft::context &ctx) {
    weft_nbody system = {};
    vector<double> x = {0, 0, 0, 1, 0, 0}, v(6), a(6), phi(2);
    const vector<double> m = {1, 3};
    double error = -1;
    OK(weft::nbody_accelerations(ctx, system, x, m, a, phi, &error));
    CHECK(near(a[0], 3) && near(a[3], -1) && near(phi[0], -3) && error < 1e-12);
    const vector<double> with_masses = {0, 0, 0, 1, 1, 0, 0, 3};
    OK(weft::nbody_accelerations(ctx, system, with_masses, weft::none, a, weft::none));
    CHECK(near(a[3], -1));
    OK(weft::nbody_step(ctx, system, 1e-3, 2, x, m, v));
    CHECK(v[0] > 0 && v[3] < 0);
    CHECK(near(OK(weft::nbody_energy(ctx, system, x, m, v)).potential, -3, 1e-3));
}

void test_signals(weft::context &ctx) {
    test_fft(ctx);
    test_images(ctx);
    test_bodies(ctx);
}

/* ---- layers ---- */

static void test_convolutions(weft::context &ctx) {
    const weft_images x = weft::images<float>(WEFT_NCHW, 1, 1, 2, 2);
    weft_conv conv = {};
    conv.filters = 1;
    conv.kernel_h = conv.kernel_w = 2;
    const vector<float> image = {1, 2, 3, 4}, filter = {1, 0, 0, 1};
    vector<float> y(1), dx(4), df(4);
    CHECK(OK(weft::conv_output(ctx, x, conv)).h == 1);
    OK(weft::conv_forward(ctx, x, conv, image, filter, y));
    CHECK(near(y[0], 5));
    OK(weft::conv_backward_data(ctx, x, conv, y, filter, dx));
    CHECK(near(dx[0], 5) && near(dx[1], 0));
    OK(weft::conv_backward_weights(ctx, x, conv, image, y, df));
    CHECK(near(df[3], 20));
    REFUSED(ctx, WEFT_EARG, "f has 3",
            weft::conv_forward(ctx, x, conv, image, vector<float>(3), y));

    weft_pool pool = {};
    pool.kernel_h = pool.kernel_w = 2;
    CHECK(OK(weft::pool_output(ctx, x, pool)).w == 1);
    OK(weft::pool_forward(ctx, x, pool, image, y));
    CHECK(y[0] == 4);
    OK(weft::pool_backward(ctx, x, pool, image, y, dx));
    CHECK(dx[0] == 0 && dx[3] == 4);
    pool.kind = WEFT_POOL_AVERAGE;
    OK(weft::pool_backward(ctx, x, pool, weft::none, y, dx));
    CHECK(dx[0] == 1);
    vector<float> up(16);
    OK(weft::upsample_forward(ctx, x, WEFT_NEAREST, 4, 4, image, up));
    CHECK(up[1] == 1 && up[15] == 4);
    OK(weft::upsample_backward(ctx, x, WEFT_NEAREST, 4, 4, up, dx));
    CHECK(dx[3] == 16);
}

static void test_dense_layers(weft::context &ctx) {
    const weft_images x = weft::images<double>(WEFT_NHWC, 1, 2, 1, 2);
    const vector<double> image = {1, 2, 3, 4};
    vector<double> y(4), two(2), dx(4);
    OK(weft::bias_forward(ctx, x, image, vector<double>{10, 20}, y));
    CHECK(y[0] == 11 && y[3] == 24);
    OK(weft::bias_backward(ctx, x, image, two));
    CHECK(two[0] == 4 && two[1] == 6);
    OK(weft::activation_forward(ctx, WEFT_RELU, vector<double>{-1, 2}, two));
    CHECK(two[0] == 0 && two[1] == 2);
    OK(weft::activation_backward(ctx, WEFT_RELU, two, vector<double>{5, 5}, dx));
    CHECK(dx[0] == 0 && dx[1] == 5);
    OK(weft::softmax_forward(ctx, 2, vector<double>{1, 1}, two));
    REFUSED(ctx, WEFT_EARG, "x has 3 elements; pass a multiple of 2",
            weft::softmax_forward(ctx, 2, vector<double>(3), vector<double>(3)));
    std::uint64_t counts[512];
    REFUSED(ctx, WEFT_EARG, "x has 3 elements; pass a multiple of 2",
            weft::histogram(ctx, 2, vector<std::uint8_t>(3), nullptr, WEFT_OVERWRITE, counts));
    CHECK(near(two[0], 0.5));
    const vector<std::int32_t> label = {1};
    OK(weft::cross_entropy_forward(ctx, 2, vector<double>{1, 1}, label, two));
    CHECK(near(two[0], std::log(2)));
    OK(weft::cross_entropy_backward(ctx, 2, 1, vector<double>{1, 1}, label, dx));
    CHECK(near(dx[0], 0.5) && near(dx[1], -0.5));
}

static void test_training(weft::context &ctx) {
    const weft_images x = weft::images<double>(WEFT_NHWC, 1, 1, 1, 2);
    const vector<double> image = {1, 3}, one = {1}, zero = {0};
    vector<double> y(2), mean(1), inverse(1), dx(2), dscale(1), dshift(1);
    OK(weft::batch_norm_forward(ctx, x, 1e-9, 0.1, image, one, zero, y, mean, inverse, weft::none,
                                weft::none));
    CHECK(near(y[0], -1) && near(mean[0], 2) && near(inverse[0], 1));
    OK(weft::batch_norm_inference(ctx, x, 1e-9, image, one, zero, mean, one, y));
    CHECK(near(y[1], 1));
    OK(weft::batch_norm_backward(ctx, x, image, one, mean, inverse, vector<double>{1, 1}, dx,
                                 dscale, dshift));
    CHECK(near(dshift[0], 2) && near(dx[0], 0));
    const weft_sgd sgd = {0.5, 0, 0};
    vector<double> w = {1, 1}, first(2), second(2);
    OK(weft::sgd_step(ctx, sgd, vector<double>{1, -1}, w, weft::none));
    CHECK(w[0] == 0.5 && w[1] == 1.5);
    const weft_adam adam = {0.1, 0.9, 0.999, 1e-8, 0, 1};
    OK(weft::adam_step(ctx, adam, vector<double>{1, -1}, w, first, second));
    CHECK(near(w[0], 0.4) && near(w[1], 1.6));
}

void test_nn(weft::context &ctx) {
    test_convolutions(ctx);
    test_dense_layers(ctx);
    test_training(ctx);
}
