# What a cut will take is told from counts, files, and samples.
distgraph plan -n 64 --nodes 111000000 --edges 1600000000
distgraph plan -n 64 --nodes 111000000 --edges 1600000000 --memory 2G | tail -n 2
echo "-- a text file read whole, and packed"
distgraph plan "$DATA/karate.csv" -n 2 | head -n 1
gzip -c "$DATA/karate.csv" >karate.csv.gz
distgraph plan karate.csv.gz -n 2 | head -n 1
echo "-- headers that tell"
printf '%%%%MatrixMarket matrix coordinate pattern general\n%% c\n10 7 25\n1 1\n' >m.mtx
distgraph plan m.mtx -n 2 | head -n 1
npy make edges.npy '<i8' 3,2 0 1 1 2 9 0
distgraph plan edges.npy -n 2 | head -n 1
echo "-- a sample of many lines"
seq 0 299999 | sed 's/.*/&,&/' >many.csv
distgraph plan many.csv -n 2 | sed 's/3[0-9]* edges/300000 edges/; s/29[0-9]* nodes/299999 nodes/; q'
distgraph plan many.csv -n 2 --edges 300000 --nodes 300000 --json | grep sampled
echo "-- refused"
printf 'a b\nb c\n' >names.txt
try distgraph plan names.txt -n 2
distgraph plan names.txt -n 2 --nodes 3 | head -n 1
try distgraph plan missing.csv -n 2
try distgraph plan -n 2
npy make row.npy '<i8' 4 0 1 1 2
try distgraph plan row.npy -n 2
printf '%%%%MatrixMarket matrix\nx\n' >bad.mtx
try distgraph plan bad.mtx -n 2
echo "-- stores are no larger than was told, nor a third of it"
seq 0 199999 | awk '{ print $1 % 9973 "," ($1 * 7919 + int($1 / 9973)) % 10007 }' >made.csv
told=$(distgraph plan made.csv -n 3 --json | sed -n 's/.*"store_bytes": \([0-9]*\).*/\1/p')
distgraph partition made.csv -n 3 -o made --method random >/dev/null 2>&1
du -sk made | awk -v told="$told" '{ print ($1 * 1024 <= told && $1 * 1024 > told / 3 ? "yes" : $0 " KiB of " told) }'
