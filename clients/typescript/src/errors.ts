// SPDX-License-Identifier: Apache-2.0

import type { ErrorBody } from "./types.gen.js";

/** Everything that the client throws of its own. What the caller aborted throws the reason of its signal. */
export class VigilError extends Error {
  override name = "VigilError";
}

/** The server could not be reached, or its answer broke off. */
export class ConnectionError extends VigilError {
  override name = "ConnectionError";
}

/** The server did not answer within `timeoutMs`. */
export class TimeoutError extends ConnectionError {
  override name = "TimeoutError";
}

/** What the API answered with, other than a success. */
export interface Answered {
  status: number;
  code: ErrorBody["code"] | "";
  message: string;
  details: Record<string, unknown>;
  requestId: string;
  retryAfterMs?: number | undefined;
}

/** An answer of the API that is no success. The classes below name the codes that programs ask for. */
export class APIError extends VigilError {
  override name = "APIError";
  readonly status: number;
  /** What went wrong, for a program; "" for an answer that is not the API's own, such as that of a proxy. */
  readonly code: ErrorBody["code"] | "";
  /** The member of the request that is wrong, such as `config.url`. */
  readonly member: string | undefined;
  readonly details: Record<string, unknown>;
  /** Names the request in the log of the server. */
  readonly requestId: string;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(answered: Answered) {
    super(answered.message);
    this.status = answered.status;
    this.code = answered.code;
    this.details = answered.details;
    this.member = typeof answered.details["member"] === "string" ? answered.details["member"] : undefined;
    this.requestId = answered.requestId;
    this.retryAfterMs = answered.retryAfterMs;
  }
}

/** The request is wrong; `member` says which part of it. */
export class InvalidRequestError extends APIError {
  override name = "InvalidRequestError";
}

/** The key is missing, revoked or expired. */
export class UnauthorizedError extends APIError {
  override name = "UnauthorizedError";
}

/** The key lacks a scope. */
export class ForbiddenError extends APIError {
  override name = "ForbiddenError";
}

/** The plan does not allow it; `details` has `limit`, `current` and `requested`. */
export class PlanLimitError extends ForbiddenError {
  override name = "PlanLimitError";
}

/** It does not exist in this organization. */
export class NotFoundError extends APIError {
  override name = "NotFoundError";
}

/** The request conflicts with the current state. */
export class ConflictError extends APIError {
  override name = "ConflictError";
}

/** The resource has another revision than `ifMatch`; `details.revision` has it. */
export class PreconditionFailedError extends APIError {
  override name = "PreconditionFailedError";
}

/** Too many requests, also after the client repeated it. */
export class RateLimitedError extends APIError {
  override name = "RateLimitedError";
}

/** A part of the platform does not answer, also after the client repeated the request. */
export class UnavailableError extends APIError {
  override name = "UnavailableError";
}

const classes: Partial<Record<string, new (answered: Answered) => APIError>> = {
  invalid_request: InvalidRequestError,
  unauthorized: UnauthorizedError,
  forbidden: ForbiddenError,
  plan_limit: PlanLimitError,
  not_found: NotFoundError,
  conflict: ConflictError,
  precondition_failed: PreconditionFailedError,
  rate_limited: RateLimitedError,
  unavailable: UnavailableError,
};

/** What a proxy in between answers has no code of the API: its status says the same. */
const codes: Partial<Record<number, ErrorBody["code"]>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  429: "rate_limited",
  503: "unavailable",
};

/** Returns the error of an answer. */
export function errorOf(status: number, headers: Headers, text: string, now: number): APIError {
  let body: Partial<ErrorBody> = {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null) body = parsed;
  } catch {
    // The answer of a proxy.
  }
  const code = typeof body.code === "string" ? body.code : "";
  const kind = classes[code || (codes[status] ?? "")] ?? APIError;
  return new kind({
    status,
    code,
    message: typeof body.error === "string" ? body.error : `The server answered with status ${status}.`,
    details: body.details ?? {},
    requestId: body.request_id ?? headers.get("x-request-id") ?? "",
    retryAfterMs: retryAfter(headers.get("retry-after"), now),
  });
}

/** Returns how long a Retry-After asks to wait, in milliseconds; undefined where it does not. */
export function retryAfter(text: string | null, now: number): number | undefined {
  if (text === null) return undefined;
  if (/^\d+$/.test(text.trim())) return Math.min(Number(text), 2 ** 31) * 1000;
  const at = /GMT$/.test(text.trim()) ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
