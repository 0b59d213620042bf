// Whether the node answers, as one fact for the whole page: the shell shows a message while it does not, or takes long.
import { useSyncExternalStore } from "react";

export type Connection = "works" | "slow" | "lost";

const slowMillis = 5_000; // A person wonders by then whether anything happens.

let lost = false;
let slow = 0; // Calls that have waited for longer.
const observers = new Set<() => void>();

function notify() {
  for (const observer of observers) observer();
}

function set(value: boolean) {
  if (lost === value) return;
  lost = value;
  notify();
}

export const connectionWorks = () => set(false);
export const connectionLost = () => set(true);

// beginCall notes that a call waits for the node, and returns the function that says it was answered.
export function beginCall(): () => void {
  let counted = false;
  const timer = window.setTimeout(() => {
    counted = true;
    slow++;
    notify();
  }, slowMillis);
  return () => {
    window.clearTimeout(timer);
    if (!counted) return;
    slow--;
    notify();
  };
}

function subscribe(observer: () => void) {
  observers.add(observer);
  return () => {
    observers.delete(observer);
  };
}

const now = (): Connection => (lost ? "lost" : slow > 0 ? "slow" : "works");

export const useConnection = () => useSyncExternalStore(subscribe, now);
