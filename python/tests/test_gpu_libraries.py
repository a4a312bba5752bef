# SPDX-License-Identifier: Apache-2.0
"""Arrays of CuPy, PyTorch and JAX on a GPU: taken where they lie, on their own streams. Needs a GPU
and the library that a test names; skipped without."""

import math

import numpy as np
import pytest

import weft
from conftest import SEED

N = 1 << 22


@pytest.fixture
def gpu():
    try:
        context = weft.Context("gpu")
    except weft.Error as error:
        pytest.skip(f"no GPU: {error}")
    with context:
        yield context
    context.close()


class Cupy:
    """What the tests need of a library: here CuPy."""

    def __init__(self):
        self.lib = pytest.importorskip("cupy")

    def array(self, host):
        return self.lib.asarray(host)

    def address(self, a):
        return a.data.ptr

    def host(self, a):
        return self.lib.asnumpy(a)

    def stream(self):
        return self.lib.cuda.Stream(non_blocking=True)

    def product(self, a):
        return a @ a

    def used(self):
        """Bytes that the library's own pool has handed out."""
        return self.lib.get_default_memory_pool().used_bytes()

    def take(self, a):
        """An array of the library's in the memory of a weft.Array."""
        return self.lib.asarray(a)


class Torch:
    def __init__(self):
        self.lib = pytest.importorskip("torch")
        self.stream_of = self.lib.cuda.stream

    def array(self, host):
        return self.lib.as_tensor(host, device="cuda")

    def address(self, a):
        return a.data_ptr()

    def host(self, a):
        return a.cpu().numpy()

    def stream(self):
        return self.stream_of(self.lib.cuda.Stream())

    def product(self, a):
        return a @ a

    def used(self):
        return self.lib.cuda.memory_allocated()

    def take(self, a):
        return self.lib.as_tensor(a, device="cuda")


def drawn(n, dtype):
    rng = np.random.default_rng([SEED, n])
    return (rng.normal(size=n) * 1000).astype(dtype)


@pytest.fixture(params=[Cupy, Torch], ids=["cupy", "torch"])
def library(request, gpu):
    return request.param()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8])
def test_sorted_in_place(library, dtype):
    host = drawn(N, dtype)
    x = library.array(host)
    address, used = library.address(x), library.used()
    assert weft.sort(x, out=x) is x
    assert library.address(x) == address and library.used() == used
    weft.current().sync()
    np.testing.assert_array_equal(library.host(x), np.sort(host))


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_scanned_in_place(library, dtype):
    host = drawn(N, dtype).round()
    x = library.array(host)
    address, used = library.address(x), library.used()
    assert weft.cumsum(x, out=x) is x
    assert library.address(x) == address and library.used() == used
    weft.current().sync()
    np.testing.assert_array_equal(library.host(x), np.cumsum(host))


def test_results_are_of_the_same_library(library):
    host = drawn(N, np.float32)
    x = library.array(host)
    y = weft.sort(x)
    assert type(y) is type(x) and library.address(y) != library.address(x)
    weft.current().sync()
    np.testing.assert_array_equal(library.host(y), np.sort(host))
    np.testing.assert_array_equal(library.host(x), host)  # not written to
    assert float(weft.sum(x)) == weft.sum(host)  # correctly rounded on both places


def test_an_array_outlives_its_maker(library):
    x = library.array(drawn(N, np.float32))
    y = weft.sort(x)
    want = np.sort(library.host(x))
    del x
    others = [library.array(np.full(N, k, np.float32)) for k in range(4)]  # may take its memory
    weft.current().sync()
    np.testing.assert_array_equal(library.host(y), want)
    assert len(others) == 4


def test_calls_follow_the_stream(library):
    """On a stream that nothing orders with others: milliseconds of products come first, then the
    array's values, the sort, and the copy of its result. A sort on another stream would read
    what was there before."""
    host = drawn(N, np.float32)
    wide = library.array(drawn(4096 * 4096, np.float32).reshape(4096, 4096))
    source, x = library.array(host), library.array(np.zeros(N, np.float32))
    library.host(library.product(wide))  # what the first product loads and allocates is there
    for _ in range(5):
        x[:] = 0
        library.host(x)  # all work so far is done
        with library.stream():
            for _ in range(8):
                library.product(wide)
            x[:] = source
            weft.sort(x, out=x)
            y = x + 0
            got = library.host(y)
        np.testing.assert_array_equal(got, np.sort(host))


def test_tensors_of_bfloat16(gpu):
    pytest.importorskip("ml_dtypes")
    torch = pytest.importorskip("torch")
    x = torch.randn(N, device="cuda").bfloat16()
    want = torch.sort(x.float()).values.bfloat16()
    y = weft.sort(x)
    sums = weft.cumsum(x)
    assert y.dtype == sums.dtype == torch.bfloat16
    gpu.sync()
    assert torch.equal(y, want)
    assert sums[0] == x[0]
    assert weft.max(x) == want[-1].item()
    assert weft.sum(x) == np.float32(math.fsum(x.double().cpu().numpy()))


def test_jax(gpu):
    jax = pytest.importorskip("jax")
    if jax.devices()[0].platform != "gpu":
        pytest.skip("JAX sees no GPU")
    host = drawn(N, np.float32)
    x = jax.numpy.asarray(host)
    y = weft.sort(x)
    assert isinstance(y, weft.Array)
    back = jax.dlpack.from_dlpack(y)
    assert back.unsafe_buffer_pointer() == y.__cuda_array_interface__["data"][0]
    np.testing.assert_array_equal(np.asarray(back), np.sort(host))


def test_arrays_of_weft_are_taken_without_a_copy(gpu, library):
    a = gpu.asarray(drawn(N, np.float32))
    taken = library.take(a)
    assert library.address(taken) == a.__cuda_array_interface__["data"][0]
    taken[:] = 7
    library.host(taken)
    assert weft.min(a) == weft.max(a) == 7
