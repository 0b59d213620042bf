// A line chart over time. The library is loaded with the first chart, not with the console.
import { Box, Text, useComputedColorScheme, useMantineTheme } from "@mantine/core";
import { useResizeObserver } from "@mantine/hooks";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Line {
  label: string;
  values: (number | null)[];
  format: (value: number) => string;
  dashed?: boolean;
}

interface ChartProps {
  label: string;
  times: number[]; // Seconds since 1970.
  lines: Line[];
  height?: number;
  timeZone?: string;
}

const colours = {
  light: ["#3b5bdb", "#c2255c", "#2b8a3e", "#e8590c"],
  dark: ["#91a7ff", "#faa2c1", "#8ce99a", "#ffc078"],
};

// widthOf returns the width of an axis in pixels: its longest label and the space around it.
function widthOf(labels: string[] | null): number {
  const longest = Math.max(0, ...(labels ?? []).map((label) => label.length));
  return longest * 7.5 + 20;
}

export default function Chart({ label, times, lines, height = 240, timeZone }: ChartProps) {
  const [box, rect] = useResizeObserver<HTMLDivElement>();
  const scheme = useComputedColorScheme("light");
  const theme = useMantineTheme();
  const target = useRef<HTMLDivElement>(null);
  const width = Math.floor(rect.width);

  useEffect(() => {
    if (!target.current || width < 100) return undefined;
    const axis = {
      stroke: scheme === "dark" ? "#c9c9c9" : "#495057",
      grid: { stroke: scheme === "dark" ? "#3b3b3b" : "#e9ecef" },
    };
    const chart = new uPlot(
      {
        width,
        height,
        ...(timeZone ? { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1_000), timeZone) } : {}),
        scales: { y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1] } },
        axes: [
          { ...axis, font: `12px ${theme.fontFamily}` },
          {
            ...axis,
            font: `12px ${theme.fontFamily}`,
            size: (_, ticks) => widthOf(ticks),
            values: (_, ticks) => ticks.map((tick) => lines[0]?.format(tick) ?? String(tick)),
          },
        ],
        series: [
          {},
          ...lines.map((line, i) => ({
            label: line.label,
            stroke: colours[scheme][i % colours.light.length],
            width: 2,
            ...(line.dashed ? { dash: [6, 4] } : {}),
            points: { show: times.length < 3 },
            value: (_: uPlot, value: number | null) => (value === null ? "–" : line.format(value)),
          })),
        ],
      },
      [times, ...lines.map((line) => line.values)],
      target.current,
    );
    return () => chart.destroy();
  }, [width, height, scheme, theme.fontFamily, times, lines, timeZone]);

  return (
    <Box ref={box} role="img" aria-label={label} w="100%" mih={height}>
      {times.length === 0 ? <Text c="dimmed">There is nothing to draw in this range.</Text> : <div ref={target} />}
    </Box>
  );
}
