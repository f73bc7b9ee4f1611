// Reads from standard input a JSON list of {panel, answers}: a table of a dashboard, and what its queries answered, by
// their letter, as [{labels, value}], the value as text, or, of traces, [{name, attributes}]. Prints what Grafana shows of each: the headings
// of its columns and the text of every cell. Transformations, overrides and formats are Grafana's own. How answers become
// frames is written here as Grafana 13 does it: transformDFToTable of @grafana/prometheus, makeTableFrames of its Loki data
// source, createTableFrameFromTraceQlQueryAsSpans of its Tempo data source.
import { createRequire } from "node:module";

const grafana = createRequire(import.meta.url)("@grafana/data"); // its ES modules import what Node cannot
// what it asks a browser for; after the import, which would take this for one
globalThis.window = {};
globalThis.navigator ??= { language: "en-US", languages: ["en-US"] };

const NOW = Date.now();
const field = (name, type, values, config = {}) => ({ name, type, values, config });
const strings = (name, rows, of) => field(name, "string", rows.map(of));

function counted(ref, rows, value) {
  const labels = [...new Set(rows.flatMap((row) => Object.keys(row.labels)))].sort();
  return {
    refId: ref,
    length: rows.length,
    fields: [
      field("Time", "time", rows.map(() => NOW)),
      ...labels.map((label) => strings(label, rows, (row) => row.labels[label] ?? "")),
      field(value, "number", rows.map((row) => Number(row.value))),
    ],
  };
}

function spans(rows) {
  const named = (title, made) => ({ ...made, config: { ...made.config, displayNameFromDS: title } });
  const attributes = [...new Set(rows.flatMap((row) => Object.keys(row.attributes)))].sort();
  const hidden = { custom: { hideFrom: { viz: true } } };
  return {
    refId: "traces",
    length: rows.length,
    fields: [
      field("traceIdHidden", "string", rows.map(() => "f".repeat(32)), hidden),
      named("Trace Service", strings("traceService", rows, () => "service")),
      named("Trace Name", strings("traceName", rows, () => "run")),
      named("Span ID", field("spanID", "string", rows.map(() => "f".repeat(16)), { unit: "string" })),
      named("Start time", field("time", "time", rows.map(() => NOW))),
      named("Name", field("name", "string", rows.map((row) => row.name), rows.some((row) => row.name) ? {} : hidden)),
      ...attributes.map((name) => named(name, strings(name, rows, (row) => row.attributes[name]))),
      named("Duration", field("duration", "number", rows.map(() => 1e6), { unit: "ns" })),
    ],
  };
}

function frames(panel, answers) {
  const source = panel.datasource.type;
  return panel.targets.flatMap(({ refId }) => {
    if (source === "tempo") return [spans(answers[refId])];
    if (source === "loki") return answers[refId].length ? [counted(refId, answers[refId], `Value #${refId}`)] : [];
    return [counted(refId, answers[refId], panel.targets.length > 1 ? `Value #${refId}` : "Value")];
  });
}

const transformers = Object.values(grafana.standardTransformers).filter((one) => one?.id);
grafana.standardTransformersRegistry.setInit(() =>
  [...new Map(transformers.map((one) => [one.id, one])).values()].map((one) => ({
    id: one.id,
    name: one.name,
    transformation: async () => one,
  })),
);
const option = (id, process = grafana.identityOverrideProcessor) => ({
  id,
  path: id.replace("custom.", ""),
  name: id,
  isCustom: id.startsWith("custom."),
  process,
  shouldApply: () => true,
  settings: {},
});
grafana.standardFieldConfigEditorRegistry.setInit(() => [
  ...["unit", "noValue", "decimals", "thresholds"].map((id) => option(id)),
  option("mappings", grafana.valueMappingsOverrideProcessor),
  ...["width", "minWidth", "hideFrom", "cellOptions", "filterable"].map((name) => option(`custom.${name}`)),
]);

async function shown({ panel, answers }) {
  const context = { interpolate: (text) => text };
  const transformed = grafana.transformDataFrame(panel.transformations, frames(panel, answers), context);
  const series = await new Promise((resolve, reject) => transformed.subscribe({ next: resolve, error: reject }));
  const drawn = grafana.applyFieldOverrides({
    data: series,
    fieldConfig: panel.fieldConfig,
    replaceVariables: (text) => text,
    theme: grafana.createTheme(),
    timeZone: "utc",
  });
  grafana.cacheFieldDisplayNames(drawn);
  if (drawn.length !== 1) throw new Error(`${panel.title}: ${drawn.length} frames`);
  const columns = drawn[0].fields.filter((one) => !one.config.custom?.hideFrom?.viz);
  return {
    headings: columns.map((one) => one.state.displayName),
    cells: columns.map((one) => one.values.map((value) => grafana.formattedValueToString(one.display(value)))),
  };
}

let input = "";
for await (const part of process.stdin) input += part;
process.stdout.write(JSON.stringify(await Promise.all(JSON.parse(input).map(shown))));
