// SPDX-License-Identifier: Apache-2.0

import { Operations } from "./operations.gen.js";
import { follow, type StreamEvent, type StreamOptions } from "./stream.js";
import { Pages, Transport, type ClientOptions, type Page, type RequestOptions, type Sent } from "./transport.js";

/**
 * A client of the API. Each operation of the OpenAPI document is a method, which returns what `data` of the answer
 * has, and throws an APIError for an answer that is no success.
 *
 * Requests that may be sent twice are, up to `maxRetries` times: GET, and what takes an Idempotency-Key, after an
 * error of the connection; those and PUT and DELETE after 503; all after 429. Retry-After is kept.
 */
export class Vigil extends Operations {
  private readonly transport: Transport;

  constructor(options: ClientOptions = {}) {
    super();
    this.transport = new Transport(options);
  }

  /**
   * Follows the alert stream of the organization. When the connection is lost it is made again after the last event,
   * so that no event is missed or repeated. It ends when the signal is aborted, or the loop is left.
   */
  streamAlerts(options: StreamOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    return follow(this.transport, options);
  }

  /** Sends a request of your own, with the key and the retries of the client, and returns the whole answer. */
  async request<Answer = unknown>(
    method: string,
    path: string,
    sent: { body?: unknown; query?: Record<string, unknown> } = {},
    options?: RequestOptions,
  ): Promise<Answer> {
    const answer = await this.transport.send(method, path, sent, options);
    return (answer.text ? JSON.parse(answer.text) : undefined) as Answer;
  }

  protected override async call<Data>(method: string, path: string, sent: Sent, options?: RequestOptions): Promise<Data> {
    const answer = await this.transport.send(method, path, sent, options);
    if (sent.text) return answer.text as Data;
    return (answer.text ? (JSON.parse(answer.text) as { data: Data }).data : undefined) as Data;
  }

  protected override list<Row>(path: string, query: object = {}, options?: RequestOptions): Pages<Row> {
    return new Pages(async (cursor, offset) => {
      const at = cursor !== undefined ? { cursor } : offset > 0 ? { offset } : {};
      const answer = await this.transport.send("GET", path, { query: { ...query, ...at } }, options);
      return JSON.parse(answer.text) as Page<Row>;
    });
  }
}
