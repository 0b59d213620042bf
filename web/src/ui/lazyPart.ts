// A part of the console whose script is loaded when it is shown first, or in the background soon after the first page, so that
// a page which was never opened needs no script when the node is away.
//
// A browser may remember that a script could not be loaded, and then fails at once for as long as the window lives. So the
// node is asked before a script is requested, until it answers; meanwhile the shell says what is the matter. If a script is
// refused although the node answers, the window is loaded again: the node has another version of the console, or it went away
// between the two.
import { lazy, type ComponentType } from "react";
import { connectionLost, connectionWorks } from "../api/connection";

const againMillis = 2_000;
const triesMax = 3; // BOUND: tries of one script while the node answers.
const answerTimeoutMillis = 10_000;
const freshMillis = 1_000; // For so long an answer counts, so that the parts of a page ask once.
const backgroundMillis = 3_000; // The first page comes first.
const reloadKey = "gavel.reloaded";
const reloadEveryMillis = 60_000; // BOUND: a window is loaded again at most so often; else a broken build would do it for ever.

const wait = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis));

let answeredAt = -Infinity;

// nodeAnswers reports whether the node serves the console, and notes it for the shell.
async function nodeAnswers(): Promise<boolean> {
  if (performance.now() - answeredAt < freshMillis) return true;
  try {
    const signal = AbortSignal.timeout(answerTimeoutMillis);
    const answer = await fetch(import.meta.env.BASE_URL, { method: "HEAD", cache: "no-store", signal });
    if (answer.status >= 502 && answer.status <= 504) throw new Error("a proxy answers for the node");
  } catch {
    connectionLost();
    return false;
  }
  connectionWorks();
  answeredAt = performance.now();
  return true;
}

// reloadOnce loads the window again. It returns false if that was done a moment ago and did not help.
function reloadOnce(): boolean {
  const last = Number(sessionStorage.getItem(reloadKey) ?? 0);
  if (Date.now() - last < reloadEveryMillis) return false;
  sessionStorage.setItem(reloadKey, String(Date.now()));
  window.location.reload();
  return true;
}

// arrive loads a script as soon as the node answers. shown reports whether a person waits for it: nothing else may load the
// window again.
async function arrive<T>(load: () => Promise<T>, shown: () => boolean): Promise<T> {
  for (let tries = 1; ; ) {
    while (!(await nodeAnswers())) await wait(againMillis);
    try {
      return await load();
    } catch (cause) {
      answeredAt = -Infinity;
      if (!(await nodeAnswers())) continue; // It went away, which is no try.
      if (tries++ >= triesMax) {
        if (shown() && reloadOnce()) await new Promise(() => undefined); // The window is about to go.
        throw new Error("This page cannot be loaded: the node has another version of the console.", { cause });
      }
      await wait(againMillis);
    }
  }
}

const inBackground: (() => Promise<unknown>)[] = [];
let started = false;

// loadInBackground loads the scripts of all parts, one after the other.
export function loadInBackground() {
  if (started) return;
  started = true;
  void (async () => {
    await wait(backgroundMillis);
    for (const part of inBackground) await part().catch(() => undefined); // The part says it when it is shown.
  })();
}

// lazyPart is React.lazy with that. The properties of a component are its own: any is what React.lazy itself takes.
export function lazyPart<T extends ComponentType<any>>(load: () => Promise<{ default: T }>) {
  let loading: Promise<{ default: T }> | undefined;
  let shown = false;
  const part = () => {
    loading ??= arrive(load, () => shown).catch((cause: unknown) => {
      loading = undefined;
      throw cause;
    });
    return loading;
  };
  inBackground.push(part);
  return lazy(() => {
    shown = true;
    return part();
  });
}
