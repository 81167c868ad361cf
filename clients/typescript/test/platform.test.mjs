// SPDX-License-Identifier: Apache-2.0
// The client against a platform, whose address and key are in VIGIL_URL and VIGIL_API_KEY. In between is a proxy
// that loses the first answer to each request that creates a check, and cuts each stream after its first event.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

import { NotFoundError, Vigil, WebhookVerificationError, verifyServiceSignature, verifyWebhook } from "../dist/index.js";

const skip = process.env.VIGIL_URL ? false : "VIGIL_URL names no platform";
const prefix = process.env.VIGIL_TEST_PREFIX ?? "typescript";

const create = (client, name) =>
  client.createCheck({
    name: `${prefix} ${name}`,
    type: "http",
    config: { url: "http://127.0.0.1:1/" },
    interval_seconds: 3600,
    enabled: false,
    labels: { client: prefix },
  });

test("creates each check once, and lists them over pages", { skip }, async () => {
  const client = new Vigil();
  const made = [];
  for (const name of ["one", "two", "three"]) made.push((await create(client, name)).id);
  const listed = [];
  for await (const check of client.listChecks({ limit: 2, label: [`client=${prefix}`] })) listed.push(check.id);
  assert.deepEqual(listed, made.reverse());
  for (const id of made) await client.deleteCheck(id);
});

test("has the error of what does not exist", { skip }, async () => {
  const client = new Vigil();
  const id = "00000000-0000-4000-8000-000000000000";
  await assert.rejects(client.getCheck(id), (error) => error instanceof NotFoundError && error.code === "not_found" && error.requestId !== "");
  await assert.rejects(client.createCheck({ name: "x", type: "http", config: {}, interval_seconds: 60 }), { member: "config.url" });
});

test("follows the stream over connections that are cut", { skip }, async () => {
  const client = new Vigil();
  const check = await create(client, "streamed");
  await client.updateCheck(check.id, { enabled: true });
  const { value: first } = await client.streamAlerts({ since: "0-0", reconnectMs: 20 }).next();
  for (const enabled of [false, true, false]) await client.updateCheck(check.id, { enabled });
  const controller = new AbortController();
  const seen = [];
  for await (const event of client.streamAlerts({ since: first.id, reconnectMs: 20, signal: controller.signal })) {
    if (event.data.data.check?.id === check.id) seen.push(event.type);
    if (seen.length === 3) controller.abort();
  }
  assert.deepEqual(seen, ["check.paused", "check.resumed", "check.paused"]);
  await client.deleteCheck(check.id);
});

test("verifies a webhook that the platform sends", { skip }, async (t) => {
  const client = new Vigil();
  const received = Promise.withResolvers?.() ?? deferred();
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    response.writeHead(204).end();
    received.resolve({ headers: request.headers, body: Buffer.concat(chunks) });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
  const url = `http://127.0.0.1:${server.address().port}/`;
  const channel = await client.createNotificationChannel({ name: `${prefix} hook`, type: "webhook", config: { url, secret } });
  await client.testNotificationChannel(channel.id);
  const { headers, body } = await received.promise;
  assert.equal((await verifyWebhook(body, headers, secret)).type, "channel.test");
  await verifyServiceSignature(body, headers, secret);
  await assert.rejects(verifyWebhook(body, headers, secret + "x"), WebhookVerificationError);
  await client.deleteNotificationChannel(channel.id);
});

function deferred() {
  let resolve;
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}
