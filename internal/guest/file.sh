# What works on files in the machine: sh -c SCRIPT smolfs OP ARGS…, for dash, bash and busybox. Its answer is the line
# "smolfs1 STATUS FIELDS…" and, for some operations, bytes after it. See file.go for the operations.
#
# Paths are quoted, whatever is in them; stages have names of ours, which need no quotes. What a tool says is for people:
# the status comes from tests.
export LC_ALL=C QUOTING_STYLE=literal
unset CDPATH GLOBIGNORE GLOBSORT TAR_OPTIONS
umask 077
f= n=
# The stages and the file beside the target go when the script ends, unless they were used up: f and n are empty then.
trap '[ -z "$f$n" ] || rm -f $f ${n:+"$n"}' EXIT
# A name has no slash, so it ends at one. stat writes names and the targets of links (%N) as they are, with this QUOTING_STYLE,
# or between quotes (busybox).
F='%f %u %g %s %Y %y/%n/%N'
end() { printf 'smolfs1 %s\n' "$*"; exit; }
need() { for t; do command -v "$t" >/dev/null || end notool "$t"; done; }
there() { [ -e "$1" ] || [ -L "$1" ]; }
# Says why nothing can be done at a path that is not there: what lies above it is no directory, or closed.
barred() {
  d=$1
  while d=${d%/*}; [ -n "$d" ] && ! [ -e "$d" ]; do :; done
  d=${d:-/}
  [ -d "$d" ] || end notdir
  [ -x "$d" ] && { [ -z "$2" ] || [ -w "$d" ]; } || end perm
}
gone() { barred "$1"; [ -e "$1" ] && end fail; end noent; }
regular() {
  [ -e "$1" ] || gone "$1"
  [ -d "$1" ] && end isdir
  [ -f "$1" ] || end special
  [ -r "$1" ] || end perm
}
enter() {
  [ -e "$1" ] || gone "$1"
  [ -d "$1" ] || end notdir
  cd -P "$1" 2>/dev/null && [ -r . ] || end perm
}
parents() {
  [ -d "$1" ] || (umask 022; mkdir -p "$1") || { barred "$1/" w; end fail; }
  [ -w "$1" ] && [ -x "$1" ] || end perm
}
stages() {
  w= c=0
  while [ $# -gt 0 ]; do f="$f $1" w="$w $2" c=$((c + 1)); shift 2; done
}
# Checks the sizes of the stages.
staged() {
  stages "$@"
  g=$(stat -c %s $f 2>/dev/null)
  [ " $(echo $g)" = "$w" ] || end size $g
}
# Joins the stages to the first, which is s from then on.
glue() {
  set -- $f
  s=$1
  shift
  [ $# = 0 ] || { cat "$@" >>"$s" && rm -f "$@" || end fail; f=$s; }
}
# A file that is a mount, as /etc/hosts in containers, cannot be renamed to.
mounted() { while read -r _ _ _ _ q _; do [ "$q" = "$1" ] && return; done </proc/self/mountinfo; false; }
# Makes the first stage the file. Links are followed by hand: readlink -f of busybox looks for what a link to nothing means in the
# working directory. There are two moves since the first may go from one file system to another, and so is a copy; the second is within a
# directory, and so is one step for readers. A stage that another user owns (uploads come from root) can be read and not be changed.
commit() {
  t=$1 m=$2 k=0 x= o= g=
  while [ -L "$t" ]; do
    k=$((k + 1))
    [ $k -le 40 ] && l=$(readlink -n "$t" && echo x) || end loop
    case $l in /*) t=${l%x} ;; *) t=${t%/*}/${l%x} ;; esac
  done
  [ -d "$t" ] && end isdir
  if [ -e "$t" ]; then
    [ -f "$t" ] || end special
    [ -w "$t" ] || end perm
    x=1
  fi
  set -- $(stat -c '%s %a %u:%g' $f ${x:+"$t"} 2>/dev/null)
  [ $# = $((3 * (c + ${x:-0}))) ] || end size $(stat -c %s $f 2>/dev/null)
  a=$2 q=$3
  for i in $w; do g="$g $1"; shift 3; done
  [ "$g" = "$w" ] || end size $g
  [ -z "$x" ] || o=$3
  [ "$m" != - ] || m=${2:-644}
  parents "${t%/*}/"
  glue
  n=${t%/*}/.smol-${s##*/} p=$s
  [ -O "$s" ] || { p=$n a= q=; cat "$s" >"$n" && rm -f "$s" || end fail; }
  [ -z "$o" ] || [ "$o" = "$q" ] || chown "$o" "$p" || end perm
  [ "$m" = "$a" ] && [ "${o:-$q}" = "$q" ] || chmod "$m" "$p" || end fail
  [ "$p" = "$n" ] || mv -f "$s" "$n" || end fail
  mv -f "$n" "$t" || { mounted "$t" && cat "$n" >"$t" && chmod "$m" "$t" && rm -f "$n"; } || end fail
  f= n=
}
# A directory's entries. What matches no pattern is left as the pattern, of which stat says nothing on stdout. A shell copies all
# arguments with every one that is added, so the way without xargs goes by few.
entries() {
  if command -v xargs >/dev/null; then
    printf '%s\0' * .[!.]* ..?* | xargs -0 stat -c "$F" -- 2>/dev/null
    case $? in 0 | 123) echo end; return ;; esac
  fi
  set --
  for e in * .[!.]* ..?*; do
    set -- "$@" "$e"
    [ $# -lt 40 ] || { stat -c "$F" -- "$@" 2>/dev/null; set --; }
  done
  [ $# = 0 ] || stat -c "$F" -- "$@" 2>/dev/null
  echo end
}
blocks() { dd if="$p" bs=65536 skip="$1" count="$2" 2>/dev/null; }
# A range of a file. The middle goes in whole blocks: tail and head of busybox read byte by byte.
part() {
  p=$1 b=$(($2 / 65536)) k=$(($2 % 65536)) y=$3
  if [ $k -gt 0 ]; then
    l=$((65536 - k))
    [ $l -le $y ] || l=$y
    blocks $b 1 | tail -c +$((k + 1)) | head -c $l
    b=$((b + 1)) y=$((y - l))
  fi
  if [ $y -ge 65536 ]; then
    l=$((y / 65536))
    blocks $b $l
    b=$((b + l)) y=$((y % 65536))
  fi
  [ $y = 0 ] || blocks $b 1 | head -c $y
}
# A range of a file of /proc, which is read in short pieces, so dd cannot count.
unsized() {
  if [ "$2" = 0 ]; then head -c "$3" "$1"
  else dd if="$1" bs=65536 skip=$(($2 / 65536)) 2>/dev/null | tail -c +$(($2 % 65536 + 1)) | head -c "$3"
  fi
}
cut() {
  i=$(stat -L -c '%s %d:%i' "$1") && z=${i% *} r=$3 || end fail
  if [ "$z" -gt 0 ]; then
    l=$((z - $2))
    [ $l -ge 0 ] || l=0
    [ $r -ge 0 ] && [ $r -le $l ] || r=$l
  else
    [ $r -ge 0 ] && [ $r -le $4 ] || r=$4
  fi
  if [ -n "$5" ] && [ $r -gt $4 ]; then
    [ $r -le $6 ] || r=$6
    part "$1" $2 $r >"$5" || end fail
    end staged $i $r
  fi
  [ $r -le $4 ] || end big $i
  printf 'smolfs1 ok %s\n' "$i"
  if [ "$z" -gt 0 ]; then part "$1" $2 $r; else unsized "$1" $2 $r; fi
}
op=$1
shift
case $op in
base)
  for b; do
    d=$b/.files
    [ -d "$d" ] || { (umask 022; mkdir -p "$b") && mkdir "$d"; } || [ -d "$d" ] || continue
