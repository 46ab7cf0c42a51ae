# The karate club is cut; the report, the files and the tensors are as told.
cut_count() {
	sed 's/[0-9]* cut (.* %)/N cut/; s/"edges_cut": [0-9]*/"edges_cut": N/'
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
