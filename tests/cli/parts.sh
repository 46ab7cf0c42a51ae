# Every data set in 1, 2, 4 and 7 parts by each method, with a halo and trainers or without: what was
# made is verified against the source each time, and no node or edge is lost or comes twice. With
# RUNS=1 a data set is cut by all methods into all numbers of parts, else once: they take turns.
data=$CLI/../../../shared/data
if [ -d "$data" ]; then
	mkdir -p shared here/out
	ln -s "$data" shared/data
	cd here || exit
	sed -n 's/^| [a-z0-9_-]* | `\(distgraph partition .*\)` |$/\1/p' "$CLI/../../docs/inputs.md" |
		sed 's/ -n 2 -o \([^ ]*\)/ $options -o \1/' >commands
	awk '/^```bash/ { on = 1; next } /^```/ { on = 0 } on' "$CLI/../../docs/inputs.md" |
		sed 's/ -n 2 -o \([^ ]*\)/ $options -o \1/' >debian

	cut_once() { # PARTS METHOD EXTRA: the command of the file "command"
		options="-n $1 --method $2 $3"
		wanted=$(sed -n "$number s/ 2 parts/ $1 parts/p" "$CLI/data_sets.stdout.exact")
		if ! . ./command >found 2>errors; then
			echo "$name, $options: failed"
			tail -n 3 errors
		elif [ "$(sed -n 's/[0-9]* cut.*/N cut/p' found)" != "$wanted" ]; then
			echo "$name, $options: not '$wanted' but"
			cat found
		elif [ "$2" = metis ] && ! distgraph check --deep "$name/${name##*/}.json" >found 2>&1; then
			echo "$name, $options: does not check"
			cat found
		fi
		rm -rf "$name"
	}

	cut_in_turn() {
		case $((number % 4)) in 0) n=1 ;; 1) n=2 ;; 2) n=4 ;; 3) n=7 ;; esac
		case $((number % 3)) in 0) method=random ;; 1) method=metis ;; 2) method=stream ;; esac
		case $((number % 5)) in 0) extra="--halo 2 --trainers 2" ;; 1) extra="--halo 0" ;; *) extra= ;; esac
		cut_once $n $method "$extra"
	}

	cut_in_all_ways() {
		for method in random metis stream; do
			cut_once 1 $method
			cut_once 2 $method "--halo 0"
			cut_once 4 $method "--halo 2 --trainers 2"
			cut_once 7 $method
		done
	}

	number=0
	n_sets=$(wc -l <"$CLI/data_sets.stdout.exact")
	while [ $number -lt "$n_sets" ]; do
		number=$((number + 1))
		name=$(sed -n "$number s/:.*//; ${number}s/\/[^\/]*$//p" "$CLI/data_sets.stdout.exact")
		if [ $number -lt "$n_sets" ]; then sed -n ${number}p commands >command; else cp debian command; fi
		if [ -n "${RUNS:-}" ]; then cut_in_all_ways; else cut_in_turn; fi
	done
fi
echo "every data set has all its nodes and edges"
