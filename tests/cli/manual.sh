# The manual page of each command names the same options as its --help.
options_of() {
	sed 's/\\-/-/g' | grep -o -e '--[a-z][a-z-]*' | sort -u
}
pages=$CLI/../../docs/man
for command in $(distgraph help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	distgraph "$command" --help | options_of >help.txt
	sed -n '/^\.SH OPTIONS/,/^\.SH EXAMPLES/p' "$pages/distgraph-$command.1" | grep '^.fB' |
		options_of >page.txt
	diff help.txt page.txt && echo "$command agrees"
	distgraph help "$command" | grep -q '^examples:' || echo "$command has no example"
	grep -q "distgraph..$command (1)" "$pages/distgraph.1" || echo "distgraph.1 lacks $command"
	for section in SYNOPSIS OPTIONS EXAMPLES 'EXIT STATUS'; do
		grep -q "^.SH \"*$section" "$pages/distgraph-$command.1" || echo "$command: no $section"
	done
done
