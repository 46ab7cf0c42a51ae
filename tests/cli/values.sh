# Every element type is printed with the digits that read back as the same value.
printf '0,1\n1,2\n2,3\n3,4\n4,5\n' >edges.csv
npy make half.npy '<f2' 6 0 1 11878 15360 31744 32256
npy make mask.npy '|b1' 6 0 1 1 0 1 0
npy make small.npy '|i1' 6 -128 127 0 1 2 3
npy make byte.npy '|u1' 6 255 0 1 2 3 4
npy make short.npy '<i2' 6 -32768 32767 0 0 0 0
npy make int.npy '<i4' 6 -2147483648 2147483647 0 0 0 0
npy make long.npy '<i8' 6 -9223372036854775808 9223372036854775807 0 0 0 0
npy make single.npy '<f4' 6,2 0.1 3.4028234663852886e38 1e-45 16777216 nan inf -inf -0.0 \
	0.333333333333 100000 1e10 123456.789
npy make double.npy '<f8' 6 0.1 0.3333333333333333 5e-324 1.7976931348623157e308 nan 1e15
npy make cube.npy '<i4' 6,2,3 $(seq 0 35)
set --
for name in half mask small byte short int long single double cube; do
	set -- "$@" --node-data $name=$name.npy
done
distgraph partition edges.csv -n 1 -o g "$@" >/dev/null
distgraph ls g/part0
for name in half mask small byte short int long single double cube; do
	distgraph show g/part0 $name --ids 0:
	distgraph show g/part0 $name --stats | sed 1d
	distgraph export g/part0 $name $name.out.npy 2>/dev/null
	npy same $name.npy $name.out.npy && echo "exported as it was"
done
distgraph show g/part0 single --ids 0: --json | grep '"id"'
distgraph show g/part0 cube --ids 5 --json | grep '"id"'
distgraph show g/part0 long --ids 0,1 --stats --json | grep -e id -e stats
distgraph export g/g.json single single.csv 2>/dev/null
cat single.csv
