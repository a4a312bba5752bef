# SPDX-License-Identifier: Apache-2.0
# Writes module weft_c from the C headers: every constant, struct and call, under their own names.
# What it cannot translate it names, and fails.
#   awk -f bindings.awk include/weft/*.h > weft_c.f90
#
# Pointers. Handles, and memory of weft_alloc, are type(c_ptr). Strings are arrays of characters that end in c_null_char, structs
# are types. Other arrays may be variables of any type, kind and rank, and are passed by their address;
# what is left out is NULL.

BEGIN {
    kind["int"] = kind["unsigned"] = "integer(c_int)"
    kind["size_t"] = "integer(c_size_t)"
    kind["ptrdiff_t"] = "integer(c_ptrdiff_t)"
    kind["int8_t"] = kind["uint8_t"] = "integer(c_int8_t)"
    kind["int16_t"] = kind["uint16_t"] = "integer(c_int16_t)"
    kind["int32_t"] = kind["uint32_t"] = "integer(c_int32_t)"
    kind["int64_t"] = kind["uint64_t"] = "integer(c_int64_t)"
    kind["float"] = "real(c_float)"
    kind["double"] = "real(c_double)"
    split("weft_column weft_field weft_gathered weft_expr_step weft_expr_input", list, " ")
    for (k in list)
        is_list[list[k]] = 1
}

FNR == 1 {
    text = text " ;"
}

