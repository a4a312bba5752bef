#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The site: it is built, and whole (scripts/site/check.py); what is wrong with a site is found; Markdown
# becomes the right HTML; the picture of the README is that of bench/results.
#   WEFT_SOURCE=. tests/site_test.sh
: "${WEFT_SOURCE:?run me through ctest}" "${WEFT:=none}"
. "$(dirname "$0")/command.sh"
cd "$WEFT_SOURCE" || exit 1
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
    echo "site_test: skipped: the site is built by python3, 3.9 or later, which is not here"
    exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
site=$folder/site

expect 0 'site: .* MB' python3 scripts/site/build.py "$site"
expect 1 'holds something else' python3 scripts/site/build.py "$WEFT_SOURCE/docs"
same '["314 more lines: bench/results/2026-12-01-h200-sweep-end.json in the repository"]' \
    "$(tail -n 1 "$site/files/2026-12-01-h200-sweep-end.json")" 'of a long file of figures the beginning'
same "$(cat docs/climb.svg)" "$(python3 scripts/site/climb_picture.py)" 'docs/climb.svg (scripts/site/climb_picture.py)'

# Faults in pages that were built: each is found.
plant() { sed -i "s|</main>|$2</main>|" "$site/$1"; }
plant tutorial/index.html '<a href="11-none.html">next</a>'
plant numbers.html '<a href="index.html#nowhere">x</a>'
plant testing.html '<script>1</script>'
plant coming-from.html '<div>'
cp "$site/testing.html" "$site/alone.html"
python3 scripts/site/check.py "$site" >"$folder/found" 2>&1 && fail 'faults in pages pass'
found() {
    checks=$((checks + 1))
    grep -q -- "$1" "$folder/found" || fail "not found: $1: $(cat "$folder/found")"
}
found '^tutorial/index.html: dead link to 11-none.html$'
found '^numbers.html: no such anchor: index.html#nowhere$'
found '^testing.html: a script'
found '^coming-from.html: .*closes nothing'
found '^alone.html is more than 3 clicks away$'

# Faults in the documentation of a tree.
mkdir "$folder/tree"
scripts/sources.sh . | tar cf - -T - | tar xf - -C "$folder/tree"
echo 'See `weft_fftt` and [x](gpus.md#no-such).' >>"$folder/tree/docs/fft.md"
python3 "$folder/tree/scripts/site/build.py" "$folder/refused" >"$folder/found" 2>&1 && fail 'faults in a tree pass'
found 'docs/fft.md: `weft_fftt` is in no public header$'
found 'no such anchor: gpus.html#no-such$'
echo 'See [x](none.md).' >>"$folder/tree/README.md"
expect 1 '^site: README.md links to none.md, which is not there$' \
    python3 "$folder/tree/scripts/site/build.py" "$folder/refused"

# html MARKDOWN: what becomes of it.
html() {
    printf '%b' "$1" | PYTHONPATH=scripts/site python3 -c '
import sys, markdown
print(markdown.Page(lambda link: link.upper(), lambda name: "R" if name == "weft_add" else None).convert(sys.stdin.read()))'
}
rm -r "$folder/tree" "$folder/refused"
same '<h2 id="a-b--c">A, <em>b</em> &amp; <code>c</code></h2>' "$(html '## A, *b* & `c`')" heading
same '<p>2 * 3 * 4 <strong>x</strong> <a href="U">t <code>&lt;c&gt;</code></a>
on</p>' "$(html '2 * 3 * 4 **x** [t `<c>`](u)\n on')" inline
same '<ul>
<li>a
b</li>
<li>c
<ul>
<li>d</li>
</ul></li>
</ul>' "$(html '- a\n  b\n- c\n  - d')" lists
same '<p>one of
0. not a list</p>' "$(html 'one of\n0. not a list')" paragraph
grep -q '<td><code>a|b</code></td><td></td>' <<<"$(html '| h | |\n| --- | --- |\n| `a|b` | |')" || fail 'table'
same '<p><code><a href="R">weft_add</a></code></p>' "$(html '<!-- no -->\n`weft_add`')" 'call and comment'

# Every call has its place in the reference, every ladder its page.
for name in $(grep -hoE 'WEFT_API [^;{]*\(' include/weft/*.h | grep -oE 'weft_[a-z0-9_]+\($' | tr -d '('); do
    grep -qsE "id=$name[ >]" "$site"/reference/*.html || fail "the reference lacks $name"
done
for ladder in $(sed -n 's/^WI_[A-Z]*(\(.*\))$/\1/p' src/core/ops.def); do
    [ -s "$site/ladders/$ladder.html" ] || fail "no page of ladder $ladder"
done
finish
