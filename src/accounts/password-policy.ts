/** What a new password must be (`server.password_policy`). */
export interface PasswordPolicy {
  minimum_length: number;
  character_requirements: readonly string[];
  /** Former passwords that must not be used again. */
  history: number;
}

const characterClasses: Readonly<Record<string, RegExp>> = {
  lowercase: /\p{Ll}/u,
  uppercase: /\p{Lu}/u,
  digit: /\p{Nd}/u,
  symbol: /[^\p{L}\p{N}]/u,
};

/** The rules of the policy that a password does not meet, one sentence each. */
export function unmetRules(policy: PasswordPolicy, password: string): string[] {
  const unmet: string[] = [];
  if ([...password].length < policy.minimum_length) unmet.push(`The password must have at least ${policy.minimum_length} characters.`);
  for (const requirement of policy.character_requirements) {
    if (!characterClasses[requirement]?.test(password)) unmet.push(`The password must have at least one ${requirement} character.`);
  }
  return unmet;
}
