// SPDX-License-Identifier: Apache-2.0

import { ConnectionError, TimeoutError, errorOf, type APIError } from "./errors.js";
import type { Meta } from "./types.gen.js";

/** How the client reaches a server. */
export interface ClientOptions {
  /** Address of the server, such as https://vigil.example.com. Default: VIGIL_URL. */
  url?: string;
  /** An API key. Default: VIGIL_API_KEY. */
  apiKey?: string;
  /** How long one attempt may take, in milliseconds. Default: 30 s, and 100 s for tests and applies. */
  timeoutMs?: number;
  /** How often a request is repeated at most. Default: 3. */
  maxRetries?: number;
  /** A Retry-After that is longer throws at once, in milliseconds. Default: 60 s. */
  maxRetryWaitMs?: number;
  /** What sends requests. Default: the fetch of the platform. */
  fetch?: typeof fetch;
}

/** What one call may have besides its arguments. */
export interface RequestOptions {
  /** Ends the call, which then throws the reason of the signal. */
  signal?: AbortSignal;
  /** How long one attempt may take, in milliseconds. */
  timeoutMs?: number;
  /** Makes a repeated call happen once, for 24 hours. Each call that creates something has one of its own. */
  idempotencyKey?: string;
  /** The revision that the resource must have. */
  ifMatch?: number;
}

/** What an operation sends. */
export interface Sent {
  body?: unknown;
  query?: object | undefined;
  /** The operation takes an Idempotency-Key. */
  keyed?: boolean;
  /** The answer is text. */
  text?: boolean;
}

/** A page of a list. */
export interface Page<Row> {
  data: Row[];
  meta: Meta;
}

/**
 * A list. `for await (const row of list)` gives all rows and asks for the next page when it needs it;
 * `list.pages()` gives whole pages.
 */
export class Pages<Row> implements AsyncIterable<Row> {
  constructor(private readonly page: (cursor: string | undefined, offset: number) => Promise<Page<Row>>) {}

  async *pages(): AsyncGenerator<Page<Row>, void, undefined> {
    let cursor: string | undefined;
    for (let offset = 0; ; ) {
      const page = await this.page(cursor, offset);
      yield page;
      offset += page.data.length;
      cursor = page.meta.next_cursor;
      // A list without cursors ends with the row that its total counts.
      if (page.data.length === 0 || (cursor === undefined && offset >= Number(page.meta.total))) return;
      if (cursor === undefined && page.meta.total_capped) return;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    for await (const page of this.pages()) yield* page.data;
  }

  /** Returns the first page, whose `meta` has the total. */
  first(): Promise<Page<Row>> {
    return this.page(undefined, 0);
  }

  /** Returns all rows. */
  async all(): Promise<Row[]> {
    const rows: Row[] = [];
    for await (const row of this) rows.push(row);
    return rows;
  }
}

/** An answer whose body was read. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

const standardTimeoutMs = 30_000;
/** Longer than the server waits for a test by hand, or for another apply. */
const longTimeoutMs = 100_000;
/** The first wait before a request is repeated; it doubles. */
const retryMs = 250;

/** Sends requests, and repeats those that may be sent twice. */
export class Transport {
  readonly url: string;
  readonly maxRetries: number;
  private readonly key: string;
  private readonly timeoutMs: number | undefined;
  private readonly maxRetryWaitMs: number;
  readonly fetch: typeof fetch;

  constructor(options: ClientOptions) {
    const env = environment();
    const url = options.url ?? env["VIGIL_URL"];
    if (!url) throw new TypeError("Give the address of the server: new Vigil({ url }), or VIGIL_URL.");
    this.url = url.replace(/\/+$/, "");
    this.key = options.apiKey ?? env["VIGIL_API_KEY"] ?? "";
    this.timeoutMs = options.timeoutMs;
    this.maxRetries = options.maxRetries ?? 3;
    this.maxRetryWaitMs = options.maxRetryWaitMs ?? 60_000;
    this.fetch = options.fetch ?? ((input, init) => fetch(input, init));
  }

