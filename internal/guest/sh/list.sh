# list BASES
echo smol1 list
for _jbase in $_jbases; do
  for _jf in $_jbase/job-*.job; do
    _jf=${_jf%.job} _jnote=
    [ -e $_jf.job ] || continue
    state
    [ -e $_jf.job ] || continue
    read -r _jnote <$_jf.note
    printf '%s\n' "${_jf##*/} $_jst $_jrc $_ja $_jb $_jnote"
  done
done
echo end
