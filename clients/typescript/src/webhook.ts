// SPDX-License-Identifier: Apache-2.0

import { VigilError } from "./errors.js";
import type { Envelope } from "./stream.js";

/** The headers of a request: those of fetch, or of node. */
export type HeaderSource = Headers | Record<string, string | string[] | undefined>;

/** How a message is verified. */
export interface VerifyOptions {
  /** How far the time of the message may be off, in seconds. Default: 300. */
  toleranceSeconds?: number;
  /** The time now, in seconds since 1970. */
  now?: number;
}

/** A message is not signed with the secret, or was sent at another time. */
export class WebhookVerificationError extends VigilError {
  override name = "WebhookVerificationError";
}

/**
 * Verifies a message of a webhook channel by its `webhook-signature` (Standard Webhooks), and returns its body.
 * Give it the body as it was received. During a rotation it verifies with the old secret and with the new one.
 * A webhook-id that came before is a repetition: answer 2xx, and do nothing.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: HeaderSource,
  secret: string,
  options: VerifyOptions = {},
): Promise<Envelope> {
  await verifySignature(body, headers, secret, options);
  return JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body)) as Envelope;
}

/** Verifies a message as verifyWebhook does, with a body that need not be JSON, such as that of a template. */
export async function verifySignature(
  body: string | Uint8Array,
  headers: HeaderSource,
  secret: string,
  options: VerifyOptions = {},
): Promise<void> {
  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  const now = options.now ?? Date.now() / 1000;
  if (!/^\d+$/.test(timestamp) || Math.abs(now - Number(timestamp)) > (options.toleranceSeconds ?? 300)) {
    throw new WebhookVerificationError("webhook-timestamp is missing, or too far off.");
  }
  const encoded = secret.startsWith("whsec_") ? fromBase64(secret.slice(6)) : bytes(secret);
  if (!encoded) throw new WebhookVerificationError("The secret does not go on in base64 after whsec_.");
  const signed = joined(bytes(`${id}.${timestamp}.`), bytes(body));
  const key = await hmacKey(encoded);
  for (const signature of header(headers, "webhook-signature").split(/\s+/)) {
    const given = signature.startsWith("v1,") ? fromBase64(signature.slice(3)) : undefined;
    if (given && (await crypto.subtle.verify("HMAC", key, given, signed))) return;
  }
  throw new WebhookVerificationError("No signature in webhook-signature is right.");
}

/**
 * Verifies a message by its `X-Service-Signature`, or by that of the secret that a rotation replaced. It signs no
 * time, so a message that somebody recorded passes it: prefer verifyWebhook.
 */
export async function verifyServiceSignature(body: string | Uint8Array, headers: HeaderSource, secret: string): Promise<void> {
  const key = await hmacKey(bytes(secret));
  for (const name of ["x-service-signature", "x-service-signature-previous"]) {
    const text = header(headers, name);
    const given = /^sha256=(?:[0-9a-f]{2}){32}$/.test(text) ? fromHex(text.slice(7)) : undefined;
    if (given && (await crypto.subtle.verify("HMAC", key, given, bytes(body)))) return;
  }
  throw new WebhookVerificationError("X-Service-Signature is not right.");
}

type Bytes = Uint8Array<ArrayBuffer>;

function header(headers: HeaderSource, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? "";
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === name) return Array.isArray(value) ? value.join(" ") : (value ?? "");
  }
  return "";
}

function hmacKey(secret: Bytes): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
}

function bytes(text: string | Uint8Array): Bytes {
  return typeof text === "string" ? new TextEncoder().encode(text) : Uint8Array.from(text);
}

function joined(a: Bytes, b: Bytes): Bytes {
  const out = new Uint8Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}

function fromHex(text: string): Bytes {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function fromBase64(text: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}
