# Rows are pulled and pushed by the ids of the input; what is wrong is told, and the servers stay up.
karate 4
up k/k.json
echo "-- pull"
distgraph pull k/k.json feat 33,0,33
distgraph pull k/k.json node~_N~feat 31:
distgraph pull k/k.json weight 0,77
distgraph pull k/k.json feat : -o all.npy && npy same all.npy feat.npy && echo "all as in the input"
printf '5\n\n 6\n' >ids.txt
npy make ids.npy '<i8' 2 5 6
distgraph pull k/k.json feat @ids.txt
distgraph pull k/k.json feat @ids.npy
distgraph pull k/k.json feat 0: --internal | cut -f 2 | sort | cksum
distgraph pull k/k.json feat : | cut -f 2 | sort | cksum
echo "-- push"
npy make new.npy '<f4' 3,2 1 2 3 4 5 6
distgraph push k/k.json feat 33,0,33 new.npy
distgraph pull k/k.json feat 0,33
echo "-- refused"
try distgraph pull k/k.json feat 34
try distgraph pull k/k.json feat 0:35
try distgraph pull k/k.json feat -1
try distgraph pull k/k.json feat 99999999999999999999
try distgraph pull k/k.json feat 5:1
try distgraph pull k/k.json feat one
try distgraph pull k/k.json feat @missing.txt
echo "12 13" >bad.txt
try distgraph pull k/k.json feat @bad.txt
try distgraph pull k/k.json faet 0
try distgraph pull k/k.json feat 0 -o nowhere/rows.npy
try distgraph pull missing.json feat 0
npy make wide.npy '<f4' 3,3 1
npy make double.npy '<f8' 3,2 1
npy make ids_new.npy '<i4' 1 1
try distgraph push k/k.json feat 0,1 new.npy
try distgraph push k/k.json feat 0,1,2 wide.npy
try distgraph push k/k.json feat 0,1,2 double.npy
try distgraph push k/k.json feat 0,1,34 new.npy
try distgraph push k/k.json feat 0,1,2 missing.npy
try distgraph push k/k.json node~_N~_ORIGINAL_ID 0 ids_new.npy
echo "-- nothing of that was written, and the servers are up"
distgraph pull k/k.json feat 0:3
distgraph status k/k.json | cut -c 1-12
echo "-- a store that is served is not read by others"
try distgraph show k/part0 feat
try distgraph check k/part0
try distgraph stop k/k.json
