# SPDX-License-Identifier: Apache-2.0
"""How a call of C is spelled in Python and in Fortran, for the reference: from the stubs of the package
(python/weft), by the list docs/reference/python.txt, and from the templates of module weft (fortran).
Where one of the two is not in the tree, the reference goes without it."""
import ast
import re

TYPED = re.compile(r"^\s*subroutine (\w+?)(?:_in_place|_i32|_i64)?_@S@\(([^)]*)\)", re.MULTILINE)
PLAIN = re.compile(r"^\s*(subroutine|function) plain_(\w+)\(([^)]*)\)", re.MULTILINE)


def without_types(arguments):
    """The arguments of a function as one calls it: names and defaults."""
    def shown(argument, default):
        return argument.arg if default is None else f"{argument.arg}={ast.unparse(default)}"

    plain = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(plain) - len(arguments.defaults)) + arguments.defaults
    words = [shown(a, d) for a, d in zip(plain, defaults) if a.arg not in ("self", "cls")]
    if arguments.vararg:
        words.append("*" + arguments.vararg.arg)
    elif arguments.kwonlyargs:
        words.append("*")
    words += [shown(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return ", ".join(words)


def signatures(body, before):
    """Every function and class of a stub: dotted name -> how it is called."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            attribute = any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)
            yield before + node.name, before + node.name + ("" if attribute else f"({without_types(node.args)})")
        elif isinstance(node, ast.ClassDef):
            made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
            yield before + node.name, f"{before}{node.name}({without_types(made.args) if made else ''})"
            yield from signatures(node.body, before + node.name + ".")


def python(root):
    """Call -> lines. A name in the list that no stub has is an error."""
    stubs = {}
    for path in sorted((root / "python/weft").glob("*.pyi")):
        before = "weft." if path.stem == "__init__" else f"weft.{path.stem}."
        stubs.update(signatures(ast.parse(path.read_text()).body, before))
    found = {}
    for line in (root / "docs/reference/python.txt").read_text().split("\n") if stubs else ():
        call, colon, names = line.partition(":")
        if colon and not line.startswith("#"):
            missing = [name for name in names.split() if f"weft.{name}" not in stubs]
            if missing:
                raise ValueError(f"docs/reference/python.txt: the package has no {', '.join(missing)}")
            found[call] = [stubs[f"weft.{name}"] for name in names.split()]
    return found


def parameters(prototype):
    """The names of a C function's parameters."""
    inside = prototype[prototype.index("(") + 1:prototype.rindex(")")]
    return [re.search(r"(\w+)(?:\[\w*\])?$", part.strip())[1] for part in inside.split(",") if part.strip() != "void"]


def fortran(root, headers):
    """Call -> lines: typed calls by the templates, all others with the arguments of C."""
    if not (root / "fortran").is_dir():
        return {}
    found = {}
    for header in headers:
        for _, declared, _, _ in header.parts:
            for line in declared:
                match = re.match(r"weft_status (weft_\w+)\(", line)
                if match:
                    found[match[1]] = [f"stat = {match[1]}({', '.join(parameters(line))})"]
    typed = {}
    for path in sorted((root / "fortran").glob("*.f90.in")):
        text = path.read_text().replace("&\n", "")
        for name, arguments in TYPED.findall(text):
            call = f"call weft_{name}({' '.join(arguments.split())})"
            if call not in typed.setdefault("weft_" + name, []):
                typed["weft_" + name].append(call)
        for kind, name, arguments in PLAIN.findall(text):
            how = f"weft_{name}({arguments})"
            typed["weft_" + name] = ["call " + how if kind == "subroutine" else "text = " + how]
    known = {name for header in headers for name in header.names}
    return found | {name: lines for name, lines in typed.items() if name in known}


def read(root, headers):
    """Name of a call -> language -> how it is spelled there."""
    found = {}
    for language, calls in (("Python", python(root)), ("Fortran", fortran(root, headers))):
        for name, lines in calls.items():
            found.setdefault(name, {})[language] = "\n".join(lines)
    return found
