# bfloat16, which NumPy lacks: uint16 are its bits, and what is pulled or exported can be pushed back.
printf '0,1\n1,2\n2,3\n3,4\n4,5\n' >edges.csv
npy make bits.npy '<u2' 6,2 0 32768 16256 16329 32640 65408 32704 1 49024 17530 128 32639
npy make f.npy '<f4' 6 1
try distgraph partition edges.csv -n 2 -o g --node-data emb=bits.npy
try distgraph partition edges.csv -n 2 -o g --node-data emb:bfloat16=f.npy
distgraph partition edges.csv -n 2 -o g --node-data emb:bfloat16=bits.npy --node-data f=f.npy >/dev/null
up g/g.json
distgraph ls g/g.json
distgraph pull g/g.json emb :
distgraph pull g/g.json emb 2,4 -o two.npy
distgraph push g/g.json emb 0,1 two.npy
distgraph pull g/g.json emb 0,1
distgraph export g/g.json emb all.npy 2>/dev/null
distgraph import g/g.json emb bits.npy
distgraph export g/g.json emb same.npy 2>/dev/null
npy same bits.npy same.npy && echo "back as it was"
distgraph import g/g.json emb all.npy
distgraph pull g/g.json emb 0,1
echo "-- not of another type"
npy make uint.npy '<u2' 1 3
try distgraph push g/g.json f 0 uint.npy
npy make row.npy '<f4' 1,2 1
try distgraph push g/g.json emb 0 row.npy
echo "-- but a list of ids"
distgraph pull g/g.json f @uint.npy
distgraph stop g/g.json >/dev/null
part=0
distgraph show g/part0 emb --ids 2 >/dev/null 2>&1 || part=1
distgraph show g/part$part emb --ids 2 | sed 1d
distgraph show g/part$part emb --ids 2 --json | grep '"id"'
