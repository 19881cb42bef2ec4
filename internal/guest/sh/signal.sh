# send SIGNAL. Without setsid there is no group, and just after the start none yet.
send() { [ "$_jpid" ] && kill -$1 -$_jpid || marked $1 || kill -$1 $_jpid; }
# signal BASES ID NUMBER KNOWN
_jn=$3
view 0.00 0 0 0 0 0 0
if [ $4 = 1 ]; then
  seek || {
    found $_jn || fail nojob
    [ $_jn != 9 ] || sweep
    gone
  }
  [ $_jn = 9 ] || ! ended || fail ended
fi
if ! seek && take; then
  # Nobody can start this id any more.
  echo "signaled $((128+_jn)) $_jup $_jup" 1<>$_jf.exit
else
  # The command notes its pid and then looks for a signal, so one of the two sees the other.
  case $_jn in 18|19) ;; *) _jwait=30; ended || echo $_jn >>$_jf.sig; esac
  _jk=0
  while look; [ ! "$_jpid" ] && ! ended && [ $((_jk+=1)) -lt 20 ]; do nap 0.05; done
  # As long as the keeper has not written down the end, the pid of the command is not another's.
  if ! ended; then
    holds $_jkp || _jpid=
    send $_jn
    # What is stopped would not see it.
    [ $_jn != 15 ] || send 18
  fi
  [ $_jn != 9 ] || { sweep; _jwait=200; }
fi
await
reply
