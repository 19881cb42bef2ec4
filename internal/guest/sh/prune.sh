# prune BASES KEEP AGE
_jkeep=$2 _jage=$3 _jbad=
now
for _jbase in $_jbases; do
  [ ! -d $_jbase ] || prune 'job-*' $_jkeep $_jage
done
[ ! "$_jbad" ] || fail "stuck $_jbad"
echo "smol1 ready - $_jgone 0 $_jup $_jup $_jbase"
