import { compileExpression, type Expression } from '../lib/expression.ts';
import type { VirtualPath } from '../lib/virtual-path.ts';
import { expandUserInExpression } from './permissions.ts';

/** Inspections as configured: the general list, then rules in order. */
export interface InspectionOptions {
  readonly general: readonly string[];
  readonly rules: readonly { readonly expression: string; readonly inspections: readonly string[] }[];
}

/** The compiled inspections of one account. */
export class InspectionRules {
  /** The configured form. */
  readonly options: InspectionOptions;
  readonly #rules: readonly { expression: Expression; inspections: readonly string[] }[];

  /** @param userName the account's name, for `${USER}` @throws ServiceError `bad-request` when an expression does not parse */
  constructor(options: InspectionOptions, userName: string) {
    this.options = options;
    this.#rules = options.rules.map(({ expression, inspections }) => ({
      expression: compileExpression(expandUserInExpression(expression, userName), 'paths'),
      inspections,
    }));
  }

  /** Whether no file of the account is inspected. */
  get isEmpty(): boolean {
    return this.options.general.length === 0 && this.#rules.every(({ inspections }) => inspections.length === 0);
  }

  /** Whether some paths differ from others. */
  get hasRules(): boolean {
    return this.#rules.length > 0;
  }

  /** UUIDs of the inspections of a path: those of the first rule that matches, else the general ones. */
  at(path: VirtualPath): readonly string[] {
    return this.#rules.find(({ expression }) => expression.matches(path))?.inspections ?? this.options.general;
  }

  /** Number of the rule that decides, from 1; undefined for the general list. */
  ruleAt(path: VirtualPath): number | undefined {
    const index = this.#rules.findIndex(({ expression }) => expression.matches(path));
    return index < 0 ? undefined : index + 1;
  }
}

/** The rules of an account that has none. */
export const noInspections: InspectionOptions = { general: [], rules: [] };
