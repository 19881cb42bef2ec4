# The keeper of a job: a session of its own, which writes down how the command ends. Its variables come from the environment, where
# ps does not show them.
exec 3>&- 9<>$_jbase/$_jid.exit
_jt0=$_jup _jf=$_jbase/$_jid
fault() { echo "$1" >&2; exit ${2:-126}; }
# inner becomes the command. What the shell says about a death by signal does not get into its output, nor its PATH in the way
# of our programs.
inner() {
  export SMOL_JOB=$_jid
  _jextra= _jwd=
  for _jx in $_jbases; do [ -r $_jx/env ] && . $_jx/env && break; done
  eval "$_jtext"
  [ ! -r "$_jfile" ] || . "$_jfile"
  exec >>$_jf.out 2>>$_jf.err 9>&-
  [ $# != 0 ] || fault "arguments: not there"
  if [ "$_jin" ]; then
    [ -r "$_jin" ] || fault "stdin: $_jin: cannot be read"
    exec <"$_jin"
  fi
  [ ! "$_jin$_jfile" ] || rm -f "$_jin" "$_jfile"
  # From here on a signal either finds the pid, or its number has been noted already.
  self
  echo $_jp >>$_jf.job
  [ -s $_jf.sig ] && read -r _jx <$_jf.sig && exit $((128+_jx))
  case ${_jdir:=$_jwd} in ""|/*) ;; *) _jdir=./$_jdir; esac
  [ ! "$_jdir" ] || cd "$_jdir" 2>/dev/null || fault "cd: $_jdir: cannot be entered"
  _jx=$PATH
  export PATH="${_jpath:=$PATH}"
  case $1 in */*) [ -e "$1" ];; *) command -v "$1" >/dev/null; esac || fault "$1: not found" 127
  if [ "$_jextra" ]; then
    eval "set -- env $_jextra \"PATH=\$PATH\" \"\$@\""
    PATH=$_jx
  fi
  [ ! "$_jss" ] || set -- "$_jss" "$@"
  unset $_jvars
  exec "$@"
}
job() {
  self
  echo $_jp >>$_jf.job
  if [ $_jdot != 0.00 ]; then
    { sleep $_jdot & } 3>$_jhold
    _jsleep=$!
  fi
  exec >/dev/null
  [ $PPID != $_jsub ] || kill -9 $_jsub
  (inner)
  _jrc=$? _jst=exited
  [ ! -e $_jf.sig ] || while read -r _jx; do
    [ $_jrc != $((128+_jx)) ] || _jst=signaled
  done <$_jf.sig
  if [ $_jst$_jrc = exited137 ] && [ -e $_jf.late ]; then
    sweep
    _jst=timed_out _jrc=124
  fi
  now
  echo "$_jst $_jrc $_jt0 $_jup" >&9
  holds $_jsleep && kill $_jsleep
  [ ! -s $_jf.timer ] || { read -r _jp <$_jf.timer && holds $_jp && kill $_jp; }
  clean
}
# clean removes the files of jobs whose output was read and, when there are many, the oldest of those that ended an hour ago.
clean() {
  _jrm= _jk=0
  [ ! -e $_jf.script ] || _jrm=$_jf.script
  for _jx in $_jacks; do
    case $_jx in *[/.]*) continue; esac
    for _jn in $_jbases; do drop $_jn/$_jx 0; done
  done
  # Now and then, since it takes a while.
  set -- $_jbase/*.exit
  [ $(($$%16)) != 0 ] || [ $# -le 64 ] || for _jx in $(ls -t $_jbase); do
    case $_jx in *.exit) [ $((_jk+=1)) -le 50 ] || [ $_jk -gt 250 ] || drop $_jbase/${_jx%.exit} 3600; esac
  done
  [ ! "$_jrm" ] || rm -f $_jrm
}
# drop JOB AGE, in seconds since the end. One without a keeper may be just starting.
drop() {
  _jf=$1
  [ -e $_jf.job ] || return
  if ! ended; then
    look
    holds $_jkp && return
    [ "$_jkp" ] || set -- $1 10
    _jb=${_ja:-0}
  fi
  _jn=$((${_jup%.*}-${_jb%.*}))
  [ $_jn -ge $2 ] || [ $_jn -lt 0 ] || return
  _jrm="$_jrm $_jf.*"
}
if [ $_jdl = 0.00 ]; then
  job
  exit
fi
# over: the end is written down, or has even been read and removed.
over() { ended || [ ! -e $_jf.job ]; }
# The sleep holds this pipe too.
job | {
  read -r _j_
  cs $_jdl
  _jto=$_jcs
  cs $_jt0
  _jto=$((_jto+_jcs))
  until over; do
    now
    if [ $_jcs -lt $_jto ]; then
      dot $((_jto-_jcs))
      sleep $_jdot &
      echo $! >$_jf.timer
      # Whoever writes the end looks for this file afterwards.
      over && kill $!
      wait $! || over || nap 0.2
    else
      true >$_jf.late
      look
      holds $_jkp || { sweep; break; }
      kill -9 -$_jpid || kill -9 $_jpid
      nap 0.1
    fi
  done
}
