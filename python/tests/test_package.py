# SPDX-License-Identifier: Apache-2.0
"""Contexts, threads, errors, what is refused, and arrays of other libraries."""

import gc
import sys
import threading

import numpy as np
import pytest

import weft
from conftest import PLACE, context, same

DEVICE = not PLACE.startswith("cpu")


class Interface:
    """An array of some other library in device memory."""

    def __init__(self, array, **more):
        self.array = array
        self.shape = array.shape
        self.more = more

    @property
    def __cuda_array_interface__(self):
        return {**self.array.__cuda_array_interface__, **self.more}


class Host:
    """An array of some other library in host memory."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Lent:
    """An object that has nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_contexts():
    with weft.Context("cpu:1") as one:
        assert weft.current() is one and one.place == "cpu:1"
        with weft.Context("cpu:2") as two:
            assert weft.current() is two
        assert weft.current() is one
    assert weft.current() is context()
    with pytest.raises(weft.ArgumentError, match="nowhere"):
        weft.Context("nowhere")
    one.close()
    one.close()
    assert one.place == "closed" and "closed" in repr(one)
    with pytest.raises(ValueError, match="closed"), one:
        pass
    assert weft.current() is context()


def test_default_of_a_thread():
    seen = []

    def run():
        weft.set_default("cpu:1")
        seen.append(weft.current().place)
        with weft.Context("cpu:2"):
            weft.set_default("cpu:3")
            seen.append(weft.current().place)
        seen.append(weft.current().place)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == ["cpu:1", "cpu:2", "cpu:3"] and weft.current() is context()


def test_threads_share_a_context(rng):
    x = rng.normal(size=500 if DEVICE else 5000)
    want = np.sort(x)
    wrong = []

    def run():
        with context():
            for _ in range(5 if DEVICE else 20):
                if not np.array_equal(weft.sort(x), want):
                    wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(DEVICE, reason="once is enough")
def test_other_threads_run_during_a_call(rng):
    """With so long a switch interval the main thread gets Python's lock only if the call gives it."""
    x = rng.normal(size=1 << 20)
    interval = sys.getswitchinterval()
    first = set()
    sys.setswitchinterval(100)
    try:
        for _ in range(50):
            order, started = [], threading.Event()

            def run(order=order, started=started):
                with context():
                    started.set()
                    weft.sort(x)
                    order.append("call")

            thread = threading.Thread(target=run)
            thread.start()
            started.wait()
            order.append("main")
            thread.join()
            first.add(order[0])
            if "main" in first:
                break
    finally:
        sys.setswitchinterval(interval)
    assert "main" in first


def test_variants():
    c = weft.current()
    c.use("sort", "serial_radix" if not DEVICE else "onesweep")
    weft.sort(np.arange(5000)[::-1].copy())
    assert c.used("sort") == ("serial_radix" if not DEVICE else "onesweep")
    c.use("sort", None)
    with pytest.raises(weft.ArgumentError, match="sort"):
        c.use("sort", "none of them")
    assert c.used("nothing") is None


@pytest.mark.parametrize(
    "bad",
    [
        np.array([1j]),
        np.array(["a"]),
        np.zeros(3, "M8[s]"),
        np.zeros(3, np.longdouble),
        np.array([None]),
        np.ma.array([1, 2], mask=[0, 1]),
    ],
)
def test_types_that_are_refused(bad):
    with pytest.raises((TypeError, ValueError)):
        weft.sort(bad)


def test_refused_types_say_what_to_do():
    with pytest.raises(TypeError, match=r"x.astype\("):
        weft.sort(np.zeros(3, np.longdouble))


def test_refused_outputs():
    x = np.arange(6.0)
    fixed = np.zeros(6)
    fixed.flags.writeable = False
    for out in (np.zeros(5), np.zeros(6, np.float32), np.zeros(12)[::2], fixed):
        with pytest.raises(ValueError, match="out"):
            weft.sort(x, out=out)
    memory = np.arange(7.0)
    with pytest.raises(weft.ArgumentError, match="overlap"):
        weft.sort(memory[:6], out=memory[1:])


def test_no_references_leak(rng):
    x = rng.normal(size=100)
    with pytest.raises(TypeError):
        weft.sort(np.array([1j]))
    for function in (weft.sort, weft.argsort, weft.sum, weft.cumsum, weft.unique, weft.median):
        function(x)
        before = sys.getrefcount(x)
        for _ in range(10):
            function(x)
        assert sys.getrefcount(x) == before
    x.resize(50, refcheck=False)  # no buffer of it is held


