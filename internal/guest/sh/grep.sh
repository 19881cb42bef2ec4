# grep BASES ID FLAGS PATTERN BUDGET
_jflags=$3 _jx=$4
view 0.00 0 1 0 $5 0 0
seek || fail nojob
command -v grep >/dev/null || fail notool
# Without this option it takes bytes for a reason to show nothing; not every grep has it, or needs it.
echo x | grep -qa x && _jflags="$_jflags -a"
echo x | grep $_jflags -e "$_jx" >/dev/null
[ $? -le 1 ] || fail pattern
# A search that was killed has left what it had found.
for _jk in $_jf.grep*; do
  _jn=${_jk#$_jf.grep}
  [ ! -e $_jk ] || [ -d /proc/${_jn%.*} ] || rm -f $_jk
done
_jto=$_jf.grep$$
for _jn in out err; do
  true >$_jto.$_jn || fail nobase
  [ ! -s $_jf.$_jn ] || grep -n $_jflags -e "$_jx" $_jf.$_jn >$_jto.$_jn
  [ $? -le 1 ] || { rm -f $_jto.*; fail nobase; }
done
state
_jf=$_jto
sizes
echo "smol1 $_jst $_jrc $_jon $_jen $_ja $_jb $_jbase"
part out 0 $_jon
part err 0 $_jen
rm -f $_jf.*