# A colon with a redirection that fails would end the shell.
    [ -O "$d" ] && true >"$d/$$" && rm -f "$d/$$" || continue
    command -v find >/dev/null && find "$d" -type f -mtime +0 -exec rm -f {} +
    end ok "$b"
  done 2>/dev/null
  end nobase
  ;;
join) need stat; staged "$@"; glue; f=; end ok ;;
commit) need stat readlink; t=$1 m=$2; shift 2; stages "$@"; commit "$t" "$m"; end ok ;;
append) need base64; printf %s "$2" | base64 -d >>"$1" || end fail; end ok ;;
drop)
  rm -f "$1"*
  # What was being done when its caller went may still write it.
  if [ "$2" = late ]; then { sleep 2; rm -f "$1"*; sleep 8; rm -f "$1"*; } </dev/null >/dev/null 2>&1 & fi
  end ok
  ;;
cut) need stat dd tail head; regular "$1"; cut "$@" ;;
stat)
  need stat
  case $2 in follow) i=$(stat -L -c "$F" "$1" && echo x) ;; *) i=$(stat -c "$F" "$1" && echo x) ;; esac || gone "$1"
  printf 'smolfs1 ok\n%s' "${i%x}"
  ;;
list)
  need stat head
  enter "$1"
  if [ -n "$2" ]; then entries >"$2" || end fail; end ok; fi
  { printf 'smolfs1 ok\n'; entries; } | head -c 4194304
  ;;
mkdir)
  [ -d "$1" ] && end ok
  there "$1" && end notdir
  (umask $3; mkdir -p "$1") || { barred "$1" w; end fail; }
  [ "$2" = - ] || chmod $2 "$1" || end fail
  end ok
  ;;
remove)
  p=$1
  there "$p" || { barred "$p"; [ "$2" = all ] && end ok; end noent; }
  if [ "$2" = all ]; then rm -rf "$p"
  elif [ -d "$p" ] && ! [ -L "$p" ]; then rmdir "$p"
  else rm -f "$p"
  fi && end ok
  [ -w "${p%/*}/" ] || end perm
  if [ -d "$p" ] && [ "$2" != all ]; then for e in "$p"/* "$p"/.[!.]* "$p"/..?*; do there "$e" && end notempty; done; fi
  end fail
  ;;
tar)
  need tar stat
  [ -e "$1" ] || gone "$1"
  [ -d "$1" ] || end file
  s=$2
  enter "$1"
  h=$(pwd -P) b=$(cd -P "${s%/*}/.." && pwd -P)
  case $b in "$h"/*) x=${b#"$h"/}/ p=.; set -- ;; *) x=; set -- . ;; esac
# The base may lie in the tree. Not every tar can exclude, so everything but the way to it is named, level by level.
  while [ -n "$x" ]; do
    c=$p/${x%%/*}
    for e in "$p"/.[!.]* "$p"/..?*; do there "$e" && [ "$e" != "$c" ] && set -- "$@" "$e"; done
    case $x in
    .*) for e in "$p"/*; do ! there "$e" || set -- "$@" "$p"/*; break; done ;;
    *) for e in "$p"/*; do there "$e" && [ "$e" != "$c" ] && set -- "$@" "$e"; done ;;
    esac
    p=$c x=${x#*/}
  done
# An archive of nothing is two empty blocks.
  if [ $# -gt 0 ]; then tar -cf "$s" "$@"; else head -c 1024 /dev/zero >"$s"; fi
  c=$?
  end ok $(stat -c %s "$s") $c
  ;;
untar)
  need tar stat
  t=$1
  shift
  staged "$@"
  parents "$t/"
  cat $f | tar -xpof - -C "$t" || end fail
  end ok
  ;;
esac
