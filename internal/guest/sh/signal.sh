# signal BASES ID NUMBER
_jn=$3
view 0.00 0 0 0 0 0
if ! seek && take; then
  # Nobody can start this id any more.
  echo "signaled $((128+_jn)) $_jup $_jup" 1<>"$_jf.exit"
else
  # The command notes its pid and then looks for a signal, so one of the two sees the other.
  case $_jn in 18|19) ;; *) _jwait=30; ended || echo $_jn >>"$_jf.sig"; esac
  _jk=0
  while read -r _jp _j_ <"$_jf.pid"; ! [ "$_jp" ] && ! ended && [ $((_jk+=1)) -lt 20 ]; do nap 0.05; done
  if ! ended && is pid; then
    # Without setsid there is no group, and just after the start none yet.
    send() { kill -$1 -$2 || marked $1 || kill -$1 $2; }
    send $_jn $_jp
    # What is stopped would not see it.
    [ $_jn != 15 ] || send 18 $_jp
  fi
  [ $_jn != 9 ] || { sweep; _jwait=200; }
fi
await
reply
