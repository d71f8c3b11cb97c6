import * as z from 'zod';
import { eventIds } from '../../events/event-ids.ts';
import { isObject } from '../../lib/json.ts';
import { configSchema } from './schema.ts';

/**
 * Examples for the JSON Schema, by section and option, in spellings that are allowed in a file. Editors offer them as suggestions. A test
 * parses every example.
 */
export const optionExamples: Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>> = {
  server: { name: ['files.example.com'], data_folder_path: ['/var/lib/svc'], shutdown_timeout: [30] },
  authentications: {
    url: ['https://id.example.com/auth', ['https://a.example.com/auth', 'https://b.example.com/auth']],
    password: ['${env:CALLOUT_PASSWORD}'],
    headers: ['X-Api-Key: ${env:CALLOUT_KEY}', { 'X-Api-Key': '${file:/run/secrets/callout}' }],
    ca_certificates_path: ['./ca.pem'],
    cache_seconds: [0, 60],
    accounts_file_path: ['./accounts.yaml'],
  },
  groups: {
    home_folder_path: ['./files/${USER}'],
    home_folder_structure: [['inbox', 'outbox'], 'inbox, outbox'],
    virtual_folders: [[['/shared', '/srv/shared']]],
    permissions: [
      [['allow-full-control']],
      [
        ['allow-read', 'allow-list'],
        ['/inbox/*', 'allow-write'],
      ],
    ],
    file_write_size: [104_857_600],
    quota_size: [10_737_418_240],
  },
  accounts: {
    email: ['alice@example.com'],
    group: ['DEFAULT_GROUP'],
    ssh_keys: [['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE example']],
  },
  services: {
    address: ['127.0.0.1', '0.0.0.0', '::'],
    authentications: [['corporate', 'local'], 'corporate, local'],
    headers: ['Strict-Transport-Security: max-age=31536000', { 'X-Robots-Tag': 'noindex' }],
    accepted_origins: [['https://files.example.com']],
    cors_origins: [['https://app.example.com']],
    client_forwarded_header: ['X-Forwarded-For'],
    trusted_proxies: ['10.0.0.5', ['10.0.0.0/8', '2001:db8::/32']],
    metadata_fields: ['x-labels', ['x-labels, required', 'project-*, optional']],
    triggers: [['Approve, success', 'Reject, warning, DEFAULT_GROUP']],
    api_passthrough_headers: ['x-receipt, x-scan', ['x-receipt']],
    api_partial_success_headers: ['x-receipt: pending', { 'x-receipt': 'pending' }],
    tls_certificate_path: ['./server.crt'],
    tls_key_path: ['./server.key'],
  },
  event_handlers: {
    target: [`${eventIds.fileUploaded}, ${eventIds.uploadFailed}`, [eventIds.fileUploaded], `!${eventIds.fileOpened}`],
    groups: ['file-operation, !operation-read'],
    source_addresses: ['10.0.0.0/8, !10.0.0.1'],
    data_filter: ['api_backend, yes', ['path, /inbox/*', 'file_name, !*.tmp']],
    url: ['https://crm.example.com/hook', ['https://a.example.com/hook', 'https://b.example.com/hook']],
    expected_response: ['*<Status>OK</Status>*', 'e/"ok": *true/i'],
    extra_data: [{ text: '{message}', by: '{account.name}' }],
    signing_secret: ['${env:HOOK_SECRET}'],
  },
};

/**
 * Creates the JSON Schema (2020-12) of a configuration file. It contains all spellings, descriptions, defaults and examples of each option.
 */
export function configJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(configSchema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const { def } = zodSchema._zod;
      if (def.type === 'default') jsonSchema.default = asWritten((def as unknown as { defaultValue: unknown }).defaultValue);
    },
  });
  for (const [section, examples] of Object.entries(optionExamples))
    addExamples(schema.properties?.[section], examples, section === 'server');
  return { title: 'svc configuration', ...schema };
}

type Node = z.core.JSONSchema._JSONSchema | undefined;

/** Adds examples to the options of a section, in each type of entry that has the option. */
function addExamples(section: Node, examples: Readonly<Record<string, readonly unknown[]>>, isEntry: boolean): void {
  if (typeof section !== 'object') return;
  const entry = isEntry ? section : section.additionalProperties;
  if (typeof entry !== 'object') return;
  for (const kind of entry.oneOf ?? entry.anyOf ?? [entry]) {
    for (const [name, values] of Object.entries(examples)) {
      const option = typeof kind === 'object' ? kind.properties?.[name] : undefined;
      if (typeof option === 'object') option.examples = [...values] as z.core.JSONSchema.JSONSchema[];
    }
  }
}

/** Converts a default from its normalised form in the schema to a spelling of the configuration file. */
function asWritten(value: unknown): z.core.JSONSchema.JSONSchema['default'] {
  if (isObject(value) && 'include' in value) return '';
  if (isObject(value) && 'general' in value) return [value.general] as z.core.JSONSchema.JSONSchema['default'];
  return value as z.core.JSONSchema.JSONSchema['default'];
}
