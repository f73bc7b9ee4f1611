// Draws panels of a dashboard with the components that Grafana publishes of itself, over answers that Prometheus has given.
// The frame around a panel, graphs, tables, single values, colours, units and transformations are Grafana's own. What
// Grafana keeps to itself is written here as Grafana 13 does it: how answers become frames (@grafana/prometheus), what a
// panel takes for granted (its defaults), where panels stand in the grid.
import "@fontsource/inter/400.css";
import "@fontsource/inter/500.css";
import "@fontsource/roboto-mono/400.css";

import {
  applyFieldOverrides,
  cacheFieldDisplayNames,
  createTheme,
  dateTime,
  EventBusSrv,
  FieldColorModeId,
  FieldType,
  getFieldDisplayValues,
  identityOverrideProcessor,
  LoadingState,
  standardFieldConfigEditorRegistry,
  standardTransformers,
  standardTransformersRegistry,
  ThemeContext,
  toDataFrame,
  transformDataFrame,
  valueMappingsOverrideProcessor,
} from "@grafana/data";
import { initPluginTranslations } from "@grafana/i18n";
import { BigValue, GlobalStyles, PanelChrome, PanelContextProvider, TimeSeries, VizRepeater } from "@grafana/ui";
import { TableNG } from "@grafana/ui/unstable";
import { createRoot } from "react-dom/client";

// ---------------------------------------------------------------------------------------------- what a panel takes for granted

const GRAPH = {
  drawStyle: "line",
  lineInterpolation: "linear",
  lineWidth: 1,
  fillOpacity: 0,
  gradientMode: "none",
  spanNulls: false,
  insertNulls: false,
  showPoints: "auto",
  pointSize: 5,
  stacking: { mode: "none", group: "A" },
  axisPlacement: "auto",
  axisLabel: "",
  axisColorMode: "text",
  axisBorderShow: false,
  axisCenteredZero: false,
  axisGridShow: true,
  barAlignment: 0,
  barWidthFactor: 0.6,
  scaleDistribution: { type: "linear" },
  hideFrom: { tooltip: false, viz: false, legend: false },
  thresholdsStyle: { mode: "off" },
};
const TABLE = { align: "auto", cellOptions: { type: "auto" }, inspect: false, footer: { reducers: [] } };
const DEFAULTS = {
  stat: { color: { mode: FieldColorModeId.Thresholds }, custom: {} },
  table: { color: { mode: FieldColorModeId.Thresholds }, custom: TABLE },
  timeseries: { color: { mode: FieldColorModeId.PaletteClassic }, custom: GRAPH },
};
const THRESHOLDS = { mode: "absolute", steps: [{ value: -Infinity, color: "green" }] };

function configOf(panel) {
  const taken = DEFAULTS[panel.type];
  const { defaults, overrides } = panel.fieldConfig;
  return {
    defaults: { thresholds: THRESHOLDS, ...taken, ...defaults, custom: { ...taken.custom, ...defaults.custom } },
    overrides,
  };
}

function register(panels) {
  const transformers = Object.values(standardTransformers).filter((one) => one?.id);
  standardTransformersRegistry.setInit(() =>
    [...new Map(transformers.map((one) => [one.id, one])).values()].map((one) => ({
      id: one.id,
      name: one.name,
      transformation: async () => one,
    })),
  );
  const found = panels.flatMap((panel) => [
    ...Object.keys(configOf(panel).defaults).filter((id) => id !== "custom"),
    ...Object.keys(configOf(panel).defaults.custom).map((id) => `custom.${id}`),
    ...panel.fieldConfig.overrides.flatMap((one) => one.properties.map((property) => property.id)),
  ]);
  standardFieldConfigEditorRegistry.setInit(() =>
    [...new Set(found)].map((id) => ({
      id,
      path: id.replace("custom.", ""),
      name: id,
      isCustom: id.startsWith("custom."),
      process: id === "mappings" ? valueMappingsOverrideProcessor : identityOverrideProcessor,
      shouldApply: () => true,
      settings: {},
    })),
  );
}

// ---------------------------------------------------------------------------------------------- answers as frames

const number = (text) => (Number.isFinite(Number(text)) ? Number(text) : null);

function legend(target, labels) {
  if (target.legendFormat && target.legendFormat !== "__auto") {
    return target.legendFormat.replace(/\{\{\s*(\S+?)\s*\}\}/g, (_, name) => labels[name] ?? "");
  }
  return Object.entries(labels).map(([name, value]) => `${name}="${value}"`).join(", ") || "Value";
}

const lines = (target, answer) =>
  answer.map(({ metric, values }) =>
    toDataFrame({
      refId: target.refId,
      fields: [
        { name: "Time", type: FieldType.time, values: values.map(([at]) => at * 1000) },
        {
          name: "Value",
          type: FieldType.number,
          labels: metric,
          values: values.map(([, value]) => number(value)),
          config: { displayNameFromDS: legend(target, metric) },
        },
      ],
    }),
  );

function rows(target, answer, of) {
  const labels = [...new Set(answer.flatMap((row) => Object.keys(row.metric)))].sort();
  const fields = [
    { name: "Time", type: FieldType.time, values: answer.map((row) => row.value[0] * 1000) },
    ...labels.map((name) => ({ name, type: FieldType.string, values: answer.map((row) => row.metric[name] ?? "") })),
    {
      name: of > 1 ? `Value #${target.refId}` : "Value",
      type: FieldType.number,
      values: answer.map((row) => number(row.value[1])),
    },
  ];
  return [toDataFrame({ refId: target.refId, fields })];
}

