# Where the input called its nodes by strings or sparse integers, the commands speak those.
cat >people.csv <<'END'
name,age
"Lovelace, Ada",36
bob,24
çelik,60
dan,18
eve,41
-7,5
"0",70
END
cat >knows.csv <<'END'
bob,dan
dan,eve
eve,bob
"Lovelace, Ada",bob
-7,0
0,çelik
dan,"Lovelace, Ada"
END
printf 'id,age\n70,31\n-5,24\n900000000000,60\n12,18\n13,19\n' >members.csv
printf -- '-5,12\n12,70\n900000000000,12\n13,70\n' >friends.csv
distgraph partition knows.csv -n 3 -o s --method random --nodes people.csv \
	--node-data age=people.csv:age:float32 >/dev/null
distgraph partition friends.csv -n 2 -o i --method random --nodes members.csv \
	--node-data age=members.csv:age:int64 >/dev/null
printf 'Lovelace, Ada\n0\r\n\nbob\n' >some.txt
npy make two.npy '<f4' 2 100 101

# The superblock says so, to programs that do not know such ids.
karate 1
for graph in s i k; do
	python3 -c 'import sys; d = open(sys.argv[1], "rb").read(); print(d[d.index(b"DGR1\x01\0") + 0x70])' \
		$graph/part0/graph.mdb
done

echo "-- without servers: strings"
distgraph export s/s.json age offline.csv 2>/dev/null && cat offline.csv
distgraph export s/s.json age offline.npy --ids-out names.txt 2>/dev/null && cat names.txt
distgraph export s/s.json age relabelled.csv --internal 2>/dev/null && cut -d , -f 1 relabelled.csv
for part in 0 1 2; do
	distgraph show s/part$part age --ids bob 2>/dev/null | tail -n +2
	distgraph show s/part$part age --ids @some.txt >/dev/null 2>&1 && echo "all in one?"
done
cat >show_all.sh <<'END'
# Every node is shown by its name in one part, and by its relabelled id in the same.
for part in 0 1 2; do
	while IFS= read -r name; do
		echo "$name" >one.txt
		distgraph show s/part$part age --ids @one.txt 2>/dev/null | tail -n +2
	done <names.txt
done | sort
END
sh show_all.sh
for part in 0 1 2; do
	for id in 0 1 2 3 4 5 6; do
		distgraph show s/part$part age --ids $id --internal 2>/dev/null | tail -n +2
	done
done | tr '\t' , | diff - relabelled.csv | grep '^[<>]'
distgraph show s/part0 age --ids nobody 2>&1 >/dev/null
echo "-- without servers: integers"
distgraph export i/i.json age offline_i.csv 2>/dev/null && cat offline_i.csv
for part in 0 1; do
	for id in 70 -5 900000000000; do
		distgraph show i/part$part age "--ids=$id" --json 2>/dev/null | grep '"id"'
	done
done
try distgraph show i/part0 age --ids 0:100
try distgraph show i/part0 age --rows 0:1 --internal
try distgraph export s/part0 age x.npy --ids-out names.txt
try distgraph export s/part0 age x.npy --internal

up s/s.json
strings_pid=$up_pid
echo "-- pull by strings"
distgraph pull s/s.json age bob,0,-7,bob
distgraph pull s/s.json age @some.txt
distgraph pull s/s.json age :
distgraph pull s/s.json age 0: --internal | cut -f 2 | sort -n | xargs
distgraph pull s/s.json node~_N~_INTERNAL_ID bob,eve | cut -f 2 >internal.txt
distgraph pull s/s.json age @internal.txt --internal | cut -f 2
echo "-- push by strings, pull, export"
distgraph push s/s.json age bob,çelik two.npy
distgraph pull s/s.json age çelik,bob,eve
distgraph export s/s.json age online.csv 2>/dev/null && diff offline.csv online.csv
echo "-- import in any order"
sort names.txt >sorted.txt
npy make seven.npy '<f4' 7 1 2 3 4 5 6 7
distgraph import s/s.json age seven.npy --ids sorted.txt
distgraph pull s/s.json age @sorted.txt | cut -f 2 | xargs
distgraph import s/s.json age offline.npy --ids names.txt
distgraph export s/s.json age online.csv 2>/dev/null && cmp offline.csv online.csv && echo restored
distgraph export s/s.json age by_internal.npy --internal 2>/dev/null
distgraph import s/s.json age by_internal.npy --internal
distgraph export s/s.json age online.csv 2>/dev/null && cmp offline.csv online.csv && echo restored
distgraph import s/s.json age offline.npy
distgraph export s/s.json age online.csv 2>/dev/null && cmp offline.csv online.csv && echo restored
echo "-- refused"
try distgraph pull s/s.json age bob,Bob
try distgraph pull s/s.json age 0:2
echo carol >>some.txt
try distgraph push s/s.json age @some.txt two.npy
npy make ids.npy '<i8' 1 0
try distgraph pull s/s.json age @ids.npy
try distgraph pull s/s.json age @missing.txt
try distgraph push s/s.json age bob two.npy
head -n 6 names.txt >short.txt
try distgraph import s/s.json age seven.npy --ids short.txt
tail -n 1 short.txt >>short.txt
try distgraph import s/s.json age seven.npy --ids short.txt
try distgraph pull s/s.json age 7 --internal
distgraph export s/s.json age online.csv 2>/dev/null && cmp offline.csv online.csv && echo "nothing was set"
distgraph stop s/s.json >/dev/null
wait $strings_pid

up i/i.json
echo "-- pull by sparse integers"
distgraph pull i/i.json age 70,-5
distgraph pull i/i.json age 12:71,900000000000
distgraph pull i/i.json age :13
distgraph pull i/i.json age 71:
distgraph pull i/i.json age 100:200
distgraph pull i/i.json age :
npy make ids.npy '<i8' 2 900000000000 12
distgraph pull i/i.json age @ids.npy
echo "-- push by sparse integers"
npy make two.npy '<i8' 2 100 101
distgraph push i/i.json age @ids.npy two.npy
distgraph pull i/i.json age 0:
distgraph export i/i.json age back.npy --ids-out numbers.txt 2>/dev/null
distgraph pull i/i.json age @numbers.txt -o pulled.npy && npy same back.npy pulled.npy && echo same
echo "-- refused"
try distgraph pull i/i.json age 0
try distgraph pull i/i.json age bob
try distgraph pull i/i.json age 70,99999999999999999999
try distgraph pull i/i.json age 70:-5
printf '70\n12:13\n' >bad.txt
try distgraph pull i/i.json age @bad.txt
try distgraph pull i/i.json age 0:2:4
distgraph stop i/i.json >/dev/null