# Comments go, and preprocessor lines but for those that define a number.
{
    line = $0
    while (1) {
        if (inside) {
            if (!match(line, /\*\//)) {
                line = ""
                break
            }
            line = substr(line, RSTART + 2)
            inside = 0
        }
        if (!match(line, /\/\*/))
            break
        rest = substr(line, RSTART + 2)
        line = substr(line, 1, RSTART - 1)
        inside = 1
        if (!match(rest, /\*\//))
            break
        line = line " " substr(rest, RSTART + 2)
        inside = 0
    }
    if (continued || line ~ /^ *#/) {
        if (line ~ /^#define WEFT_[A-Z_]+ [0-9]+ *$/) {
            split(line, word, " ")
            constant(word[2], word[3])
        } else if (line ~ /^#define WEFT_NOWHERE /) {
            constants = constants "    integer(c_int64_t), parameter :: WEFT_NOWHERE = -1_c_int64_t\n"
        }
        continued = line ~ /\\$/
        next
    }
    if (line !~ /extern "C"/ && line !~ /^[}]$/)
        text = text " " line
}

END {
    gsub(/[ \t]+/, " ", text)
    while (text != "")
        take()
    for (k = 1; k <= struct_count; k++) # structs have members of enums, whatever the order of headers
        take_struct(struct[k])
    for (k = 1; k <= call_count; k++)
        take_call(call[k])
    if (failed)
        exit 1
    print "! Made from the C headers by bindings.awk."
    print "module weft_c"
    print "    use, intrinsic :: iso_c_binding"
    print "    implicit none"
    print "    public"
    print constants types
    print "    interface"
    print calls "    end interface"
    print "end module weft_c"
}

function constant(name, value) {
    taken[tolower(name)] = 1
    constants = constants "    integer(c_int), parameter :: " name " = " value "\n"
}

function fail(what) {
    print "bindings.awk: cannot translate: " what > "/dev/stderr"
    failed = 1
}

# The text up to the brace that closes the first one, or to the semicolon if there is none before.
function take(    k, depth, c, statement) {
    for (k = 1; k <= length(text); k++) {
        c = substr(text, k, 1)
        depth += (c == "{") - (c == "}")
        if (c == ";" && depth == 0)
            break
    }
    statement = substr(text, 1, k - 1)
    text = substr(text, k + 1)
    sub(/^ +/, "", statement)
    if (statement == "" || statement ~ /^typedef struct [a-z0-9_]+ [a-z0-9_]+ *$/) {
        if (statement != "") {
            split(statement, opaque, " ")
            handle[opaque[3]] = 1
        }
    } else if (statement ~ /^(typedef )?enum/)
        take_enum(statement)
    else if (statement ~ /^typedef union/) {
        name = statement
        sub(/.*[}] */, "", name)
        type(name, "        integer(c_int64_t) :: bits = 0 ! of the member that is meant; transfer() makes them\n")
    } else if (statement ~ /^typedef struct/)
        struct[++struct_count] = statement
    else if (statement ~ /^typedef [a-z_]+ \(\*/) {
        name = statement
        sub(/^[^*]*\*/, "", name)
        sub(/\).*/, "", name)
        is_function[name] = 1
    } else if (statement ~ /^WEFT_API /)
        call[++call_count] = substr(statement, 10)
    else
        fail(statement)
}

function take_enum(statement,    name, n, part, k, at, pair, value, shift) {
    name = statement
    sub(/.*[}] */, "", name)
    if (name != "")
        kind[name] = "integer(c_int)"
    sub(/^[^{]*[{]/, "", statement)
    sub(/[}].*/, "", statement)
    n = split(statement, part, ",")
    value = -1
    for (k = 1; k <= n; k++) {
        gsub(/ /, "", part[k])
        if (part[k] == "")
            continue
        value++
        at = split(part[k], pair, "=")
        if (at == 2) {
            value = pair[2]
            if (split(value, shift, "<<") == 2)
                value = shift[1] * 2 ^ shift[2]
        }
        number[pair[1]] = value
        constant(pair[1], value)
    }
}

# Fortran does not tell WEFT_F16, the constant, from weft_f16, the struct.
function type(name, members) {
    structs[name] = name (name in taken ? "_bits" : "")
    name = structs[name]
    types = types "    type, bind(c) :: " name "\n" members "    end type " name "\n"
}

# Members: `base a, *b, c[N]` for each.
function take_struct(statement,    name, n, part, k, base, m, list, i, members, member, size) {
    name = statement
    sub(/.*[}] */, "", name)
    sub(/^[^{]*[{]/, "", statement)
    sub(/[}][^}]*$/, "", statement)
    gsub(/union *[{][^}]*[}] */, "int64_t ", statement)
    n = split(statement, part, ";")
    for (k = 1; k <= n; k++) {
        sub(/^ +/, "", part[k])
        if (part[k] == "")
            continue
        if (part[k] ~ /\(\*/) {
            member = part[k]
            sub(/^[^*]*\(\*/, "", member)
            if (part[k] ~ /^void \*\(/)
                sub(/^[^(]*\(\*/, "", member)
            sub(/\).*/, "", member)
            members = members "        type(c_funptr) :: " member " = c_null_funptr\n"
            continue
        }
        gsub(/const /, "", part[k])
        base = part[k]
        sub(/[ *].*/, "", base)
        sub(/^[a-z0-9_]+ */, "", part[k])
        m = split(part[k], list, ",")
        for (i = 1; i <= m; i++) {
            member = list[i]
            gsub(/ /, "", member)
            if (member ~ /^\*/)
                members = members "        type(c_ptr) :: " substr(member, 2) " = c_null_ptr\n"
            else if (member ~ /\[/) {
                size = member
                sub(/.*\[/, "", size)
                sub(/\].*/, "", size)
                sub(/\[.*/, "", member)
                members = members "        " kind[base] " :: " member "(" size ") = 0\n"
            } else if (base in structs)
                members = members "        type(" structs[base] ") :: " member "\n"
            else if (base in kind)
                members = members "        " kind[base] " :: " member " = 0\n"
            else
                fail("member of " name ": " base " " member)
        }
    }
    type(name, members)
}

function take_call(statement,    name, result, arguments, n, part, k, names, body, p, base, stars, from, decl) {
    name = statement
    sub(/\(.*/, "", name)
    result = name
    sub(/[a-z0-9_]+$/, "", result)
    name = substr(name, length(result) + 1)
    gsub(/const /, "", result)
    gsub(/ /, "", result)
    current = name
    arguments = statement
    sub(/^[^(]*\(/, "", arguments)
    sub(/\) *$/, "", arguments)
    if (arguments == "void")
        arguments = ""
    n = split(arguments, part, ",")
    for (k = 1; k <= n; k++) {
        p = part[k]
        from = p ~ /const [^*]*\*[^*]*$/ ? "in" : "inout"
        gsub(/const/, "", p)
        stars = gsub(/\*/, " ", p)
        gsub(/^ +| +$/, "", p)
        base = p
        sub(/ .*/, "", base)
        sub(/.* /, "", p)
        names = names (k > 1 ? ", " : "") p
        decl = declared(base, stars, from, p)
        if (decl == "")
            fail(name ": " part[k])
        body = body decl
    }
    head(name, names, result, body)
}

function declared(base, stars, from, p) {
    if (base == "char" && stars == 1)
        return "            character(kind=c_char), dimension(*), intent(in), optional :: " p "\n"
    if (base in handle)
        return "            type(c_ptr), " (stars == 1 ? "value" : "intent(inout)") " :: " p "\n"
    if (base in is_function)
        return "            type(c_funptr), value :: " p "\n"
    if (base == "void" && stars == 2 && p == "memory")
        return "            type(c_ptr), intent(inout) :: " p "\n"
    if (stars > 0 && base in structs)
        return "            type(" structs[base] ")" (base in is_list ? ", dimension(*)" : "") ", intent(" from "), optional :: " p "\n"
    if (stars == 0 && base in structs)
        return "            type(" structs[base] "), value :: " p "\n"
    if (stars == 0 && base in kind)
        return "            " kind[base] ", value :: " p "\n"
    if (stars == 1 && base == "void" && (p == "stream" || p == "user" || current == "weft_free"))
        return "            type(c_ptr), value :: " p "\n"
    if (stars > 0 && (base == "void" || base in kind))
        return "            !gcc$ attributes no_arg_check :: " p "\n            !dir$ ignore_tkr " p "\n            type(*), intent(" from "), optional :: " p "\n"
    return ""
}

function head(name, names, result, body,    returned, what) {
    what = result == "void" ? "subroutine" : "function"
    if (result ~ /\*/)
        returned = "            type(c_ptr) :: " name "\n"
    else if (result in kind)
        returned = "            " kind[result] " :: " name "\n"
    else if (result in structs)
        returned = "            type(" structs[result] ") :: " name "\n"
    else if (result != "void")
        fail(name " gives " result)
    calls = calls "        " what " " name "(" names ") bind(c, name='" name "')\n            import\n            implicit none\n" body returned "        end " what " " name "\n"
}
