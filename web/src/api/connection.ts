// Whether the node answers, as one fact for the whole page: the shell shows a message while it does not.
import { useSyncExternalStore } from "react";

let works = true;
const observers = new Set<() => void>();

function set(value: boolean) {
  if (works === value) return;
  works = value;
  for (const observer of observers) observer();
}

export const connectionWorks = () => set(true);
export const connectionLost = () => set(false);

function subscribe(observer: () => void) {
  observers.add(observer);
  return () => {
    observers.delete(observer);
  };
}

export const useConnection = () => useSyncExternalStore(subscribe, () => works);
