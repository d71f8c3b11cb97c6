import type { HttpContext } from '../environment.ts';
import { respond } from '../reply/respond.ts';
import document from './openapi.yaml';

/** The OpenAPI 3.0.3 description of the REST API, in YAML. */
export function openapiYaml(): string {
  return document.replace('SVC_VERSION', () => SVC_VERSION);
}

/** GET of the description. */
export function showOpenapi(c: HttpContext): Promise<Response> {
  const headers = { 'content-type': 'application/yaml; charset=utf-8', 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' };
  return respond(c, { status: 200, headers, body: openapiYaml() });
}
