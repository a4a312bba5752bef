#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The model of scripts/scaling.py: docs/scaling.md shows what it prints, and what two GPUs took is within
# a quarter of what it predicts.
: "${WEFT_SOURCE:?run me through ctest}" "${WEFT:=none}"
. "$(dirname "$0")/command.sh"
cd "$WEFT_SOURCE" || exit 1
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
    echo "scaling_test: skipped: the model is computed by python3, 3.9 or later, which is not here"
    exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
python3 scripts/scaling.py >"$folder/out" || fail 'scripts/scaling.py fails'

# part NAME: the table between the marks in the page.
part() { sed -n "/<!-- scaling: $1 -->/,/<!-- end -->/p" docs/scaling.md | grep '^|'; }
same "$(sed '/^$/,$d' "$folder/out")" "$(part check)" 'the first table of docs/scaling.md'
same "$(sed '1,/^$/d' "$folder/out")" "$(part predictions)" 'the second table of docs/scaling.md'

checked=0
while IFS='|' read -r _ call n _ _ _ ratio _; do
    checks=$((checks + 1)) checked=$((checked + 1))
    awk -v r="$ratio" 'BEGIN { exit !(r >= 0.8 && r <= 1.25) }' || fail "$call of $n: measured / predicted is $ratio"
done < <(sed '/^$/,$d' "$folder/out" | tail -n +3)
[ "$checked" -ge 18 ] || fail "only $checked figures are compared"

# Slower networks make nothing faster, and what needs no network does not change.
python3 scripts/scaling.py --net 20 --gpus 8,1024 >"$folder/slow"
same "$(grep '^| add |.*, ' "$folder/slow" | cut -d'|' -f3)" "$(grep '^| add |.*, ' "$folder/out" | cut -d'|' -f3)" 'add on 8 GPUs'
seconds() { grep "^| $1 |.*, " "$2" | cut -d'|' -f"$3" | awk '{ print $2 == "ms," ? $1 / 1000 : $1 + 0 }'; }
checks=$((checks + 1))
awk -v a="$(seconds sort "$folder/slow" 4)" -v b="$(seconds sort "$folder/out" 5)" 'BEGIN { exit !(a > 1.5 * b) }' ||
    fail 'a sort over 1024 GPUs does not wait for the network'
finish
