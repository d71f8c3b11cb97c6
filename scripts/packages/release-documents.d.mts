export const signatureNamespace: string;

export function provenanceOf(build: {
  commit: string;
  command: string;
  subjects: Record<string, string>;
  materials: { name: string; digest: Record<string, string> }[];
  node: string;
  platform: string;
}): string;

interface Assessment {
  id: string;
  package: string;
  state: string;
  justification?: string;
  detail: string;
}

export function readAssessments(root: string): Assessment[];

export function vexOf(assessments: Assessment[], version: string, sbom: { components: { name: string; purl?: string }[] }): string;

export function sign(file: string, key: string): void;

export function leftForAPerson(release: {
  version: string;
  changelog: string;
  isSigned: boolean;
  isTagged: boolean;
  wasAudited: boolean;
}): string[];
