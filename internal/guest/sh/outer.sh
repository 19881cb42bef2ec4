exec 2>/dev/null
_jpath=$PATH
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin
_jbases=$1 _jid=$2
fail() { echo "smol1 error $1"; exit; }
# seek sets _jbase and _jf if the job exists.
seek() { for _jbase in $_jbases; do _jf=$_jbase/$_jid; [ -e $_jf.job ] && return; done; false; }
base() {
  [ -e $_jbase/.gitignore ] || {
    mkdir -p ${_jbase%/*}
    { mkdir -m 700 $_jbase || chmod 700 $_jbase; } && echo '*' >$_jbase/.gitignore
  }
}
# take creates the job in the first base that can be used. It fails if somebody else was quicker. Creating a file that must not be
# there is the one lock that needs no program.
take() {
  now
  for _jbase in $_jbases; do
    _jf=$_jbase/$_jid
    base || continue
    set -C
    true >$_jf.job && _jnew=1 || _jnew=
    set +C
    if [ "$_jnew" ]; then
      printf '%63s\n' >$_jf.exit && true >$_jf.out && true >$_jf.err && echo $_jup >$_jf.job && return
      rm -f $_jf.*
    elif [ -e $_jf.job ]; then return 1
    fi
  done
  fail nobase
}
# state sets _jst, _jrc, _ja (start), _jb (end, or the present).
state() {
  ended && return
  [ -s $_jf.job ] || nap 0.1
  look
  : ${_ja:=0.00}
  now
  # It may just have been started, or have ended just now.
  if holds $_jkp || case $_jkp$((${_jup%.*}-${_ja%.*})) in [0-9]) ;; *) false; esac; then _jst=running
  else
    _jx=$_ja
    ended && return
    _ja=$_jx _jst=lost
  fi
  _jrc=- _jb=$_jup
}
# gone answers for a job whose files were deleted under it.
gone() { now; echo "smol1 lost - 0 0 0.00 $_jup $_jbase"; exit; }
news() { sizes; [ $_jon -gt $_joo ] || [ $_jen -gt $_jeo ]; }
# await waits _jwait hundredths from _jfrom on for the end, or for news.
await() {
  [ $_jwait = 0 ] || ended && return
  now
  _jto=$((${_jfrom:-$_jcs}+_jwait))
  while state; [ $_jst = running ] && [ $_jcs -lt $_jto ] && { [ $_jnews = 0 ] || ! news; }; do
    nap 0.1
  done
}
reply() {
  state
  # After the state: what has ended has its final size.
  sizes
  echo "smol1 $_jst $_jrc $_jon $_jen $_ja $_jb $_jbase"
  [ $_jst$_jhush != running1 ] || exit
  # One program for two whole streams, unless somebody may still write to the first.
  look
  [ $_jst$((_joo+_jeo>0||_jon<1||_jen<1||_jon>_jbud||_jen>_jbud)) = exited0 ] && ! kill -0 -$_jpid &&
    exec head -qc $((_jon>_jen?_jon:_jen)) $_jf.out $_jf.err
  part out $_joo $_jon
  part err $_jeo $_jen
}
# dd seeks, where tail of busybox reads all that it skips.
from() {
  if [ $2 = 0 ]; then head -c $3 "$_jf.$1"
  else dd bs=4096 skip=$(($2/4096)) <"$_jf.$1" | tail -c +$(($2%4096+1)) | head -c $3
  fi
}
part() {
  _jn=$(($3-$2))
  if [ $_jn -gt $_jbud ]; then
    _jn=$_jbud
    if [ $_jclip = 1 ]; then
      _jn=$((_jbud*2/3))
      from $1 $2 $_jn
      set -- $1 $(($3-_jbud+_jn))
      _jn=$((_jbud-_jn))
    fi
  fi
  [ $_jn -le 0 ] || from $1 $2 $_jn
}
# view WAIT NEWS CLIP HUSH BUDGET OUT-OFFSET ERR-OFFSET
view() { cs $1; _jwait=$_jcs _jnews=$2 _jclip=$3 _jhush=$4 _jbud=$5 _joo=$6 _jeo=$7; }
