import { compileExpression, type Expression } from '../lib/expression.ts';
import type { VirtualPath } from '../lib/virtual-path.ts';
import { expandUserInExpression } from './permissions.ts';

/** The option `inspections`: the general list, and rules that replace it for some paths. */
export interface InspectionOptions {
  readonly general: readonly string[];
  readonly rules: readonly { readonly expression: string; readonly inspections: readonly string[] }[];
}

/** The inspections of one account, with compiled path expressions. */
export class InspectionRules {
  /** The inspections as configured. */
  readonly options: InspectionOptions;
  readonly #rules: readonly { expression: Expression; inspections: readonly string[] }[];

  /** @param userName the account's name, which replaces `${USER}` @throws ServiceError `bad-request` when an expression does not parse */
  constructor(options: InspectionOptions, userName: string) {
    this.options = options;
    this.#rules = options.rules.map(({ expression, inspections }) => ({
      expression: compileExpression(expandUserInExpression(expression, userName), 'paths'),
      inspections,
    }));
  }

  /** Whether the account has no inspections at all. */
  get isEmpty(): boolean {
    return this.options.general.length === 0 && this.#rules.every(({ inspections }) => inspections.length === 0);
  }

  /** Whether the inspections can differ from path to path. */
  get hasRules(): boolean {
    return this.#rules.length > 0;
  }

  /** UUIDs of the inspections for a path. They come from the first rule that matches; if none does, from the general list. */
  at(path: VirtualPath): readonly string[] {
    return this.#rules.find(({ expression }) => expression.matches(path))?.inspections ?? this.options.general;
  }

  /** Number of the rule that applies to a path, counted from 1; undefined if the general list applies. */
  ruleAt(path: VirtualPath): number | undefined {
    const index = this.#rules.findIndex(({ expression }) => expression.matches(path));
    return index < 0 ? undefined : index + 1;
  }
}

/** The value for an account without inspections. */
export const noInspections: InspectionOptions = { general: [], rules: [] };