def test_other_inputs():
    same(weft.sort([3, 1, 2]), np.array([1, 2, 3]))
    same(weft.sort(memoryview(np.array([3.0, 1.0]))), np.array([1.0, 3.0]))
    same(weft.sort(Host(np.array([3.0, 1.0]))), np.array([1.0, 3.0]))
    same(weft.sort(Lent(np.array([3.0, 1.0]))), np.array([1.0, 3.0]))
    same(weft.sort(np.ma.array([3.0, 1.0])), np.array([1.0, 3.0]))
    assert weft.sum(7) == 7 and weft.sum(np.float32(7)) == 7


def test_array_of_the_place(rng):
    c = weft.current()
    x = rng.normal(size=(4, 5))
    a = c.asarray(x)
    same(a.numpy(), x)
    same(np.asarray(a), x)
    same(a.reshape(20).numpy(), x.reshape(20))
    same(a.reshape((2, -1)).numpy(), x.reshape(2, 10))
    assert len(a) == 4 and a.nbytes == 160 and "weft.Array" in repr(a)
    assert weft.sum(a) == weft.sum(x)
    e = c.empty((0,), np.int8)
    assert weft.sort(e).shape == (0,)
    b = a.reshape(20)
    del a
    gc.collect()
    same(b.numpy(), x.reshape(20))


def test_memory_is_given_back():
    with weft.Context(PLACE) as c:
        a = c.asarray(np.arange(10.0))
        b = c.asarray(np.arange(3.0))
        assert len(c._held) == 2
        del b
        gc.collect()
        c.sync()
        assert len(c._held) == 1
        c.close()
        with pytest.raises(ValueError, match="closed"):
            weft.sort(a)
    for use in (weft.sort, np.asarray, lambda x: weft.sum(x.reshape(2, 5)), np.from_dlpack):
        with pytest.raises(ValueError, match="closed"):  # in another context, too
            use(a)
    assert "closed" in repr(a)


@pytest.mark.skipif(not DEVICE, reason="needs memory of a GPU place")
class TestDevice:
    """In and out of device memory, without copies."""

    def test_in_place(self, rng):
        c = weft.current()
        x = rng.normal(size=3000).astype(np.float32)
        for wrap in (lambda a: a, Interface, Lent):
            memory = c.asarray(x)
            owner = wrap(memory)
            assert weft.sort(owner, out=owner) is owner
            same(memory.numpy(), np.sort(x))
            weft.accumulate(owner, "maximum", out=owner)
            same(memory.numpy(), np.sort(x))

    def test_results_lie_there(self, rng):
        c = weft.current()
        x = rng.normal(size=1000)
        d = Interface(c.asarray(x))
        for result, want in (
            (weft.sort(d), np.sort(x)),
            (weft.argsort(d), np.argsort(x)),
            (weft.unique(d), np.unique(x)),
            (weft.histogram(d, 9)[0], np.histogram(x, 9)[0]),
            (weft.elementwise("multiply", d, 2.0), 2 * x),
            (weft.compress(weft.elementwise("less", d, 0.0), d), x[x < 0]),
        ):
            assert isinstance(result, weft.Array)
            same(result.numpy(), want)
        np.testing.assert_allclose(weft.cumsum(d).numpy(), np.cumsum(x), atol=1e-9)
        np.testing.assert_allclose(weft.fft.rfft(d).numpy(), np.fft.rfft(x), atol=1e-9)
        assert weft.sum(d) == weft.sum(x) and weft.median(d) == weft.median(x)
        np.testing.assert_allclose(weft.median(d), np.median(x), atol=1e-15)
        table = Interface(c.asarray(x[:120].reshape(10, 12)))
        same(weft.sort(table).numpy(), np.sort(x[:120].reshape(10, 12)))
        with pytest.raises(TypeError, match="last axis"):
            weft.sort(table, 0)

    def test_moved_and_grouped(self, rng):
        c = weft.current()
        x = rng.normal(size=300)
        d, index = c.asarray(x), c.asarray(rng.permutation(300))
        same(weft.take(d, index).numpy(), x[index.numpy()])
        same(weft.diff(d).numpy(), np.diff(x))
        same(weft.evaluate("2 * x + 1", x=d).numpy(), 2 * x + 1)
        weft.put(d, index, c.asarray(x))
        want = np.empty(300)
        want[index.numpy()] = x
        same(d.numpy(), want)
        same(weft.transpose(d.reshape(20, 15)).numpy(), want.reshape(20, 15).T)
        keys = (x > 0).astype(np.int32)
        groups, counts, means = weft.group(
            c.asarray(keys), ("count", None), ("mean", Interface(c.asarray(x)))
        )
        same(groups.numpy(), np.array([0, 1], np.int32))
        same(counts.numpy(), np.bincount(keys))
        np.testing.assert_allclose(means.numpy(), [x[keys == 0].mean(), x[keys == 1].mean()])
        same(weft.offsets(counts).numpy(), np.array([0, (keys == 0).sum(), 300]))
        table = np.zeros(50, [("key", "i4"), ("value", "f4")])
        table["key"], table["value"] = rng.integers(0, 5, 50), rng.normal(size=50)
        ordered = weft.records.sort(c.asarray(table), ["key", "value"]).numpy()
        same(ordered, np.sort(table, order=["key", "value"]))
        same(weft.records.columns(c.asarray(table))["value"].numpy(), table["value"])
        total = weft.ExactSum(d)
        assert total.value() == weft.sum(x)
        image = rng.normal(size=(1, 2, 6, 6)).astype(np.float32)
        w = rng.normal(size=(2, 2, 3, 3)).astype(np.float32)
        with weft.Context("cpu:1"):
            want = weft.nn.conv2d(image, w)
        np.testing.assert_allclose(
            weft.nn.conv2d(c.asarray(image), c.asarray(w)).numpy(), want, atol=1e-5
        )

    def test_matrices(self, rng):
        c = weft.current()
        a, b = rng.normal(size=(20, 20)), rng.normal(size=(20, 3))
        x = weft.linalg.solve(Interface(c.asarray(a)), Interface(c.asarray(b)))
        np.testing.assert_allclose(x.numpy(), np.linalg.solve(a, b), atol=1e-10)
        turned = Interface(c.asarray(a.T.copy()), strides=(8, 160))
        np.testing.assert_allclose(weft.matmul(turned, c.asarray(b)).numpy(), a @ b, atol=1e-12)
        noise = weft.random.default_rng(1).standard_normal(50)
        with weft.Context("cpu:1"):
            same(noise.numpy(), weft.random.default_rng(1).standard_normal(50))

    def test_streams_are_followed(self):
        c = weft.current()
        d = c.asarray(np.arange(5.0))
        told = []
        keep = c._follow
        c._follow = lambda address, owner=None: told.append(address)
        try:
            weft.sum(Interface(d, stream=1))
            weft.sum(Interface(d, stream=None))
            weft.sum(Interface(d, stream=77))
            assert told == [1, 0, 77]
        finally:
            del c._follow
        assert c._follow == keep

    def test_refused(self):
        d = weft.current().asarray(np.arange(5.0))
        with pytest.raises(ValueError, match="read-only"):
            weft.sort(d, out=Interface(d, data=(d._address, True)))
        with pytest.raises(ValueError, match="gaps"):
            weft.mean(Interface(d, strides=(16,), shape=(3,)))
        apart = weft.sort(Interface(d, strides=(16,), shape=(3,)), descending=True)
        same(apart.numpy(), np.array([4.0, 2.0, 0.0]))
        with weft.Context("cpu:1"), pytest.raises(TypeError, match="device memory"):
            weft.sort(Interface(d))

    def test_dlpack_is_given(self):
        d = weft.current().asarray(np.arange(5.0))
        capsule = d.__dlpack__()
        assert "dltensor" in repr(capsule) and d.__dlpack_device__()[0] == 2
        given = sys.modules["weft._dlpack"]._given
        assert len(given) == 1
        del capsule
        assert not given


