# The examples of docs/inputs.md do what it says, as they stand there.
mkdir tests
ln -s "$DATA" tests/data
awk '/^```sh/ { on = 1; next } /^```/ { on = 0 } on' "$CLI/../../docs/inputs.md" >examples
. ./examples >output.txt 2>&1
sed 's/[0-9]* cut.*/N cut/; /^largest/d; /no server answers/d' output.txt
cat ages.csv
diff ids.txt - <<END
$(sed 1d ages.csv | cut -d, -f1)
END
for graph in follows people papers shop friends; do
	distgraph ls $graph/$graph.json 2>/dev/null | sed 's/ *$//' | cut -d' ' -f1 | sort
done
