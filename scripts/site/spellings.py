# SPDX-License-Identifier: Apache-2.0
"""How a call of C is spelled in other languages, for the reference. A file of one of them says so in a
line of its own: "weft_scan: cumsum(x)". docs/reference/python.txt and fortran.txt are such files; where
they are not there, the reference shows C alone."""


def read(root, languages):
    found = {}
    for language in languages:
        path = root / "docs/reference" / f"{language.lower()}.txt"
        if not path.is_file():
            continue
        for line in path.read_text().split("\n"):
            name, colon, text = line.partition(": ")
            if colon and not line.startswith("#"):
                before = found.setdefault(name, {}).get(language)
                found[name][language] = f"{before}\n{text}" if before else text
    return found
