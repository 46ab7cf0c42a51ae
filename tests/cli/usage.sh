# Wrong usage: a complaint on stderr that points at --help, and exit status 2.
try distgraph
try distgraph nonsense
try distgraph help nonsense
try distgraph pull
try distgraph pull a b c d
try distgraph pull a b c --frobnicate
try distgraph pull a b c -x
try distgraph pull a b c --output
try distgraph pull a b c --timeout=soon
try distgraph pull a b c --timeout 1000001
try distgraph pull a b c --timeout -3
try distgraph ls a --json=yes
try distgraph partition
try distgraph partition edges.csv -o out
try distgraph partition edges.csv -n 0 -o out
try distgraph partition edges.csv -n 4097 -o out
try distgraph partition edges.csv -n 2
try distgraph partition edges.csv -n2 -oout --node-data feat
try distgraph partition edges.csv -n2 -oout --node-data =feat.npy
try distgraph partition edges.csv -n2 -oout --edge-data weight=
try distgraph serve k.json
try distgraph show part0 feat --rows 1:2 --ids 3
try distgraph export k.json feat feat.txt
