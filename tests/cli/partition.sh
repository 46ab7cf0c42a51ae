# The karate club is cut; the report, the files and the tensors are as told.
cut_count() {
	sed 's/[0-9]* cut (.* %)/N cut/; s/"edges_cut": [0-9]*/"edges_cut": N/
		s/[0-9]\.[0-9][0-9] of/X of/g; s/_balance": [0-9.]*/_balance": X/'
}
npy make feat.npy '<f4' 34,2 $(seq 0 67)
npy make weight.npy '<i8' 78 $(seq 100 177)
distgraph partition "$DATA/karate.csv" -n 2 -o k --node-data feat=feat.npy \
	--edge-data weight=weight.npy | cut_count
ls k
distgraph ls k/k.json 2>/dev/null
try distgraph partition "$DATA/karate.csv" -n 3 -o two/graph --name club --method random
mkdir two
distgraph partition "$DATA/karate.csv" -n 3 -o two/graph --name club --method random --seed 7 --json |
	cut_count
gzip -c "$DATA/karate.csv" >k.csv.gz
distgraph partition k.csv.gz -n 1 -o one
distgraph partition "$DATA/karate.csv" "$DATA/karate.csv" -n 1 -o twice --nodes 40 -v
ls -A
echo "-- what is stored around a partition, for trainers, and in how much memory"
distgraph partition "$DATA/karate.csv" -n 2 -o wide --halo 2 --trainers 3 --memory 64M | cut_count
distgraph ls wide/wide.json 2>/dev/null
for memory in 1M 8X -3 99999999999999T; do
	try distgraph partition "$DATA/karate.csv" -n 2 -o bad --memory $memory
done
try distgraph partition "$DATA/karate.csv" -n 2 -o bad --halo 65
try distgraph partition "$DATA/karate.csv" -n 2 -o bad --trainers 40000
mkdir busy.work
echo mine >busy.work/letter
try distgraph partition "$DATA/karate.csv" -n 2 -o busy
cat busy.work/letter
