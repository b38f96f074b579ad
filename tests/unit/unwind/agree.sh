#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compares rh_unwind with unw_backtrace at every allocation of real programs: agree.sh agree.so [program arguments...]
set -eu
library=$(realpath "$1")
shift
run() {
	LD_PRELOAD=$library "$@" >/dev/null
}
if [ $# -gt 0 ]; then
	run "$@"
	exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >a.cc <<'CC'
#include <map>
#include <regex>
#include <string>
#include <iostream>
int main(int argc, char **argv)
{
	std::map<std::string, std::regex> table;
	for (int i = 0; i < argc; i++)
		table.emplace(argv[i], std::regex(argv[i]));
	std::cout << table.size() << "\n";
}
CC
cat >a.sql <<'SQL'
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20000) INSERT INTO t SELECT x, hex(randomblob(8)) FROM c;
CREATE INDEX i ON t(b);
SELECT substr(b, 1, 1) AS k, count(*), group_concat(a) FROM t GROUP BY k ORDER BY k;
SQL
run env PYTHONMALLOC=malloc python3 -c 'import json, ast, re, decimal, email.message; t = ast.parse(open(json.decoder.__file__).read()); print(len(json.dumps(json.loads("[" + ",".join(["{\"a\": [1, 2.5, null]}"] * 3000) + "]"))))'
run sqlite3 t.db '.read a.sql'
run jq -n '[range(3000) | {a: ., b: (. * 2 | tostring)}] | group_by(.a % 7) | map(length)'
run bash -c 'for i in $(seq 500); do x=$(echo $i); a[$i]=${x/1/2}; done; echo ${#a[@]}'
run g++ -O1 -c a.cc
