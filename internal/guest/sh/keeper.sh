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
  set -- $_jbase/*.exit
  [ $# -le 50 ] || (prune 'job-*' 50 3600; prune '[!j]*' 50 3600) 9>&- &
  (inner)
  _jrc=$? _jst=exited
  [ ! -e $_jf.sig ] || while read -r _jx; do
    [ $_jrc != $((128+_jx)) ] || _jst=signaled
  done <$_jf.sig
  if [ $_jst$_jrc = exited137 ]; then
    if [ -e $_jf.full ]; then
      sweep
      _jst=signaled
    elif [ -e $_jf.late ]; then
      sweep
      _jst=timed_out _jrc=124
    fi
  fi
  [ $_jlim = 0 ] || chop
  now
  echo "$_jst $_jrc $_jt0 $_jup" >&9
  holds $_jsleep && kill $_jsleep
  [ ! -s $_jf.timer ] || { read -r _jp <$_jf.timer && holds $_jp && kill $_jp; }
  clean
}
# clean removes the files of jobs whose output was read.
clean() {
  _jrm=
  [ ! -e $_jf.script ] || _jrm=$_jf.script
  for _jx in $_jacks; do
    case $_jx in *[/.]*) continue; esac
    for _jn in $_jbases; do drop $_jn/$_jx 0; done
  done
  [ ! "$_jrm" ] || rm -f $_jrm
}
# within: no stream is longer than it may be. The look costs a program, so it is taken at what has changed.
within() {
  [ $_jlim != 0 ] || return 0
  [ ! -e $_jf.mark ] || [ $_jf.out -nt $_jf.mark ] || [ $_jf.err -nt $_jf.mark ] || return 0
  true >$_jf.mark
  sizes
  [ $_jon -le $_jlim ] && [ $_jen -le $_jlim ]
}
# chop cuts off what was written before the look at the sizes.
chop() {
  sizes
  [ $_jon -le $_jlim ] || dd bs=1 seek=$_jlim count=0 of=$_jf.out
  [ $_jen -le $_jlim ] || dd bs=1 seek=$_jlim count=0 of=$_jf.err
}
if [ $_jdl$_jlim = 0.000 ]; then
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
    _jn=$((_jto-_jcs))
    [ $_jdl != 0.00 ] || _jn=100
    if [ $_jn -le 0 ]; then true >$_jf.late
    elif [ -e $_jf.full ] || ! within; then true >$_jf.full
    else
      [ $_jlim = 0 ] || [ $_jn -le 100 ] || _jn=100
      dot $_jn
      sleep $_jdot &
      echo $! >$_jf.timer
      # Whoever writes the end looks for this file afterwards.
      over && kill $!
      wait $! || over || nap 0.2
      continue
    fi
    look
    holds $_jkp || { sweep; break; }
    kill -9 -$_jpid || kill -9 $_jpid
    nap 0.1
  done
}
