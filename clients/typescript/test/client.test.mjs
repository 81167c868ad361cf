// SPDX-License-Identifier: Apache-2.0
// The client against servers on loopback that fail in ways that a platform does not at will.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

import { FrameParser } from "../dist/stream.js";
import { retryAfter } from "../dist/errors.js";
import { APIError, ConnectionError, GapError, NotFoundError, RateLimitedError, TimeoutError, Vigil } from "../dist/index.js";

/** Starts a server that answers its requests in turn, the last one again and again. */
async function serve(t, ...answers) {
  const requests = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    requests.push({ method: request.method, url: request.url, headers: request.headers, body, at: performance.now() });
    await answers[Math.min(requests.length, answers.length) - 1](response, request);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const client = new Vigil({ url: `http://127.0.0.1:${server.address().port}/`, apiKey: "vgl_test" });
  return { client, requests };
}

const json = (status, body, headers = {}) => (response) =>
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
const fails = (status, code, headers, details) => json(status, { error: "No.", code, request_id: "r1", details }, headers);
const cut = (response) => response.destroy();
const created = json(201, { data: { id: "c1", name: "Shop" } });
const check = { name: "Shop", type: "https", config: { url: "https://shop.example/" }, interval_seconds: 60 };

test("repeats what creates with the same key, and waits as long as it is asked to", async (t) => {
  const { client, requests } = await serve(t, cut, fails(503, "unavailable", { "Retry-After": "1" }), fails(429, "rate_limited"), created);
  assert.equal((await client.createCheck(check)).id, "c1");
  assert.equal(requests.length, 4);
  const keys = new Set(requests.map((request) => request.headers["idempotency-key"]));
  assert.equal(keys.size, 1);
  assert.match([...keys][0], /^[0-9a-f]{32}$/);
  assert.ok(requests[2].at - requests[1].at >= 990, "Retry-After was kept");
  assert.deepEqual(JSON.parse(requests[3].body), check);
  assert.equal(requests[3].headers.authorization, "Bearer vgl_test");
  await client.createCheck(check);
  assert.ok(!keys.has(requests[4].headers["idempotency-key"]), "another call has another key");
  await client.createCheck(check, { idempotencyKey: "mine" });
  assert.equal(requests[5].headers["idempotency-key"], "mine");
});

test("gives up after the last repetition", async (t) => {
  const { client, requests } = await serve(t, fails(429, "rate_limited", { "Retry-After": "0" }));
  await assert.rejects(client.getUsage(), (error) => error instanceof RateLimitedError && error.retryAfterMs === 0);
  assert.equal(requests.length, 4);
});

test("does not wait longer than it may", async (t) => {
  const { client, requests } = await serve(t, fails(503, "unavailable", { "Retry-After": "3600" }));
  await assert.rejects(client.getUsage(), (error) => error.retryAfterMs === 3_600_000);
  assert.equal(requests.length, 1);
});

test("does not repeat what may not be sent twice", async (t) => {
  const { client, requests } = await serve(t, cut);
  await assert.rejects(client.deleteCheck("c1"), ConnectionError);
  await assert.rejects(client.login({ email: "a@example.com", password: "x" }), ConnectionError);
  assert.equal(requests.length, 2);
});

test("has typed errors", async (t) => {
  const { client } = await serve(
    t,
    fails(404, "not_found"),
    fails(400, "invalid_request", {}, { member: "config.url" }),
    (response) => response.writeHead(404, { "X-Request-Id": "r2" }).end("<html>"),
    (response) => response.writeHead(302, { Location: "http://127.0.0.1:1/" }).end(),
  );
  await assert.rejects(client.getCheck("c/1"), (error) => {
    assert.ok(error instanceof NotFoundError && error instanceof APIError);
    assert.deepEqual([error.name, error.status, error.code, error.message, error.requestId], ["NotFoundError", 404, "not_found", "No.", "r1"]);
    return true;
  });
  await assert.rejects(client.createCheck(check), { name: "InvalidRequestError", member: "config.url" });
  await assert.rejects(client.getUsage(), { name: "NotFoundError", code: "", requestId: "r2" });
  await assert.rejects(client.getUsage(), { name: "APIError", status: 302 });
});

test("gives the parts of an address, the query and If-Match", async (t) => {
  const { client, requests } = await serve(t, json(200, { data: {} }));
  await client.updateCheck("a/b?c", { name: "Shop" }, { ifMatch: 7 });
  assert.equal(requests[0].url, "/v1/checks/a%2Fb%3Fc");
  assert.equal(requests[0].headers["if-match"], '"7"');
  await client.testCheck("c1", { dry_run: true });
  assert.equal(requests[1].url, "/v1/checks/c1/test?dry_run=true");
  assert.deepEqual(await client.request("GET", "/v1/usage", { query: { a: ["1", "2"] } }), { data: {} });
  assert.equal(requests[2].url, "/v1/usage?a=1&a=2");
});

