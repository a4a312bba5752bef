# SPDX-License-Identifier: Apache-2.0
"""Whole formulas over arrays in one pass over memory."""

import ast
import operator
import struct

import numpy as np

from . import _core
from ._arrays import finish, flat, number_of, output, take
from ._context import current

# The operations of weft/expr.h.
_INPUT, _CONSTANT, _DUP, _MUL, _POW, _EQ, _NE, _SELECT, _WRAP = 0, 1, 2, 5, 15, 16, 17, 31, 33
_BINARY = {ast.Add: 3, ast.Sub: 4, ast.Mult: _MUL, ast.Div: 6, ast.Pow: _POW}
_BITS = {ast.BitAnd: 10, ast.BitOr: 11, ast.BitXor: 12, ast.LShift: 13, ast.RShift: 14}
_COMPARE = {ast.Eq: _EQ, ast.NotEq: _NE, ast.Lt: 18, ast.LtE: 19, ast.Gt: 20, ast.GtE: 21}
_FUNCTIONS = {"abs": 23, "sqrt": 25, "exp": 26, "log": 27, "floor": 28, "ceil": 29, "rint": 30}
_PAIRS = {"minimum": 7, "maximum": 8}
_ANSWERS = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt}
_ANSWERS.update({ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge})
_OF_NUMBERS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
_OF_NUMBERS.update({ast.Div: operator.truediv, ast.Pow: operator.pow, ast.BitOr: operator.or_})
_OF_NUMBERS.update({ast.BitAnd: operator.and_, ast.BitXor: operator.xor})
_OF_NUMBERS.update({ast.LShift: operator.lshift, ast.RShift: operator.rshift})
_SIGNS = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}
_LARGEST_POWER = 1024  # and shift, of whole numbers: no double is a larger power of 2
_NAMES = ", ".join(["where", *_FUNCTIONS, *_PAIRS])
_OF_FLOATS = {"sqrt", "exp", "log", "floor", "ceil", "rint"}
_BOOL, _INT64, _FLOAT64 = (np.dtype(t) for t in (np.bool_, np.int64, np.float64))
_MOST_INPUTS = 7
_REDUCTIONS = ("sum", "prod", "min", "max", "and", "or", "xor", "argmin", "argmax")  # as weft_op


def _computed(dtype):
    """The type in which the library computes with elements of `dtype`."""
    if dtype.kind == "f":
        return np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)
    if dtype.itemsize == 8:
        return dtype
    return np.dtype(np.int32 if dtype.kind == "i" else np.uint32)


