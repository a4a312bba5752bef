/* SPDX-License-Identifier: Apache-2.0 */
/* C++: the layers of networks. x describes the images that go into a layer; arrays that hold fewer
 * numbers than that says are refused. */
#ifndef WEFT_CXX_NN_HPP
#define WEFT_CXX_NN_HPP

#include "weft/cxx/base.hpp"

namespace weft {
inline namespace WEFT_CXX_MODE {

/* n images of c channels of h x w pixels, of elements of T. */
template <class T>
weft_images images(weft_layout layout, std::size_t n, std::size_t c, std::size_t h, std::size_t w) {
    return {type_of<T>, layout, n, c, h, w};
}

namespace detail {

inline std::size_t count(const weft_images &x) {
    return x.n * x.c * x.h * x.w;
}

/* The images that a layer makes of x; none if the layer is refused, which the call itself says. */
template <class F, class L>
std::size_t count_made(context &ctx, F describe, const weft_images &x, const L &layer) {
    weft_images y = {};
    return describe(ctx.get(), &x, &layer, &y) == WEFT_OK ? count(y) : 0;
}
inline std::size_t count_made(context &ctx, const weft_images &x, const weft_conv &conv) {
    return count_made(ctx, weft_conv_output, x, conv);
}
inline std::size_t count_made(context &ctx, const weft_images &x, const weft_pool &pool) {
    return count_made(ctx, weft_pool_output, x, pool);
}
inline std::size_t weights(const weft_images &x, const weft_conv &conv) {
    return conv.filters * (x.c / (conv.groups ? conv.groups : 1)) * conv.kernel_h * conv.kernel_w;
}

} // namespace detail

/* ---- convolutions ---- */

inline result<weft_images> conv_output(context &ctx, const weft_images &x, const weft_conv &conv) {
    weft_images y = {};
    return call(ctx, "weft::conv_output").give(y, weft_conv_output, &x, &conv, &y);
}
template <class X, class F, class Y>
result<void> conv_forward(context &ctx, const weft_images &x, const weft_conv &conv,
                          const X &x_data, const F &f, Y &&y) {
    const std::size_t made = detail::count_made(ctx, x, conv);
    return call(ctx, "weft::conv_forward")
        .holds("x_data", x_data, detail::count(x))
        .template like<X>("f", f, detail::weights(x, conv))
        .template like<X>("y", y, made)
        .run(weft_conv_forward, &x, &conv, detail::data(x_data), detail::data(f), detail::data(y));
}
template <class Y, class F, class X>
result<void> conv_backward_data(context &ctx, const weft_images &x, const weft_conv &conv,
                                const Y &dy, const F &f, X &&dx) {
    const std::size_t made = detail::count_made(ctx, x, conv);
    return call(ctx, "weft::conv_backward_data")
        .holds("dy", dy, made)
        .template like<Y>("f", f, detail::weights(x, conv))
        .template like<Y>("dx", dx, detail::count(x))
        .run(weft_conv_backward_data, &x, &conv, detail::data(dy), detail::data(f),
             detail::data(dx));
}
template <class X, class Y, class F>
result<void> conv_backward_weights(context &ctx, const weft_images &x, const weft_conv &conv,
                                   const X &x_data, const Y &dy, F &&df) {
    const std::size_t made = detail::count_made(ctx, x, conv);
    return call(ctx, "weft::conv_backward_weights")
        .holds("x_data", x_data, detail::count(x))
        .template like<X>("dy", dy, made)
        .template like<X>("df", df, detail::weights(x, conv))
        .run(weft_conv_backward_weights, &x, &conv, detail::data(x_data), detail::data(dy),
             detail::data(df));
}

/* ---- pooling and up-sampling ---- */

inline result<weft_images> pool_output(context &ctx, const weft_images &x, const weft_pool &pool) {
    weft_images y = {};
    return call(ctx, "weft::pool_output").give(y, weft_pool_output, &x, &pool, &y);
}
template <class X, class Y>
result<void> pool_forward(context &ctx, const weft_images &x, const weft_pool &pool,
                          const X &x_data, Y &&y) {
    const std::size_t made = detail::count_made(ctx, x, pool);
    return call(ctx, "weft::pool_forward")
        .holds("x_data", x_data, detail::count(x))
        .template like<X>("y", y, made)
        .run(weft_pool_forward, &x, &pool, detail::data(x_data), detail::data(y));
}
/* x_data may be none for averages. */
template <class X, class Y, class D>
result<void> pool_backward(context &ctx, const weft_images &x, const weft_pool &pool,
                           const X &x_data, const Y &dy, D &&dx) {
    const std::size_t made = detail::count_made(ctx, x, pool);
    return call(ctx, "weft::pool_backward")
        .like<Y>("x_data", x_data, detail::count(x))
        .holds("dy", dy, made)
        .template like<Y>("dx", dx, detail::count(x))
        .run(weft_pool_backward, &x, &pool, detail::data(x_data), detail::data(dy),
             detail::data(dx));
}
template <class X, class Y>
result<void> upsample_forward(context &ctx, const weft_images &x, weft_interpolation how,
                              std::size_t out_h, std::size_t out_w, const X &x_data, Y &&y) {
    return call(ctx, "weft::upsample_forward")
        .holds("x_data", x_data, detail::count(x))
        .template like<X>("y", y, x.n * x.c * out_h * out_w)
        .run(weft_upsample_forward, &x, how, out_h, out_w, detail::data(x_data), detail::data(y));
}
template <class Y, class X>
result<void> upsample_backward(context &ctx, const weft_images &x, weft_interpolation how,
                               std::size_t out_h, std::size_t out_w, const Y &dy, X &&dx) {
    return call(ctx, "weft::upsample_backward")
        .holds("dy", dy, x.n * x.c * out_h * out_w)
        .template like<Y>("dx", dx, detail::count(x))
        .run(weft_upsample_backward, &x, how, out_h, out_w, detail::data(dy), detail::data(dx));
}

/* ---- biases, activations, softmax ---- */

template <class X, class B, class Y>
result<void> bias_forward(context &ctx, const weft_images &x, const X &x_data, const B &bias,
                          Y &&y) {
    return call(ctx, "weft::bias_forward")
        .holds("x_data", x_data, detail::count(x))
        .template like<X>("bias", bias, x.c)
        .template like<X>("y", y, detail::count(x))
        .run(weft_bias_forward, &x, detail::data(x_data), detail::data(bias), detail::data(y));
}
template <class Y, class B>
result<void> bias_backward(context &ctx, const weft_images &x, const Y &dy, B &&dbias) {
    return call(ctx, "weft::bias_backward")
        .holds("dy", dy, detail::count(x))
        .template like<Y>("dbias", dbias, x.c)
        .run(weft_bias_backward, &x, detail::data(dy), detail::data(dbias));
}
template <class X, class Y>
result<void> activation_forward(context &ctx, weft_activation kind, const X &x, Y &&y) {
    return call(ctx, "weft::activation_forward")
        .like<X>("y", y, detail::size(x))
        .run(weft_activation_forward, kind, detail::type<X>, detail::size(x), detail::data(x),
             detail::data(y));
}
template <class Y, class D, class X>
result<void> activation_backward(context &ctx, weft_activation kind, const Y &y, const D &dy,
                                 X &&dx) {
    return call(ctx, "weft::activation_backward")
        .like<Y>("dy", dy, detail::size(y))
        .template like<Y>("dx", dx, detail::size(y))
        .run(weft_activation_backward, kind, detail::type<Y>, detail::size(y), detail::data(y),
             detail::data(dy), detail::data(dx));
}
/* x has whole rows of `classes` elements. */
template <class X, class Y>
result<void> softmax_forward(context &ctx, std::size_t classes, const X &x, Y &&y) {
    return call(ctx, "weft::softmax_forward")
        .whole("x", x, classes)
        .template like<X>("y", y, detail::size(x))
        .run(weft_softmax_forward, detail::type<X>, detail::size(x) / (classes ? classes : 1),
             classes, detail::data(x), detail::data(y));
}
/* One label for each row. */
template <class X, class L>
result<void> cross_entropy_forward(context &ctx, std::size_t classes, const X &x,
                                   span<const std::int32_t> label, L &&loss) {
    return call(ctx, "weft::cross_entropy_forward")
        .holds("x", x, label.size() * classes)
        .template like<X>("loss", loss, label.size())
        .run(weft_cross_entropy_forward, detail::type<X>, label.size(), classes, detail::data(x),
             label.data(), detail::data(loss));
}
template <class X, class D>
result<void> cross_entropy_backward(context &ctx, std::size_t classes, double scale, const X &x,
                                    span<const std::int32_t> label, D &&dx) {
    return call(ctx, "weft::cross_entropy_backward")
        .holds("x", x, label.size() * classes)
        .template like<X>("dx", dx, label.size() * classes)
        .run(weft_cross_entropy_backward, detail::type<X>, label.size(), classes, scale,
             detail::data(x), label.data(), detail::data(dx));
}

/* ---- batch normalisation ---- */

/* The running mean and variance may both be none. */
template <class X, class S, class T, class Y, class M, class I, class R, class V>
result<void> batch_norm_forward(context &ctx, const weft_images &x, double epsilon, double momentum,
                                const X &x_data, const S &scale, const T &shift, Y &&y, M &&mean,
                                I &&inverse, R &&running_mean, V &&running_variance) {
    return call(ctx, "weft::batch_norm_forward")
        .holds("x_data", x_data, detail::count(x))
        .template like<X>("scale", scale, x.c)
        .template like<X>("shift", shift, x.c)
        .template like<X>("y", y, detail::count(x))
        .template like<X>("mean", mean, x.c)
        .template like<X>("inverse", inverse, x.c)
        .template like<X>("running_mean", running_mean, x.c)
        .template like<X>("running_variance", running_variance, x.c)
        .run(weft_batch_norm_forward, &x, epsilon, momentum, detail::data(x_data),
             detail::data(scale), detail::data(shift), detail::data(y), detail::data(mean),
             detail::data(inverse), detail::data(running_mean), detail::data(running_variance));
}
template <class X, class S, class T, class M, class V, class Y>
result<void> batch_norm_inference(context &ctx, const weft_images &x, double epsilon,
                                  const X &x_data, const S &scale, const T &shift, const M &mean,
                                  const V &variance, Y &&y) {
    return call(ctx, "weft::batch_norm_inference")
        .holds("x_data", x_data, detail::count(x))
        .template like<X>("scale", scale, x.c)
        .template like<X>("shift", shift, x.c)
        .template like<X>("mean", mean, x.c)
        .template like<X>("variance", variance, x.c)
        .template like<X>("y", y, detail::count(x))
        .run(weft_batch_norm_inference, &x, epsilon, detail::data(x_data), detail::data(scale),
             detail::data(shift), detail::data(mean), detail::data(variance), detail::data(y));
}
template <class X, class S, class M, class I, class Y, class D, class P, class Q>
result<void> batch_norm_backward(context &ctx, const weft_images &x, const X &x_data,
                                 const S &scale, const M &mean, const I &inverse, const Y &dy,
                                 D &&dx, P &&dscale, Q &&dshift) {
    return call(ctx, "weft::batch_norm_backward")
        .holds("x_data", x_data, detail::count(x))
        .template like<X>("scale", scale, x.c)
        .template like<X>("mean", mean, x.c)
        .template like<X>("inverse", inverse, x.c)
        .template like<X>("dy", dy, detail::count(x))
        .template like<X>("dx", dx, detail::count(x))
        .template like<X>("dscale", dscale, x.c)
        .template like<X>("dshift", dshift, x.c)
        .run(weft_batch_norm_backward, &x, detail::data(x_data), detail::data(scale),
             detail::data(mean), detail::data(inverse), detail::data(dy), detail::data(dx),
             detail::data(dscale), detail::data(dshift));
}

/* ---- steps of training ---- */

/* velocity may be none without momentum. */
template <class G, class W, class V>
result<void> sgd_step(context &ctx, const weft_sgd &sgd, const G &gradient, W &&w, V &&velocity) {
    return call(ctx, "weft::sgd_step")
        .like<G>("w", w, detail::size(gradient))
        .template like<G>("velocity", velocity, detail::size(gradient))
        .run(weft_sgd_step, &sgd, detail::type<G>, detail::size(gradient), detail::data(gradient),
             detail::data(w), detail::data(velocity));
}
template <class G, class W, class F, class S>
result<void> adam_step(context &ctx, const weft_adam &adam, const G &gradient, W &&w, F &&first,
                       S &&second) {
    return call(ctx, "weft::adam_step")
        .like<G>("w", w, detail::size(gradient))
        .template like<G>("first", first, detail::size(gradient))
        .template like<G>("second", second, detail::size(gradient))
        .run(weft_adam_step, &adam, detail::type<G>, detail::size(gradient), detail::data(gradient),
             detail::data(w), detail::data(first), detail::data(second));
}

} // namespace WEFT_CXX_MODE
} // namespace weft

#endif
