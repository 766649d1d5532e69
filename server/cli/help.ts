/** Of `polyad --help`. */
export const helpText = `polyad, a multi-model database

  polyad start [setting...]             starts a server; service.server.httpIncomingPort=2480
  polyad sql <db> [statement]           runs a statement, what comes on the input, or a shell
  polyad cypher <db> [statement]        as sql, in Cypher
  polyad import <db> <file|url|->       loads vertices and edges, or any file the server reads
  polyad backup <db>                    makes an archive on the server, prints its name
  polyad restore <db> <archive|url>     makes a database of an archive
  polyad status [--json]                what the server is doing
  polyad cluster <name> [-f <file>]     a Cluster on Kubernetes: what waits and why, what a manifest restarts
  polyad --version [--json]

Options of commands that talk to a server
  --url <url>             default POLYAD_URL or http://127.0.0.1:2480
  -u, --user <name>       default POLYAD_USER or root
  --password-file <file>  else POLYAD_PASSWORD, else the prompt; never on the command line
  --ca-file <file>        certificates of your own authority, PEM, for https

  sql      -f, --format table|json|csv   -l, --language sql|sqlscript|cypher|...   --limit <rows>
  import   -f, --format jsonl|csv        for a file whose first line does not tell
  backup   --to <url>                    writes the archive there
  restore  --overwrite                   replaces a database that exists
           POLYAD_ENCRYPTION_KEY         opens an encrypted archive

Exit codes: 0 done, 1 failed, 2 wrong use, 3 server not reached, 4 refused,
  5 rows or columns of sql or cypher were left out, which standard error tells.
A terminal gets up to 20,000 rows (--limit=-1: all); a file or pipe gets all of them, as they come.
Colour is for terminals; NO_COLOR=1 takes it away.
`;
