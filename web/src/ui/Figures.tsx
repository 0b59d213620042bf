// Numbers as pictures: figures with a label, a bar for a share, a sparkline. All of them also say the number as text.
import { Box, Group, Paper, Progress, SimpleGrid, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

export interface Figure {
  label: string;
  value: ReactNode;
  note?: ReactNode;
}

export function Figures({ of }: { of: Figure[] }) {
  return (
    <SimpleGrid cols={{ base: 2, sm: Math.min(of.length, 3), lg: of.length > 5 ? 3 : of.length }} spacing="sm">
      {of.map((figure) => (
        <Paper key={figure.label} withBorder radius="md" p="md">
          <Text size="sm" c="dimmed">
            {figure.label}
          </Text>
          <Text fw={600} fz={{ base: 18, sm: 22 }} className="figures" style={{ overflowWrap: "anywhere" }}>
            {figure.value}
          </Text>
          {figure.note && (
            <Text size="xs" c="dimmed" component="div">
              {figure.note}
            </Text>
          )}
        </Paper>
      ))}
    </SimpleGrid>
  );
}

interface ShareProps {
  part: number;
  whole: number;
  plan?: number; // The part that would be on plan, drawn as a line.
  label: string;
  children?: ReactNode;
}

// Share draws a part of a whole, such as the spend of a budget.
export function Share({ part, whole, plan, label, children }: ShareProps) {
  const percent = whole > 0 ? Math.min(100, (part / whole) * 100) : 0;
  return (
    <Stack gap={3} miw={130}>
      {children && (
        <Group gap={4} wrap="nowrap" fz="sm">
          {children}
        </Group>
      )}
      <Box pos="relative">
        <Progress value={percent} size="sm" aria-label={label} color={percent >= 95 ? "orange.7" : undefined} />
        {plan !== undefined && whole > 0 && (
          <Box
            pos="absolute"
            top={-3}
            h={14}
            w={2}
            bg="var(--mantine-color-text)"
            title="Where an even spend would be now"
            left={`calc(${Math.min(100, (plan / whole) * 100)}% - 1px)`}
          />
        )}
      </Box>
    </Stack>
  );
}

export function Sparkline({
  values,
  label,
  width = 120,
  height = 28,
}: {
  values: number[];
  label: string;
  width?: number;
  height?: number;
}) {
  if (values.length < 2) return null;
  const top = Math.max(...values, 1e-9);
  const step = (width - 2) / (values.length - 1);
  const points = values.map(
    (value, i) => `${(1 + i * step).toFixed(1)},${(height - 2 - (value / top) * (height - 4)).toFixed(1)}`,
  );
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      style={{ display: "block", width: "100%", maxWidth: width, height }}
      role="img"
      aria-label={label}
    >
      <polyline
        points={points.join(" ")}
        fill="none"
        stroke="var(--mantine-primary-color-filled)"
        strokeWidth="1.5"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  );
}

// Bars draws named counts, the largest first.
export function Bars({ of }: { of: { name: ReactNode; key: string; count: number; text: string }[] }) {
  const top = Math.max(...of.map((bar) => bar.count), 1);
  return (
    <Stack gap={6}>
      {of.map((bar) => (
        <Group key={bar.key} gap="sm" wrap="nowrap">
          <Text size="sm" w={170} style={{ flexShrink: 0 }} component="div">
            {bar.name}
          </Text>
          <Box flex={1} h={10}>
            <Box
              h={10}
              bg="var(--mantine-primary-color-filled)"
              w={`${(bar.count / top) * 100}%`}
              miw={2}
              style={{ borderRadius: 3 }}
            />
          </Box>
          <Text size="sm" className="figures" ta="right" miw={56}>
            {bar.text}
          </Text>
        </Group>
      ))}
    </Stack>
  );
}
