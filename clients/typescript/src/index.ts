// SPDX-License-Identifier: Apache-2.0

export { Vigil } from "./client.js";
export {
  APIError,
  ConflictError,
  ConnectionError,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  PlanLimitError,
  PreconditionFailedError,
  RateLimitedError,
  TimeoutError,
  UnauthorizedError,
  UnavailableError,
  VigilError,
} from "./errors.js";
export { GapError, type Envelope, type Gap, type StreamEvent, type StreamOptions } from "./stream.js";
export { Pages, type ClientOptions, type Page, type RequestOptions } from "./transport.js";
export {
  WebhookVerificationError,
  verifyServiceSignature,
  verifySignature,
  verifyWebhook,
  type HeaderSource,
  type VerifyOptions,
} from "./webhook.js";
export type * from "./types.gen.js";
export type * from "./operations.gen.js";
