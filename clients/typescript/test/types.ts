// SPDX-License-Identifier: Apache-2.0
// What the compiler must accept, and refuse. It is compiled, and never run.
import { APIError, Vigil, type Check, type CheckCreate, type Incident } from "../dist/index.js";

export async function uses(client: Vigil): Promise<string> {
  const wanted: CheckCreate = { name: "Shop", type: "https", config: { url: "https://shop.example/" }, interval_seconds: 60 };
  const check: Check = await client.createCheck(wanted);
  await client.createCheck({ name: "Backup", type: "heartbeat", config: { schedule: { every_seconds: 3600 } } });
  // @ts-expect-error the name is missing
  await client.createCheck({ type: "https", config: { url: "https://shop.example/" }, interval_seconds: 60 });
  // @ts-expect-error a check of type dns has no url
  await client.createCheck({ name: "Shop", type: "dns", config: { url: "https://shop.example/" }, interval_seconds: 60 });
  // @ts-expect-error no such state
  client.listIncidents({ status: "gone" });
  await client.updateCheck(check.id, { interval_seconds: 30 }, check.revision === undefined ? {} : { ifMatch: check.revision });
  for await (const incident of client.listIncidents({ check_id: check.id })) {
    const one: Incident = incident;
    if (one.resolved_at === null) await client.acknowledgeIncident(one.id);
  }
  try {
    await client.getCheck(check.id);
  } catch (error) {
    if (error instanceof APIError) return error.member ?? error.code;
  }
  return check.type === "https" ? check.config.url : check.type;
}
