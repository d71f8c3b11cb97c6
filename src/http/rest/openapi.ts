import { gunzipSync } from 'node:zlib';
import { respond } from '../reply/respond.ts';
import type { Exchange } from '../request/exchange.ts';

/** Returns the OpenAPI 3.0.3 description of the REST API, in YAML. It is loaded only on request. */
export async function openapiYaml(): Promise<string> {
  const { default: file } = await import('svc:openapi');
  const document = gunzipSync(Buffer.from(file.packed(), 'base64')).toString();
  return document.replace('SVC_VERSION', () => SVC_VERSION);
}

/** Handles GET of the OpenAPI description. */
export async function showOpenapi(exchange: Exchange): Promise<Response> {
  const headers = { 'content-type': 'application/yaml; charset=utf-8', 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' };
  return respond(exchange, { status: 200, headers, body: await openapiYaml() });
}
