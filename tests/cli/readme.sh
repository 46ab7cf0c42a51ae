# The README's commands, as they stand there, do what it says.
sed -n '/^distgraph /p' "$CLI/../../README.md" |
	sed "s|/tmp/|$PWD/|g; s|tests/data/|$DATA/|g; s|^distgraph up \(.*\) &.*|up \1|" >commands
wc -l <commands
. ./commands >output.txt 2>&1
distgraph export karate/karate.json feat after.npy 2>/dev/null
npy rows "$DATA/karate-feat.npy" 0,33 ends.npy
npy rows after.npy 33,0 swapped.npy
npy same rows.npy ends.npy && npy same swapped.npy ends.npy && echo "pushed as told"
steady <output.txt | sed "s/[0-9]* cut.*/N cut/; s/sound, .*/sound/; s/running .*/running/
	s/^PART .*/PART .../; s/([0-9]*, 8) *[0-9]*/(N, 8) BYTES/"