  address(path: string, query?: object): string {
    const params = new URLSearchParams();
    for (const [name, value] of Object.entries(query ?? {})) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== undefined) params.append(name, String(one));
      }
    }
    const text = params.toString();
    return this.url + path + (text ? "?" + text : "");
  }

  headers(more: Record<string, string>): Record<string, string> {
    const headers: Record<string, string> = { "User-Agent": "vigil-typescript/0.1.0", ...more };
    if (this.key) headers["Authorization"] = "Bearer " + this.key;
    return headers;
  }

  /** Sends a request until it is answered, and throws an error for an answer that is no success. */
  async send(method: string, path: string, sent: Sent, options: RequestOptions = {}): Promise<Answer> {
    const headers = this.headers({ Accept: sent.text ? "text/plain" : "application/json" });
    if (sent.body !== undefined) headers["Content-Type"] = "application/json";
    const keyed = sent.keyed || options.idempotencyKey !== undefined;
    if (keyed) headers["Idempotency-Key"] = options.idempotencyKey ?? newKey();
    if (options.ifMatch !== undefined) headers["If-Match"] = `"${options.ifMatch}"`;
    const init: RequestInit = { method, headers, redirect: "manual" }; // a redirect could lead the key elsewhere
    if (sent.body !== undefined) init.body = JSON.stringify(sent.body);
    const address = this.address(path, sent.query);
    const timeoutMs = options.timeoutMs ?? this.timeoutMs ?? (slow(path) ? longTimeoutMs : standardTimeoutMs);
    for (let round = 0; ; round++) {
      const outcome = await this.attempt(address, init, timeoutMs, options.signal);
      if (!(outcome instanceof Error)) return outcome;
      const waitMs = round < this.maxRetries ? this.waitFor(outcome, method, keyed, round) : undefined;
      if (waitMs === undefined) throw outcome;
      await sleep(waitMs, options.signal);
    }
  }

  /** Makes one attempt. An abort of the caller throws, everything else is returned. */
  private async attempt(
    address: string,
    init: RequestInit,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Answer | ConnectionError | APIError> {
    const limit = new Limit(signal);
    limit.after(timeoutMs);
    try {
      const response = await this.fetch(address, { ...init, signal: limit.signal });
      const text = await response.text();
      if (response.ok) return { status: response.status, headers: response.headers, text };
      return errorOf(response.status, response.headers, text, Date.now());
    } catch (cause) {
      signal?.throwIfAborted();
      if (limit.signal.aborted) return new TimeoutError(`No answer within ${timeoutMs} ms.`, { cause });
      return new ConnectionError(`${this.url} cannot be reached: ${reason(cause)}`, { cause });
    } finally {
      limit.end();
    }
  }

  /** Returns how long to wait before a request is sent again; undefined: never. */
  private waitFor(error: APIError | ConnectionError, method: string, keyed: boolean, round: number): number | undefined {
    const safe = keyed || method === "GET";
    const backoff = retryMs * 2 ** round * (1 + Math.random() / 4);
    if (error instanceof ConnectionError) return safe ? backoff : undefined;
    const asked = error.retryAfterMs;
    if (asked !== undefined && asked > this.maxRetryWaitMs) return undefined;
    const waitMs = Math.max(backoff, asked ?? 0);
    switch (error.status) {
      case 429: // nothing was done
        return waitMs;
      case 503: // what a PUT or a DELETE did, it does again
        return safe || method === "PUT" || method === "DELETE" ? waitMs : undefined;
      case 502:
      case 504: // a proxy had no answer
        return safe ? waitMs : undefined;
      case 409: // the first one of a request that is sent twice still runs
        return keyed && asked !== undefined ? waitMs : undefined;
    }
    return undefined;
  }
}

/** A signal that ends with another one, and after a time without news. */
export class Limit {
  private readonly controller = new AbortController();
  private readonly stop: () => void;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly outer: AbortSignal | undefined) {
    this.stop = () => this.controller.abort(outer?.reason);
    outer?.addEventListener("abort", this.stop, { once: true });
    if (outer?.aborted) this.stop();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Ends the signal after a time; a second call begins it again. */
  after(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.controller.abort(), ms);
  }

  /** Ends the signal with what depends on it, and frees the timer. */
  end(): void {
    clearTimeout(this.timer);
    this.outer?.removeEventListener("abort", this.stop);
    this.controller.abort();
  }
}

/** Waits; an abort throws its reason. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

function slow(path: string): boolean {
  return path.endsWith("/test") || path === "/v1/checks/try" || path === "/v1/apply";
}

function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function reason(cause: unknown): string {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return inner instanceof Error ? inner.message || inner.name : String(inner);
}

/** The variables of the process, none in a browser. */
function environment(): Record<string, string | undefined> {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env ?? {};
}
