import document from './openapi.yaml';

/** The OpenAPI 3.0.3 description of the REST API, in YAML. */
export function openapiYaml(): string {
  return document.replace('SVC_VERSION', () => SVC_VERSION);
}
