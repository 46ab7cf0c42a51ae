# lib.sh -- what the cases share. Sourced, in an empty directory.

# What differs from one run to the next is replaced by a word.
steady() {
	sed "s|$DATA|DATA|g; s|unix:[^ ]*\.sock|unix:SOCKET|g; s|$PWD|HERE|g
		s/[0-9a-f]\{8\}-[0-9a-f-]\{27\}/UUID/g; s/\.tmp-[A-Za-z0-9-]*/.tmp-RANDOM/g
		s/process [0-9][0-9]*/process PID/g; s/pid [0-9][0-9]*/pid PID/g"
}

# Runs a command, its messages among its results, and says how it ended.
try() {
	"$@" >../try.out 2>&1
	try_code=$?
	steady <../try.out
	echo "exit $try_code"
}

# The karate club in $1 parts as k/k.json, with one node and one edge feature.
karate() {
	npy make feat.npy '<f4' 34,2 $(seq 0 67)
	npy make weight.npy '<i8' 78 $(seq 100 177)
	distgraph partition "$DATA/karate.csv" -n "$1" -o k --node-data feat=feat.npy \
		--edge-data weight=weight.npy >/dev/null
}

# Starts `distgraph up` for a cluster and waits until it is ready; stopped at the end of the case.
up() {
	mkfifo up.fifo 2>/dev/null
	distgraph up "$@" >up.fifo 2>up.err &
	up_pid=$!
	trap 'kill $up_pid 2>/dev/null; wait $up_pid 2>/dev/null' EXIT
	read -r up_line <up.fifo || cat up.err >&2
	case $up_line in ready*) ;; *) echo "not ready: $up_line" ;; esac
}
