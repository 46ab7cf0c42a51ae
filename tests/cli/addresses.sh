# Addresses: a taken port is named, two clusters live side by side, nothing is open to others unasked.
karate 2
try distgraph serve k/k.json --part 2
try distgraph serve missing.json --part 0
try distgraph serve k/k.json --part 0 --listen 0.0.0.0:0
try distgraph serve k/k.json --part 0 --listen nonsense
try distgraph serve k/k.json --part 0 --ip-config missing.txt
echo "-- a server on a port of its own"
distgraph serve k/k.json --part 0 --listen 127.0.0.1:0 >ready.txt 2>serve.err &
server=$!
trap 'kill $server 2>/dev/null' EXIT
i=0
while [ ! -s ready.txt ] && [ $i -lt 200 ]; do
	sleep 0.05
	i=$((i + 1))
done
port=$(sed -n 's/.*127\.0\.0\.1:\([0-9]*\).*/\1/p' ready.txt)
cp -r k other
distgraph partition "$DATA/karate.csv" -n 1 -o second >/dev/null
echo "-- asked by its address alone"
distgraph status 127.0.0.1:$port | sed "s/ *$server/ PID/; s/$port/PORT/" | tr -s ' ' | cut -d ' ' -f 2-5,13
distgraph status 127.0.0.1:$port --json | grep -e '"n_parts"' -e '"part"' -e running
try distgraph status unix:$PWD/k/part1/serve.sock
try distgraph status 127.0.0.1:port
try distgraph status unix:relative
try distgraph status nowhere.json
echo "-- its port and its store are taken"
try distgraph serve second/second.json --part 0 --listen 127.0.0.1:$port | sed "s/$port/PORT/g; s/$server/PID/g"
try distgraph serve k/k.json --part 0 | sed "s/$server/PID/g"
echo "-- another cluster beside it"
(up second/second.json; distgraph pull second/second.json node~_N~_ORIGINAL_ID 3 --internal |
	cut -f 1)
distgraph pull k/k.json feat 0 >pull.txt 2>&1
grep -o "partition 1" pull.txt | head -n 1
kill $server
wait $server
echo "exit $?"
