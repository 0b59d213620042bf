// A stream of events of the node that goes on by itself. The browser connects again when a connection is lost, but gives
// up after an answer that is no stream, as a node that starts or a session that has ended gives. So the session is read
// then, which shows why, and the stream is opened again.
import { request } from "./client";
import { connectionWorks } from "./connection";

const againMillis = 3_000; // As long as browsers wait themselves.

interface Stream {
  events: Record<string, (data: string) => void>; // What happens with a message, by the name of its event.
  interrupted: (value: boolean) => void;
  again?: () => void; // The stream begins anew, without the messages that the browser has got.
}

// follow opens the stream of an address and returns the function that closes it.
export function follow(address: string, { events, interrupted, again }: Stream): () => void {
  let source: EventSource;
  let timer = 0;
  const open = () => {
    source = new EventSource(address);
    source.onopen = () => {
      connectionWorks();
      interrupted(false);
    };
    source.onerror = () => {
      interrupted(true);
      void request("GET", "/session").catch(() => undefined); // The client itself says what is wrong with the connection.
      if (source.readyState === EventSource.CLOSED)
        timer = window.setTimeout(() => {
          again?.();
          open();
        }, againMillis);
    };
    for (const [name, take] of Object.entries(events))
      source.addEventListener(name, (event) => take((event as MessageEvent<string>).data));
  };
  open();
  return () => {
    window.clearTimeout(timer);
    source.close();
  };
}
