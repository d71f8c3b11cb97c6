import { changesBetween, maskedChanges, maskedConfig, needsRestart } from '../../config/changes.ts';
import { toValidation } from '../../config/validation.ts';
import { isObject } from '../../lib/json.ts';
import { answerJson } from '../answer.ts';
import { type ConsoleContext, recordAction } from '../environment.ts';

/** Answers `GET /api/configuration` with the running configuration. Secrets are masked. */
export function showConfiguration(c: ConsoleContext): Response {
  const { configuration } = c.env.service.sources;
  const running = configuration.running();
  const masked = maskedConfig(running);
  const set = running.source ? onlySet(masked, running.source.value) : null;
  return answerJson(c, { file: configuration.path() ?? null, configuration: masked, set });
}

/**
 * Returns the options of `value` that the file sets. If an option is an object only in `value` or only in the file, for instance because
 * the file has a shorter form, the option is returned with all its members.
 */
function onlySet(value: unknown, inFile: unknown): unknown {
  if (!isObject(value) || !isObject(inFile)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => (Object.hasOwn(inFile, name) ? [[name, onlySet(member, inFile[name])]] : [])),
  );
}

/**
 * Answers `GET /api/configuration/findings` with the report that `svc validate` would give about the file on disk. If svc runs without a
 * file, the report has no findings.
 */
export function showFindings(c: ConsoleContext): Response {
  const checked = c.env.service.sources.configuration.checked();
  return answerJson(c, checked ? toValidation(checked) : { valid: true, file: null, findings: [] });
}

/** Answers `GET /api/configuration/changes` with the changes that a reload would make, or the reason why it would be refused. */
export function showChanges(c: ConsoleContext): Response {
  const { configuration } = c.env.service.sources;
  const checked = configuration.checked();
  const findings = (checked?.findings ?? []).filter(({ severity }) => severity === 'error');
  const loaded = checked?.loaded;
  if (!loaded) {
    const reason = checked ? 'The file has errors.' : 'There is no configuration file to reload.';
    return answerJson(c, { would_reload: false, reason, changes: [], findings });
  }
  const running = configuration.running();
  const reason = needsRestart(changesBetween(running.config, loaded.config)) ?? null;
  return answerJson(c, { would_reload: reason === null, reason, changes: maskedChanges(running, loaded), findings });
}

/** Answers `POST /api/configuration/reload`: reloads the configuration on all nodes, like `svc reload`. Emits `administratorAction`. */
export async function reloadConfiguration(c: ConsoleContext): Promise<Response> {
  const report = await c.env.service.sources.configuration.reload();
  const own = report.reloaded ? report.changes.join(', ') : 'refused';
  const elsewhere = report.nodes.slice(1).flatMap(({ node, reloaded }) => (reloaded ? [] : [`not at ${node}`]));
  await recordAction(c, 'configuration-reload', [own, ...elsewhere].join('; '));
  return answerJson(c, report);
}