test("follows pages by cursor, and by offset where there is none", async (t) => {
  const { client, requests } = await serve(
    t,
    json(200, { data: [{ id: "1" }, { id: "2" }], meta: { total: "3", next_cursor: "next" } }),
    json(200, { data: [{ id: "3" }], meta: { total: "3" } }),
    json(200, { data: [{ key: "a" }], meta: { total: "2" } }),
    json(200, { data: [{ key: "b" }], meta: { total: "2" } }),
    json(200, { data: [], meta: { total: "0" } }),
  );
  const ids = [];
  for await (const row of client.listChecks({ limit: 2, label: ["team=shop", "eu"] })) ids.push(row.id);
  assert.deepEqual(ids, ["1", "2", "3"]);
  assert.equal(requests[0].url, "/v1/checks?limit=2&label=team%3Dshop&label=eu");
  assert.equal(requests[1].url, "/v1/checks?limit=2&label=team%3Dshop&label=eu&cursor=next");
  assert.deepEqual((await client.listRegions().all()).map((region) => region.key), ["a", "b"]);
  assert.equal(requests[3].url, "/v1/regions?offset=1");
  assert.equal((await client.listChecks().first()).meta.total, "0");
});

test("ends with its signal and its time limit", async (t) => {
  const { client, requests } = await serve(t, () => {});
  const controller = new AbortController();
  const call = client.createCheck(check, { signal: controller.signal });
  while (requests.length === 0) await new Promise(setImmediate);
  controller.abort(new Error("enough"));
  await assert.rejects(call, { message: "enough" });
  await assert.rejects(client.deleteCheck("c1", { timeoutMs: 20 }), TimeoutError);
});

test("reads Retry-After in seconds and as a date", () => {
  const now = Date.parse("Sun, 06 Nov 1994 08:49:30 GMT");
  assert.equal(retryAfter("7", now), 7000);
  assert.equal(retryAfter("Sun, 06 Nov 1994 08:49:37 GMT", now), 7000);
  assert.equal(retryAfter("Sun, 06 Nov 1994 08:49:00 GMT", now), 0);
  assert.equal(retryAfter("soon", now), undefined);
  assert.equal(retryAfter(null, now), undefined);
});

test("takes frames apart wherever they are cut", () => {
  const text = ': hello\r\nretry: 10\rid: 1\n\nevent: a\ndata: {"x":\ndata:1}\nid: 2\nother\n\r\ndata\n\n';
  const want = new FrameParser().push(text);
  assert.deepEqual(want, [
    { id: "1", event: "", data: undefined, retry: 10 },
    { id: "2", event: "a", data: '{"x":\n1}', retry: undefined },
    { id: undefined, event: "", data: "", retry: undefined },
  ]);
  for (let size = 1; size < 7; size++) {
    const parser = new FrameParser();
    const got = [];
    for (let at = 0; at < text.length; at += size) got.push(...parser.push(text.slice(at, at + size)));
    assert.deepEqual(got, want, `in parts of ${size}`);
  }
  assert.throws(() => new FrameParser().push("data: " + "x".repeat(1 << 20)), ConnectionError);
});

const streaming = (text, end) => (response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" }).write(text);
  if (end) end(response);
};
const event = (id) => `id: ${id}\nevent: check.paused\ndata: {"id":"e${id}","data":{}}\n\n`;

test("goes on after the last event of a stream that was cut", async (t) => {
  const { client, requests } = await serve(
    t,
    fails(503, "unavailable", { "Retry-After": "0" }),
    streaming("retry: 1\nid: 0\n\n" + event(1) + "id: 2\nevent: check.pau", (response) => response.end()),
    cut,
    streaming(event(2) + event(3)),
  );
  const controller = new AbortController();
  const ids = [];
  for await (const { id, type, data } of client.streamAlerts({ signal: controller.signal, reconnectMs: 1 })) {
    assert.deepEqual([type, data.id], ["check.paused", "e" + id]);
    ids.push(id);
    if (id === "3") controller.abort();
  }
  assert.deepEqual(ids, ["1", "2", "3"]);
  assert.deepEqual(requests.map((request) => request.headers["last-event-id"]), [undefined, undefined, "1", "1"]);
});

test("says what is not kept any more, and what a stream is refused for", async (t) => {
  const gap = 'event: stream.gap\ndata: {"requested":"1-1","oldest":null}\n\n';
  const { client, requests } = await serve(t, streaming(gap), streaming(gap + event(9)), fails(401, "unauthorized"));
  await assert.rejects(client.streamAlerts({ since: "1-1" }).next(), (error) => error instanceof GapError && error.gap.requested === "1-1");
  assert.equal(requests[0].headers["last-event-id"], "1-1");
  const gaps = [];
  for await (const { id } of client.streamAlerts({ since: "1-1", onGap: (missing) => gaps.push(missing.requested) })) {
    assert.equal(id, "9");
    break;
  }
  assert.deepEqual(gaps, ["1-1"]);
  await assert.rejects(client.streamAlerts().next(), { name: "UnauthorizedError" });
});
