// One metric of a simulation as a plot: for each policy the mean over the seeds and its 95 % confidence interval.
import { Box, Group, Paper, Select, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { decimal, nameOf, tables, type Row, type Simulation } from "./simulation";

const metrics = tables.flatMap((table) => table.metrics);

export function SimulationPlot({ of }: { of: Simulation }) {
  const measured = metrics.filter((metric) => of.rows.some((row) => row.mean[metric.key]));
  const [key, setKey] = useState("");
  const metric = measured.find((one) => one.key === key) ?? measured[0];
  if (!metric) return null;
  const rows = of.rows.filter((row) => row.mean[metric.key]);
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Comparison
      </Title>
      <Select
        label="Metric"
        allowDeselect={false}
        value={metric.key}
        onChange={(value) => setKey(value ?? "")}
        data={measured.map((one) => ({ value: one.key, label: one.title }))}
        w={220}
      />
      <Text size="sm" c="dimmed">
        {metric.about}
      </Text>
      <Paper withBorder radius="md" p="md">
        <Intervals rows={rows} metric={metric.key} digits={metric.digits} />
      </Paper>
    </Stack>
  );
}

// Intervals draws each mean as a point on a line that is its interval. All lines have the same scale.
function Intervals({ rows, metric, digits }: { rows: Row[]; metric: string; digits: number }) {
  const all = rows.map((row) => ({ name: nameOf(row), mean: row.mean[metric]?.mean ?? 0, half: row.mean[metric]?.half ?? 0 }));
  const low = Math.min(...all.map((one) => one.mean - one.half));
  const high = Math.max(...all.map((one) => one.mean + one.half));
  const at = (value: number) => `${high > low ? 2 + ((value - low) / (high - low)) * 96 : 50}%`;
  return (
    <Stack gap={8}>
      {all.map(({ name, mean, half }) => (
        <Group key={name} gap="sm" wrap="wrap">
          <Text size="sm" w={170} style={{ flexShrink: 0, overflowWrap: "anywhere" }}>
            {name}
          </Text>
          <Box flex="1 1 140px">
            <svg width="100%" height={16} aria-hidden="true">
              <line x1="0" x2="100%" y1="8" y2="8" stroke="var(--mantine-color-default-border)" />
              <line
                x1={at(mean - half)}
                x2={at(mean + half)}
                y1="8"
                y2="8"
                stroke="var(--mantine-primary-color-filled)"
                strokeWidth="3"
              />
              <circle cx={at(mean)} cy="8" r="5" fill="var(--mantine-primary-color-filled)" />
            </svg>
          </Box>
          <Text size="sm" className="figures" ta="right" miw={120}>
            {decimal(mean, digits)}
            {half > 0 && ` ±${decimal(half, digits)}`}
          </Text>
        </Group>
      ))}
    </Stack>
  );
}
