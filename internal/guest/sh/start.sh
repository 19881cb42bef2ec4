# start BASES ID DEADLINE DIR STDIN ACKS FILE TEXT LIMIT NOTE VIEW..., where TEXT or the file is a fragment with environment and argv
_jdl=$3 _jdir=$4 _jin=$5 _jacks=$6 _jfile=$7 _jtext=$8 _jlim=$9
_jnote=${10}
shift 10
view "$@"
if ! seek && take; then
  [ ! "$_jnote" ] || printf '%s\n' "$_jnote" >$_jf.note
  _jss=$(command -v setsid)
  # One sleep serves the wait and the deadline. The pipe of the substitution below is open as long as the sleep, so its end wakes us: by
  # itself or, when the command has ended, by the keeper. News is looked for after a moment only, so that what is short comes whole.
  _jfrom=$_jcs _jn=$_jwait
  [ $_jnews = 0 ] || [ $_jn -le 20 ] || _jn=20
  cs $_jdl
  [ $_jcs = 0 ] || { [ $_jn -gt 0 ] && [ $_jn -lt $_jcs ]; } || _jn=$_jcs
  [ $_jlim = 0 ] || { [ $_jn -gt 0 ] && [ $_jn -lt 100 ]; } || _jn=100
  dot $_jn
  # The command line of the keeper does not show the command, or a pkill -f meant for that would end it too.
  # Not "&", which would leave the command deaf to SIGINT for good. The keeper kills the shell between us and itself, so that who kills the
  # processes of this exec does not find it.
  : $(
    self
    _jsub=$_jp _jhold=/proc/$_jp/fd/3
    [ $_jwait != 0 ] || _jhold=/dev/null
    _jvars="_jvars _jk _jsub _jid _jdl _jlim _jdot _jhold _jup _jss _jpath _jbase _jbases _jdir _jin _jacks _jfile _jtext"
    export $_jvars
    exec 3>&1 >/dev/null </dev/null
    ${_jss:+"$_jss"} sh -c 'eval "$_jk"' smol-job $_jid
    :
  )
fi
await
reply
