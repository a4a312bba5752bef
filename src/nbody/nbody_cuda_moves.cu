/* SPDX-License-Identifier: Apache-2.0 */
/* What else is done with bodies on a GPU: moving them, their energies, and the error of a sample of
 * their accelerations. */
#include "nbody/nbody_cuda.cuh"

constexpr int move_threads = 256;

/* ---- moving ---- */

template <class T>
static __global__ void __launch_bounds__(move_threads)
    load_bodies(wi_nbody_bodies<T> from, const T *velocities, T *bodies, T *to) {
    const size_t i = (size_t)blockIdx.x * move_threads + threadIdx.x;
    if (i >= from.n)
        return;
    for (size_t k = 0; k < 3; k++) {
        bodies[4 * i + k] = from.positions[i * from.position_pitch + k];
        if (velocities)
            to[3 * i + k] = velocities[3 * i + k];
    }
    bodies[4 * i + 3] = from.masses[i * from.mass_pitch];
}

template <class T>
static __global__ void __launch_bounds__(move_threads)
    store_bodies(const T *bodies, const T *velocities, size_t n, T *positions, size_t pitch,
                 T *to) {
    const size_t i = (size_t)blockIdx.x * move_threads + threadIdx.x;
    if (i >= n)
        return;
    for (size_t k = 0; k < 3; k++) {
        positions[i * pitch + k] = bodies[4 * i + k];
        to[3 * i + k] = velocities[3 * i + k];
    }
}

/* Row i of x, `pitch` elements apart, becomes x + y time. */
template <class T>
static __global__ void __launch_bounds__(move_threads)
    advance(T *x, size_t pitch, const T *y, size_t n, T time) {
    const size_t i = (size_t)blockIdx.x * move_threads + threadIdx.x;
    if (i >= n)
        return;
    for (size_t k = 0; k < 3; k++)
        x[i * pitch + k] = wi_fma(y[3 * i + k], time, x[i * pitch + k]);
}

static unsigned move_blocks(size_t n) {
    return (unsigned)((n + move_threads - 1) / move_threads);
}

template <class T>
static weft_status load_all(weft_context *ctx, const wi_nbody_args *from, const void *velocities,
                            const wi_nbody_state *s) {
    return WEFT_LAUNCH(load_bodies<T>, ctx, move_blocks(s->n), move_threads, 0,
                       wi_nbody_bodies_of<T>(from), (const T *)velocities, (T *)s->bodies,
                       (T *)s->velocities);
}

static weft_status load(weft_context *ctx, const wi_nbody_args *from, const void *velocities,
                        const wi_nbody_state *s) {
    return s->type == WEFT_F32 ? load_all<float>(ctx, from, velocities, s)
                               : load_all<double>(ctx, from, velocities, s);
}

template <class T>
static weft_status store_all(weft_context *ctx, const wi_nbody_state *s, void *positions,
                             size_t pitch, void *velocities) {
    return WEFT_LAUNCH(store_bodies<T>, ctx, move_blocks(s->n), move_threads, 0,
                       (const T *)s->bodies, (const T *)s->velocities, s->n, (T *)positions, pitch,
                       (T *)velocities);
}

static weft_status store(weft_context *ctx, const wi_nbody_state *s, void *positions, size_t pitch,
                         void *velocities) {
    return s->type == WEFT_F32 ? store_all<float>(ctx, s, positions, pitch, velocities)
                               : store_all<double>(ctx, s, positions, pitch, velocities);
}

template <class T>
static weft_status advance_all(weft_context *ctx, size_t n, void *x, size_t pitch, const void *y,
                               double time) {
    return WEFT_LAUNCH(advance<T>, ctx, move_blocks(n), move_threads, 0, (T *)x, pitch,
                       (const T *)y, n, (T)time);
}

static weft_status kick(weft_context *ctx, const wi_nbody_state *s, double time) {
    return s->type == WEFT_F32
               ? advance_all<float>(ctx, s->n, s->velocities, 3, s->accelerations, time)
               : advance_all<double>(ctx, s->n, s->velocities, 3, s->accelerations, time);
}

static weft_status drift(weft_context *ctx, const wi_nbody_state *s, double dt) {
    return s->type == WEFT_F32 ? advance_all<float>(ctx, s->n, s->bodies, 4, s->velocities, dt)
                               : advance_all<double>(ctx, s->n, s->bodies, 4, s->velocities, dt);
}

/* ---- energies ---- */

template <class T>
static __global__ void __launch_bounds__(move_threads)
    put_energies(wi_nbody_bodies<T> bodies, const T *velocities, const T *potentials,
                 double *kinetic, double *potential) {
    const size_t i = (size_t)blockIdx.x * move_threads + threadIdx.x;
    if (i >= bodies.n)
        return;
    const double half = 0.5 * (double)bodies.masses[i * bodies.mass_pitch];
    double square = 0;
    for (size_t k = 0; k < 3; k++) {
        const double v = (double)velocities[3 * i + k];
        square = wi_fma(v, v, square);
    }
    kinetic[i] = half * square;
    potential[i] = half * (double)potentials[i];
}

