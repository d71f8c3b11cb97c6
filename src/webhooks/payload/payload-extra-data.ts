import type { EventServer, ServiceEvent } from '../../events/event.ts';
import { eventVariable } from '../../events/variables.ts';
import { isObject } from '../../lib/json.ts';
import { parseTemplate } from '../../lib/text-template.ts';

/** The compiled `extra_data` of a handler. */
export interface ExtraData {
  /** Whether its variables differ from event to event. */
  readonly hasEventVariables: boolean;
  readonly isEmpty: boolean;
  /** The members for one event; names that the body itself has are left out. */
  render(event: ServiceEvent | undefined): Record<string, unknown>;
}

/** Names of members whose values count as secrets. */
export const secretMember = /password|secret|token|key|auth|credential|signature/i;

/** Replaces a secret. */
export const mask = '***';

/** `extra_data` as it is kept and shown, with the values of secret members masked. */
export function withoutSecrets<T>(value: T, isSecret = false): T {
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, isSecret)) as T;
  if (!isObject(value)) return isSecret && value !== '' ? (mask as T) : value;
  const members = Object.entries(value).map(([name, member]) => [name, withoutSecrets(member, isSecret || secretMember.test(name))]);
  return Object.fromEntries(members) as T;
}

type Render = (lookUp: (name: string) => string | undefined) => unknown;

/** Names that the body has itself (docs/spec/delivery.md#extra-data). */
const reservedNames = new Set(['events', 'server']);

/** Compiles `extra_data`: variables stand in keys and string values, at any depth. */
export function createExtraData(members: Readonly<Record<string, unknown>>, server: EventServer): ExtraData {
  const variables: string[] = [];
  const render = compile(members, variables);
  const fixed: Record<string, string> = { 'server.name': server.name, 'server.uuid': server.uuid };
  const serverVariable = (name: string) => fixed[name.toLowerCase()];
  return {
    hasEventVariables: variables.some((name) => serverVariable(name) === undefined),
    isEmpty: Object.keys(members).length === 0,
    render(event) {
      const rendered = render((name) => (event ? eventVariable(event, name) : serverVariable(name))) as Record<string, unknown>;
      return Object.fromEntries(Object.entries(rendered).filter(([name]) => !reservedNames.has(name)));
    },
  };
}

function compile(value: unknown, variables: string[]): Render {
  if (typeof value === 'string') {
    const template = parseTemplate(value);
    variables.push(...template.variables);
    return (lookUp) => template.render(lookUp);
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => compile(item, variables));
    return (lookUp) => items.map((item) => item(lookUp));
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, member]) => [compile(name, variables), compile(member, variables)] as const);
    return (lookUp) => Object.fromEntries(members.map(([name, member]) => [name(lookUp), member(lookUp)]));
  }
  return () => value;
}
