// Calls of the node. All requests go to the address that served the console; the login session travels in a cookie.
import { beginCall, connectionLost, connectionWorks } from "./connection";
import type { Operations } from "./schema";

export const serviceBase = "/console/api";
const answerTimeoutMillis = 30_000; // A call that takes longer counts as failed, so that a page never waits for ever.

export interface Violation {
  loc: string[];
  msg: string;
}

// ApiError is a refused or failed call. status 0 means that no answer came.
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly docUrl = "",
    readonly violations: Violation[] = [],
    readonly waitSeconds = 0, // Of a 429: how long the node asks to wait.
    readonly needsAdmin = false, // Of not_signed_in: no admin exists yet.
    readonly provider = "", // Of not_signed_in: the identity provider through which people may sign in.
  ) {
    super(message);
    this.name = "ApiError";
  }
}

let marketplace = "";

// setMarketplace chooses the marketplace of all later calls.
export function setMarketplace(id: string) {
  marketplace = id;
}

let signedOut: () => void = () => undefined;

// onSignedOut registers what happens when a call finds that the login session has ended.
export function onSignedOut(then: () => void) {
  signedOut = then;
}

type QueryValue = string | number | boolean | string[] | undefined;

export interface RequestOptions {
  query?: Record<string, QueryValue>;
  body?: unknown;
  form?: FormData;
  signal?: AbortSignal;
}

function addressOf(path: string, query: Record<string, QueryValue> = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) parameters.append(name, String(one));
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

// request sends one call to the console's service and returns the decoded body, undefined for none.
export async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  const text = await (await answerOf(method, path, options)).text();
  return (text ? JSON.parse(text) : undefined) as T;
}

// file reads a file of the management API, such as a report as Parquet.
export const file = async (path: string, query: Record<string, QueryValue>) =>
  (await answerOf("GET", `/v1${path}`, { query })).blob();

// answerOf sends one call and returns its answer, which was read to its end. It fails for a refusal.
async function answerOf(method: string, path: string, options: RequestOptions): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (marketplace) headers["X-Gavel-Marketplace"] = marketplace;
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  const timeout = AbortSignal.timeout(answerTimeoutMillis);
  const answered = options.form ? () => undefined : beginCall(); // An upload takes as long as its file.
  let response: Response;
  let body: ArrayBuffer;
  try {
    response = await fetch(addressOf(serviceBase + path, options.query), {
      method,
      headers,
      body: options.form ?? (options.body === undefined ? undefined : JSON.stringify(options.body)),
      signal: options.signal ? AbortSignal.any([options.signal, timeout]) : timeout,
    });
    body = await response.arrayBuffer();
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    connectionLost();
    throw new ApiError(0, "no_answer", "The node does not answer. The console tries again by itself.");
  } finally {
    answered();
  }
  if (response.status >= 502 && response.status <= 504) connectionLost();
  else connectionWorks();
  if (!response.ok) {
    const failure = errorOf(response, new TextDecoder().decode(body));
    if (failure.status === 401 && failure.code === "not_signed_in") signedOut();
    throw failure;
  }
  return new Response(body);
}

function errorOf(response: Response, text: string): ApiError {
  let body: Record<string, unknown> = {};
  try {
    body = JSON.parse(text) as Record<string, unknown>;
  } catch {
    // A proxy between the console and the node answers with its own page; the status says enough.
  }
  const violations = Array.isArray(body.detail) ? (body.detail as Violation[]) : [];
  const message =
    typeof body.message === "string"
      ? body.message
      : violations.length > 0
        ? violations.map((v) => `${v.loc.slice(1).join(".")}: ${v.msg}`).join("; ")
        : `The node answered with status ${response.status}.`;
  return new ApiError(
    response.status,
    String(body.errCode ?? (violations.length > 0 ? "invalid_request" : "unexpected_answer")),
    message,
    String(body.docUrl ?? ""),
    violations,
    waitOf(response.headers),
    body.needsAdmin === true,
    typeof body.provider === "string" ? body.provider : "",
  );
}

// waitOf returns how many seconds the node asks to wait: X-RateLimit-Reset is a time in Unix seconds.
function waitOf(headers: Headers): number {
  const after = Number(headers.get("Retry-After"));
  if (after > 0) return after;
  const reset = Number(headers.get("X-RateLimit-Reset"));
  return reset > 0 ? Math.max(1, Math.ceil(reset - Date.now() / 1_000)) : 0;
}

// Member is a member of a call's arguments: absent when the operation has none of it, optional when it may be empty.
type Member<Name extends string, T> = [T] extends [undefined]
  ? unknown
  : object extends T
    ? { [K in Name]?: T }
    : { [K in Name]: T };

export type Arguments<K extends keyof Operations> = Member<"path", Operations[K]["path"]> &
  Member<"query", Operations[K]["query"]> &
  Member<"body", Operations[K]["body"]> & { signal?: AbortSignal };

// call runs one operation of the management API with the signed-in user's rights.
export function call<K extends keyof Operations>(operation: K, args: Arguments<K>): Promise<Operations[K]["answer"]> {
  const given = args as { path?: Record<string, string | number>; signal?: AbortSignal } & RequestOptions;
  const [method, pattern] = operation.split(" ") as [string, string];
  const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(given.path?.[name] ?? "")));
  return request(method, `/v1${path}`, { query: given.query, body: given.body, signal: given.signal });
}