class _Program:
    """A formula turned into steps for the library's stack."""

    def __init__(self, formula, types, numbers):
        self.types, self.numbers, self.inputs, self.steps = types, numbers, [], []
        try:
            self.root = ast.parse(formula, mode="eval").body
        except SyntaxError as error:
            raise ValueError(f"evaluate: {formula!r} is no formula: {error.msg}") from None
        dtype = self.type_of(self.root)
        self.dtype = {int: _INT64, float: _FLOAT64}.get(dtype, dtype)
        self.put(self.root, self.dtype)
        if not self.inputs:
            raise ValueError(f"evaluate: there is no array in {formula!r}")

    def refuse(self, node, why):
        raise ValueError(f"evaluate: {ast.unparse(node)}: {why}")

    def number(self, node):
        """The value of a number in the formula; None for anything else."""
        if isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
            return self.number_with_sign(node)
        if isinstance(node, ast.BinOp) and type(node.op) in _OF_NUMBERS:
            return self.number_of_pair(node)
        if isinstance(node, ast.Name):
            return self.numbers.get(node.id)
        plain = isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
        return node.value if plain else None

    def number_with_sign(self, node):
        value = self.number(node.operand)
        if isinstance(value, float) and isinstance(node.op, ast.Invert):
            self.refuse(node, "integers are needed")
        return None if value is None else _SIGNS[type(node.op)](+value)  # a bool is 0 or 1

    def number_of_pair(self, node):
        """What an operation makes of two numbers, as Python has it: 1/2 is 0.5."""
        left, right = self.number(node.left), self.number(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Pow) and abs(right) > _LARGEST_POWER and isinstance(left, int):
            left = float(left)
        if type(node.op) in _BITS and float in (type(left), type(right)):
            self.refuse(node, "integers are needed")
        if isinstance(node.op, ast.LShift) and right > _LARGEST_POWER:
            self.refuse(node, "no type can hold it")
        try:
            value = _OF_NUMBERS[type(node.op)](left, right)
        except (ArithmeticError, ValueError) as error:
            self.refuse(node, str(error))
        return value if isinstance(value, (int, float)) else self.refuse(node, "it is complex")

    def common(self, *nodes):
        """The type of values that are computed with together; numbers take that of arrays."""
        types = [self.type_of(node) for node in nodes]
        arrays = [t for t in types if not isinstance(t, type)]
        if not arrays:
            return float if float in types else int
        result = np.result_type(*arrays)
        if float in types and result.kind != "f":
            return _FLOAT64
        return _INT64 if result == _BOOL and int in types else result

    def floats(self, dtype):
        if isinstance(dtype, type):
            return float
        return dtype if dtype.kind == "f" else _FLOAT64

    def type_of(self, node):
        """The type of a value as numpy has it; of a number `int` or `float`."""
        value = self.number(node)
        if value is not None:
            return float if isinstance(value, float) else int
        match node:
            case ast.Name():
                if node.id not in self.types:
                    self.refuse(node, "there is no array of this name")
                return self.types[node.id]
            case ast.Compare():
                return _BOOL
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                held = self.type_of(node.operand)
                return _INT64 if held == _BOOL else held
            case ast.UnaryOp(op=ast.Invert()):
                held = self.type_of(node.operand)
                if held is float or (not isinstance(held, type) and held.kind == "f"):
                    self.refuse(node, "integers are needed")
                return held
            case ast.BinOp():
                return self.type_of_pair(node)
            case ast.Call(func=ast.Name()):
                return self.type_of_call(node)
        self.refuse(
            node,
            f"this is not understood; there are + - * / ** & | ^ << >> ~, comparisons, {_NAMES}",
        )

    def type_of_pair(self, node):
        result = self.common(node.left, node.right)
        if type(node.op) in _BITS:
            if isinstance(result, type) or result.kind == "f":
                self.refuse(node, "integers are needed")
            return result
        if type(node.op) not in _BINARY:
            self.refuse(node, "this operation is not offered")
        square = isinstance(node.op, ast.Pow) and self.number(node.right) == 2
        if isinstance(node.op, ast.Div) or (isinstance(node.op, ast.Pow) and not square):
            return self.floats(result)
        return _INT64 if result == _BOOL else result

    def type_of_call(self, node):
        name = node.func.id
        wanted = 3 if name == "where" else 2 if name in _PAIRS else 1
        if name != "where" and name not in _FUNCTIONS and name not in _PAIRS:
            self.refuse(node, f"there is no such function; there are {_NAMES}")
        if len(node.args) != wanted or node.keywords:
            self.refuse(node, f"{name} takes {wanted} values")
        result = self.common(*(node.args[1:] if name == "where" else node.args))
        return self.floats(result) if name in _OF_FLOATS else result

    def step(self, op, argument=0, bits=0):
        self.steps += [op, argument, bits]

    def put(self, node, dtype):
        """Steps that leave the value of `node`, as one of `dtype`, on the stack."""
        computed = _computed(dtype)
        value = self.number(node)
        if value is not None:
            self.put_number(node, value, computed)
            return
        held = self.type_of(node)
        held = dtype if isinstance(held, type) else held
        match node:
            case ast.Name():
                if node.id not in self.inputs:
                    self.inputs.append(node.id)
                self.step(_INPUT, self.inputs.index(node.id))
            case ast.Compare():
                self.put_comparison(node)
            case ast.UnaryOp():
                self.put(node.operand, held)
                if isinstance(node.op, ast.USub):
                    self.step(22)
                elif isinstance(node.op, ast.Invert) and held == _BOOL:
                    self.step(_CONSTANT, number_of(np.dtype(np.uint32)))
                    self.step(_EQ)
                elif isinstance(node.op, ast.Invert):
                    self.step(24)
            case ast.BinOp():
                self.put_pair(node, held)
            case ast.Call():
                self.put_call(node, held)
        if _computed(held) != computed:
            self.step(_WRAP, number_of(computed))

    def put_number(self, node, value, computed):
        if computed.kind == "f":
            bits = struct.pack("d", value)
        else:
            info = np.iinfo(computed)
            if int(value) != value or not info.min <= value <= info.max:
                self.refuse(node, f"{computed} cannot hold it")
            bits = struct.pack("q" if computed.kind == "i" else "Q", int(value))
        self.step(_CONSTANT, number_of(computed), struct.unpack("q", bits)[0])

    def put_comparison(self, node):
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARE:
            self.refuse(node, "one comparison of two values at a time, joined by &")
        both = self.common(node.left, node.comparators[0])
        both = _FLOAT64 if isinstance(both, type) else both
        if both.kind in "iu" and self.put_known(node, both):
            return
        self.put(node.left, both)
        self.put(node.comparators[0], both)
        self.step(_COMPARE[type(node.ops[0])])

    def put_known(self, node, both):
        """A comparison with a number that the integers do not reach is the same for all of them."""
        limits = np.iinfo(both)
        for side, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            number = self.number(side)
            if number is None or limits.min <= number <= limits.max:
                continue
            pair = (number, 0) if side is node.left else (0, number)
            self.put(other, both)
            self.step(_DUP)
            self.step(_EQ if _ANSWERS[type(node.ops[0])](*pair) else _NE)
            return True
        return False

    def put_pair(self, node, held):
        self.put(node.left, held)
        if isinstance(node.op, ast.Pow) and self.number(node.right) == 2:
            self.step(_DUP)
            self.step(_MUL)
            return
        self.put(node.right, held)
        self.step(_BITS.get(type(node.op)) or _BINARY[type(node.op)])

    def put_call(self, node, held):
        name = node.func.id
        if name == "where":
            if self.type_of(node.args[0]) != _BOOL:
                self.refuse(node, "the first value of where must be a comparison")
            self.put(node.args[0], _BOOL)
        for argument in node.args[1:] if name == "where" else node.args:
            self.put(argument, held)
        self.step(_SELECT if name == "where" else _PAIRS.get(name) or _FUNCTIONS[name])


