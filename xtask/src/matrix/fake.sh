#!/bin/bash
# A scripted agent of known quality: `fake KIND SET PROMPT_FILE GIST`. What it does hangs on the first hexadecimal digit of a digest of the test's name,
# so that anybody can tell beforehand what comes out.
kind=$1 set=$2 prompt=$3 gist=$4
line=$(grep -m 1 '^The test is `' "$prompt")
test=$(cut -d '`' -f 2 <<<"$line")
where=$(cut -d '`' -f 4 <<<"$line")
package=${where%% *} target=${where#* }
digit=$(printf '%s|%s|%s' "$package" "$target" "$test" | sha256sum | cut -c 1)
gold() {
    for file in "$set"/tasks/*/solution/gist.rs; do
        [ "$(sed -n 1p "$file")" = "//! A gist of the test \`$test\` ($target)" ] && sed -n 2p "$file" | grep -q "^//! of $package " && cat "$file" && return
    done
    exit 1
}
case $kind$digit in
half[0-7]) gold >"$gist" ;;
half*) ;;
faulty[0-3]) gold >"$gist" ;;
faulty[4-7]) { gold; echo 'const IS_NO_NUMBER: u32 = "";'; } >"$gist" ;;
faulty[89ab]) echo 'fn main() {}' >"$gist" ;;
faulty*) ;;
esac
