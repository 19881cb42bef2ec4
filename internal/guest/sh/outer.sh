exec 2>/dev/null
_jpath=$PATH
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
_jbases=$1 _jid=$2
fail() { echo "smol1 error $1"; exit 3; }
# seek sets _jbase and _jf if the job exists.
seek() { for _jbase in $_jbases; do _jf=$_jbase/$_jid; [ -e "$_jf.job" ] && return; done; false; }
base() {
  [ -e "$1/.gitignore" ] || {
    mkdir -p "${1%/*}"
    { mkdir -m 700 "$1" || chmod 700 "$1"; } && echo '*' >"$1/.gitignore"
  }
}
# take creates the job in the first base that can be used. It fails if somebody else was quicker. Creating a file that must not be
# there is the one lock that needs no program.
take() {
  read -r _jboot </proc/sys/kernel/random/boot_id
  now
  for _jbase in $_jbases; do
    _jf=$_jbase/$_jid
    base "$_jbase" || continue
    set -C
    true >"$_jf.job" && _jnew=1 || _jnew=
    set +C
    if [ "$_jnew" ]; then
      for _jx in exit keeper pid; do printf '%63s\n' >"$_jf.$_jx" || break; done &&
        true >"$_jf.out" && true >"$_jf.err" && echo "$_jboot $_jup" >"$_jf.job" && return
      rm -f "$_jf".*
    elif [ -e "$_jf.job" ]; then return 1
    fi
  done
  fail nobase
}
# state sets _jst, _jrc, _ja (start), _jb (end, or the present).
state() {
  ended && return
  read -r _jboot </proc/sys/kernel/random/boot_id
  [ -s "$_jf.job" ] || nap 0.1
  read -r _jx _ja _j_ <"$_jf.job"
  now
  if [ "$_jboot" = "$_jx" ]; then
    is keeper || { [ ! "$_jp" ] && [ $((${_jup%.*}-${_ja%.*})) -lt 10 ]; }
  else false
  fi && _jst=running || { ended && return; _jst=lost; }
  _jrc=- _jb=$_jup
}
sizes() {
  _jon=0 _jen=0
  [ -s "$_jf.out" ] || [ -s "$_jf.err" ] || return
  set -- $(ls -ln "$_jf.err" "$_jf.out")
  _jen=${5:-0} _jon=${14:-0}
}
news() {
  [ -s "$_jf.out" ] && [ $_joo = 0 ] || [ -s "$_jf.err" ] && [ $_jeo = 0 ] || {
    sizes
    [ $_jon -gt $_joo ] || [ $_jen -gt $_jeo ]
  }
}
# await waits _jwait hundredths from _jfrom on for the end, or for news.
await() {
  [ $_jwait -gt 0 ] || return
  ended && return
  now
  _jtill=$((${_jfrom:-$_jcs}+_jwait)) _jtick=0.05 _jk=0
  while state; [ $_jst = running ] && [ $_jcs -lt $_jtill ] && { [ $_jnews = 0 ] || ! news; }; do
    nap $_jtick
    case $((_jk+=1)) in 3) _jtick=0.1;; 12) _jtick=0.2; esac
  done
}
reply() {
  state
  # After the state: what has ended has its final size.
  sizes
  echo "smol1 $_jst $_jrc $_jon $_jen ${_ja:--} $_jb $_jbase"
  # One program for two whole streams, unless somebody may still write to the first.
  [ $_joo$_jeo = 00 ] && [ $_jon -gt 0 ] && [ $_jen -gt 0 ] && [ $_jon -le $_jbud ] && [ $_jen -le $_jbud ] &&
    [ $_jst != running ] && read -r _jp _j_ <"$_jf.pid" && ! kill -0 -$_jp &&
    exec head -qc $((_jon>_jen?_jon:_jen)) "$_jf.out" "$_jf.err"
  part out $_joo $_jon
  part err $_jeo $_jen
}
# dd seeks, where tail of busybox reads all that it skips.
from() {
  if [ $3 = 0 ]; then :
  elif [ $2 = 0 ]; then head -c $3 "$_jf.$1"
  else dd bs=4096 skip=$(($2/4096)) <"$_jf.$1" | tail -c +$(($2%4096+1)) | head -c $3
  fi
}
part() {
  _jn=$(($3-$2))
  if [ $_jn -le 0 ]; then :
  elif [ $_jn -le $_jbud ]; then from $1 $2 $_jn
  elif [ $_jclip = 1 ]; then
    _jn=$((_jbud*2/3))
    from $1 $2 $_jn
    from $1 $(($3-_jbud+_jn)) $((_jbud-_jn))
  else from $1 $2 $_jbud
  fi
}
# view WAIT NEWS CLIP BUDGET OUT-OFFSET ERR-OFFSET
view() { cs $1; _jwait=$_jcs _jnews=$2 _jclip=$3 _jbud=$4 _joo=$5 _jeo=$6; }
