# Stores are listed, shown, exported and checked without a server.
karate 2
exec 2>../messages.txt
echo "-- ls"
distgraph ls k/part0 | sed -n '1p;/feat/s/([0-9]*,/(N,/p' | tr -s ' ' | cut -d ' ' -f 1-4
distgraph ls k/k.json
distgraph ls k/k.json --all --json | grep '"key"' | sort
echo "-- show"
distgraph show k/part0 feat --rows : | sed 1d | cut -f 2 >both.txt
distgraph show k/part1 feat --rows : | sed 1d | cut -f 2 >>both.txt
sort -n both.txt | head -n 3
wc -l <both.txt
part=0
distgraph show k/part0 feat --ids 0 >/dev/null 2>&1 || part=1
distgraph show k/part$part feat --ids 0 | sed 1d
distgraph show k/part$part feat --ids 0 --json | grep '"id"'
distgraph show k/part$part feat --stats | sed 1d | tr -s ' ' | cut -d ' ' -f 1,3,5,7
echo "-- export"
distgraph export k/k.json feat feat2.npy
npy same feat.npy feat2.npy && echo same
distgraph export k/k.json weight weight.csv
head -n 2 weight.csv
distgraph export k/part0 feat part.csv 2>&1 | head -n 1
try distgraph export k/k.json feat nowhere/feat.npy
try distgraph export k/k.json feat nowhere/feat.csv
echo "-- refused"
try distgraph ls missing
mkdir -m 700 empty
try distgraph ls empty
mkdir -m 755 open
try distgraph ls open
try distgraph ls k
try distgraph show k/k.json feat
try distgraph show k/part0 nothing
try distgraph show k/part0 feat --rows 0:35
try distgraph show k/part0 feat --ids 34
try distgraph show k/part$((1 - part)) feat --ids 0
echo "-- check"
check() { # how many pages and bytes is the store's affair
	try distgraph check "$@" | sed 's/sound, .*/sound/'
}
check k/part0
check k/k.json --deep
distgraph check k/k.json --json | grep -c '"sound": true'
check missing.json
mv k/part1 k/gone
check k/k.json
try distgraph export k/k.json feat feat3.npy
ls -A | grep feat
echo "-- what was said on stderr"
steady <../messages.txt | sort | uniq -c | tr -s ' '
