// Reads JQL texts, one a line, and fails when Atlassian's parser does not take one of them, or takes one of the bad ones.
'use strict';
const fs = require('fs');
const { CharStreams, CommonTokenStream } = require('antlr4ts');
const { JQLLexer, JQLParser } = require('@atlaskit/jql-parser');

function errors(text) {
  const out = [];
  const listener = { syntaxError: (_r, _s, line, col, msg) => out.push(`${line}:${col} ${msg}`) };
  const lexer = new JQLLexer(CharStreams.fromString(text));
  lexer.removeErrorListeners();
  lexer.addErrorListener(listener);
  const parser = new JQLParser(new CommonTokenStream(lexer));
  parser.removeErrorListeners();
  parser.addErrorListener(listener);
  parser.jqlQuery();
  return out;
}

// The checker itself is checked: what must fail, does.
const bad = ['status = Done AND', 'labels = a b', 'labels in ("a", "b"', 'labels = "a', 'status == Done', 'AND status = Done',
  'labels = do', 'status = Done ORDER id', 'updated >= 2026-01-31 09:00', 'labels in ()', 'labels = "a\\q"'];
let failed = 0;
for (const text of bad) {
  if (errors(text).length === 0) {
    console.error(`taken, and should not be: ${text}`);
    failed++;
  }
}
let n = 0;
for (const file of process.argv.slice(2)) {
  for (const text of fs.readFileSync(file, 'utf8').split('\n')) {
    if (text === '') continue;
    n++;
    const es = errors(text);
    if (es.length > 0) {
      console.error(`refused: ${text}\n    ${es[0]}`);
      failed++;
    }
  }
}
if (n === 0) {
  console.error('no JQL was given');
  failed++;
}
console.log(`${n} JQL texts, ${failed} problems`);
process.exit(failed === 0 ? 0 : 1);
