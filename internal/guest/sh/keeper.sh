_jsub=$1 _jid=$2 _jdl=$3 _jnap=$4 _jhold=$5 _jt0=$6 _jss=$7 _jpath=$8 _jbase=$9
shift 9
_jbases=$1 _jdir=$2 _jin=$3 _jacks=$4 _jargs=$5 _jenv=$6
shift 6
_jf=$_jbase/$_jid
fault() { echo "$2" >&2; exit $1; }
# inner becomes the command. What the shell says about a death by signal does not get into its output, nor its PATH in the way
# of our programs.
inner() {
  read -r _jp _j_ </proc/self/stat
  stamp $_jp
  echo "$_jp $_jct" 1<>"$_jf.pid"
  read -r _jx <"$_jf.sig" && exit $((128+_jx))
  export SMOL_JOB=$_jid
  _jextra= _jwd=
  for _jx in $_jbases; do [ -r "$_jx/env" ] && . "$_jx/env" && break; done
  eval "$_jenv"
  [ ! -r "$_jargs" ] || . "$_jargs"
  exec >>"$_jf.out" 2>>"$_jf.err"
  [ $# -gt 0 ] || fault 126 "arguments: $_jargs: cannot be read"
  if [ "$_jin" ]; then
    [ -r "$_jin" ] || fault 126 "stdin: $_jin: cannot be read"
    exec <"$_jin"
  fi
  [ ! "$_jin$_jargs" ] || rm -f "$_jin" "$_jargs"
  case ${_jdir:=$_jwd} in ''|/*) ;; *) _jdir=./$_jdir; esac
  if [ "$_jdir" ] && ! cd "$_jdir" 2>/dev/null; then
    _jx='No such file or directory'
    [ ! -e "$_jdir" ] || _jx='Not a directory'
    [ ! -d "$_jdir" ] || _jx='Permission denied'
    fault 126 "cd: $_jdir: $_jx"
  fi
  _jx=$PATH
  export PATH="${_jpath:=$PATH}"
  case $1 in */*) [ -e "$1" ];; *) command -v "$1" >/dev/null; esac || fault 127 "$1: not found"
  if [ "$_jextra" ]; then
    eval "set -- env $_jextra \"PATH=\$PATH\" \"\$@\""
    PATH=$_jx
  fi
  exec ${_jss:+"$_jss"} "$@"
}
job() {
  read -r _jp _j_ </proc/self/stat
  stamp $_jp
  echo "$_jp $_jct" 1<>"$_jf.keeper"
  if [ $_jnap != 0.00 ]; then
    [ ! "$_jhold" ] || _jhold=/proc/$_jsub/fd/1
    if ! { sleep $_jnap & } 3>"${_jhold:-/dev/null}"; then sleep $_jnap & fi
    _jsleep=$!
    stamp $_jsleep
    _jsct=$_jct
  fi
  exec >/dev/null
  [ $PPID != $_jsub ] || kill -9 $_jsub
  (inner "$@")
  _jrc=$? _jst=exited
  while read -r _jx; do
    [ $_jrc != $((128+_jx)) ] || _jst=signaled
    [ $_jx != 9 ] || sweep
  done <"$_jf.sig"
  if [ $_jst$_jrc = exited137 ] && [ -e "$_jf.late" ]; then
    sweep
    _jst=timed_out _jrc=124
  fi
  now
  echo "$_jst $_jrc $_jt0 $_jup" 1<>"$_jf.exit"
  stamp $_jsleep && [ $_jct = "$_jsct" ] && kill $_jsleep
  is timer && kill $_jp
  clean
}
# clean removes the files of jobs whose output was read and, when there are many, the oldest of those that ended an hour ago.
clean() {
  [ ! "$_jin" ] || [ ! -e "$_jin" ] || rm -f "$_jin"
  _jrm=
  for _jx in args script; do [ ! -e "$_jf.$_jx" ] || _jrm="$_jrm $_jf.$_jx"; done
  for _jx in $_jacks; do
    case $_jx in *[/.]*) continue; esac
    for _jn in $_jbases; do drop $_jn/$_jx 0; done
  done
  set -- "$_jbase"/*.exit
  if [ $# -gt 64 ]; then
    _jk=0
    for _jx in $(ls -t "$_jbase"); do
      case $_jx in *.exit) [ $((_jk+=1)) -le 50 ] || [ $_jk -gt 250 ] || drop $_jbase/${_jx%.exit} 3600; esac
    done
  fi
  [ ! "$_jrm" ] || rm -f $_jrm
}
# drop JOB AGE
drop() {
  _jf=$1
  [ -e "$_jf.job" ] || return
  if ended; then
    _jn=$((${_jup%.*}-${_jb%.*}))
    [ $_jn -ge $2 ] || [ $_jn -lt 0 ] || return
  else
    ! is keeper && [ "$_jp" ] || return
  fi
  _jrm="$_jrm $_jf.*"
}
if [ $_jdl = 0.00 ]; then
  job "$@"
  exit
fi
# The sleep holds this pipe too.
: $(job "$@")
cs $_jdl
_jtill=$_jcs
cs $_jt0
_jtill=$((_jtill+_jcs)) _ji=0
while ! ended; do
  now
  if [ $_jcs -lt $_jtill ]; then
    dot $((_jtill-_jcs))
    sleep $_jdot &
    stamp $!
    echo "$! $_jct" >"$_jf.timer"
    # Whoever writes the end looks for this file afterwards.
    ended && kill $!
    wait $! || ended || nap 0.2
  else
    true >"$_jf.late"
    is pid && { kill -9 -$_jp || kill -9 $_jp; }
    is keeper || { sweep; break; }
    [ $((_ji+=1)) -lt 50 ] || break
    nap 0.1
  fi
done
