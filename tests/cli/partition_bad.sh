# Bad input is refused with a message that names it; nothing half-written is left behind.
cut() {
	try distgraph partition "$@" -n 2 -o out
}
: >empty.csv
echo "# nothing here" >comment.csv
printf '0,1\n1\n2,3\n' >ragged.csv
printf '0,1\n1,x\n' >letters.csv
printf '0,1\n1,-2\n' >negative.csv
printf '0,1\n1,2,3 4\n' >more.csv
printf '0,1\n1,99999999999999999999\n' >huge.csv
echo "not an array" >text.npy
npy make short.npy '<f4' 33,2 1
npy make long.npy '<i8' 79 1
npy make triple.npy '<i8' 5,4 1
npy make float.npy '<f4' 5,2 1
npy make feat.npy '<f4' 34,2 1
for file in missing.csv empty.csv comment.csv ragged.csv letters.csv negative.csv huge.csv text.npy \
	triple.npy float.npy; do
	cut $file
done
cut "$DATA/karate.csv" --nodes 33
cut "$DATA/karate.csv" --node-data feat=short.npy
cut "$DATA/karate.csv" --node-data feat=short.npy --nodes 34
cut "$DATA/karate.csv" --node-data feat=missing.npy
cut "$DATA/karate.csv" --node-data feat=text.npy
cut "$DATA/karate.csv" --edge-data weight=long.npy
cut "$DATA/karate.csv" --node-data person/feat=feat.npy
cut "$DATA/karate.csv" --node-data feat=feat.npy --node-data feat=feat.npy
cut "$DATA/karate.csv" --method magic
try distgraph partition "$DATA/karate.csv" -n 2 -o nowhere/out
ls -A
echo "-- an output that exists is refused, and stays as it is"
mkdir out
echo mine >out/file
cut "$DATA/karate.csv"
cat out/file
try distgraph partition "$DATA/karate.csv" -n 2 -o out --force
cat out/file
echo "-- an old graph is replaced by force, but not when that fails"
distgraph partition "$DATA/karate.csv" -n 2 -o graph >/dev/null
try distgraph partition "$DATA/karate.csv" -n 3 -o graph
try distgraph partition ragged.csv -n 3 -o graph --force
ls graph
try distgraph partition "$DATA/karate.csv" -n 3 -o graph --force --method random
ls graph
ls -A | grep -v -e csv -e npy
