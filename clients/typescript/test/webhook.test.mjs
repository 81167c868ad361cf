// SPDX-License-Identifier: Apache-2.0
// The vectors of docs/webhooks.md, which the platform's own tests hold to what it sends.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { WebhookVerificationError, verifyServiceSignature, verifySignature, verifyWebhook } from "../dist/index.js";

const page = await readFile(new URL("../../../docs/webhooks.md", import.meta.url), "utf8");
const vectors = JSON.parse(/```json\n(\[[\s\S]*?\])\n```/.exec(page)[1]);
const now = 1_800_000_000;

test("there are vectors of both kinds", () => {
  assert.ok(vectors.filter((vector) => vector.valid).length >= 5);
  assert.ok(vectors.filter((vector) => !vector.valid).length >= 5);
});

for (const vector of vectors) {
  test(`verifies ${vector.what}`, async () => {
    const headers = { "Webhook-Id": vector.id, "webhook-timestamp": vector.timestamp, "webhook-signature": vector.signature };
    for (const body of [vector.body, new TextEncoder().encode(vector.body)]) {
      for (const source of [headers, new Headers(headers)]) {
        if (vector.valid) assert.deepEqual(await verifyWebhook(body, source, vector.secret, { now }), JSON.parse(vector.body));
        else await assert.rejects(verifyWebhook(body, source, vector.secret, { now }), WebhookVerificationError);
      }
    }
  });
}

test("verifies a body that is not JSON", async () => {
  const signature = "v1," + createHmac("sha256", "secret").update(`id.${now}.text=1`).digest("base64");
  const headers = { "webhook-id": "id", "webhook-timestamp": String(now), "webhook-signature": signature };
  await verifySignature("text=1", headers, "secret", { now });
  await assert.rejects(verifySignature("text=1", headers, "whsec_*", { now }), WebhookVerificationError);
  await assert.rejects(verifySignature("text=1", headers, "secret"), WebhookVerificationError);
});

test("verifies X-Service-Signature, and that of the replaced secret", async () => {
  const sign = (secret) => "sha256=" + createHmac("sha256", secret).update("{}").digest("hex");
  const headers = { "X-Service-Signature": sign("whsec_bmV3"), "X-Service-Signature-Previous": sign("old") };
  await verifyServiceSignature("{}", headers, "whsec_bmV3");
  await verifyServiceSignature("{}", headers, "old");
  for (const wrong of [{}, { "X-Service-Signature": "sha256=00" }, { "X-Service-Signature": sign("other") }]) {
    await assert.rejects(verifyServiceSignature("{}", wrong, "old"), WebhookVerificationError);
  }
});
