/** The platforms for which binaries are built, by name. */
export const platforms: Record<string, { executable: string; integrity: string }>;
