# The program explains itself.
distgraph --version | sed 's/[0-9][0-9.]*$/VERSION/'
distgraph --help | head -n 3
distgraph help pull >help.txt
cat help.txt
distgraph pull a --help | cmp - help.txt && echo "the same by --help"
