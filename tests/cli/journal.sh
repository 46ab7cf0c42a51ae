# A store whose server was killed shows what was acknowledged, or, without its journal, the chunks.
karate 1
distgraph serve k/k.json --part 0 >ready.txt 2>serve.err &
server=$!
trap 'kill -9 $server 2>/dev/null' EXIT
i=0
while [ ! -s ready.txt ] && [ $i -lt 200 ]; do
	sleep 0.05
	i=$((i + 1))
done
npy make new.npy '<f4' 2,2 100 101 102 103
distgraph push k/k.json feat 0,33 new.npy
distgraph push k/k.json feat 33,5 new.npy
distgraph push k/k.json feat 7,8 new.npy
kill -9 $server
wait $server 2>/dev/null
echo "-- with its journal"
distgraph show k/part0 feat --ids 0,5,7,33 2>/dev/null | sed 1d
echo "-- without"
try distgraph show k/part0 feat --ids 0,5,7,33 --no-journal
distgraph show k/part0 feat --ids 0 --no-journal --json 2>/dev/null | grep left_out
distgraph ls k/part0 --no-journal >out.txt 2>ls.err
cat ls.err
distgraph ls k/part0 --no-journal --json 2>/dev/null | grep -A 4 left_out
distgraph export k/part0 feat old.csv --no-journal 2>&1 | grep -v order
distgraph export k/part0 feat new.csv 2>&1 | grep -v order
cut -d , -f 2,3 old.csv | sed 1d | tr , '\n' | sort -n | tail -n 1
cut -d , -f 2,3 new.csv | sed 1d | tr , '\n' | sort -n | tail -n 1
echo "-- a cluster has no such view"
try distgraph ls k/k.json --no-journal
echo "-- once a server has run to its end the chunks have it all"
(up k/k.json)
try distgraph show k/part0 feat --ids 0,5,7,33 --no-journal
