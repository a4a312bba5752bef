# SPDX-License-Identifier: Apache-2.0
# Writes each block of code of a Markdown page to a file of its own, FOLDER/NUMBER.LANGUAGE, and prints
# a line for it: NUMBER, LANGUAGE, LINE and what the comment right above says of it, between tabs. A
# comment that begins with "all " speaks of all blocks below it that have none of their own.
#   awk -v folder=F -v first=1 -f docs_blocks.awk page.md

BEGIN { number = first }
inside && /^ *```/ {
    close(file)
    inside = 0
    remark = ""
    next
}
inside {
    print > file
    next
}
/^ *```/ {
    language = $0
    sub(/^ *``` */, "", language)
    sub(/ .*/, "", language)
    if (language == "") language = "none"
    file = sprintf("%s/%03d.%s", folder, number, language)
    printf "" > file
    printf "%03d\t%s\t%d\t%s\n", number++, language, FNR, remark == "" ? of_all : remark
    inside = 1
    next
}
/^<!--/ {
    remark = $0
    while (remark !~ /-->/ && (getline line) > 0) remark = remark " " line
    gsub(/^<!-- *| *-->.*$/, "", remark)
    if (sub(/^all /, "", remark)) of_all = remark
    next
}
/[^ ]/ { remark = "" }
