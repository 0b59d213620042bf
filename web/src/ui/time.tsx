// Times are shown in the viewer's zone, with UTC as the tooltip.
import { Text, Tooltip } from "@mantine/core";

const formats = {
  full: new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" }),
  minute: new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" }),
  clock: new Intl.DateTimeFormat(undefined, { timeStyle: "medium" }),
};

interface TimeProps {
  at: string | null | undefined;
  format?: keyof typeof formats;
}

export function Time({ at, format = "minute" }: TimeProps) {
  const time = at ? new Date(at) : null;
  if (!time || Number.isNaN(time.getTime()))
    return (
      <Text span c="dimmed" inherit>
        never
      </Text>
    );
  return (
    <Tooltip label={`${time.toISOString()} (UTC)`}>
      <time dateTime={time.toISOString()} style={{ whiteSpace: "nowrap" }}>
        {formats[format].format(time)}
      </time>
    </Tooltip>
  );
}

// dayOf returns a date of the marketplace's time zone, days after today, as reports name their days.
export function dayOf(timeZone: string, days = 0): string {
  const parts = new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
  const date = new Date(`${parts.format(new Date())}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, 10);
}

const dayMillis = 86_400_000;

// daysBetween lists the dates from the first to the last, both included.
export function daysBetween(first: string, last: string): string[] {
  const days = Math.max(0, Math.round((Date.parse(last) - Date.parse(first)) / dayMillis) + 1);
  return Array.from({ length: days }, (_, i) => new Date(Date.parse(first) + i * dayMillis).toISOString().slice(0, 10));
}

// hoursBefore returns when each of the last hours of a time zone began, in Unix seconds, the present hour last. Zones differ by
// parts of an hour.
export function hoursBefore(timeZone: string, count: number): number[] {
  const now = Math.floor(Date.now() / 60_000) * 60;
  const minute = Number(new Intl.DateTimeFormat("en-US", { timeZone, minute: "numeric" }).format(now * 1_000));
  const present = now - minute * 60;
  return Array.from({ length: count }, (_, i) => present - (count - 1 - i) * 3_600);
}

// noonOf is where a chart draws a day: seconds since 1970.
export const noonOf = (date: string) => Date.parse(`${date}T12:00:00Z`) / 1_000;
