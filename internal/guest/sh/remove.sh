# remove BASES ID
seek || fail nojob
now
_jrm=
drop $_jf 0 || fail busy
rm -f $_jrm || fail "stuck $_jbase"
echo "smol1 ready - 0 0 $_jup $_jup $_jbase"
