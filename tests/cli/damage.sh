# Damage and mix-ups are found: never believed, never a crash.
flip() { # one bit of byte $2 of file $1
	byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
	printf "$(printf '\\%03o' $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
npy make feat.npy '<f4' 34,1000 1
distgraph partition "$DATA/karate.csv" -n 2 -o k --node-data feat=feat.npy >/dev/null
cp -r k good
echo "-- a bit in the rows"
flip k/part0/tensors.mdb $(($(stat -c %s k/part0/tensors.mdb) / 2))
distgraph check k/k.json --deep | sed 's/[0-9][0-9]*\.\.[0-9]*/ROWS/; s/, [0-9].*//'
echo "exit $(distgraph check k/k.json --deep >/dev/null; echo $?)"
echo "-- a file cut short"
rm -rf k && cp -r good k
truncate -s 8192 k/part1/tensors.mdb
distgraph check k/k.json >out.txt
echo "exit $?"
grep -c DAMAGED out.txt
try distgraph ls k/part1
echo "-- files of another store"
rm -rf k && cp -r good k
mv k/part0/tensors.mdb t && mv k/part1/tensors.mdb k/part0/ && mv t k/part1/tensors.mdb
try distgraph ls k/part0
try distgraph serve k/k.json --part 0
distgraph check k/k.json >/dev/null
echo "exit $?"
echo "-- directories swapped"
rm -rf k && cp -r good k
mv k/part0 t && mv k/part1 k/part0 && mv t k/part1
try distgraph serve k/k.json --part 0
try distgraph ls k/k.json
distgraph check k/k.json | grep -c 'does not belong'
echo "-- a part of another cluster"
rm -rf k && cp -r good k
distgraph partition "$DATA/karate.csv" -n 2 -o other >/dev/null
rm -r k/part1 && cp -r other/part1 k/part1
try distgraph serve k/k.json --part 1
try distgraph export k/k.json feat out.npy
distgraph check k/k.json >/dev/null
echo "exit $?"
