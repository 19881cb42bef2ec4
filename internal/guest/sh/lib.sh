# Used both by the exec and by the keeper, which outlives it. Variables begin with _j: a variable that is exported already
# stays so when it is set, and would reach the command. The files of a job are $_jf.*:
#   job     the lock that makes an id run once; a line each: uptime of the start, pid of the process that will write down the end,
#           pid of the command, which is also its process group where there is a setsid
#   exit    state, code, start, end; reserved as blanks while there is room on the disk, and overwritten in place
#   out err what the command wrote
#   sig     numbers of the signals sent by request; late: the deadline has passed; full: a stream is longer than it may be
#   timer   pid of the sleep before the next look at deadline and sizes; mark: as old as the last look at the sizes
#   note    a line of the caller's

# cs TIME sets _jcs to a time in hundredths of a second. The 1 keeps 08 from being octal.
cs() { _jcs=$((${1%.*}*100+1${1#*.}-100)); }
now() { read -r _jup _j_ </proc/uptime; cs $_jup; }
# dot N sets _jdot to N hundredths as seconds.
dot() { _jdot=$(($1/100)).$(($1/10%10))$(($1%10)); }
# Not every sleep knows fractions.
nap() { sleep $1 || sleep 1; }
# self sets _jp to the pid of this process, also in a subshell. A shell reads byte by byte, so /proc/self/stat would take longer.
self() { for _jp in /proc/self/task/*; do _jp=${_jp##*/}; done; }
# clock TIME: it can be reckoned with; a shell ends at what is no number, and takes 08 for one that is not octal.
clock() { case $1 in 0[!.]*|*[!0-9.]*|*.*.*) false;; ?*.??) ;; *) false; esac; }
# look reads the job: _ja, the pid of the keeper _jkp and that of the command _jpid. A line that is not written yet, or is damaged, is empty.
look() { { read -r _ja; read -r _jkp; read -r _jpid; } <$_jf.job; clock "$_ja" || _ja=; }
# holds PID: the process belongs to the keeper of the job, which holds its end open. A pid alone may be another process by now.
holds() { [ /proc/$1/fd/9 -ef $_jf.exit ]; }
sizes() {
  _jon=0 _jen=0
  [ -s $_jf.out ] || [ -s $_jf.err ] || return
  set -- $(ls -ln $_jf.err $_jf.out)
  _jen=${5:-0} _jon=${14:-0}
}
# A line that is just being overwritten begins with no state. One that is damaged tells of no end.
ended() {
  read -r _jst _jrc _ja _jb _j_ <$_jf.exit && case $_jst in exited|timed_out|signaled) clock "$_ja" && clock "$_jb";; *) false; esac
}
# marked SIGNAL sends it to all that carry the mark of the job in their environment, and fails if there is none. No grep finds the end of a
# variable in every userland; head names each file it shows, if there are several.
marked() {
  head -c 131072 /proc/self/environ /proc/[0-9]*/environ | tr "\0" "\n" | {
    _jk=
    while read -r _jl; do
      case $_jl in
      "==> /proc/"*) _jp=${_jl#*proc/}; _jp=${_jp%%/*};;
      SMOL_JOB=$_jid) kill -$1 $_jp && _jk=1;;
      esac
    done
    [ "$_jk" ]
  }
}
# found SIGNAL is marked that looks again: a process in the middle of an exec has no environment at that moment.
found() { marked $1 || { nap 0.05; marked $1; }; }
# sweep kills until nothing is left.
sweep() { _ji=0; while found 9 && [ $((_ji+=1)) -lt 40 ]; do nap 0.05; done; }