const framesOf = (panel) =>
  panel.targets.flatMap((target) =>
    target.range ? lines(target, target.answer) : rows(target, target.answer, panel.targets.length),
  );

async function shown(panel, theme) {
  let data = framesOf(panel);
  if (panel.transformations) {
    const made = transformDataFrame(panel.transformations, data, { interpolate: (text) => text });
    data = await new Promise((resolve, reject) => made.subscribe({ next: resolve, error: reject }));
  }
  const drawn = applyFieldOverrides({
    data,
    fieldConfig: configOf(panel),
    replaceVariables: (text) => text,
    theme,
    timeZone: "utc",
  });
  cacheFieldDisplayNames(drawn);
  return drawn;
}

// ---------------------------------------------------------------------------------------------- panels

function Stat({ panel, frames, width, height, theme }) {
  const { options } = panel;
  const values = getFieldDisplayValues({
    fieldConfig: configOf(panel),
    reduceOptions: options.reduceOptions,
    replaceVariables: (text) => text,
    theme,
    data: frames,
    timeZone: "utc",
  });
  return (
    <VizRepeater
      getValues={() => values}
      getAlignmentFactors={() => ({})}
      width={width}
      height={height}
      source={frames}
      itemSpacing={3}
      orientation={options.orientation}
      autoGrid
      renderValue={({ value, width, height }) => (
        <BigValue
          value={value.display}
          count={values.length}
          width={width}
          height={height}
          theme={theme}
          colorMode={options.colorMode}
          graphMode={options.graphMode}
          justifyMode={options.justifyMode}
          textMode={options.textMode}
          wideLayout={options.wideLayout}
        />
      )}
    />
  );
}

function Graph({ panel, frames, width, height, range }) {
  return (
    <TimeSeries frames={frames} width={width} height={height} timeRange={range} timeZone="utc" legend={panel.options.legend}>
      {() => null}
    </TimeSeries>
  );
}

function Table({ panel, frames, width, height }) {
  return (
    <TableNG
      data={frames[0]}
      width={width}
      height={height}
      noHeader={!panel.options.showHeader}
      cellHeight={panel.options.cellHeight}
      initialSortBy={panel.options.sortBy}
      fieldConfig={panel.fieldConfig}
      structureRev={1}
    />
  );
}

const BODIES = { stat: Stat, table: Table, timeseries: Graph };
const empty = (frames) => frames.every((frame) => frame.length === 0);

function Panel({ panel, frames, range, theme, place }) {
  const Body = BODIES[panel.type];
  return (
    <div style={{ position: "absolute", ...place }}>
      <PanelChrome
        width={place.width}
        height={place.height}
        title={panel.title}
        padding={panel.type === "table" ? "none" : "md"}
        loadingState={LoadingState.Done}
      >
        {(width, height) =>
          empty(frames) ? (
            <div style={{ display: "grid", placeItems: "center", height, color: theme.colors.text.secondary }}>
              {panel.fieldConfig.defaults.noValue}
            </div>
          ) : (
            <Body panel={panel} frames={frames} width={width} height={height} range={range} theme={theme} />
          )
        }
      </PanelChrome>
    </div>
  );
}

function placed({ x, y, w, h }, { columns, cell, gap, width }) {
  const column = (width - gap * (columns - 1)) / columns;
  return {
    left: x * (column + gap),
    top: y * (cell + gap),
    width: w * (column + gap) - gap,
    height: h * (cell + gap) - gap,
  };
}

function Dashboard({ title, about, layout, drawn, range, theme }) {
  const { width, margin, header } = layout;
  const heading = { display: "flex", justifyContent: "space-between", alignItems: "baseline", height: header };
  return (
    <div style={{ width: width + 2 * margin, padding: margin, background: theme.colors.background.canvas }}>
      <div style={heading}>
        <span style={theme.typography.h4}>{title}</span>
        <span style={{ color: theme.colors.text.secondary }}>{about}</span>
      </div>
      <div style={{ position: "relative" }}>
        {drawn.map(({ panel, frames }) => {
          const place = placed(panel.gridPos, layout);
          return panel.type === "row" ? (
            <div key={panel.id} style={{ position: "absolute", ...place, ...theme.typography.h6, paddingTop: 4 }}>
              {panel.title}
            </div>
          ) : (
            <Panel key={panel.id} {...{ panel, frames, range, theme, place }} />
          );
        })}
      </div>
    </div>
  );
}

async function main() {
  const { title, about, layout, panels, from, to } = await (await fetch("data.json")).json();
  const theme = createTheme({ colors: { mode: "light" } });
  const range = { from: dateTime(from * 1000), to: dateTime(to * 1000), raw: { from: dateTime(from * 1000), to: dateTime(to * 1000) } };
  await initPluginTranslations("spanhook");
  register(panels.filter((panel) => panel.type !== "row"));
  const drawn = await Promise.all(
    panels.map(async (panel) => ({ panel, frames: panel.type === "row" ? [] : await shown(panel, theme) })),
  );
  await document.fonts.ready;
  const context = { eventsScope: "global", eventBus: new EventBusSrv(), app: "dashboard" };
  createRoot(document.getElementById("root")).render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <PanelContextProvider value={context}>
        <Dashboard {...{ title, about, layout, drawn, range, theme }} />
      </PanelContextProvider>
    </ThemeContext.Provider>,
  );
}

window.__grafana_public_path__ = "public/";
main().catch((error) => (document.body.innerText = String(error.stack ?? error)));
