// SPDX-License-Identifier: Apache-2.0

import { APIError, ConnectionError, VigilError, errorOf } from "./errors.js";
import { Limit, sleep, type Transport } from "./transport.js";

/** The body of a webhook, and the data of an event of the alert stream. */
export interface Envelope {
  /** The same on every attempt of a delivery, and on the stream. */
  id: string;
  /** Such as incident.triggered; docs/subscriptions.md has all of them. */
  type: string;
  version: string;
  timestamp: string;
  data: Record<string, any>;
}

/** Events between `requested` and `oldest` are not kept any more; without `oldest` none is kept. */
export interface Gap {
  requested: string;
  oldest: string | null;
}

/** An event of the alert stream. */
export interface StreamEvent {
  /** Its position: `since` of a later stream, which then begins after it. */
  id: string;
  type: string;
  data: Envelope;
}

/** Where a stream begins, and when it ends. */
export interface StreamOptions {
  /** Begin after this position; "0-0": with all that is kept. Without it the stream begins now. */
  since?: string;
  /** Ends the stream, and with it the loop that reads it. */
  signal?: AbortSignal;
  /** Called where events are missing because they are not kept any more. Without it the stream throws GapError. */
  onGap?: (gap: Gap) => void;
  /** How long to wait before a lost connection is made again. Default: what the server says, 3 s. */
  reconnectMs?: number;
}

/** Events between the position that a stream was to begin after and now are not kept any more. */
export class GapError extends VigilError {
  override name = "GapError";
  constructor(readonly gap: Gap) {
    super(`The events after ${gap.requested} are not kept any more.`);
  }
}

/** After how long without a byte a connection counts as lost: the server sends one at least every 30 s. */
const silenceMs = 90_000;
const reconnectMs = 3_000;
const reconnectMostMs = 30_000;
/** The most characters of an event. */
const eventMost = 1 << 20;

/** A frame of server-sent events. */
export interface Frame {
  id: string | undefined;
  event: string;
  data: string | undefined;
  retry: number | undefined;
}

/** Takes a text apart into the frames of server-sent events (HTML, section 9.2.6), in parts of any length. */
export class FrameParser {
  private rest = "";
  private frame = emptyFrame();
  private size = 0;

  push(text: string): Frame[] {
    const frames: Frame[] = [];
    this.rest += text;
    // A carriage return at the end may be the first half of a line's end.
    const lines = this.rest.split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      this.size += line.length;
      if (line !== "") this.field(line);
      else {
        if (this.frame.id !== undefined || this.frame.data !== undefined || this.frame.retry !== undefined) frames.push(this.frame);
        this.frame = emptyFrame();
        this.size = 0;
      }
    }
    if (this.size + this.rest.length > eventMost) throw new ConnectionError("An event of the stream is too long.");
    return frames;
  }

  private field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.frame.data = this.frame.data === undefined ? value : this.frame.data + "\n" + value;
    else if (name === "event") this.frame.event = value;
    else if (name === "id" && !value.includes("\0")) this.frame.id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.frame.retry = Number(value);
  }
}

function emptyFrame(): Frame {
  return { id: undefined, event: "", data: undefined, retry: undefined };
}

/** Follows the alert stream, and connects again after the last event when the connection is lost. */
export async function* follow(transport: Transport, options: StreamOptions): AsyncGenerator<StreamEvent, void, undefined> {
  const state = { since: options.since, waitMs: options.reconnectMs ?? reconnectMs, connected: false, working: false };
  for (let failures = 0; ; ) {
    let asked: number | undefined;
    try {
      state.working = false;
      yield* connection(transport, options, state);
    } catch (error) {
      if (options.signal?.aborted) return;
      const passes = error instanceof ConnectionError || (error instanceof APIError && passing(error.status));
      if (!passes || (!state.connected && failures >= transport.maxRetries)) throw error;
      asked = error instanceof APIError ? error.retryAfterMs : undefined;
    }
    failures = state.working ? 0 : failures + 1;
    const waitMs = Math.min(state.waitMs * 2 ** Math.min(failures, 10), Math.max(reconnectMostMs, state.waitMs));
    try {
      await sleep(Math.max(waitMs * (0.5 + Math.random() / 2), asked ?? 0), options.signal);
    } catch {
      return; // the signal has ended the stream
    }
  }
}

/** Reports whether the same request may be answered later. */
function passing(status: number): boolean {
  return status === 429 || status >= 500;
}

interface State {
  since: string | undefined;
  waitMs: number;
  /** There was a connection, or there is one now. */
  connected: boolean;
  working: boolean;
}

/** Reads one connection until it ends. */
async function* connection(transport: Transport, options: StreamOptions, state: State): AsyncGenerator<StreamEvent, void, undefined> {
  const limit = new Limit(options.signal);
  try {
    limit.after(silenceMs);
    const headers = transport.headers({ Accept: "text/event-stream" });
    if (state.since !== undefined) headers["Last-Event-ID"] = state.since;
    const response = await transport.fetch(transport.address("/v1/stream/alerts"), {
      headers,
      redirect: "manual",
      cache: "no-store",
      signal: limit.signal,
    });
    if (!response.ok) throw errorOf(response.status, response.headers, await response.text(), Date.now());
    if (!response.body) return;
    state.connected = true;
    const parser = new FrameParser();
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      limit.after(silenceMs);
      for (const frame of parser.push(decoder.decode(value, { stream: true }))) {
        if (frame.retry !== undefined && options.reconnectMs === undefined) state.waitMs = frame.retry;
        if (frame.id !== undefined) state.since = frame.id;
        state.working = true;
        if (frame.data === undefined) continue;
        if (frame.event === "stream.gap") {
          const gap = JSON.parse(frame.data) as Gap;
          if (!options.onGap) throw new GapError(gap);
          options.onGap(gap);
          continue;
        }
        yield { id: state.since ?? "", type: frame.event, data: JSON.parse(frame.data) as Envelope };
      }
    }
  } catch (cause) {
    if (cause instanceof VigilError || options.signal?.aborted) throw cause;
    throw new ConnectionError("The alert stream broke off.", { cause });
  } finally {
    limit.end();
  }
}
