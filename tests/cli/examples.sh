# The example programs do what they say.
karate 2
example_store k/part0 | grep -c 'in-edges'
up k/k.json
example_client k/k.json feat 33
distgraph pull k/k.json feat 33
try example_client k/k.json feat 34
distgraph stop k/k.json >/dev/null