def test_dlpack_of_host_memory():
    with weft.Context("cpu:1") as c:
        a = c.asarray(np.arange(5.0))
        view = np.from_dlpack(a)
        same(view, np.arange(5.0))
        del a
        gc.collect()
        same(view, np.arange(5.0))
        del view
        gc.collect()
        c.sync()
        assert not c._held


@pytest.mark.skipif(DEVICE, reason="the command has no place emu")
def test_climb():
    try:
        weft._climb.command()
    except FileNotFoundError:
        pytest.skip("the weft command is not here")
    table = weft.climb("map", place="cpu:1", n="2^12", variant="serial")
    assert len(table) == 1 and table[0]["variant"] == "serial" and table[0]["ok"]
    assert "serial" in str(table) and "<td>serial</td>" in table._repr_html_()
    with pytest.raises(RuntimeError, match="weft"):
        weft.climb("nothing of that name")


def test_table():
    rows = [
        {
            "op": "scan",
            "place": "cpu:1",
            "variant": name,
            "n": 4096,
            "seconds": seconds,
            "gbps": 1e-9 / seconds,
            "roof_share": 0.5,
            "speedup_first": 3e-6 / seconds,
            "what": "<it>",
        }
        for name, seconds in (("serial", 3e-6), ("blocked", 2e-3))
    ]
    table = weft.Table(rows)
    assert [row["variant"] for row in table] == ["serial", "blocked"]
    lines = str(table).splitlines()
    assert len(lines) == 3 and "3 us" in lines[1] and "2 ms" in lines[2] and "50 %" in lines[1]
    assert "&lt;it&gt;" in table._repr_html_()
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    assert len(table.plot().patches) == 2


def test_trace(tmp_path):
    path = tmp_path / "t.json"
    with weft.Context("cpu:1") as c, c.trace(str(path)):
        weft.sort(np.arange(100.0))
    assert "sort" in path.read_text()
