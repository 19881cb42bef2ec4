# poll BASES ID VIEW...
shift 2
view "$@"
seek || { marked 0 && gone; fail nojob; }
await
reply
