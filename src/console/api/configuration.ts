import { changesBetween, maskedChanges, maskedConfig, needsRestart } from '../../config/changes.ts';
import { toValidation } from '../../config/validation.ts';
import { answerJson } from '../answer.ts';
import { type ConsoleContext, recordAction } from '../environment.ts';

/** `GET /api/configuration`: the one in force, its secrets masked. */
export function showConfiguration(c: ConsoleContext): Response {
  const { configuration } = c.env.service.sources;
  return answerJson(c, { file: configuration.path() ?? null, configuration: maskedConfig(configuration.running()) });
}

/** `GET /api/configuration/findings`: what `svc validate` says of the file as it stands now. Without a file nothing is wrong with it. */
export function showFindings(c: ConsoleContext): Response {
  const checked = c.env.service.sources.configuration.checked();
  return answerJson(c, checked ? toValidation(checked) : { valid: true, file: null, findings: [] });
}

/** `GET /api/configuration/changes`: what a reload would change, or why it would be refused. */
export function showChanges(c: ConsoleContext): Response {
  const { configuration } = c.env.service.sources;
  const checked = configuration.checked();
  if (!checked)
    return answerJson(c, { would_reload: false, reason: 'There is no configuration file to reload.', changes: [], findings: [] });
  const { loaded, findings } = checked;
  const errors = findings.filter(({ severity }) => severity === 'error');
  if (!loaded) return answerJson(c, { would_reload: false, reason: 'The file has errors.', changes: [], findings: errors });
  const running = configuration.running();
  const reason = needsRestart(changesBetween(running.config, loaded.config)) ?? null;
  return answerJson(c, { would_reload: reason === null, reason, changes: maskedChanges(running, loaded), findings: errors });
}

/** `POST /api/configuration/reload`: as `svc reload`, at all nodes. Event `administratorAction`. */
export async function reloadConfiguration(c: ConsoleContext): Promise<Response> {
  const report = await c.env.service.sources.configuration.reload();
  const own = report.reloaded ? report.changes.join(', ') : 'refused';
  const elsewhere = report.nodes.slice(1).flatMap(({ node, reloaded }) => (reloaded ? [] : [`not at ${node}`]));
  await recordAction(c, 'configuration-reload', [own, ...elsewhere].join('; '));
  return answerJson(c, report);
}
