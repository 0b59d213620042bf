// A table of objects with its three other states, for lists that the node pages.
import { Box, Button, Group, Paper, ScrollArea, Table, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { Failure, Loading } from "./States";

export interface Column<T> {
  name: string;
  cell: (row: T) => ReactNode;
  align?: "right";
  width?: number | string;
  hidden?: boolean; // The name is read out but not shown, for columns of buttons.
}

interface TableProps<T> {
  label: string;
  columns: Column<T>[];
  rows: T[] | undefined;
  rowKey: (row: T, index: number) => string;
  error?: Error | null;
  retry?: () => void;
  empty: ReactNode;
  pager?: ReactNode;
  minWidth?: number;
}

export function DataTable<T>(p: TableProps<T>) {
  if (p.rows === undefined) return p.error ? <Failure error={p.error} retry={p.retry} /> : <Loading />;
  if (p.rows.length === 0 && !p.pager) return p.empty;
  return (
    <Box>
      <Paper withBorder radius="md" style={{ overflow: "hidden" }}>
        <ScrollArea viewportProps={{ tabIndex: 0, "aria-label": p.label, role: "region" }}>
          <Table verticalSpacing="xs" horizontalSpacing="md" highlightOnHover miw={p.minWidth ?? 640}>
            <Table.Thead>
              <Table.Tr>
                {p.columns.map((column) => (
                  <Table.Th key={column.name} ta={column.align} w={column.width} style={{ whiteSpace: "nowrap" }}>
                    {column.hidden ? <span className="visually-hidden">{column.name}</span> : column.name}
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {p.rows.map((row, index) => (
                <Table.Tr key={p.rowKey(row, index)}>
                  {p.columns.map((column) => (
                    <Table.Td
                      key={column.name}
                      ta={column.align}
                      className={column.align === "right" ? "figures" : undefined}
                    >
                      {column.cell(row)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
              {p.rows.length === 0 && (
                <Table.Tr>
                  <Table.Td colSpan={p.columns.length}>
                    <Text c="dimmed" ta="center" py="md">
                      Nothing here.
                    </Text>
                  </Table.Td>
                </Table.Tr>
              )}
            </Table.Tbody>
          </Table>
        </ScrollArea>
      </Paper>
      {p.pager}
    </Box>
  );
}

export interface Cursor {
  page: string | undefined; // The cursor of the page that is shown, absent for the first.
  pager: (next: string | undefined) => ReactNode;
  reset: () => void;
}

// useCursor remembers the way through a list whose pages are named by cursors of the node.
export function useCursor(): Cursor {
  const [way, setWay] = useState<string[]>([]);
  return {
    page: way.at(-1),
    reset: () => setWay([]),
    pager: (next) =>
      way.length === 0 && !next ? undefined : (
        <Pager
          label={`Page ${way.length + 1}`}
          previous={way.length > 0 ? () => setWay(way.slice(0, -1)) : undefined}
          next={next ? () => setWay([...way, next]) : undefined}
        />
      ),
  };
}

export function Pager({ label, previous, next }: { label: string; previous?: () => void; next?: () => void }) {
  return (
    <Group justify="space-between" mt="sm">
      <Text size="sm" c="dimmed" role="status">
        {label}
      </Text>
      <Group gap="xs">
        <Button size="xs" variant="default" disabled={!previous} onClick={previous}>
          Previous
        </Button>
        <Button size="xs" variant="default" disabled={!next} onClick={next}>
          Next
        </Button>
      </Group>
    </Group>
  );
}
