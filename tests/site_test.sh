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
expect 0 'the site is whole' python3 scripts/site/check.py "$site"
expect 1 'holds something else' python3 scripts/site/build.py "$WEFT_SOURCE/docs"
same "$(cat docs/climb.svg)" "$(python3 scripts/site/climb_picture.py)" 'docs/climb.svg (scripts/site/climb_picture.py)'

# plant PAGE TEXT PATTERN: with the text at the end of the page, the check finds what it should.
plant() {
    cp "$site/$1" "$folder/before"
    sed -i "s|</main>|$2</main>|" "$site/$1"
    expect 1 "$3" python3 scripts/site/check.py "$site"
    cp "$folder/before" "$site/$1"
}
plant tutorial/index.html '<a href="11-none.html">next</a>' 'tutorial/index.html: dead link to 11-none.html'
plant numbers.html '<a href="index.html#nowhere">x</a>' 'no such anchor'
plant testing.html '<script>1</script>' 'a script'
plant testing.html '<p>' 'closes nothing'
echo '<p>alone</p>' >"$site/alone.html"
expect 1 'alone.html is more than 3 clicks away' python3 scripts/site/check.py "$site"
rm "$site/alone.html"

# A tree with a fault in its documentation: FILE, the line added, what is said.
refuse() {
    rm -rf "$folder/tree"
    mkdir "$folder/tree"
    scripts/sources.sh . | tar cf - -T - | tar xf - -C "$folder/tree"
    echo "$2" >>"$folder/tree/$1"
    expect 1 "$3" python3 "$folder/tree/scripts/site/build.py" "$folder/refused"
}
refuse docs/gpus.md 'See [x](none.md).' '^site: docs/gpus.md links to docs/none.md, which is not there$'
refuse docs/fft.md 'See `weft_fftt`.' 'docs/fft.md: `weft_fftt` is in no public header'
refuse docs/fft.md 'See [x](gpus.md#no-such).' 'no such anchor: gpus.html#no-such'

# html MARKDOWN: what becomes of it.
html() {
    printf '%b' "$1" | PYTHONPATH=scripts/site python3 -c '
import sys, markdown
print(markdown.Page(lambda link: link.upper(), lambda name: "R" if name == "weft_add" else None).convert(sys.stdin.read()))'
}
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
    grep -qs "id=\"$name\"" "$site"/reference/*.html || fail "the reference lacks $name"
done
for ladder in $(sed -n 's/^WI_[A-Z]*(\(.*\))$/\1/p' src/core/ops.def); do
    [ -s "$site/ladders/$ladder.html" ] || fail "no page of ladder $ladder"
done
finish
