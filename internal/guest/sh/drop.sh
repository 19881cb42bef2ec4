# drop JOB AGE, in seconds since the end, puts the files of the job on the list of what is to be removed. It returns 2 if the job ended later,
# and 1 if it runs, or is just being started.
drop() {
  _jf=$1
  [ -e $_jf.job ] || return 1
  if ! ended; then
    look
    ! holds $_jkp || return 1
    [ "$_jkp" ] || set -- $1 10
    _jb=${_ja:-0}
  fi
  _jn=$((${_jup%.*}-${_jb%.*}))
  [ $_jn -ge $2 ] || [ $_jn -lt 0 ] || return 2
  # The lock goes first, or a poll would see a job that is lost.
  _jrm="$_jrm $_jf.job $_jf.*" _jgone=$((_jgone+1))
}
# prune PATTERN KEEP AGE removes jobs that ended so long ago, beyond the newest of those that ended, from the base. It sets _jbad
# to the base if something stays.
prune() {
  _jrm= _jk=-$2
  for _jf in $_jbase/$1.exit; do
    _jf=${_jf%.exit}
    ended || { look; ! holds $_jkp; } && _jk=$((_jk+1))
  done
  [ $_jk -gt 0 ] || return
  for _jx in $(ls -tr $_jbase); do
    [ $_jk -gt 0 ] || break
    case $_jx in $1.exit)
      drop $_jbase/${_jx%.exit} $3
      case $? in
      0) _jk=$((_jk-1));;
      2) break;;
      esac
    esac
  done
  [ ! "$_jrm" ] || rm -f $_jrm || _jbad=$_jbase
}
_jgone=0
