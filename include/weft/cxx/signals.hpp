/* SPDX-License-Identifier: Apache-2.0 */
/* C++: fft, convolve, blend, nbody. The types in their descriptions are set by the calls. */
#ifndef WEFT_CXX_SIGNALS_HPP
#define WEFT_CXX_SIGNALS_HPP

#include <complex>

#include "weft/cxx/base.hpp"

namespace weft {
inline namespace WEFT_CXX_MODE {

namespace detail {

/* The real type of an array of real or complex numbers. */
template <class T>
struct real_part {
    using type = T;
};
template <class T>
struct real_part<std::complex<T>> {
    using type = T;
};
template <class X>
using real_of = typename real_part<element<X>>::type;

} // namespace detail

/* x and y hold real numbers or std::complex, as the description's kind says. */
template <class X, class Y>
result<void> fft(context &ctx, weft_fft_description d, const X &x, Y &&y) {
    static_assert(std::is_same_v<detail::real_of<X>, detail::real_of<Y>>,
                  "x and y must be of one precision");
    d.type = type_of<detail::real_of<X>>;
    const bool complex_x = detail::width<X> > sizeof(detail::real_of<X>);
    const bool complex_y = detail::width<Y> > sizeof(detail::real_of<X>);
    std::size_t x_bytes = 0, y_bytes = 0;
    const bool in_place = static_cast<const void *>(detail::data(x)) == detail::data(y);
    if (!in_place && weft_fft_bytes(ctx, &d, &x_bytes, &y_bytes, nullptr) != WEFT_OK)
        x_bytes = y_bytes = 0; /* the call itself says why */
    return call(ctx, "weft::fft")
        .equals("x", "numbers in an element", complex_x ? 2 : 1,
                d.kind == WEFT_FFT_REAL_TO_COMPLEX ? 1 : 2)
        .equals("y", "numbers in an element", in_place || complex_y ? 2 : 1,
                d.kind == WEFT_FFT_COMPLEX_TO_REAL && !in_place ? 1 : 2)
        .holds("x", x, x_bytes / detail::width<X>)
        .holds("y", y, y_bytes / detail::width<Y>)
        .run(weft_fft, &d, detail::data(x), detail::data(y));
}

inline result<void> fft_prepare(context &ctx, const weft_fft_description &d) {
    return call(ctx, "weft::fft_prepare").run(weft_fft_prepare, &d);
}

/* What a call with x != y needs. */
struct fft_sizes {
    std::size_t x_bytes, y_bytes, scratch_bytes;
};
inline result<fft_sizes> fft_bytes(context &ctx, const weft_fft_description &d) {
    fft_sizes s{};
    return call(ctx, "weft::fft_bytes")
        .give(s, weft_fft_bytes, &d, &s.x_bytes, &s.y_bytes, &s.scratch_bytes);
}

namespace detail {

/* Outputs along a side of n pixels. */
inline std::size_t filtered(std::size_t n, std::size_t filter, weft_border border) {
    if (border != WEFT_BORDER_VALID)
        return n;
    return n < filter ? 0 : n - filter + 1;
}

} // namespace detail

template <class X, class Y>
result<void> convolve(context &ctx, weft_convolution c, const X &x, Y &&y) {
    c.type = detail::type<X>;
    c.out = detail::type<Y>;
    const std::size_t rows = detail::filtered(c.height, c.filter_height, c.border);
    const std::size_t cols = detail::filtered(c.width, c.filter_width, c.border) * c.channels;
    const bool is_shared = ctx.ranks() > 1 && !(c.how & WEFT_OWN_IMAGES);
    const bool is_known = !is_shared || c.border != WEFT_BORDER_VALID;
    return call(ctx, "weft::convolve")
        .holds("x", x, detail::reach(c.height, c.width * c.channels, c.ldx, c.images, c.apart_x))
        .holds("y", y, is_known ? detail::reach(rows, cols, c.ldy, c.images, c.apart_y) : 0)
        .run(weft_convolve, &c, detail::data(x), detail::data(y));
}

/* mask may be none. */
template <class A, class B, class M, class O>
result<void> blend(context &ctx, weft_blending b, const A &a, const B &other, const M &mask,
                   O &&out) {
    static_assert(detail::is_none<M> || std::is_same_v<element<A>, element<M>>,
                  "the mask must have the type of the images");
    b.type = detail::type<A>;
    const std::size_t cols = b.width * b.channels;
    return call(ctx, "weft::blend")
        .holds("a", a, detail::reach(b.height, cols, b.lda))
        .template like<A>("b", other, detail::reach(b.height, cols, b.ldb))
        .holds("mask", mask, detail::reach(b.height, b.width, b.ldmask))
        .template like<A>("out", out, detail::reach(b.height, cols, b.ldout))
        .run(weft_blend, &b, detail::data(a), detail::data(other),
             static_cast<const void *>(detail::data(mask)), detail::data(out));
}

/* ---- nbody: n is that of the arrays ---- */

namespace detail {

/* Bodies in `positions`: x, y, z, and m too if there are no masses. */
template <class P, class M>
std::size_t bodies(const P &positions, const M &) {
    return detail::size(positions) / (is_none<M> ? 4 : 3);
}

} // namespace detail

/* masses, accelerations and potentials may be none; error may be nullptr. */
template <class P, class M, class A, class F>
result<void> nbody_accelerations(context &ctx, weft_nbody system, const P &positions,
                                 const M &masses, A &&accelerations, F &&potentials,
                                 double *error = nullptr) {
    system.type = detail::type<P>;
    system.n = detail::bodies(positions, masses);
    return call(ctx, "weft::nbody_accelerations")
        .like<P>("masses", masses, system.n)
        .template like<P>("accelerations", accelerations, 3 * system.n)
        .template like<P>("potentials", potentials, system.n)
        .run(weft_nbody_accelerations, &system, detail::data(positions), detail::data(masses),
             detail::data(accelerations), detail::data(potentials), error);
}

template <class P, class M, class V>
result<void> nbody_step(context &ctx, weft_nbody system, double dt, std::size_t steps,
                        P &&positions, const M &masses, V &&velocities) {
    system.type = detail::type<P>;
    system.n = detail::bodies(positions, masses);
    return call(ctx, "weft::nbody_step")
        .like<P>("masses", masses, system.n)
        .template like<P>("velocities", velocities, 3 * system.n)
        .run(weft_nbody_step, &system, dt, steps, detail::data(positions), detail::data(masses),
             detail::data(velocities));
}

struct energies {
    double kinetic, potential;
};
template <class P, class M, class V>
result<energies> nbody_energy(context &ctx, weft_nbody system, const P &positions, const M &masses,
                              const V &velocities) {
    system.type = detail::type<P>;
    system.n = detail::bodies(positions, masses);
    energies e{};
    return call(ctx, "weft::nbody_energy")
        .like<P>("masses", masses, system.n)
        .template like<P>("velocities", velocities, 3 * system.n)
        .give(e, weft_nbody_energy, &system, detail::data(positions), detail::data(masses),
              detail::data(velocities), &e.kinetic);
}

} // namespace WEFT_CXX_MODE
} // namespace weft

#endif
