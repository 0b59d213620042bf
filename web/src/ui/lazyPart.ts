// A part of the console whose script is loaded when it is shown first. While the node is away that is tried again, so that
// the part appears without a reload when the node is back; meanwhile the shell says what is the matter.
import { lazy, type ComponentType } from "react";
import { ApiError, request } from "../api/client";

const againMillis = 2_000;
const triesMax = 3; // BOUND: tries while the node answers. After them it has another build than that of this window.

const wait = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis));

// nodeAnswers reports whether the node answers anything; the client also notes it for the shell.
const nodeAnswers = () =>
  request("GET", "/session").then(
    () => true,
    (error: unknown) => error instanceof ApiError && error.status > 0 && error.status < 502,
  );

// lazyPart is React.lazy with that. The properties of a component are its own: any is what React.lazy itself takes.
export function lazyPart<T extends ComponentType<any>>(load: () => Promise<{ default: T }>) {
  return lazy(async () => {
    for (let tries = 1; ; tries++) {
      try {
        return await load();
      } catch (cause) {
        if (!(await nodeAnswers())) tries = 0;
        else if (tries >= triesMax)
          throw new Error("This page cannot be loaded: the node has another version of the console.", { cause });
        await wait(againMillis);
      }
    }
  });
}
