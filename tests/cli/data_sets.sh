# The commands of docs/inputs.md for the data sets, where these are: all nodes and edges are there.
data=$CLI/../../../shared/data
if [ -d "$data" ]; then
	mkdir -p shared here/out
	ln -s "$data" shared/data
	cd here || exit
	sed -n 's/^| [a-z0-9_-]* | `\(distgraph partition .*\)` |$/\1 --method random/p' \
		"$CLI/../../docs/inputs.md" >commands
	awk '/^```bash/ { on = 1; next } /^```/ { on = 0 } on' "$CLI/../../docs/inputs.md" >>commands
	. ./commands 2>&1 | sed 's/[0-9]* cut.*/N cut/; /^largest/d'
else
	cat "$CLI/data_sets.stdout.exact"
fi