def _reduced(c, name, program, inputs, none):
    """The values of a program, reduced as they are computed: a number."""
    if name not in _REDUCTIONS:
        raise ValueError(f"evaluate: reduce is {name!r}; pass one of {', '.join(_REDUCTIONS)}")
    op, dtype = _REDUCTIONS.index(name), program.dtype
    computed = _computed(dtype)
    if name in ("and", "or", "xor") and dtype.kind == "f":
        raise ValueError(f"evaluate: reduce {name!r} is of integers, and the formula of {dtype}")
    if inputs[0].size == 0 and name not in ("sum", "prod"):
        raise ValueError("evaluate: there is no element")
    if computed != dtype and dtype != _BOOL:
        program.step(_WRAP, number_of(dtype))
    wide = {"f": computed, "i": np.int64}.get(computed.kind, np.uint64)
    y = np.empty((), wide if op < 2 else np.uint64 if name.startswith("arg") else computed)
    steps = np.array(program.steps, np.int64)
    _core.expr_reduce(
        c, op, number_of(computed), len(inputs), steps, *(flat(x) for x in inputs), *none, y
    )
    if name.startswith("arg") or (name == "sum" and dtype == _BOOL):
        return int(y)
    return y[()] if op < 2 else dtype.type(y)


def evaluate(formula, /, *, out=None, reduce=None, **arrays):
    """The value of a formula for each element, in one pass over memory:

        weft.evaluate("a * x + exp(-y) * (y > 0)", a=2.0, x=x, y=y)

    reduce="sum" gives the sum of the values alone, without an array of them; so do prod, min, max,
    argmin, argmax and, of integers, and, or and xor. The sum of a comparison counts.

    Arrays, at most seven, have one shape; numbers are constants. There are + - * / ** & | ^ << >> ~,
    comparisons, and abs, sqrt, exp, log, floor, ceil, rint, minimum, maximum and where. Types are
    those of numpy, but steps on the way have 32 bits or more, a sum of bools is an int64, and
    integers are divided, raised to powers but 2, and given to sqrt and the like as float64."""
    c = current()
    held, numbers = {}, {}
    for name, value in arrays.items():
        x = value if isinstance(value, (int, float)) else take(c, value)
        if type(x) is np.ndarray and x.ndim == 0:
            x = x.item()
        (numbers if isinstance(x, (int, float)) else held)[name] = x
    if len({tuple(x.shape) for x in held.values()}) > 1:
        raise ValueError("evaluate: the arrays have different shapes")
    program = _Program(formula, {name: x.dtype for name, x in held.items()}, numbers)
    inputs = [held[name] for name in program.inputs]
    if len(inputs) > _MOST_INPUTS:
        raise ValueError(f"evaluate: {len(inputs)} arrays; a formula takes {_MOST_INPUTS}")
    none = [None] * (_MOST_INPUTS - len(inputs))
    if reduce is not None:
        return _reduced(c, reduce, program, inputs, none)
    z = output(c, inputs[0], inputs[0].shape, program.dtype, out)
    steps = np.array(program.steps, np.int64)
    _core.expr(c, len(inputs), steps, *(flat(x) for x in inputs), *none, flat(z))
    return finish(z, arrays[program.inputs[0]], out)


__all__ = ["evaluate"]
