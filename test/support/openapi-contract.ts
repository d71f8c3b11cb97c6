import assert from 'node:assert/strict';
import Ajv, { type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import type { TestReply } from './client.ts';

interface Reference {
  $ref?: string;
}
interface Response extends Reference {
  headers?: Record<string, Reference>;
  content?: Record<string, unknown>;
}
interface Parameter {
  name: string;
  in: string;
  schema: { type?: string };
}
interface Operation {
  parameters?: Parameter[];
  requestBody?: object;
  responses: Record<string, Response>;
}
type Paths = Record<string, Record<string, Operation>>;

/** Headers of HTTP itself that every reply may have. */
const general = new Set([
  'date',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'content-type',
  'server',
  'x-request-id',
]);

const descriptions = new Map<string, ReturnType<typeof describe>>();

function describe(yaml: string) {
  const document: { paths: Paths } = parse(yaml);
  const ajv = new Ajv.default({ strict: false, allErrors: true });
  addFormats.default(ajv);
  for (const format of ['binary', 'password']) ajv.addFormat(format, true);
  ajv.addSchema(document, 'api');
  return { document, ajv, validators: new Map<string, ValidateFunction>() };
}

/** Checks requests and replies of a running service against an OpenAPI document. */
export class Contract {
  readonly document: { paths: Paths };
  readonly #ajv: Ajv.default;
  readonly #validators: Map<string, ValidateFunction>;
  readonly #seen = new Set<string>();

  readonly #undescribed: ReadonlySet<string>;

  /**
   * @param yaml the document that the service sent
   * @param everyReply headers that every reply of the service has; the document need not name them
   */
  constructor(yaml: string, everyReply: readonly string[] = []) {
    const described = descriptions.get(yaml) ?? describe(yaml);
    descriptions.set(yaml, described);
    this.document = described.document;
    this.#ajv = described.ajv;
    this.#validators = described.validators;
    this.#undescribed = new Set([...general, ...everyReply]);
  }

  /** Returns all operations as `get /path`. */
  operations(): [name: string, operation: Operation][] {
    return Object.entries(this.document.paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([method]) => method !== 'parameters')
        .map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
    );
  }

  /** Returns the described statuses that no reply has had so far, as `get /path 200`. */
  unseen(): string[] {
    return this.operations()
      .flatMap(([name, { responses }]) => Object.keys(responses).map((status) => `${name} ${status}`))
      .filter((name) => !this.#seen.has(name) && !name.endsWith('default'));
  }

  /**
   * Checks a reply against the description of its operation: the status, every header, the type and the body.
   *
   * @param path path in the document, such as `/home/{file}`
   */
  check(method: string, path: string, reply: TestReply): void {
    const name = `${method.toLowerCase()} ${path} ${reply.status}`;
    const operation = this.document.paths[path]?.[method.toLowerCase()];
    assert.ok(operation, `${name} is not described`);
    const key = String(reply.status);
    assert.ok(operation.responses[key], `${name} is not described: ${reply.text.slice(0, 200)}`);
    this.#seen.add(name);
    const { response, pointer } = this.#resolve(
      operation.responses[key],
      `/paths/${pointerPart(path)}/${method.toLowerCase()}/responses/${key}`,
    );
    this.#checkHeaders(name, reply, response);
    this.#checkBody(name, reply, response, pointer);
  }

  /**
   * Checks a successful request against the description of its operation: the parameters of the query, and the JSON body.
   *
   * @param path path in the document, such as `/api/events/{uuid}`
   */
  checkRequest(method: string, path: string, query: URLSearchParams, body: unknown): void {
    const name = `the request ${method.toLowerCase()} ${path}`;
    const pointer = `/paths/${pointerPart(path)}/${method.toLowerCase()}`;
    const operation = this.document.paths[path]?.[method.toLowerCase()];
    assert.ok(operation, `${name} is not described`);
    for (const key of new Set(query.keys())) {
      const index = (operation.parameters ?? []).findIndex((parameter) => parameter.in === 'query' && parameter.name === key);
      const type = operation.parameters?.[index]?.schema.type;
      assert.ok(index >= 0, `${name}: the parameter ${key} is not described`);
      const values = query.getAll(key);
      const value = type === 'array' ? values : type === 'integer' ? Number(values[0]) : values[0];
      this.#assertValid(`${name}, parameter ${key}`, `${pointer}/parameters/${index}/schema`, value);
    }
    assert.equal(body !== undefined, operation.requestBody !== undefined, `${name}: a body`);
    if (body !== undefined) this.#assertValid(name, `${pointer}/requestBody/content/application~1json/schema`, body);
  }

  #resolve(response: Response, pointer: string): { response: Response; pointer: string } {
    if (response.$ref === undefined) return { response, pointer };
    const target = response.$ref.slice(1);
    return {
      response: this.#at<Response>(target),
      pointer: target,
    };
  }

  /** Resolves a reference such as `#/components/headers/DAV` or `/components/…`. */
  #at<T>(reference: string): T {
    const keys = reference.replace(/^#/, '').split('/').slice(1);
    return keys.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], this.document) as T;
  }

  #checkHeaders(name: string, reply: TestReply, response: Response): void {
    const described = new Map(Object.entries(response.headers ?? {}).map(([header, value]) => [header.toLowerCase(), value.$ref ?? '']));
    for (const [header, value] of Object.entries(reply.headers)) {
      if (this.#undescribed.has(header)) continue;
      const reference = described.get(header);
      assert.ok(reference !== undefined, `${name}: the header ${header} is not described`);
      // Header values are texts. If the description requires a number, they are converted.
      const { type } = this.#at<{ schema: { type?: string } }>(reference).schema;
      const typed = /^\d+$/.test(String(value)) && type !== 'string' ? Number(value) : String(value);
      this.#assertValid(`${name}, header ${header}`, `${reference.slice(1)}/schema`, typed);
    }
  }

  #checkBody(name: string, reply: TestReply, response: Response, pointer: string): void {
    const type = reply.headers['content-type'];
    if (type === undefined) {
      assert.equal(reply.body.length, 0, `${name} has a body without a type`);
      return;
    }
    const essence = type.split(';', 1)[0] as string;
    const content = response.content ?? {};
    if (reply.body.length === 0 && Object.keys(content).length === 0) return;
    const key = [essence, '*/*'].find((candidate) => candidate in content);
    assert.ok(key, `${name}: the type ${essence} is not described`);
    if (essence === 'application/json') this.#assertValid(name, `${pointer}/content/${pointerPart(key)}/schema`, reply.json());
  }

  #assertValid(what: string, pointer: string, value: unknown): void {
    const validate = this.#validator(pointer);
    assert.ok(validate(value), `${what}: ${this.#ajv.errorsText(validate.errors)}: ${JSON.stringify(value)}`);
  }

  #validator(pointer: string): ValidateFunction {
    const known = this.#validators.get(pointer);
    if (known) return known;
    const made = this.#ajv.compile({ $ref: `api#${pointer}` });
    this.#validators.set(pointer, made);
    return made;
  }
}

/** Writes a key as a part of a JSON pointer in a URI fragment (RFC 6901 §6). */
function pointerPart(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
}