template <class T>
static weft_status put_all_energies(weft_context *ctx, const wi_nbody_args *a,
                                    const void *velocities, double *kinetic, double *potential) {
    return WEFT_LAUNCH(put_energies<T>, ctx, move_blocks(a->n), move_threads, 0,
                       wi_nbody_bodies_of<T>(a), (const T *)velocities, (const T *)a->potentials,
                       kinetic, potential);
}

static weft_status energies(weft_context *ctx, const wi_nbody_args *a, const void *velocities,
                            double *kinetic, double *potential) {
    return a->type == WEFT_F32 ? put_all_energies<float>(ctx, a, velocities, kinetic, potential)
                               : put_all_energies<double>(ctx, a, velocities, kinetic, potential);
}

/* ---- errors ---- */

/* The sum of x over the threads of a block, in thread 0, others have parts of it; always by the
 * same tree. */
static __device__ inline double block_sum(double x, double *room) {
    __syncthreads();
    room[threadIdx.x] = x;
    for (int step = move_threads / 2; step > 0; step /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < step)
            room[threadIdx.x] += room[threadIdx.x + step];
    }
    return room[threadIdx.x];
}

/* The acceleration of one body of the sample for each block. */
template <class T>
static __global__ void __launch_bounds__(move_threads)
    sum_exactly(wi_nbody_bodies<T> bodies, double gravity, double eps2, double *exact) {
    WEFT_SHARED(double, room, [move_threads]);
    const size_t i = blockIdx.x * bodies.n / gridDim.x;
    const wi_nbody_body<T> own = bodies.at(i);
    wi_nbody_sums<double> sum = {};
    for (size_t j = threadIdx.x; j < bodies.n; j += move_threads) {
        const wi_nbody_body<T> other = bodies.at(j);
        const wi_nbody_body<double> exactly = {(double)other.x, (double)other.y, (double)other.z,
                                               gravity *
                                                   (double)bodies.masses[j * bodies.mass_pitch]};
        wi_nbody_add<false>(exactly, (double)own.x, (double)own.y, (double)own.z, eps2, sum);
    }
    const double b[3] = {block_sum(sum.x, room), block_sum(sum.y, room), block_sum(sum.z, room)};
    if (threadIdx.x == 0)
        for (size_t k = 0; k < 3; k++)
            exact[3 * (size_t)blockIdx.x + k] = b[k];
}

/* |a - b|^2 / |b|^2 of one body of the sample for each thread. */
template <class T>
static __global__ void __launch_bounds__(move_threads)
    compare_sample(const T *accelerations, size_t n, int count, const double *exact,
                   double *errors) {
    const int s = (int)threadIdx.x;
    double difference = 0, square = 0;
    if (s >= count)
        return;
    const T *const found = accelerations + 3 * ((size_t)s * n / (size_t)count);
    for (int k = 0; k < 3; k++) {
        const double b = exact[3 * s + k], d = (double)found[k] - b;
        difference += d * d;
        square += b * b;
    }
    errors[s] = difference == 0 ? 0 : difference / square;
}

static __global__ void put_root_of_mean(const double *errors, int count, double *error) {
    double mean = 0;
    for (int k = 0; k < count; k++)
        mean += errors[k] / count;
    *error = sqrt(mean);
}

template <class T>
static weft_status sample_of(weft_context *ctx, const wi_nbody_args *a, double *exact) {
    return WEFT_LAUNCH(sum_exactly<T>, ctx, (unsigned)wi_nbody_sampled(a), move_threads, 0,
                       wi_nbody_bodies_of<T>(a), a->gravity, a->softening * a->softening, exact);
}

static weft_status sample(weft_context *ctx, const wi_nbody_args *a, double *exact) {
    return a->type == WEFT_F32 ? sample_of<float>(ctx, a, exact) : sample_of<double>(ctx, a, exact);
}

template <class T>
static weft_status compare_all(weft_context *ctx, const wi_nbody_args *a, const double *exact,
                               double *errors) {
    static_assert(WI_NBODY_SAMPLE <= move_threads, "one block compares them");
    return WEFT_LAUNCH(compare_sample<T>, ctx, 1, move_threads, 0, (const T *)a->accelerations,
                       a->n, (int)wi_nbody_sampled(a), exact, errors);
}

static weft_status measure(weft_context *ctx, const wi_nbody_args *a, const double *exact,
                           double *room, double *error) {
    const weft_status status = a->type == WEFT_F32 ? compare_all<float>(ctx, a, exact, room)
                                                   : compare_all<double>(ctx, a, exact, room);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH(put_root_of_mean, ctx, 1, 1, 0, (const double *)room,
                       (int)wi_nbody_sampled(a), error);
}

const wi_nbody_moves wi_nbody_on_cuda = {load, store, kick, drift, energies, sample, measure};
