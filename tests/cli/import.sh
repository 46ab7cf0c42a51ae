# A tensor that was exported can be imported: all rows, by the ids of the input.
karate 3
up k/k.json
npy make other.npy '<f4' 34,2 $(seq 100 167)
echo "-- import, export: the same; and back"
distgraph import k/k.json feat other.npy
distgraph export k/k.json feat out.npy 2>/dev/null
npy same out.npy other.npy && echo same
distgraph import k/k.json feat feat.npy
distgraph pull k/k.json feat 0,33
gzip -k other.npy
distgraph import k/k.json feat other.npy.gz
distgraph export k/k.json feat out.npy 2>/dev/null
npy same out.npy other.npy && echo same
npy make weights.npy '<i8' 78 $(seq 1 78)
distgraph import k/k.json edge~_N:_E:_N~weight weights.npy
distgraph pull k/k.json weight 0,77
echo "-- from where one stopped"
distgraph import k/k.json feat feat.npy
distgraph import --from 20 k/k.json feat other.npy
distgraph pull k/k.json feat 0,19,20,33
distgraph import --from 34 k/k.json feat other.npy
try distgraph import --from 35 k/k.json feat other.npy
distgraph import k/k.json feat other.npy
echo "-- refused, before a row is set"
npy make short.npy '<f4' 33,2 1
npy make wide.npy '<f4' 34,3 1
npy make double.npy '<f8' 34,2 1
npy make ids.npy '<i4' 34 1
cp feat.npy cut.npy && truncate -s -8 cut.npy
for file in short wide double cut missing; do
	try distgraph import k/k.json feat $file.npy
done
try distgraph import k/k.json faet feat.npy
try distgraph import k/k.json node~_N~_ORIGINAL_ID ids.npy
try distgraph import missing.json feat feat.npy
distgraph export k/k.json feat out.npy 2>/dev/null
npy same out.npy other.npy && echo same
echo "-- a packed file is found too short at its end"
gzip -c cut.npy >cut.npy.gz
try distgraph import k/k.json feat cut.npy.gz
distgraph stop k/k.json >/dev/null
try distgraph import k/k.json feat feat.npy
