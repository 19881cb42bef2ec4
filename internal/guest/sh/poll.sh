# poll BASES ID VIEW...
shift 2
view "$@"
seek || fail nojob
await
reply
