# SPDX-License-Identifier: Apache-2.0
"""The examples in the documentation run, and the stubs are of what there is."""

import ast
import importlib
import inspect
import os
import re

import pytest

import weft
from conftest import PLACE

HERE = os.path.dirname(os.path.abspath(__file__))
PAGES = ("../README.md", "../../docs/python.md")
STUBS = ("__init__", "fft", "linalg", "nbody", "nn", "random", "records", "sparse")


@pytest.mark.skipif(not PLACE.startswith("cpu"), reason="once is enough")
@pytest.mark.parametrize("page", PAGES)
def test_examples(page):
    with open(os.path.join(HERE, page)) as file:
        blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    assert blocks
    if any("scipy" in block for block in blocks):
        pytest.importorskip("scipy")
    names = {}
    default = weft._context._local.default
    for block in blocks:
        exec(compile(block, page, "exec"), names)  # noqa: S102
    weft._context._local.default = default


@pytest.mark.parametrize("name", STUBS)
def test_stubs(name):
    path = os.path.join(HERE, "..", "weft", name + ".pyi")
    with open(path) as file:
        stubs = ast.parse(file.read())
    module = importlib.import_module("weft" if name == "__init__" else f"weft.{name}")
    told = {node.name: node for node in stubs.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name for node in stubs.body if isinstance(node, ast.ClassDef)}
    imported = {
        alias.name
        for node in stubs.body
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    assert set(module.__all__) == set(told) | classes | (imported & set(module.__all__))
    for function, node in told.items():
        arguments = node.args
        wanted = [a.arg for a in arguments.posonlyargs + arguments.args]
        wanted += [arguments.vararg.arg] if arguments.vararg else []
        wanted += [a.arg for a in arguments.kwonlyargs]
        wanted += [arguments.kwarg.arg] if arguments.kwarg else []
        assert list(inspect.signature(getattr(module, function)).parameters) == wanted, function
