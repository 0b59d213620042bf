// The log of the node that answers: its newest records, and each new one as it is written. The browser reconnects by
// itself and names the last message that it got, so nothing comes twice.
import { useEffect, useState } from "react";
import { serviceBase } from "./client";
import { follow } from "./stream";

export interface LogRecord {
  number: number;
  at: string;
  level: string;
  message: string;
  attributes: { name: string; value: string }[];
}

interface LogRecords {
  records: LogRecord[];
  missed: number; // Records that the node had dropped before they were sent.
}

export interface Log {
  records: LogRecord[] | undefined; // Newest first; absent before the first answer.
  missed: number;
  interrupted: boolean;
}

const keptMax = 1_000; // BOUND: records on the page, as many as the node keeps.

const nothing: Log = { records: undefined, missed: 0, interrupted: false };

// useLog follows the records from a level on that contain a text.
export function useLog(level: string, text: string): Log {
  const [log, setLog] = useState(nothing);
  useEffect(() => {
    setLog(nothing);
    const query = new URLSearchParams({ level, text });
    return follow(`${serviceBase}/log?${query.toString()}`, {
      interrupted: (interrupted) => setLog((before) => ({ ...before, interrupted })),
      again: () => setLog({ ...nothing, interrupted: true }), // The node sends all its records again.
      events: {
        log: (data) => {
          const { records, missed } = JSON.parse(data) as LogRecords;
          setLog((before) => ({
            ...before,
            records: [...records.reverse(), ...(before.records ?? [])].slice(0, keptMax),
            missed: before.missed + missed,
          }));
        },
      },
    });
  }, [level, text]);
  return log;
}
