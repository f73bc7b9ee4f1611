// Parses what stands on standard input, a JSON list of {language, text}, and prints a list of the same length: where
// each has an error. These parsers never throw: what they cannot read becomes an error node, or a tree that is empty.
import { parser as logql } from "@grafana/lezer-logql";
import { parser as traceql } from "@grafana/lezer-traceql";

const PARSERS = { logql, traceql };

function errors({ language, text }) {
  const found = [];
  let nodes = 0;
  PARSERS[language].parse(text).iterate({
    enter(node) {
      nodes += 1;
      if (node.type.isError) {
        found.push(`${node.from}-${node.to}: ${JSON.stringify(text.slice(Math.max(0, node.from - 20), node.to + 20))}`);
      }
    },
  });
  return nodes > 1 ? found : ["nothing was parsed"];
}

let input = "";
for await (const part of process.stdin) input += part;
process.stdout.write(JSON.stringify(JSON.parse(input).map(errors)));
