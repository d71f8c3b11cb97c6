import { readLogo } from '../../http/logo.ts';
import { refusedPassthroughHeaders } from '../../lib/headers/header-names.ts';
import { wantedEvents } from '../../webhooks/subscription.ts';
import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';
import { isFileService, isHttpService } from '../schema/services.ts';

/** The event that an upload's back-end answers (docs/spec/delivery.md#upload-back-end). */
const uploadDone = 40017;

/** Headers that differ from reply to reply, so that `headers` must not set them for all. */
const headersOfOneReply = new Set([...refusedPassthroughHeaders, 'content-type', 'content-range', 'etag', 'location', 'www-authenticate']);
headersOfOneReply.delete('server');

/** Options of services that contradict each other, or that would break replies. */
export function lintServices(config: Config, report: Report): void {
  for (const [uuid, service] of Object.entries(config.services)) {
    if (!service.enabled || !isFileService(service)) continue;
    const at = (...path: PropertyKey[]) => ['services', uuid, ...path];
    lintChain(config, service.authentications, at('authentications'), report);
    if (!isHttpService(service)) continue;
    for (const [name] of service.headers) {
      if (headersOfOneReply.has(name.toLowerCase()))
        report('error', 'refused-header', at('headers'), `"${name}" cannot be added to every reply`);
    }
    for (const [name] of service.api_partial_success_headers) {
      if (refusedPassthroughHeaders.has(name.toLowerCase()))
        report('error', 'refused-header', at('api_partial_success_headers'), `"${name}" must not be set by the upload back-end`);
    }
    if (service.api_backend_uuid === '') {
      for (const option of ['api_passthrough_headers', 'api_partial_success_headers'] as const) {
        if (service[option].length > 0) report('warning', 'backend-missing', at(option), 'has no effect without api_backend_uuid');
      }
    } else lintBackend(config, service.api_backend_uuid, at('api_backend_uuid'), report);
    const seen = new Set<string>();
    for (const [index, { name }] of service.triggers.entries()) {
      if (seen.has(name)) report('warning', 'no-effect', at('triggers', index), `there is an earlier trigger "${name}"`);
      seen.add(name);
    }
    lintLogo(service.appearance.logo_path, at('appearance', 'logo_path'), report);
  }
  lintUnused(config, report);
}

function lintLogo(file: string, path: PropertyKey[], report: Report): void {
  try {
    if (file !== '') readLogo(file);
  } catch (error) {
    report('error', 'logo-unusable', path, (error as Error).message);
  }
}

function lintBackend(config: Config, backend: string, path: PropertyKey[], report: Report): void {
  const handler = Object.hasOwn(config.event_handlers, backend) ? config.event_handlers[backend] : undefined;
  if (handler?.enabled && !wantedEvents(handler).some(({ id }) => id === uploadDone)) {
    report(
      'warning',
      'backend-never',
      path,
      `the filters of the event handler "${backend}" leave out event ${uploadDone}; every upload would get the partial-success headers`,
    );
  }
}

function lintChain(config: Config, chain: readonly string[] | null, path: PropertyKey[], report: Report): void {
  const seen = new Set<string>();
  for (const [index, uuid] of (chain ?? []).entries()) {
    const method = Object.hasOwn(config.authentications, uuid) ? config.authentications[uuid] : undefined;
    if (seen.has(uuid)) report('warning', 'no-effect', [...path, index], `the method "${uuid}" stands earlier in the list`);
    else if (method && !method.enabled)
      report('warning', 'method-disabled', [...path, index], `the method "${uuid}" is disabled; it is skipped`);
    seen.add(uuid);
  }
}

function lintUnused(config: Config, report: Report): void {
  const chains = Object.values(config.services).flatMap((service) =>
    service.enabled && isFileService(service) ? [service.authentications] : [],
  );
  // A service without a list asks every enabled method.
  if (chains.length === 0 || chains.includes(null)) return;
  const asked = new Set(chains.flatMap((chain) => chain ?? []));
  for (const [uuid, { enabled }] of Object.entries(config.authentications)) {
    if (enabled && !asked.has(uuid)) report('warning', 'method-unused', ['authentications', uuid], 'no enabled service asks this method');
  }
}
